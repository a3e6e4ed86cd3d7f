"""Several offices protect one table together: centrally, each for itself, or in blocks, and then the top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.errors import InputError, ParameterError, ProtectionError, counted, listed, unknown_name
from discreet.files.frames import to_frame
from discreet.files.pattern import read_pattern
from discreet.model.arrays import Bools, Status
from discreet.model.pattern import Pattern, PatternTable, pattern_of, rows_of
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet
from discreet.progress import checkpoint, onwards
from discreet.relations import System, build_system
from discreet.tables.engines.standards import Standards
from discreet.tables.suppress import Suppress
from discreet.tables.suppress.classes import CLASSES
from discreet.verbs.office_sums import Sums, unsafe_sums
from discreet.verbs.offices import joint_table, office_table, offices_of, top_table
from discreet.verbs.patterns import with_pattern
from discreet.verbs.protect import refuse_unassessed
from discreet.verbs.repair import Repair, repair
from discreet.watching import watched

MODELS = ("central", "decentral", "weighted", "block")
FROZEN = ("keep", "report", "reopen")
TOP = "top"
SHOWN = 5
HIDDEN = (CellStatus.UNSAFE, CellStatus.SECONDARY)

Patterns = Mapping[str, Pattern | str | Path]


@dataclass(frozen=True, eq=False, repr=False)
class Coordination:
    """What offices withhold together, and what attackers find of it. For the custodian's eyes.

    Parameters
    ----------
    table
        The table of all offices together.
    variable, model
        What offices are codes of, and how they worked.
    patterns
        The pattern of every office, and of the office at the top (``"top"``) where it worked on its own.
    pattern
        All of them together, on the whole table.
    found
        What attackers find of it, over all relations.
    open
        Cells that the patterns of the offices leave exposed at the top.
    """

    table: Table
    variable: str
    model: str
    patterns: Mapping[str, Pattern]
    pattern: Pattern
    found: Standards
    open: tuple[str, ...]

    def certified(self, method: Suppress | None = None) -> Repair:
        """The pattern completed to a certified release; see ``ds.repair``."""
        return repair(self.table, self.pattern, method)

    def counts(self) -> dict[str, Any]:
        """Secondaries of the office at the top, of the offices and below them, with their shares and value."""
        status = self._status
        depth = self._depths[self.variable]
        there = ~self.table.empty
        secondary = status == CellStatus.SECONDARY
        result: dict[str, Any] = {"model": self.model}
        for name, where in (("top", depth == 0), ("offices", depth == 1), ("below", depth > 1)):
            count, of = int((secondary & where).sum()), int((there & where).sum())
            result[name] = count
            result[f"{name}_share"] = round(100 * count / of, 2) if of else 0.0
        high = there & (depth <= 1)
        value = np.abs(self.table.value.astype(np.float64))
        total = float(value[high].sum())
        result["value_share"] = round(100 * float(value[high & secondary].sum()) / total, 2) if total else 0.0
        return {**result, **self.found.counts(), "standards": " ".join(self.found.met), "open": len(self.open)}

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """Cells, unsafe ones and secondaries by the level of the offices and of every other variable."""
        status = self._status
        levels = np.column_stack([self._depths[v] for v in self.table.variables])
        places, group = np.unique(levels, axis=0, return_inverse=True)
        group = group.ravel()
        columns: dict[str, list[Any]] = {
            f"{v} level": places[:, k].tolist() for k, v in enumerate(self.table.variables)
        }
        for name, mask in (
            ("cells", ~self.table.empty),
            ("unsafe", status == CellStatus.UNSAFE),
            ("secondaries", status == CellStatus.SECONDARY),
        ):
            columns[name] = np.bincount(group[mask], minlength=len(places)).tolist()
        return to_frame({"model": [self.model] * len(places), **columns}, backend)

    def summary(self) -> str:
        """The work in a few lines, without confidential values."""
        count = self.counts()
        lines = [
            f"{self.model}: withheld besides unsafe cells: {count['top']:,} at the top ({count['top_share']} %), "
            f"{count['offices']:,} of the offices ({count['offices_share']} %), {count['below']:,} below them; "
            f"{count['value_share']} % of the value at the top and of the offices",
            self.found.sentence(),
        ]
        if self.open:
            lines.append(f"{counted(len(self.open), 'cell', 'stay')} exposed at the top: {listed(self.open, SHOWN)}")
        return "\n".join(lines)

    __repr__ = summary

    @property
    def _status(self) -> Status:
        return self.pattern.placed(self.table).status[0]

    @property
    def _depths(self) -> dict[str, Any]:
        table = self.table
        return {v: h.depth[table.codes[:, k]] for k, (v, h) in enumerate(table.spec.by.items())}


@watched
def coordinate(
    table: Table,
    variable: str,
    method: Suppress | None = None,
    *,
    model: Literal["central", "decentral", "weighted", "block"] = "decentral",
    patterns: Patterns | None = None,
    last: Table | Pattern | str | Path | None = None,
    alone: Sequence[str] = (),
    frozen: Literal["keep", "report", "reopen"] = "keep",
) -> Coordination:
    """Protect a table that several offices publish together: the parts of the total of one variable.

    Parameters
    ----------
    table
        The assessed table of all offices. Cells that earlier rounds froze are marked as forced in it.
    variable
        The variable that offices are codes of (the region): a tree, its codes right below the total are the offices.
    method
        How every run is made; ``ds.Suppress()`` by default. Patterns of engines are taken as they are, without
        ``repair``; what attackers find of all of them together is in the result, and ``certified()`` completes it.
    model
        ``"central"``: one run on the whole table. ``"decentral"``: every office for itself, then the top with the
        offices' cells frozen. ``"weighted"``: the same, with what a central run on the ``last`` period withheld cheap
        to withhold again. ``"block"``: the offices of ``alone`` for themselves, all others in one joint run, then
        the top.
    patterns
        Patterns that offices made themselves, or files of them, by office; they are taken instead of own runs.
    last
        For ``"weighted"``: last period's assessed table, or the pattern that was made of it.
    alone
        For ``"block"``: the offices that work for themselves.
    frozen
        What happens where the top cannot be protected unless an office withholds a cell that it has published:
        ``"keep"``, an error that names the cells; ``"report"``, they are listed; ``"reopen"``, the top may withhold
        cells of offices too.

    Returns
    -------
    Coordination
        Patterns for every office, all of them together, what attackers find, and counts by level.

    Raises
    ------
    InputError
        When a pattern names codes that the table does not have, or publishes an unsafe cell.
    ProtectionError
        When a frozen cell would have to be withheld.

    Notes
    -----
    Source: Giessing and Dittrich (2006). Nothing is certified by coordination alone; ``certified()`` makes the release.

    Examples
    --------
    >>> import discreet as ds
    >>> from discreet.generate import business_survey
    >>> made = business_survey(400, activities=(3, 6), regions=(3, 6))
    >>> by = {v: ds.Hierarchy.from_parents(made.parents[v], total="Total") for v in ("activity", "region")}
    >>> table = ds.tabulate(ds.Microdata(made.records, contributor="holding"), by=by, value="turnover")
    >>> done = ds.coordinate(table.assess(ds.PPercent(10)), "region", frozen="report")
    >>> sorted(done.patterns)
    ['R1', 'R2', 'R3', 'top']
    """
    chosen = _checked(model, method, patterns, last, alone, frozen)
    refuse_unassessed(table)
    offices = offices_of(table, variable)
    for office in (*alone, *(patterns or {})):
        if office not in offices:
            raise ParameterError(unknown_name("office", str(office), offices, f"variable {variable!r}"))
    if model == "central":
        return _central(table, variable, chosen)
    work = _OfficeRuns(table, variable, chosen, offices, dict(patterns or {}), frozen)
    if model == "weighted":
        work.prefer(last)
    work.offices_alone(tuple(alone) if model == "block" else offices)
    if model == "block":
        work.offices_jointly(tuple(o for o in offices if o not in alone))
    opened = work.top()
    return work.result(model, opened)


def _checked(
    model: str, method: Suppress | None, patterns: Patterns | None, last: Any, alone: Sequence[str], frozen: str
) -> Suppress:
    if model not in MODELS:
        raise ParameterError(unknown_name("model", str(model), MODELS))
    if frozen not in FROZEN:
        raise ParameterError(unknown_name("way with frozen cells", str(frozen), FROZEN))
    if (model == "weighted") != (last is not None):
        raise ParameterError(
            "last= is what model='weighted' needs, and no other.", hint="Give last period's table or pattern with it."
        )
    if (model == "block") != bool(alone):
        raise ParameterError(
            "alone= is what model='block' needs, and no other.", hint="Name the offices that work for themselves."
        )
    if patterns and model not in ("decentral", "block"):
        raise ParameterError(f"model={model!r} takes no patterns of offices.", hint="Use 'decentral' or 'block'.")
    accept = tuple({"class": kind, "reason": "not certified yet", "name": "coordination"} for kind in CLASSES)
    chosen = replace(Suppress() if method is None else method, accept=accept)
    read = chosen.with_files_read()
    return read if isinstance(read, Suppress) else chosen


def _central(table: Table, variable: str, method: Suppress) -> Coordination:
    system = build_system(table)
    withheld = method.propose(system)
    pattern = _pattern(table, withheld[system.of[0]])
    return Coordination(table, variable, "central", {}, pattern, method.attacked(system, withheld), ())


class _OfficeRuns:
    """The runs of all offices on one table, and what each withholds so far."""

    def __init__(
        self, table: Table, variable: str, method: Suppress, offices: Sequence[str], given: dict[str, Any], frozen: str
    ) -> None:
        self.table, self.variable, self.method, self.offices = table, variable, method, offices
        self.given, self.frozen = given, frozen
        self.preferred: Pattern | None = None
        self.patterns: dict[str, Pattern] = {}

    def prefer(self, last: Any) -> None:
        """What was withheld last period, by a central run where its table is given."""
        if isinstance(last, Table):
            refuse_unassessed(last)
            self.preferred = _central(last, self.variable, self.method).pattern
        else:
            self.preferred = last if isinstance(last, Pattern) else read_pattern(last)

    def offices_alone(self, offices: Sequence[str]) -> None:
        """Every office for itself, or as it says."""
        for done, office in enumerate(offices):
            checkpoint("offices", done, len(offices))
            mine = office_table(self.table, self.variable, office)
            if office in self.given:
                self.patterns[office] = _their_pattern(self.given[office], office, mine)
                continue
            method = self.method
            if self.preferred is not None:
                method = replace(method, prefer=_part(self.preferred, mine))
            with onwards(f"{office}: "):
                self.patterns[office] = _run(mine, method)
        checkpoint("offices", len(offices), len(offices))

    def offices_jointly(self, offices: Sequence[str]) -> None:
        """Several offices in one run, each with its part of the result."""
        own = [office for office in offices if office in self.given]
        if own:
            raise ParameterError(
                f"Offices in the joint run bring patterns of their own: {listed(own)}.", hint="Name them in alone=."
            )
        if not offices:
            return
        joint = joint_table(self.table, self.variable, offices)
        with onwards("joint offices: "):
            pattern = _run(joint, self.method)
        for office in offices:
            mine = office_table(self.table, self.variable, office)
            self.patterns[office] = _part(pattern, mine)

    def top(self) -> tuple[str, ...]:
        """The office at the top, with the offices' cells frozen; the cells that stay exposed."""
        top = top_table(self.table, self.variable)
        k = top.variables.index(self.variable)
        office = top.spec.by[self.variable].depth[top.codes[:, k]] == 1
        hidden = self._hidden(top)
        status = np.zeros(len(top), np.int8)
        status[hidden & ~top.unsafe] = CellStatus.SECONDARY
        if self.frozen != "reopen":
            status[office & ~hidden & ~top.empty & ~top.unsafe] = CellStatus.FORCED
        sums = unsafe_sums(top, hidden, self.variable)
        system = _nothing_known(build_system(with_pattern(top, status)), top, hidden, k, sums)
        with onwards("top: "):
            withheld = self.method.propose(system)
            found = self.method.attacked(system, withheld)
        stuck = sums.row[top.status[sums.row] == CellStatus.FORCED].tolist()
        names = tuple(system.cell_name(c) for c in found.exact.tolist())
        names += tuple(f"what offices withhold of {top.cell_name(row)}, together" for row in stuck)
        if names and self.frozen == "keep":
            raise ProtectionError(
                f"{counted(len(names), 'cell')} can be worked out at the top, because cells are frozen that would "
                "have to be "
                f"withheld: {listed(names, SHOWN)}.",
                hint="Let the top withhold cells of offices too (frozen='reopen'), send these offices their pattern "
                "back, or list the cells only (frozen='report').",
            )
        self.patterns[TOP] = _pattern(top, withheld[system.of[0]])
        return names

    def _hidden(self, top: Table) -> Bools:
        """Rows of the top's table that offices withhold."""
        result = top.unsafe.copy()
        for office in self.offices:
            cells = self.patterns[office].tables[0]
            rows = _rows(cells, top)
            result[rows[(rows >= 0) & cells.withheld]] = True
        return result

    def result(self, model: str, opened: tuple[str, ...]) -> Coordination:
        """All patterns together."""
        hidden = self.table.unsafe.copy()
        for pattern in self.patterns.values():
            cells = pattern.tables[0]
            rows = _rows(cells, self.table)
            hidden[rows[(rows >= 0) & cells.withheld]] = True
        system = build_system(self.table)
        withheld = system.withheld([hidden | np.isin(system.of[0], system.of[0][hidden])])
        with onwards("all offices: "):
            found = self.method.attacked(system, withheld)
        pattern = _pattern(self.table, withheld[system.of[0]])
        if self.frozen == "reopen":
            for office in self.offices:
                self.patterns[office] = _part(pattern, office_table(self.table, self.variable, office))
        return Coordination(self.table, self.variable, model, self.patterns, pattern, found, opened)


