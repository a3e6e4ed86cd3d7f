"""Cell keys for magnitudes: noise in proportion to the contributions that matter most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from discreet.engine.magnifiers import Magnifiers
from discreet.errors import InputError, ParameterError
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.noise_table import FRACTIONS, NoiseTable
from discreet.tables.perturb.cell_key import looked_up

Magnifier = Literal["top", "mean", "range", "sum"]
Compatible = Literal["argus", "cellkey"]


@dataclass(frozen=True)
class Scaling:
    """How large the noise is: constant, or less for large contributions by the flex function.

    Parameters
    ----------
    small
        Noise of small contributions as a share (s1 in the .rda file, ``p_small`` in cellKey).
    large
        Noise of very large ones; ``None`` for the same share everywhere.
    flex_point
        Contribution at which the share begins to fall.
    q
        How fast it falls.
    epsilon
        Weights of the second, third ... largest contribution; the first has 1.
    separation
        Whether contributions below the separation point have noise of a fixed size, from the table for small values.
    """

    small: float
    large: float | None = None
    flex_point: float | None = None
    q: float = 3.0
    epsilon: tuple[float, ...] = ()
    separation: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.small < 1:
            raise ParameterError(f"small={self.small} must lie in (0, 1).")
        if (self.large is None) != (self.flex_point is None):
            raise ParameterError("large= and flex_point= belong together.", hint="Give both, or none for one share.")
        if self.large is not None and not 0 < self.large <= self.small:
            raise ParameterError(f"large={self.large} must lie in (0, small].")
        if self.flex_point is not None and self.flex_point <= 0:
            raise ParameterError(f"flex_point={self.flex_point} must be greater than zero.")
        if self.q < 1:
            raise ParameterError(f"q={self.q} must be at least 1.")
        if any(not 0 < e <= 1 for e in self.epsilon):
            raise ParameterError(f"epsilon={self.epsilon} must lie in (0, 1].")

    @property
    def weights(self) -> Floats:
        """Weights of all contributions, the first one's included."""
        return np.array([1.0, *self.epsilon])

    def share(self, size: Floats) -> Floats:
        """The flex function m(z): the share of noise of a contribution of a size."""
        if self.large is None or self.flex_point is None:
            return np.full(len(size), self.small)
        point, low, high = self.flex_point, self.large, self.small
        slope = (high * size - low * point) / (low * point)
        flexed = low * (1 + slope * (2 * point / (size + point)) ** self.q)
        result: Floats = np.where(size < point, high, flexed)
        return result

    def flexed(self, size: Floats) -> Bools:
        """Whether a contribution of a size lies at the flex point or above; all do where there is none."""
        result: Bools = size >= (0.0 if self.flex_point is None else self.flex_point)
        return result

    def separation_point(self, small_table: NoiseTable) -> float:
        """Contributions below it have noise of a fixed size, as spread as the proportional noise at the point."""
        last = small_table.at(len(small_table) - 1)
        return float(np.sqrt(last.change**2 @ last.probability) / (self.small * np.sqrt((self.weights**2).sum())))


class NoiseTables(NamedTuple):
    """Noise tables of magnitudes: for all cells, or for even and odd numbers of contributors; for small values."""

    even: NoiseTable
    odd: NoiseTable
    small: NoiseTable | None = None

    @classmethod
    def one(cls, table: NoiseTable, small: NoiseTable | None = None) -> NoiseTables:
        """The same table whatever the number of contributors."""
        return cls(table, table, small)

    @property
    def parity(self) -> bool:
        """Whether even and odd numbers of contributors differ."""
        return self.even is not self.odd


class PerturbedMagnitudes(NamedTuple):
    """Values after the noise, the change, and the noise of each contribution."""

    value: Floats
    change: Floats
    steps: Floats


def magnifying(found: Magnifiers, kind: Magnifier, unit: float = 1.0) -> Floats:
    """What noise is proportional to, one column for each part of the noise.

    Parameters
    ----------
    found
        Contributors of every cell.
    kind
        ``"top"`` the largest contributions, ``"mean"`` their mean, ``"range"`` largest less smallest, ``"sum"`` the
        cell's value.
    unit
        Size of a unit.
    """
    column: Floats
    if kind == "top":
        return found.top.astype(np.float64) * unit
    if kind == "mean":
        column = found.total.astype(np.float64) * unit / np.maximum(found.contributors, 1)
    elif kind == "range":
        column = found.spread.astype(np.float64) * unit
    elif kind == "sum":
        column = found.total.astype(np.float64) * unit
    else:
        raise ParameterError(f"magnifier={kind!r} is not known.", hint="Use 'top', 'mean', 'range' or 'sum'.")
    return np.ascontiguousarray(column[:, None])


