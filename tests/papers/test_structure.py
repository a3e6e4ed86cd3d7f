"""Blocks of constraint matrices (card 003-02): what the printed sizes say, and the sizes of stand-ins.

The instances are not bundled. Their printed sizes are given to our own structure, which works out the shares of links.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.structure import crossed, tree
from discreet.solve.structure import Structure

INSTANCES = [
    # name, cells, relations; dual: relations, cells of both blocks, per cent; primal the same; true l/m of the primal
    ("bts4", 36570, 36310, (17838, 16898, 18472, 16937, 7.4), (16307, 18389, 16137, 18181, 10.5), 10.6),
    ("five20b", 34552, 52983, (25196, 14343, 27787, 15586, 13.3), (26006, 17735, 22576, 16817, 12.7), 8.3),
    ("five20c", 34501, 58825, (28820, 14034, 30005, 15093, 15.5), (26693, 17286, 26218, 17215, 17.1), 10.1),
    ("hier13", 2020, 3313, (1656, 583, 1657, 563, 43.2), (1375, 1091, 1076, 929, 42.6), 26.0),
    ("hier13x13x13a", 2197, 3549, (1890, 774, 1659, 526, 40.8), (1320, 1075, 1428, 1122, 36.4), 22.6),
    # The source's list of instances names another table; these sizes are recovered from its results.
    ("hier13x13x7d", 1183, 1443, (792, 419, 651, 218, 46.1), (483, 562, 510, 621, 38.0), 31.2),
    ("hier16", 3564, 5484, (2486, 740, 2998, 1069, 49.2), (1674, 1732, 1676, 1832, 59.8), 38.9),
    ("hier16x16x16a", 4096, 5376, (2614, 1074, 2762, 1138, 45.9), (1989, 2118, 1676, 1978, 41.7), 31.8),
    ("jjtabeltest", 3025, 1650, (849, 1269, 801, 1383, 12.3), (737, 1457, 686, 1568, 7.5), 13.8),
    ("nine12", 10399, 11362, (5880, 4249, 5482, 4098, 19.7), (4846, 5206, 4666, 5193, 17.7), 16.3),
    ("nine5d", 10733, 17295, (9007, 4568, 8288, 4303, 17.3), (7111, 5383, 7975, 5350, 20.5), 12.8),
    ("ninenew", 6546, 7340, (3007, 2115, 4333, 3085, 20.5), (3181, 3239, 2721, 3307, 21.9), 19.6),
    ("targus", 162, 63, (19, 26, 44, 92, 27.1), (22, 82, 22, 80, 11.7), 30.2),
    ("toy3dsarah", 2890, 1649, (741, 1118, 908, 1389, 13.2), (534, 1446, 529, 1444, 20.2), 35.5),
    ("two5in6", 5681, 9629, (5344, 1749, 4285, 1502, 42.7), (3630, 2816, 3817, 2865, 38.4), 22.7),
]
every_instance = pytest.mark.parametrize(
    ("cells", "relations", "dual", "primal", "true"), [row[1:] for row in INSTANCES], ids=[row[0] for row in INSTANCES]
)


def printed(form: str, relations: int, cells: int, sizes: tuple[int, ...]) -> Structure:
    """Two blocks of the printed sizes; the rest links them."""

    def shared_out(first: int, second: int, size: int) -> np.ndarray:
        return np.repeat([0, 1, -1], [first, second, size - first - second])

    return Structure(form, 2, shared_out(sizes[0], sizes[2], relations), shared_out(sizes[1], sizes[3], cells))


def truncated(share: float) -> float:
    return np.floor(1000 * share + 1e-9) / 10


@every_instance
def test_the_dual_form_shares_out_all_relations_and_prints_links_per_cell(cells, relations, dual, primal, true):
    found = printed("dual", relations, cells, dual)
    assert sum(m for m, _ in found.sizes) == relations
    assert len(found.linking) == cells - dual[1] - dual[3]
    assert truncated(found.share_of_cells) == dual[4]


@every_instance
def test_the_primal_form_prints_links_per_cell_and_calls_them_links_per_relation(cells, relations, dual, primal, true):
    # The printed head is 100 l/m; the figures are 100 l/n.
    found = printed("primal", relations, cells, primal)
    assert sum(n for _, n in found.sizes) == cells
    assert truncated(found.share_of_cells) == primal[4]
    assert truncated(found.share_of_relations) != primal[4]
    assert round(100 * found.share_of_relations, 1) == true


def test_few_links_are_the_fifth_that_the_card_advises():
    few = {
        (name, form)
        for name, cells, relations, dual, primal, _ in INSTANCES
        for form, sizes in (("dual", dual), ("primal", primal))
        if printed(form, relations, cells, sizes).few_links
    }
    by_name = {form: {name for name, other in few if other == form} for form in ("dual", "primal")}
    assert by_name["dual"] == {"bts4", "five20b", "five20c", "jjtabeltest", "nine12", "nine5d", "toy3dsarah"}
    assert by_name["primal"] == {"bts4", "five20b", "five20c", "jjtabeltest", "nine12", "nine5d", "ninenew"}


@pytest.mark.parametrize(
    ("trees", "relations", "cells", "entries"),
    [
        (((18, 5), (9, 1)), 63, 162, 360),
        (((55, 15), (55, 15)), 1650, 3025, 7590),
        (((10, 1), (17, 4), (17, 4)), 1649, 2890, 9690),
    ],
    ids=["targus", "jjtabeltest", "toy3dsarah"],
)
def test_stand_ins_have_the_sizes_of_the_instances(trees, relations, cells, entries):
    matrix = crossed(*(tree(codes, parents) for codes, parents in trees))
    assert (*matrix.shape, matrix.nnz) == (relations, cells, entries)
