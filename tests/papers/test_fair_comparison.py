"""Tables 2 to 10 of the comparison of cell keys with small count rounding (cards 004)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import discreet as ds
from discreet.errors import InputError
from discreet.measures.attribute import attribute_risk, best_guesses
from discreet.measures.loss import hellinger_utility
from discreet.model.noise_table import FRACTIONS
from discreet.solve.additive import expected_inner, restored
from discreet.tables.perturb.cell_key import perturbed_counts

# Rows: parties A, B, C; columns: young m, f, middle m, f, old m, f.
T1 = np.array([[0, 0, 8, 4, 4, 1], [0, 1, 3, 5, 1, 0], [2, 3, 9, 6, 2, 7]], float)
# Rows: A, B, C, total; columns: young, middle, old, male, female, total.
T3 = np.array([[0, 16, 5, 12, 4, 18], [0, 10, 3, 3, 4, 10], [5, 11, 7, 10, 16, 29], [5, 37, 15, 31, 29, 57]], float)
T5 = np.array([[0, 0, 8, 4, 4, 1], [0, 3, 3, 5, 0, 0], [2, 3, 9, 6, 2, 7]], float)
OTHER = np.array([[0, 0, 8, 4, 4, 1], [0, 0, 3, 5, 3, 0], [2, 3, 9, 6, 2, 7]], float)
T6 = np.array(
    [
        [0, 14.9688, 3.9687, 13.5937, 5.3438, 18.9375],
        [0, 8.8437, 1.8438, 4.9688, 5.7187, 10.6875],
        [5.8182, 12.9119, 8.9119, 10.9460, 16.6960, 27.6420],
        [5.8182, 36.7244, 14.7244, 29.5085, 27.7585, 57.2670],
    ]
)
T7 = np.array(
    [
        [0, 0, 10.7449, 4.2239, 2.8489, 1.1199],
        [0, 0, 4.1116, 4.7322, 0.8572, 0.9866],
        [2.3040, 3.5142, 5.1130, 7.7989, 3.5291, 5.3829],
    ]
)
T8 = np.array(
    [
        [0, 0, 8.4706, 3.5294, 3.5294, 1.4706],
        [0.8182, 2.1818, 2.1818, 5.8182, 0, 0],
        [2.2414, 2.7586, 6.7241, 8.2759, 4.0345, 4.9655],
    ]
)


def published_of(inner: np.ndarray) -> np.ndarray:
    """The 24 published cells of an inner table, row by row."""
    full = np.vstack([inner, inner.sum(axis=0)])
    ages = full.reshape(4, 3, 2)
    columns = [*ages.sum(axis=2).T, ages[:, :, 0].sum(axis=1), ages[:, :, 1].sum(axis=1), full.sum(axis=1)]
    return np.stack(columns, axis=1)


COVER = csr_array(np.stack([published_of(np.eye(18)[i].reshape(3, 6)).ravel() for i in range(18)]))


def restored_inner(published: np.ndarray, rule: str = "cascade") -> tuple[np.ndarray, np.ndarray]:
    fit = restored(published.ravel().astype(float), COVER, rule=rule).value
    return fit, expected_inner(fit, COVER).reshape(3, 6)


def test_table_2_is_the_sum_of_table_1():
    assert published_of(T1)[3].tolist() == [6, 35, 15, 29, 27, 56]


@pytest.mark.parametrize("rule", ["cascade", "negatives_only", "nnls"])
def test_table_6_restores_additivity(rule):
    plain = restored(T3.ravel(), COVER, rule="none").value.reshape(4, 6)
    assert plain[0, 0] == pytest.approx(-0.75)
    assert plain[1, 0] == pytest.approx(-0.8409, abs=5e-5)
    fit = restored(T3.ravel(), COVER, rule=rule).value.reshape(4, 6)
    assert np.abs(fit - T6).max() < 5.1e-5
    assert np.abs(published_of(expected_inner(fit.ravel(), COVER).reshape(3, 6)) - fit).max() < 1e-8


@pytest.mark.parametrize("rule", ["cascade", "negatives_only", "nnls", "none"])
def test_what_adds_up_already_is_left_as_it_is(rule):
    """Card 004, check 3."""
    for inner in (T1, T5, OTHER):
        published = published_of(inner).ravel().astype(float)
        assert np.abs(restored(published, COVER, rule=rule).value - published).max() < 1e-9


def test_tables_7_and_8_expect_inner_frequencies():
    assert np.abs(restored_inner(T3)[1] - T7).max() < 5e-5
    t4 = published_of(T5)
    assert t4[3].tolist() == [8, 35, 14, 28, 29, 57]
    fit, inner = restored_inner(t4)
    assert fit == pytest.approx(t4.ravel(), abs=1e-9)
    assert np.abs(inner - T8).max() < 5e-5


def test_table_9_guesses_the_party():
    printed = {
        "original": [1, 0.75, 0.45, 0.40, 0.5714, 0.875],
        "ckm": [1, 1, 0.5381, 0.4655, 0.4878, 0.7187],
        "scr": [0.7326, 0.5584, 0.4875, 0.4696, 0.5334, 0.7715],
    }
    tables = {"original": T1, "ckm": restored_inner(T3)[1], "scr": restored_inner(published_of(T5))[1]}
    truth = best_guesses(T1).category
    for name, inner in tables.items():
        guess = best_guesses(inner)
        assert guess.probability == pytest.approx(printed[name], abs=5.1e-5)
        starred = [name != "original" and k in (2, 4) for k in range(6)]
        assert (guess.category != truth).tolist() == starred


def test_table_10_takes_the_intruder_out():
    printed = {
        "original": [1, 1, 0.4737, 0.4286, 0.6667, 1],
        "ckm": [1, 1, 0.5664, 0.4950, 0.5660, 0.8295],
        "scr": [1, 0.7001, 0.5172, 0.4978, 0.6146, 0.9134],
    }
    tables = {"original": T1, "ckm": restored_inner(T3)[1], "scr": restored_inner(published_of(T5))[1]}
    truth = best_guesses(T1, self_removal=True).category
    for name, inner in tables.items():
        guess = best_guesses(inner, self_removal=True)
        assert guess.probability == pytest.approx(printed[name], abs=5.1e-5)
        assert (guess.category != truth).tolist() == [name != "original" and k in (2, 4) for k in range(6)]


def test_hellinger_utilities():
    t2 = published_of(T1)
    assert hellinger_utility(t2, published_of(T5)) == pytest.approx(0.945652, abs=1e-6)
    assert hellinger_utility(t2, T3) == pytest.approx(0.932556, abs=1e-6)
    assert hellinger_utility(t2, restored_inner(T3)[0].reshape(4, 6)) == pytest.approx(0.948147, abs=1e-6)
    assert hellinger_utility(t2, published_of(OTHER)) == pytest.approx(0.945958, abs=1e-6)
    assert hellinger_utility(T1, T5) == pytest.approx(0.8829, abs=5e-5)
    assert hellinger_utility(T1, restored_inner(T3)[1]) == pytest.approx(0.8256, abs=5e-5)
    assert hellinger_utility(T1, restored_inner(published_of(T5))[1]) == pytest.approx(0.8333, abs=5e-5)


@pytest.mark.parametrize(
    ("table", "self_removal", "counts", "risk"),
    [
        ("scr", False, (1, 0, 0), 0.0),
        ("ckm", False, (1, 2, 1), 0.5556),
        ("scr", True, (3, 1, 1), 0.7143),
        ("ckm", True, (3, 2, 2), 0.9091),
        ("other", False, (1, 2, 1), 0.5556),
        ("other", True, (3, 2, 2), 0.9091),
        ("identity", False, (1, 0, 0), 0.0),
        ("identity", True, (3, 2, 2), 0.9091),
    ],
)
def test_risks(table, self_removal, counts, risk):
    published = {"scr": published_of(T5), "ckm": T3, "other": published_of(OTHER), "identity": published_of(T1)}
    found = attribute_risk(T1, restored_inner(published[table])[1], self_removal=self_removal)
    assert (found.original, found.perturbed, found.correct) == counts
    assert found.risk == pytest.approx(risk, abs=5e-5)


def test_beta_leans_towards_precision_or_recall():
    inner = restored_inner(T3)[1]
    assert attribute_risk(T1, inner, beta=1e-4).risk == pytest.approx(0.5, abs=1e-6)
    assert attribute_risk(T1, inner, beta=1e4).risk == pytest.approx(1.0, abs=1e-6)


def test_zero_inner_cells_left_out_change_table_7():
    """The card's figure; a published cell that has lost all its inner cells is refused."""
    there = COVER.toarray()[T1.ravel() > 0]
    fit = restored(T3.ravel(), COVER).value
    with pytest.raises(InputError, match="zero cells"):
        expected_inner(fit, csr_array(there))
    filled = there.sum(axis=0) > 0
    inner = np.zeros(18)
    inner[T1.ravel() > 0] = expected_inner(fit[filled], csr_array(there[:, filled]))
    assert inner.reshape(3, 6)[1, 4] == pytest.approx(1.8438, abs=5.1e-5)


