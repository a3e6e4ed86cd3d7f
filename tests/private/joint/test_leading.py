"""Few persons who lead sums over several columns: found at home before X'X is opened, where no column alone shows them.

The attackers compute shares with code of their own: by brute force over groups, and by least squares over directions.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("cryptography")
pytest.importorskip("rbcl")

import discreet as ds
from discreet.private.joint.leading import OwnDirections
from discreet.private.joint.safety import RevealLimits
from discreet.private.problems import ProtocolError
from tests.private.joint.pooled import people
from tests.private.joint.test_reveal import NAMES, opened, refused


def share(X, group) -> float:
    """The largest share of a group in the squares of any direction, as a generalised eigenvalue would have it."""
    u, singular, _ = np.linalg.svd(X, full_matrices=False)
    part = u[:, singular > singular[0] * 1e-12][list(group)]
    return float(np.linalg.svd(part, compute_uv=False)[0] ** 2)


def brute(X, size) -> float:
    """Of all groups of so many."""
    return max(share(X, group) for group in combinations(range(len(X)), size))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 4), st.sampled_from([0.3, 0.5, 0.75]))
def test_a_group_above_the_share_is_always_found(seed, size, columns, most):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(14), rng.normal(size=(14, columns)) * 10.0 ** rng.integers(-6, 7, columns)])
    X[rng.integers(14, size=2)] *= rng.choice([1, 5, 100])
    own = OwnDirections(X, np.ones(14), np.ones(14))
    if brute(X, size) > most + 1e-9:
        assert own.led(size, most)
    if size == 1:
        assert own.led(1, most) == (own.shares.max() > most)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_what_holds_at_home_holds_in_the_pool_and_in_all_that_is_left_of_it(seed):
    rng = np.random.default_rng(seed)
    parts = [np.column_stack([np.ones(12), rng.standard_t(2, size=(12, 2))]) for _ in range(3)]
    home = max(share(parts[0], [k]) for k in range(12))
    for others in ([], [1], [2], [1, 2]):
        whole = np.concatenate([parts[0], *(parts[k] for k in others)])
        assert max(share(whole, [k]) for k in range(12)) <= home + 1e-9


def test_rows_that_stand_for_several_persons_count_as_several():
    X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    persons = np.array([5.0, 1.0, 4.0])
    whole = np.repeat(X, persons.astype(int), axis=0)
    own = OwnDirections(X, np.ones(3), persons)
    for k, first in enumerate((0, 5, 6)):
        assert own.shares[k] == pytest.approx(share(whole, [first]))
    for most in (0.1, 0.3, 0.5, 0.7, 0.9):
        assert own.led(2, most) or brute(whole, 2) <= most


def hidden_in_a_direction(rng, owners, name):
    """One person who is ordinary in every column and alone in a sum of some of them."""
    for one in owners.values():
        rest = rng.normal(size=(2, len(one["x"])))
        one["x2"], one["x3"] = rest[0], one["x"] + rest[0] + 10.0 ** rng.uniform(-6, -2) * rest[1]
    row = rng.integers(len(owners[name]["x"]))
    owners[name]["x3"][row] -= rng.choice([-1, 1]) * rng.uniform(0.5, 2)
    return row


def test_without_the_look_at_home_a_person_in_a_direction_could_be_read_off():
    """The attack: the direction in which X'X is small is that person's alone; the products with it are its record."""
    owners, rng = people(NAMES), np.random.default_rng(8)
    row = hidden_in_a_direction(rng, owners, "B")
    assert "of B alone, fewer than 3 persons" in refused(owners, formula="z ~ x + x2 + x3")
    together = ds.private.join(owners, limits=RevealLimits(most_own_leverage=1))
    with pytest.raises(ProtocolError, match="leverage"):
        together.linear("z ~ x + x2 + x3")
    shown = np.zeros((4, 4))
    shown[np.triu_indices(4)] = opened(together.transcript, "X'X")
    shown = shown + np.triu(shown, 1).T
    products = shown @ np.array([0.0, 1.0, 1.0, -1.0])  # of all columns with x + x2 - x3
    assert products[1] / products[0] == pytest.approx(owners["B"]["x"][row], rel=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_a_person_in_a_direction_is_never_opened(seed):
    rng = np.random.default_rng(seed)
    owners = people(NAMES, seed=seed)
    hidden_in_a_direction(rng, owners, rng.choice(list(NAMES)))
    refused(owners, ["linear", "logit"][seed % 2], "y ~ x + x2 + x3")


def test_a_couple_in_a_direction_is_not_opened_either():
    owners, rng = people(NAMES), np.random.default_rng(8)
    row = hidden_in_a_direction(rng, owners, "C")
    other = (row + 1) % 200
    for column in ("x", "x2", "x3"):
        owners["C"][column][other] = owners["C"][column][row]
    assert "of C alone, fewer than 3 persons" in refused(owners, formula="z ~ x + x2 + x3")


def test_an_outcome_that_stands_out_among_the_columns_is_not_opened():
    """Its outcome and its columns are ordinary, and together they are not."""
    owners, rng = people(NAMES), np.random.default_rng(2)
    for one in owners.values():
        one["z"] = one["x"] + 1e-3 * rng.normal(size=200)
    owners["A"]["z"][3] = 0.2 - owners["A"]["z"][3]
    owners["A"]["x"][3] = 1.5
    assert "of A alone" in refused(owners)


def test_a_survey_weight_that_is_nearly_all_is_not_opened():
    owners = people(NAMES)
    for one in owners.values():
        one["w"] = np.ones(200)
    owners["B"]["w"][4] = 5_000.0
    together = ds.private.join(owners)
    with pytest.raises(ProtocolError) as caught:
        together.linear("z ~ x", weights="w")
    assert caught.value.kind == "not safe to reveal"
    assert opened(together.transcript, "X'X") is None


def test_a_step_that_few_persons_lead_is_not_opened():
    """All persons of one owner but two have a certain response: with weights of that step its sums are theirs alone."""
    rng, owners = np.random.default_rng(1), {}
    for name in NAMES:
        x = np.append(np.repeat([-6.0, 6.0], 99), [0.1, 0.3]) if name == "B" else rng.normal(size=200)
        owners[name] = {"x": x, "y": (rng.random(200) < 1 / (1 + np.exp(-2.5 * x))).astype(int)}
    together = ds.private.join(owners)
    with pytest.raises(ProtocolError) as caught:
        together.logit("y ~ x")
    assert caught.value.kind == "not safe to reveal"
    assert "of B alone" in str(caught.value)
    assert opened(together.transcript, "X'X") is not None
    seen = [k for k in range(1, 10) if opened(together.transcript, f"step {k}: X'WX, X'(y-mu), log-likelihood")]
    assert seen
    limits = RevealLimits(most_own_leverage=1)
    whole = ds.private.join(owners, limits=limits).logit("y ~ x")
    assert whole.rounds > len(seen)
    eta = np.column_stack([np.ones(200), owners["B"]["x"]]) @ whole.coefficients
    weights = np.exp(-np.abs(eta)) / (1 + np.exp(-np.abs(eta))) ** 2
    assert share(np.column_stack([np.ones(200), owners["B"]["x"]]) * np.sqrt(weights)[:, None], [198, 199]) > 0.75


def test_models_of_counts_alone_are_judged_by_their_cells():
    owners = people(NAMES)
    owners["A"]["g"][:] = "a"
    owners["A"]["g"][0] = "b"
    for name in "BC":
        owners[name]["g"] = np.repeat(["a", "b", "c"], [80, 60, 60])
    assert ds.private.join(owners, levels={"g": list("abc")}).logit("y ~ g").persons == 600


def test_ordinary_records_pass():
    """Over-refusal would make the look worthless: none of 20 ordinary files of 60 persons an owner is refused."""
    for seed in range(20):
        owners = people(NAMES, size=60, seed=seed)
        for one in owners.values():
            one["g"] = np.resize(["a", "b", "c"], 60)
        rng = np.random.default_rng(seed)
        for one in owners.values():
            X = np.column_stack([np.ones(60), one["x"], one["g"] == "b", one["g"] == "c", rng.normal(size=(60, 3))])
            assert not OwnDirections(X, np.ones(60), np.ones(60)).led(2, 0.75)
