"""Every small cell there is, at the borders of every rule: the checker finds what the rules find, to the unit."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.errors import NeedsError
from discreet.model.table import DECLARED_SAFE, CellStatus, Contributions
from discreet.verify.rules import Recheck, _stands_for_unknown
from tests.rules.making import counts, magnitudes
from tests.rules.strategies import REGIONS, STATES

CELLS: list[list[int]] = [
    *([a, b, c] for a, b, c in product(range(7), range(4), range(3)) if a >= b >= c),
    *([a, b, 1, 1] for a, b in product((1, 4, 9, 10, 11), (0, 1)) if a >= b),
    *([a] for a in range(3)),
    [],
]
"""Lists of contributions; zeros among them."""
RULES: list[Any] = [
    *(ds.PPercent(p, n, inclusive=i) for p in (1, 50, 100) for n in (1, 2) for i in (False, True)),
    *(ds.Dominance(n, k, inclusive=i) for n in (1, 2) for k in (50, 75) for i in (False, True)),
    *(ds.MaxShare(share, inclusive=i) for share in (0.5, 0.75) for i in (False, True)),
    ds.PriorPosterior(10, 20),
    *(ds.MinContributors(n, 30, zeros=zeros) for n in (1, 2, 3, 4) for zeros in (False, True)),
    *(ds.MinFrequency(n, 30, zeros=zeros) for n in (1, 2, 3, 4) for zeros in (False, True)),
    ds.ZeroUnsafe(1),
]


def assert_found_again(table: ds.Table, *rules: Any, **options: Any) -> Recheck:
    """The checker finds the cells, levels and broken rules of an assessment."""
    judged = table.assess(*rules, **options)
    found, recheck = judged.assessment, Recheck(judged)
    assert recheck.asserted == recheck.missing == []
    assert recheck.unsafe.tolist() == found.unsafe.tolist()
    assert not recheck.misreported.any()
    for side in ("lower", "upper"):
        mine = [int(x) for x in getattr(recheck, side)[found.unsafe]]
        assert mine == getattr(found, side)[found.unsafe].tolist(), side
    return recheck


def variants() -> dict[str, ds.Table]:
    """The same cells in every light in which rules may see them."""
    size = range(len(CELLS))
    consent = [[(i + j) % 2 == 0 for j in range(len(CELLS[i]))] for i in size]
    asked = [[(i + j) % 3 for j in range(len(CELLS[i]))] for i in size]
    weights = [[1 + (i + j) % 3 for j in range(len(CELLS[i]))] for i in size]
    signed = [[-x if j == 1 else x for j, x in enumerate(cell)] for cell in CELLS]
    return {
        "plain": magnitudes(*CELLS),
        "consent": magnitudes(*CELLS, consent=consent),
        "weights": magnitudes(*CELLS, weights=weights),
        "shadow": magnitudes(*CELLS, values=[(7 * i) % 23 if CELLS[i] else 0 for i in size]),
        "absolute": magnitudes(*signed, absolute=True),
        "asked": magnitudes(*CELLS, asked=asked),
        "decimals": magnitudes(*[[f"{x}.5" for x in cell] for cell in CELLS], decimals=1, spec={"decimals": 0}),
        "finer": magnitudes(*CELLS, spec={"decimals": 2}),
    }


@pytest.mark.parametrize("profile", ["handbook", "argus"])
@pytest.mark.parametrize("variant", variants())
def test_every_rule_alone(variant, profile):
    table = variants()[variant]
    for rule in RULES:
        ways = [rule]
        if variant == "weights" and hasattr(rule, "weights"):
            ways += [replace(rule, weights=how) for how in ("once", "ignore")]
        for way in ways:
            assert_found_again(table, way, profile=profile)
    if variant == "asked":
        for p1, p2, n in product((10, 50), (None, 25), (1, 2, 3)):
            assert_found_again(table, ds.Request(p1, p2, n, 30), profile=profile)


@pytest.mark.parametrize("profile", ["handbook", "argus"])
def test_rules_together_and_marks_by_hand(profile):
    table = magnitudes(*CELLS)
    kinds = [CellStatus.EMPTY, CellStatus.UNSAFE, DECLARED_SAFE, CellStatus.FORCED, CellStatus.SAFE]
    manual = np.array([kinds[i % 5] for i in range(len(table))], np.int8)
    given = np.array([(0, 0, 3, 40)[i % 4] for i in range(len(table))], np.int64)
    bounds = {"lower_bound": table.value - given, "upper_bound": table.value + np.roll(given, 1)}
    for one, two in zip(RULES, [*RULES[7:], *RULES[:7]], strict=True):
        assert_found_again(table, one, two, profile=profile)
        assert_found_again(table.with_(manual=manual), one, two, profile=profile, manual_range=130)
        assert_found_again(
            table.with_(manual=manual, manual_lower=given, manual_upper=np.roll(given, 2)), one, profile=profile
        )
        assert_found_again(table.with_(**bounds), one, two, profile=profile)


@pytest.mark.parametrize(("manual", "marked"), [(None, False), ([0, 0], False), ([0, 3], True), ([-1, 0], True)])
def test_a_table_is_marked_where_some_cell_is(manual, marked):
    table = magnitudes([60, 40], [40, 35, 25]).assess(ds.PPercent(10))
    column = None if manual is None else np.array(manual, np.int8)
    assert Recheck(table.with_(manual=column)).marked is marked


@pytest.mark.parametrize("hits", [[0, 1], [2, 0], [3, 1], [3, 2], [1, 1]])
def test_other_rules_than_those_that_are_broken(hits):
    """The first cell breaks both rules, the second one neither."""
    table = magnitudes([60, 40], [40, 35, 25]).assess(ds.PPercent(10), ds.MinContributors(3))
    assert table.assessment.hits.tolist() == [3, 0]
    forged = replace(table.assessment, hits=np.array(hits, table.assessment.hits.dtype))
    expected = [mine != true for mine, true in zip(hits, [3, 0], strict=True)]
    assert Recheck(table.with_(assessment=forged)).misreported.tolist() == expected


# ---- counts -----------------------------------------------------------------------------------------------------

AREA = ds.Hierarchy.from_nested({"north": ["n", "m"], "south": ["s"]})
STATE = ds.Hierarchy.flat(["x", "y", "unknown"], missing=frozenset(["unknown"]))


def people(seed: int) -> ds.Table:
    rng = np.random.default_rng(seed)
    found = {(a, s): int(rng.choice([0, 0, 1, 2, 3, 9])) for a in AREA.base_codes for s in STATE.base_codes}
    return counts({"area": AREA, "state": STATE}, found)


@pytest.mark.parametrize("profile", ["handbook", "argus"])
@pytest.mark.parametrize("seed", range(12))
def test_counts(seed, profile):
    table = people(seed)
    held = np.minimum(table.value, 1 + seed % 4)
    nothing = np.zeros((len(table), 0), np.int64)
    found = Contributions(held, table.value, nothing, np.zeros(len(table), np.bool_))
    both = table.with_(contributions={"holding": found})
    heavy = table.with_(
        value=table.value * 15,
        decimals=1,
        weighted=table.value * 15,
        weight_decimals=1,
        spec=table.spec.with_(weight="w", decimals=1),
    )
    for n, missing_safe in product((1, 2, 3, 4), (False, True)):
        options = {"profile": profile, "missing_safe": missing_safe}
        for zeros in (False, True):
            assert_found_again(table, ds.MinFrequency(n, 30, zeros=zeros), **options)
            assert_found_again(both, ds.MinContributors(n, 30, zeros=zeros), **options)
            assert_found_again(heavy, ds.MinFrequency(n, 200, zeros=zeros), **options)
            assert_found_again(heavy, ds.MinFrequency(n, 30, True, zeros=zeros), **options)
        recheck = assert_found_again(table, ds.ZeroUnsafe(1), **options)
        assert recheck.exempt == (sum(STATE.codes[code] == "unknown" for code in table.codes[:, 1]) * missing_safe)


def test_how_many_cells_are_declared_safe_or_rest_on_something():
    table = magnitudes([60, 40], [40, 35, 25], [50, 49, 0], [0, 0, 0], [1, 0, 0])
    declared = np.array([DECLARED_SAFE, DECLARED_SAFE, 0, 0, 0], np.int8)
    assert Recheck(table.with_(manual=declared).assess(ds.PPercent(10))).declared == 1
    assert Recheck(table.assess(ds.MinContributors(3, zeros=True))).resting == (0, 2)
    assert Recheck(table.assess(ds.MinContributors(2, zeros=True))).resting == (0, 1)
    assert Recheck(table.assess(ds.MinContributors(3, zeros=True), ds.PPercent(10))).resting == (0, 0)


@pytest.mark.parametrize("gone", [0, 1, 2])
@pytest.mark.parametrize("from_records", [True, False])
def test_zeros_of_counts_are_judged_where_all_cells_are_there(gone, from_records):
    """A table of records that lacks cells shows by that which are zero, so that the rule cannot have been applied."""
    judged = people(3).assess(ds.ZeroUnsafe(1))
    kept = slice(0, len(judged) - gone)
    columns = {name: getattr(judged, name)[kept] for name in ("codes", "value", "empty", "records")}
    said = replace(judged.assessment, hits=judged.assessment.hits[kept])
    recheck = Recheck(judged.with_(**columns, assessment=said, from_records=from_records))
    if gone and from_records:
        assert recheck.missing == ["zero_unsafe"]
    else:
        assert recheck.missing == []
        assert recheck.unsafe.tolist() == (columns["value"] == 0).tolist()


def test_weighted_counts_whose_range_is_one_unit_more_than_a_person():
    """Eleven people of weight one: a tenth of 11.0 is 1.1, and twelve are one person more."""
    table = counts({"cell": ds.Hierarchy.flat(["a", "b"])}, {("a",): 11, ("b",): 30})
    heavy = table.with_(
        value=table.value * 10,
        decimals=1,
        weighted=table.value * 10,
        weight_decimals=1,
        spec=table.spec.with_(weight="w", decimals=1),
    )
    recheck = assert_found_again(heavy, ds.MinFrequency(12, 10))
    assert recheck.lower[heavy.row(cell="a")] == recheck.upper[heavy.row(cell="a")] == 11


# ---- files that are wrong ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [ds.Dominance(2, 50), ds.MinContributors(3)], ids=["dominance", "contributors"])
def test_an_amount_that_cannot_be_is_no_consent_of_everybody(rule):
    """-1 stands for nobody whose consent is missing; no other number does."""
    table = magnitudes([60, 40], [60, 40], [60, 40], consent=[[False, False], [True, True], [False, True]])
    judged = table.assess(rule)
    assert Recheck(judged).unsafe.tolist() == [True, False, True]
    found = judged.contributions["holding"]
    forged = replace(found, unwaived=np.array([-2, -1, 60]))
    assert Recheck(judged.with_(contributions={"holding": forged})).unsafe.tolist() == [True, False, True]


@pytest.mark.parametrize("gone", ["own", "own_total"])
@pytest.mark.parametrize("weights", ["once", "ignore"])
def test_rules_without_weights_need_contributions_without_weights(gone, weights):
    table = magnitudes([60, 40], [40, 35, 25], weights=[[1, 2], [1, 1, 2]]).assess(ds.PPercent(10, weights=weights))
    assert Recheck(table).missing == []
    found = replace(table.contributions["holding"], **{gone: None})
    assert Recheck(table.with_(contributions={"holding": found})).missing == ["p_percent"]


def test_cells_of_unknown_codes_do_not_rest_on_zeros():
    table = magnitudes([60, 0, 0], [50, 0, 0])
    by = {"cell": ds.Hierarchy.flat(["a", "b"], total=None, missing=frozenset(["b"]))}
    table = table.with_(spec=table.spec.with_(by=by))
    rule = ds.MinContributors(3, zeros=True)
    assert Recheck(table.assess(rule)).resting == (0, 2)
    assert Recheck(table.assess(rule, missing_safe=True)).resting == (0, 1)


def test_requests_that_nobody_can_have_judged():
    table = magnitudes([60, 40], asked=[[1, 0]]).assess(ds.Request(50))
    assert Recheck(table).missing == []
    assert Recheck(table.with_(contributions={})).missing == ["request"]
    silent = replace(table.contributions["holding"], requested=None)
    assert Recheck(table.with_(contributions={"holding": silent})).missing == ["request"]


def test_an_amount_that_cannot_be_is_a_request_all_the_same():
    table = magnitudes([60, 40], [60, 40], asked=[[1, 0], [0, 0]]).assess(ds.Request(90, n=3))
    forged = replace(table.contributions["holding"], requested=np.array([[-2, -1], [-1, -1]]))
    assert Recheck(table.with_(contributions={"holding": forged})).unsafe.tolist() == [True, False]
    below = table.with_(contributions={"holding": forged}, value=np.array([100, -50]))
    assert Recheck(below).unsafe.tolist() == [True, False]


def test_a_request_counts_from_the_smallest_share_above():
    """1 of 3 is more than 33.3 %, by a thirtieth of a per cent."""
    table = magnitudes([1, 1, 1], [1, 1, 1, 1], asked=[[1, 0, 0], [1, 0, 0, 0]])
    assert assert_found_again(table, ds.Request(33.3, n=1)).unsafe.tolist() == [True, False]


def test_frequencies_of_ready_made_magnitudes_are_those_of_contributors():
    table = magnitudes([60, 40], [40, 35, 25]).with_(records=None, nonzero=None, from_records=False)
    assert assert_found_again(table, ds.MinFrequency(3)).unsafe.tolist() == [True, False]
    judged = table.assess(ds.MinFrequency(3))
    assert Recheck(judged.with_(contributions={})).missing == ["min_frequency"]
    assert Recheck(judged.with_(from_records=True)).missing == ["min_frequency"]


@pytest.mark.parametrize("seen", ["records", "contributions"])
def test_whoever_is_there_makes_a_zero_unsafe_however_it_is_told(seen):
    judged = magnitudes([100, 5], [0], [40, 35, 25]).assess(ds.ZeroUnsafe())
    nobody = {"records": None, "contributions": {}}
    del nobody[seen]
    forged = judged.with_(empty=np.ones(3, np.bool_), **nobody)
    assert Recheck(forged).unsafe.tolist() == [False, True, False]


def test_zeros_of_magnitudes_are_judged_where_cells_are_missing():
    table = magnitudes([60, 40], [0, 0])
    by = {"cell": ds.Hierarchy.flat(["a", "b", "c"], total=None)}
    recheck = assert_found_again(table.with_(spec=table.spec.with_(by=by)), ds.ZeroUnsafe())
    assert recheck.unsafe.tolist() == [False, True]


# ---- groups -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("region", range(len(REGIONS)))
@pytest.mark.parametrize("state", range(len(STATES)))
def test_groups_of_which_all_but_a_few_are_alike(region, state):
    rng, judged = np.random.default_rng(5), 0
    by = {"region": REGIONS[region], "state": STATES[state]}
    for _ in range(40):
        finest = {
            (r, s): int(rng.choice([0, 0, 0, 1, 2, 3, 9]))
            for r in by["region"].base_codes
            for s in by["state"].base_codes
        }
        table = counts(by, finest)
        if rng.random() < 0.3:
            table = table.with_(upper_bound=table.value + rng.choice([0, 1, 3, 10**6], len(table)))
        for variable, unknown in product(by, (False, True)):
            try:
                assert_found_again(table, ds.GroupDisclosure(variable, int(rng.integers(0, 4)), unknown=unknown))
            except NeedsError:
                continue  # no cell could hide the secret
            judged += 1
    assert judged > 40


def test_groups_are_judged_where_sums_are_missing():
    """A table need not have every sum in which a cell stands."""
    by = {"region": REGIONS[1], "state": STATES[0]}
    finest = {("n", "x"): 9, ("n", "y"): 0, ("m", "x"): 3, ("m", "y"): 0, ("s", "x"): 5, ("s", "y"): 5}
    judged = counts(by, finest).assess(ds.GroupDisclosure("state", 0))
    row = judged.row(region="north", state="y")
    kept = np.arange(len(judged)) != row
    columns = {name: getattr(judged, name)[kept] for name in ("codes", "value", "empty", "records")}
    said = replace(judged.assessment, hits=judged.assessment.hits[kept])
    recheck = Recheck(judged.with_(**columns, assessment=said))
    assert recheck.unsafe.sum() > 0


@pytest.mark.parametrize(
    ("code", "expected"),
    [("a", False), ("u", True), ("clear", False), ("unclear", True), ("mixed", False), ("sole", True), ("none", False)],
)
def test_codes_that_say_nothing_of_those_who_have_them(code, expected):
    """A sum does so where all its parts do; one of nothing at all has no parts."""
    nested = {"clear": ["a", "b"], "unclear": ["u", "w"], "mixed": ["c", "x"], "sole": ["y"]}
    tree = ds.Hierarchy.from_nested(nested, missing=frozenset("uwxy")).with_grouping(
        "none", ["clear"], minus=["a", "b"]
    )
    assert _stands_for_unknown(tree, code) is expected


def test_a_sum_that_is_called_unknown_says_nothing_whatever_its_parts_do():
    tree = ds.Hierarchy.from_nested({"clear": ["a", "b"], "odd": ["c", "d"]}, missing=frozenset(["odd"]))
    assert _stands_for_unknown(tree, "odd")
    assert not _stands_for_unknown(tree, "c")
