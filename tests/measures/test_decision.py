"""Decision-theoretic risk against lists of everything, and what it does with odd input."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.errors import InputError, NeedsError, ParameterError
from discreet.measures import (
    Jaro,
    Sensitivity,
    best_policy,
    decision_problem,
    decision_risk,
    is_policy,
    jaro,
    min_risk,
    policy_count,
    policy_over_dictionaries,
    problem_risk,
    release_problem,
    risk_curve,
    risk_over_dictionaries,
)

# ---- plain Python ---------------------------------------------------------------------------------------------------


def plain_jaro(s: str, t: str) -> float:
    if s == t:
        return 1.0
    window = max(0, max(len(s), len(t)) // 2 - 1)
    free, mine = list(range(len(t))), []
    for i, sign in enumerate(s):
        near = next((j for j in free if abs(i - j) <= window and t[j] == sign), None)
        if near is not None:
            free.remove(near)
            mine.append((i, near))
    if not mine:
        return 0.0
    there = [t[j] for _, j in sorted(mine, key=lambda pair: pair[1])]
    swaps = sum(s[i] != other for (i, _), other in zip(mine, there, strict=True)) / 2
    many = len(mine)
    return (many / len(s) + many / len(t) + (many - swaps) / many) / 3


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
@settings(max_examples=120, deadline=None)
def test_similarity_is_that_of_its_definition(s, t):
    assert jaro(s, t) == pytest.approx(plain_jaro(s, t))


def plain_consistent(records, entries, ids, mask, match):
    """How many persons are consistent with each record, entry by entry."""
    found = []
    for row, shown in zip(records, mask, strict=True):
        persons = {
            who
            for who, entry in zip(ids, entries, strict=True)
            if all(not on or y is None or e is None or match(y, e) for y, e, on in zip(row, entry, shown, strict=True))
        }
        found.append(len(persons))
    return found


CELL = st.sampled_from(["abc", "abx", "xyz", None])


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_consistent_persons_are_counted_as_one_by_one(data):
    """Missing values on both sides, persons with several entries, exact, similar and any other agreement."""
    attributes = data.draw(st.integers(1, 3))
    row = st.lists(CELL, min_size=attributes, max_size=attributes)
    records = data.draw(st.lists(row, min_size=1, max_size=5))
    entries = data.draw(st.lists(row, min_size=1, max_size=7))
    ids = data.draw(st.lists(st.integers(0, 4), min_size=len(entries), max_size=len(entries)))
    mask = np.array(
        data.draw(
            st.lists(
                st.lists(st.booleans(), min_size=attributes, max_size=attributes),
                min_size=len(records),
                max_size=len(records),
            )
        )
    )
    name, match, plain = data.draw(
        st.sampled_from(
            [
                ("exact", "exact", lambda y, e: y == e),
                ("jaro", Jaro(0.7), lambda y, e: plain_jaro(y, e) >= 0.7),
                ("first", lambda y, e: y[0] == e[0], lambda y, e: y[0] == e[0]),
            ]
        )
    )
    mine, theirs = (
        pa.table({"id": who, **{f"x{j}": pa.array([row[j] for row in rows], pa.string()) for j in range(attributes)}})
        for who, rows in ((list(range(len(records))), records), (ids, entries))
    )
    problem = decision_problem(mine, theirs, "id", match=match)
    assert problem.persons == len(set(ids))
    assert problem.consistent(mask).tolist() == plain_consistent(records, entries, ids, mask, plain), name


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(1)
    columns = {f"x{j}": rng.choice(["a", "b", "c"], 9) for j in range(3)}
    register = pa.table({"id": np.arange(9), **columns})
    cells = {
        name: [None if gone else v for v, gone in zip(column[:4], rng.random(4) < 0.2, strict=True)]
        for name, column in columns.items()
    }
    released = pa.table({"id": np.arange(4), **cells})
    return decision_problem(released, register, "id"), Sensitivity("phi5", {f"x{j}": rng.random(4) for j in range(3)})


def all_masks(problem, k, kind):
    """Every mask that is a policy of a class."""
    cells = np.argwhere(problem.available)
    for size in range(len(cells) + 1):
        for chosen in combinations(range(len(cells)), size):
            mask = np.zeros(problem.available.shape, bool)
            mask[tuple(cells[list(chosen)].T)] = True
            if is_policy(mask, k, kind, problem.available):
                yield mask


@pytest.mark.parametrize(("kind", "ks"), [("record", (0, 1, 2, 3)), ("file", (0, 3, 7)), ("attribute", (0, 1, 2))])
@pytest.mark.parametrize("harm", ["phi5", "phi4", "endless", "function"])
def test_the_best_policy_is_the_best_of_all(small, kind, ks, harm):
    problem, multiplied = small
    form = {
        "phi5": multiplied,
        "phi4": Sensitivity("phi4", {"x0": 0.1, "x1": 0.4, "x2": 0.2, ("x0", "x2"): 2.0}),
        "endless": Sensitivity("phi1", {"x0": 0.1, "x1": np.inf, "x2": 0.2}),
        "function": lambda shown: 1 + 3 * (shown.get("x1") == "a") + len(shown),
    }[harm]
    for k in ks:
        found = best_policy(problem, k, form, kind)
        least = min(problem_risk(problem, mask, form).risk for mask in all_masks(problem, k, kind))
        assert found.exact
        assert found.risk.risk == pytest.approx(least)
        assert is_policy(found.disclosed, k, kind, problem.available)


def test_large_classes_are_searched_and_say_so(small, monkeypatch):
    problem, harm = small
    exact = {kind: best_policy(problem, 2, harm, kind) for kind in ("record", "file", "attribute")}
    for name in ("MOST_SETS", "MOST_POLICIES", "MOST_SHARED"):
        monkeypatch.setitem(best_policy.__globals__, name, 0)
    for kind, best in exact.items():
        found = best_policy(problem, 2, harm, kind)
        assert not found.exact
        assert is_policy(found.disclosed, 2, kind, problem.available)
        assert best.risk.risk - 1e-12 <= found.risk.risk <= 1.5 * best.risk.risk


@pytest.fixture(scope="module")
def lists():
    """Records with a gap, and three dictionaries that know different things."""
    rng = np.random.default_rng(12)
    register = pa.table({"id": np.arange(8), **{f"x{j}": rng.choice(["a", "b", "c"], 8) for j in range(3)}})
    released = register.slice(0, 4).set_column(2, "x1", pa.array(["a", None, "b", "c"]))
    known = [["id", "x0"], ["id", "x1", "x2"], ["id", "x0", "x1", "x2"]]
    return released, [(register.select(names), chance) for names, chance in zip(known, (0.5, 0.3, 0.2), strict=True)]


@pytest.mark.parametrize("criterion", ["bayes", "minimax"])
@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_the_best_policy_over_dictionaries_is_the_best_of_all(lists, criterion, k):
    released, dictionaries = lists
    harm = Sensitivity("phi5", {"x0": 0.1, "x1": 0.9, "x2": [0.1, 0.2, 0.7, 0.3]})
    found = policy_over_dictionaries(released, dictionaries, k, "id", sensitivity=harm, criterion=criterion)
    problems = [decision_problem(released, one, "id") for one, _ in dictionaries]
    each = [
        [problem_risk(problem, mask, harm).risk for problem in problems] for mask in all_masks(problems[0], k, "record")
    ]
    means, worst = np.array(each) @ [0.5, 0.3, 0.2], np.max(each, axis=1)
    assert found.exact
    assert (found.risks.bayes if criterion == "bayes" else found.risks.worst) == pytest.approx(
        min(means if criterion == "bayes" else worst)
    )
    own = risk_over_dictionaries(released, dictionaries, "id", disclosed=found.disclosed, sensitivity=harm)
    assert found.risks.risks == pytest.approx(own.risks)
    assert is_policy(found.disclosed, k, "record", problems[0].available)
    assert (found.notes == ()) == (k < 3)


def test_many_policies_are_a_game_against_the_dictionaries(lists, monkeypatch):
    released, dictionaries = lists
    best = policy_over_dictionaries(released, dictionaries, 1, "id", criterion="minimax")
    monkeypatch.setitem(policy_over_dictionaries.__globals__, "MOST_POLICIES", 0)
    found = policy_over_dictionaries(released, dictionaries, 1, "id", criterion="minimax")
    assert found.bound - 1e-12 <= best.risks.worst <= found.risks.worst <= 1.2 * best.risks.worst
    assert found.exact == (found.risks.worst <= found.bound * (1 + 1e-9))
    with pytest.raises(ParameterError, match=r"There is no criterion 'mean'\."):
        policy_over_dictionaries(released, dictionaries, 1, "id", criterion="mean")
    monkeypatch.setitem(policy_over_dictionaries.__globals__, "MOST_SETS", 2)
    with pytest.raises(ParameterError, match=r"There are more than 2 sets of 1 attribute\. Name fewer attributes"):
        policy_over_dictionaries(released, dictionaries, 1, "id")


def test_what_is_endlessly_harmful_is_not_disclosed(lists):
    released, dictionaries = lists
    harm = Sensitivity("phi1", {"x0": np.inf, "x1": np.inf, "x2": 0.5})
    for criterion in ("bayes", "minimax"):
        found = policy_over_dictionaries(released, dictionaries, 1, "id", sensitivity=harm, criterion=criterion)
        assert found.disclosed.tolist() == [[False, False, True]] * 4
        none = policy_over_dictionaries(released, dictionaries, 2, "id", sensitivity=harm, criterion=criterion)
        assert none.risks.worst == np.inf
        assert (none.disclosed.sum(axis=1) == 2).all()


def test_sums_of_weights_by_hand(small):
    problem, _ = small
    mask = problem.mask(["x0", "x2"])
    four = Sensitivity("phi4", {"x0": 1, "x1": 5, "x2": [0, 1, 2, 3], ("x0", "x2"): 10, ("x0", "x1"): 100})
    there = problem.available
    expected = [there[i, 0] * 1 + there[i, 2] * i + 10 * (there[i, 0] and there[i, 2]) for i in range(4)]
    assert problem_risk(problem, mask, four).sensitivity.tolist() == expected
    two = Sensitivity("phi2", persons=[1, 2, 3, np.inf])
    shown = mask.sum(axis=1)
    assert problem_risk(problem, mask, two).sensitivity.tolist() == [shown[0], 2 * shown[1], 3 * shown[2], np.inf]
    nothing = problem_risk(problem, [], Sensitivity("phi5", 0.7))
    assert (nothing.sensitivity == 1).all()
    assert (nothing.consistent == 9).all()
    assert nothing.risk == pytest.approx(1 / 9)
    assert problem_risk(problem, [], two).risk == 0


def test_an_intruder_with_favourites():
    register = pa.table({"id": ["a", "b", "c", "d"], "x": ["1", "1", "1", "2"], "picked": [6.0, 3.0, 1.0, 1.0]})
    released = pa.table({"id": ["a", "c", "q"], "x": ["1", "1", "1"]})
    found = decision_risk(released, register, "id", ["x"], selection="picked")
    assert found.chance.tolist() == pytest.approx([0.6, 0.1, 1 / 3])  # nobody knows how readily strangers are picked
    alike = register.set_column(2, "picked", [[2.0] * 4])
    assert decision_risk(released, alike, "id", ["x"], selection="picked").chance.tolist() == pytest.approx([1 / 3] * 3)
    twice = pa.concat_tables([register, register.slice(0, 1)])
    assert decision_risk(released, twice, "id", ["x"], selection="picked").chance[0] == pytest.approx(0.6)
    with pytest.raises(InputError, match=r"Column 'picked' holds numbers that are not above 0, or gaps\."):
        decision_risk(released, register.set_column(2, "picked", [[0.0] * 4]), "id", ["x"], selection="picked")
    differ = pa.concat_tables([register, register.slice(0, 1).set_column(2, "picked", [[5.0]])])
    with pytest.raises(InputError, match=r"Entries of one person differ in 'picked'\."):
        decision_risk(released, differ, "id", ["x"], selection="picked")


def test_the_order_of_rows_and_entries_changes_nothing():
    rng = np.random.default_rng(6)
    register = pa.table({"id": np.arange(300), **{f"x{j}": rng.integers(0, 3 + j, 300) for j in range(4)}})
    found = decision_risk(register, register, "id")
    order = rng.permutation(300)
    moved = decision_risk(register.take(order), register.take(rng.permutation(300)), "id")
    assert (moved.loss == found.loss[order]).all()
    assert found.ranking(3).tolist() == np.argsort(-found.loss, kind="stable")[:3].tolist()


def test_min_risk_flags_what_it_cannot_know():
    register = pa.table({"id": [1, 2, 3], "x": ["a", "a", "b"], "y": ["c", "c", "c"]})
    released = pa.table({"id": [1, 9], "x": ["a", "zz"], "y": ["c", None]})
    problem = decision_problem(released, register, "id")
    found = min_risk(problem, 2, Sensitivity("phi5", 0.1))
    assert found.notes == (
        "1 field holds what no entry of the dictionary has; one entry is taken to have it.",
        "1 record has fewer than 2 values: all of these are disclosed.",
    )
    assert found.gamma[1, 0] == pytest.approx(np.exp(0.1) * 3)
    assert found.sets(problem.names) == [("x", "y"), ("x",)]
    assert best_policy(problem, 4, kind="file").notes == ("The file has fewer than 4 values: all are disclosed.",)


def test_equal_factors_go_by_the_order_of_attributes():
    register = pa.table({"id": [1, 2], "y": ["a", "b"], "x": ["a", "b"]})
    problem = decision_problem(register, register, "id")
    assert min_risk(problem, 1, Sensitivity("phi5", 0.5)).sets(problem.names) == [("y",), ("y",)]


def test_what_the_numbers_say_in_words():
    register = pa.table({"id": [1, 2, 3], "x": ["a", "a", "b"]})
    found = decision_risk(pa.table({"id": [1, 5], "x": ["a", "q"]}), register, "id")
    assert found.summary() == (
        "risk 0.25 (mean loss of 2 records), largest 0.5\n"
        "0.5 right identifications expected; a record may be at least 2 persons of 3 in the dictionary\n"
        "1 record agrees with nobody in the dictionary: no loss by it"
    )
    assert found.to_frame()["loss"].to_pylist() == [0.5, 0.0]
    other = decision_risk(register, pa.table({"id": [1, 2], "z": ["a", "b"]}), "id")
    assert other.notes == (
        "The dictionary has none of the attributes, so that every entry is consistent with every record.",
    )
    assert other.consistent.tolist() == [2, 2, 2]
    gaps = decision_problem(pa.table({"id": [1], "x": pa.array([None], pa.string())}), register, "id")
    masked = problem_risk(gaps, np.array([[True]]))
    assert masked.notes == ("1 field is empty, and not disclosed although the mask says so.",)
    assert masked.consistent.tolist() == [3]


# ---- releases -------------------------------------------------------------------------------------------------------

TOWNS = ds.Hierarchy.from_nested({"north": ["Aby", "Bro"], "south": ["Cam", "Dun"]}, total="all")


def test_a_release_beside_its_original():
    people = ds.Microdata(
        pa.table({"town": ["Aby", "Bro", "Cam", "Cam", "Dun", "Dun"], "sex": ["f", "f", "m", "m", "m", "f"]}),
        keys=["town", "sex"],
        hierarchies={"town": TOWNS},
    )
    release = ds.protect(people, ds.Generalise(2, outliers=0.2), keep_order=True)
    custodian = release.custodian
    problem = release_problem(custodian.original, custodian.released, original=custodian.original)
    assert problem.holds_own().all()
    found = problem_risk(problem)
    assert found.k >= 2
    for row, (published, sex) in enumerate(
        zip(*(custodian.released[name].to_pylist() for name in ("town", "sex")), strict=True)
    ):
        agree = sum(
            (published is None or published == town or town in TOWNS.covered(published)) and sex in (None, own)
            for town, own in zip(*(custodian.original[name].to_pylist() for name in ("town", "sex")), strict=True)
        )
        assert found.consistent[row] == agree


def test_intervals_blanks_and_codes_for_unknown_could_be_any_value():
    register = ds.Microdata(
        pa.table({"id": ["a", "b", "c", "d"], "age": [3, 20, 29, 70], "sex": ["f", "m", "x", None]}),
        identifier="id",
        keys=["age", "sex"],
        missing_codes={"sex": ["x"]},
    )
    released = pa.table({"age": ["<15", "15-29", "15-29", "30+"], "sex": ["f", "m", "f", None]})
    problem = release_problem(register, released)
    assert problem.consistent().tolist() == [1, 2, 1, 1]
    assert (problem.own == -1).all()
    starred = pa.table({"age": ["*", "15-29"], "sex": ["f", "m"]})
    assert release_problem(register, starred).consistent().tolist() == [3, 2]
    named = released.append_column("id", pa.array(["a", "c", "b", "d"]))
    assert release_problem(register, named).own.tolist() == [0, 2, 1, 3]
    assert release_problem(register, named).holds_own().tolist() == [True, True, False, True]


def test_codes_mean_what_they_were_made_of_where_the_original_is_known():
    before = pa.table({"job": ["baker", "cook", "judge", "clerk"]})
    after = pa.table({"job": ["food", "food", "law", "law"]})
    with pytest.raises(InputError) as refused:
        release_problem(before, after, ["job"])
    assert str(refused.value) == (
        "Key 'job' has 2 published codes in 4 records that agree with no value of the register: 'food', 'law'. "
        "Such records would look safe. Give original= the records before they were changed, "
        "match={'job': ...} that says what agrees, or strange='nobody' if nobody in the register has these values."
    )
    assert release_problem(before, after, ["job"], original=before).consistent().tolist() == [2, 2, 2, 2]
    told = release_problem(
        before, after, ["job"], match={"job": lambda code, job: (code == "law") == (job in ("judge", "clerk"))}
    )
    assert told.consistent().tolist() == [2, 2, 2, 2]
    nobody = release_problem(before, after, ["job"], strange="nobody")
    assert nobody.consistent().tolist() == [0, 0, 0, 0]
    assert nobody.notes[0].endswith("agree with no value of the register: 'food', 'law'; they are taken for nobody.")


def test_records_that_nobody_could_be_are_refused():
    """Ages above a limit are published as the limit: 65 is somebody's age, and no woman's."""
    before = pa.table({"age": [65, 80, 30], "sex": ["m", "f", "f"]})
    after = pa.table({"age": [65, 65, 30], "sex": ["m", "f", "f"]})
    with pytest.raises(InputError) as refused:
        release_problem(before, after, ["age", "sex"])
    assert str(refused.value) == (
        "1 released record agrees with nobody in the register, although all codes do. Such records would look safe. "
        "Give original= the records before they were changed (numbers beyond a limit, say, are published as the "
        "limit), or strange='nobody' if they are in no register or were altered."
    )
    assert release_problem(before, after, ["age", "sex"], strange="nobody").consistent().tolist() == [1, 0, 1]
    assert release_problem(before, after, ["age", "sex"], original=before).consistent().tolist() == [1, 1, 1]


def test_a_release_and_its_register_must_fit():
    people = pa.table({"x": ["a", "b"]})
    with pytest.raises(NeedsError, match=r"It is not said what the intruder knows\. Give keys="):
        release_problem(people, people)
    with pytest.raises(ParameterError, match=r"There is no column 'y' in the released records\."):
        release_problem(people, people, ["y"])
    with pytest.raises(ParameterError, match=r"There is no column 'y' in the register\."):
        release_problem(people, pa.table({"y": ["a"]}), ["y"])
    with pytest.raises(InputError, match=r"The original has 2 records, the release 1\."):
        release_problem(people, people.slice(0, 1), ["x"], original=people)
    with pytest.raises(ParameterError, match=r"There is no strange 'ignore'\."):
        release_problem(people, people, ["x"], strange="ignore")
    with pytest.raises(ParameterError, match=r"There is no key 'q' in match=\."):
        release_problem(people, people, ["x"], match={"q": "exact"})
    empty = read_record_set(ds.Microdata(people))
    from dataclasses import replace

    with pytest.raises(InputError, match=r"The dictionary has no entries, so that nobody could be identified\."):
        release_problem(replace(empty, columns=empty.columns.slice(0, 0)), people, ["x"])


# ---- bad input ------------------------------------------------------------------------------------------------------

PEOPLE = pa.table({"id": [1, 2, 3], "x": ["a", "a", "b"], "y": ["c", "d", "d"]})


def test_an_empty_dictionary_is_refused():
    from dataclasses import replace

    nobody = read_record_set(ds.Microdata(PEOPLE))
    with pytest.raises(InputError) as refused:
        decision_risk(PEOPLE, replace(nobody, columns=nobody.columns.slice(0, 0)), "id")
    assert str(refused.value) == (
        "The dictionary has no entries, so that nobody could be identified. "
        "Give at least one identity: the register or list that an intruder may have."
    )
    with pytest.raises(InputError, match=r"The dictionary has no entries, so that nobody could be identified\."):
        decision_risk(PEOPLE, PEOPLE.slice(0, 0), "id")
    with pytest.raises(InputError, match=r"There is no dictionary\."):
        risk_over_dictionaries(PEOPLE, [], "id")


def test_persons_of_records_are_there_once():
    twice = pa.concat_tables([PEOPLE, PEOPLE.slice(0, 1)])
    with pytest.raises(InputError, match=r"1 record has the 'id' of an earlier one\. Give every person one record\."):
        decision_risk(twice, PEOPLE, "id")
    assert decision_risk(PEOPLE, twice, "id").consistent.tolist() == [1, 1, 1]  # a person listed twice is one
    gone = PEOPLE.set_column(0, "id", pa.array([1, None, 3]))
    with pytest.raises(InputError, match=r"1 record has no 'id'\."):
        decision_risk(gone, PEOPLE, "id")
    with pytest.raises(InputError, match=r"1 entry of the dictionary has no 'id'\."):
        decision_risk(PEOPLE, gone, "id")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: decision_risk(PEOPLE, PEOPLE), "It is not said who a record is."),
        (lambda: decision_risk(PEOPLE, PEOPLE, "id", ["id"]), "attributes=['id'] is not allowed."),
        (lambda: decision_risk(PEOPLE, PEOPLE, "id", match=3), "match=3 is not allowed."),
        (lambda: decision_risk(PEOPLE, PEOPLE, "id", match={"q": "exact"}), "There is no attribute 'q' in match=."),
        (lambda: decision_risk(PEOPLE, PEOPLE, "id", disclosed="q"), "There is no attribute 'q' in the records."),
        (lambda: decision_risk(PEOPLE, PEOPLE, "id", disclosed=[1, 0]), "disclosed= does not say of every field"),
        (
            lambda: decision_risk(PEOPLE, PEOPLE, "id", sensitivity=-1),
            "sensitivity holds what is no number of at least 0.",
        ),
        (
            lambda: decision_risk(PEOPLE, PEOPLE, "id", sensitivity=lambda shown: -1.0),
            "sensitivity holds what is no number",
        ),
        (lambda: decision_risk(PEOPLE, PEOPLE, "id", sensitivity=Sensitivity("phi1", {"x": 1})), "'y' has no weight."),
        (
            lambda: decision_risk(PEOPLE, PEOPLE, "id", sensitivity=Sensitivity("phi1", {"x": [1, 2, 3], "y": 1})),
            "phi1 has one weight for all records.",
        ),
        (
            lambda: decision_risk(PEOPLE, PEOPLE, "id", sensitivity=Sensitivity("phi3", {"x": [1, 2], "y": 1})),
            "weights['x'] gives 2 numbers for 3 records.",
        ),
        (
            lambda: decision_risk(
                PEOPLE, PEOPLE, "id", sensitivity=Sensitivity("phi3", {"x": 1, "y": 1, ("x", "y"): 1})
            ),
            "phi3 has no weights of sets.",
        ),
        (
            lambda: decision_risk(PEOPLE, PEOPLE, "id", sensitivity=Sensitivity("phi5", {"q": 1})),
            "There is no attribute 'q'",
        ),
        (lambda: Sensitivity("phi2", 1.0), "phi2 needs persons=."),
        (lambda: Sensitivity("phi2", 1.0, [1]), "phi2 does not take weights=."),
        (lambda: Sensitivity("phi1"), "phi1 needs weights=."),
        (lambda: Sensitivity("phi6", 1), "There is no form 'phi6'."),
        (lambda: Jaro(0), "threshold=0 is not allowed. Give a number above 0 and at most 1."),
        (
            lambda: min_risk(decision_problem(PEOPLE, PEOPLE, "id"), 1, Sensitivity("phi1", 1)),
            "MinRisk is for the multiplicative",
        ),
        (
            lambda: min_risk(
                decision_problem(PEOPLE, PEOPLE, "id"), 1, Sensitivity("phi5", {"x": 1, "y": 1, ("x", "y"): 1})
            ),
            "MinRisk takes weights of single attributes only.",
        ),
        (
            lambda: min_risk(decision_problem(PEOPLE, PEOPLE, "id"), 3, Sensitivity("phi5", 1)),
            "k=3 is not allowed. Give a whole number from 0 to 2.",
        ),
        (lambda: best_policy(decision_problem(PEOPLE, PEOPLE, "id"), 1, kind="cell"), "There is no kind 'cell'."),
        (lambda: policy_count(1, 1, 1, "cell"), "There is no kind 'cell'."),
        (lambda: is_policy([True], 1), "A policy says it by record and attribute."),
        (
            lambda: risk_over_dictionaries(PEOPLE, [(PEOPLE, 0.7)], "id"),
            "The probabilities of the dictionaries add up to 0.7",
        ),
        (lambda: risk_curve(decision_problem(PEOPLE, PEOPLE, "id"), ks=[]), "No number of attributes is given."),
    ],
)
def test_what_is_not_allowed(call, message):
    with pytest.raises((ParameterError, InputError)) as refused:
        call()
    assert message in str(refused.value)


def test_a_curve_over_some_numbers():
    problem = decision_problem(PEOPLE, PEOPLE, "id")
    curve = risk_curve(problem, 1.0, [0, 2])
    assert curve.k.tolist() == [0, 2]
    assert curve.risk.tolist() == pytest.approx([1 / 3, 1.0])
    assert curve.largest.tolist() == pytest.approx([1 / 3, 1.0])


def test_every_combination_of_a_small_product_is_counted():
    rows = list(product("ab", "cd", "ef"))
    register = pa.table({"id": list(range(8)), **{f"x{j}": [row[j] for row in rows] for j in range(3)}})
    problem = decision_problem(register, register, "id")
    for size in range(4):
        for chosen in combinations(problem.names, size):
            assert (problem.consistent(list(chosen)) == 8 // 2**size).all()
