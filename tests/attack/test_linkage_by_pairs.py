"""Ways of linking that look at all pairs, and intervals around released values, against slow code of their own."""

from __future__ import annotations

from collections import Counter
from math import exp, log

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.attack import interval_disclosure, link
from discreet.attack.linkage_columns import both_files, compared_columns
from discreet.attack.pair_kernels import level_of
from discreet.attack.probabilistic import (
    ROUNDS,
    SETTLED,
    agreement_patterns,
    candidates_of,
    learned_weights,
    level_cuts,
    values_with_gaps,
)
from discreet.errors import InputError, ParameterError


def mixed_files(rows=60, seed=5):
    draw = np.random.default_rng(seed)
    pay = np.round(draw.lognormal(3, 0.5, rows), 1)
    job, area = draw.integers(0, 8, rows), draw.choice(list("nswe"), rows)
    noisy = np.where(draw.random(rows) < 0.8, job, draw.integers(0, 8, rows))
    before = {"pay": pay, "job": job.astype(str), "area": area}
    after = {"pay": np.round(pay * draw.lognormal(0, 0.1, rows), 1), "job": noisy.astype(str), "area": area}
    before["pay"] = pa.array([None if i % 11 == 0 else v for i, v in enumerate(before["pay"])], pa.float64())
    after["job"] = pa.array([None if i % 13 == 0 else v for i, v in enumerate(after["job"])])
    return pa.table(before), pa.table(after)


BEFORE, AFTER = mixed_files()
COLUMNS = ["pay", "job", "area"]


def slow_level(one, other, cuts, number):
    if number:
        return None if np.isnan(one) or np.isnan(other) else sum(abs(one - other) > cut for cut in cuts)
    return None if 0 in (one, other) else (0 if one == other else len(cuts))


def slow_evidence(before, after, cuts, numbers, candidates):
    """Expectation and maximisation pair by pair, in dictionaries."""
    levels = {
        (i, j): [slow_level(before[i, c], after[j, c], cuts[c], c < numbers) for c in range(before.shape[1])]
        for i in range(len(before))
        for j in candidates[i]
    }

    def shares(counts):
        return [{k: v / max(sum(one.values()), 1e-300) for k, v in one.items()} for one in counts]

    def counted(chances):
        counts = [dict.fromkeys(range(len(cuts[0]) + 1), 0.0) for _ in range(before.shape[1])]
        for pair, chance in chances.items():
            for column, level in enumerate(levels[pair]):
                if level is not None:
                    counts[column][level] += chance
        return counts

    every = shares(counted(dict.fromkeys(levels, 1.0)))
    last = len(cuts[0])
    own = [{k: 0.5 ** min(k + 1, last) for k in range(last + 1)} for _ in range(before.shape[1])]

    def weight(pair):
        return sum(
            log(own[c][k] / every[c][k])
            for c, k in enumerate(levels[pair])
            if k is not None and own[c][k] > 0 and every[c][k] > 0
        )

    for _ in range(ROUNDS):
        chances = {}
        for pair in levels:
            odds = exp(weight(pair)) / len(candidates[pair[0]])
            chances[pair] = odds / (odds + 1 - 1 / len(candidates[pair[0]]))
        seen = counted(chances)
        new = shares([{k: v + every[c][k] for k, v in one.items()} for c, one in enumerate(seen)])
        moved = max(abs(new[c][k] - own[c][k]) for c in range(len(own)) for k in own[c])
        own = new
        if moved < SETTLED:
            break
    # Values that are nearer are never less evidence.
    there = [
        {k: log(own[c][k] / every[c][k]) for k in own[c] if own[c][k] > 0 and every[c][k] > 0} for c in range(len(own))
    ]
    best = [{k: max(w for other, w in one.items() if other >= k) for k in one} for one in there]
    return {pair: sum(best[c].get(k, 0) for c, k in enumerate(levels[pair]) if k is not None) for pair in levels}


@pytest.mark.parametrize("blocked", [False, True])
def test_evidence_is_that_of_slow_expectation_and_maximisation(blocked):
    columns = compared_columns(*both_files(BEFORE, AFTER), COLUMNS[: 2 if blocked else 3], ())
    before, after = values_with_gaps(columns)
    cuts = level_cuts(before, after, 1)
    areas = [table["area"].to_pylist() for table in (BEFORE, AFTER)]
    candidates = [[j for j in range(60) if not blocked or areas[1][j] == areas[0][i]] for i in range(60)]
    weights = slow_evidence(before, after, cuts, 1, candidates)
    found = link(BEFORE, AFTER, COLUMNS[: 2 if blocked else 3], way="probabilistic", blocking="area" if blocked else ())
    best = [max(weights[i, j] for j in candidates[i]) for i in range(60)]
    assert (-found.distance).tolist() == pytest.approx(best, rel=1e-9)
    filled = [np.where(np.isnan(values), 0, values) for values in (before, after)]
    for i in range(60):
        good = [j for j in candidates[i] if weights[i, j] >= best[i] - 1e-9]
        apart = {j: (filled[0][i, 0] - filled[1][j, 0]) ** 2 + sum(before[i, 1:] != after[j, 1:]) for j in good}
        near = [j for j in good if apart[j] <= min(apart.values()) * (1 + 2e-9)]
        assert found.linked[i] == near[0]
        assert found.ties[i] == len(near)
        assert found.chance[i] == (1 / len(near) if i in near else 0)
    assert found.share > 0.5