def rotated(cell_key: Ints, times: int = 1) -> Ints:
    """Cell keys with their first decimal moved to the end.

    Examples
    --------
    >>> rotated(np.array([123_456_789_012_345])).tolist()
    [234567890123451]
    """
    for _ in range(times):
        cell_key = cell_key % (FRACTIONS // 10) * 10 + cell_key // (FRACTIONS // 10)
    return cell_key


def perturbed_magnitudes(
    value: Floats,
    magnifiers: Floats,
    contributors: Ints,
    cell_key: Ints,
    tables: NoiseTables,
    scaling: Scaling,
    *,
    sensitive: Bools | None = None,
    extra: float = 0.0,
    compatible: Compatible = "argus",
    same_key: bool = False,
) -> PerturbedMagnitudes:
    """Values with noise in proportion to their magnifiers; no value changes its sign, and empty cells stay empty.

    Parameters
    ----------
    value
        Value of each cell.
    magnifiers
        See :func:`magnifying`: one column for each part of the noise.
    contributors
        Number of contributors that are not zero.
    cell_key
        Cell keys in 10**15 steps, of the contributors that are not zero.
    tables
        Noise tables; a table for small values when ``scaling.separation``.
    scaling
        How large the noise is.
    sensitive
        Cells that get ``extra`` noise.
    extra
        Least noise of sensitive cells, in steps of the table (μ).
    compatible
        The two public implementations differ. Both choose rows by the value over the step. ``"argus"``: all parts are
        weighted by epsilon, extra noise is part of the first step and only where there is noise, keys are rotated
        before the first step. ``"cellkey"``: with a flex function epsilon weighs contributions from the flex point on
        only, extra noise is part of every step and raises values whose noise is zero, ``same_key`` decides whether the
        first step's key is rotated.
    same_key
        With ``"cellkey"``: use the cell key of the counts for the first part of the noise.

    Notes
    -----
    Source: research/tabular, part (c), cell key for magnitudes.
    """
    _check(value, magnifiers, contributors, cell_key, tables, scaling, compatible)
    argus = compatible == "argus"
    point = scaling.separation_point(tables.small) if scaling.separation and tables.small is not None else 0.0
    odd = contributors % 2 == 1
    now = value.astype(np.float64).copy()
    steps = np.zeros(magnifiers.shape)
    key = cell_key if same_key and not argus else rotated(cell_key)
    for j in range(magnifiers.shape[1]):
        weight = float(scaling.weights[j])
        xj = magnifiers[:, j]
        size = np.abs(xj)
        active = (now != 0) & (xj != 0)
        step = size * scaling.share(size) * np.where(argus | scaling.flexed(size), weight, 1.0)
        small = size < point
        step[small] = 1.0
        # A step larger than the value is cut to it, and may then lie below the separation point.
        cut = active & (np.abs(now) < step)
        step[cut] = np.abs(now[cut])
        size = np.where(cut, np.abs(now) / (scaling.small * weight), size)
        small |= cut & (size < point)
        step[small & cut] = 1.0
        if j > 0:
            active &= ~small
        rows = np.divide(np.abs(now), step, out=np.zeros(len(now)), where=step > 0)
        v = _noise(rows, key, odd, small, tables)
        added = extra if (j == 0 or not argus) else 0.0
        more = np.where(sensitive, added, 0.0) if sensitive is not None else 0.0
        sign = np.sign(v) if argus else np.where(v >= 0, 1.0, -1.0)
        noise = np.where(active, step * sign * (more + np.abs(v)), 0.0)
        noise = np.sign(now) * np.maximum(noise, -np.abs(now))
        steps[:, j] = noise
        now = now + noise
        key = rotated(key)
    return PerturbedMagnitudes(now, now - value, steps)


def _noise(rows: Floats, key: Ints, odd: Bools, small: Bools, tables: NoiseTables) -> Floats:
    result = np.where(odd, interpolated(rows, key, tables.odd), 0.0)
    if tables.parity:
        result = np.where(odd, result, interpolated(rows, key, tables.even))
    else:
        result = np.where(odd, result, interpolated(rows, key, tables.odd))
    if tables.small is not None and small.any():
        result = np.where(small, interpolated(rows, key, tables.small), result)
    return result


def interpolated(rows: Floats, key: Ints, table: NoiseTable) -> Floats:
    """Noise between the rows of a table, in proportion to the distance from both; the last row beyond it."""
    lower = np.clip(np.searchsorted(table.values, rows, side="right") - 1, 0, len(table) - 1).astype(np.int64)
    upper = np.minimum(lower + 1, len(table) - 1)
    keys = np.ascontiguousarray(key)
    low, high = (looked_up(r, keys, table.start, table.upper, table.change) / table.step for r in (lower, upper))
    width = table.values[upper] - table.values[lower]
    share = np.divide(rows - table.values[lower], width, out=np.zeros(len(rows)), where=width > 0)
    result: Floats = (1 - share) * low + share * high
    return result


def _check(
    value: Floats,
    magnifiers: Floats,
    contributors: Ints,
    cell_key: Ints,
    tables: NoiseTables,
    scaling: Scaling,
    compatible: str,
) -> None:
    if compatible not in ("argus", "cellkey"):
        raise ParameterError(f"compatible={compatible!r} is not known.", hint="Use 'argus' or 'cellkey'.")
    parts = magnifiers.shape[1]
    if len(scaling.weights) != parts:
        raise ParameterError(
            f"The noise has {parts} parts and {len(scaling.weights)} weights.", hint="Give epsilon= one weight less."
        )
    if tables.parity and parts != 1:
        raise ParameterError("Tables for even and odd numbers are for noise in one part.", hint="Use one magnifier.")
    if scaling.separation and tables.small is None:
        raise ParameterError("separation=True needs a noise table for small values.", hint="Give NoiseTables(small=).")
    if any(table is not None and table.modulus != FRACTIONS for table in tables):
        raise ParameterError("Noise for magnitudes needs fractional cell keys.")
    if not np.isfinite(value).all() or not np.isfinite(magnifiers).all():
        raise InputError("Values and contributions must be finite.")
    if len(cell_key) and (cell_key.min() < 0 or cell_key.max() >= FRACTIONS):
        raise InputError(f"Cell keys must lie in 0 .. {FRACTIONS - 1}.")
    if len(contributors) and contributors.min() < 0:
        raise InputError("A cell has a number of contributors below zero.")
