"""The checker accepts a proof exactly where it is one: levels, signs, families against insiders, accepted cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.model.claims.suppression import suppression_claim
from discreet.model.evidence import DOWN, MOVES, UP, Acceptance
from discreet.verify.evidence import check_evidence
from discreet.verify.known import Ground
from discreet.verify.verdict import Verdict
from tests.verify.by_hand import Box, Case, box

VALUE = np.array([[20, 30, 40], [25, 35, 45], [50, 60, 70]])
TARGET = (0, 0)


def simple(**changes: object) -> Case:
    """One unsafe cell at level 10, with one box each way."""
    case = Case(VALUE, {TARGET: (10, 10, 0)}, [box(0, 0, 1, 1, times=10, both=True)], {TARGET: [(0, UP), (0, DOWN)]})
    return replace(case, **changes)


def refused(case: Case) -> str:
    verdict = case.verdict()
    assert verdict.holds == case.holds()
    return "; ".join(str(reason) for reason in verdict.refused)


# ---- outsiders ----------------------------------------------------------------------------------------------


def test_one_certificate_may_serve_both_ways():
    assert refused(simple()) == ""
    assert any("1 cell, 1 exact certificate" in text for text in simple().verdict().proved)


def test_a_certificate_serves_the_other_way_only_where_that_is_claimed():
    assert "lower protection level is not reached (t: row=r0, column=c0)" in refused(
        simple(certificates=[box(0, 0, 1, 1, times=10)])
    )
    assert "upper" in refused(simple(certificates=[box(0, 0, 1, 1, times=-10)]))


def test_both_ways_are_refused_where_the_opposite_leaves_a_bound():
    """A fall of 21 is beyond zero; a rise of 21 is not."""
    assert (
        refused(
            simple(certificates=[box(0, 0, 1, 1, times=21)], proofs={TARGET: [(0, UP)]}, levels={TARGET: (10, 0, 0)})
        )
        == ""
    )
    reasons = refused(simple(certificates=[box(0, 0, 1, 1, times=21, both=True)]))
    assert "leaves what is known of a cell (t: row=r0, column=c0)" in reasons


@pytest.mark.parametrize("times", [20, 21])
def test_a_bound_may_be_reached_but_not_passed_by_one_unit(times):
    """The target can fall to zero."""
    case = simple(certificates=[box(0, 0, 1, 1, times=10), box(0, 0, 1, 1, times=-times)])
    assert (refused(replace(case, proofs={TARGET: [(0, UP), (1, DOWN)]})) == "") == (times == 20)


def test_what_everybody_knows_of_a_cell_bounds_certificates():
    """Ten per cent of 20, 30, 25 and 35 are 2, 3, 2.5 and 3.5: all cells can move by 2."""
    ok = simple(levels={TARGET: (2, 2, 0)}, certificates=[box(0, 0, 1, 1, times=2, both=True)], within=10.0)
    assert refused(ok) == ""
    assert "leaves what is known" in refused(replace(ok, certificates=[box(0, 0, 1, 1, times=3, both=True)]))
    narrower = replace(ok, within=9.999)
    assert "leaves what is known" in refused(narrower)


def test_fractions_are_compared_exactly():
    exact = box(0, 0, 1, 1, times=30, denominator=3, both=True)
    assert refused(simple(certificates=[exact])) == ""
    assert "upper protection" in refused(
        simple(certificates=[replace(exact, amount={k: v - (1 if v > 0 else -1) for k, v in exact.amount.items()})])
    )


def test_numbers_beyond_64_bits_are_compared_exactly():
    scale = 10**30
    exact = box(0, 0, 1, 1, times=10 * scale, denominator=scale, both=True)
    assert refused(simple(certificates=[exact, box(0, 0, 2, 2, times=3)])) == ""
    for certificates, reason in (
        ([box(0, 0, 1, 1, times=10 * scale - 1, denominator=scale, both=True)], "upper protection"),
        ([Box({**exact.amount, (0, 0): 10 * scale + 1}, scale, True)], "breaks a relation"),
        ([box(0, 0, 1, 1, times=20 * scale + 1, denominator=scale, both=True)], "leaves what is known"),
    ):
        assert reason in refused(simple(certificates=certificates))


def test_sums_beyond_64_bits_do_not_wrap_around():
    """Four times 2 ** 62 is nothing in 64 bits."""
    amount = {(0, c): 2**62 for c in range(4)}
    case = Case(np.full((2, 4), 5), {TARGET: (1, 0, 0)}, [Box(amount, 2**62)], {TARGET: [(0, UP)]})
    assert "breaks a relation" in refused(case)


def test_a_sliding_level_counts_the_least_moves_of_both_directions():
    far = box(0, 0, 1, 1, times=15, both=True)
    ok = simple(levels={TARGET: (10, 10, 30)}, certificates=[far, box(0, 0, 1, 2, times=14)])
    assert refused(ok) == ""
    assert "sliding" in refused(replace(ok, proofs={TARGET: [(0, UP), (0, DOWN), (1, UP)]}))


def test_a_sliding_level_of_one_unit_needs_a_proof():
    assert "the sliding protection level is not reached" in refused(
        simple(levels={TARGET: (0, 0, 1)}, certificates=[], proofs={TARGET: []})
    )


def test_a_certificate_that_does_not_change_the_cell_shows_nothing():
    away = [box(1, 1, 2, 2, times=3, both=True)]
    for use in (UP, DOWN, MOVES):
        assert refused(simple(levels={TARGET: (0, 0, 0)}, certificates=away, proofs={TARGET: [(0, use)]})) != ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"row": [1, 1], "table": [0, 0], "start": [0, 2, 4]}, "more than one proof"),
        ({"certificate": [0, 7]}, "not there"),
        ({"certificate": [0, -1]}, "not there"),
        ({"use": [0, 3]}, "not there"),
        ({"row": [99]}, "not there"),
        ({"table": [1]}, "not there"),
        ({"start": [0, 3]}, "not well formed"),
        ({"start": [1, 2]}, "not well formed"),
        ({"row": [0]}, "a cell that is not unsafe"),
    ],
)
def test_proofs_that_are_not_well_formed_are_refused(change, reason):
    case = simple()
    proofs = case.evidence().proofs
    if "row" in change and len(change["row"]) == 2:
        change = {**change, "row": [case.row(TARGET)] * 2, "certificate": [0] * 4, "use": [0, 1] * 2}
    columns = {name: np.array(value, getattr(proofs, name).dtype) for name, value in change.items()}
    verdict = case.verdict(replace(case.evidence(), proofs=replace(proofs, **columns)))
    assert reason in str(verdict.refused)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"start": [0, 3]}, "not well formed"),
        ({"both": [True, True]}, "not well formed"),
        ({"entry_row": [0, 1, 2, 99]}, "not well formed"),
        ({"entry_table": [0, 0, 0, -1]}, "not well formed"),
        ({"denominator": [0]}, "not positive"),
        ({"amount": [1.5, 1, 1, 1]}, "not well formed"),
    ],
)
def test_certificates_that_are_not_well_formed_are_refused(change, reason):
    case = simple()
    found = case.evidence().certificates
    columns = {name: np.array(value) for name, value in change.items()}
    verdict = case.verdict(replace(case.evidence(), certificates=replace(found, **columns)))
    assert reason in str(verdict.refused)


def test_a_cell_that_changes_twice_is_refused():
    case = simple()
    found = case.evidence().certificates
    row = found.entry_row.copy()
    row[1] = row[0]
    verdict = case.verdict(replace(case.evidence(), certificates=replace(found, entry_row=row)))
    assert "changes a cell twice" in str(verdict.refused)


# ---- what is claimed ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ({"insiders": "some"}, "not known to this checker"),
        ({"known_within": "5"}, "not a percentage"),
        ({"known_within": -1}, "not a percentage"),
        ({"known_within": float("nan")}, "not a percentage"),
        ({"known_within": True}, "not a percentage"),
        ({"insiders": "nonzero"}, "cannot show"),
        ({"known_within": 5}, "cannot show"),
    ],
)
def test_parameters_must_be_known_and_fit_the_claim(method, reason):
    case = simple()
    assert reason in str(case.verdict(replace(case.evidence(), method=method)).refused)


def test_a_missing_parameter_counts_as_none():
    assert simple().verdict(replace(simple().evidence(), method={})).holds


def test_the_claim_must_say_that_holders_are_not_named():
    people = {cell: [(7, 1)] * 4 for cell in np.ndindex(3, 3)}
    case = simple(insiders="full", people=people, named=False)
    assert refused(case) == ""
    silent = suppression_claim("full", None, universes=False, unnamed=False, uncounted=False)
    assert "does not admit" in str(case.verdict(replace(case.evidence(), claim=silent)).refused)


def without_counts(case: Case, claimed: str | None) -> Verdict:
    custodian = case.custodian()
    bare = custodian.tables.tables[0].with_(contributions={})
    evidence = replace(
        custodian.evidence[0], claim=suppression_claim(claimed, None, universes=False, unnamed=False, uncounted=True)
    )
    verdict = Verdict()
    check_evidence(verdict, Ground(replace(custodian, tables=ds.TableSet([bare]))), evidence, [case.recheck()])
    return verdict


def test_nothing_can_be_claimed_of_insiders_where_nobody_counts_contributors():
    case = simple(insiders="full", named=False)
    assert "cannot show" in str(without_counts(case, "full"))
    assert without_counts(case, None).holds


def test_coarser_units_than_the_table_has_are_refused():
    case = simple()
    assert "do not fit" in str(case.verdict(replace(case.evidence(), decimals=-1)).refused)


# ---- cells that are accepted --------------------------------------------------------------------------------

ACCEPTED = Acceptance("t", ("r0", "c0"), "a single firm, which agreed", "N. N.")


@pytest.mark.parametrize("proofs", [{TARGET: []}, {}, {TARGET: [(0, UP)]}])
def test_an_accepted_cell_needs_no_proof_and_is_only_asserted(proofs):
    verdict = simple(proofs=proofs, certificates=[box(0, 0, 1, 1)], accepted=[ACCEPTED]).verdict()
    assert verdict.holds
    text = "1 unsafe cell is withheld without a proof of the level, accepted by 'N. N.': t: row=r0, column=c0"
    assert text in verdict.asserted
    assert any("1 cell is accepted without that. (0 cells" in text for text in verdict.proved)


@pytest.mark.parametrize(
    ("accepted", "reason"),
    [
        ([replace(ACCEPTED, table="u")], "not in the tables (u: r0, c0)"),
        ([replace(ACCEPTED, cell=("r0", "c9"))], "not in the tables"),
        ([replace(ACCEPTED, cell=("r0",))], "not in the tables"),
        ([replace(ACCEPTED, cell=("r0", "c1"))], "not an unsafe one"),
        ([replace(ACCEPTED, cell=("Total", "c1"))], "not an unsafe one"),
        ([replace(ACCEPTED, reason=" ")], "without a reason"),
        ([replace(ACCEPTED, name="")], "by nobody"),
        ([ACCEPTED, ACCEPTED], "accepted twice"),
    ],
)
def test_an_acceptance_must_fit_a_cell_and_name_somebody(accepted, reason):
    assert reason in "; ".join(str(r) for r in simple(accepted=accepted).verdict().refused)


def test_an_acceptance_must_be_claimed():
    case = simple()
    assert "cannot show" in str(case.verdict(replace(case.evidence(), accepted=[ACCEPTED])).refused)


# ---- insiders -----------------------------------------------------------------------------------------------

MANY = [(100, 5), (101, 4), (102, 3), (103, 2)]


def crowd(**people: list[tuple[int, int]]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Different people in every cell, but for the cells named ``c01`` and the like."""
    result = {(r, c): [(1000 * r + 100 * c + who, own) for who, own in MANY] for r in range(3) for c in range(3)}
    return {**result, **{(int(name[1]), int(name[2])): who for name, who in people.items()}}


