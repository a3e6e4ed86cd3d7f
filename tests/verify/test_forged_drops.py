"""Dropped and added records that are not what is said of them: weights, intervals, totals."""

from __future__ import annotations

import pytest

from tests.verify.forging import Forgery, refused_for

MISSING = "the confidence intervals are missing, or their coverage is not the one asked for"


@pytest.mark.parametrize("by", [-1, 1])
def test_an_empty_cell_of_weights_stays_empty(by):
    def forge(f: Forgery) -> None:
        f.published[0][f.rows(f.table.empty)[0]] += by

    assert len(refused_for("drop-weighted", forge, "an empty cell got a value")) == 1


def test_weights_do_not_undo_the_noise():
    def forge(f: Forgery) -> None:
        f.published[0] = f.true.copy()

    message = "no value differs from what it was: the weights undo the noise"
    refused_for("drop-weighted", forge, message, alone=True)


def test_intervals_come_with_their_standard_errors():
    def forge(f: Forgery) -> None:
        columns = f.evidence.parts["altered"]
        left = {name: column for name, column in columns.items() if name != "error"}
        f.set(parts={**f.evidence.parts, "altered": left})

    refused_for("drop-intervals", forge, MISSING, alone=True)


@pytest.mark.parametrize("by", [-0.01, 0.01])
def test_the_coverage_is_the_one_asked_for(by):
    def forge(f: Forgery) -> None:
        f.facts(coverage=f.evidence.facts["coverage"] + by)

    refused_for("drop-intervals", forge, MISSING, alone=True)


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_total_of_all_weights_is_kept_but_for_rounding(sign):
    """Half a unit for every finest cell, and half a unit for the total."""
    forgery = Forgery("drop-intervals")
    cells = int(forgery.finest().sum())
    total = int(forgery.rows(forgery.above(0))[0])
    for by, refused in ((cells // 2, False), (cells // 2 + 1, True)):
        forgery = Forgery("drop-intervals")
        forgery.published[0][total] = forgery.true[total] + sign * by
        assert ("the total of all weights changed" in forgery.reasons()) is refused
