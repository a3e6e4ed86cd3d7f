"""Heat maps show every cell where it stands, and shares where there are too many."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import discreet as ds
from discreet.report.heatmap import MOST_BOXES, Side, heat_map
from discreet.report.patterns import pattern_heat, public_heat, unsafe_heat

KINDS = (("b0", "published"), ("b1", "withheld"))
HIDDEN = np.array([False, True])


def boxes(image: str, name: str) -> set[tuple[int, int]]:
    """Boxes (row, column) that the strokes of a class cover."""
    found = set()
    for path in ElementTree.fromstring(image).iter("path"):
        if path.get("class") == name:
            for x, y, length in re.findall(r"M(\d+) (\d+)\.5h(\d+)", path.get("d")):
                found |= {(int(y), int(x) + i) for i in range(int(length))}
    return found


def side(name: str, codes: int) -> Side:
    return Side(name, [f"{name}{i}" for i in range(codes)], np.minimum(np.arange(codes), 1))


def test_every_cell_of_a_small_table_has_its_box():
    codes = np.array([(i, j) for i in range(4) for j in range(3)], np.int32)
    kind = np.array([0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0])
    made = heat_map([side("a", 4), side("b", 3)], codes, kind, KINDS, HIDDEN)
    hidden = {tuple(row) for row in codes[kind == 1].tolist()}
    assert boxes(made.image, "b1") == hidden
    assert boxes(made.image, "b0") == {tuple(row) for row in codes.tolist()} - hidden
    assert made.key == KINDS
    assert made.caption == (
        "4 of 12 cells (33.3 %) withheld. One box per cell: a downwards, b across, in the order of their codes."
    )
    assert "a a1: 2 of 3 withheld" in made.image


def test_the_longer_variable_goes_down_and_missing_cells_are_told():
    codes = np.array([(0, j) for j in range(5)], np.int32)
    made = heat_map([side("a", 2), side("b", 5)], codes, np.array([1, 0, 0, 0, 0]), KINDS, HIDDEN)
    assert boxes(made.image, "b1") == {(0, 0)}
    assert boxes(made.image, "b0") == {(y, 0) for y in range(1, 5)}
    assert made.key[-1] == ("b5", "no such cell")


def test_one_variable_is_wrapped_into_lines():
    kind = np.zeros(120, np.int64)
    kind[119] = 1
    made = heat_map([side("a", 120)], np.arange(120, dtype=np.int32)[:, None], kind, KINDS, HIDDEN)
    assert boxes(made.image, "b1") == {(2, 19)}
    assert "line by line" in made.caption


def test_more_variables_are_counted_together():
    codes = np.array([(i, j, k) for i in range(2) for j in range(2) for k in range(4)], np.int32)
    kind = (codes[:, 0] == 1) & (codes[:, 2] < 2)
    made = heat_map([side("a", 2), side("b", 2), side("c", 4)], codes, kind.astype(np.int64), KINDS, HIDDEN)
    assert boxes(made.image, "s0") == {(0, 0), (0, 1)}
    assert boxes(made.image, "s3") == {(1, 0), (1, 1)}  # half of each box
    assert "up to 4 cells" in made.caption
    assert "c counted together" in made.caption


def test_a_hundred_thousand_cells_are_summarised_in_ten_thousand_boxes():
    rows, columns = 400, 250
    codes = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), axis=-1).reshape(-1, 2)
    kind = (codes[:, 0] < 200).astype(np.int64)
    made = heat_map([side("a", rows), side("b", columns)], codes.astype(np.int32), kind, KINDS, HIDDEN)
    strong, none = boxes(made.image, "s5"), boxes(made.image, "s0")
    assert 0.9 * MOST_BOXES < len(strong) + len(none) <= MOST_BOXES
    assert len(strong) == pytest.approx(len(none), rel=0.05)
    assert max(y for y, _ in strong) < min(y for y, _ in none)
    assert len(made.image) < 100_000


@pytest.mark.parametrize("share", [0.0, 0.05, 0.1, 0.2, 0.5, 0.6, 0.76, 1.0])
def test_classes_of_shares(share):
    codes = np.zeros((100, 3), np.int32)
    codes[:, 2] = np.arange(100)
    kind = (np.arange(100) < 100 * share).astype(np.int64)
    made = heat_map([side("a", 1), side("b", 1), side("c", 100)], codes, kind, KINDS, HIDDEN)
    expected = {0.0: "s0", 0.05: "s1", 0.1: "s1", 0.2: "s2", 0.5: "s3", 0.6: "s4", 0.76: "s5", 1.0: "s5"}[share]
    assert boxes(made.image, expected) == {(0, 0)}


def test_names_are_escaped():
    hostile = Side("<b>", ['<script>"&', "x"], np.zeros(2, np.int64))
    made = heat_map([hostile, side("b", 1)], np.array([(0, 0), (1, 0)], np.int32), np.array([0, 1]), KINDS, HIDDEN)
    assert "<script" not in made.image
    ElementTree.fromstring(made.image)


def test_the_custodians_map_tells_why_and_the_public_one_does_not(small):
    table, status = small.custodian.tables.tables[0], small.custodian.status[0]
    mine, public = pattern_heat(table, status), public_heat(small.public.tables[0])
    assert [name for _, name in mine.key] == ["published", "unsafe, withheld", "withheld besides"]
    assert [name for _, name in public.key] == ["published", "withheld"]
    assert boxes(mine.image, "b1") | boxes(mine.image, "b2") == boxes(public.image, "b1")
    assert len(boxes(unsafe_heat(table).image, "b1")) == 1
    assert "unsafe" not in public.image + public.caption


def test_a_table_without_cells_to_show_is_drawn():
    table = ds.examples.small_table().assess()
    made = pattern_heat(table, table.status)
    assert made.caption.startswith("0 of 16 cells (0 %) withheld.")
