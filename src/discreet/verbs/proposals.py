"""Coarser tables with fewer unsafe cells: what recodes change, and which ones change most for least."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import inf
from pathlib import Path
from typing import overload

import numpy as np

from discreet.errors import ParameterError, unknown_name
from discreet.files.new_file import OPEN, new_file
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.progress import checkpoint
from discreet.rules.base import rule_from_record
from discreet.rules.records import RecordRule
from discreet.verbs.assess import assess
from discreet.verbs.protect import refuse_unassessed
from discreet.verbs.record_proposals import RecodeProposals, propose_for_records
from discreet.verbs.redesign import How, read_how, recode
from discreet.verbs.tabulate import tabulate
from discreet.watching import watched

MOST_PAIRS = 300
"""Pairs of codes that are looked at together; of more only neighbours are."""


@dataclass(frozen=True)
class RecodeStep:
    """One recode of one variable, and the unsafe and all non-empty cells before and after it."""

    variable: str
    what: str
    codes: Mapping[str, str]
    unsafe: tuple[int, int]
    cells: tuple[int, int]

    def __str__(self) -> str:
        (unsafe, left), (cells, shown) = self.unsafe, self.cells
        return f"{self.variable}: {self.what}: unsafe cells {unsafe:,} to {left:,}, cells {cells:,} to {shown:,}"


@dataclass(frozen=True, eq=False)
class Redesign:
    """A table before and after recodes, both assessed by the same rules, and what each recode did."""

    before: Table
    table: Table
    steps: tuple[RecodeStep, ...]

    @property
    def code_maps(self) -> dict[str, dict[str, str]]:
        """Per recoded variable what became of its base codes, codes that stay left out."""
        maps: dict[str, dict[str, str]] = {}
        for step in self.steps:
            mine = maps.setdefault(step.variable, {})
            chained = {code: step.codes.get(to, to) for code, to in mine.items()}
            maps[step.variable] = {**step.codes, **chained}
        base = {v: set(self.before.spec.by[v].base_codes) for v in maps}
        return {v: {code: to for code, to in mine.items() if code in base[v]} for v, mine in maps.items()}

    def summary(self) -> str:
        """What was recoded, and how many unsafe cells are left."""
        lines = [str(step) for step in self.steps] or ["Nothing is recoded."]
        return "\n".join([*lines, self.effect])

    @property
    def effect(self) -> str:
        """What all recodes changed together."""
        (unsafe, cells), (left, shown) = _counts(self.before), _counts(self.table)
        return f"{self.table.name} recoded: unsafe cells {unsafe:,} to {left:,}, cells {cells:,} to {shown:,}"

    def write(self, folder: str | Path) -> list[Path]:
        """Write a file of old and new codes for every recoded variable, for ``recode`` of a recipe."""
        written = []
        for variable, codes in self.code_maps.items():
            path = Path(folder) / f"{variable}_recode.csv"
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows([("old", "new"), *codes.items()])
            with new_file(path, OPEN) as stream:
                stream.write(text.getvalue().encode())
            written.append(path)
        return written


def redesign(table: Table, recodes: Mapping[str, How]) -> Redesign:
    """Recode variables of an assessed table and assess it again, to see what that changes.

    Parameters
    ----------
    table
        An assessed table.
    recodes
        Per variable a map of codes, the level that its tree is cut at, or a file, as in ``table.recode``.

    Examples
    --------
    >>> import discreet as ds
    >>> import pyarrow as pa
    >>> by = {"trade": ds.Hierarchy.flat(["retail", "food", "crafts"])}
    >>> firms = {"trade": ["retail"] * 4 + ["food"] * 4 + ["crafts"], "sales": [5, 6, 7, 8, 4, 5, 4, 5, 9]}
    >>> table = ds.tabulate(pa.table(firms), by=by, value="sales").assess(ds.MinContributors(3))
    >>> print(ds.redesign(table, {"trade": {"food": "other", "crafts": "other"}}).summary())
    trade: food, crafts become other: unsafe cells 1 to 0, cells 4 to 3
    sales_by_trade recoded: unsafe cells 1 to 0, cells 4 to 3
    """
    _refuse_sets(table)
    now, steps = table, []
    for variable, how in recodes.items():
        if variable not in table.spec.by:
            raise ParameterError(unknown_name("variable", variable, table.variables, f"table {table.name!r}"))
        codes = dict(read_how(now.spec.by[variable], how)[0])
        made = _assessed_like(table, recode(now, variable, codes))
        steps.append(_step(now, made, variable, codes))
        now = made
    return Redesign(table, now, tuple(steps))


@overload
def propose_recodes(
    table: Table, *, target: int = ..., most: int = ..., variables: Sequence[str] | None = ..., merge: bool = ...
) -> Redesign: ...


@overload
def propose_recodes(
    table: Microdata,
    *,
    target: int = ...,
    most: int = ...,
    variables: Sequence[str] | None = ...,
    rules: RecordRule | Sequence[RecordRule] = ...,
) -> RecodeProposals: ...


@watched
def propose_recodes(
    table: Table | Microdata,
    *,
    target: int = 0,
    most: int = 20,
    variables: Sequence[str] | None = None,
    merge: bool = True,
    rules: RecordRule | Sequence[RecordRule] = (),
) -> Redesign | RecodeProposals:
    """The recodes that remove most unsafe cells, or unsafe records, for the least detail, one after the other.

    For records every key is tried in every way that makes sense: levels of its hierarchy, fewer digits, intervals, top
    and bottom at quantiles, neighbours of ordered codes together, rare codes together. Each proposal says how many
    records are unsafe after it and what it costs: the share of the column's information (entropy) that is lost, and the
    share of records whose code changes. The sequence takes the one that removes most *for its loss*, again and again;
    it has one recoding for each column.

    For tables every step takes the recode that removes most unsafe cells *for each non-empty cell that the table
    loses*; of equals the one that removes more, then the first. It closes a branch of a tree, or merges two base codes
    under one parent.

    The search is greedy: what it finds need not be the best of all sets of recodes. What is unsafe after every step is
    counted on the table or the records as they are then, never estimated.

    Parameters
    ----------
    table
        An assessed table, or records. Codes of a table are merged only where it was tabulated from records: who
        contributes to a merged cell of a ready-made table is not known.
    target
        Stop at so many unsafe cells or records.
    most
        At most so many recodes.
    variables
        Variables that may be recoded; all, or all keys, when left out.
    merge
        Merge codes of a table, too, and not only close branches.
    rules
        Rules that say which records are unsafe; those that they were assessed by when left out.

    Examples
    --------
    >>> import discreet as ds
    >>> import pyarrow as pa
    >>> by = {"trade": ds.Hierarchy.flat(["retail", "food", "crafts"])}
    >>> firms = {"trade": ["retail"] * 4 + ["food"] * 4 + ["crafts"], "sales": [5, 6, 7, 8, 4, 5, 4, 5, 9]}
    >>> table = ds.tabulate(pa.table(firms), by=by, value="sales").assess(ds.MinContributors(3))
    >>> print(ds.propose_recodes(table).summary().splitlines()[0])
    trade: retail, crafts become retail+crafts: unsafe cells 1 to 0, cells 4 to 3

    Recodes of records are ready for ``protect``:

    >>> people = ds.Microdata(pa.table({"age": [20, 20, 21, 21, 40, 41, 50, 51, 52, 97]}), keys="age")
    >>> found = ds.propose_recodes(people, rules=ds.KAnonymity(2))
    >>> ds.protect(people, found.methods, rules=ds.KAnonymity(2)).verify().holds
    True
    """
    if isinstance(table, Microdata):
        _refuse_negative(target, most)
        return propose_for_records(table, rules, target=target, most=most, variables=variables)
    if not isinstance(rules, Sequence) or rules:
        raise ParameterError("rules= is for records; a table is assessed.", hint="Use table.assess(rule) first.")
    _refuse_sets(table)
    _refuse_negative(target, most)
    for variable in variables or ():
        if variable not in table.spec.by:
            raise ParameterError(unknown_name("variable", variable, table.variables, f"table {table.name!r}"))
    allowed = [v for v in table.variables if variables is None or v in variables]
    now, steps = table, list[RecodeStep]()
    while len(steps) < most and _counts(now)[0] > target:
        checkpoint("redesign", len(steps), most)
        found = _best(table, now, allowed, merge)
        if found is None:
            break
        now, step = found
        steps.append(step)
    return Redesign(table, now, tuple(steps))


def _refuse_negative(target: int, most: int) -> None:
    if target < 0 or most < 0:
        raise ParameterError("target= and most= cannot be negative.", hint="Leave them out for their defaults.")


@dataclass(frozen=True)
class _Candidate:
    """A recode, with the unsafe cells that it removes and all non-empty cells that it costs."""

    variable: str
    codes: Mapping[str, str]
    removed: int
    lost: int

    @property
    def order(self) -> tuple[float, int]:
        """Best first."""
        return (-(self.removed / self.lost if self.lost else inf), -self.removed)


def _best(first: Table, now: Table, variables: Sequence[str], merge: bool) -> tuple[Table, RecodeStep] | None:
    """The best recode of a table, made and counted; nothing where none removes an unsafe cell."""
    candidates = [c for v in variables for c in _closings(now, v)]
    if merge and isinstance(now.source, Microdata) and now.manual is None:
        candidates += [c for v in variables for c in _merges(first, now, v)]
    for best in sorted((c for c in candidates if c.removed > 0), key=lambda c: c.order):
        made = _assessed_like(first, recode(now, best.variable, best.codes))
        if _counts(made)[0] < _counts(now)[0]:  # rules that look at several cells may count otherwise than foreseen
            return made, _step(now, made, best.variable, best.codes)
    return None


def _closings(table: Table, variable: str) -> Iterator[_Candidate]:
    """Every branch of a tree that could be closed; the cells above it stay as they are."""
    tree = table.spec.by[variable]
    if not _is_tree(tree):
        return
    column = table.codes[:, table.variables.index(variable)]
    below: dict[int, set[int]] = {}
    for code in range(len(tree)):
        above = int(tree.parents[code])
        while above >= 0:
            below.setdefault(above, set()).add(code)
            above = int(tree.parents[above])
    for node in sorted(below):
        if tree.codes[node] != tree.total:
            gone = np.isin(column, list(below[node]))
            codes = {tree.codes[c]: tree.codes[node] for c in sorted(below[node]) if tree.base[c]}
            yield _Candidate(variable, codes, int((table.unsafe & gone).sum()), int((~table.empty & gone).sum()))


def _merges(first: Table, table: Table, variable: str) -> Iterator[_Candidate]:
    """Every pair of base codes under one parent, one of them in an unsafe cell; all are tabulated at once."""
    tree, k = table.spec.by[variable], table.variables.index(variable)
    if not _is_tree(tree):
        return
    pairs = list(_pairs(tree, {tree.codes[c] for c in table.codes[table.unsafe, k].tolist()}))
    if not pairs:
        return
    wider, names = tree, dict[str, tuple[str, str]]()
    for one, other in pairs:
        name = _new_code(wider, one, other)
        wider = wider.with_grouping(name, [one, other])
        names[name] = (one, other)
    made = tabulate(table.source, specs=[table.spec.with_(by={**table.spec.by, variable: wider})])
    assert isinstance(made, TableSet)
    judged = _assessed_like(first, made.tables[0])
    unsafe = np.bincount(judged.codes[judged.unsafe, k], minlength=len(wider))
    shown = np.bincount(judged.codes[~judged.empty, k], minlength=len(wider))
    for name, both in names.items():
        at, new = [wider.index[code] for code in both], wider.index[name]
        removed, lost = (int(count[at].sum() - count[new]) for count in (unsafe, shown))
        yield _Candidate(variable, dict.fromkeys(both, name), removed, lost)


def _pairs(tree: Hierarchy, unsafe: set[str]) -> Iterator[tuple[str, str]]:
    for grouping in tree.groupings:
        codes = [code for code, _ in grouping.parts if tree.base[tree.index[code]]]
        if len(grouping.parts) < 3:
            continue  # merging both of two codes is closing their branch
        near = len(codes) * (len(codes) - 1) // 2 > MOST_PAIRS
        for one, other in pairwise(codes) if near else combinations(codes, 2):
            if one in unsafe or other in unsafe:
                yield one, other


def _new_code(tree: Hierarchy, one: str, other: str) -> str:
    name = f"{one}+{other}"
    while name in tree.index:
        name += "+"
    return name


def _is_tree(tree: Hierarchy) -> bool:
    parts = [code for grouping in tree.groupings for code, _ in grouping.parts]
    parents = [grouping.parent for grouping in tree.groupings]
    positive = all(sign == 1 for grouping in tree.groupings for _, sign in grouping.parts)
    return positive and len(set(parts)) == len(parts) and len(set(parents)) == len(parents)


def _assessed_like(first: Table, table: Table) -> Table:
    """A table assessed by the rules of another."""
    found = first.assessment
    assert found is not None
    rules = [rule_from_record(record) for record in found.rules]
    return assess(table, *rules, profile=found.profile, **found.options)


def _step(before: Table, after: Table, variable: str, codes: Mapping[str, str]) -> RecodeStep:
    (unsafe, cells), (left, shown) = _counts(before), _counts(after)
    return RecodeStep(variable, _words(codes, before.spec.by[variable]), dict(codes), (unsafe, left), (cells, shown))


def _words(codes: Mapping[str, str], tree: Hierarchy) -> str:
    targets = dict.fromkeys(codes.values())
    if targets and all(to in tree.index and not tree.base[tree.index[to]] for to in targets):
        return f"nothing below {', '.join(targets)}"
    groups = [(", ".join(c for c, new in codes.items() if new == to), to) for to in targets]
    return "; ".join(f"{old} become {new}" for old, new in groups) or "nothing"


def _counts(table: Table) -> tuple[int, int]:
    """Unsafe cells, and all that are not empty."""
    return int(table.unsafe.sum()), int((~table.empty).sum())


def _refuse_sets(table: Table) -> None:
    if not isinstance(table, Table):
        raise ParameterError(
            f"One table is redesigned at a time, not a {type(table).__name__}.",
            hint="Give one table, and the same recodes to the tables that are linked with it.",
        )
    refuse_unassessed(table)