def two_ways(**changes: object) -> Case:
    """Two boxes each way that have only the target in common."""
    boxes = [box(0, 0, 1, 1, times=10, both=True), box(0, 0, 2, 2, times=10, both=True)]
    uses = [(0, UP), (1, UP), (0, DOWN), (1, DOWN)]
    case = Case(VALUE, {TARGET: (10, 10, 0)}, boxes, {TARGET: uses}, people=crowd(), insiders="full")
    return replace(case, **changes)


@pytest.mark.parametrize("insiders", ["full", "nonzero"])
def test_who_fills_a_cell_alone_rules_out_what_changes_it(insiders):
    alone = crowd(c11=[(7, 35)])
    case = two_ways(insiders=insiders, people=alone)
    assert refused(case) == ""
    first = replace(case, proofs={TARGET: [(0, UP), (0, DOWN)]})
    assert "a contributor can rule out all certificates" in refused(first)
    assert "row=r0, column=c0" in refused(first)


@pytest.mark.parametrize("insiders", ["full", "nonzero"])
def test_a_holder_shared_by_all_members_is_noticed(insiders):
    shared = crowd(c11=[(7, 35)], c22=[(7, 70)])
    assert "rule out" in refused(two_ways(insiders=insiders, people=shared))
    different = crowd(c11=[(7, 35)], c22=[(8, 70)])
    assert refused(two_ways(insiders=insiders, people=different)) == ""