def _run(table: Table, method: Suppress) -> Pattern:
    system = build_system(table)
    return _pattern(table, method.propose(system)[system.of[0]])


def _pattern(table: Table, hidden: Bools) -> Pattern:
    """The pattern of a table with these rows withheld."""
    status = table.status.copy()
    status[hidden & ~table.unsafe & ~table.empty] = CellStatus.SECONDARY
    plain = pattern_of(table)
    rows = np.flatnonzero(table.status != CellStatus.EMPTY)
    return replace(plain, tables=(replace(plain.tables[0], status=status[rows]),))


def _rows(cells: PatternTable, table: Table) -> Any:
    """Rows of a table with the codes of a pattern's cells, -1 where it has none; all codes are written out."""
    return rows_of(table, cells.variables, cells.code_lists, cells.codes)


def _part(pattern: Pattern, table: Table) -> Pattern:
    """The cells of a pattern that a table has."""
    cells = pattern.tables[0]
    there = np.flatnonzero(_rows(cells, table) >= 0)
    return Pattern((replace(cells.at(there), name=table.name),), pattern.name)


def _their_pattern(given: Pattern | str | Path, office: str, table: Table) -> Pattern:
    """The pattern that an office sent, refused by name where it does not fit its table."""
    pattern = given if isinstance(given, Pattern) else read_pattern(given)
    if len(pattern.tables) == 1 and pattern.tables[0].name:
        pattern = pattern.renamed({pattern.tables[0].name: table.name})
    placed = pattern.placed(TableSet([table]))
    if placed.unknown:
        raise InputError(
            f"Office {office!r} uses other codes: {counted(len(placed.unknown), 'cell of its pattern', 'are')} not "
            "in its table: "
            f"{listed(placed.unknown, SHOWN)}.",
            hint="Let all offices use the same code lists, or map the codes of the pattern before (ds.read_code_map).",
            recipe_hint="Let all offices use the same code lists, and ask the office for its pattern in these codes.",
        )
    hidden = np.isin(placed.status[0], HIDDEN)
    wrong = [table.cell_name(row) for row in np.flatnonzero(table.unsafe & ~hidden).tolist()]
    if wrong:
        raise InputError(
            f"Office {office!r} publishes {counted(len(wrong), 'unsafe cell')}: {listed(wrong, SHOWN)}.",
            hint="Send its pattern back; the offices must apply the same rules.",
        )
    return _pattern(table, hidden)


