"""Swaps that are none, and numbers of persons that do not fit their cells."""

from __future__ import annotations

import numpy as np
import pytest

from tests.verify.forging import Forgery, refused_for

PERSONS = "the numbers of persons who could move do not fit the cells"


def test_a_swap_that_changes_nothing_is_none():
    def forge(f: Forgery) -> None:
        f.published[0] = f.true.copy()
        f.part("altered", value=f.true.copy())

    message = "no cell differs from what it was: nothing was exchanged"
    refused_for("swap", forge, message, alone=True)


@pytest.mark.parametrize("what", ["short", "below zero", "persons"])
def test_persons_who_could_move_fit_the_cells(what):
    def forge(f: Forgery) -> None:
        movable = f.evidence.parts["altered"]["movable"].copy()
        if what == "persons":
            persons = f.evidence.parts["moved"]["persons"]
            f.part("moved", persons=np.append(persons, -1))
            return
        movable[0] = -1 if what == "below zero" else movable[0]
        f.part("altered", movable=movable[:-1] if what == "short" else movable)

    refused_for("swap", forge, PERSONS, alone=True)
