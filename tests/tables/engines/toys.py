"""Small tables with known answers, and what engines are judged by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array

import discreet as ds
from discreet.attack import External, attack_by_insiders
from discreet.attack.insiders import WorstInsider
from discreet.attack.intervals import AttackIntervals, attack_intervals
from discreet.generate import business_survey
from discreet.relations import System, build_system
from discreet.tables.engines.subtables import relations_of, subtables


def two_way(
    inner: Sequence[Sequence[int]],
    unsafe: Mapping[tuple[int, int], int],
    sole: Sequence[tuple[int, int]] = (),
    forced: Sequence[tuple[int, int]] = (),
) -> System:
    """A flat two-way table; rows and columns are numbered from 1, 0 is the total; unsafe cells have a level."""
    grid = np.asarray(inner)
    rows, columns = grid.shape
    full = np.zeros((rows + 1, columns + 1), np.int64)
    full[1:, 1:] = grid
    full[0], full[:, 0] = full.sum(axis=0), full.sum(axis=1)
    full[0, 0] = grid.sum()
    places = [(i, j) for i in range(rows + 1) for j in range(columns + 1)]
    cells = {
        "r": ["Total" if i == 0 else f"r{i}" for i, _ in places],
        "c": ["Total" if j == 0 else f"c{j}" for _, j in places],
        "value": [int(full[place]) for place in places],
        "contributors": [0 if not full[place] else 1 if place in sole else 5 for place in places],
        "status": ["E" if not full[p] else "U" if p in unsafe else "P" if p in forced else "S" for p in places],
        "lower_protection": [unsafe.get(p, 0) for p in places],
        "upper_protection": [unsafe.get(p, 0) for p in places],
    }
    by = {
        "r": ds.Hierarchy.flat([f"r{i}" for i in range(1, rows + 1)]),
        "c": ds.Hierarchy.flat([f"c{j}" for j in range(1, columns + 1)]),
    }
    import pyarrow as pa

    return build_system(ds.Table.from_cells(pa.table(cells), by=by, value="value").assess())


FIFTEEN = "s s s s x u s s s s x x s s s"
"""The published pattern of :func:`fifteen_cells`, a row of three after the other."""


def fifteen_cells_of_records() -> System:
    """The same in the second public test, of a hundred records: total 10,484.95, level 22.41 (P(20,5)), in cents."""
    inner = [[193_879, 18_940], [147_606, 199_880], [119_216, 105_736], [111_806, 151_432]]
    return two_way(inner, {(1, 2): 2_241})


def fifteen_cells() -> System:
    """Four regions by sex; women in region A are unsafe, with a level of one (public test of checkTauArgus)."""
    return two_way([[895, 137], [753, 973], [569, 486], [540, 793]], {(1, 2): 1})


def letters(system: System, withheld: np.ndarray) -> str:
    """A pattern as letters in the order of the table's cells."""
    of = system.of[0]
    return " ".join("u" if system.unsafe[c] else "x" if withheld[c] else "s" for c in of.tolist())


def cell(system: System, **codes: str) -> int:
    """Number of a cell by its codes."""
    return int(system.of[0][system.tables.tables[0].row(**codes)])


def survey(
    records: int = 600,
    seed: int = 5,
    variables: Sequence[str] = ("activity", "region"),
    activities: tuple[int, ...] = (3, 9),
    regions: tuple[int, ...] = (2, 6),
) -> System:
    """A business survey by hierarchies, assessed by the p% rule."""
    made = business_survey(records, seed=seed, activities=activities, regions=regions)
    by = {v: ds.Hierarchy.from_parents(made.parents[v], total="Total") for v in variables}
    data = ds.Microdata(made.records, contributor="holding")
    return build_system(ds.tabulate(data, by=by, value="turnover").assess(ds.PPercent(10)))


def attacked(system: System, withheld: np.ndarray) -> AttackIntervals:
    """What an outsider works out over all relations together."""
    return attack_intervals(system, withheld)


def attacked_in_subtables(system: System, withheld: np.ndarray) -> Iterator[AttackIntervals]:
    """The same for an attacker who looks at one sub-table without hierarchies at a time."""
    for part in subtables(system, "test"):
        for number in range(part.count):
            cells = part.cells(number)
            whole = part.whole[part.lines(number)].astype(bool)
            local = relations_of(cells, whole).tocoo()
            columns = cells.ravel()[local.col]
            matrix = csr_array((local.data, (local.row, columns)), shape=(local.shape[0], len(system)))
            inside = np.zeros(len(system), bool)
            inside[cells[cells >= 0]] = True
            if np.any(system.unsafe & inside):
                alone = system.related(
                    matrix=matrix,
                    defining=np.ones(matrix.shape[0], bool),
                    origin=np.zeros((matrix.shape[0], 4), np.int64),
                    slack=np.zeros(matrix.shape[0], np.int64),
                )
                yield attack_intervals(alone, withheld & inside)


def recovered_by_insiders(system: System, withheld: np.ndarray) -> int:
    """How many unsafe cells some contributor works out exactly from its own cells and what is published."""
    attack = External(system, withheld)
    attack.run(True, 0)
    return int((attack_by_insiders(attack, False, 0) == WorstInsider.RECOVERABLE).sum())
