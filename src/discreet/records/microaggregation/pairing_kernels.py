"""Loops over all pairs and triples of records, for groups of two and three."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel


@kernel("f8(f8[:,::1], i8, i8)")
def squared_distance(points: Any, one: int, other: int) -> float:
    """Squared distance of two records."""
    total = 0.0
    for c in range(points.shape[1]):
        apart = points[one, c] - points[other, c]
        total += apart * apart
    return total


@kernel("Tuple((f8[::1], i8[::1]))(f8[:,::1])")
def nearest_records(points: Any) -> Any:
    """For every record the squared distance from the nearest other one, and which that is."""
    records = len(points)
    away, who = np.full(records, np.inf), np.zeros(records, np.int64)
    for one in range(records):
        for other in range(one + 1, records):
            far, most = 0.0, max(away[one], away[other])
            for c in range(points.shape[1]):
                apart = points[one, c] - points[other, c]
                far += apart * apart
                if far > most:
                    break
            if far < away[one]:
                away[one], who[one] = far, other
            if far < away[other]:
                away[other], who[other] = far, one
    return away, who


@kernel("i8[:,::1](f8[:,::1], f8[::1])")
def pairs_below(points: Any, level: Any) -> Any:
    """Pairs whose squared distance is less than the sum of the levels of their records."""
    records, many = len(points), 0
    found = np.empty((4 * records + 16, 2), np.int64)
    for one in range(records):
        for other in range(one + 1, records):
            most, far = level[one] + level[other], 0.0
            if most <= 0.0:
                continue
            for c in range(points.shape[1]):
                apart = points[one, c] - points[other, c]
                far += apart * apart
                if far >= most:
                    break
            if far < most:
                if many == len(found):
                    larger = np.empty((2 * many, 2), np.int64)
                    larger[:many] = found
                    found = larger
                found[many, 0], found[many, 1] = one, other
                many += 1
    return found[:many].copy()


@kernel("i8[:,::1](f8[:,::1], i8[:,::1], f8[::1], f8[::1], f8)")
def triples_below(points: Any, pairs: Any, paid: Any, price: Any, least: float) -> Any:
    """Triples on top of given pairs whose loss, with what the pair has ``paid``, is less than the prices of the three
    by more than ``least``."""
    many = 0
    found = np.empty((64, 3), np.int64)
    for p in range(len(pairs)):
        one, other = pairs[p, 0], pairs[p, 1]
        apart = squared_distance(points, one, other) / 3 + paid[p] - price[one] - price[other] + least
        for third in range(len(points)):
            if third in (one, other) or apart >= price[third]:
                continue
            far = squared_distance(points, one, third) / 3
            if apart + far >= price[third]:
                continue
            if apart + far + squared_distance(points, other, third) / 3 < price[third]:
                if many == len(found):
                    larger = np.empty((2 * many, 3), np.int64)
                    larger[:many] = found
                    found = larger
                found[many, 0], found[many, 1], found[many, 2] = one, other, third
                many += 1
    return found[:many].copy()
