"""Pieces of work at the same time: their order, their progress, and stopping them."""

from __future__ import annotations

from contextlib import closing
from time import sleep

import numba
import pytest

from discreet.errors import Cancelled
from discreet.parallel import in_order
from discreet.progress import Step, checkpoint, reporting


def test_pieces_of_work_come_in_order_and_the_rest_is_left_when_nobody_asks_for_it():
    begun: list[int] = []

    def work(piece: int) -> int:
        begun.append(piece)
        sleep(0.001 * (piece % 3))
        return piece * piece

    assert list(in_order(work, range(20), "squares")) == [n * n for n in range(20)]
    begun.clear()
    with closing(in_order(work, range(10_000), "squares")) as results:
        assert next(results) == 0
    assert len(begun) < 10_000


@pytest.mark.parametrize("threads", [1, 2])
def test_pieces_of_work_report_and_can_be_cancelled_while_they_are_done(threads, monkeypatch):
    """Every piece but the first goes on until it is stopped."""
    monkeypatch.setattr("discreet.parallel.LISTEN", 0.01)
    monkeypatch.setattr(numba, "get_num_threads", lambda: threads)
    seen: list[Step] = []

    def work(piece: int) -> int:
        while piece:
            checkpoint("endless", piece, 0)
        return piece

    def listen(step: Step) -> None:
        seen.append(step)
        if len(seen) == 5:
            raise Cancelled()

    with reporting(listen), pytest.raises(Cancelled):
        list(in_order(work, range(4), "pieces", 10, 20))
    assert {step.stage for step in seen} == {"pieces"}
    assert (seen[0].done, seen[-1].done, seen[-1].total) == (10, 11, 20)
