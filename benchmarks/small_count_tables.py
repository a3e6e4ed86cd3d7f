"""Tables of one shape for small count rounding, and how near to the originals any rounding of them could come."""

from __future__ import annotations

import json
import math
from itertools import combinations
from pathlib import Path
from typing import Any

INNER, PUBLISHED, RECORDS = 222_000, 1_330_000, 2_000_000
OTHERS = ("sex", "age_group", "marital", "birth", "education", "labour", "occupation")


def nearest_tables(scale: float, wanted: int) -> list[tuple[str, ...]]:
    """The choices of three variables beside the area whose tables come to the shape with nearest a million records.

    This is the whole rule by which tables are chosen. The number of areas is the largest whose combinations of codes
    are at most 1.33 million, the number of records that which first has 222,000 inner cells; choices that do not get
    there with two million records are left out. The answer for ``scale`` 1 and ``wanted`` 4 stands in
    :data:`NEAREST`, because the search takes minutes.
    """
    distance = {}
    for others in combinations(OTHERS, 3):
        _, records = shaped(others, scale)
        if records is not None:
            distance[others] = abs(math.log(records / (RECORDS * scale / 2)))
    return sorted(distance, key=lambda others: (distance[others], others))[:wanted]


NEAREST = (
    ("age_group", "marital", "education"),
    ("sex", "education", "labour"),
    ("sex", "age_group", "marital"),
    ("sex", "marital", "labour"),
)


def areas_for(others: tuple[str, ...], scale: float) -> int:
    """The largest number of areas whose combinations of codes are not too many."""
    from discreet.generate import census_population

    def combinations_of(areas: int) -> int:
        parents = census_population(1, areas=areas).parents
        return math.prod(len(parents[name]) + 1 for name in ("area", *others))

    low, high = 1, 35_000
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


def write_shaped(folder: Path, others: tuple[str, ...], scale: float) -> int:
    """Write the records of a table of the shape; says how many."""
    import pyarrow.parquet as pq

    population, records = shaped(others, scale)
    assert records is not None
    pq.write_table(population.records.select(["area", *others]).slice(0, records), folder / "records.parquet")
    (folder / "parents.json").write_text(
        json.dumps({name: dict(population.parents[name]) for name in ("area", *others)})
    )
    return records


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