@pytest.mark.parametrize(
    ("number", "interval", "points"),
    [(400, 0.008, 0.075), pytest.param(6000, 0.003, 0.03, marks=pytest.mark.paper)],
)
def test_redrawn_cell_keys_have_the_published_utilities_and_risks(number, interval, points):
    """Card 004: 95 % intervals of utility and shares of risks; with 6000 draws at the card's tolerance."""
    table = ds.NoiseTable.maximum_entropy(D=5, V=3, js=2, monotone=False)
    counts = published_of(T1).ravel().astype(np.int64)
    rng = np.random.default_rng(7)
    utility, fair, risks, risks_removed = [], [], [], []
    for _ in range(number):
        keys = rng.integers(0, FRACTIONS, 18)
        cell_key = np.array([keys_of(keys, j) for j in range(24)])
        found = perturbed_counts(counts, cell_key, table).value.astype(float)
        fit, inner = restored_inner(found.reshape(4, 6))
        utility.append(hellinger_utility(counts, found))
        fair.append(hellinger_utility(counts, fit))
        risks.append(attribute_risk(T1, inner).risk)
        risks_removed.append(attribute_risk(T1, inner, self_removal=True).risk)
    assert np.percentile(utility, [2.5, 97.5]) == pytest.approx([0.8876, 0.9396], abs=interval)
    assert np.percentile(fair, [2.5, 97.5]) == pytest.approx([0.8914, 0.9656], abs=interval)
    assert np.mean(np.array(fair) > utility) > 0.93
    assert shares(risks, [0, 5 / 9]) == pytest.approx([0.506, 0.466], abs=points)
    assert shares(risks_removed, [0, 5 / 7, 10 / 11, 1]) == pytest.approx([0.375, 0.079, 0.497, 0.041], abs=points)


