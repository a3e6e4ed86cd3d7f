"""Drop/add-up-to-q."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import InputError, ParameterError, ProtectionError
from discreet.records.dropping import (
    DropAddRule,
    dropped,
    dropped_and_added,
    permanent_numbers,
    perturbed_weights,
    replicate_interval,
)

KEY = bytes(range(32))


def survey(seed: int, n: int, shape: tuple[int, ...] = (3, 4)) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, n) for size in shape], axis=1)
    return codes, permanent_numbers(np.arange(n), KEY)


@pytest.mark.parametrize(
    ("rounding", "count", "q"),
    [
        ("ceil", 198, 2),
        ("ceil", 193, 2),
        ("ceil", 201, 3),
        ("ceil", 271, 3),
        ("ceil", 279, 3),
        ("ceil", 200, 2),
        ("above", 200, 3),
        ("above", 198, 2),
    ],
)
def test_q_of_the_card(rounding, count, q):
    assert DropAddRule(0.01, rounding).caps(np.array([count]))[0] == q


def test_q_is_exact():
    assert DropAddRule(0.07).caps(np.array([100]))[0] == 7
    assert DropAddRule(Fraction(1, 3)).caps(np.array([3, 4]))[0:2].tolist() == [1, 2]
    assert DropAddRule(0.01, "above").caps(np.array([0]))[0] == 0


def test_the_motivating_tables():
    """A - B shows one record without noise; with noise it does not (the printed 80 must be 79)."""
    a, b = np.array([[35, 45], [55, 65]]), np.array([[34, 45], [55, 65]])
    assert (a - b).tolist() == [[1, 0], [0, 0]]
    assert b.sum(axis=1)[0] == 79
    noisy = np.array([[36, 44], [56, 64]]) - np.array([[33, 45], [55, 65]])
    assert noisy.tolist() == [[3, -1], [1, -1]]
    assert noisy.sum(axis=0).tolist() == [4, -2]
    assert noisy.sum() == 2


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 300), st.sampled_from([(4,), (3, 4), (2, 3, 2)]), st.booleans())
def test_the_same_question_has_the_same_answer(seed, n, shape, weighted):
    codes, numbers = survey(seed, n, shape)
    rule = DropAddRule(0.1)
    try:
        found = dropped_and_added(codes, shape, numbers, KEY, rule, weighted=weighted)
    except ProtectionError:
        assert weighted
        return
    order = np.random.default_rng(seed).permutation(n)
    again = dropped_and_added(codes[order], shape, numbers[order], KEY, rule, weighted=weighted)
    assert (again.counts == found.counts).all()
    turned = dropped_and_added(codes[:, ::-1], shape[::-1], numbers, KEY, rule, weighted=weighted)
    assert (found.counts == turned.counts.T).all()
    relabelled = dropped_and_added(np.array(shape) - 1 - codes, shape, numbers, KEY, rule, weighted=weighted)
    assert (np.flip(relabelled.counts) == found.counts).all()
    before = found.counts - found.moved
    assert (np.abs(found.moved) <= found.cap).all()
    assert (found.counts >= 0).all()
    assert (found.counts[before == 0] == 0).all()
    if weighted:
        assert (found.counts[before > 0] > 0).all()
    assert found.margin(0).sum() == found.counts.sum()


def test_one_record_less_gives_other_seeds_everywhere():
    codes, numbers = survey(1, 500)
    full = dropped_and_added(codes, (3, 4), numbers, KEY)
    assert full.seeds.shape == (2, 3, 4)
    for record in range(0, 500, 25):
        rest = np.arange(500) != record
        less = dropped_and_added(codes[rest], (3, 4), numbers[rest], KEY)
        assert (full.seeds != less.seeds).all()


def test_the_number_moved_is_even_over_its_range():
    """Card 002, check 3: chi-square over 10^5 cells."""
    cells = 100_000
    codes = np.repeat(np.arange(cells), 3)[:, None]
    found = dropped_and_added(codes, (cells,), permanent_numbers(np.arange(3 * cells), KEY), KEY, DropAddRule(0.4))
    assert (found.cap == 2).all()
    observed = np.bincount(found.moved + 2, minlength=5)
    assert stats.chisquare(observed).pvalue > 1e-3
    assert abs(found.moved.mean()) < 4 * np.sqrt(2 / cells)


def test_factors_of_the_card():
    codes, numbers = np.zeros((50, 1), np.int64), permanent_numbers(np.arange(50), KEY)
    seen = set()
    for key in range(60):
        secret = key.to_bytes(32, "big")
        table = dropped_and_added(codes, (1,), numbers, secret, DropAddRule(0.04), weighted=True)
        weights = perturbed_weights(codes, table, numbers, np.arange(1.0, 51), secret)
        moved = int(table.moved[0])
        seen.add(moved)
        assert weights.factor[0] == pytest.approx(50 / (50 + moved))
        assert weights.times.sum() == 50 + moved
        assert set(weights.times.tolist()) <= {0 if moved < 0 else 2, 1}
    assert seen == {-2, -1, 0, 1, 2}


def test_weighted_estimates_keep_the_universe_and_their_expectation():
    """Card 002, check 4: 600 sets of permanent numbers."""
    codes, _ = survey(3, 944, (2, 3))
    rng = np.random.default_rng(3)
    weight = rng.lognormal(0, 0.7, 944)
    replicates = weight[:, None] * rng.uniform(0.5, 1.5, (944, 4))
    flat = codes[:, 0] * 3 + codes[:, 1]
    truth = np.bincount(flat, weight)
    found = []
    for key in range(600):
        secret = key.to_bytes(32, "big")
        own = permanent_numbers(np.arange(944), secret)
        table = dropped_and_added(codes, (2, 3), own, secret, weighted=True)
        new = perturbed_weights(codes, table, own, weight, secret, replicates=replicates)
        assert new.weight.sum() == pytest.approx(weight.sum(), rel=1e-9)
        assert new.replicates.sum(axis=0) == pytest.approx(replicates.sum(axis=0), rel=1e-9)
        found.append(np.bincount(flat, new.weight))
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - truth) < 3.5 * error).all()
    assert (np.std(found, axis=0) > 0).all()
    assert "averages out" in table.notes[0]


def test_other_names_of_the_same_cells_give_no_new_noise():
    """A variable named twice, one with a single code, or another order: fresh noise would average out for nothing."""
    codes, numbers = survey(6, 300, (3, 2))
    area = codes[:, :1]
    one, plain = np.zeros_like(area), dropped_and_added(area, (3,), numbers, KEY).counts
    others = [((area, one), (3, 1)), ((one, area), (1, 3)), ((area, one, one), (3, 1, 1))]
    for columns, shape in others:
        found = dropped_and_added(np.hstack(columns), shape, numbers, KEY).counts
        assert np.array_equal(found.ravel(), plain)
    twice = dropped_and_added(np.hstack([area, area]), (3, 3), numbers, KEY).counts
    assert np.array_equal(np.diag(twice), plain)
    crossed = dropped_and_added(codes, (3, 2), numbers, KEY).counts
    turned = dropped_and_added(np.ascontiguousarray(codes[:, ::-1]), (2, 3), numbers, KEY).counts
    assert np.array_equal(crossed, turned.T)


def test_equal_weights_give_no_noise_and_a_warning():
    codes, numbers = survey(4, 600, (2, 2))
    table = dropped_and_added(codes, (2, 2), numbers, KEY, weighted=True)
    new = perturbed_weights(codes, table, numbers, np.full(600, 3.0), KEY)
    flat = codes[:, 0] * 2 + codes[:, 1]
    assert np.bincount(flat, new.weight) == pytest.approx(np.bincount(flat, np.full(600, 3.0)))
    assert "All weights are equal" in new.notes[0]
    assert table.moved.any()


def test_small_questions_are_refused_whole():
    codes, numbers = survey(5, 40, (2, 2))
    with pytest.raises(ProtectionError, match="1 universe of the table"):
        dropped_and_added(codes, (2, 2), numbers, KEY, DropAddRule(min_universe=41))
    with pytest.raises(ProtectionError, match="margins of the table"):
        dropped_and_added(codes, (2, 2), numbers, KEY, DropAddRule(min_margin=39))
    with pytest.raises(ProtectionError, match=r"cells? of the table have less than 2"):
        dropped_and_added(codes[:1], (2, 2), numbers[:1], KEY, weighted=True)
    assert dropped_and_added(codes[:1], (2, 2), numbers[:1], KEY).counts.sum() in (0, 1, 2)


def test_replicates_give_variance_and_interval():
    estimate, replicates = np.array([10.0]), np.array([[9.0], [11.0], [12.0], [8.0]])
    found = replicate_interval(estimate, replicates)
    assert found.error[0] == pytest.approx(np.sqrt(10 / 4))
    assert found.upper[0] == pytest.approx(10 + 1.959964 * np.sqrt(2.5), abs=1e-5)
    assert replicate_interval(estimate, replicates, scale=0.75).error[0] == pytest.approx(np.sqrt(7.5))


def test_drop_q_leaves_out_exactly_q_and_always_the_same():
    numbers = permanent_numbers(np.arange(100), KEY)
    keep = dropped(numbers, 5, KEY)
    assert (keep == 0).sum() == 5
    assert (dropped(numbers[::-1].copy(), 5, KEY) == keep[::-1]).all()
    with pytest.raises(ParameterError, match="would drop all"):
        dropped(numbers, 100, KEY)


def test_bad_questions_are_refused():
    codes, numbers = survey(6, 10)
    with pytest.raises(InputError, match="lies outside"):
        dropped_and_added(codes, (2, 4), numbers, KEY)
    with pytest.raises(InputError, match="9 permanent numbers"):
        dropped_and_added(codes, (3, 4), numbers[:9], KEY)
    with pytest.raises(InputError, match="64-bit"):
        dropped_and_added(codes, (3, 4), numbers.astype(float), KEY)
    with pytest.raises(ParameterError, match="rate="):
        DropAddRule(0.5)
    with pytest.raises(ParameterError, match="no secret"):
        dropped_and_added(codes, (3, 4), numbers, 7)


def test_a_cell_of_one_record_has_noise_as_a_count_and_is_refused_with_weights():
    """Card 002, check 6: it may become 0, 1 or 2; with weights nothing could change it, and so nothing is answered."""
    codes, numbers = np.array([[0], [1], [1], [1]]), permanent_numbers(np.arange(4), KEY)
    secrets = [key.to_bytes(32, "big") for key in range(60)]
    counts = {int(dropped_and_added(codes, (2,), numbers, secret).counts[0]) for secret in secrets}
    assert counts == {0, 1, 2}
    with pytest.raises(ProtectionError, match="1 cells of the table have less than 2 records"):
        dropped_and_added(codes, (2,), numbers, KEY, weighted=True)