def _nothing_known(system: System, top: Table, hidden: Bools, k: int, sums: Sums) -> System:
    """The system of the top, in which nothing that offices withhold may be worked out.

    A secondary of an office that came to light would uncover its unsafe cells; and a total of which one part only is
    withheld gives that part away, so that it is withheld too. So is a total of which the withheld parts are unsafe
    together, with the levels of their sum.
    """
    office = top.spec.by[top.variables[k]].depth[top.codes[:, k]] == 1
    others = np.delete(top.codes, k, axis=1)
    _, line = np.unique(others, axis=0, return_inverse=True)
    line = line.ravel()
    single = np.bincount(line[hidden & office], minlength=int(line.max(initial=-1)) + 1) == 1
    may = ~top.empty & (top.status != CellStatus.FORCED)
    exposed = ~office & single[line] & may
    unsafe = system.unsafe.copy()
    lower, upper = system.lower_level.copy(), system.upper_level.copy()
    more = np.unique(system.of[0][(hidden | exposed) & ~top.unsafe])
    unsafe[more] = True
    upper[more] = np.maximum(upper[more], 1)
    cells, kept = system.of[0][sums.row], may[sums.row]
    unsafe[cells[kept]] = True
    np.maximum.at(lower, cells[kept], sums.lower[kept])
    np.maximum.at(upper, cells[kept], sums.upper[kept])
    return replace(system, unsafe=unsafe, lower_level=lower, upper_level=upper, given=system.given & ~unsafe)
