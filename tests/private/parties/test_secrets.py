"""Keys and seeds are told to nobody: no log, no output, no representation of what holds them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cryptography")
pytest.importorskip("rbcl")

import discreet as ds
from discreet.private.parties.conversation import Desk
from discreet.private.parties.randomness import SecretDraws
from discreet.private.union.shared_sums import SumKey
from tests.private.joint.pooled import people
from tests.private.union.test_union import example


def test_nothing_is_logged_or_printed_in_a_run(caplog, capfd):
    caplog.set_level(0)
    ds.private.unite(example(), ["id"], ["x"])
    ds.private.join(people("ABC")).linear("z ~ x + g")
    ds.private.simulate([b"one", b"two", b"three"], 1, "simplepir", insecure_dimension=16)
    rng = np.random.default_rng(0)
    a, b, rest = rng.normal(size=(3, 300))
    owners = {"tax": {"p": range(300), "y": a + b + rest, "a": a}, "health": {"p": range(300), "b": b}}
    ds.private.join_columns(owners, "y", match="p")
    assert caplog.records == []
    assert "".join(capfd.readouterr()) == ""


@pytest.fixture
def seen(monkeypatch):
    """All desks of a run, and every secret that was drawn at them."""
    desks, drawn = [], []
    plain, take = Desk.__init__, SecretDraws.take

    def made(self, *args, **kwargs):
        plain(self, *args, **kwargs)
        desks.append(self)

    def kept(self, length, *purpose):
        drawn.append(take(self, length, *purpose))
        return drawn[-1]

    monkeypatch.setattr(Desk, "__init__", made)
    monkeypatch.setattr(SecretDraws, "take", kept)
    return desks, drawn


def test_what_holds_secrets_does_not_show_them(seen):
    desks, drawn = seen
    found = ds.private.unite(example(), ["id"], ["x"])
    assert len(desks) == 2
    assert len(drawn) > 8
    key = SumKey.drawn(SecretDraws(bytes(32)))
    things = [*desks, *(one.draws for one in desks), *(one.envelopes for one in desks), key, found]
    texts = [show(one) for one in things for show in (repr, str)]
    hidden = [key.secret, *(one for one in drawn if len(one) >= 16)]
    for secret in hidden:
        for form in (secret[:16].hex(), repr(secret[:16])[2:-1]):
            assert not any(form in text for text in texts)