def keys_of(keys: np.ndarray, column: int) -> int:
    """Sum of the keys of the persons in a published cell; all persons of an inner cell together have one key here."""
    inner = COVER[:, [column]].toarray().ravel() > 0
    return int(keys[inner & (T1.ravel() > 0)].sum() % FRACTIONS)


def shares(found: list[float], values: list[float]) -> list[float]:
    return [float(np.mean(np.abs(np.array(found) - value) < 1e-9)) for value in values]


def test_small_count_rounding_has_the_two_outcomes_and_no_other():
    """Card 004: 2000 keys; each outcome with probability one half."""
    from discreet.engine.draws import draws
    from discreet.tables.perturb.cover import cover_of
    from discreet.tables.perturb.small_counts import rounded_small_counts

    by = {name: ds.Hierarchy.flat(codes) for name, codes in (("party", "ABC"), ("age", "ymo"), ("sex", "mf"))}
    codes = np.array([[p + 1, a + 1, s + 1] for p in range(3) for a in range(3) for s in range(2)], np.int32)
    cover = cover_of(codes, by, [["party", "age"], ["party", "sex"]])
    counts = T1.ravel().astype(np.int64)
    outcomes: dict[tuple[int, ...], int] = {}
    for number in range(2000):
        draw = draws(number.to_bytes(32, "big"), "small_counts", 1, np.arange(18))
        found = tuple(rounded_small_counts(counts, cover, draw, base=3).inner.tolist())
        outcomes[found] = outcomes.get(found, 0) + 1
    expected = {tuple(table.ravel().astype(int).tolist()) for table in (T5, OTHER)}
    assert set(outcomes) == expected
    assert all(abs(count - 1000) < 4 * np.sqrt(500) for count in outcomes.values())
    assert published_of(OTHER)[1].tolist() == [0, 8, 3, 6, 5, 11]
    assert published_of(OTHER)[3].tolist() == [5, 35, 17, 31, 26, 57]


