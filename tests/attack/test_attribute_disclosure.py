"""Replicated uniques and attribute disclosure against counts by hand and by loops."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.attack import attribute_disclosure
from tests.attack.made_files import people, shuffled


def by_loops(
    original: list[tuple[Any, ...]],
    made: list[tuple[Any, ...]],
    out: Any = lambda row: False,
    largest: int | None = None,
) -> dict[str, float]:
    """The measures by their definitions; the secret is the last field of a row, ``out`` says what is not counted."""
    d, s = Counter(original), Counter(made)

    def answers(cells: Counter[tuple[Any, ...]], key: tuple[Any, ...]) -> list[Any]:
        return [row[-1] for row in cells if row[:-1] == key]

    def counted(cells: dict[tuple[Any, ...], int]) -> dict[tuple[Any, ...], int]:
        return {row: n for row, n in cells.items() if not out(row) and (largest is None or n <= largest)}

    def by_key(cells: dict[tuple[Any, ...], int]) -> Counter[tuple[Any, ...]]:
        found: Counter[tuple[Any, ...]] = Counter()
        for row, n in cells.items():
            found[row[:-1]] += n
        return found

    there = {row[:-1] for row in s}
    once_d, once_s = by_key(counted(d)), by_key(counted(s))
    sure_s = {row: n for row, n in s.items() if answers(s, row[:-1]) == [row[-1]]}
    sure_d = {row: n for row, n in d.items() if answers(d, row[:-1]) == [row[-1]]}
    right = counted({row: n for row, n in d.items() if row in sure_s})
    nd, ns = len(original), len(made)
    return {
        "unique_original": sum(n == 1 for n in once_d.values()) / nd,
        "unique_released": sum(n == 1 for n in once_s.values()) / ns,
        "unique_found": sum(n == 1 and key in there for key, n in once_d.items()) / nd,
        "replicated_uniques": sum(n == 1 and once_s[key] == 1 for key, n in once_d.items()) / nd,
        "disclosive_original": sum(counted(sure_d).values()) / nd,
        "disclosive_released": sum(counted(sure_s).values()) / ns,
        "found": sum(counted({row: n for row, n in d.items() if row[:-1] in there}).values()) / nd,
        "disclosive": sum(counted({r: n for r, n in d.items() if len(answers(s, r[:-1])) == 1}).values()) / nd,
        "disclosive_correct": sum(right.values()) / nd,
        "disclosive_both": sum(counted({r: n for r, n in d.items() if r in sure_s and r in sure_d}).values()) / nd,
        "attributed": sum(n * counted(s).get(r, 0) / once_s[r[:-1]] for r, n in counted(d).items() if once_s[r[:-1]])
        / nd,
        "attributed_at_random": sum(n * n for n in Counter(row[-1] for row in original).values()) / nd**2,
        "largest": max(right.values(), default=0),
    }


def table(rows: list[tuple[Any, ...]], names: list[str]) -> pa.Table:
    return pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(names)})


ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from("xyz"), st.sampled_from(["p", "q", None])),
    min_size=4,
    max_size=14,
)
FIRST = [("a", "x", "p"), ("b", "y", "q"), ("a", "z", "q")]
NAMES = ["one", "two", "secret"]


@settings(max_examples=60, deadline=None)
@given(ROWS, ROWS, st.sampled_from(["nothing", "value", "gaps", "pair", "largest"]))
def test_measures_are_those_of_loops_over_records(original, made, kind):
    original, made = [*original, *FIRST], [*made, *FIRST]
    options: dict[str, dict[str, Any]] = {
        "nothing": {},
        "value": {"exclude_values": ["p"]},
        "gaps": {"exclude_gaps": ["one", "secret"]},
        "pair": {"exclude_pairs": [("two", "x", "p"), ("one", "b", "q")]},
        "largest": {"largest": 1},
    }
    out = {
        "value": lambda row: row[-1] == "p",
        "gaps": lambda row: row[0] is None or row[-1] is None,
        "pair": lambda row: (row[1] == "x" and row[-1] == "p") or (row[0] == "b" and row[-1] == "q"),
    }
    found = attribute_disclosure(
        table(original, NAMES), table(made, NAMES), keys=["one", "two"], secret="secret", **options[kind]
    )
    expected = by_loops(original, made, out.get(kind, lambda row: False), 1 if kind == "largest" else None)
    assert {**found.to_dict(), "largest": found.largest} | expected == pytest.approx(
        {**found.to_dict(), "largest": found.largest}, nan_ok=True
    )
    assert found.identity.share == pytest.approx(found.replicated_uniques)
    assert found.attribute.share == pytest.approx(found.disclosive_correct)


def test_a_case_by_hand():
    original = pa.table({"town": ["a", "a", "b", "c", "d"], "job": ["x", "x", "y", "z", "x"]})
    made = pa.table({"town": ["a", "a", "b", "c", "c", "e"], "job": ["x", "x", "z", "z", "y", "x"]})
    found = attribute_disclosure(original, made, keys="town", secret="job")
    assert (found.unique_original, found.unique_found, found.replicated_uniques) == (0.6, 0.4, 0.2)  # b c d; b c; b
    assert found.unique_released == pytest.approx(2 / 6)
    assert (found.found, found.disclosive, found.disclosive_correct) == (0.8, 0.6, 0.4)  # a a b c; a a b; a a
    assert (found.attributed, found.certain_correct) == (pytest.approx(2.5 / 5), pytest.approx(2 / 3))
    assert (found.largest, found.mean, found.disclosive_original) == (2, 2.0, 1.0)
    assert found.attribute.baseline == pytest.approx((0.6 + 0.6 + 0.2) / 5)  # somebody guesses x, x and y for a, a, b
    assert "with the released file 40.0% rightly, 20.0% wrongly" in found.summary()


def test_numbers_are_values_unless_they_are_grouped():
    original = pa.table({"age": [1, 2, 3, 4], "pay": [10.0, 11.0, 90.0, 95.0]})
    made = pa.table({"age": [1, 2, 3, 4], "pay": [10.5, 11.5, 91.0, 94.0]})
    assert attribute_disclosure(original, made, keys="age", secret="pay").disclosive_correct == 0
    found = attribute_disclosure(original, made, keys="age", secret="pay", groups={"pay": 2})
    assert found.disclosive_correct == 1
    excluded = attribute_disclosure(original, made, keys="age", secret="pay", groups={"pay": 2}, exclude_values=[90])
    assert excluded.disclosive_correct == 0.5  # a group is meant by any value in it


def test_held_out_people_are_the_control():
    original, held = people(400, 1), people(300, 2)
    names = {"keys": ["age", "sex", "region"], "secret": "job"}
    copied = attribute_disclosure(original, shuffled(original, 3), held, **names)
    assert copied.replicated_uniques == copied.unique_original
    assert copied.attribute.risk > 0.3
    assert copied.identity.risk > 0.3
    foreign = attribute_disclosure(original, people(400, 5), held, **names)
    assert foreign.attribute.risk_interval().low == 0
    assert foreign.identity.risk_interval().low == 0
    assert foreign.identity.control_share == pytest.approx(foreign.identity.share, abs=0.05)


def test_uniques_of_a_small_hold_out_file_are_counted_as_if_it_were_large():
    # Of fewer held-out people more are unique, and without the scale these would make the control too large.
    original, held, made = people(2000, 1), people(400, 2), people(2000, 3)
    found = attribute_disclosure(original, made, held, keys=["age", "sex", "region"], secret="job").identity
    assert found.control is not None
    assert found.control.share > 1.15 * found.share
    assert found.control_share == pytest.approx(found.share, rel=0.15)


def test_what_everybody_knows_is_noted():
    many = 200
    town = [f"t{i % 40}" for i in range(many)]
    work = ["old" if i % 2 else "young" for i in range(many)]
    original = pa.table(
        {"town": town, "age": work, "pension": ["yes" if w == "old" else "no" for w in work], "rare": ["n"] * many}
    )
    one = attribute_disclosure(original, original, keys=["town"], secret="rare")
    assert "100% of what is given away rightly is one value, which 100% of the original have" in one.attribute.notes[0]
    pairs = attribute_disclosure(original, original, keys=["town", "age"], secret="pension")
    assert any("values of single keys" in note and "'age'" in note for note in pairs.attribute.notes)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"secret": "age"}, "secret='age' is one of the keys"),
        ({"exclude_values": ["none"]}, "A value that is to be excluded does not occur in 'job'"),
        ({"exclude_pairs": [("job", "j1", "j1")]}, "exclude_pairs: 'job' is no key. Give one of 'age', 'sex'"),
        ({"exclude_pairs": [("age", "old", "j1")]}, "A value of 'age' that is to be excluded is no number"),
        ({"exclude_pairs": [("age", 1)]}, "A pair to exclude is not a key, its value and one of the secret"),
        ({"exclude_gaps": ["pay"]}, "Column 'pay' is not in the compared columns|pay"),
        ({"largest": 0}, "largest=0 is not allowed. Give a whole number of at least 1"),
        ({"groups": {"sex": 3}}, "groups: column 'sex' holds no numbers"),
        ({"groups": {"age": 1}}, "groups: 'age' has 1 groups. Give a whole number of at least 2"),
        ({"keys": []}, r"keys=\[\] is not allowed. Give names of columns in a list"),
        ({"keys": ["age", "age"]}, "names a column twice"),
    ],
)
def test_what_cannot_be_asked(changed, message):
    original = people(60, 1)
    with pytest.raises(ds.DiscreetError, match=message):
        attribute_disclosure(original, original, **{"keys": ["age", "sex"], "secret": "job", **changed})


def test_the_order_of_records_does_not_matter():
    original, made = people(200, 1), people(150, 2)
    names = {"keys": ["sex", "region"], "secret": "job"}
    first = attribute_disclosure(original, made, **names)
    second = attribute_disclosure(shuffled(original, 5), shuffled(made, 6), **names)
    assert first.to_dict() == pytest.approx(second.to_dict(), nan_ok=True)
    assert np.isclose(first.attribute.baseline, second.attribute.baseline)
