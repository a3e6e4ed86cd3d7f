"""Negative binomial regression over the neighbours of a cell, compiled.

Counts ``f`` have mean ``exp(z @ theta + offset)`` and variance ``mean + a mean**2``. Likelihoods leave out what does
not depend on the parameters, so that those of the Poisson limit can be compared with them.
"""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Floats, Ints

RIDGE = 1e-3
LEAST_SPREAD, MOST_SPREAD = 1e-8, 1e4
POISSON_BELOW = 1e-4
"""Where the spread falls below this and the likelihood still grows towards zero, the counts are Poisson."""
ITERATIONS = 80
STILL = 1e-9
FEW = 3
"""With fewer neighbours that are not empty no polynomial is fitted."""
LONGEST_STEP = 3.0


@kernel("f8(f8[::1], f8[:, ::1], f8[::1], i8, i8, f8[::1], f8)")
def local_likelihood(f: Floats, z: Floats, offset: Floats, n: int, q: int, theta: Floats, a: float) -> float:
    """The log-likelihood of ``n`` counts by ``q`` terms; Poisson where the spread is 0."""
    total = 0.0
    for i in range(n):
        eta = offset[i]
        for j in range(q):
            eta += z[i, j] * theta[j]
        mu = np.exp(min(eta, 300.0))
        if a == 0.0:
            total += f[i] * eta - mu
            continue
        total += f[i] * eta - (f[i] + 1.0 / a) * np.log1p(a * mu)
        for v in range(1, int(f[i])):
            total += np.log1p(a * v)
    return total


@kernel("f8(f8[::1], f8[:, ::1], f8[::1], i8, i8, f8[::1], f8, f8[::1], f8[:, ::1])")
def local_derivatives(
    f: Floats, z: Floats, offset: Floats, n: int, q: int, theta: Floats, a: float, slope: Floats, bend: Floats
) -> float:
    """First and second derivatives by the terms and, last, by the spread; gives the log-likelihood.

    With spread 0 the derivatives by it are left at 0.
    """
    slope[:] = 0.0
    bend[:] = 0.0
    total = 0.0
    for i in range(n):
        eta = offset[i]
        for j in range(q):
            eta += z[i, j] * theta[j]
        mu = np.exp(min(eta, 300.0))
        over = 1.0 + a * mu
        beyond = f[i] - mu
        weight = (1.0 + a * f[i]) * mu / (over * over)
        for j in range(q):
            slope[j] += z[i, j] * beyond / over
            for k in range(j + 1):
                bend[j, k] -= z[i, j] * z[i, k] * weight
        if a == 0.0:
            total += f[i] * eta - mu
            continue
        harmonic, squares = 0.0, 0.0
        for v in range(int(f[i])):
            harmonic += 1.0 / (v + 1.0 / a)
            squares += 1.0 / ((a * v + 1.0) * (a * v + 1.0))
            total += np.log1p(a * v)
        log = np.log1p(a * mu)
        total += f[i] * eta - (f[i] + 1.0 / a) * log
        slope[q] += (log - harmonic) / (a * a) + beyond / (a * over)
        bend[q, q] += (
            -2.0 * (log - harmonic) / (a * a * a)
            + (mu / over - squares) / (a * a)
            - beyond * (1.0 + 2.0 * a * mu) / (a * a * over * over)
        )
        for j in range(q):
            bend[q, j] -= z[i, j] * beyond * mu / (over * over)
    for j in range(q + 1):
        for k in range(j):
            bend[k, j] = bend[j, k]
    return total


@kernel("b1(f8[:, ::1], f8[::1], i8, f8[::1])")
def solve_positive(matrix: Floats, right: Floats, n: int, found: Floats) -> bool:
    """Solve ``matrix @ found = right`` by Cholesky, in place; whether the matrix is positive definite."""
    for i in range(n):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i == j:
                if total <= 1e-12:
                    return False
                matrix[i, i] = np.sqrt(total)
            else:
                matrix[i, j] = total / matrix[j, j]
    for i in range(n):
        total = right[i]
        for k in range(i):
            total -= matrix[i, k] * found[k]
        found[i] = total / matrix[i, i]
    for i in range(n - 1, -1, -1):
        total = found[i]
        for k in range(i + 1, n):
            total -= matrix[k, i] * found[k]
        found[i] = total / matrix[i, i]
    return True


@kernel("f8(f8[::1], i8)")
def held_back(theta: Floats, q: int) -> float:
    """What a tiny ridge takes from the likelihood, so that terms without data stay finite; never of the mean."""
    total = 0.0
    for j in range(1, q):
        total += theta[j] * theta[j]
    return 0.5 * RIDGE * total