def test_few_identical_records_are_found_again():
    """Evidence learned from eight records said more for values that are nearly the same than for the same ones."""
    days = pa.table({"born": [5162, 1769, 19383, 10695, 3246, 19880, 17145, 353]})
    assert link(days, days, ["born"], way="probabilistic").share == 1


def test_columns_that_never_vary_say_nothing():
    same = pa.table({"x": [7.0, 7.0, None], "y": [1, 1, 1]})
    found = link(same, same, ["x", "y"], way="probabilistic")
    assert found.chance.tolist() == pytest.approx([1 / 3] * 3)
    assert "'x', 'y': never varies in one of the files, and was left out." in found.notes
    release = ds.protect(ds.Microdata(same, keys=["y"], numeric=["x"]), ds.LocalSuppress(2))
    assert release.audit()["probabilistic"].share == pytest.approx(1 / 3)


def test_patterns_of_agreement_stand_for_all_pairs():
    draw = np.random.default_rng(8)
    asked, searched = draw.normal(size=(7, 21)), draw.normal(size=(9, 21))
    asked[:, 3:], searched[:, 3:] = draw.integers(0, 3, (7, 18)), draw.integers(0, 3, (9, 18))
    asked[2:4], searched[5:7], searched[6, 1] = asked[0], searched[1], np.nan
    low, high = np.array([0, 4, 0, 0, 9, 3, 4]), np.array([9, 9, 9, 4, 9, 4, 9])
    cuts = np.tile([0.1, 0.3, 0.6, 1.0], (21, 1))
    found = agreement_patterns(asked, searched, low, high, cuts, 3)
    pairs = Counter(
        (*(level_of(asked[i, c], searched[j, c], cuts[c], c < 3) for c in range(21)), 1 / (high[i] - low[i]))
        for i in range(7)
        for j in range(low[i], high[i])
    )
    rows = zip(found.levels.tolist(), found.shares.tolist(), found.pairs.tolist(), strict=True)
    assert {(*levels, share): many for levels, share, many in rows} == pairs
    assert max(pairs.values()) > 1
    assert any(-1 in one[:3] for one in pairs)


def test_evidence_is_learned_without_knowing_who_is_who():
    columns = compared_columns(*both_files(BEFORE, AFTER), COLUMNS, ())
    before, after = values_with_gaps(columns)
    where = candidates_of(None, 60, 60)
    weights = learned_weights(before, after, where, level_cuts(before, after, 1), 1, np.arange(60))
    assert (weights[:, 0] > 1).all()  # agreement speaks for a pair
    assert (weights[:, -1] < -1).all()  # disagreement against it
    turned = link(BEFORE.take(np.arange(60)[::-1]), AFTER, COLUMNS, way="probabilistic", truth=list(range(60))[::-1])
    assert turned.right == pytest.approx(link(BEFORE, AFTER, COLUMNS, way="probabilistic").right)


def test_evidence_the_other_way_round():
    back = link(BEFORE, AFTER, COLUMNS, way="probabilistic", direction="released")
    swapped = link(AFTER, BEFORE, COLUMNS, way="probabilistic")
    assert back.linked.tolist() == swapped.linked.tolist()


# Exchanged ranks ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def swapped():
    draw = np.random.default_rng(4)
    rows = 150
    table = pa.table(
        {
            "id": np.arange(rows),
            "x": np.round(draw.lognormal(3, 1, rows)),
            "y": np.round(draw.lognormal(3, 1, rows)),
            "area": draw.choice(["n", "s"], rows),
        }
    )
    people = ds.Microdata(table, identifier="id", numeric=["x", "y"], strata="area", keys="area")
    return ds.protect(people, ds.RankSwap(["x", "y"], share=0.1), key=ds.Key(bytes(range(32))))


