"""Tables of one shape for small count rounding, and how near to the originals any rounding of them could come.

What is known of the run of the R package that is compared with: 222,000 inner cells, 1.3 million published, and that
its steps left a mean deviation of 0.526 and a largest of 9. Its data are not at hand, and the mean depends on them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

INNER, PUBLISHED, RECORDS = 222_000, 1_330_000, 2_000_000
OTHERS = ("sex", "age_group", "marital", "birth", "education", "labour", "occupation")
PEER_MEAN = 0.526
"""Mean deviation that the R package left on its data."""
MOST_AREAS = 35_000

COMPARABLE = (
    ("age_group", "marital"),
    ("age_group", "education"),
    ("age_group", "occupation"),
    ("marital", "education"),
    ("marital", "labour"),
    ("education", "occupation"),
)
"""The answer of :func:`comparable_choices` for ``scale`` 1; the search takes minutes."""
HARDER = (
    ("age_group", "marital", "education"),
    ("sex", "education", "labour"),
    ("sex", "age_group", "marital"),
    ("sex", "marital", "labour"),
)
"""The choices of three variables whose records are nearest a million: the card's steps leave 0.645 to 0.738 on them."""


class ShapedTable(NamedTuple):
    """Inner cells of a table: their codes in hierarchies, their counts, and of how many records."""

    by: dict[str, Any]
    codes: Any
    value: Any
    records: int

    @property
    def every(self) -> int:
        """How many combinations of codes there are, totals included."""
        return math.prod(len(h) for h in self.by.values())


def choices_of_shape(scale: float) -> Iterator[tuple[str, ...]]:
    """Choices of two or three variables beside the area whose tables come to the shape.

    The number of areas is the largest whose combinations of codes are at most 1.33 million, the number of records that
    which first has 222,000 inner cells; choices that do not get there with two million records or 35,000 areas are left
    out.
    """
    for size in (2, 3):
        for others in combinations(OTHERS, size):
            if areas_for(others, scale) < MOST_AREAS - 1 and shaped(others, scale)[1] is not None:
                yield others


def comparable_choices(scale: float) -> list[tuple[str, ...]]:
    """Those on which the card's steps, which are the R package's, leave within a tenth of what it left on its data."""
    chosen = []
    for others in choices_of_shape(scale):
        mean = mean_of_card(shaped_table(others, scale))
        if abs(mean / PEER_MEAN - 1) <= 0.1:
            chosen.append(others)
    return chosen


def mean_of_card(table: ShapedTable) -> float:
    """Mean deviation over all combinations of codes that the card's steps alone leave."""
    import numpy as np

    from discreet.tables.perturb.cover import cover_of
    from discreet.tables.perturb.small_counts import rounded_small_counts

    cover = cover_of(table.codes, table.by)
    found = rounded_small_counts(table.value, cover, draws_of(table), exchanges=0)
    return float(np.abs(found.published - cover.sums(table.value)).sum()) / table.every


def draws_of(table: ShapedTable) -> Any:
    """Draws of the inner cells with a key that is none."""
    import numpy as np

    from discreet.engine.draws import draws

    return draws(bytes(range(32)), "small_counts", 1, *table.codes.T.astype(np.int64))


def areas_for(others: tuple[str, ...], scale: float) -> int:
    """The largest number of areas whose combinations of codes are not too many."""
    from discreet.generate import census_population

    def combinations_of(areas: int) -> int:
        parents = census_population(1, areas=areas).parents
        return math.prod(len(parents[name]) + 1 for name in ("area", *others))

    low, high = 1, MOST_AREAS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if combinations_of(middle) <= PUBLISHED * scale else (low, middle)
    return low


def shaped(others: tuple[str, ...], scale: float) -> tuple[Any, int | None]:
    """A population by areas, and how many of its first records have so many inner cells; None where too few have."""
    import numpy as np

    from discreet.generate import census_population

    population = census_population(int(RECORDS * scale), areas=areas_for(others, scale))
    cells = np.zeros(population.records.num_rows, np.int64)
    for name in ("area", *others):
        column = population.records[name].combine_chunks()
        cells = cells * len(column.dictionary) + column.indices.to_numpy()
    _, first = np.unique(cells, return_index=True)
    wanted = int(INNER * scale)
    return population, int(np.sort(first)[wanted - 1]) + 1 if len(first) >= wanted else None


def shaped_table(others: tuple[str, ...], scale: float) -> ShapedTable:
    """The inner cells of a table of the shape, by the area and others."""
    import numpy as np

    import discreet as ds

    population, records = shaped(others, scale)
    assert records is not None, f"too few inner cells by area, {', '.join(others)}"
    names = ("area", *others)
    by = {name: ds.Hierarchy.from_parents(population.parents[name], total="Total") for name in names}
    leaves = {name: ds.Hierarchy.flat(h.base_codes, total=None) for name, h in by.items()}
    table: Any = ds.tabulate(population.records.select(list(names)).slice(0, records), by=leaves)
    places = [np.array([h.position(c) for c in leaves[n].codes], np.int32) for n, h in by.items()]
    codes = np.stack([place[table.codes[:, k]] for k, place in enumerate(places)], axis=1)
    return ShapedTable(by, np.ascontiguousarray(codes), table.value, records)


def least_sum(matrix: Any, target: Any, steps: int = 150) -> float:
    """A sum of deviations that no rounding to 0 or 3 can go below.

    ``matrix`` has a row for each candidate and a column for each published cell, ``target`` what the candidates of a
    published cell should add. A cell of target ``t`` costs ``|3u - t|`` where ``u`` of its candidates rise. The lines
    between these costs at whole ``u`` make a linear program, and any prices for the published cells bound it from
    below: each cell for itself takes the best ``u`` at its price, and each candidate rises where its prices in sum are
    below zero. The prices come from the primal-dual steps of Chambolle and Pock; they may be poor, but the bound
    holds whatever they are.
    """
    import numpy as np

    turned = matrix.T.tocsr()
    below, left = np.divmod(target, 3)
    upper = below + (left > 0)
    slope = np.choose(left, (0.0, 1.0, -1.0))
    pace = 0.3
    candidate_pace = pace / np.maximum(np.diff(matrix.indptr), 1)
    price_pace = 1 / (pace * np.maximum(np.diff(turned.indptr), 1))
    rises = np.full(matrix.shape[0], 1 / 3)
    ahead = rises
    price = np.zeros(matrix.shape[1])
    for _ in range(steps):
        wish = price + price_pace * (turned @ ahead)
        place = wish / price_pace
        steep = 3 / price_pace
        best = np.clip(place - slope / price_pace, below, upper)
        best = np.where(place + steep < below, place + steep, np.where(place - steep > upper, place - steep, best))
        price = wish - price_pace * best
        following = np.clip(rises - candidate_pace * (matrix @ price), 0, 1)
        ahead, rises = 2 * following - rises, following
    price = np.clip(price, -3, 3)
    at_lower = left - price * below
    at_upper = 3 * (upper - below) - left - price * upper
    return float(
        np.minimum(at_lower, np.where(left > 0, at_upper, at_lower)).sum() + np.minimum(matrix @ price, 0).sum()
    )
