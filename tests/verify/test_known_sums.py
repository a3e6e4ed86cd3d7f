"""Which sums of withheld cells everybody knows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet as ds
from discreet.model.table import CellStatus
from discreet.verify.joint import _known
from discreet.verify.known import Ground
from tests.verify.forging import firms

TREE = ds.Hierarchy.from_nested({"North": ["N1", "N2"], "South": ["S1", "S2"]})
KIND = ds.Hierarchy.flat(["x", "y", "z"])


def known(withheld: list[str], by: dict[str, ds.Hierarchy]) -> set[frozenset[str]]:
    """Sums that are known where some cells are withheld, all of them unsafe."""
    table = ds.tabulate(firms(), by=by, value="value", contributor="company").assess(ds.PPercent(15))
    custodian = ds.protect(table, ds.Round(1000, levels=False)).custodian
    names = [" ".join(table.spec_codes(codes)) for codes in table.codes.tolist()]
    assert set(withheld) <= set(names)
    status = np.array([CellStatus.UNSAFE if n in withheld else CellStatus.SAFE for n in names], np.int8)
    ground = Ground(replace(custodian, status=(status,), published=None, evidence=()))
    return {frozenset(names[row] for row in rows) for rows in _known(ground, 0)}


@pytest.mark.parametrize(
    ("withheld", "sums"),
    [
        ("N1 N2", ["N1 N2"]),
        ("North South", ["North South"]),
        ("North South N1 N2", ["North South", "N1 N2"]),
        ("North South N1 N2 S1 S2", ["North South", "N1 N2 S1 S2"]),
        ("North N1 N2", ["N1 N2"]),
        ("Total North N1 N2", []),
    ],
)
def test_a_sum_is_known_as_it_stands_and_in_its_withheld_parts(withheld, sums):
    assert known(withheld.split(), {"area": TREE}) == {frozenset(text.split()) for text in sums}


def test_parts_are_put_in_place_in_one_variable_or_in_all():
    """All is withheld but the grand total, and what is of kind z."""
    inner, outer = ["N1", "N2", "S1", "S2"], ["North", "South"]
    cells = [f"{area} {kind}" for area in (*outer, *inner) for kind in ("Total", "x", "y")]
    found = known([*cells, "Total x", "Total y"], {"area": TREE, "kind": KIND})
    for areas, kinds in ((outer, ["Total"]), (inner, ["Total"]), (outer, ["x", "y"]), (inner, ["x", "y"])):
        assert frozenset(f"{area} {kind}" for area in areas for kind in kinds) in found
