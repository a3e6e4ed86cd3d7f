"""All algorithms on the same tables: what each withholds, what it leaves open, and what it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from discreet.comparison.writing import DONE, ended, write_new
from discreet.errors import DiscreetError, ParameterError, counted
from discreet.files.frames import to_frame
from discreet.model.arrays import Bools
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet, as_set
from discreet.progress import checkpoint, onwards
from discreet.relations import System, build_system
from discreet.report.comparison import comparison_image
from discreet.report.page import standing_alone
from discreet.tables.engines.standards import Standards
from discreet.tables.suppress import Suppress
from discreet.tables.suppress.classes import CLASSES
from discreet.verbs.already import Items, gather
from discreet.verbs.cost_variables import with_cost_variable
from discreet.verbs.protect import refuse_unassessed
from discreet.watching import watched

ALGORITHMS = ("certified", "hypercube", "modular", "network", "gauss")
FINDINGS = ("short", "recoverable", "short_insiders", "recoverable_insiders")
MIB = 2**20

Chosen = Sequence[str | Suppress] | Mapping[str, str | Suppress]


@dataclass(frozen=True, eq=False, repr=False)
class AlgorithmComparison:
    """What algorithms did to the same tables. For the custodian's eyes.

    ``rows`` hold one mapping an algorithm and level; the row without a table is that of all cells together.
    """

    rows: tuple[Mapping[str, Any], ...]

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """One row per algorithm and level of each variable."""
        return to_frame({name: [row[name] for row in self.rows] for name in self.rows[0]}, backend)

    @property
    def totals(self) -> tuple[Mapping[str, Any], ...]:
        """One row per algorithm: all cells together."""
        return tuple(row for row in self.rows if row["table"] is None)

    def plot(self, path: str | Path | None = None) -> str:
        """The comparison as an image (svg), written to a new file where asked."""
        done = [row for row in self.totals if row["status"] == DONE]
        names = ", ".join(str(row["algorithm"]) for row in done)
        drawing = comparison_image(done, f"Suppression by {names}")
        if path is not None:
            write_new(Path(path), standing_alone(drawing))
        return drawing

    def summary(self) -> str:
        """A line an algorithm, without confidential values."""
        lines = []
        for row in self.totals:
            if row["status"] != DONE:
                lines.append(f"{row['algorithm']}: {row['status']}")
                continue
            lines.append(
                f"{row['algorithm']}: {counted(row['secondaries'], 'cell')} withheld besides {row['unsafe']:,} "
                "unsafe ones; "
                f"{row['short']:,} short of their level, {row['recoverable_insiders']:,} worked out by an insider; "
                f"meets {row['standards'] or 'no standard'}; {row['cpu_seconds']:.2f} s"
            )
        return "\n".join(lines)

    __repr__ = summary


@watched
def compare_algorithms(
    tables: Table | TableSet, algorithms: Chosen = ALGORITHMS, *, already_published: Items = None
) -> AlgorithmComparison:
    """Run suppression algorithms on the same tables and attack their patterns as they stand.

    Nothing is released, so that patterns may leave cells open; the comparison says how many. An algorithm that cannot
    take the tables, or fails, says so in its ``status`` and does not stop the others.

    Parameters
    ----------
    tables
        Assessed tables.
    algorithms
        Names of algorithms, or ``ds.Suppress`` with any parameters; a mapping gives them names of one's own.
    already_published
        What is out already, as in :func:`protect`.

    Returns
    -------
    AlgorithmComparison
        With ``to_frame()``, ``plot()`` and ``summary()``. By level of every variable: cells, unsafe ones, secondaries
        and their value, unsafe cells that are ``short`` of their level or ``recoverable`` by an outsider and by
        ``insiders``; for the algorithm the standards it met, ``cpu_seconds`` and ``peak_mib`` (memory above what was
        in use; where the system tells it).

    Raises
    ------
    ParameterError
        When an algorithm is not known, or two have the same name.

    Notes
    -----
    Sources: Giessing and Dittrich (2006).

    Examples
    --------
    >>> import discreet as ds
    >>> table = ds.examples.small_table().assess(ds.PPercent(10))
    >>> found = ds.compare_algorithms(table, ["certified", "hypercube"])
    >>> [(row["algorithm"], row["secondaries"], row["short"]) for row in found.totals]
    [('certified', 3, 0), ('hypercube', 3, 0)]
    """
    methods = _methods(algorithms)
    whole = as_set(tables)
    for table in whole:
        refuse_unassessed(table)
    for method in methods.values():
        whole = with_cost_variable(whole, method)
    system = build_system(whole, gather(whole, already_published))
    system.check_additive()
    system.check_bounds()
    rows: list[dict[str, Any]] = []
    for done, (name, method) in enumerate(methods.items()):
        checkpoint("compare", done, len(methods))
        with onwards(f"{name}: "):
            rows += _compared(system, name, method)
    checkpoint("compare", len(methods), len(methods))
    return AlgorithmComparison(tuple(rows))


def _methods(algorithms: Chosen) -> dict[str, Suppress]:
    """Methods by name; whatever they cannot protect is for the comparison to show."""
    if isinstance(algorithms, str) or not algorithms:
        raise ParameterError("There are no algorithms to compare.", hint=f"For example {list(ALGORITHMS)}.")
    given = algorithms if isinstance(algorithms, Mapping) else {_name(a): a for a in algorithms}
    if len(given) < len(algorithms):
        raise ParameterError(
            "Two algorithms have the same name.", hint="Give a mapping of names: {'hyper0': ds.Suppress(...)}."
        )
    result = {}
    for name, chosen in given.items():
        method = Suppress(algorithm=chosen) if isinstance(chosen, str) else chosen  # type: ignore[arg-type]
        if not isinstance(method, Suppress):
            raise ParameterError(
                f"Cannot compare a {type(method).__name__}.", hint="Give names of algorithms, or ds.Suppress(...)."
            )
        accept = tuple({"class": kind, "reason": "comparison", "name": "nobody"} for kind in CLASSES)
        read = method.with_files_read()
        result[name] = replace(read, accept=accept) if isinstance(read, Suppress) else method
    return result


def _name(chosen: str | Suppress) -> str:
    if isinstance(chosen, str):
        return chosen
    return f"{chosen.algorithm}, repaired" if chosen.repair else chosen.algorithm


def _compared(system: System, name: str, method: Suppress) -> list[dict[str, Any]]:
    """The rows of one algorithm; a failure is one row that says why."""
    before = _memory("VmRSS", reset=True)
    start = process_time()
    try:
        withheld = method.propose(system)
        seconds, peak = process_time() - start, _memory("VmHWM")
        found = method.attacked(system, withheld)
    except DiscreetError as error:
        return [_row(name, ended(error))]
    used = None if before is None or peak is None else round(max(peak - before, 0) / MIB, 1)
    common = {"standards": " ".join(found.met), "cpu_seconds": round(seconds, 3), "peak_mib": used}
    return [{**row, **common} for row in _rows(system, name, withheld, found)]


def _row(name: str, status: str, **numbers: Any) -> dict[str, Any]:
    columns = ("table", "variable", "level", "cells", "unsafe", "secondaries", "secondary_value", *FINDINGS)
    rest = ("standards", "cpu_seconds", "peak_mib")
    return {"algorithm": name, "status": status, **dict.fromkeys((*columns, *rest)), **numbers}


def _rows(system: System, name: str, withheld: Bools, found: Standards) -> list[dict[str, Any]]:
    """Counts of all distinct cells, and of each table by the level of each variable."""
    hit = {"short": found.short, "recoverable": found.exact}
    hit |= {"short_insiders": found.short_insiders, "recoverable_insiders": found.exact_insiders}
    marks = {}
    for measure, cells in hit.items():
        marks[measure] = np.zeros(len(system), np.bool_)
        marks[measure][cells] = True
    mine = system.now & ~system.empty
    secondary = withheld & ~system.unsafe & mine
    unit = 10.0**system.decimals

    def row_of(cells: Any, **place: Any) -> dict[str, Any]:
        return _row(
            name,
            DONE,
            **place,
            cells=int(mine[cells].sum()),
            unsafe=int(system.unsafe[cells].sum()),
            secondaries=int(secondary[cells].sum()),
            secondary_value=float(np.abs(system.value[cells][secondary[cells]]).sum() / unit),
            **{measure: int(mark[cells].sum()) for measure, mark in marks.items()},
        )

    rows = [row_of(np.flatnonzero(system.now))]
    for table, of in list(zip(system.tables, system.of, strict=True))[: system.present]:
        there = table.status != CellStatus.EMPTY
        for k, (variable, hierarchy) in enumerate(table.spec.by.items()):
            depth = hierarchy.depth[table.codes[:, k]]
            for level in np.unique(depth).tolist():
                rows.append(row_of(of[there & (depth == level)], table=table.name, variable=variable, level=level))
    return rows


def _memory(field: str, reset: bool = False) -> int | None:
    """Memory of this process in bytes (now: VmRSS, the most since it was reset: VmHWM); None where nobody says."""
    status = Path("/proc/self/status")
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith(field))
    except (OSError, StopIteration):
        return None
    return int(line.split()[1]) * 1024
