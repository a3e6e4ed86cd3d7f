"""Any pattern, completed to a certified one: what it left open, and what had to be withheld besides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from discreet.attack import Audit
from discreet.errors import counted
from discreet.files.frames import to_frame
from discreet.files.pattern import read_pattern
from discreet.methods.base import TablePublisher
from discreet.model.arrays import Bools, Status, ranges
from discreet.model.pattern import NAMES, Pattern
from discreet.model.release import Release
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet, as_set
from discreet.tables.suppress import Suppress
from discreet.verbs.already import Items, gather
from discreet.verbs.audit import HIDDEN, audit
from discreet.verbs.patterns import on_tables, with_pattern
from discreet.verbs.protect import protect, refuse_unassessed
from discreet.verbs.show import summary
from discreet.watching import watched

NAMED = 2
"""So many of the unsafe cells that need a secondary are named in its reason."""


@dataclass(frozen=True, eq=False, repr=False)
class Repair:
    """What became of a given pattern. For the custodian's eyes.

    Parameters
    ----------
    release
        The release with the completed pattern.
    audit
        What attackers could work out of the pattern as it stood.
    pattern
        The pattern that was given.
    before
        What it said of every row of every table; 0 where it said nothing.
    """

    release: Release
    audit: Audit
    pattern: Pattern
    before: tuple[Status, ...]

    @property
    def held(self) -> bool:
        """Whether the pattern was safe as it stood: no unsafe cell published, short of its level or worked out."""
        return self.audit.holds

    @property
    def added(self) -> Any:
        """Cells that the completion withholds and the pattern did not, as a frame: table, codes, status, reason."""
        return self._frame([hidden for _, hidden in self._masks], "pyarrow")

    def changed(self, backend: str = "pyarrow") -> Any:
        """All cells whose status is another than in the pattern, as a frame, with the reason."""
        return self._frame([other | hidden for other, hidden in self._masks], backend)

    def summary(self) -> str:
        """The pattern as it stood, what was added, and the release, without confidential values."""
        pattern, count = self.pattern, self._counts
        lines = [
            f"Pattern {pattern.name!r} ({pattern.digest[:16]}): "
            f"{counted(pattern.count('unsafe') + pattern.count('secondary'), 'cell')} withheld, "
            f"{pattern.count('forced'):,} forced to be published",
            f"As it stood{' (every cell under all its names)' if pattern.one_name else ''} it "
            f"{'was safe' if self.held else 'was NOT safe'}.",
            *self.audit.summary().splitlines(),
            f"Completed: {counted(count['unsafe'] + count['secondary'], 'cell', 'are')} withheld besides "
            f"({count['unsafe']:,} unsafe, {count['secondary']:,} others)",
        ]
        if count["demoted"]:
            lines.append(
                f"  of the cells that it calls unsafe {count['demoted']:,} are not so under these rules and stay "
                "withheld, "
                "without a level"
            )
        if count["promoted"]:
            lines.append(
                f"  of the cells that it withholds as secondary {count['promoted']:,} are unsafe under these rules"
            )
        return "\n".join([*lines, summary(self.release)])

    __repr__ = summary

    # ---- how the pattern and the release differ -------------------------------------------------------------

    @cached_property
    def _masks(self) -> list[tuple[Bools, Bools]]:
        """For every table cells that are withheld in both, with another status; and cells that were added."""
        result = []
        for before, after in zip(self.before, self.release.custodian.status, strict=True):
            was, is_ = np.isin(before, HIDDEN), np.isin(after, HIDDEN)
            result.append((was & is_ & (before != after), is_ & ~was))
        return result

    @property
    def _counts(self) -> dict[str, int]:
        count = dict.fromkeys(("unsafe", "secondary", "demoted", "promoted"), 0)
        for (other, hidden), after in zip(self._masks, self.release.custodian.status, strict=True):
            unsafe = after == CellStatus.UNSAFE
            count["unsafe"] += int((hidden & unsafe).sum())
            count["secondary"] += int((hidden & ~unsafe).sum())
            count["promoted"] += int((other & unsafe).sum())
            count["demoted"] += int((other & ~unsafe).sum())
        return count

    def _frame(self, masks: list[Bools], backend: str) -> Any:
        tables = self.release.custodian.tables
        variables = list(dict.fromkeys(v for table in tables for v in table.variables))
        columns: dict[str, list[Any]] = {"table": [], **{v: [] for v in variables}}
        columns |= {"before": [], "status": [], "reason": []}
        for number, (table, mask) in enumerate(zip(tables, masks, strict=True)):
            rows = np.flatnonzero(mask).tolist()
            after = self.release.custodian.status[number]
            columns["table"] += [table.name] * len(rows)
            for variable in variables:
                if variable in table.variables:
                    k, codes = table.variables.index(variable), table.spec.by[variable].codes
                    columns[variable] += [codes[i] for i in table.codes[rows, k].tolist()]
                else:
                    columns[variable] += [None] * len(rows)
            before = self.before[number]
            columns["before"] += [NAMES[before[r]] if before[r] else "not listed" for r in rows]
            columns["status"] += [NAMES[after[r]] for r in rows]
            columns["reason"] += [self._reason(number, r) for r in rows]
        return to_frame(columns, backend)

    def _reason(self, number: int, row: int) -> str:
        before, after = int(self.before[number][row]), int(self.release.custodian.status[number][row])
        if after == CellStatus.UNSAFE:
            if before == CellStatus.SECONDARY:
                return "unsafe under the rules"
            return "unsafe under the rules, and the pattern did not withhold it"
        if before == CellStatus.UNSAFE:
            return "not unsafe under the rules; stays withheld"
        system = self.audit.system
        if system.unsafe[system.of[number][row]]:
            return "unsafe in another table, and the pattern did not withhold it"
        served = self._served.get((number, row), [])
        if not served:
            return "withheld so that all names and variables of a cell have the same fate"
        more = f" and {len(served) - NAMED} more" if len(served) > NAMED else ""
        return f"protects {'; '.join(served[:NAMED])}{more}"

    @cached_property
    def _served(self) -> dict[tuple[int, int], list[str]]:
        """For every added secondary the unsafe cells whose certificates change it."""
        system = self.audit.system
        wanted = {(n, r) for n, (_, hidden) in enumerate(self._masks) for r in np.flatnonzero(hidden).tolist()}
        result: dict[tuple[int, int], list[str]] = {}
        for evidence in self.release.custodian.evidence:
            c, p = evidence.certificates, evidence.proofs
            proof = np.repeat(np.arange(len(p)), np.diff(p.start))
            order = np.argsort(p.certificate, kind="stable")
            proof, certificate = proof[order], p.certificate[order]
            first = np.searchsorted(certificate, np.arange(len(c)))
            count = np.searchsorted(certificate, np.arange(len(c)), side="right") - first
            chosen = np.zeros(len(c.entry_row), np.bool_)
            for number, (_, hidden) in enumerate(self._masks):
                mine = np.flatnonzero(c.entry_table == number)
                chosen[mine] = hidden[c.entry_row[mine]]
            entries = np.flatnonzero(chosen)
            used = np.repeat(np.arange(len(c)), np.diff(c.start))[entries]
            entry = np.repeat(entries, count[used])
            users = proof[ranges(first[used], count[used])]
            for e, user in np.unique(np.column_stack((entry, users)), axis=0).tolist():
                place = (int(c.entry_table[e]), int(c.entry_row[e]))
                if place not in wanted:
                    continue
                # A cell that stands in several tables is named once, and serves others, not itself.
                target = int(system.of[int(p.table[user])][int(p.row[user])])
                name = system.cell_name(target)
                if target != system.of[place[0]][place[1]] and name not in result.setdefault(place, []):
                    result[place].append(name)
        return result


@watched
def repair(
    tables: Table | TableSet,
    pattern: Pattern | str | Path,
    method: TablePublisher | None = None,
    *,
    already_published: Items = None,
) -> Repair:
    """Audit any pattern as it stands and complete it to a certified one.

    The pattern's cells stay withheld and its forced cells published; unsafe cells are withheld in any case. What else
    it takes is withheld at the least cost.

    Parameters
    ----------
    tables
        Assessed tables.
    pattern
        From ``release.pattern()`` or ``ds.read_pattern``, or the path of a file that ``pattern.write`` made.
    method
        How to complete it; ``ds.Suppress()`` by default.
    already_published
        What is out already, as in :func:`protect`. The pattern is audited and completed together with all of it.

    Returns
    -------
    Repair
        With the release, the audit of the pattern as it stood, and the cells that were added.

    Raises
    ------
    InputError
        When the pattern names cells that the tables do not have, or contradicts them.
    ProtectionError
        When it cannot be completed, for example because of its forced cells; nothing is published then.

    Notes
    -----
    Sources: Giessing and Dittrich (2006) and docs/design/0003.

    Examples
    --------
    >>> import discreet as ds
    >>> table = ds.examples.small_table().assess(ds.PPercent(10))
    >>> bare = table.pattern()
    >>> done = ds.repair(table, bare)
    >>> done.held, done.added.num_rows, done.release.verify().holds
    (False, 3, True)
    """
    given = pattern if isinstance(pattern, Pattern) else read_pattern(pattern)
    chosen = Suppress() if method is None else method
    whole = as_set(tables)
    for table in whole:
        refuse_unassessed(table)
    before = on_tables(given, whole)
    already = gather(whole, already_published)
    marked = whole.replaced([with_pattern(table, status) for table, status in zip(whole, before, strict=True)])
    against = chosen if isinstance(chosen, Suppress) else Suppress()
    found = audit(
        whole,
        pattern=given,
        already_published=already,
        insiders=against.insiders,
        coalitions=against.coalitions,
        joint=against.joint,
        known_within=against.known_within,
    )
    done = protect(marked, chosen, already_published=already)
    cells = {word: given.count(word) for word in ("unsafe", "secondary", "forced")}
    log = {**done.custodian.log, "pattern": {"name": given.name, "digest": given.digest, "cells": cells}}
    return Repair(Release(done.public, done.custodian.with_log(log)), found, given, before)