def test_each_direction_needs_its_own_family():
    case = two_ways(people=crowd(c11=[(7, 35)]))
    for gone, side in ((1, "upper"), (3, "lower")):
        members = [member for i, member in enumerate(case.proofs[TARGET]) if i != gone]
        assert f"of the {side} protection level" in refused(replace(case, proofs={TARGET: members}))


@pytest.mark.parametrize("insiders", ["full", "nonzero"])
def test_the_only_contributor_of_the_cell_is_no_attacker_of_it(insiders):
    mine = crowd(c00=[(7, 20)], c11=[(7, 35)], c22=[(7, 70)])
    assert refused(two_ways(insiders=insiders, people=mine)) == ""


@pytest.mark.parametrize("insiders", ["full", "nonzero"])
def test_unnamed_single_contributors_are_all_different(insiders):
    people = crowd(c11=[(7, 35)], c22=[(7, 70)])
    assert refused(two_ways(insiders=insiders, people=people, named=False)) == ""
    lone = two_ways(insiders=insiders, people=people, named=False, proofs={TARGET: [(0, UP), (0, DOWN)]})
    assert "rule out" in refused(lone)


def test_downwards_the_largest_contributor_of_the_cell_is_spared():
    """Both boxes change a cell that the same contributor fills alone."""
    shared = crowd(c00=[(7, 5), (8, 4), (9, 3)], c11=[(7, 35)], c22=[(7, 70)])
    reasons = refused(two_ways(people=shared))
    assert "upper protection level" in reasons
    assert "lower protection level" not in reasons
    second = {**shared, (0, 0): [(8, 5), (7, 4), (9, 3)]}
    assert "lower protection level" in refused(two_ways(people=second))


