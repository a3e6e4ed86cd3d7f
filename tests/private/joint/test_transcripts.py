"""What passes between owners in each kind of joint model: lengths, distributions, plain values, repetitions."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cryptography")
pytest.importorskip("rbcl")

import discreet as ds
from discreet.private.joint import vertical
from discreet.private.parties.randomness import SecretDraws
from tests.private.joint.pooled import people
from tests.private.parties import listening

LEVELS = {"g": list("abc")}
MODELS = {
    "linear": lambda together: together.linear("z ~ x + g"),
    "table": lambda together: together.table(["g"]),
    "log-linear": lambda together: together.loglinear([["g"]]),
}


def shapes(record):
    return [(one.sender, one.receiver, one.what, len(one.body)) for one in record.messages]


@pytest.mark.parametrize("model", MODELS)
def test_lengths_tell_sizes_and_nothing_else(model):
    """Other values, and another number of records."""
    seen = []
    for seed, size in ((0, 200), (1, 200), (2, 330)):
        together = ds.private.join(people("ABC", size, seed), levels=LEVELS)
        MODELS[model](together)
        seen.append(shapes(together.transcript))
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("model", ["linear", "logit", "poisson"])
def test_no_number_of_an_owner_and_no_mask_twice(model):
    owners = people("ABC")
    together = ds.private.join(owners)
    outcome = {"linear": "z", "logit": "y", "poisson": "count"}[model]
    getattr(together, model)(f"{outcome} ~ x + g")
    numbers = [float(value) for one in owners.values() for value in (*one["x"][:30], one["x"].sum(), one["z"].sum())]
    values = [text for number in numbers for text in listening.spellings(number)]
    assert listening.plain_values([one.body for one in together.transcript.messages], values) == []
    sums = [one for one in listening.said(together.transcript) if one.what.endswith((": shares", ": parts"))]
    for who in "ABC":
        parts = [one.body[32:] for one in sums if one.receiver == who and one.what.endswith("parts")]
        shares = [one.body for one in sums if one.receiver == who and one.what.endswith("shares")]
        assert len(parts) > 8
        assert listening.repeated([*parts, *shares]) == []
        assert listening.small_differences(parts) == []


# ---- columns of two owners ---------------------------------------------------------------------------------------


def columns(rows=300, moved=0.0, seed=0):
    """Numbers of the same persons at two owners; with ``moved``, a little other ones."""
    rng = np.random.default_rng(seed)
    a, b, c, rest = rng.normal(size=(4, rows))
    person = [f"person-{k}" for k in range(rows)]
    z = 1 + a - b + c + rest
    return {"tax": {"person": person, "z": z, "a": a + moved}, "health": {"person": person, "b": b + moved, "c": c}}


def joined(owners):
    return ds.private.join_columns(owners, "z", match="person").transcript


def hidden(record):
    return [one.body for one in listening.said(record, "hidden columns")]


def test_hidden_columns_are_pure_chance_and_look_different_again():
    one, other = joined(columns()), joined(columns())
    assert len(hidden(one)) == 2
    for record in (one, other):
        assert listening.uneven(hidden(record)) == []
        assert listening.repeated(hidden(record)) == []
    for k in (0, 1):
        assert listening.small_differences([hidden(one)[k], hidden(other)[k]]) == []
    assert listening.repeated([*hidden(one), *hidden(other)]) == []
    parts = [one.body for record in (one, other) for one in listening.said(record, "parts of products")]
    assert listening.repeated(parts) == []


def test_no_value_of_a_person_is_in_any_message_and_lengths_tell_sizes_alone():
    owners = columns()
    record = joined(owners)
    numbers = [float(v) for one in owners.values() for name in one if name != "person" for v in one[name][:50]]
    values = [text for number in numbers for text in listening.spellings(number)]
    values += [text for number in numbers for text in listening.spellings(number, 32)]
    values += [name.encode() for name in owners["tax"]["person"]]
    assert listening.plain_values([one.body for one in record.messages], values) == []
    told = [[one for one in shapes(other) if one[2] != "greeting"] for other in (record, joined(columns(seed=5)))]
    assert told[0] == told[1]


def test_a_triple_that_is_dealt_twice_shows_what_changed(monkeypatch):
    """The negative: the same factors hide two runs, and their difference is that of the records."""
    kept: dict[tuple[str, ...], bytes] = {}
    plain = SecretDraws.take

    def again(self, length, *purpose):
        drawn = plain(self, length, *purpose)
        return kept.setdefault(purpose, drawn) if purpose[0] == "triple" else drawn

    monkeypatch.setattr(SecretDraws, "take", again)
    one, other = hidden(joined(columns())), hidden(joined(columns(moved=0.001)))
    for k in (0, 1):
        assert listening.small_differences([one[k], other[k]]) != []


def test_columns_without_a_mask_show(monkeypatch):
    plain = vertical._drawn

    def drawn(seed, what, count):
        return np.zeros((count, 2), np.uint64) if what == "factor" else plain(seed, what, count)

    monkeypatch.setattr(vertical, "_drawn", drawn)
    assert listening.uneven(hidden(joined(columns()))) != []
