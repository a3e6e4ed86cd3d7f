"""Two contributors together: nothing is left to them, tried pair by pair with a solver of its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog

import discreet as ds
from discreet.errors import ParameterError, ProtectionError
from discreet.model.arrays import pointers
from discreet.model.evidence import Proofs
from discreet.relations import build_system


def firms(seed: int, cells: int = 4, people: int = 9) -> pa.Table:
    """Few contributors in many cells, one to four in each."""
    rng = np.random.default_rng(seed)
    rows = []
    for r in range(cells):
        for c in range(cells):
            for who in rng.choice(people, rng.choice([1, 2, 3, 4], p=[0.1, 0.3, 0.3, 0.3]), replace=False):
                rows.append((f"r{r}", f"c{c}", int(who), int(rng.lognormal(4, 1)) + 1))
    return pa.table(dict(zip(("row", "column", "firm", "x"), zip(*rows, strict=True), strict=True)))


def tabulated(frame: pa.Table, cells: int = 4) -> ds.Table:
    by = {name: ds.Hierarchy.flat([f"{name[0]}{i}" for i in range(cells)]) for name in ("row", "column")}
    return ds.tabulate(frame, by=by, value="x", contributor="firm")


def contributions(frame: pa.Table, table: ds.Table) -> np.ndarray:
    """What every firm contributes to every cell, from the records."""
    own = np.zeros((len(table), 1 + max(frame["firm"].to_pylist())), np.int64)
    for record in frame.to_pylist():
        for row, column in ((record["row"], record["column"]), (record["row"], "Total")):
            own[table.row(row=row, column=column), record["firm"]] += record["x"]
        for column in (record["column"], "Total"):
            own[table.row(row="Total", column=column), record["firm"]] += record["x"]
    return own


def reaches(release: ds.Release, table: ds.Table, own: np.ndarray) -> dict[tuple, tuple[float, float]]:
    """How far each unsafe cell can rise and fall for each pair that does not fill it, over all relations."""
    system = build_system(table)
    matrix, value = system.matrix.toarray()[:, system.of[0]], table.value.astype(float)
    hidden = release.custodian.withheld(0)
    found = {}
    for pair in combinations(range(own.shape[1]), 2):
        mine = own[:, pair].sum(axis=1)
        fixed = ~hidden | (mine == table.value)
        bounds = [(v, v) if f else (m, None) for v, f, m in zip(value, fixed, mine.astype(float), strict=True)]
        for target in np.flatnonzero(table.unsafe & (mine < table.value)).tolist():
            moves = []
            for sign in (1, -1):
                goal = np.zeros(len(value))
                goal[target] = -sign
                answer = linprog(goal, A_eq=matrix, b_eq=matrix @ value, bounds=bounds)
                moves.append(np.inf if answer.status == 3 else abs(answer.x[target] - value[target]))
            found[(*pair, target)] = (moves[0], moves[1])
    return found


def short(found: dict[tuple, tuple[float, float]], table: ds.Table, own: np.ndarray) -> int:
    """How often a pair finds a cell closer than its level; downwards but for the largest, and those without room."""
    count = 0
    for (*pair, target), (rise, fall) in found.items():
        up, down = int(table.assessment.upper[target]), int(table.assessment.lower[target])
        mine, value = int(own[target, pair].sum()), int(table.value[target])
        spared = int(np.argmax(own[target])) in pair or mine > value - down
        count += rise < up - 1e-6 or (fall < down - 1e-6 and not spared)
    return count


def exact(found: dict[tuple, tuple[float, float]]) -> int:
    """How often a pair can work a cell out."""
    return sum(rise + fall < 1e-6 for rise, fall in found.values())


@pytest.mark.parametrize("seed", [0, 1, 4])
@pytest.mark.parametrize("insiders", ["full", "nonzero"])
def test_no_pair_finds_what_must_stay_hidden(insiders, seed):
    frame = firms(seed)
    table = tabulated(frame).assess(ds.PPercent(10))
    own = contributions(frame, table)
    release = ds.protect(table, ds.Suppress(insiders=insiders, coalitions=True))
    assert release.verify().holds
    found = reaches(release, table, own)
    assert found
    assert exact(found) == 0
    if insiders == "full":
        assert short(found, table, own) == 0


def test_a_pair_finds_it_where_it_was_not_asked_to_be_kept_out():
    frame = firms(1)
    table = tabulated(frame).assess(ds.PPercent(10))
    own = contributions(frame, table)
    release = ds.protect(table, ds.Suppress())
    assert short(reaches(release, table, own), table, own) > 0
    honest = ds.protect(table, ds.Suppress(coalitions=True)).custodian.evidence[0]
    boast = replace(release.custodian.evidence[0], method=honest.method, claim=honest.claim)
    verdict = ds.Release(release.public, replace(release.custodian, evidence=(boast,))).verify()
    assert any("two contributors together can rule out" in str(refusal) for refusal in verdict.refused)


def without(proofs: Proofs, entry: int) -> Proofs:
    """The proofs without one certificate."""
    lengths = np.diff(proofs.start)
    lengths[int(np.searchsorted(proofs.start, entry, side="right")) - 1] -= 1
    certificate, use = (np.delete(column, entry) for column in (proofs.certificate, proofs.use))
    return replace(proofs, start=pointers(lengths), certificate=certificate, use=use)


def test_a_member_that_stands_against_a_pair_cannot_be_dropped():
    """Each member is left out in turn; some are there only against pairs, and the checker misses them."""
    release = ds.protect(tabulated(firms(1)).assess(ds.PPercent(10)), ds.Suppress(coalitions=True))
    evidence = release.custodian.evidence[0]
    only_pairs = 0
    for entry in range(len(evidence.proofs.certificate)):
        fewer = replace(evidence, proofs=without(evidence.proofs, entry))
        verdict = ds.Release(release.public, replace(release.custodian, evidence=(fewer,))).verify()
        reasons = [str(refusal) for refusal in verdict.refused]
        only_pairs += bool(reasons) and all("two contributors together" in reason for reason in reasons)
    assert only_pairs


def test_the_optimum_is_completed_for_pairs():
    table = tabulated(firms(1)).assess(ds.PPercent(10))
    release = ds.protect(table, ds.Suppress(coalitions=True, algorithm="optimal"))
    assert release.verify().holds


def test_what_a_pair_always_finds_fails_the_release_and_says_who():
    """The row's total is published, and two firms fill the row's other cell."""
    cells = {("r0", "c0"): [3, 4, 5], ("r0", "c1"): [0, 1], ("r1", "c0"): [2, 6, 7], ("r1", "c1"): [8, 9, 10]}
    rows = [(*cell, who, 50 + who) for cell, people in cells.items() for who in people]
    frame = pa.table(dict(zip(("row", "column", "firm", "x"), zip(*rows, strict=True), strict=True)))
    table = tabulated(frame, 2).marked({("r0", "c0"): "U", ("r0", "Total"): "P"}).assess(ds.PPercent(10))
    assert ds.protect(table, ds.Suppress()).verify().holds
    with pytest.raises(ProtectionError, match="for two contributors together it cannot move"):
        ds.protect(table, ds.Suppress(insiders="full", coalitions=True))
    with pytest.raises(ProtectionError, match="no certificate upwards against two contributors together was found"):
        ds.protect(table, ds.Suppress(coalitions=True))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"coalitions": True, "insiders": None}, "insiders=None leaves them out.*Use insiders='full'"),
        ({"coalitions": "yes"}, "coalitions='yes' is not allowed"),
        ({"coalitions": 1}, "coalitions=1 is not allowed"),
    ],
)
def test_settings_that_make_no_sense_are_refused(given, said):
    with pytest.raises(ParameterError, match=said):
        ds.Suppress(**given)


def test_every_statement_names_two_contributors_together():
    table = tabulated(firms(1)).assess(ds.PPercent(10))
    release = ds.protect(table, ds.Suppress(coalitions=True))
    for text in (release.summary(), str(release.verify())):
        assert "two contributors together" in text
        assert "more than two contributors who pool what they know" in text
    assert "two contributors together" not in ds.protect(table, ds.Suppress()).summary()


def test_a_table_without_contributors_says_that_they_were_not_considered():
    cells = pa.table({"region": ["Total", "a", "b", "c"], "value": [30, 10, 10, 10]})
    table = ds.Table.from_cells(cells, by={"region": ds.Hierarchy.flat(["a", "b", "c"])}).marked({("a",): "U"})
    release = ds.protect(table.assess(), ds.Suppress(coalitions=True))
    text = str(release.verify().require())
    assert "not considered: contributors and holdings" in text
    assert "two contributors together" not in text
