"""All measures of Shlomo and Young (2006) of a table before and after, as one list."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, counted
from discreet.measures import association, distances
from discreet.measures.association import Pair
from discreet.measures.bias import rounding_bias, signed_rank
from discreet.measures.grid import Grid
from discreet.measures.ranks import rank_changes

SMALL = (1, 2)
GROUPS = 20


class Measure(NamedTuple):
    """One measure: its value, the statistic before and after where there is one, and what was left out of it.

    ``value`` is not a number where the measure is not defined; ``note`` then says why.
    """

    name: str
    value: float
    original: float = float("nan")
    published: float = float("nan")
    skipped: int = 0
    note: str = ""


def table_measures(
    original: npt.ArrayLike | Grid,
    published: npt.ArrayLike | None = None,
    *,
    base: int | None = None,
    groups: int = GROUPS,
    small: Collection[int] = SMALL,
    column: int | None = None,
) -> dict[str, Measure]:
    """Compare a table of rows and columns with its published version, by all measures.

    Parameters
    ----------
    original, published
        Inner cells, rows (areas) by columns; or one :class:`Grid`.
    base
        Of rounding: bias is then tested with the exact binomial test instead of signed ranks.
    groups
        Groups of size for rank changes.
    small
        Counts that are small: the risk is the share of such cells that did not change.
    column
        Whose between-row variance is taken; all columns together when left out.

    Returns
    -------
    dict
        Name to :class:`Measure`. Names end in ``_change`` for per cent of the original statistic and in ``_ratio`` for
        after over before.

    Notes
    -----
    Source: Shlomo and Young (2006), with formulas repaired.

    Examples
    --------
    >>> found = table_measures([[1, 4, 0, 7], [2, 2, 5, 3], [0, 1, 9, 6]], [[0, 3, 0, 9], [3, 3, 6, 3], [0, 0, 9, 6]])
    >>> round(found["hellinger"].value, 6), found["variance_change"].value
    (0.610891, 35.0)
    """
    grid = original if isinstance(original, Grid) else Grid.of(original, _both(published))
    if not len(grid):
        raise InputError("There are no cells to compare.")
    found = [*_summary(grid), *_distances(grid), *_statistics(grid, column), _ranks(grid, groups)]
    return {measure.name: measure for measure in [*found, *_bias(grid, base), *_risk(grid, small)]}


def _both(published: npt.ArrayLike | None) -> npt.ArrayLike:
    if published is None:
        raise InputError("There is no published table to compare with.")
    return published


def _summary(grid: Grid) -> list[Measure]:
    zeros = [int((values == 0).sum()) for values in (grid.original, grid.published)]
    sums = [float(values.sum()) for values in (grid.original, grid.published)]
    return [
        Measure("cells", len(grid)),
        Measure("rows", grid.rows),
        Measure("columns", grid.columns),
        Measure("changed_cells", int((grid.original != grid.published).sum())),
        *_sizes(grid),
        Measure("zeros", zeros[1] - zeros[0], zeros[0], zeros[1]),
        Measure("total", sums[1] - sums[0], sums[0], sums[1]),
        Measure("largest_change", float(np.abs(grid.published - grid.original).max())),
    ]


def _sizes(grid: Grid) -> list[Measure]:
    """Mean, standard error and range of cells."""
    both = grid.original, grid.published
    root = float(np.sqrt(len(grid)))
    found = {
        "mean_cell": [float(v.mean()) for v in both],
        "mean_cell_error": [float(v.std(ddof=1)) / root if len(grid) > 1 else float("nan") for v in both],
        "least_cell": [float(v.min()) for v in both],
        "largest_cell": [float(v.max()) for v in both],
    }
    note = "" if len(grid) > 1 else "a single cell"
    return [
        Measure(name, after - before, before, after, note=note if np.isnan(before) else "")
        for name, (before, after) in found.items()
    ]


def _distances(grid: Grid) -> list[Measure]:
    relative, totals = distances.relative_distance(grid), distances.total_distance(grid)
    found = [
        Measure("relative_distance", relative.mean, skipped=relative.skipped, note=_zero(relative.skipped, "cells")),
        Measure("largest_relative_distance", relative.largest, skipped=relative.skipped),
        Measure("absolute_distance", distances.absolute_distance(grid)),
        Measure("totals_relative_sum", totals.relative_sum, skipped=totals.skipped, note=_zero(totals.skipped, "rows")),
        Measure("totals_relative", totals.relative_mean, skipped=totals.skipped),
        Measure("totals_absolute_sum", totals.absolute_sum),
        Measure("totals_absolute", totals.absolute_mean),
    ]
    if grid.signed:
        names = ("hellinger", "hellinger_largest_row", "hellinger_overall", "hellinger_utility")
        return found + [Measure(name, float("nan"), note="needs values of at least zero") for name in names]
    rows, overall = distances.hellinger_rows(grid), distances.hellinger(grid)
    total = float(grid.original.sum())
    return [
        *found,
        Measure("hellinger", float(rows.mean())),
        Measure("hellinger_largest_row", float(rows.max())),
        Measure("hellinger_overall", overall),
        Measure("hellinger_utility", 1 - overall / total**0.5 if total else float(overall == 0)),
    ]


def _zero(skipped: int, what: str) -> str:
    return f"{skipped:,} {what} that were zero left out" if skipped else ""


def _statistics(grid: Grid, column: int | None) -> list[Measure]:
    before, after, alone = distances.mean_variance(grid)
    found = [_changed("variance", Pair(before, after), "constant rows, or rows of one cell", alone)]
    found.append(Measure("correlation", association.pearson(grid)))
    if np.isnan(found[-1].value):
        found[-1] = found[-1]._replace(note="all cells are alike")
    found.append(_ratio("r_squared", association.explained(grid), "all cells are alike"))
    ways: list[tuple[str, Callable[[Grid], Pair]]] = [
        ("chi_square", association.chi_square_of_independence),
        ("cramers_v", association.cramers_v),
        ("contingency", association.contingency),
        ("entropy", association.entropy),
    ]
    names = [f"{name}_change" for name, _ in ways]
    names += ["between_variance_change", "between_variance_ratio", "deviance_ratio"]
    if grid.signed:
        return found + [Measure(name, float("nan"), note="needs values of at least zero") for name in names]
    why = "a single filled row or column, or no association before"
    found += [_changed(name, way(grid), why) for name, way in ways]
    between, empty = association.between_variance(grid, column)
    found.append(_changed("between_variance", between, "all rows are alike", empty))
    found.append(_ratio("between_variance", between, "all rows are alike", empty))
    found.append(_ratio("deviance", association.independence_deviance(grid), why))
    return found


def _changed(name: str, pair: Pair, why: str, skipped: int = 0) -> Measure:
    change = pair.change
    return Measure(f"{name}_change", change, *pair, skipped, why if np.isnan(change) else "")


def _ratio(name: str, pair: Pair, why: str, skipped: int = 0) -> Measure:
    ratio = pair.ratio
    return Measure(f"{name}_ratio", ratio, *pair, skipped, why if np.isnan(ratio) else "")


def _ranks(grid: Grid, groups: int) -> Measure:
    if len(grid) < groups:
        return Measure("rank_changes", float("nan"), note=f"fewer cells than the {groups} groups")
    found = rank_changes(grid, groups)
    return Measure("rank_changes", found.overall, note=f"in {counted(found.many, 'column')} more than 20 per cent")


def _bias(grid: Grid, base: int | None) -> list[Measure]:
    ranks = signed_rank(grid.original, grid.published)
    found = [Measure("signed_rank_p", ranks.p, note="exact" if ranks.exact else "normal approximation")]
    if base is not None:
        test = rounding_bias(grid.original, grid.published, base)
        found.append(Measure("binomial_p", test.p, skipped=len(grid) - test.cells, note=f"{test.successes} nearer"))
    return found


def _risk(grid: Grid, small: Collection[int]) -> list[Measure]:
    few = np.isin(grid.original, list(small))
    kept = int((few & (grid.original == grid.published)).sum())
    count = int(few.sum())
    return [
        Measure("small_cells", count),
        Measure("small_unchanged", kept),
        Measure(
            "small_unchanged_share",
            100 * kept / count if count else float("nan"),
            note="" if count else "there is no small cell",
        ),
    ]
