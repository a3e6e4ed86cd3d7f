"""Releases that say of bounds, distances, learning, weights and robust means what is not so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.microaggregation import microaggregated_claim
from discreet.model.custodian import RecordCustodian
from discreet.verify import Verdict, check_records
from discreet.verify.records.paired import PRICE_UNIT, proved_bound

METHODS: dict[str, dict[str, Any]] = {
    "pairs": {"k": 2, "algorithm": "optimal_2", "missing": "apart"},
    "quick": {"k": 2, "algorithm": "optimal_2", "effort": "quick", "missing": "apart"},
    "learnt": {"k": 3, "algorithm": "automaton", "missing": "apart"},
    "plain": {"k": 5, "missing": "apart"},
    "weighted": {"k": 3, "weighted": True, "missing": "apart"},
    "trimmed": {"k": 5, "location": "trimmed", "missing": "apart"},
    "one_step": {"k": 5, "location": "one_step", "missing": "apart"},
    "m_estimate": {"k": 5, "location": "m_estimate", "missing": "apart"},
}


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    draw = np.random.default_rng(6)
    x = [None if i % 5 == 0 else float(value) for i, value in enumerate(np.round(draw.lognormal(3, 1, 120), 1))]
    y = [None if i < 3 else int(value) for i, value in enumerate(draw.integers(0, 500, 120))]
    x[1] = x[2] = None  # records 0 to 2 have no value at all
    table = pa.table(
        {"x": x, "y": pa.array(y, pa.int64()), "area": ["n", "s"] * 60, "w": draw.integers(1, 99, 120) / 8}
    )
    data = ds.Microdata(table, numeric=["x", "y"], strata=["area"], weight="w")
    return ds.protect(data, ds.Microaggregate(**METHODS[name]), key=ds.Key(bytes(32)))


class PairForgery:
    """A release of which the step is rewritten; the claim follows."""

    def __init__(self, name: str) -> None:
        self.custodian = release(name).custodian
        self.step = self.custodian.steps[0]
        self.method = dict(self.step.evidence.method)
        self.facts: dict[str, Any] = dict(self.step.evidence.facts)
        self.facts["odd_sets"] = [list(one) for one in self.facts.get("odd_sets", [])]
        if name not in ("pairs", "quick"):
            del self.facts["odd_sets"]
        self.rows = {name: row.copy() for name, row in self.step.evidence.parts["records"].items()}
        self.changed = {name: self.step.changed[name].to_pylist() for name in self.step.changed.column_names}
        self.original = self.custodian.original

    def verdict(self) -> Verdict:
        claim = microaggregated_claim(self.method, self.facts)
        evidence = replace(
            self.step.evidence, method=self.method, facts=self.facts, claim=claim, parts={"records": self.rows}
        )
        types = {name: self.step.changed[name].type for name in self.changed}
        changed = pa.table({name: pa.array(values, types[name]) for name, values in self.changed.items()})
        step = replace(self.step, evidence=evidence, changed=changed)
        lie = replace(self.custodian, steps=(step,), original=self.original)
        return check_records(lie, lie.public())


def refused(name: str, forge: Callable[[PairForgery], Any], *messages: str) -> None:
    """The forgery is refused for these reasons, and for no other."""
    forgery = PairForgery(name)
    assert not forgery.verdict().refused
    forge(forgery)
    found = [refusal.message for refusal in forgery.verdict().refused]
    assert len(found) == len(messages), found
    assert all(message in text for message, text in zip(messages, found, strict=True)), found


NOT_PROVED = "the prices do not prove the bound on the sum of squares"


@pytest.mark.parametrize("name", ["pairs", "quick"])
def test_a_bound_that_prices_do_not_prove(name):
    refused(name, lambda f: f.facts.update(bound=f.facts["bound"] * 1.001), NOT_PROVED)
    refused(name, lambda f: f.facts.update(bound=float("nan")), NOT_PROVED)
    refused(name, lambda f: f.facts.update(bound=f.facts["within"] * 2, within=f.facts["within"]), NOT_PROVED)


def test_prices_that_no_pair_bears_out():
    def dearer(f: PairForgery) -> None:
        f.rows["price"][10] += PRICE_UNIT // 100
        f.facts["bound"] += 0.01

    refused("pairs", dearer, NOT_PROVED)
    refused("quick", dearer, NOT_PROVED)


def test_prices_of_the_first_group():
    def dearer(f: PairForgery) -> None:
        f.rows["price"][np.flatnonzero(f.rows["group_0"] == 0)] += PRICE_UNIT
        f.facts["bound"] += 1.0

    refused("pairs", dearer, NOT_PROVED)


def test_prices_of_records_that_are_in_no_group():
    def dearer(f: PairForgery) -> None:
        f.rows["price"][0] += PRICE_UNIT
        f.facts["bound"] += 1.0

    refused("pairs", dearer, NOT_PROVED)


def set_prices(f: PairForgery, forge: Callable[[list[list[int]]], Any]) -> None:
    """Change the sets, and the bound by what that changes."""
    before = sum(one[0] * ((len(one) - 1) // 2) for one in f.facts["odd_sets"])
    forge(f.facts["odd_sets"])
    after = sum(one[0] * ((len(one) - 1) // 2) for one in f.facts["odd_sets"] if one)
    f.facts["bound"] += (before - after) / PRICE_UNIT


@pytest.mark.parametrize(
    "forge",
    [
        lambda sets: sets.append([-PRICE_UNIT, 5, 6, 7]),
        lambda sets: sets.append([-PRICE_UNIT, 5, 5, 5]),
        lambda sets: sets.__setitem__(0, [sets[0][0] // 2, *sets[0][1:]]),
        lambda sets: sets.pop(0),
        lambda sets: sets.__setitem__(0, [sets[0][0], sets[0][1]]),
    ],
)
def test_sets_that_cost_too_little(forge):
    refused("pairs", lambda f: set_prices(f, forge), NOT_PROVED)


@pytest.mark.parametrize(
    "one", [[1], [], [0, 5, 5, 6], [0, -1, 5, 6], [0, 120, 5, 6], [0.0, 5, 6, 7], [True, 5, 6, 7], (0, 5, 6, 7)]
)
def test_sets_that_are_none(one):
    refused("pairs", lambda f: f.facts["odd_sets"].append(one), NOT_PROVED)


def test_squares_within_groups():
    refused(
        "pairs",
        lambda f: f.facts.update(within=f.facts["within"] * 1.01),
        "the sum of squares within groups is not what is stated",
    )


def test_a_bound_where_there_is_none():
    message = "a bound is stated that the method does not prove, or none where it does"
    refused("plain", lambda f: f.facts.update(bound=1.0, within=1.0, odd_sets=[]), message)
    refused("pairs", lambda f: f.facts.pop("odd_sets"), message)
    refused("pairs", lambda f: f.facts.pop("bound") and f.facts.pop("within") and f.facts.pop("odd_sets"), message)


def test_prices_that_are_not_there():
    message = "the groups of the records are not stated"
    refused("pairs", lambda f: f.rows.pop("price"), message)
    refused("pairs", lambda f: f.rows.update(price=f.rows["price"][:-1]), message)
    refused("plain", lambda f: f.rows.update(price=f.rows["group_0"]), message)


def test_pairs_for_another_size():
    def forge(f: PairForgery) -> None:
        f.method["k"] = 1

    refused("pairs", forge, "groups of two and three are stated for another size")


@pytest.mark.parametrize("name", ["plain", "pairs", "learnt"])
def test_distances_within_groups(name):
    message = "members of a group lie farther apart, or closer together, than stated"
    refused(name, lambda f: f.facts.update(widest=f.facts["widest"] * 0.999), message)
    refused(name, lambda f: f.facts.update(widest=f.facts["widest"] * 1.001), message)


def test_losses_on_the_way():
    rising, ending = "losses on the way are not stated, or rise", "losses on the way do not end with that of the groups"

    def history(change: Callable[[list[float]], Any]) -> Callable[[PairForgery], None]:
        return lambda f: f.facts.update(history=change(list(f.facts["history"])))

    refused("learnt", history(lambda found: [found[-1] / 2, *found]), rising)
    refused("learnt", history(lambda found: [float("nan"), *found]), rising)
    refused("learnt", history(lambda found: []), rising)
    refused("learnt", history(lambda found: [1, *found]), rising)
    refused("learnt", history(lambda found: [*found, found[-1] / 2]), ending)
    refused("plain", lambda f: f.facts.update(history=[0.1]), "losses on the way are stated of a method that has none")


def test_weights():
    message = "the weights are not those of the records, or means were to be made with or without them"
    refused("weighted", lambda f: f.facts.update(weight="y"), message)
    refused("weighted", lambda f: f.facts.update(weight=""), message)
    refused("plain", lambda f: f.facts.update(weight="w"), message)
    refused("weighted", lambda f: f.method.update(location="median"), message)


def test_plain_means_that_are_called_weighted():
    forgery = PairForgery("plain")
    forgery.method["weighted"], forgery.facts["weight"] = True, "w"
    found = [refusal.message for refusal in forgery.verdict().refused]
    assert len(found) == 2
    assert all("something else than the mean (by w)" in message for message in found)


@pytest.mark.parametrize("weight", [0.0, -3.0, 1e-9])
def test_weights_of_nothing(weight):
    def forge(f: PairForgery) -> None:
        table = f.original.columns
        weights = pa.chunked_array([[*table["w"].to_pylist()[:-1], weight]])
        f.original = replace(f.original, columns=table.set_column(table.column_names.index("w"), "w", weights))

    refused("weighted", forge, "what is stated of the method cannot be used (ValueError)")


def test_weights_without_a_column_of_them():
    def forge(f: PairForgery) -> None:
        f.original = replace(f.original, info={**f.original.info, "w": replace(f.original.about("w"), role="")})

    refused("weighted", forge, "the weights are not those of the records")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("trimmed", "trimmed mean (0.2 at each end)"),
        ("one_step", "one-step mean (clipped at 3 median deviations)"),
        ("m_estimate", "M-estimate (of Huber, 2 median deviations)"),
    ],
)
def test_a_robust_mean_that_is_one_unit_off(name, words):
    for by in (0.01, -0.01):

        def forge(f: PairForgery, by: float = by) -> None:
            for row in np.flatnonzero(f.rows["group_0"] == 2):
                f.changed["y"][row] = round(f.changed["y"][row] + by, 2)

        refused(name, forge, f"1 group holds something else than the {words}")


def test_one_member_with_another_robust_mean():
    def forge(f: PairForgery) -> None:
        row = int(np.flatnonzero(f.rows["group_0"] == 2)[-1])
        f.changed["y"][row] = round(f.changed["y"][row] + 0.01, 2)

    refused("one_step", forge, "1 group holds something else than the one-step mean")


def test_another_cut_or_trim():
    for name, change in (("one_step", {"cut": 0.5}), ("m_estimate", {"cut": 0.5}), ("trimmed", {"trim": 0.0})):
        forgery = PairForgery(name)
        forgery.method.update(change)
        assert any("something else than the" in refusal.message for refusal in forgery.verdict().refused)


def test_the_bound_of_the_checker_holds_for_any_prices():
    """Against all partitions of seven records, prices and sets drawn at random; never above the least loss."""
    draw = np.random.default_rng(7)
    proved = 0
    for _ in range(200):
        points = draw.normal(size=(7, 2))
        away = ((points[:, None] - points[None]) ** 2).sum(axis=2)
        price = (draw.normal(0.1, 0.2, 7) * PRICE_UNIT).astype(np.int64)
        size = int(draw.integers(2, 6))
        sets = [[int(draw.random() * 0.2 * PRICE_UNIT), *draw.permutation(7)[:size].tolist()]]
        bound = proved_bound(points, np.zeros(7, np.int64), price, sets)
        assert bound is not None
        assert bound >= 0
        # Seven records: two pairs and a triple.
        least = min(
            (away[a, b] + away[a, c] + away[b, c]) / 3 + (away[p, q] + away[r, s]) / 2
            for a, b, c in combinations(range(7), 3)
            for rest in [[one for one in range(7) if one not in (a, b, c)]]
            for p, q, r, s in [(rest[0], rest[i], *[o for o in rest[1:] if o != rest[i]]) for i in (1, 2, 3)]
        )
        assert bound <= least + 1e-9
        proved += bound > 0
    assert proved > 5


def shortage(points: Any, price: Any, sets: list[list[int]]) -> float:
    """By how much any pair or triple falls short of its prices, at most; gone through one by one."""
    most = 0.0
    for members in (*combinations(range(len(points)), 2), *combinations(range(len(points)), 3)):
        squares = sum(((points[a] - points[b]) ** 2).sum() for a, b in combinations(members, 2)) / len(members)
        held = sum(one[0] for one in sets if len(set(members) & set(one[1:])) > 1)
        most = max(most, (sum(int(price[row]) for row in members) - held) / PRICE_UNIT - squares)
    return most


@pytest.mark.parametrize("seed", range(30))
def test_the_bound_of_the_checker_is_that_of_all_pairs_and_triples(seed):
    draw = np.random.default_rng(seed)
    points = draw.normal(size=(7, 2))
    price = (draw.normal(0.4, 0.2, 7) * PRICE_UNIT).astype(np.int64)
    sets = [
        [int(draw.random() * 0.5 * PRICE_UNIT), *draw.permutation(7)[: draw.integers(1, 6)].tolist()] for _ in range(3)
    ]
    spent = sum(one[0] * ((len(one) - 1) // 2) for one in sets)
    total = sum(int(one) for one in price) - spent
    # Far more than what falls short, so that the bound shows it.
    points, price = np.append(points, [[99.0, 0.0]], axis=0), np.append(price, 50 * PRICE_UNIT)
    wanted = total / PRICE_UNIT + 50 - shortage(points, price, sets) * 8 / 2
    assert proved_bound(points, np.zeros(8, np.int64), price, sets) == pytest.approx(max(wanted, 0.0))
    assert wanted > 0


@pytest.mark.parametrize("one", [[PRICE_UNIT, 3], [0, 1, 2, 3]])
def test_sets_that_change_nothing(one):
    """Of one record, no two are in a group; at a price of nothing, nobody pays."""
    points, price = np.arange(8.0).reshape(4, 2) ** 2, np.full(4, PRICE_UNIT)
    without = proved_bound(points, np.zeros(4, np.int64), price, [])
    assert without == 4
    assert proved_bound(points, np.zeros(4, np.int64), price, [one]) == without


def test_columns_that_hardly_vary_or_never():
    """Spread by half a unit, and not at all: distances are those of the first, and nobody's of the second."""
    table = pa.table({"few": [0, 1] * 10, "same": [7] * 20, "x": range(20)})
    data = ds.Microdata(table, numeric=["few", "same", "x"])
    made = ds.protect(data, ds.Microaggregate(["few", "same", "x"], 3), key=ds.Key(bytes(32)))
    assert made.verify().holds
    assert made.custodian.steps[0].evidence.facts["widest"] < 2  # both values of "few" are never in one group
    alone = ds.protect(data, ds.Microaggregate(["few"], 11), key=ds.Key(bytes(32)))
    assert alone.verify().holds
    assert alone.custodian.steps[0].evidence.facts["widest"] == pytest.approx(2)
