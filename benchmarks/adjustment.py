"""Adjustment at scale: absolute moves beside one plain HiGHS call on the same model, and squared moves.

The tables are three-way with lognormal values; unsafe cells are drawn evenly, with levels of 5 to 25 % of the value.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.registry import Measure, apart, case

BY_NAME_ONLY = ("adjustment-million",)
PATIENCE = 10
"""The plain call is stopped after so many times what ours took, and counts as that long."""


def assessed(side: int, unsafe: int, seed: int = 1) -> Any:
    """A table of side^3 inner cells with totals and so many unsafe cells."""
    import numpy as np
    import pyarrow as pa

    import discreet as ds
    from discreet.model.table import CellStatus

    random = np.random.default_rng(seed)
    shape = (side, side, side)
    place = np.indices(shape).reshape(3, -1)
    columns: dict[str, Any] = {}
    by = {}
    for k in range(3):
        codes = [f"{'abc'[k]}{i}" for i in range(side)]
        by[f"v{k}"] = ds.Hierarchy.flat(codes)
        columns[f"v{k}"] = pa.DictionaryArray.from_arrays(place[k].astype(np.int32), codes)
    columns["value"] = np.rint(random.lognormal(7, 1.5, side**3)).astype(np.int64) + 1
    table = ds.Table.from_cells(pa.table(columns), by=by, compute_totals=True)
    chosen = random.choice(np.flatnonzero((table.codes > 0).all(axis=1)), unsafe, replace=False)
    level, marks = np.zeros(len(table), np.int64), np.zeros(len(table), np.int8)
    level[chosen] = np.ceil(table.value[chosen] * random.uniform(0.05, 0.25, unsafe))
    marks[chosen] = CellStatus.UNSAFE
    return table.with_(manual=marks, manual_lower=level, manual_upper=level.copy()).assess()


def ours(side: int, unsafe: int, objective: str) -> tuple[float, float, str]:
    """CPU seconds of a whole release, its sum of moves, and what came out; the release is verified."""
    import discreet as ds

    table = assessed(side, unsafe)
    ds.protect(assessed(4, 5), ds.Adjust(objective=objective))  # compile, import
    started = time.process_time()
    release = ds.protect(table, ds.Adjust(objective=objective, algorithm="directions"))
    seconds = time.process_time() - started
    if not release.verify().holds:
        raise AssertionError("The adjustment does not verify.")
    facts = release.custodian.evidence[0].facts
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    words = (
        f"{len(table):,} cells, {unsafe:,} unsafe, objective {objective}: {facts['moved']:,} moved by "
        f"{float(facts['sum_of_moves']):,.0f} in all; {memory:.1f} GiB; from table to release, exactly additive"
    )
    return seconds, float(facts["sum_of_moves"]), words


def model_of(side: int, unsafe: int) -> tuple[Any, Any]:
    """The programs of the adjustment of a table, and the first of its quick choices of directions."""
    import numpy as np

    from discreet.relations import build_system
    from discreet.tables.adjust.directions import choices
    from discreet.tables.adjust.moves import limits_of_moves
    from discreet.tables.adjust.programs import Programs

    system = build_system(assessed(side, unsafe))
    moves = limits_of_moves(
        system, most=None, limit=None, fixed="none", movable_zeros=False, weight=np.ones(len(system)), stretch=None
    )
    matrix = system.matrix[np.flatnonzero(system.defining)]
    return Programs(matrix, moves), choices(matrix, moves)[0]


def preset(side: int, unsafe: int) -> tuple[float, float, float]:
    """Ours on the linear program of preset directions: CPU seconds, cost, and what it must be at least."""
    small, directions = model_of(20, 100)
    small.cheapest(directions)  # compile, import
    programs, directions = model_of(side, unsafe)
    started = time.process_time()
    answer = programs.cheapest(directions)
    # The simplex method, which small programs go to, gives no bound of its own: its cost is the least.
    return time.process_time() - started, answer.cost, answer.cost if answer.bound is None else answer.bound


def plain(side: int, unsafe: int, most: float) -> tuple[float, float, str]:
    """One HiGHS call with its default options on the same model: CPU seconds, cost, and how it ended."""
    import highspy
    import numpy as np

    programs, directions = model_of(side, unsafe)
    lower, upper = programs.bounds(directions)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("time_limit", most)
    highs.passModel(programs._model(np.tile(programs.moves.weight[programs.free], 2), lower, upper))
    started = time.process_time()
    highs.run()
    seconds = time.process_time() - started
    status = highs.modelStatusToString(highs.getModelStatus())
    return seconds, float(highs.getInfo().objective_function_value), status


@case("adjustment")
def adjustment(scale: float) -> Sequence[Measure]:
    """About 100,000 cells with 10,000 unsafe ones: absolute moves, a third of a plain HiGHS call, 120 s allowed."""
    side, unsafe = max(6, int(46 * scale ** (1 / 3))), max(20, int(10_000 * scale))
    seconds, _, words = apart(ours, side, unsafe, "l1")
    alone, cost, bound = apart(preset, side, unsafe)
    peer_seconds, peer_cost, status = apart(plain, side, unsafe, max(60.0, PATIENCE * alone))
    said = (
        f"the linear program of preset directions: ours costs {cost:,.0f}, at least {bound:,.0f}; HiGHS with default "
        f"options ended with '{status}' at {peer_cost:,.0f}"
    )
    return [
        Measure("absolute moves, release, CPU s", seconds, 120.0, 1.0, words),
        Measure("preset directions, CPU s against HiGHS", alone, peer_seconds, 1 / 3, said),
    ]


@case("adjustment-million")
def million(scale: float) -> Sequence[Measure]:
    """A million cells with 100,000 unsafe ones: 15 minutes for absolute and 2 minutes of CPU for squared moves."""
    side = max(6, int(99 * scale ** (1 / 3)))
    unsafe = side**3 // 10
    absolute, _, words = apart(ours, side, unsafe, "l1")
    squared, _, squares = apart(ours, side, unsafe, "l2")
    return [
        Measure("absolute moves, release, CPU s", absolute, 900.0, 1.0, words),
        Measure("squared moves, release, CPU s", squared, 120.0, 1.0, squares),
    ]