@pytest.mark.parametrize(("total", "good"), [(1, True), (3, False)])
def test_a_total_with_one_contributor_has_it_from_its_parts(total, good):
    """All finest cells of the first column have one contributor; it is the same where their total has no more."""
    people = crowd(c00=[(7, 20)], c10=[(8, 25)], c20=[(9, 50)])
    case = two_ways(people=people, named=False, proofs={TARGET: [(0, UP), (0, DOWN)]})
    custodian = case.custodian()
    table = custodian.tables.tables[0]
    holding = table.contributions["holding"]
    count = holding.count.copy()
    count[(table.codes[:, 0] == 0) & (table.codes[:, 1] == 1)] = total
    counted = table.with_(contributions={"holding": replace(holding, count=count)})
    verdict = Verdict()
    ground = Ground(replace(custodian, tables=ds.TableSet([counted])))
    check_evidence(verdict, ground, custodian.evidence[0], [case.recheck()])
    assert verdict.holds == good


def test_a_large_contributor_rules_out_a_fall_below_its_own_contribution():
    """(0, 1) is 30 and falls by 10 in the first box."""
    up = {TARGET: (10, 0, 0)}
    for own, good in ((20, True), (21, False)):
        case = two_ways(levels=up, proofs={TARGET: [(0, UP)]}, people=crowd(c01=[(7, own), (8, 2), (9, 1)]))
        assert (refused(case) == "") == good
        # It can still be that the cell is more than it is.
        assert refused(replace(case, insiders="nonzero")) == ""


