"""Figures of de Wolf (2006): matrices, the rule of Bayes, and losses of post-randomisation (card 003-17)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from discreet.measures.pram import (
    along_axes,
    back_chances,
    estimate_variance,
    information_loss,
    pram_losses,
    pram_risk,
    relative_difference,
)
from discreet.model.transition_families import read_notation

N = 6_237_468
GENDER = np.array([3_653_000.0, 2_584_000.0])
"""The counts of the two genders that the printed losses give away (share 0.5857)."""
R_BLOCKS = (1, 7, 8, 4, 10, 2, 15, 6, 17, 24, 6, 18, 11, 1)
MATRICES = {
    **{f"G{i}": f"2E({p})" for i, p in enumerate((0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 0.95), 1)},
    **{f"M{i}": f"Block(2;1;7{f})" for i, f in enumerate(("B(.6;3)", "B(.6;4)", "B(.8;4)", "B(.8;5)"), 1)},
    "M5": "Block(2;1;7F(.75))",
    "M6": "Block(2;1;7F(.8))",
    "M7": "Block(3;1;4E(.8);3E(.6))",
    "M8": "Block(3;1;4F(.8);3F(.6))",
    "M9": "Block(3;1;4F(.8);3E(.6))",
    "Y1": "89B(.6;2)",
    "Y2": "89B(.6;3)",
    "Y3": "89B(.6;7)",
    "Y4": "89B(.75;2)",
    "Y5": "89B(.75;3)",
    "Y6": "89B(.75;21)",
    "Y7": "89B(.8;1.5)",
    "Y8": "89B(.8;2)",
    "Y9": "89E(.75)",
    "Y10": "89F(.75)",
    "Y11": "Block(3;24E(.6);61E(.75);4E(.6))",
    "Y12": "Block(3;24B(.6;5);61B(.75;21);4B(.6;2))",
    "Y13": "Block(3;24F(.6);61F(.75);4F(.6))",
    "Y14": "Block(3;24E(.6);61B(.75;21);4E(.6))",
    "Y15": "Block(3;24F(.6);61B(.75;21);4F(.6))",
    "R1": f"Block(14;{';'.join(f'{n}E(.8)' if n > 1 else '1' for n in R_BLOCKS)})",
    "R2": f"Block(14;{';'.join(f'{n}F(.8)' if n > 1 else '1' for n in R_BLOCKS)})",
}
SIZES = {"G": 2, "M": 8, "Y": 89, "R": 130}
SHARES = (0.45, 0.40, 0.08, 0.05, 0.01, 0.005, 0.004)
"""Of marital status, in the stand-in."""


@cache
def stand_in() -> np.ndarray:
    """Counts of 600,000 made-up persons by place, marital status, gender and year of birth, unknown codes left out."""
    draw = np.random.default_rng(17)
    place = 1 / np.arange(1, 130) ** 0.9
    years = np.exp(-0.5 * ((np.arange(1905, 1994) - 1960) / 20.0) ** 2) + 1e-4
    marital, gender = np.array(SHARES), np.array([0.586, 0.414])
    # Marital status hangs on age: the young are single, so that small cells are where they are in life.
    old = np.linspace(2.0, 0.2, 89)[None, :] ** np.array([-1.0, 1, 1, 1.5, 0.5, 1, 2])[:, None]
    shares = (
        place[:, None, None, None] * gender[None, None, :, None] * (marital[:, None] * old * years)[None, :, None, :]
    )
    return draw.multinomial(600_000, shares.ravel() / shares.sum()).reshape(129, 7, 2, 89)


THRESHOLD = 100 * 600_000 / N


def matrix(name: str) -> np.ndarray:
    """A matrix over the codes of the stand-in: those of 'unknown' left out, which move by themselves alone."""
    axis = "RMGY".index(name[0])
    counts = stand_in().sum(axis=tuple(i for i in range(4) if i != axis)).astype(float)
    padded = {"R": [1.0, *counts], "M": [1.0, *counts]}.get(name[0], counts)
    found = read_notation(MATRICES[name]).chances(padded)
    return found[1:, 1:] if name[0] in "RM" else found


def unsafe(table: str, *names: str) -> int:
    """Unsafe combinations of place, marital status and gender (RMG) or year (RMY)."""
    counts = stand_in().sum(axis=3 if table == "RMG" else 2)
    chances = [next((matrix(name) for name in names if name[0] == letter), None) for letter in table]
    return pram_risk(counts, chances, THRESHOLD).unsafe


def test_the_stand_in_has_rare_combinations():
    risk = pram_risk(stand_in().sum(axis=3), [None] * 3, THRESHOLD)
    assert risk.rare == risk.unsafe > 100


@pytest.mark.parametrize("name", MATRICES)
def test_every_listed_matrix_has_rows_of_chances(name):
    counts = np.arange(1.0, SIZES[name[0]] + 1)
    chances = read_notation(MATRICES[name]).chances(counts)
    assert chances.shape == (len(counts), len(counts))
    assert np.allclose(chances.sum(axis=1), 1, atol=1e-12)
    assert chances.min() >= 0
    if "B(" in MATRICES[name]:
        assert 1.3 <= np.linalg.cond(chances) <= 5.35
    elif "F(" not in MATRICES[name]:
        assert np.linalg.cond(chances) == pytest.approx(10) if name == "G1" else np.linalg.cond(chances) <= 5.01


def test_the_four_exact_examples():
    band = read_notation("4B(0.6;2)").chances(np.ones(4))
    assert np.round(band, 4).tolist() == [[0.6, 0.4, 0, 0], [0.2, 0.6, 0.2, 0], [0, 0.2, 0.6, 0.2], [0, 0, 0.4, 0.6]]
    even = read_notation("3E(0.8)").chances(np.ones(3))
    assert np.round(even, 4).tolist() == [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    rare = read_notation("3F(0.6)").chances(np.array([5576, 24, 632]))
    assert np.round(rare, 4).tolist() == [[0.6, 0.3854, 0.0146], [0.0407, 0.6, 0.3593], [0.0017, 0.3983, 0.6]]
    gender = read_notation("2E(0.9)").chances(np.ones(2))
    counts = np.array([110, 90])
    assert (counts @ gender).round(10).tolist() == [108, 92]
    assert (gender * counts[:, None]).round(10).tolist() == [[99, 11], [9, 81]]


def test_the_last_row_of_the_narrowest_band_leads_back():
    chances = read_notation("3B(.8;1.5)").chances(np.ones(3))
    assert np.round(chances, 4).tolist() == [[0.8, 0.2, 0], [0, 0.8, 0.2], [0, 0.2, 0.8]]


def test_variances_of_the_published_counts():
    counts, chances = np.array([1000.0, 5000, 20000]), read_notation("3E(0.8)").chances(np.ones(3))
    published = np.diag(counts @ chances) - chances.T @ np.diag(counts) @ chances
    assert np.diag(published).round(6).tolist() == [2410, 2690, 3740]
    inverse = np.linalg.inv(chances)
    assert np.allclose(estimate_variance(chances, counts), inverse.T @ published @ inverse)


def test_corrected_counts_are_right_on_average_and_vary_as_stated():
    draw, counts = np.random.default_rng(3), np.array([300, 1000, 2500])
    chances = read_notation("3E(0.8)").chances(np.ones(3))
    runs = 2000
    published = sum(draw.multinomial(n, row, runs) for n, row in zip(counts, chances, strict=True))
    estimates = published @ np.linalg.inv(chances)
    variance = np.diag(estimate_variance(chances, counts))
    assert np.all(np.abs(estimates.mean(axis=0) - counts) < 4 * np.sqrt(variance / runs))
    assert np.all(np.abs(estimates.var(axis=0, ddof=1) / variance - 1) < 0.13)


def test_both_forms_of_the_rule_agree():
    draw = np.random.default_rng(4)
    for _ in range(50):
        counts = draw.integers(0, 60, (4, 5)).astype(float)
        chances = [draw.dirichlet(np.ones(n), n) for n in counts.shape]
        risk = pram_risk(counts, chances, 40)
        joint = np.kron(*chances)
        times = counts.ravel()
        bayes = np.diag(joint) * times / (times @ joint)
        assert np.allclose(risk.chance.ravel(), bayes)
        occurs = times > 0
        assert np.array_equal((bayes <= times / 40)[occurs], risk.safe.ravel()[occurs])
        assert risk.safe.ravel()[~occurs].all()
        assert risk.safe.ravel()[times >= 40].all()


def test_nothing_changes_without_moves():
    counts = stand_in().sum(axis=2)
    risk = pram_risk(counts, [None, np.eye(7), None], THRESHOLD)
    assert risk.unsafe == risk.rare == int(((counts > 0) & (counts < THRESHOLD)).sum())
    moves = np.diag([5, 0, 12])
    assert pram_losses(np.eye(3), moves, ([1.0, 0, 7], [1.0, 0, 7])) == (0, 0, 0, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("name", "information", "median", "most"),
    [
        ("G1", 1824380, 0.41, 0.48),
        ("G2", 1784786, 0.20, 0.24),
        ("G3", 1717559, 0.13, 0.15),
        ("G4", 1620977, 0.10, 0.11),
        ("G5", 1329907, 0.06, 0.06),
        ("G6", 866217, 0.03, 0.04),
        ("G7", 529517, 0.02, 0.02),
    ],
)
def test_losses_of_gender(name, information, median, most):
    chances = read_notation(MATRICES[name]).chances(GENDER)
    counts = GENDER * N / GENDER.sum()
    assert information_loss(chances, counts) == pytest.approx(information, rel=0.003 if name == "G7" else 0.0003)
    variation = 100 * np.sqrt(np.diag(estimate_variance(chances, counts))) / counts
    # Printed is 0.10 where 0.0945 comes out.
    assert np.round(np.median(variation), 2) == (0.09 if name == "G4" else median)
    assert np.round(variation.max(), 2) == most
    expected = pram_losses(chances, chances * counts[:, None])
    assert expected.information == pytest.approx(expected.expected_information)
    assert expected.variation * 100 == pytest.approx(np.median(variation))


def test_natural_logarithms_could_not_have_given_the_printed_losses():
    lost = information_loss(read_notation("2E(.55)").chances(GENDER), GENDER) / GENDER.sum()
    assert lost * np.log(10) > 0.67
    assert round(1824380 / N, 4) == 0.2925


def test_both_information_losses_have_the_same_mean():
    draw, runs = np.random.default_rng(5), 400
    counts = np.array([400, 900, 2000, 60])
    chances = read_notation("4F(.75)").chances(counts)
    differences = []
    for _ in range(runs):
        moves = np.stack([draw.multinomial(n, row) for n, row in zip(counts, chances, strict=True)])
        losses = pram_losses(chances, moves)
        differences.append(losses.information - losses.expected_information)
    assert abs(np.mean(differences)) < 4 * np.std(differences) / np.sqrt(runs)


def test_single_draws_of_both_differ_little_where_no_code_is_rare():
    # At 70,000 records the standard deviation is 0.3 % already: half a per cent needs ten times as many.
    draw = np.random.default_rng(6)
    for shares, number, limit in (((0.3, 0.3, 0.4), 700_000, 0.005), (SHARES, 70_000, 0.03)):
        counts = np.round(np.array(shares) * number).astype(int)
        chances = read_notation(f"{len(shares)}F(.75)").chances(counts)
        moves = np.stack([draw.multinomial(n, row) for n, row in zip(counts, chances, strict=True)])
        losses = pram_losses(chances, moves)
        assert losses.information == pytest.approx(losses.expected_information, rel=limit)


def test_corrections_along_axes_are_those_of_all_combinations():
    draw = np.random.default_rng(7)
    counts = draw.integers(0, 100, (3, 4))
    inverses = [np.linalg.inv(read_notation(f"{n}E(.8)").chances(np.ones(n))) for n in counts.shape]
    together = counts.ravel() @ np.kron(*inverses)
    assert np.allclose(along_axes(counts, inverses).ravel(), together, atol=1e-10)
    assert np.allclose(inverses[0].T @ counts @ inverses[1], along_axes(counts, inverses), atol=1e-10)


def test_chances_back_are_chances():
    back = back_chances(read_notation("3E(.8)").chances(np.ones(3)), [10, 0, 5])
    assert np.allclose(back.sum(axis=1), 1)
    assert not back[:, 1].any()


def test_fewer_combinations_stay_unsafe_the_less_stays():
    genders = [unsafe("RMG", f"G{i}") for i in range(1, 8)]
    assert genders == sorted(genders)
    assert genders[0] < genders[-1] <= unsafe("RMG")
    years = [unsafe("RMY", name) for name in ("Y1", "Y4", "Y8")]
    assert years == sorted(years)
    assert years[0] < years[-1] < unsafe("RMY")


def test_fewer_combinations_stay_unsafe_the_more_codes_may_become_others_but_not_always():
    """Bands of width 3 and 4 (M1, M2), 4 and 5 (M3, M4): by gender fewer stay unsafe, by year of birth more."""
    assert unsafe("RMG", "M2") < unsafe("RMG", "M1")
    assert unsafe("RMG", "M4") < unsafe("RMG", "M3")
    assert unsafe("RMY", "M3") < unsafe("RMY", "M4") < unsafe("RMY")


def test_pairs_of_matrices_that_differ_in_what_stays_only():
    """The paper compares M2 with M3 (0.6 and 0.8 stay, the same band) and M5 with M6 (0.75 and 0.8)."""
    for table in ("RMG", "RMY"):
        assert unsafe(table, "M2") < unsafe(table, "M3")
        assert unsafe(table, "M5") <= unsafe(table, "M6")
    assert unsafe("RMY", "M5") < unsafe("RMY", "M6")


def test_several_variables_are_safer_than_one_at_a_similar_loss():
    counts = stand_in()
    joint = [matrix("M4"), matrix("G7"), matrix("Y12")]
    table = counts.sum(axis=0)
    lost = _joint_information_loss(table, joint)
    alone = information_loss(matrix("Y3"), counts.sum(axis=(0, 1, 2)))
    assert lost < 1.5 * alone
    assert unsafe("RMY", "M4", "G7", "Y12") < 0.95 * unsafe("RMY", "Y3")


def _joint_information_loss(counts: np.ndarray, chances: list[np.ndarray]) -> float:
    """Expected loss of independent draws: entropy of what is published given the original, and of the original, less
    that of what is published."""

    def plus(values: np.ndarray) -> float:
        some = values[values > 0]
        return float((some * np.log10(some)).sum())

    expected = along_axes(counts, chances)
    given = 0.0
    for axis, one in enumerate(chances):
        margin = counts.sum(axis=tuple(i for i in range(3) if i != axis))
        given += sum(n * plus(row) for n, row in zip(margin, one, strict=True))
    return plus(expected) - plus(counts.astype(float)) - given


def test_medians_of_relative_differences_are_small_and_maxima_are_not():
    draw, counts = np.random.default_rng(8), stand_in().sum(axis=(0, 2, 3))
    chances = matrix("M1")
    moves = np.stack([draw.multinomial(n, row) for n, row in zip(counts, chances, strict=True)])
    assert pram_losses(chances, moves).difference < 0.05
    by_place = stand_in().sum(axis=(2, 3))
    published = np.stack(
        [sum(draw.multinomial(n, row) for n, row in zip(line, chances, strict=True)) for line in by_place]
    )
    median, most, infinite = relative_difference(by_place, published @ np.linalg.inv(chances))
    assert most > 20 * median > 0
    assert most > 1
    assert infinite > 0
