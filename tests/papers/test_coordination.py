"""Orderings of the study on coordination between offices (003-04, Table 2), on stand-in data of its shape."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import discreet as ds
from tests.papers.stand_in import study

SMALL = (5_000, 3, (6, 2, 2))
LARGE = (60_000, 5, (16, 3, 2))


@cache
def counts(size: tuple[Any, ...], algorithm: str, model: str) -> dict[str, Any]:
    settings = {"variant": algorithm} if algorithm.startswith("hyper") else {}
    name = "hypercube" if settings else algorithm
    method = ds.Suppress(algorithm=name, insiders="nonzero", settings=settings)
    options = {"alone": ["S01", "S02"]} if model == "block" else {}
    if model == "weighted":
        options["last"] = study(*size, seed=2)
    return ds.coordinate(study(*size), "region", method, model=model, frozen="report", **options).counts()


def test_the_stand_in_has_the_shape_of_the_study():
    table = study(*SMALL)
    assert [int(h.depth.max()) + 1 for h in table.spec.hierarchies] == [7, 4]


@pytest.mark.parametrize("algorithm", ["modular", "hyper0"])
def test_offices_on_their_own_cost_the_top_most_and_blocks_are_close_to_central(algorithm):
    central, decentral, block = (counts(SMALL, algorithm, m) for m in ("central", "decentral", "block"))
    assert decentral["top"] > 5 * central["top"]
    assert central["top"] <= block["top"] < decentral["top"] / 1.5
    assert central["value_share"] < block["value_share"] < decentral["value_share"]


def test_central_work_withholds_more_of_the_offices():
    assert counts(SMALL, "modular", "central")["offices"] > counts(SMALL, "modular", "decentral")["offices"]


def test_modular_withholds_fewer_cells_of_the_offices_than_hypercubes():
    number = {a: counts(SMALL, a, "central")["offices"] for a in ("modular", "hyper0", "hypercube")}
    assert number["modular"] < number["hyper0"] <= number["hypercube"]


def test_full_relations_show_cells_at_risk_that_single_subtables_do_not():
    assert counts(SMALL, "modular", "central")["short"] > 0
    assert counts(SMALL, "modular", "central")["recoverable"] == 0


@pytest.mark.paper
def test_the_orderings_on_16_states():
    central, decentral, weighted, block = (
        counts(LARGE, "modular", m) for m in ("central", "decentral", "weighted", "block")
    )
    assert decentral["top"] > 5 * central["top"]
    assert central["top"] <= block["top"] < decentral["top"] / 2
    assert weighted["top"] > decentral["top"] / 2
    assert central["offices"] > decentral["offices"]
    hyper = {a: counts(LARGE, a, "central")["offices"] for a in ("hyper0", "hypercube")}
    assert central["offices"] < hyper["hyper0"] < hyper["hypercube"]
