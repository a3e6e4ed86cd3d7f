"""Draws are fixed by key, purpose and identity."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.engine.draws import checked_key, draws, fractions, siphash, whole_numbers
from discreet.errors import ParameterError

KEY = bytes(range(32))


@pytest.mark.parametrize(
    ("length", "printed"), [(0, 0x726FDB47DD0E0E31), (8, 0x93F5F5799A932462), (16, 0x3F2ACC7F57C29BDB)]
)
def test_siphash_gives_the_published_values(length, printed):
    low, high = np.frombuffer(bytes(range(16)), "<u8")
    words = np.frombuffer(bytes(range(length)), "<u8").astype(np.uint64)[None, :]
    assert int(siphash(np.ascontiguousarray(words), low, high)[0]) == printed


def test_a_draw_depends_on_key_purpose_version_and_identity_only():
    ids = np.arange(100)
    first = draws(KEY, "one", 1, ids)
    assert (draws(KEY, "one", 1, ids[::-1]) == first[::-1]).all()
    others = [draws(bytes(32), "one", 1, ids), draws(KEY, "two", 1, ids), draws(KEY, "one", 2, ids)]
    assert all((other != first).all() for other in others)
    assert (draws(KEY, "one", 1, ids, ids) != first).all()


def test_draws_are_even():
    numbers = draws(KEY, "even", 1, np.arange(100_000))
    counts = np.bincount(whole_numbers(numbers, 5), minlength=5)
    assert (np.abs(counts - 20_000) < 4 * np.sqrt(16_000)).all()
    parts = fractions(numbers)
    assert parts.min() >= 0
    assert parts.max() < 1
    assert abs(parts.mean() - 0.5) < 4 * 0.2887 / np.sqrt(100_000)


@pytest.mark.parametrize("bad", [123, True, "secret", b"short", np.int64(5)])
def test_only_a_256_bit_key_is_a_key(bad):
    with pytest.raises(ParameterError, match=r"key|secret"):
        checked_key(bad)
