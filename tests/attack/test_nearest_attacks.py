"""Inference, linkability, closest records and membership against loops over all pairs of records."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.attack import closest_records, inference_attack, linkability_attack, membership_attack
from discreet.attack.synthetic.linkability import by_chance, link_chances
from discreet.attack.synthetic.membership import called_members
from tests.attack.made_files import distance, people, rows_of, shuffled, spans_of

COARSE = {
    "age": [30, 30, 40, 50, None, 60],
    "sex": ["f", "m", "m", None, "f", "f"],
    "job": ["a", "b", "b", "c", "a", None],
}


def coarse(many: int, seed: int) -> pa.Table:
    """Few values, many ties and gaps."""
    draws = np.random.default_rng(seed)
    taken = draws.integers(0, 6, (3, many))
    pay = draws.choice([100.0, 104.0, 107.0, 200.0, 0.0, -50.0], many)
    columns: dict[str, Any] = {name: [COARSE[name][i] for i in row] for name, row in zip(COARSE, taken, strict=True)}
    return pa.table({**columns, "pay": pa.array(pay, mask=draws.random(many) < 0.1)})


def nearest(one: tuple[Any, ...], others: list[tuple[Any, ...]], spans: list[float | None]) -> list[int]:
    apart = [distance(one, other, spans) for other in others]
    return [place for place, far in enumerate(apart) if far <= min(apart) + 1e-12]


@pytest.mark.parametrize(("secret", "keys"), [("job", ["age", "sex"]), ("pay", ["age", "job"])])
def test_inference_takes_the_secret_of_the_nearest_and_equally_near_ones_share(secret, keys):
    original, made, held = coarse(50, 1), coarse(60, 2), coarse(40, 3)
    spans = spans_of(original, keys)
    answers = made[secret].to_pylist()

    def right(true: Any, guess: Any) -> bool:
        if true is None or guess is None or isinstance(true, str):
            return bool(true == guess)
        return abs(true - guess) <= 0.05 * abs(true)

    def expected(file: pa.Table) -> tuple[list[float], float]:
        shares, at_random = [], []
        for row, true in zip(rows_of(file, keys), file[secret].to_pylist(), strict=True):
            near = nearest(row, rows_of(made, keys), spans)
            shares.append(sum(right(true, answers[place]) for place in near) / len(near))
            at_random.append(sum(right(true, answer) for answer in answers) / len(answers))
        return shares, float(np.mean(at_random))

    found = inference_attack(original, made, held, keys=keys, secret=secret)
    shares, baseline = expected(original)
    assert found.chance.tolist() == pytest.approx(shares)
    assert found.baseline == pytest.approx(baseline)
    assert found.control is not None
    assert found.control.chance.tolist() == pytest.approx(expected(held)[0])
    assert found.control.baseline == pytest.approx(expected(held)[1])


@pytest.mark.parametrize("many", [1, 2, 4])
def test_links_are_records_among_the_nearest_of_both_sides(many):
    original, made = coarse(25, 4), coarse(8, 5)
    first, second = ["age", "sex"], ["job", "pay"]

    def sets(row: tuple[Any, ...], names: list[str]) -> list[set[int]]:
        """All sets of the nearest that ties allow."""
        spans = spans_of(original, names)
        apart = [distance(row, other, spans) for other in rows_of(made, names)]
        reach = sorted(apart)[many - 1]
        sure = {i for i, far in enumerate(apart) if far < reach - 1e-12}
        unsure = [i for i, far in enumerate(apart) if abs(far - reach) <= 1e-12]
        return [sure | set(some) for some in combinations(unsure, many - len(sure))]

    expected = []
    for one, other in zip(rows_of(original, first), rows_of(original, second), strict=True):
        pairs = [(a, b) for a in sets(one, first) for b in sets(other, second)]
        expected.append(sum(bool(a & b) for a, b in pairs) / len(pairs))
    found = linkability_attack(original, made, first=first, second=second, neighbours=many)
    assert found.chance.tolist() == pytest.approx(expected)
    pairs = [(set(a), set(b)) for a in combinations(range(8), many) for b in combinations(range(8), many)]
    assert found.baseline == pytest.approx(sum(bool(a & b) for a, b in pairs) / len(pairs))


def test_neighbours_may_be_more_than_there_are_records():
    assert by_chance(3, 3) == 1
    found = linkability_attack(people(20, 1), people(3, 2), first="age", second="rent", neighbours=9)
    assert found.share == found.baseline == 1


def test_a_sure_link_is_one_whatever_the_ties():
    assert link_chances(np.array([[1, 0, 1, 0, 1, 0, 0, 0]]), 1).tolist() == [1.0]


def test_distances_to_the_closest_record_and_copies():
    original, made, held = coarse(60, 6), coarse(40, 7), coarse(30, 8)
    names = original.column_names
    spans = spans_of(original, names)
    mine, others = rows_of(original), rows_of(held)
    found = closest_records(original, made, held)
    assert found.nearer is not None
    assert found.to_holdout is not None
    for place, row in enumerate(rows_of(made)):
        to_mine = [distance(row, other, spans) for other in mine]
        to_others = [distance(row, other, spans) for other in others]
        assert found.to_original[place] == pytest.approx(min(to_mine))
        assert found.to_holdout[place] == pytest.approx(min(to_others))
        near = nearest(row, [*mine, *others], spans)
        assert found.nearer.chance[place] == pytest.approx(sum(at < len(mine) for at in near) / len(near))
        assert found.copies.chance[place] == (row in mine)
        assert found.copies.control is not None
        assert found.copies.control.chance[place] == (row in others)
    assert found.nearer.baseline == pytest.approx(60 / 90)
    assert "There are 60 original and 30 held-out records" in found.nearer.notes[-1]
    assert found.percentile()[0] == pytest.approx(np.percentile(found.to_original, 5))
    assert "5th percentile of distances" in found.summary()
    alone = closest_records(original, made)
    assert (alone.nearer, alone.to_holdout, alone.percentile()[1]) == (None, None, None)
    assert alone.copies.right == found.copies.right


def test_numbers_far_outside_the_original_do_not_shrink_other_distances():
    original = pa.table({"pay": [1.0, 2.0, 3.0]})
    near = closest_records(original, pa.table({"pay": [1.5]})).to_original
    far = closest_records(original, pa.table({"pay": [1.5, 1e9]})).to_original
    assert far.tolist() == [near[0], 1.0] == [0.25, 1.0]


def test_a_column_without_a_range_tells_equal_values_from_others():
    original, made, held = (pa.table({"pay": [v, v, None]}) for v in (5, 7, 7))
    found = closest_records(original, made, held, attempts=10)
    assert found.to_original.tolist() == [1.0, 1.0, 0.0]
    assert found.to_holdout is not None
    assert found.to_holdout.tolist() == [0.0, 0.0, 0.0]


def test_members_are_those_in_the_nearer_half():
    original, made, held = people(60, 1), people(50, 2), people(60, 3)
    names = original.column_names
    spans = spans_of(original, names)
    found = membership_attack(original, made, held)
    scores = [
        [-min(distance(row, other, spans) for other in rows_of(made)) for row in rows_of(file)]
        for file in (original, held)
    ]
    assert found.members.tolist() == pytest.approx(scores[0])
    assert found.others.tolist() == pytest.approx(scores[1])
    above = sum(a > b for a in scores[0] for b in scores[1]) / 3600
    assert found.ranked == pytest.approx(above)
    half = sorted([*scores[0], *scores[1]], reverse=True)[:60]
    assert found.share == pytest.approx(sum(score in half for score in scores[0]) / 60)
    worst = sorted(scores[1], reverse=True)
    assert found.found_at(0.1) == pytest.approx(sum(score > worst[6] for score in scores[0]) / 60)
    assert found.found_at(1) == 1


def test_members_that_score_like_others_are_found_as_often_as_these():
    other = np.array([1.0, 1, 1, 0])
    found = ds.attack.MembershipAttack(
        "membership",
        "are called so",
        "records",
        np.arange(2),
        np.ones(2),
        0.5,
        members=np.array([1.0, 2.0]),
        others=other,
    )
    assert [found.found_at(wrong) for wrong in (0, 0.375, 0.75)] == [0.5, 0.75, 1.0]


def test_equal_scores_share_the_places_that_are_left():
    assert called_members(np.array([3.0, 1, 1, 0]), np.array([2.0, 1, 0, 0])).tolist() == [1.0, *[2 / 3] * 2, 0.0]


@pytest.mark.parametrize("by", ["distance", "density"])
def test_members_of_a_copied_file_are_found_and_those_of_a_foreign_one_are_not(by):
    original, held = people(300, 1), people(300, 2)
    copied = membership_attack(original, shuffled(original, 3), held, by=by)
    assert (copied.share, copied.ranked, copied.found_at(0.01)) == (1.0, 1.0, 1.0)
    foreign = membership_attack(original, people(300, 4), held, by=by)
    low, high = foreign.interval()
    assert low < 0.5 < high
    assert abs(foreign.ranked - 0.5) < 0.06
    assert "found where 1% of others are called so" in foreign.summary()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda a: membership_attack(a, a, None), "Finding out members needs records that were not used to make"),
        (
            lambda a: membership_attack(a, a, a.slice(0, 0)),
            "There are no records in the hold-out file. Leave holdout= out",
        ),
        (lambda a: membership_attack(a, a, a, by="guess"), "by='guess' is not allowed. Give 'distance', 'density'"),
        (
            lambda a: membership_attack(a, a, people(1, 3), by="density"),
            "A hold-out file of one record cannot be divided",
        ),
        (lambda a: membership_attack(a, a, people(9, 3)).found_at(2), "wrong=2 is not allowed"),
        (lambda a: inference_attack(a, a, keys="sex", secret="sex"), "secret='sex' is one of the keys"),
        (lambda a: inference_attack(a, a, keys="sex", secret="job", tolerance=1), "tolerance=1 is not allowed"),
        (lambda a: inference_attack(a, a, keys="sex", secret="job", attempts=0), "attempts=0 is not allowed"),
        (lambda a: linkability_attack(a, a, first=["sex", "age"], second="age"), "'age' stands in first= and second="),
        (lambda a: linkability_attack(a, a, first="sex", second="age", neighbours=0), "neighbours=0 is not allowed"),
        (
            lambda a: closest_records(a, a, columns=["age", "height"]),
            "Columns are missing in the original file: 'height'",
        ),
    ],
)
def test_what_cannot_be_asked(asked, message):
    with pytest.raises(ds.DiscreetError, match=message):
        asked(people(40, 1))
