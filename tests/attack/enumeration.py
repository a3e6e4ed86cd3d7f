"""An attacker who writes down every table of whole numbers that fits a publication."""

from __future__ import annotations

import numpy as np

from tests.attack.publication import Unseen

MOST = 20_000


class TooMany(Exception):
    """More tables fit than are worth writing down."""


def all_tables(unseen: Unseen, floor: np.ndarray, ceiling: int) -> np.ndarray:
    """Every table of base cells from ``floor`` to ``ceiling`` that gives the published numbers, one a row.

    Base cells are filled one after the other; a start is given up as soon as an equation cannot be met any more.
    """
    size = len(unseen.cells)
    low = np.where(unseen.zero, 0, floor).astype(int)
    high = np.where(unseen.zero, 0, ceiling).astype(int)
    rows, values = unseen.known, unseen.values
    extremes = [np.where(rows > 0, rows * one, rows * other) for one, other in ((low, high), (high, low))]
    # what the cells behind each position add to every equation, at least and at most
    least, most = (np.cumsum(e[:, ::-1], axis=1)[:, ::-1] for e in extremes)
    behind = [np.hstack((e[:, 1:], np.zeros((len(rows), 1)))) for e in (least, most)]
    found: list[list[int]] = []
    visited = 0

    def fill(at: int, left: np.ndarray, table: list[int]) -> None:
        nonlocal visited
        visited += 1
        if visited > MOST:
            raise TooMany
        if at == size:
            found.append(table.copy())
            return
        for number in range(low[at], high[at] + 1):
            rest = left - rows[:, at] * number
            if np.all(rest >= behind[0][:, at] - 1e-9) and np.all(rest <= behind[1][:, at] + 1e-9):
                table.append(number)
                fill(at + 1, rest, table)
                table.pop()

    fill(0, values.copy(), [])
    return np.array(found).reshape(-1, size)