def test_who_leaves_nothing_to_the_others_rules_out_any_fall():
    up = {TARGET: (10, 0, 0)}
    case = two_ways(levels=up, proofs={TARGET: [(0, UP)]}, people=crowd(c01=[(7, 30), (8, 0)]), insiders="nonzero")
    assert "rule out" in refused(case)
    assert refused(replace(case, proofs={TARGET: [(0, UP), (1, MOVES)]})) == ""


@pytest.mark.parametrize("insiders", ["full", "nonzero"])
def test_a_holder_that_leaves_nothing_knows_that_the_cell_itself_cannot_fall(insiders):
    """Downwards there is no room for its level, and upwards it sees that the cell moves."""
    people = crowd(c00=[(7, 20), (8, 0)])
    down_only = two_ways(insiders=insiders, people=people, levels={TARGET: (0, 10, 0)}, proofs={TARGET: [(0, DOWN)]})
    assert (refused(down_only) == "") == (insiders == "full")
    assert refused(two_ways(insiders=insiders, people=people)) == ""


def test_a_certificate_that_anybody_might_rule_out_does_not_count():
    """(0, 1) falls from 14 to 4. Nobody knows who is third there; it may have as much as the second, 5."""
    unknown = crowd(c01=[(7, 5), (8, 5), (9, 5)])
    large = np.array([[20, 14, 40], [25, 35, 45], [50, 60, 70]])
    up = {TARGET: (10, 0, 0)}
    case = two_ways(value=large, levels=up, proofs={TARGET: [(0, UP)]}, people=unknown)
    assert "rule out" in refused(case)
    assert refused(replace(case, proofs={TARGET: [(0, UP), (1, UP)]})) == ""
    assert "rule out" in refused(
        replace(case, proofs={TARGET: [(0, UP), (1, UP)]}, people={**unknown, (2, 2): [(5, 70)]})
    )


def test_where_cells_may_be_negative_a_contribution_says_nothing():
    signed = VALUE.copy()
    signed[0, 1] = -30
    up = {TARGET: (10, 0, 0)}
    people = crowd(c01=[(7, 30), (8, -60)])
    case = two_ways(value=signed, levels=up, proofs={TARGET: [(0, UP)]}, people=people)
    assert case.verdict().holds
    elsewhere = VALUE.copy()
    elsewhere[2, 1] = -60  # takes the floor from its own cell only
    assert "rule out" in refused(replace(case, value=elsewhere, people=crowd(c01=[(7, 30), (8, 0)])))


def test_whole_numbers_cannot_be_made_smaller_at_the_target():
    """The first holder has 8 of 20. It leaves room for the level of 10, and not for the fall by 15 that is shown."""
    people = crowd(c00=[(7, 8), (8, 7), (9, 5)])
    down = two_ways(
        levels={TARGET: (0, 10, 0)},
        certificates=[box(0, 0, 1, 1, times=-15)],
        proofs={TARGET: [(0, DOWN)]},
        people=people,
    )
    assert refused(down) == ""
    assert "rule out" in refused(replace(down, counts=True))


