"""Forged evidence of suppression, each refused by one check alone: bounds, twins, sums that are known, reasons."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.arrays import pointers
from discreet.model.claims.suppression import FRACTIONS, suppression_claim
from discreet.model.custodian import TableCustodian
from discreet.model.evidence import DOWN, UP, Acceptance, Certificates, Impossible, Proofs, Weighted
from discreet.model.table import CellStatus
from discreet.relations import build_system
from discreet.solve.small import Alternative
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.joint import unsafe_sums
from discreet.verify import check_release
from discreet.verify.evidence import check_evidence
from discreet.verify.joint import check_joint
from discreet.verify.known import Ground
from discreet.verify.verdict import Verdict
from tests.verify.by_hand import Box, Case, box

VALUE = np.array([[20, 30, 40], [25, 35, 45], [50, 60, 70]])
TARGET = (0, 0)
CELL = "t: row=r0, column=c0"


def simple(**changes: object) -> Case:
    """One unsafe cell at level 10, with one box each way."""
    case = Case(VALUE, {TARGET: (10, 10, 0)}, [box(0, 0, 1, 1, times=10, both=True)], {TARGET: [(0, UP), (0, DOWN)]})
    return replace(case, **changes)


def reasons(verdict: Verdict) -> set[tuple[str, str]]:
    return {(refusal.message, refusal.where) for refusal in verdict.refused}


# ---- bounds -------------------------------------------------------------------------------------------------

KNOWN = "a certificate leaves what is known of a cell"


@pytest.mark.parametrize("most", [29, 30])
@pytest.mark.parametrize("times", [10, -10])
def test_a_certificate_that_serves_both_ways_keeps_the_upper_bound_both_ways(most, times):
    """The target may rise by 9 or by 10; whether the certificate is written with its rise or its fall is nothing."""
    case = simple(certificates=[box(0, 0, 1, 1, times=times, both=True)], bounds={TARGET: (None, most)})
    assert case.holds() == (most == 30)
    assert reasons(case.verdict()) == (set() if most == 30 else {(KNOWN, CELL)})


@pytest.mark.parametrize("least", [10, 11])
@pytest.mark.parametrize("times", [10, -10])
def test_a_certificate_that_serves_both_ways_keeps_the_lower_bound_both_ways(least, times):
    case = simple(certificates=[box(0, 0, 1, 1, times=times, both=True)], bounds={TARGET: (least, None)})
    assert reasons(case.verdict()) == (set() if least == 10 else {(KNOWN, CELL)})


@pytest.mark.parametrize(("amount", "good"), [(20, True), (21, False), (-20, True), (-21, False)])
def test_parts_of_a_unit_count_against_a_bound(amount, good):
    """Ten units each way, of which the certificate takes twenty or twenty-one halves."""
    case = simple(
        certificates=[box(0, 0, 1, 1, times=amount, denominator=2, both=True)],
        bounds={TARGET: (10, 30)},
    )
    assert reasons(case.verdict()) == (set() if good else {(KNOWN, CELL)})


@pytest.mark.parametrize("cell", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("times", [2, -2])
def test_what_everybody_knows_within_bounds_rises_and_falls_of_every_cell(cell, times):
    """Each cell in turn is the only one too small to move by 2 within 10 %: 19 can move by 1."""
    value = np.array([[30, 30, 30], [30, 30, 30], [30, 30, 30]])
    value[cell] = 19
    case = simple(
        value=value,
        levels={TARGET: (1, 0, 0) if times > 0 else (0, 1, 0)},
        certificates=[box(0, 0, 1, 1, times=times)],
        proofs={TARGET: [(0, UP if times > 0 else DOWN)]},
        within=10.0,
    )
    assert reasons(case.verdict()) == {(KNOWN, f"t: row=r{cell[0]}, column=c{cell[1]}")}
    assert replace(case, within=11.0).verdict().holds


@pytest.mark.parametrize(("times", "good"), [(5, True), (6, False), (-20, True), (-21, False)])
def test_what_everybody_knows_within_does_not_make_bounds_wider(times, good):
    """Twice its value is no news of a cell that everybody knows to lie between 0 and 25."""
    case = simple(
        levels={TARGET: (1, 0, 0) if times > 0 else (0, 1, 0)},
        certificates=[box(0, 0, 1, 1, times=times)],
        proofs={TARGET: [(0, UP if times > 0 else DOWN)]},
        bounds={TARGET: (None, 25)},
        within=200.0,
    )
    assert reasons(case.verdict()) == (set() if good else {(KNOWN, CELL)})


def test_the_method_takes_no_certificate_both_ways_that_breaks_a_bound():
    """The twin of the checker's bound, in the method: an upper or a lower bound is broken by the opposite alone."""
    table = ds.Table.from_cells(
        pa.table({"region": ["a", "b"], "value": [20, 30]}),
        by={"region": ds.Hierarchy.flat(["a", "b"])},
        compute_totals=True,
    ).assess()
    for side, limit in (("upper_bound", 29), ("upper_bound", 30), ("lower_bound", 11), ("lower_bound", 10)):
        bound = np.full(len(table), 10**9 if side == "upper_bound" else 0, np.int64)
        bound[table.row(region="a")] = limit
        system = build_system(table.with_(**{side: bound}))
        cells = system.of[0][[table.row(region="a"), table.row(region="b")]]
        sign = -1 if side == "upper_bound" else 1
        for times in (1, 3):
            change = Alternative(cells.astype(np.int32), np.array([sign, -sign]) * 10 * times, times, 0.0)
            attackers = Attackers(system, None, None, np.zeros(len(system), np.bool_))
            assert attackers.reverses(change) == (limit in (10, 30))


