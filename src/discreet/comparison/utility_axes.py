"""Measures of ``ds.utility`` as axes of a comparison: each turned so that 0 is no loss and smaller is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from discreet.errors import ParameterError, unknown_name
from discreet.measures.suite import Measure
from discreet.report.riskmap import Axis

EVERY = "all"


class Turned(NamedTuple):
    """A measure as an axis, and how its value becomes a loss."""

    axis: Axis
    loss: Callable[[float], float]


def _plain(value: float) -> float:
    return value


def _per_cent(value: float) -> float:
    return abs(value) / 100


def _from_one(value: float) -> float:
    return abs(value - 1)


def _turned(name: str, words: str, loss: Callable[[float], float], *, share: bool = True, side: str = "loss") -> Turned:
    return Turned(Axis(f"utility_{name}", words, side, share), loss)


TURNED: dict[str, Turned] = {
    "hellinger": _turned("hellinger", "mean Hellinger distance of rows", _plain, share=False),
    "relative_distance": _turned("relative_distance", "relative changes, summed in rows", _plain, share=False),
    "absolute_distance": _turned("absolute_distance", "mean absolute change of finest cells", _plain, share=False),
    "totals_relative": _turned("totals_relative", "mean relative change of row totals", _plain),
    "totals_absolute": _turned("totals_absolute", "mean absolute change of row totals", _plain, share=False),
    "variance_change": _turned("variance_change", "change of variance within rows", _per_cent),
    "chi_square_change": _turned("chi_square_change", "change of chi-square", _per_cent),
    "cramers_v_change": _turned("cramers_v_change", "change of association (Cramér's V)", _per_cent),
    "contingency_change": _turned("contingency_change", "change of association (contingency)", _per_cent),
    "entropy_change": _turned("entropy_change", "change of entropy", _per_cent),
    "between_variance_change": _turned("between_variance_change", "change of variance between rows", _per_cent),
    "rank_changes": _turned("rank_changes", "finest cells that change their group of size", _per_cent),
    "r_squared_ratio": _turned("r_squared_ratio", "change of R²", _from_one),
    "deviance_ratio": _turned("deviance_ratio", "change of the log-linear deviance", _from_one),
    "correlation": _turned("correlation", "one less the correlation with true cells", lambda value: 1 - value),
    "small_unchanged_share": _turned(
        "small_unchanged_share", "small counts published as they are", _per_cent, side="risk"
    ),
}
"""Measures of Shlomo and Young (2006) that can stand on an axis; counts of cells and chances of tests cannot."""


def chosen(names: str | Sequence[str]) -> tuple[str, ...]:
    """The measures that are asked for; ``"all"`` for every one that can stand on an axis."""
    if names == EVERY:
        return tuple(TURNED)
    listed = (names,) if isinstance(names, str) else tuple(names)
    for name in listed:
        if name not in TURNED:
            raise ParameterError(unknown_name("measure", str(name), (*TURNED, EVERY)))
    return tuple(dict.fromkeys(listed))


def losses(names: Sequence[str], tables: Sequence[dict[str, Measure]]) -> dict[str, float | None]:
    """Losses by name of axis: the mean over the tables in which a measure is defined."""
    found: dict[str, float | None] = {}
    for name in names:
        values = [measures[name].value for measures in tables]
        known = [TURNED[name].loss(value) for value in values if not np.isnan(value)]
        found[TURNED[name].axis.name] = sum(known) / len(known) if known else None
    return found
