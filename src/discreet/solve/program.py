"""Linear programs on HiGHS: one model, solved again and again with other costs and bounds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.arrays import Floats

if TYPE_CHECKING:
    from scipy.sparse import csc_array

PRIMAL = 4
"""Primal simplex: best where only the objective changes, because the last answer stays feasible."""
LISTEN = 0.25
"""Seconds between two looks at whether somebody cancels."""


def program(matrix: csc_array, lower: Floats, upper: Floats, **options: Any) -> Any:
    """A HiGHS model of ``matrix @ x == 0`` with bounds on x and no objective yet; one thread, silent, deterministic."""
    return started(equations_model(matrix, lower, upper), **options)


def equations_model(
    matrix: csc_array, lower: Floats, upper: Floats, right: Floats | None = None, cost: Floats | None = None
) -> Any:
    """The model of ``matrix @ x == right`` (or 0) with bounds on x, before a solver takes it in."""
    import highspy

    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.col_cost_ = np.zeros(matrix.shape[1]) if cost is None else cost
    model.col_lower_, model.col_upper_ = lower, upper
    model.row_lower_ = model.row_upper_ = np.zeros(matrix.shape[0]) if right is None else right
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
    model.a_matrix_.value_ = matrix.data.astype(np.float64)
    return model


def started(model: Any, **options: Any) -> Any:
    """A solver that has taken a model in."""
    import highspy

    highs = highspy.Highs()
    for option, setting in {"output_flag": False, "threads": 1, "random_seed": 0, **options}.items():
        highs.setOptionValue(option, setting)
    highs.passModel(model)
    return highs


def run_listening(highs: Any, listen: Callable[[], None]) -> None:
    """Run a linear program; ``listen`` is called every now and then, and what it raises stops the program."""
    raised: list[BaseException] = []
    next_look = time.monotonic() + LISTEN

    def look(event: Any) -> None:
        nonlocal next_look
        if raised or time.monotonic() < next_look:
            return
        next_look = time.monotonic() + LISTEN
        try:
            listen()
        except BaseException as error:  # the solver must come to its end before anything is raised
            raised.append(error)
            event.interrupt()

    highs.cbSimplexInterrupt.subscribe(look)
    try:
        highs.run()
    finally:
        highs.cbSimplexInterrupt.unsubscribe(look)
    if raised:
        raise raised[0]