def test_one_call_gives_the_figures_of_the_card():
    from discreet.measures import fair_comparison, fair_over_runs

    found = fair_comparison(T1, T3.ravel(), COVER)
    assert (found.utility, found.restored_utility) == pytest.approx((0.932556, 0.948147), abs=1e-6)
    assert found.inner_utility == pytest.approx(0.8256, abs=5e-5)
    assert (found.risk.risk, found.self_risk.risk) == pytest.approx((0.5556, 0.9091), abs=5e-5)
    assert found.rule == "cascade"
    runs = fair_over_runs(T1, [T3.ravel(), published_of(T5).ravel()], COVER)
    assert runs.runs == 2
    assert runs.risk[0] == pytest.approx((5 / 9 + 0) / 2)


def test_persons_can_be_counted_instead_of_combinations():
    """Young men: 2 persons, all of party C, found in both; young women: 4, wrongly taken for certain."""
    from discreet.measures import fair_comparison

    risk = fair_comparison(T1, T3.ravel(), COVER, by_units=True).risk
    assert (risk.original, risk.perturbed, risk.correct) == (2, 6, 2)


def test_no_exact_disclosure_is_flagged():
    from discreet.measures import attribute_risk

    risk = attribute_risk(np.ones((2, 2)), np.ones((2, 2)))
    assert risk.risk == 0
    assert risk.nothing


def test_random_tables_have_no_small_counts_after_at_most_four_rounds():
    """The 300 random tables of card 004, by the card's steps alone."""
    import discreet as ds
    from discreet.engine.draws import draws
    from discreet.tables.perturb.cover import cover_of
    from discreet.tables.perturb.small_counts import rounded_small_counts

    by = {
        name: ds.Hierarchy.flat([f"{name}{i}" for i in range(size)])
        for name, size in zip("abc", (3, 3, 2), strict=True)
    }
    codes = np.array([[a + 1, b + 1, c + 1] for a in range(3) for b in range(3) for c in range(2)], np.int32)
    cover = cover_of(codes, by, [["a", "b"], ["a", "c"]])
    rng = np.random.default_rng(4)
    for number in range(300):
        base, counts = int(rng.choice([3, 5, 10])), rng.poisson(rng.choice([0.3, 1.0, 3.0]), 18)
        draw = draws(number.to_bytes(32, "big"), "small_counts", 1, np.arange(18))
        found = rounded_small_counts(counts, cover, draw, base=base, exchanges=0)
        assert not np.any((found.published > 0) & (found.published < base))
        assert set(found.inner[found.inner != counts].tolist()) <= {0, base}
        assert 2 * abs(int(found.inner.sum()) - int(counts.sum())) <= base
        assert found.rounds <= 4