# ---- cells that mean the same -------------------------------------------------------------------------------


def twins(*certificates: list[tuple[int, int, int]], proof_of: tuple[int, ...] = (0, 1)) -> Verdict:
    """Two tables of the same cells a, b and c, a unsafe at level 10; certificates have (table, cell, amount).

    Proofs take the last certificate.
    """
    amounts = [entry for certificate in certificates for entry in certificate]
    flat = ds.Hierarchy.flat(["a", "b", "c"])
    one = ds.Table.from_cells(
        pa.table({"region": ["a", "b", "c"], "value": [20, 30, 40]}),
        by={"region": flat},
        name="one",
        compute_totals=True,
    ).marked({("a",): "U"}, protection=(10, 10))
    tables = ds.TableSet([one, one.with_(spec=one.spec.with_(name="two"))]).assess()
    hidden = {one.row(region=code): s for code, s in zip("abc", "UMM", strict=True)}
    status = np.full(len(one), CellStatus.SAFE, np.int8)
    for row, letter in hidden.items():
        status[row] = CellStatus.from_letter(letter)
    rows = np.array([one.row(region="abc"[cell]) for _, cell, _ in amounts], np.int64)
    release = ds.protect(tables, ds.Suppress(insiders=None, joint=False))
    evidence = replace(
        release.custodian.evidence[0],
        certificates=Certificates(
            start=pointers(np.array([len(c) for c in certificates], np.int64)),
            denominator=np.ones(len(certificates), np.int64),
            both=np.ones(len(certificates), np.bool_),
            entry_table=np.array([t for t, _, _ in amounts], np.int64),
            entry_row=rows,
            amount=np.array([a for _, _, a in amounts], np.int64),
        ),
        proofs=Proofs(
            table=np.array(proof_of, np.int64),
            row=np.full(len(proof_of), one.row(region="a"), np.int64),
            start=pointers(np.full(len(proof_of), 2, np.int64)),
            certificate=np.full(2 * len(proof_of), len(certificates) - 1, np.int64),
            use=np.array([UP, DOWN] * len(proof_of), np.int8),
        ),
    )
    custodian = replace(release.custodian, status=(status, status.copy()), evidence=(evidence,))
    return check_release(custodian, custodian.public())


APART = "cells that mean the same change differently"


def test_twins_that_move_together_are_a_proof():
    both = [(0, 0, 10), (0, 1, -10), (1, 0, 10), (1, 1, -10)]
    assert twins(both).holds, twins(both)


def test_twins_that_move_apart_are_refused():
    """Each table adds up for itself, and each moves far enough."""
    apart = twins([(0, 0, 10), (0, 1, -10), (1, 0, 11), (1, 1, -11)])
    assert {message for message, _ in reasons(apart)} == {APART}
    assert {where for _, where in reasons(apart)} == {f"{t}: region={c}" for t in ("one", "two") for c in "ab"}
    elsewhere = twins([(0, 0, 10), (0, 1, -10), (1, 0, 10), (1, 2, -10)])
    assert {message for message, _ in reasons(elsewhere)} == {APART}


