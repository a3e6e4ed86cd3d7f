"""Cells that are said to be out of reach: the checker adds the reason up itself, and no wrong reason passes."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog

import discreet as ds
from discreet.model.evidence import DOWN, MOVES, UP, Acceptance, Impossible, Weighted
from discreet.model.release import Release
from discreet.model.table import CellStatus
from discreet.verify import check_folder, check_release
from discreet.verify.folder import read_custodian
from tests.verify.test_mutations import reseal

ANY = tuple({"class": kind, "reason": "agreed", "name": "N. N."} for kind in ("impossible", "undecided", "revealed"))


def grid(seed: int, size: int = 4, published: float = 0.9) -> ds.Table:
    """A square table of few firms a cell, with many cells that must be published."""
    rng = np.random.default_rng(seed)
    codes = [f"{i}" for i in range(size)]
    n = size * size * 3
    frame = {
        "row": rng.choice(codes, n).tolist(),
        "column": rng.choice(codes, n).tolist(),
        "firm": rng.integers(0, 12, n).astype(str).tolist(),
        "value": rng.integers(1, 60, n).tolist(),
    }
    flat = ds.Hierarchy.flat(codes)
    firms = ds.Microdata(pa.table(frame), contributor="firm")
    table = ds.tabulate(firms, by={"row": flat, "column": flat}, value="value")
    safe = ~table.assess(ds.PPercent(20)).unsafe & ~table.empty
    open_ = np.flatnonzero(safe & (rng.random(len(table)) < published)).tolist()
    return table.marked({table.spec_codes(table.codes[row].tolist()): "P" for row in open_}).assess(ds.PPercent(20))


@cache
def made(seed: int, insiders: str | None = None, coalitions: bool = False) -> Release:
    return ds.protect(grid(seed), ds.Suppress(insiders=insiders, coalitions=coalitions, accept=ANY))


def verdict_of(release: Release, accepted: list[Acceptance]) -> str:
    """What the checker refuses when the acceptances are these."""
    custodian = release.custodian
    evidence = replace(custodian.evidence[0], accepted=tuple(accepted))
    found = check_release(replace(custodian, evidence=(evidence,)), release.public)
    return "; ".join(str(refusal) for refusal in found.refused)


def reasons(release: Release) -> list[Acceptance]:
    return [a for a in release.custodian.evidence[0].accepted if a.because is not None]


def room(table: ds.Table, row: int, direction: int) -> float:
    """How far outsiders must take a cell to move where everything is withheld that may be, by linear programming."""
    matrix = []
    for k, hierarchy in enumerate(table.spec.hierarchies):
        for other in range(table.shape[1 - k]):
            for grouping in hierarchy.groupings:
                signs = {hierarchy.index[grouping.parent]: -1, **{hierarchy.index[c]: s for c, s in grouping.parts}}
                mine = [signs.get(int(codes[k]), 0) * (codes[1 - k] == other) for codes in table.codes]
                matrix.append(mine)
    fixed = (table.status == CellStatus.FORCED) | (table.empty & ~table.unsafe)
    bounds = [(0, 0) if still else (-v, None) for still, v in zip(fixed.tolist(), table.value.tolist(), strict=True)]
    cost = np.zeros(len(table))
    cost[row] = -direction
    found = linprog(cost, A_eq=np.array(matrix), b_eq=np.zeros(len(matrix)), bounds=bounds)
    return np.inf if found.status == 3 else -found.fun


def row_of(table: ds.Table, accepted: Acceptance) -> int:
    codes = [h.index[c] for h, c in zip(table.spec.hierarchies, accepted.cell, strict=True)]
    return int(np.flatnonzero((table.codes == codes).all(axis=1))[0])


SEEDS = (1, 4, 6, 7)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_impossible_cell_carries_a_reason_that_the_checker_proves(seed):
    release = made(seed)
    table = release.custodian.tables.tables[0]
    verdict = release.verify().require()
    found = reasons(release)
    assert {a.kind for a in found} <= {"impossible"}
    assert len(found) == sum(a.kind == "impossible" for a in release.custodian.evidence[0].accepted) > 0
    assert any(f"{len(found)} of the accepted cells cannot be protected" in text for text in verdict.proved)
    for accepted in found:
        row = row_of(table, accepted)
        up = accepted.because.use == UP
        level = (table.assessment.upper if up else table.assessment.lower)[row]
        assert room(table, row, 1 if up else -1) < level


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_multipliers_somebody_makes_up_no_wrong_reason_passes(seed):
    """Random reasons for all unsafe cells: those that pass are true, says a linear program."""
    release, rng = made(seed), random.Random(seed)
    table = release.custodian.tables.tables[0]
    given = reasons(release)
    pool = [relation for a in given for relation in a.because.relations]
    refused = 0
    for _ in range(60):
        base = rng.choice(given)
        relations = [
            replace(r, times=r.times * Fraction(rng.choice((-1, 0, 1, 1, 2)), rng.choice((1, 1, 2))))
            for r in (
                *rng.sample(base.because.relations, rng.randint(0, len(base.because.relations))),
                rng.choice(pool),
            )
        ]
        because = Impossible(rng.choice((UP, DOWN)), tuple(relations))
        others = [a for a in release.custodian.evidence[0].accepted if a != base]
        said = verdict_of(release, [*others, replace(base, because=because)])
        row = row_of(table, base)
        up = because.use == UP
        level = (table.assessment.upper if up else table.assessment.lower)[row]
        refused += said != ""
        if not said:
            assert room(table, row, 1 if up else -1) < level
    assert 0 < refused < 60
    assert verdict_of(release, list(release.custodian.evidence[0].accepted)) == ""


def changed(release: Release, **changes: object) -> str:
    """What is refused when the first reason that needs relations is another one."""
    accepted = list(release.custodian.evidence[0].accepted)
    place = next(i for i, a in enumerate(accepted) if a.because is not None and a.because.relations)
    because = replace(accepted[place].because, **changes)
    accepted[place] = replace(accepted[place], because=because)
    return verdict_of(release, accepted)


def first(release: Release) -> Impossible:
    return next(a.because for a in reasons(release) if a.because.relations)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: {"relations": ()}, "does not show"),
        (lambda r: {"relations": (*r.relations[1:],)}, "does not show"),
        (
            lambda r: {"relations": (*r.relations, replace(r.relations[0], times=-r.relations[0].times))},
            "does not show",
        ),
        (lambda r: {"relations": (replace(r.relations[0], table="u"),)}, "relation that is not there"),
        (lambda r: {"relations": (replace(r.relations[0], number=9),)}, "relation that is not there"),
        (lambda r: {"relations": (replace(r.relations[0], variable="sex"),)}, "relation that is not there"),
        (lambda r: {"relations": (replace(r.relations[0], variable=""),)}, "relation that is not there"),
        (lambda r: {"relations": (replace(r.relations[0], cell=("0", "9")),)}, "relation that is not there"),
        (lambda r: {"use": MOVES}, "neither direction"),
        (lambda r: {"insiders": (("table", ("0", "0"), 0),)}, "no attackers here"),
    ],
)
def test_a_changed_reason_is_a_finding(change, message):
    release = made(1)
    said = changed(release, **change(first(release)))
    assert said.startswith("impossible: ")
    assert message in said


def test_a_cell_that_is_protected_cannot_be_called_impossible():
    """The reason of another cell, and no reason at all but a word, are not taken for proofs."""
    release = made(1)
    accepted = list(release.custodian.evidence[0].accepted)
    assert "not known" in verdict_of(release, [replace(accepted[0], kind="hopeless"), *accepted[1:]])
    wrong = [replace(a, kind="undecided") for a in accepted]
    assert "not known" in verdict_of(release, wrong)
    bare = [replace(a, because=None) for a in accepted]
    custodian = release.custodian
    evidence = replace(custodian.evidence[0], accepted=tuple(bare))
    verdict = check_release(replace(custodian, evidence=(evidence,)), release.public)
    assert verdict.holds
    assert f"that {len(reasons(release))} of the accepted cells cannot be protected" in verdict.asserted


def test_a_cell_that_need_not_be_published_makes_the_reason_wrong():
    """Where the forced cells of the reason's lines could be withheld, it shows nothing any more."""
    release = made(1)
    custodian = release.custodian
    table = custodian.tables.tables[0]
    free = table.with_(manual=None)
    status = custodian.status[0].copy()
    status[status == CellStatus.FORCED] = CellStatus.SAFE
    evidence = custodian.evidence[0]
    verdict = check_release(
        replace(custodian, tables=ds.TableSet([free]), status=(status,), evidence=(evidence,)), release.public
    )
    assert any(r.check == "impossible" for r in verdict.refused)


