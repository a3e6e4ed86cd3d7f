"""Maps that are not what is said of them: places, moves, outliers and the rules of magnitudes."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet.errors import ProtectionError
from discreet.model.geography import Adjacency
from discreet.tables.redistribute.areas import parts_of_map, told_small
from discreet.tables.redistribute.counts import redistributed
from discreet.tables.redistribute.grid import Neighbours
from discreet.verify.redistributed import _dominated, _told_counts
from tests.verify.forging import Forgery, made, refused_for

SMALL = "an occupied place holds fewer units than the threshold"
OTHERS = "other places are occupied than before"
LEADS = "what moved does not lead from the original to the published counts"


def test_a_map_has_one_variable():
    forgery = Forgery("small-count")
    forgery.evidence = made("redistribute").custodian.evidence[0]
    assert "there is not one map" in forgery.reasons()


def test_no_place_is_below_zero():
    def forge(f: Forgery) -> None:
        f.published[0][f.rows(f.finest() & (f.published[0] > 0))[0]] = -1

    refused_for("redistribute", forge, SMALL)


@pytest.mark.parametrize("by", [-1, 1])
def test_moves_lead_from_one_map_to_the_other(by):
    def forge(f: Forgery) -> None:
        f.published[0][f.rows(f.finest() & (f.published[0] > 5))[0]] += by

    refused_for("redistribute", forge, LEADS)


def test_a_place_with_as_many_units_as_the_threshold_is_no_outlier():
    def forge(f: Forgery) -> None:
        row = f.rows(f.finest() & (f.true > 3))[0]
        f.method(threshold=int(f.true[row]))
        f.published[0][row] = 0

    refused_for("redistribute", forge, "a place with enough units was left out as an outlier")


@pytest.mark.parametrize("units", [1, 5])
def test_no_place_is_occupied_that_was_not(units):
    def forge(f: Forgery) -> None:
        row, value = f.rows(f.finest() & (f.true > 0))[0], f.table.value.copy()
        value[row], f.published[0][row] = 0, units
        f.cells(value=value)

    refused_for("redistribute", forge, OTHERS)


@pytest.mark.parametrize("outliers", ["none", "suppress", "redistribute"])
def test_the_checker_agrees_with_the_method_on_what_totals_of_areas_tell(outliers):
    """The method's answer is held against every map that fits in tests of its own."""
    rng, answers = np.random.default_rng(7), []
    for _ in range(400):
        size = int(rng.integers(2, 10))
        before = rng.integers(0, 9, size) * (rng.random(size) < 0.5)
        codes = [f"c{i}" for i in range(len(before))]
        where = Neighbours(Adjacency(codes, list(pairwise(codes))))
        try:
            found = redistributed(before, where, threshold=3, outliers=outliers, outlier_distance=1)
        except ProtectionError:
            continue
        part = parts_of_map(len(before), [np.flatnonzero(rng.random(len(before)) < 0.5) for _ in range(2)])
        moves = {"target": found.outlier_moves.target, "units": found.outlier_moves.units}
        received = np.zeros(len(before), np.int64)
        np.add.at(received, moves["target"], moves["units"])
        told = told_small(part, before, found.after, received, 3, kept=outliers == "redistribute")
        evidence = SimpleNamespace(parts={"outlier_moves": moves}, method={"outliers": outliers})
        places = [np.flatnonzero(part == k).tolist() for k in np.unique(part).tolist()]
        mine = _told_counts(evidence, places, before, found.after, 3)
        assert mine == told.any(), (before, part)
        answers.append(mine)
    assert 10 < sum(answers) < len(answers) - 10


# ---- magnitudes ---------------------------------------------------------------------------------------------


def without_place(f: Forgery) -> int:
    """The fullest place is left out of the published map and of the contributions to it; gives its number."""
    part = f.evidence.parts["repaired"]
    place = int(np.bincount(f.evidence.parts["contributions"]["place"]).argmax())
    rows = f.rows(f.finest())
    f.published[0][rows[place]] = 0
    f.part("repaired", **{name: column[part["place"] != place] for name, column in part.items()})
    return place


def test_the_places_of_magnitudes_stay_occupied():
    def forge(f: Forgery) -> None:
        without_place(f)
        f.method(outliers="none")

    refused_for("redistribute-values", forge, OTHERS)


@pytest.mark.parametrize("more", [True, False])
def test_contributions_are_in_the_places_that_were_occupied(more):
    def forge(f: Forgery) -> None:
        part = f.evidence.parts["repaired"]
        place = int(part["place"][0])
        changed: dict[str, Any] = {name: column[part["place"] != place] for name, column in part.items()}
        if more:
            row = {"place": 10**3, "contributor": int(part["contributor"][0]), "value": 0}
            changed = {name: np.append(column, row[name]) for name, column in part.items()}
            changed["place"][-1] = -1
        f.part("repaired", **changed)

    refused_for("redistribute-values", forge, OTHERS)


def test_a_place_with_as_many_contributors_as_the_threshold_is_no_outlier():
    def forge(f: Forgery) -> None:
        place = without_place(f)
        given = f.evidence.parts["contributions"]
        f.method(threshold=len(set(given["contributor"][given["place"] == place].tolist())))

    refused_for("redistribute-values", forge, "a place with enough contributors was left out as an outlier")


@pytest.mark.parametrize("shares", [(1, 1), (8, 1, 1)], ids=["too few", "one dominates"])
def test_a_place_that_broke_one_rule_alone_does_not_show_its_true_value(shares):
    """Who had what there before is rewritten: two equal ones are too few, and eight of ten parts are too many."""

    def forge(f: Forgery) -> None:
        given, rows = f.evidence.parts["contributions"], f.rows(f.finest())
        same = [place for place, row in enumerate(rows) if f.true[row] == f.published[0][row] > 0]
        there = [np.flatnonzero(given["place"] == place) for place in same]
        mine = max(there, key=len)
        assert len(mine) >= 3
        value, total = given["value"].copy(), int(given["value"][mine].sum())
        value[mine] = 0
        value[mine[: len(shares)]] = [total * share // sum(shares) for share in shares]
        value[mine[0]] += total - int(value[mine].sum())
        f.part("contributions", value=value)
        f.method(p=None)

    refused_for("redistribute-values", forge, "a place that broke a rule shows its true value", alone=True)


@pytest.mark.parametrize("by", [-1, 1])
@pytest.mark.parametrize(("part", "what"), [("contributions", "original"), ("repaired", "published")])
def test_contributions_add_up_to_the_map(part, what, by):
    def forge(f: Forgery) -> None:
        value = f.evidence.parts[part]["value"].copy()
        value[0] += by
        f.part(part, value=value)

    refused_for("redistribute-values", forge, f"the contributions do not add up to the {what} map")


@pytest.mark.parametrize(
    ("values", "rule", "broken"),
    [
        ([60, 40], {"max_share": 0.6}, False),
        ([61, 39], {"max_share": 0.6}, True),
        ([79, 21], {"dominance": (1, 0.8)}, False),
        ([80, 20], {"dominance": (1, 0.8)}, True),
        ([50, 30, 20], {"dominance": (2, 0.8)}, True),
        ([100, 50, 10], {"p": 10}, False),
        ([100, 50, 9], {"p": 10}, True),
        ([100], {}, False),
    ],
)
def test_rules_of_maps_hold_to_the_unit(values, rule, broken):
    assert _dominated(values, {"max_share": None, "dominance": None, "p": None, **rule}) is broken