def test_refusals_name_no_contributor_and_no_amount():
    shared = crowd(c11=[(987654321, 35)], c22=[(987654321, 70)])
    assert "98765" not in str(two_ways(people=shared).verdict())


# ---- against the same rules in plain Python -----------------------------------------------------------------

CELLS = [(r, c) for r in range(3) for c in range(3)]


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    """One or two boxes together, over a denominator."""
    denominator = draw(st.sampled_from([1, 1, 2, 3]))
    amount: dict[tuple[int, int], int] = {}
    for _ in range(draw(st.integers(1, 2))):
        r, s = draw(st.permutations(range(3)))[:2]
        c, d = draw(st.permutations(range(3)))[:2]
        for cell, a in box(r, c, s, d, times=denominator * draw(st.integers(1, 4))).amount.items():
            amount[cell] = amount.get(cell, 0) + a
    if draw(st.booleans()) and denominator > 1:
        amount = {cell: a // denominator for cell, a in amount.items()}
    scale = draw(st.sampled_from([1, 1, 1, 10**25]))
    return Box({cell: a * scale for cell, a in amount.items()}, denominator * scale, draw(st.booleans()))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    value = np.array(draw(st.lists(st.integers(6, 15), min_size=9, max_size=9))).reshape(3, 3)
    people = {}
    for cell in CELLS:
        who = draw(st.permutations(range(4)))[: draw(st.sampled_from([0, 1, 1, 2, 3, 4]))]
        own, left = [], int(value[cell])
        for _ in who:
            own.append(draw(st.integers(0, left)))
            left -= own[-1]
        people[cell] = list(zip(who, sorted(own, reverse=True), strict=True))
    targets = draw(st.lists(st.sampled_from(CELLS), min_size=1, max_size=2, unique=True))
    certificates = draw(st.lists(boxes(), min_size=1, max_size=4))
    use = st.sampled_from([UP, DOWN, MOVES])
    proofs, levels = {}, {}
    for target in targets:
        levels[target] = draw(st.tuples(st.integers(0, 1), st.integers(0, 1), st.sampled_from([0, 0, 0, 3])))
        if draw(st.integers(0, 3)):  # such proofs hold more often
            ways = [(i, UP if b.move(target) > 0 else DOWN) for i, b in enumerate(certificates) if b.move(target)]
            proofs[target] = ways + [(i, UP + DOWN - w) for i, w in ways if certificates[i].both]
        else:
            proofs[target] = draw(st.lists(st.tuples(st.integers(0, len(certificates) - 1), use), max_size=4))
    low = st.sampled_from([None] * 8 + [0, 2, -3])
    bounds = {cell: (draw(low), draw(st.sampled_from([None] * 8 + [16]))) for cell in CELLS}
    return Case(
        value,
        levels,
        certificates,
        proofs,
        people,
        insiders=draw(st.sampled_from(["full", "nonzero", None])),
        within=draw(st.sampled_from([None] * 5 + [60.0])),
        counts=draw(st.sampled_from([False, False, True])),
        named=draw(st.sampled_from([True, True, False])),
        bounds=bounds,
        listed=draw(st.integers(1, 3)),
    )


@settings(max_examples=400, deadline=None)
@given(cases())
def test_the_checker_agrees_with_the_rules_in_plain_python(case):
    verdict = case.verdict()
    event(f"holds: {verdict.holds}, insiders: {case.insiders}")
    assert verdict.holds == case.holds(), verdict


# ---- two contributors together ------------------------------------------------------------------------------


@pytest.mark.parametrize("insiders", ["full", "nonzero"])
def test_two_who_fill_a_cell_together_rule_out_what_changes_it(insiders):
    """One member changes a cell that just 7 and 8 fill, the other one that 7 fills alone: together they see both."""
    people = crowd(c11=[(7, 20), (8, 15)], c22=[(7, 70)])
    case = two_ways(insiders=insiders, people=people)
    assert refused(case) == ""
    assert "two contributors together can rule out all certificates" in refused(replace(case, coalitions=True))
    others = crowd(c11=[(9, 20), (8, 15)], c22=[(7, 70)])
    assert refused(replace(case, coalitions=True, people=others)) == ""


def three_ways(**changes: object) -> Case:
    """Two boxes whose far corners one contributor each fills alone, and a third that stands against the pair."""
    boxes = [box(0, 0, 1, 1, times=10, both=True), box(0, 0, 2, 2, times=10, both=True)]
    boxes.append(box(0, 0, 1, 2, times=10, both=True))
    uses = [(number, use) for use in (UP, DOWN) for number in range(3)]
    people = crowd(c11=[(7, 35)], c22=[(8, 70)])
    case = Case(VALUE, {TARGET: (10, 10, 0)}, boxes, {TARGET: uses}, people, insiders="full", coalitions=True)
    return replace(case, **changes)


@pytest.mark.parametrize("insiders", ["full", "nonzero"])
def test_without_the_member_that_stands_against_a_pair_the_proof_is_refused(insiders):
    case = three_ways(insiders=insiders)
    assert refused(case) == ""
    fewer = replace(case, proofs={TARGET: [(number, use) for number, use in case.proofs[TARGET] if number != 2]})
    assert "two contributors together" in refused(fewer)
    assert refused(replace(fewer, coalitions=False)) == ""


@pytest.mark.parametrize("side", [UP, DOWN])
def test_each_direction_needs_a_member_against_the_pair(side):
    case = three_ways()
    fewer = replace(case, proofs={TARGET: [member for member in case.proofs[TARGET] if member != (2, side)]})
    assert f"of the {'upper' if side == UP else 'lower'} protection level" in refused(fewer)


def test_two_rule_out_a_fall_below_what_they_have_together():
    """(0, 1) is 30 and falls by 10; 20 are left."""
    up = {TARGET: (10, 0, 0)}
    for own, good in ((8, True), (9, False)):
        people = crowd(c01=[(7, 12), (8, own), (9, 1)])
        case = two_ways(levels=up, proofs={TARGET: [(0, UP)]}, people=people, coalitions=True, listed=3)
        assert (refused(case) == "") == good
        assert refused(replace(case, coalitions=False)) == ""


@pytest.mark.parametrize("count", [3, 4])
def test_whoever_is_not_listed_is_taken_to_have_as_much_as_the_last_who_is(count):
    """(0, 1) falls from 30 to 20. No two have that much; but if only the first is listed, others might have 11 too."""
    people = crowd(c01=[(7, 11), (8, 3), (9, 2), (10, 1)][:count])
    case = two_ways(levels={TARGET: (10, 0, 0)}, proofs={TARGET: [(0, UP)]}, people=people, coalitions=True)
    assert refused(replace(case, listed=4)) == ""
    assert "two contributors together" in refused(replace(case, listed=1))
    assert refused(replace(case, listed=1, coalitions=False)) == ""


@pytest.mark.parametrize("insiders", ["full", "nonzero"])
def test_two_who_fill_the_cell_are_no_attackers_of_it(insiders):
    mine = crowd(c00=[(7, 12), (8, 8)], c11=[(7, 35)], c22=[(8, 70)])
    assert refused(two_ways(insiders=insiders, people=mine, coalitions=True)) == ""
    third = crowd(c00=[(7, 12), (8, 7), (9, 1)], c11=[(7, 35)], c22=[(8, 70)])
    assert "two contributors together" in refused(two_ways(insiders=insiders, people=third, coalitions=True))


@pytest.mark.parametrize(("count", "good"), [(2, True), (3, False)])
def test_two_who_are_not_named_may_be_those_who_fill_the_cell(count, good):
    """A total of two cells with one contributor each has these two, and nothing can be hidden from them."""
    people = crowd(c00=MANY[:count], c11=[(7, 35)], c22=[(8, 70)])
    case = two_ways(people=people, named=False, coalitions=True)
    assert (refused(case) == "") == good
    assert any("or find out of one that has two" in text for text in case.verdict().not_considered)


def test_downwards_pairs_with_the_largest_or_without_room_are_spared():
    """The cell is 20, and 10 are left at its lower level."""
    down = {TARGET: (0, 10, 0)}
    far = {"c11": [(7, 35)], "c22": [(8, 70)]}
    for people, good in (
        ([(7, 9), (8, 1), (9, 1)], True),
        ([(9, 9), (7, 6), (8, 5)], True),
        ([(9, 9), (7, 5), (8, 5)], False),
    ):
        case = two_ways(levels=down, people=crowd(c00=people, **far), coalitions=True, listed=3)
        assert (refused(replace(case, proofs={TARGET: [(0, DOWN), (1, DOWN)]})) == "") == good


def test_two_together_are_named_in_the_verdict_and_larger_groups_are_not_considered():
    verdict = three_ways().verdict()
    assert any("two contributors together" in attacker for attacker in verdict.attackers)
    assert "more than two contributors who pool what they know" in verdict.not_considered
    unnamed = three_ways(named=False).verdict()
    assert any("names none of its contributors" in text for text in unnamed.not_considered)


def test_a_setting_that_is_neither_yes_nor_no_is_refused():
    case = three_ways()
    evidence = case.evidence()
    odd = replace(evidence, method={**evidence.method, "coalitions": "yes"})
    assert "not known to this checker" in str(case.verdict(odd))
    silent = replace(evidence, method={**evidence.method, "coalitions": False})
    assert "claims something that this checker cannot show" in str(case.verdict(silent))


@st.composite
def pooled_cases(draw: st.DrawFn) -> Case:
    """Boxes through one unsafe cell, few people in few cells, so that what is seen is mostly seen by pairs."""
    value = np.array(draw(st.lists(st.integers(15, 40), min_size=9, max_size=9))).reshape(3, 3)
    people = {}
    for cell in CELLS:
        who = draw(st.permutations(range(6)))[: draw(st.sampled_from([0, 1, 2, 2, 2, 3, 3, 4, 5]))]
        shares = sorted((draw(st.integers(1, 8)) for _ in who), reverse=True)
        own = [int(value[cell]) * share // max(sum(shares), 1) for share in shares]
        people[cell] = list(zip(who, own, strict=True))
    corners = draw(st.lists(st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2)]), min_size=1, max_size=4, unique=True))
    made = [box(0, 0, r, c, times=draw(st.integers(1, 14)), both=draw(st.booleans())) for r, c in corners]
    uses = [(number, UP) for number in range(len(made))]
    uses += [(number, DOWN) for number, b in enumerate(made) if b.both]
    level = 0 if len(uses) == len(made) else 1
    return Case(
        value,
        {TARGET: (1, level, 0)},
        made,
        {TARGET: uses},
        people,
        insiders=draw(st.sampled_from(["full", "nonzero"])),
        counts=draw(st.sampled_from([False, False, True])),
        named=draw(st.sampled_from([True] * 5 + [False])),
        bounds={cell: (draw(st.sampled_from([None] * 8 + [0, -3])), None) for cell in CELLS},
        coalitions=True,
        listed=draw(st.sampled_from([1, 2, 3, 3])),
    )


@settings(max_examples=250, deadline=None)
@given(pooled_cases())
def test_the_checker_agrees_with_all_pairs_tried_one_by_one(case):
    verdict = case.verdict()
    pooled = replace(case, coalitions=False).holds() and not case.holds()
    event(f"holds: {verdict.holds}, insiders: {case.insiders}, only two together see it: {pooled}")
    assert verdict.holds == case.holds(), verdict
    if pooled:
        assert all("two contributors together" in str(refusal) for refusal in verdict.refused)
