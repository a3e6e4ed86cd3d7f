"""Linear programs on HiGHS: one model, solved again and again with other costs and bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.arrays import Floats

if TYPE_CHECKING:
    from scipy.sparse import csc_array

PRIMAL = 4
"""Primal simplex: best where only the objective changes, because the last answer stays feasible."""


def program(matrix: csc_array, lower: Floats, upper: Floats, **options: Any) -> Any:
    """A HiGHS model of ``matrix @ x == 0`` with bounds on x and no objective yet; one thread, silent, deterministic."""
    import highspy

    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.col_cost_ = np.zeros(matrix.shape[1])
    model.col_lower_, model.col_upper_ = lower, upper
    model.row_lower_ = model.row_upper_ = np.zeros(matrix.shape[0])
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
    model.a_matrix_.value_ = matrix.data.astype(np.float64)
    return started(model, **options)


def started(model: Any, **options: Any) -> Any:
    """A solver that has taken a model in."""
    import highspy

    highs = highspy.Highs()
    for option, setting in {"output_flag": False, "threads": 1, "random_seed": 0, **options}.items():
        highs.setOptionValue(option, setting)
    highs.passModel(model)
    return highs
