"""Bad input of methods for numbers: each is refused, or noted, in words that say what to do."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import DiscreetError, InputError, ParameterError, ProtectionError

ROWS = 12
TABLE = pa.table(
    {
        "x": [float(i) for i in range(1, ROWS + 1)],
        "y": [float(i * i % 7) + 0.5 for i in range(ROWS)],
        "twice": [2.0 * i for i in range(1, ROWS + 1)],
        "text": list("abcdefghijkl"),
        "same": [5.0] * ROWS,
        "gap": [None if i % 2 else float(i) for i in range(ROWS)],
        "endless": [float("inf"), *map(float, range(1, ROWS))],
        "negative": [float(i - 3) for i in range(ROWS)],
        "big": [1e15 + i + 0.37 for i in range(ROWS)],
        "zero": [0.0] + [1.0] * (ROWS - 1),
        "below": [-1.0] + [1.0] * (ROWS - 1),
        "area": ["a"] * 10 + ["b"] * 2,
    }
)
METHODS = {
    "micro": lambda columns, **more: ds.Microaggregate(columns, **more),
    "noise": lambda columns, **more: ds.AddNoise(columns, insecure_seed=1, **more),
    "ranks": lambda columns, **more: ds.RankSwap(columns, 0.5, insecure_seed=1, **more),
    "shuffle": lambda columns, **more: ds.Shuffle(columns, insecure_seed=1, **more),
    "pieces": lambda columns, **more: ds.MicroaggregatedSwap(columns, insecure_seed=1, **more),
    "redraw": lambda columns, **more: ds.Redraw(columns, unusual=2, insecure_seed=1, **more),
    "round": lambda columns, **more: ds.RoundRandomly(columns, 10, insecure_seed=1, **more),
    "blank": lambda columns, **more: ds.BlankValues(
        dict.fromkeys(columns, 0.8), jitter=dict.fromkeys(columns, 1.0), insecure_seed=1, **more
    ),
}


def of(method: str, *columns: str, table: pa.Table = TABLE, roles: dict[str, Any] | None = None, **more: Any) -> Any:
    roles = roles or {}
    also = [name for role in roles.values() for name in ([role] if isinstance(role, str) else role)]
    data = ds.Microdata(table.select([*columns, *also]), numeric=list(columns), **roles)
    return ds.protect(data, METHODS[method](list(columns), **more))


EVERY = list(METHODS)
CENTS = "Column 'big' holds numbers too large to be changed exactly with 1 decimal. Express the column in a larger unit"
FOLLOWS = "Columns 'x', 'twice' follow from each other in all records"
FEW = TABLE.slice(0, 2)
ONE = TABLE.slice(3, 1)
EQUAL = pa.table({"x": [1.0] * ROWS, "y": [2.0] * ROWS})
CASES: list[tuple[Any, type[DiscreetError], str]] = [
    *((lambda m=m: of(m, "x", "text"), InputError, "Column 'text' is to hold numbers, and holds text.") for m in EVERY),
    *((lambda m=m: of(m, "x", "endless"), InputError, "'endless' holds 1 infinite number.") for m in EVERY),
    # constant columns, and all records equal
    (lambda: of("noise", "x", "same"), InputError, "All values of 'same' are equal, so that noise has no size."),
    (lambda: of("ranks", "x", "same"), ProtectionError, "No value of 'same' changed"),
    (lambda: of("shuffle", "x", "same"), InputError, "Column 'same' has one value only: there is nothing to shuffle"),
    (lambda: of("pieces", "x", "same"), ProtectionError, "All values of 'same' are the same in 1 cell"),
    (lambda: of("redraw", "x", "same"), InputError, "Column 'same' has the same value in all records"),
    (lambda: of("noise", "x", "y", table=EQUAL), InputError, "All values of 'x' are equal"),
    (lambda: of("ranks", "x", "y", table=EQUAL), ProtectionError, "No value of 'x', 'y' changed"),
    (lambda: of("shuffle", "x", "y", table=EQUAL), InputError, "Column 'x' has one value only"),
    (lambda: of("redraw", "x", "y", table=EQUAL), InputError, "Column 'x' has the same value in all records"),
    # gaps
    (lambda: of("micro", "x", "gap"), InputError, "6 records have gaps in 'gap'. Fill them in first, or group"),
    (lambda: of("noise", "x", "gap"), InputError, "6 records have gaps in 'gap', and how=\"correlated\" looks at"),
    (lambda: of("ranks", "x", "gap", joint=True), InputError, "Empty fields stand in 'gap', and columns are exchanged"),
    (lambda: of("pieces", "gap"), ProtectionError, "1 cell has fewer than 10 values of 'gap': the whole file (6)."),
    # k
    (lambda: ds.Microaggregate(k=1), ParameterError, "k=1 is not allowed. Give a whole number of at least 2."),
    (lambda: of("micro", "x", k=13), ProtectionError, "There are 12 records, and a group has at least 13."),
    (lambda: ds.Microaggregate(k=3, algorithm="optimal_2"), ParameterError, "groups of two and three, and k is 3."),
    # columns that follow from others, and fewer records than columns
    (lambda: of("noise", "x", "twice"), InputError, "'twice' follow from 'x', so that the covariance"),
    (lambda: of("redraw", "x", "twice"), InputError, FOLLOWS),
    (lambda: of("shuffle", "x", given=["twice"], roles={"sensitive": ["twice"]}), ProtectionError, "'x' follows from"),
    (lambda: of("noise", "x", "y", "twice", table=FEW), InputError, '2 records, and how="correlated" with 3 columns'),
    (lambda: of("shuffle", "x", "y", "twice", table=FEW), InputError, "There are 2 records, and 3 shuffled columns"),
    (lambda: of("redraw", "x", "y", table=FEW), InputError, "there are 2 records to make it of"),
    (
        lambda: of("micro", "x", "y", k=2, algorithm="mcdpca", table=TABLE.slice(0, 4)),
        InputError,
        "A robust covariance of 2 columns needs more than 4 records",
    ),
    # logarithms of what has none
    (
        lambda: of("micro", "x", "negative", algorithm="clustpca", transform="log"),
        InputError,
        "Column 'negative' has values of 0 or less, and transform=\"log\" takes logarithms.",
    ),
    # weights of 0 and below
    *(
        (lambda w=w: of("micro", "x", roles={"weight": w}, weighted=True), InputError, "1 record has no weight, or one")
        for w in ("zero", "below")
    ),
    *(
        (lambda w=w: of("pieces", "x", roles={"weight": w}), InputError, f"Weight '{w}' is not above 0 in 1 record.")
        for w in ("zero", "below")
    ),
    # strata that are too small are named
    (
        lambda: of("micro", "x", roles={"strata": ["area"]}),
        ProtectionError,
        "There are 2 records with area 'b', and a group has at least 3.",
    ),
    (lambda: of("noise", "x", "y", roles={"strata": ["area"]}), InputError, "with area 'b'"),
    (lambda: of("shuffle", "x", "y", roles={"strata": ["area"]}), InputError, "There are 2 records with area 'b'"),
    (
        lambda: of("pieces", "x", roles={"strata": ["area"]}),
        ProtectionError,
        "fewer than 10 values of 'x': area 'b' (2)",
    ),
    # one record
    (lambda: of("micro", "x", "y", table=ONE), ProtectionError, "There is 1 record, and a group has at least 3."),
    (lambda: of("noise", "x", "y", table=ONE), InputError, "There is one value of 'x', and noise needs the variance"),
    (lambda: of("ranks", "x", "y", table=ONE), ProtectionError, "No value of 'x', 'y' changed"),
    (lambda: of("shuffle", "x", "y", table=ONE), InputError, "Column 'x' has one value only"),
    (lambda: of("pieces", "x", table=ONE), ProtectionError, "fewer than 10 values of 'x': the whole file (1)"),
    # cents at 10^15, which floating-point numbers do not hold
    *((lambda m=m: of(m, "x", "big"), InputError, CENTS) for m in EVERY if m not in ("ranks", "shuffle", "blank")),
    # a second step for numbers that the first made codes of
    *(
        (
            lambda m=m: ds.protect(
                ds.Microdata(TABLE.select(["x", "y"]), numeric=["x", "y"]),
                [ds.Recode("x", intervals=[3, 6]), METHODS[m](["x", "y"])],
            ),
            ParameterError,
            "needs the numbers of 'x', and step 1 (recode) made codes of them. Give the step for numbers first",
        )
        for m in EVERY
    ),
    (
        lambda: ds.protect(
            ds.Microdata(TABLE.select(["x", "y"]), numeric=["x", "y"]),
            [ds.Recode("y", intervals=[3, 6]), ds.Microaggregate()],
        ),
        ParameterError,
        "Step 2 (microaggregate) needs the numbers of 'y', and step 1 (recode) made codes of them.",
    ),
    # a second stage that gives the original back
    (
        lambda: ds.protect(
            ds.Microdata(TABLE.select(["x", "y"]), numeric=["x", "y"]),
            ds.MaskResidual(
                ds.Microaggregate(["x", "y"], 3), ds.RoundRandomly(["x", "y"], 0.001), decimals=6, insecure_seed=1
            ),
        ),
        ProtectionError,
        "re-creates the original values of",
    ),
]


@pytest.mark.parametrize(("work", "error", "message"), CASES)
def test_bad_numbers_are_refused_in_words(work, error, message):
    with pytest.raises(error) as caught:
        work()
    assert message in str(caught.value)


def test_large_numbers_with_cents_may_change_places():
    """Nothing is computed of values that are exchanged, so that none is too large."""
    for method in ("ranks", "shuffle"):
        release = of(method, "x", "big")
        assert release.verify().holds
        assert sorted(release.public.records.shown()["big"]) == sorted(TABLE["big"].to_pylist())


@pytest.mark.parametrize("algorithm", ["search", "mdav", "univariate", "pca"])
def test_columns_without_variation_are_noted(algorithm):
    notes = of("micro", "x", "same", algorithm=algorithm).custodian.log["notes"]
    assert "Column 'same' has one value only: it tells no groups apart, and is published as it is." in notes


def test_strata_in_which_no_rank_is_in_reach_are_noted():
    data = ds.Microdata(TABLE.select(["x", "area"]), numeric=["x"], strata=["area"])
    notes = ds.protect(data, ds.RankSwap(share=0.2, insecure_seed=1)).custodian.log["notes"]
    assert any(note.startswith("In 1 of 2 strata no rank of some column is within reach of another") for note in notes)
    assert not ds.protect(data, ds.RankSwap(share=0.5, insecure_seed=1)).custodian.log["notes"]


@pytest.mark.parametrize("method", ["micro", "noise", "ranks", "shuffle", "pieces"])
def test_records_that_stand_there_twice_are_no_trouble(method):
    twice = pa.concat_tables([TABLE.select(["x", "y"])] * 2)
    assert of(method, "x", "y", table=twice).verify().holds