# ---- insiders -----------------------------------------------------------------------------------------------


def narrow(people: list[tuple[str, int]], others: list[tuple[str, int]]) -> ds.Table:
    """Two cells that may be withheld and a published total: ``people`` fill the unsafe one, ``others`` the second."""
    rows = [("a", who, x) for who, x in people] + [("b", who, x) for who, x in others]
    frame = pa.table({"region": [r[0] for r in rows], "firm": [r[1] for r in rows], "x": [r[2] for r in rows]})
    flat = ds.Hierarchy.flat(["a", "b"])
    firms = ds.Microdata(frame, contributor="firm")
    table = ds.tabulate(firms, by={"region": flat}, value="x")
    return table.marked({("Total",): "P"}).assess(ds.PPercent(20))


def insider_release(coalitions: bool = False) -> Release:
    people = [("p", 100), ("q", 5), ("r", 3)]
    others = [("q", 50), ("r", 40)] if coalitions else [("q", 90)]
    return ds.protect(narrow(people, others), ds.Suppress(insiders="full", coalitions=coalitions, accept=ANY))


@pytest.mark.parametrize("coalitions", [False, True])
def test_a_reason_may_rest_on_what_contributors_know(coalitions):
    release = insider_release(coalitions)
    found = reasons(release)
    assert found
    assert max(len(a.because.insiders) for a in found) == (2 if coalitions else 1)
    assert release.verify().require()
    everybody = [replace(a, because=replace(a.because, insiders=())) for a in found]
    assert "does not show" in verdict_of(release, everybody)


