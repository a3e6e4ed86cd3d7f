"""The risk of post-randomised releases, against the rule worked out combination by combination."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError, ResourceError
from discreet.measures import released_pram_risk

KEY = ds.Key(bytes(32))


def people() -> ds.Microdata:
    draw = np.random.default_rng(7)
    rows = 600
    job = draw.choice(list("abc9?"), rows, p=[0.6, 0.2, 0.08, 0.06, 0.06])
    table = pa.table(
        {
            "sex": draw.choice(["f", "m"], rows),
            "job": pa.array([None if code == "?" else str(code) for code in job]),
            "place": draw.choice(list("XYZ"), rows, p=[0.8, 0.15, 0.05]),
            "area": draw.choice(["N", "S"], rows, p=[0.7, 0.3]),
        }
    )
    return ds.Microdata(table, missing_codes={"job": ["9"]})


def by_hand(release: ds.Release, keys: list[str], threshold: float) -> tuple[int, int]:
    """Rare and unsafe combinations, from sums over all pairs of them."""
    (step,) = release.custodian.steps
    original = release.custodian.original.columns.to_pydict()
    rows = [
        row for row in zip(*(original[name] for name in [*keys, "area"]), strict=True) if not {None, "9"} & set(row)
    ]
    counts = Counter(rows)
    matrix: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for entry in step.evidence.facts["matrices"]:
        table = {
            a: dict(zip(entry["codes"], line, strict=True))
            for a, line in zip(entry["codes"], entry["chances"], strict=True)
        }
        for area in entry["stratum"] or ["N", "S"]:
            matrix[entry["column"], area] = table

    def chance(before: tuple, after: tuple) -> float:
        found = 1.0
        for name, a, b in zip(keys, before, after, strict=False):
            found *= matrix[name, before[-1]][a].get(b, 0.0) if (name, before[-1]) in matrix else float(a == b)
        return found

    times = Counter()
    for row, n in counts.items():
        times[row[:-1]] += n
    rare = unsafe = 0
    for cell, n in times.items():
        come = sum(m * chance(row, cell) for row, m in counts.items())
        stay = sum(m * chance(row, cell) for row, m in counts.items() if row[:-1] == cell)
        rare += n < threshold
        unsafe += stay / come > n / threshold + 1e-12
    return rare, unsafe


@pytest.mark.parametrize(
    "method",
    [
        ds.Pram({"job": "3E(.6)"}),
        ds.Pram({"job": "F(.7)", "sex": "2E(.8)"}, within=["area"]),
        ds.Pram({"place": "3B(.7;2)", "job": "E(.8)"}, invariant=True, within=["area"]),
    ],
    ids=["one", "strata", "invariant"],
)
@pytest.mark.parametrize("threshold", [5, 20, 60])
def test_unsafe_combinations_are_those_found_by_hand(method, threshold):
    release = ds.protect(people(), method, key=KEY)
    keys = ["place", "job", "sex"]
    risk = released_pram_risk(release, keys, threshold)
    assert (risk.rare, risk.unsafe) == by_hand(release, keys, threshold)
    assert risk.chance.shape == (3, 3, 2)


def test_steps_before_are_considered():
    steps = [ds.Recode("place", map={"Z": "Y"}), ds.Pram({"place": "2E(.8)"})]
    release = ds.protect(people(), steps, key=KEY)
    assert released_pram_risk(release, ["place"], 1000).rare == 2


def test_two_steps_are_judged_together():
    one = ds.protect(people(), ds.Pram({"sex": "2E(.8)", "place": "3E(.7)"}), key=KEY)
    two = ds.protect(people(), [ds.Pram({"sex": "2E(.8)"}), ds.Pram({"place": "3E(.7)"})], key=KEY)
    found = [released_pram_risk(release, ["sex", "place", "job"], 30) for release in (one, two)]
    assert found[0].unsafe == found[1].unsafe
    assert np.allclose(found[0].chance, found[1].chance)


@pytest.mark.parametrize(
    ("steps", "keys", "threshold", "error", "message"),
    [
        (
            [ds.Recode("place", map={"Z": "Y"})],
            ["sex"],
            5,
            ParameterError,
            "Nothing in the release was post-randomised",
        ),
        ([ds.Pram({"sex": "2E(.8)"})], [], 5, ParameterError, "There are no keys"),
        ([ds.Pram({"sex": "2E(.8)"})], ["age"], 5, InputError, "no column 'age'"),
        ([ds.Pram({"sex": "2E(.8)"})], ["sex"], 0, InputError, "threshold must lie above 0"),
        (
            [ds.Pram({"sex": "2E(.8)"}), ds.Pram({"sex": "2E(.8)"}, version=2)],
            ["sex"],
            5,
            ParameterError,
            "A key or stratum was changed between two post-randomisations",
        ),
        (
            [ds.Pram({"sex": "2E(.8)"}), ds.Recode("place", map={"Z": "Y"}), ds.Pram({"place": "2E(.8)"})],
            ["sex", "place"],
            5,
            ParameterError,
            "A key or stratum was changed between two post-randomisations",
        ),
        (
            [ds.Pram({"sex": "2E(.8)"}), ds.Pram({"place": "F(.8)"}, within=["sex"])],
            ["place"],
            5,
            ParameterError,
            "A key or stratum was changed between two post-randomisations",
        ),
    ],
)
def test_what_cannot_be_judged_is_refused(steps, keys, threshold, error, message):
    release = ds.protect(people(), steps, key=KEY)
    with pytest.raises(error, match=message):
        released_pram_risk(release, keys, threshold)


def test_too_many_combinations_are_refused():
    draw = np.random.default_rng(1)
    columns = {name: draw.integers(0, 400, 2000) for name in ("x", "y", "z")}
    data = ds.Microdata(pa.table({**columns, "sex": ["m", "f"] * 1000}))
    release = ds.protect(data, ds.Pram({"sex": "2E(.8)"}), key=KEY)
    with pytest.raises(ResourceError, match="more than 20,000,000 combinations"):
        released_pram_risk(release, ["x", "y", "z"], 5)