@kernel("Tuple((f8, f8, b1))(f8[::1], f8[:, ::1], f8[::1], i8, i8, f8[::1], f8)")
def climb(f: Floats, z: Floats, offset: Floats, n: int, q: int, theta: Floats, a: float) -> tuple[float, float, bool]:
    """Newton's method with damping from a starting spread, which stays 0 if it is 0.

    Changes ``theta``; gives the likelihood, the spread, and whether it came to rest. A spread of 0 in the answer to
    another start says that the counts are Poisson.
    """
    many = q if a == 0.0 else q + 1
    slope, bend = np.zeros(q + 1), np.zeros((q + 1, q + 1))
    damped, step, trial = np.zeros((q + 1, q + 1)), np.zeros(q + 1), theta.copy()
    damping, value = 1e-3, -np.inf
    for _ in range(ITERATIONS):
        value = local_derivatives(f, z, offset, n, q, theta, a, slope, bend) - held_back(theta, q)
        if a > 0.0 and a < POISSON_BELOW and slope[q] <= 0.0:
            return value, 0.0, True
        for j in range(1, q):
            slope[j] -= RIDGE * theta[j]
            bend[j, j] -= RIDGE
        if a > 0.0:  # by the logarithm of the spread
            bend[q, q] = a * a * bend[q, q] + a * slope[q]
            slope[q] *= a
            for j in range(q):
                bend[q, j] *= a
        moved = False
        while damping < 1e12:
            for j in range(many):
                for k in range(j + 1):
                    damped[j, k] = -bend[j, k]
                damped[j, j] += damping * max(1e-3, abs(bend[j, j]))
            if solve_positive(damped, slope, many, step):
                longest = np.abs(step[:many]).max()
                if longest > LONGEST_STEP:
                    step[:many] *= LONGEST_STEP / longest
                trial[:q] = theta[:q] + step[:q]
                spread = a if a == 0.0 else min(max(a * np.exp(step[q]), LEAST_SPREAD), MOST_SPREAD)
                reached = local_likelihood(f, z, offset, n, q, trial, spread) - held_back(trial, q)
                if reached >= value:
                    moved = True
                    break
            damping *= 10.0
        if not moved:
            # no step leads upwards: at rest as far as numbers can tell
            return value, a, np.abs(slope[:many]).max() < 1e-3
        gained, longest = reached - value, np.abs(step[:many]).max()
        theta[:q] = trial[:q]
        a, value = spread, reached
        damping = max(damping / 10.0, 1e-9)
        if longest < STILL or (gained < 1e-12 * max(1.0, abs(value)) and longest < 1e-5):
            return value, a, True
        if a >= MOST_SPREAD and gained < 1e-9:
            return value, a, True
    return value, a, False


@kernel("Tuple((f8, f8, b1))(f8[::1], f8[:, ::1], f8[::1], i8, i8)")
def fit_neighbours(f: Floats, z: Floats, offset: Floats, n: int, q: int) -> tuple[float, float, bool]:
    """The logarithm of the mean in the centre, the spread, and whether the fit came to rest: the best of all starts."""
    mean, level = 0.0, 0.0
    for i in range(n):
        mean += f[i]
        level += np.exp(offset[i])
    start = np.log(mean / level)
    best, spread, rest, centre = -np.inf, 0.0, False, start
    poisson = False
    theta = np.zeros(q)
    for first in (0.1, 1.0, 10.0):
        theta[:] = 0.0
        theta[0] = start
        value, a, still = climb(f, z, offset, n, q, theta, first)
        if a == 0.0:
            poisson = True
        elif value > best:
            best, spread, rest, centre = value, a, still, theta[0]
    if poisson:
        theta[:] = 0.0
        theta[0] = start
        value, a, still = climb(f, z, offset, n, q, theta, 0.0)
        if value >= best:
            best, spread, rest, centre = value, 0.0, still, theta[0]
    return centre, spread, rest


@kernel("i8(i8[::1], i8)")
def find_place(places: Ints, wanted: int) -> int:
    """Where a place is in a sorted list, or -1."""
    low, high = 0, len(places)
    while low < high:
        middle = (low + high) // 2
        if places[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    if low < len(places) and places[low] == wanted:
        return low
    return -1


@kernel(
    "void(i8[::1], f8[::1], f8[::1], i8[::1], i8[:, ::1], i8[:, ::1], i8[::1], i8[::1], f8[:, ::1], b1, "
    "f8[::1], f8[::1], b1[::1], b1[::1], i8[::1], i8[::1])"
)
def smooth_cells(
    places: Ints,
    counts: Floats,
    fractions: Floats,
    centres: Ints,
    coordinates: Ints,
    offsets: Ints,
    jumps: Ints,
    extents: Ints,
    design: Floats,
    drop: bool,
    centre: Floats,
    spread: Floats,
    rest: Bools,
    flat: Bools,
    size: Ints,
    occupied: Ints,
) -> None:
    """Fit the neighbours of every centre. ``places`` are the cells that are known, sorted; all others are empty."""
    most, q = design.shape
    f, z, offset = np.zeros(most), np.zeros((most, q)), np.zeros(most)
    for u in range(len(centres)):
        own = fractions[find_place(places, centres[u])]
        n, others = 0, 0
        for m in range(most):
            if drop:
                inside = True
                for j in range(len(extents)):
                    there = coordinates[u, j] + offsets[m, j]
                    inside = inside and there >= 0 and there < extents[j]
                if not inside:
                    continue
            at = find_place(places, centres[u] + jumps[m])
            f[n] = counts[at] if at >= 0 else 0.0
            offset[n] = np.log(fractions[at] / own) if at >= 0 else 0.0
            for j in range(q):
                z[n, j] = design[m, j]
            if f[n] > 0.0:
                others += 1
            n += 1
        occupied[u] = others - 1  # without the centre
        size[u] = n
        flat[u] = occupied[u] < FEW and q > 1
        centre[u], spread[u], rest[u] = fit_neighbours(f, z, offset, n, 1 if flat[u] else q)
