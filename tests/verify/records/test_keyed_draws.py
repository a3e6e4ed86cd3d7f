"""The checker's own draws and matrices are those of the method, though they share no code."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.engine.draws import draws, fractions
from discreet.engine.record_set import read_record_set
from discreet.errors import ParameterError
from discreet.model.transition_families import invariant_chances, read_notation
from discreet.verify.records.keyed_draws import drawn_fractions, identity_of
from discreet.verify.records.transition_rules import is_fixed, is_open, pieces_of, stated_matrix


def table(rows: int = 300) -> pa.Table:
    draw = np.random.default_rng(1)
    words = draw.choice(["m", "12", "012", "?", "", "0", "9" * 19, "é"], rows)
    days = draw.integers(0, 3, rows).tolist()
    return pa.table(
        {
            "text": pa.array([None if word == "?" else str(word) for word in words]),
            "whole": pa.array(draw.integers(-3, 9, rows), mask=draw.random(rows) < 0.1),
            "part": np.round(draw.normal(size=rows), 1),
            "flag": draw.random(rows) < 0.5,
            "day": pa.array([dt.date(1969, 12, 30) + dt.timedelta(days=day) for day in days]),
            "time": pa.array([dt.datetime(1969, 12, 31, 23, day) for day in days], pa.timestamp("us")),
        }
    )


@pytest.mark.parametrize("named", ["nothing", "text", "whole", "part", "both"])
def test_both_draw_the_same_for_every_record(named):
    records, roles = table(), {}
    size = len(records)
    ids = {"text": [f"p{i}" for i in range(size)], "whole": range(-5, size - 5), "part": [i + 0.5 for i in range(size)]}
    for name in ("text", "part") if named == "both" else (named,) if named != "nothing" else ():
        records = records.append_column(f"id_{name}", pa.array(ids[name]))
        roles.setdefault("identifier", []).append(f"id_{name}")
    found = read_record_set(ds.Microdata(records, **roles))
    key = ds.Key(bytes(range(32)))
    mine = fractions(draws(key.secret, "pram/text", 3, found.identity))
    theirs = drawn_fractions(identity_of(found), key.secret, "pram/text/3")
    assert np.array_equal(mine, theirs)
    assert len(np.unique(mine)) == size


def test_equal_records_are_told_apart():
    found = read_record_set(ds.Microdata(pa.table({"x": ["a", "a", "b", "a"]})))
    assert np.array_equal(identity_of(found).astype(np.int64), found.identity)
    assert len(set(found.identity.tolist())) == 4


SIZES = st.integers(1, 6)


@st.composite
def notations(draw) -> tuple[str, int]:
    """A notation and its number of codes."""
    parts, total = [], 0
    for _ in range(draw(st.integers(1, 3))):
        size, stay = draw(SIZES), draw(st.sampled_from(["0.6", ".75", "1", "0"]))
        total += size
        kind = draw(st.sampled_from("BEFbef"))
        width = f";{draw(st.sampled_from(['1.5', '1½', '2', '3.0', '9']))}" if kind in "Bb" else ""
        parts.append("1" if size == 1 else f"{size}{kind}({stay}{width})")
    text = f"Block({len(parts)}; {'; '.join(parts)})"
    return (parts[0], total) if len(parts) == 1 and parts[0] != "1" and draw(st.booleans()) else (text, total)


@settings(max_examples=150, deadline=None)
@given(notations(), st.integers(0, 10**6), st.booleans())
def test_both_read_a_notation_alike(notation, seed, invariant):
    text, size = notation
    counts = np.random.default_rng(seed).integers(0, 4, size).astype(float)
    mine = read_notation(text).chances(counts)
    assert np.allclose(mine.sum(axis=1), 1)
    method = {"matrices": {"x": text}, "codes": {}, "invariant": invariant}
    theirs = stated_matrix(method, "x", [str(i) for i in range(size)], counts)
    wanted = invariant_chances(mine, counts) if invariant else mine
    assert np.allclose(theirs, wanted, atol=1e-12)
    assert np.allclose(wanted.sum(axis=1), 1)
    assert not invariant or np.allclose(counts @ wanted, counts)
    assert is_fixed(method, "x") == (not invariant and not read_notation(text).looks_at_counts)
    assert not is_open(method, "x")


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "two",
        "2G(.5)",
        "2E(1.5)",
        "2E(.5;2)",
        "2B(.5)",
        "2B(.5;1)",
        "2B(.5;2.5)",
        "0E(.5)",
        "1E(.5)",
        "2E(.5",
        "2E()",
        "Block(2;2E(.5))",
        "Block(2;E(.5);1)",
        "Block(1;2E(.5)",
        "Block(1;2E(.5)x",
        "Block(1;1;2E(.5))",
        "Block(1;2E(.5);)",
        "Block(1;Block(1;2E(.5)))",
        "Block(1;2)",
        "2E(.5)2E(.5)",
        "",
    ],
)
def test_both_refuse_what_is_no_notation(text):
    with pytest.raises(ParameterError):
        read_notation(text)
    with pytest.raises(ValueError, match=r"."):
        pieces_of(text)


def test_open_notations_are_for_any_number_of_codes():
    method = {"matrices": {"x": "E(.6)"}, "codes": {}, "invariant": False}
    assert is_open(method, "x")
    assert not is_fixed(method, "x")
    named = {**method, "codes": {"x": ["a", "b"]}}
    assert is_fixed(named, "x")
    assert not is_open(named, "x")
    for size in (3, 2):
        with pytest.raises(ValueError, match="another size"):
            stated_matrix({**method, "matrices": {"x": f"{5 - size}E(.6)"}}, "x", ["a"] * size, np.ones(size))
