"""Universes that answers could be subtracted of: a brute-force attacker against the audit of the catalogue."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ProtectionError
from discreet.server.catalogue import parse_catalogue
from discreet.server.sample import CATALOGUE
from discreet.server.universes import Atoms, refused_areas

LEAST = 4


def catalogue(universes: int):
    text = CATALOGUE.replace("exact_share = 0.5", f"smallest_universe = 1\nsmallest_difference = {LEAST}")
    head, _, tail = text.partition("[[universes]]")
    _, _, tail = tail.partition("[geography]")
    parts = "".join(f'[[universes]]\nname = "u{k}"\nwhere = ["age >= {k}"]\n\n' for k in range(universes))
    text = head + parts + "[geography]" + tail
    return parse_catalogue(text.replace('[geography]\nvariable = "area"\nsmallest = 20\n', ""))


def shows_few(members: np.ndarray, counts: np.ndarray) -> bool:
    """Whether some small whole-number combination of universes is the count of a set of few records."""
    there = counts > 0
    rows = members[:, there].astype(int)
    for factors in product(range(-2, 3), repeat=len(rows)):
        made = np.array(factors) @ rows
        if set(made.tolist()) <= {0, 1} and made.any() and counts[there][made == 1].sum() < LEAST:
            return True
    return False


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_what_is_accepted_can_be_added_and_subtracted(data: st.DataObject) -> None:
    universes = data.draw(st.integers(1, 3))
    masks = data.draw(st.lists(st.integers(0, 2**universes - 1), min_size=1, max_size=5, unique=True))
    members = np.array([[True] * len(masks)] + [[bool(m >> k & 1) for m in masks] for k in range(universes)])
    counts = np.array(data.draw(st.lists(st.integers(1, 12), min_size=len(masks), max_size=len(masks))))
    if any(not row.any() for row in members):
        return
    try:
        refused_areas(catalogue(universes), None, Atoms(members, counts[None, :]))
    except ProtectionError:
        return  # refusing more than the attacker finds is allowed
    assert not shows_few(members, counts)


def test_three_universes_that_leave_few_are_refused_although_no_two_do() -> None:
    # everybody = u0 + u1 + three records
    members = np.array([[1, 1, 1], [1, 0, 0], [0, 1, 0]], bool)
    with pytest.raises(ProtectionError, match="added and subtracted"):
        refused_areas(catalogue(2), None, Atoms(members, np.array([[50, 60, 3]])))
    fine = refused_areas(catalogue(2), None, Atoms(members, np.array([[50, 60, 30]])))
    assert fine == {"all": [], "u0": [], "u1": []}