def test_windows_of_exchanged_ranks_never_leave_the_own_record_out(swapped):
    custodian = swapped.custodian
    found = link(swapped, columns=["x", "y"], way="rank", share=0.1, blocking="area")
    before, after = (
        {name: records[name].to_pylist() for name in ("x", "y", "area")}
        for records in (custodian.original, custodian.released)
    )

    def window(column, row):
        mine = sorted(v for v, a in zip(after[column], after["area"], strict=True) if a == after["area"][row])
        reach = int(0.1 * len(mine))
        value = after[column][row]
        first = mine.index(value) - reach
        last = len(mine) - 1 - mine[::-1].index(value) + reach
        return mine[max(first, 0)], mine[min(last, len(mine) - 1)]

    sd = {name: np.std(after[name], ddof=1) for name in ("x", "y")}
    counts = []
    for row in range(150):
        good = [
            j
            for j in range(150)
            if after["area"][j] == before["area"][row]
            and all(window(c, j)[0] <= before[c][row] <= window(c, j)[1] for c in ("x", "y"))
        ]
        assert row in good
        counts.append(len(good))
        apart = [sum(((before[c][row] - after[c][j]) / sd[c]) ** 2 for c in ("x", "y")) for j in good]
        near = [j for j, far in zip(good, apart, strict=True) if far <= min(apart) * (1 + 1e-8)]
        assert found.linked[row] == near[0]
        assert found.chance[row] == pytest.approx(1 / len(near) if row in near else 0)
    assert found.notes == (
        f"Windows leave {np.median(counts):,.0f} candidates in the median, and {min(counts)} at least.",
    )
    assert found.knows == "publication"


def test_a_published_share_finds_at_least_as_many(swapped):
    plain = link(swapped, columns=["x", "y"], blocking="area")
    ranked = link(swapped, columns=["x", "y"], way="rank", share=0.1, blocking="area")
    assert ranked.share >= plain.share
    wrong = link(swapped, columns=["x", "y"], way="rank", share=0.0001)
    assert (wrong.linked == -1).any()
    assert any("nobody in the other file to be taken for" in note for note in wrong.notes)


def test_gaps_leave_windows_open():
    before = pa.table({"x": pa.array([1.0, None, 3.0, 4.0]), "y": [1.0, 2.0, 3.0, 4.0]})
    after = pa.table({"x": pa.array([1.0, 2.0, None, 4.0]), "y": [1.0, 2.0, 3.0, 4.0]})
    assert link(before, after, ["x", "y"], way="rank", share=0.01).linked.tolist() == [0, 1, 2, 3]


# Intervals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["rank", "sd"])
@pytest.mark.parametrize("width", [0.03, 0.2])
def test_intervals_by_hand(by, width):
    draw = np.random.default_rng(8)
    old = np.round(draw.normal(size=(2, 80)) * 5)
    new = old + np.round(draw.normal(size=(2, 80)) * 2)
    before, after = (pa.table({"x": values[0], "y": values[1]}) for values in (old, new))
    found = interval_disclosure(before, after, ["x", "y"], by=by, width=width)
    told = []
    for column in range(2):
        ordered = sorted(old[column])
        for i in range(80):
            value, other = old[column][i], new[column][i]
            if by == "sd":
                told.append(abs(value - other) <= width * np.std(ordered, ddof=1))
            else:
                below, up_to = sum(v < other for v in ordered), sum(v <= other for v in ordered)
                low, high = max(below - int(width * 80), 0), min(up_to - 1 + int(width * 80), 79)
                told.append(ordered[low] <= value <= ordered[high] if low < 80 and high >= 0 else False)
    told = np.array(told).reshape(2, 80)
    assert found.share == pytest.approx(told.mean())
    assert list(found.by_column.values()) == pytest.approx(told.mean(axis=1).tolist())
    assert found.whole == pytest.approx(told.all(axis=0).mean())
    assert found.baseline < found.share
    assert found.knows == "all links"


def test_the_same_file_tells_everything_and_an_independent_one_no_more_than_one_guess():
    draw = np.random.default_rng(9)
    table = pa.table({"x": draw.normal(size=500)})
    assert interval_disclosure(table, table, "x", width=0.001).share == 1.0
    other = pa.table({"x": draw.permutation(table["x"].to_numpy())})
    for by in ("rank", "sd"):
        found = interval_disclosure(table, other, "x", by=by, width=0.1)
        assert found.share <= found.baseline * 1.2


def test_gaps_are_not_counted():
    before = pa.table({"x": pa.array([1.0, None, 3.0, 4.0]), "y": pa.array([1.0, None, 9.0, 2.0])})
    after = pa.table({"x": pa.array([1.0, 2.0, None, 4.0]), "y": pa.array([1.0, 2.0, 9.0, None])})
    found = interval_disclosure(before, after, ["x", "y"], by="sd", width=0.01)
    assert found.rows.tolist() == [0, 2, 3]
    assert (found.share, found.whole) == (1.0, 1.0)


def test_what_intervals_refuse():
    table = pa.table({"x": [1.0, 2.0], "s": ["a", "b"], "c": [1.0, 1.0]})
    with pytest.raises(ParameterError, match="width=0 is not allowed"):
        interval_disclosure(table, table, "x", width=0)
    with pytest.raises(ParameterError, match="There is no by 'iqr'"):
        interval_disclosure(table, table, "x", by="iqr")
    with pytest.raises(InputError, match="'s' holds codes, and an interval"):
        interval_disclosure(table, table, ["x", "s"])
    with pytest.raises(InputError, match="No value is there both before and after"):
        interval_disclosure(table, table, "c")
