"""Decision-theoretic risk: the worked example and acceptance checks of card 003-19 (Lebanon et al. 2006)."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.measures import (
    Sensitivity,
    best_policy,
    decision_problem,
    decision_risk,
    dominates,
    is_policy,
    jaro,
    min_risk,
    policy_count,
    problem_risk,
    risk_curve,
    risk_over_dictionaries,
)

NAMES = {"f": "first", "s": "surname", "p": "phone"}
REGISTER = pa.table(
    {
        "id": ["r1", "r2", "r3", "r4", "r5", "r6"],
        "first": ["Mary", "Mary", "John", "Mary", "Anna", "John"],
        "surname": ["Smith", "Smith", "Smith", "Jones", "Jones", "Brown"],
        "phone": ["111", "222", "333", "444", "555", "666"],
    }
)
RELEASED = REGISTER.take([0, 2, 4])
WEIGHTS = {"first": 0.2, "surname": 0.5, "phone": 1.0}
ADDED, MULTIPLIED = Sensitivity("phi1", WEIGHTS), Sensitivity("phi5", WEIGHTS)
LOSSES = [
    ("r1", "f", 3, 0.066667, 0.407134),
    ("r1", "s", 3, 0.166667, 0.549574),
    ("r1", "p", 1, 1.000000, 2.718282),
    ("r3", "f", 2, 0.100000, 0.610701),
    ("r3", "s", 3, 0.166667, 0.549574),
    ("r5", "f", 1, 0.200000, 1.221403),
    ("r5", "s", 2, 0.250000, 0.824361),
    ("r1", "fs", 2, 0.350000, 1.006876),
    ("r1", "fp", 1, 1.200000, 3.320117),
    ("r1", "sp", 1, 1.500000, 4.481689),
    ("r3", "fs", 1, 0.700000, 2.013753),
    ("r5", "fs", 1, 0.700000, 2.013753),
    *((who, "fsp", 1, 1.700000, 5.473947) for who in ("r1", "r3", "r5")),
]


@pytest.fixture(scope="module")
def example():
    return decision_problem(RELEASED, REGISTER, "id")


@pytest.mark.parametrize(("who", "letters", "consistent", "added", "multiplied"), LOSSES)
def test_the_losses_of_the_worked_example(example, who, letters, consistent, added, multiplied):
    """Check 1."""
    row, shown = ["r1", "r3", "r5"].index(who), [NAMES[letter] for letter in letters]
    sums, products = (problem_risk(example, shown, harm) for harm in (ADDED, MULTIPLIED))
    assert sums.consistent[row] == consistent
    assert sums.loss[row] == pytest.approx(added, abs=1e-6)
    assert products.loss[row] == pytest.approx(multiplied, abs=1e-6)


def test_min_risk_of_the_worked_example(example):
    """Check 1: the factors and the chosen sets."""
    one, two = (min_risk(example, k, MULTIPLIED) for k in (1, 2))
    printed = [[2.442806, 3.297443, 16.309691], [3.664208, 3.297443, 16.309691], [7.328417, 4.946164, 16.309691]]
    assert one.gamma == pytest.approx(np.array(printed), abs=1e-6)
    assert one.sets(example.names) == [("first",), ("surname",), ("surname",)]
    assert two.sets(example.names) == [("first", "surname")] * 3
    assert not one.exact  # names and surnames depend on each other


@pytest.mark.parametrize(
    ("k", "added", "multiplied"), [(1, 0.122222, 0.593690), (2, 0.583333, 1.678127), (3, 1.7, 5.473947)]
)
def test_the_least_risk_of_the_worked_example(example, k, added, multiplied):
    """Check 1. The two forms choose differently for one attribute."""
    sums, products = best_policy(example, k, ADDED), best_policy(example, k, MULTIPLIED)
    assert sums.risk.risk == pytest.approx(added, abs=1e-6)
    assert products.risk.risk == pytest.approx(multiplied, abs=1e-6)
    assert sums.exact
    assert products.exact
    if k == 1:
        assert sums.sets(example.names) == [("first",)] * 3
        assert products.sets(example.names) == [("first",), ("surname",), ("surname",)]


def test_how_many_policies_there_are():
    assert [policy_count(3, 3, 2, kind) for kind in ("file", "record", "attribute")] == [36, 27, 27]


@pytest.mark.parametrize(
    ("first", "second", "printed"),
    [
        ("MARTHA", "MARHTA", 0.944444),
        ("DIXON", "DICKSONX", 0.766667),
        ("DWAYNE", "DUANE", 0.822222),
        ("CRATE", "TRACE", 0.733333),
    ],
)
def test_similarities_of_names(first, second, printed):
    assert jaro(first, second) == pytest.approx(printed, abs=1e-6)
    assert jaro(second, first) == pytest.approx(printed, abs=1e-6)
    assert jaro(first, first) == 1.0


def listed_best(problem, k, sensitivity):
    """The least loss of each record, all sets tried one by one."""
    tried = [problem_risk(problem, list(chosen), sensitivity).loss for chosen in combinations(problem.names, k)]
    return np.min(tried, axis=0)


def test_min_risk_is_the_optimum_for_independent_attributes():
    """Check 2: a full product design, some values more frequent than others."""
    levels = [["a", "a", "b"], ["c", "d"], ["e", "e", "e", "f"]]
    rows = list(product(*levels))
    columns = {f"x{place}": [row[place] for row in rows] for place in range(3)}
    register = pa.table({"id": list(range(len(rows))), **columns})
    rng = np.random.default_rng(2)
    for _ in range(10):
        weights = {name: rng.random(len(rows)) * 1.5 for name in columns}
        problem, harm = decision_problem(register, register, "id"), Sensitivity("phi5", weights)
        for k in range(4):
            chosen = min_risk(problem, k, harm)
            assert chosen.exact
            assert chosen.risk.loss == pytest.approx(listed_best(problem, k, harm))


@pytest.fixture(scope="module")
def dependent():
    """A register whose attributes hang together, and a third of it for release."""
    rng = np.random.default_rng(19)
    base = rng.integers(0, 4, 90)
    columns = {f"x{j}": (base + rng.integers(0, 1 + j, 90)).astype(str) for j in range(4)}
    register = pa.table({"id": np.arange(90), **columns})
    harm = Sensitivity("phi5", {name: rng.random(30) for name in columns})
    return register, register.slice(0, 30), harm


def test_for_dependent_attributes_min_risk_is_a_rule_of_thumb_and_exchanges_help(dependent):
    register, released, harm = dependent
    problem = decision_problem(released, register, "id")
    worse = 0
    for k in (1, 2, 3):
        plain, refined = min_risk(problem, k, harm), min_risk(problem, k, harm, refine=True)
        best = listed_best(problem, k, harm)
        assert not plain.exact
        assert (plain.risk.loss >= best - 1e-12).all()
        assert (refined.risk.loss <= plain.risk.loss + 1e-12).all()
        assert is_policy(refined.disclosed, k)
        worse += int((plain.risk.loss > best * (1 + 1e-9)).sum())
        assert best_policy(problem, k, harm).risk.loss == pytest.approx(best)
    assert worse > 0


def random_dictionaries(rng):
    """Records, a dictionary that holds them, and one that dominates it."""
    people, attributes = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    values = rng.integers(0, 3, (people, attributes))
    known = rng.random(values.shape) < 0.8  # what the custodian's list has
    kept = known & (rng.random(values.shape) < 0.8)  # the intruder's has less of it
    more = int(rng.integers(0, 5))
    others = rng.integers(0, 3, (more, attributes))

    def table(cells, there, start=0):
        columns = {
            f"x{j}": [str(v) if ok else None for v, ok in zip(cells[:, j], there[:, j], strict=True)]
            for j in range(attributes)
        }
        return pa.table({"id": pa.array(range(start, start + len(cells))), **columns}).cast(
            pa.schema([("id", pa.int64()), *((f"x{j}", pa.string()) for j in range(attributes))])
        )

    strangers = table(others, np.ones(others.shape, bool), people)
    true = pa.concat_tables([table(values, kept), strangers])
    released = table(values, np.ones(values.shape, bool)).slice(0, int(rng.integers(1, people + 1)))
    return released, table(values, known), true, rng.random((len(released), attributes)) < 0.7


def test_the_custodians_list_bounds_the_risk_of_lists_that_say_less():
    """Check 3, with similar names as well."""
    rng = np.random.default_rng(33)
    for number in range(60):
        released, estimated, true, mask = random_dictionaries(rng)
        assert dominates(estimated, true, "id")
        match = "exact" if number % 2 else ds.measures.Jaro(0.8)
        ours = decision_problem(released, estimated, "id", match=match)
        assert ours.holds_own().all()
        harm = Sensitivity("phi5", 0.4)
        theirs = problem_risk(decision_problem(released, true, "id", match=match), mask, harm)
        assert theirs.risk <= problem_risk(ours, mask, harm).risk * (1 + 1e-12)


def test_what_does_not_dominate():
    """Check 3."""
    ours = pa.table({"id": [1, 2], "x": ["a", None]})
    assert dominates(ours, pa.table({"id": [1, 2, 3], "x": [None, None, "b"]}), "id")
    gone = dominates(ours, pa.table({"id": [1, 3], "x": ["a", "b"]}), "id")
    assert (gone.holds, gone.absent, gone.fuller) == (False, 1, 0)
    fuller = dominates(ours, pa.table({"id": [1, 2], "x": ["a", "b"]}), "id")
    assert (fuller.holds, fuller.absent, fuller.fuller) == (False, 0, 1)
    wrong = dominates(ours, pa.table({"id": [1, 2], "x": ["c", None]}), "id")
    assert (wrong.holds, wrong.fuller) == (False, 1)
    column = pa.table({"id": [1, 2], "x": ["a", None], "y": ["q", None]})
    assert not dominates(ours, column, "id")  # a column that ours lacks is no licence either
    assert dominates(ours, column, "id", ["x"])


def test_both_conditions_of_the_bound_bite():
    """Without either, the true risk can be above the estimated one."""
    rng = np.random.default_rng(7)
    above = {"filled": 0, "wrong": 0}
    for _ in range(40):
        released, estimated, true, mask = random_dictionaries(rng)
        filled = released  # the intruder knows what the custodian's list does not say
        harm = Sensitivity("phi5", 0.4)
        bound = decision_risk(released, estimated, "id", disclosed=mask, sensitivity=harm).risk
        if not dominates(estimated, filled, "id"):
            found = decision_risk(released, filled, "id", disclosed=mask, sensitivity=harm).risk
            above["filled"] += found > bound * (1 + 1e-9)
        wrong = pa.table(
            {
                name: column if name == "id" else pa.array(["9"] * len(column))
                for name, column in zip(estimated.column_names, estimated.columns, strict=True)
            }
        )
        lost = decision_problem(released, wrong, "id")
        found = decision_risk(released, true, "id", disclosed=mask, sensitivity=harm).risk
        if not lost.holds_own().all():
            above["wrong"] += found > problem_risk(lost, mask, harm).risk * (1 + 1e-9)
    assert above["filled"] > 0
    assert above["wrong"] > 0


FORMS = {
    "phi1": Sensitivity("phi1", {"x0": 0.1, "x1": 0.2, "x2": 0.5, "x3": 0.9}),
    "phi2": Sensitivity("phi2", persons=np.linspace(0.1, 2, 30)),
    "phi3": Sensitivity("phi3", {f"x{j}": np.linspace(0, 1 + j, 30) for j in range(4)}),
    "phi4": Sensitivity("phi4", {"x0": 0.1, "x1": 0.2, "x2": 0.5, "x3": 0.9, ("x0", "x1"): 3.0, ("x1", "x2", "x3"): 1}),
    "phi5": Sensitivity("phi5", {f"x{j}": np.linspace(0, 1, 30) for j in range(4)}),
}


@pytest.mark.parametrize("form", FORMS)
def test_withholding_more_never_costs_more(dependent, form):
    """Check 4, for every set of attributes and every attribute more."""
    register, released, _ = dependent
    problem = decision_problem(released, register, "id")
    for size in range(4):
        for chosen in combinations(problem.names, size):
            few = problem_risk(problem, list(chosen), FORMS[form])
            for name in set(problem.names) - set(chosen):
                more = problem_risk(problem, [*chosen, name], FORMS[form])
                assert (few.consistent >= more.consistent).all()
                assert (more.consistent > 0).all()
                assert (few.loss <= more.loss + 1e-12).all()


def test_withholding_what_nobody_has_can_cost_something():
    """Check 4: from an empty set of persons the loss can rise from nothing."""
    register = pa.table({"id": [1, 2], "x": ["a", "b"], "y": ["c", "d"]})
    stranger = pa.table({"id": [3], "x": ["a"], "y": ["zzz"]})
    assert decision_risk(stranger, register, "id").loss.tolist() == [0.0]
    assert decision_risk(stranger, register, "id", disclosed=["x"]).loss.tolist() == [1.0]


def test_infinite_harm():
    """Check 5."""
    register = pa.table({"id": [1, 2], "x": ["a", "b"]})
    found = decision_risk(pa.table({"id": [1, 3], "x": ["a", "z"]}), register, "id", sensitivity=math.inf)
    assert found.loss.tolist() == [math.inf, 0.0]
    assert found.risk == math.inf
    assert decision_risk(pa.table({"id": [3], "x": ["z"]}), register, "id", sensitivity=math.inf).risk == 0.0
    never = Sensitivity("phi1", {"x": math.inf})
    assert decision_risk(register, register, "id", disclosed=[], sensitivity=never).risk == 0.0
    assert decision_risk(register, register, "id", sensitivity=never).risk == math.inf


def test_the_table_itself_gives_k_anonymity():
    """Check 6."""
    table = pa.table({"id": list(range(7)), "x": ["a", "a", "b", "b", "b", "c", "c"], "y": ["q"] * 7})
    found = decision_risk(table, table, "id", sensitivity=3.0)
    assert (found.k, found.largest) == (2, 1.5)
    assert decision_risk(table, table, "id", ["y"], sensitivity=3.0).largest == 3 / 7
    alone = decision_risk(
        pa.concat_tables([table, table.slice(0, 1).set_column(0, "id", [[9]]).set_column(1, "x", [["d"]])]),
        table,
        "id",
        sensitivity=3.0,
    )
    assert alone.unmatched == 1


def test_bayes_risk_is_the_mean_and_the_worst_case_is_no_less():
    """Check 7."""
    rng = np.random.default_rng(70)
    sizes = (2, 4, 6)
    for _ in range(5):
        prior = rng.dirichlet(np.ones(3))
        dictionaries = [(REGISTER.slice(0, size), chance) for size, chance in zip(sizes, prior, strict=True)]
        found = risk_over_dictionaries(RELEASED, dictionaries, "id", sensitivity=MULTIPLIED, disclosed=["first"])
        each = [
            decision_risk(RELEASED, one, "id", sensitivity=MULTIPLIED, disclosed=["first"]).risk
            for one, _ in dictionaries
        ]
        assert found.bayes == pytest.approx(np.dot(each, prior))
        assert found.worst == max(each) >= found.bayes


def test_membership_of_classes():
    """Check 8."""
    mask = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]], bool)
    assert is_policy(mask, 6, "file")
    assert is_policy(mask, 2, "record")
    assert is_policy(mask, 2, "attribute")
    mask[0] = [True, False, False]
    assert not is_policy(mask, 6, "file")
    assert not is_policy(mask, 2, "record")
    assert not is_policy(mask, 2, "attribute")
    there = np.ones(mask.shape, bool)
    there[0] = [True, False, False]
    assert is_policy(mask, 2, "record", there)  # all that there is
    assert not is_policy(np.ones((3, 3), bool), 3, "record", there)  # discloses what is empty


def test_the_shape_of_the_published_figure(dependent):
    """ORDERING on stand-in data: risk rises with k, falls with the size of the dictionary; products above sums."""
    register, released, harm = dependent
    sizes = [30, 50, 70, 90]
    curves = []
    for size in sizes:
        problem = decision_problem(released, register.slice(0, size), "id")
        curves.append(risk_curve(problem, harm).risk)
        assert (np.diff(curves[-1]) > 0).all()
        sums = risk_curve(problem, Sensitivity("phi3", harm.weights)).risk
        assert (sums < curves[-1]).all()
    assert (np.diff(np.array(curves), axis=0) <= 1e-12).all()
    true = np.array([one[-1] for one in curves])
    assert (true[0] >= true).all()  # estimated by the smallest list: every point on or above the diagonal
