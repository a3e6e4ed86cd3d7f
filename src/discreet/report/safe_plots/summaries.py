"""What is worked out of protected numbers only: quantiles of a histogram, classes of a density."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.model.arrays import Floats, Ints


@dataclass(frozen=True)
class Quantiles:
    """Quantiles with the limits that noise leaves them."""

    shares: tuple[float, ...]
    values: Floats
    low: Floats
    high: Floats


def protected_quantiles(edges: Floats, counts: Floats, deviation: float, shares: tuple[float, ...]) -> Quantiles:
    """Quantiles of a histogram with noise of a known standard deviation, and where they lie with 95 %.

    Examples
    --------
    >>> import numpy as np
    >>> found = protected_quantiles(np.arange(5.0), np.array([10.0, 10.0, 10.0, 10.0]), 0.0, (0.5,))
    >>> float(found.values[0])
    2.0
    """
    total = max(float(counts.sum()), 1.0)
    running = np.concatenate([[0.0], np.maximum.accumulate(np.cumsum(counts))])
    share = np.clip(running / total, 0.0, 1.0)
    share = np.maximum.accumulate(share)
    share[-1] = 1.0
    place = np.arange(len(edges)) / (len(edges) - 1)
    # The noise of a running total that is divided by the whole: a bridge, fixed at both ends.
    half = 2 * deviation * np.sqrt((len(edges) - 1) * place * (1 - place)) / total
    wanted = np.array(shares)
    return Quantiles(
        shares,
        _inverse(edges, share, wanted),
        _inverse(edges, np.maximum.accumulate(np.minimum(share + half, 1)), wanted),
        _inverse(edges, np.minimum.accumulate(np.maximum(share - half, 0)[::-1])[::-1], wanted),
    )


def _inverse(edges: Floats, share: Floats, wanted: Floats) -> Floats:
    """Where a rising share reaches those wanted, straight between borders."""
    right = np.clip(np.searchsorted(share, wanted, side="left"), 1, len(edges) - 1)
    below, above = share[right - 1], share[right]
    part = np.clip((wanted - below) / np.where(above > below, above - below, 1.0), 0, 1)
    found: Floats = edges[right - 1] + part * (edges[right] - edges[right - 1])
    return found


def mass_classes(sums: Floats, shares: tuple[float, ...]) -> tuple[Floats, Ints]:
    """Limits of density that enclose shares of the whole, highest first, and the class of every point (0 inside)."""
    shown = np.maximum(sums, 0.0)
    falling = -np.sort(-shown, axis=None)
    running = np.cumsum(falling)
    whole = max(float(running[-1]), np.finfo(np.float64).tiny)
    at = np.minimum(np.searchsorted(running / whole, np.array(shares)), falling.size - 1)
    limits = falling[at]
    classes = (shown[..., None] < limits).sum(axis=-1)
    return limits, classes.astype(np.int64)