def test_a_reason_names_a_contributor_from_whom_the_cell_must_be_hidden():
    release = insider_release()
    target = next(a for a in reasons(release) if a.cell == ("a",))
    for insiders, message in (
        (((target.table, ("a",), 7),), "not there"),
        (((target.table, ("z",), 0),), "not there"),
        (((target.table, ("b",), 0), (target.table, ("a",), 0)), "no attackers"),
    ):
        others = [a for a in release.custodian.evidence[0].accepted if a != target]
        wrong = replace(target, because=replace(target.because, insiders=insiders))
        assert message in verdict_of(release, [*others, wrong])


def test_whoever_has_most_of_a_cell_is_no_reason_downwards():
    people = [("p", 100), ("q", 5)]
    release = ds.protect(narrow(people, [("p", 90)]), ds.Suppress(insiders="full", accept=ANY))
    down = Impossible(DOWN, (Weighted(release.public.tables[0].name, ("a",), "region", 0, Fraction(1)),))
    accepted = [a for a in release.custodian.evidence[0].accepted if a.cell == ("a",)]
    name = accepted[0].table
    wrong = replace(accepted[0], kind="impossible", because=replace(down, insiders=((name, ("a",), 0),)))
    others = [a for a in release.custodian.evidence[0].accepted if a.cell != ("a",)]
    assert "need not be hidden" in verdict_of(release, [*others, wrong])


# ---- hints, sets and files ----------------------------------------------------------------------------------


def test_hints_that_keep_a_cell_published_count_as_the_reason_says():
    frame = pa.table({"region": ["a", "b"], "value": [10, 20], "status": ["U", None]})
    table = ds.Table.from_cells(frame, by={"region": ds.Hierarchy.flat(["a", "b"])}, compute_totals=True).assess()
    never = [{"cell": {"region": "b"}, "use": "never"}, {"cell": ["Total"], "use": "never"}]
    release = ds.protect(table, ds.Suppress(insiders=None, hints=never, accept=ANY))
    assert reasons(release)
    assert release.verify().holds
    custodian = release.custodian
    method = {**custodian.evidence[0].method, "hints": never[:1]}
    evidence = replace(custodian.evidence[0], method=method)
    verdict = check_release(replace(custodian, evidence=(evidence,)), release.public)
    assert "does not show" in str(verdict)


def test_an_equation_between_variables_can_be_the_reason():
    def one(name: str, number: int, status: str) -> ds.Table:
        frame = pa.table({"region": ["a", "b"], name: [number, 5 * number], "status": [status, None]})
        flat = ds.Hierarchy.flat(["a", "b"])
        return ds.Table.from_cells(frame, by={"region": flat}, value=name, compute_totals=True)

    parts = [one("turnover", 30, "P"), one("home", 10, "U"), one("export", 20, "P")]
    tables = ds.TableSet(parts, ["turnover = home + export"]).assess()
    release = ds.protect(tables, ds.Suppress(insiders=None, accept=ANY))
    assert any(not r.variable for a in reasons(release) for r in a.because.relations)
    assert release.verify().holds


def test_reasons_come_back_from_the_folder(tmp_path):
    release = insider_release(coalitions=True)
    release.save(tmp_path / "out")
    assert read_custodian(tmp_path / "out").evidence[0].accepted == tuple(release.custodian.evidence[0].accepted)
    assert check_folder(tmp_path / "out").holds


@pytest.mark.parametrize(
    ("field", "new"), [("times", '"1/0"'), ("times", "1"), ("times", '"1e9/1"'), ("number", "true"), ("variable", "0")]
)
def test_a_reason_in_other_words_is_refused(tmp_path, field, new):
    made(1).save(tmp_path / "out")
    path = tmp_path / "out" / "custodian" / "tables.json"
    description = json.loads(path.read_text(encoding="utf-8"))
    accepted = description["evidence"][0]["accepted"]
    accepted[0]["because"]["relations"][0][field] = json.loads(new)
    path.write_text(json.dumps(description), encoding="utf-8")
    reseal(tmp_path / "out")
    [refusal] = check_folder(tmp_path / "out").refused
    assert refusal.check == "files"
    assert "not well formed" in refusal.message or f"because.relations[0].{field} is not" in refusal.message


def test_the_reason_of_the_first_cell_is_looked_at_too():
    release = made(SEEDS[0])
    table = release.custodian.tables.tables[0]
    first = table.spec_codes(table.codes[0].tolist())
    wrong = Acceptance(table.name, first, "agreed", "N. N.", "impossible", Impossible(MOVES, (), ()))
    assert "a reason is about neither direction" in verdict_of(release, [wrong])