def test_a_twin_that_stays_where_it_is_is_refused():
    alone = twins([(0, 0, 10), (0, 1, -10)])
    assert (APART, "one: region=a") in reasons(alone)


def test_a_twin_that_moved_in_another_certificate_did_not_move_in_this_one():
    """By the same amount, so that only the number of the certificate tells them apart."""
    honest = [(0, 0, 10), (0, 1, -10), (1, 0, 10), (1, 1, -10)]
    assert twins(honest, honest).holds
    found = reasons(twins(honest, [(0, 0, 10), (0, 1, -10)], proof_of=(0, 1)))
    assert (APART, "one: region=a") in found
    assert (APART, "one: region=b") in found


def test_a_cell_that_another_table_publishes_is_no_hidden_one():
    """The pattern says so, whatever the certificate does."""
    flat = ds.Hierarchy.flat(["a", "b", "c"])
    cells = pa.table({"region": ["a", "b", "c"], "value": [20, 30, 40]})
    one = ds.Table.from_cells(cells, by={"region": flat}, name="one", compute_totals=True)
    one = one.marked({("a",): "U"}, protection=(10, 10))
    two = one.with_(spec=one.spec.with_(name="two"))
    release = ds.protect(ds.TableSet([one, two]).assess(), ds.Suppress(insiders=None, joint=False))
    status = [s.copy() for s in release.custodian.status]
    shown = int(np.flatnonzero(status[1] == CellStatus.SECONDARY)[0])
    status[1][shown] = CellStatus.SAFE
    custodian = replace(release.custodian, status=tuple(status))
    found = reasons(check_release(custodian, custodian.public()))
    assert ("a withheld cell is published elsewhere", f"one: {one.cell_name(shown)}") in found


# ---- sums that are known ------------------------------------------------------------------------------------

ACT = ds.Hierarchy.from_nested({"a": ["a1", "a2", "a3"], "b": ["b1", "b2"]})
REG = ds.Hierarchy.from_nested({"x": ["x1", "x2"], "y": None})


def firms(seed: int, holdings: int, variables: int = 2) -> ds.Table:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(25, 70))
    data = pa.table(
        {
            "act": rng.choice(ACT.base_codes, n),
            "reg": rng.choice(REG.base_codes, n),
            "v": np.ceil(np.exp(rng.normal(3, 1.6, n))).astype(np.int64),
            "h": rng.integers(0, holdings, n),
        }
    )
    by = dict([("act", ACT), ("reg", REG)][:variables])
    made = ds.tabulate(ds.Microdata(data, contributor="h"), by=by, value="v")
    return made.assess(ds.PPercent(15), ds.MinContributors(3))


def pattern(table: ds.Table, share: float, rng: np.random.Generator) -> np.ndarray:
    """Unsafe cells and some others, margins of both variables included."""
    hidden = table.unsafe | (rng.random(len(table)) < share)
    hidden &= ~table.empty
    hidden[0] = bool(table.unsafe[0])
    return hidden


def said_by_the_checker(table: ds.Table, hidden: np.ndarray) -> set[str]:
    status = np.where(table.unsafe, CellStatus.UNSAFE, np.where(hidden, CellStatus.SECONDARY, CellStatus.SAFE))
    status = np.where(table.empty & ~hidden, CellStatus.EMPTY, status).astype(np.int8)
    verdict = Verdict()
    check_joint(verdict, Ground(TableCustodian(ds.TableSet([table]), (status,), (), {})), np.zeros(0, np.int64))
    assert {refusal.check for refusal in verdict.refused} <= {"joint"}
    return {refusal.where for refusal in verdict.refused}


def said_by_the_method(table: ds.Table, hidden: np.ndarray) -> set[str]:
    system = build_system(table)
    withheld = np.zeros(len(system), np.bool_)
    withheld[system.of[0][hidden]] = True
    row_of = {int(cell): row for row, cell in enumerate(system.of[0].tolist())}
    found = set()
    for known in unsafe_sums(system, withheld):
        names = [table.cell_name(r) for r in sorted(row_of[c] for c in known.cells)]
        found.add("; ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else ""))
    return found


@pytest.mark.parametrize("seed", range(25))
def test_checker_and_method_agree_on_every_sum_that_is_known_and_unsafe(seed):
    """Random patterns of few holdings, some listed and some not, with margins withheld in both variables."""
    rng = np.random.default_rng(1000 + seed)
    for share, variables in ((0.1, 2), (0.3, 2), (0.6, 2), (0.3, 1), (0.6, 1)):
        table = firms(seed, 5 + seed % 9, variables)
        hidden = pattern(table, share, rng)
        found = said_by_the_method(table, hidden)
        assert len(found) <= 20  # the checker names so many
        assert said_by_the_checker(table, hidden) == found


# ---- reasons ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "true"), [(19, False), (20, False), (21, True)])
def test_a_cell_that_reaches_its_level_exactly_is_not_impossible(level, true):
    """Region b holds 20 and may fall to nothing, so that a may rise by 20 and no more."""
    flat = ds.Hierarchy.flat(["a", "b"])
    table = ds.Table.from_cells(
        pa.table({"region": ["a", "b"], "value": [50, 20]}), by={"region": flat}, name="t", compute_totals=True
    )
    table = table.marked({("a",): "U", ("Total",): "P"}, protection=(1, level)).assess()
    accepted = Acceptance(
        "t",
        ("a",),
        "agreed",
        "N. N.",
        kind="impossible",
        because=Impossible(UP, (Weighted("t", ("a",), "region", 0, Fraction(1)),)),
    )
    accept = {"cells": [["a"]], "reason": "agreed", "name": "N. N."}
    release = ds.protect(table, ds.Suppress(insiders=None, accept=accept, joint=False))
    evidence = replace(release.custodian.evidence[0], accepted=(accepted,))
    custodian = replace(release.custodian, evidence=(evidence,))
    verdict = check_release(custodian, custodian.public())
    wrong = {("a reason does not show that the cell cannot reach its level", "t: region=a")}
    assert {r for r in reasons(verdict) if "reason" in r[0]} == (set() if true else wrong), verdict


# ---- whole numbers ------------------------------------------------------------------------------------------


def test_half_a_person_is_no_certificate_of_a_count():
    case = simple(counts=True, certificates=[box(0, 0, 1, 1, times=21, denominator=2, both=True)])
    assert {message for message, _ in reasons(case.verdict())} == {"a certificate of a count is not in whole numbers"}
    assert replace(case, counts=False).verdict().holds


def test_a_certificate_that_leaves_a_relation_is_named_by_it():
    case = simple(certificates=[Box({(0, 0): 10, (0, 1): -10, (1, 0): -10, (1, 1): 10, (2, 2): 1}, 1, True)])
    found = reasons(case.verdict())
    assert {message for message, _ in found} == {"a certificate breaks a relation"}
    assert {where.split(", at ")[0] for _, where in found} == {
        "t: column: Total = c0 + c1 + c2",
        "t: row: Total = r0 + r1 + r2",
    }


@pytest.mark.parametrize("amount", [1, -1])
@pytest.mark.parametrize("cell", [(2, 2), (0, 0)])
def test_a_certificate_may_leave_a_relation_neither_upwards_nor_downwards(cell, amount):
    """One amount more or less, so that all relations that it breaks are off in the same direction."""
    changes = {(0, 0): 10, (0, 1): -10, (1, 0): -10, (1, 1): 10, (2, 2): 0}
    changes[cell] += amount
    case = simple(
        levels={TARGET: (9, 0, 0)},
        certificates=[Box(changes), box(0, 0, 1, 1, times=10)],
        proofs={TARGET: [(1, UP)]},
    )
    row, column = cell
    assert reasons(case.verdict()) == {
        ("a certificate breaks a relation", f"t: column: Total = c0 + c1 + c2, at row=r{row}, column=Total"),
        ("a certificate breaks a relation", f"t: row: Total = r0 + r1 + r2, at row=Total, column=c{column}"),
    }


@pytest.mark.parametrize("cell", [(0, 1), (1, 1)])
def test_a_published_cell_neither_falls_nor_rises_in_a_certificate(cell):
    """All relations are kept; the cell falls, or rises, in a certificate that serves one way."""
    case = simple(levels={TARGET: (10, 0, 0)}, certificates=[box(0, 0, 1, 1, times=10)], proofs={TARGET: [(0, UP)]})
    assert case.verdict().holds
    custodian = case.custodian()
    custodian.status[0][case.row(cell)] = CellStatus.SAFE
    verdict = Verdict()
    check_evidence(verdict, Ground(custodian), custodian.evidence[0], [case.recheck()])
    where = f"t: row=r{cell[0]}, column=c{cell[1]}"
    assert reasons(verdict) == {("a published cell changes in a certificate", where)}


def test_counts_beside_decimals_move_by_whole_persons_up_and_down():
    """In units of hundredths: 250 is two persons and a half, which is whole in these units."""
    flat = ds.Hierarchy.flat(["a", "b", "c"])
    rows = pa.table({"region": [c for c, n in zip("abc", (20, 30, 40), strict=True) for _ in range(n)]})
    rows = rows.append_column("v", pa.array([0.25] * 90))
    specs = [ds.TableSpec({"region": flat}, name="count"), ds.TableSpec({"region": flat}, "v", name="value")]
    counts, values = ds.tabulate(ds.Microdata(rows), specs=specs)
    tables = ds.TableSet([counts.marked({("a",): "U"}, protection=(2, 2)).assess(), values.assess(ds.MinFrequency(1))])
    release = ds.protect(tables, ds.Suppress(insiders=None, joint=False))
    assert release.verify().holds, release.verify()
    (evidence,) = release.custodian.evidence
    assert evidence.decimals == 2
    open_about_it = replace(evidence.claim, not_considered=(*evidence.claim.not_considered, FRACTIONS))
    for amount, good in ((250, False), (300, True)):
        sign = np.sign(evidence.certificates.amount)
        changed = replace(evidence.certificates, amount=sign * amount, denominator=evidence.certificates.denominator**0)
        custodian = replace(release.custodian, evidence=(replace(evidence, certificates=changed, claim=open_about_it),))
        found = {message for message, _ in reasons(check_release(custodian, release.public))}
        assert found == (set() if good else {"a certificate of a count is not in whole numbers"})


def test_evidence_without_the_claim_that_belongs_to_it_is_refused():
    case = simple()
    verdict = Verdict()
    other = suppression_claim(None, 5.0, universes=False, unnamed=False, uncounted=False)
    evidence = replace(case.evidence(), claim=other)
    check_evidence(verdict, Ground(case.custodian()), evidence, [case.recheck()])
    assert {m for m, _ in reasons(verdict)} == {"the release claims something that this checker cannot show"}


@pytest.mark.parametrize("kind", ["hopeless", "Impossible", " "])
def test_only_known_words_say_what_was_found_of_an_accepted_cell(kind):
    accepted = Acceptance("t", ("r0", "c0"), "agreed", "N. N.", kind=kind)
    case = simple(accepted=(accepted,))
    found = reasons(case.verdict())
    assert found == {("what was found of an accepted cell is not known", "t: r0, c0")}


def test_a_sliding_level_may_be_reached_exactly_and_not_missed_by_a_part_of_a_unit():
    """Ten up and ten down make twenty; a level of twenty is kept, of twenty-one not."""
    for level, good in ((20, True), (21, False)):
        case = simple(levels={TARGET: (0, 0, level)})
        assert case.holds() == good
        missed = {("the sliding protection level is not reached", CELL)}
        assert reasons(case.verdict()) == (set() if good else missed)


def test_a_level_may_be_reached_exactly_and_not_missed_by_a_part_of_a_unit():
    for times, good in ((20, True), (19, False)):
        case = simple(certificates=[box(0, 0, 1, 1, times=times, denominator=2, both=True)])
        assert case.holds() == good
        missed = {(f"the {side} protection level is not reached", CELL) for side in ("upper", "lower")}
        assert reasons(case.verdict()) == (set() if good else missed)


def test_a_withheld_total_counts_as_it_stands_and_in_its_parts():
    """Total, b and a2 are published: a is known, and so is a1; s has most of a1, and of a with a3 beside it."""
    rows = [("a1", "s", 90), ("a1", "t", 5), ("a1", "u", 3), ("a3", "s", 90), ("a3", "t", 4), ("a3", "w", 4)]
    rows += [(code, who, 40) for code in ("a2", "b1", "b2") for who in "pqrv"]
    data = pa.table(dict(zip(("act", "h", "v"), map(list, zip(*rows, strict=True)), strict=True)))
    table = ds.tabulate(ds.Microdata(data, contributor="h"), by={"act": ACT}, value="v").assess(ds.PPercent(15))
    for codes in (("a1", "a3"), ("a", "b"), ("a", "a1", "b", "b1"), ("a", "a1", "a3", "b")):
        hidden = np.zeros(len(table), np.bool_)
        hidden[[table.row(act=code) for code in codes]] = True
        assert said_by_the_checker(table, hidden | table.unsafe) == said_by_the_method(table, hidden | table.unsafe)
