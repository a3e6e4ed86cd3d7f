"""Regressions, and draws from them, by code of the checker's own: Gram and Schmidt, and singular values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Floats
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields

ROUNDING = 1e-10
"""What is left of a given column when others are taken away is rounding below this share."""
NONE_LEFT = 1e-12
"""Variances below this share are none."""


class OwnRegression(NamedTuple):
    """Directions of the model, what it says of each column and what it leaves open, and how large that is.

    ``shares`` are the variances of independent combinations of what is left open, all columns in their own units;
    ``root`` is the symmetric root of its correlations.
    """

    directions: Floats
    says: Floats
    left: Floats
    size: Floats
    shares: Floats
    root: Floats

    @property
    def rank(self) -> int:
        """How many columns of the model say something of their own."""
        return int(self.directions.shape[1])


def own_regression(values: Floats, model: Floats) -> OwnRegression:
    """The regression of columns on others and a constant."""
    directions = _directions(model)
    left = _without(directions, values - values.mean(axis=0))
    size = np.sqrt((left * left).mean(axis=0))
    _, lengths, turn = np.linalg.svd(left / np.where(size > 0, size, 1.0), full_matrices=False)
    shares = lengths**2 / len(values)
    root = turn.T @ np.diag(np.sqrt(np.where(shares > NONE_LEFT, shares, 0.0))) @ turn
    return OwnRegression(directions, values - left, left, size, shares, root)


def drawn_columns(found: OwnRegression, normals: Floats, variant: str) -> Floats:
    """The columns that standard normal draws give."""
    if variant == "fit":
        return found.says
    if variant == "c":
        free = _without(found.directions, normals)
        ready = np.zeros((len(free), 0))
        for column in free.T:
            rest = _without(ready, column[:, None])
            ready = np.concatenate([ready, rest / np.sqrt((rest * rest).sum())], axis=1)
        normals = ready * np.sqrt(len(ready))
    scatter = (normals @ found.root) * found.size
    return np.asarray(found.says + (scatter if variant == "a" else _without(found.directions, scatter)))


def new_moments(found: OwnRegression, new: Floats) -> tuple[Floats, Floats]:
    """Of new columns: how far what the model says moved (root mean square), and covariances of what it leaves open."""
    moved = new - found.says
    left = _without(found.directions, moved)
    said = moved - left
    return np.sqrt((said * said).mean(axis=0)), left.T @ left / len(new)


def _directions(model: Floats) -> Floats:
    """Gram and Schmidt, the column with the most left first, each made orthogonal twice."""
    rows = len(model)
    found = np.full((rows, 1), 1 / np.sqrt(rows))
    centred = model - model.mean(axis=0)
    length = np.sqrt((centred * centred).sum(axis=0))
    centred = centred[:, length > 1e-13 * np.sqrt((model * model).sum(axis=0))]
    if not centred.shape[1]:
        return found
    rest = centred / np.sqrt((centred * centred).sum(axis=0))
    first = 1.0
    for _ in range(rest.shape[1]):
        rest = _without(found, rest)
        length = np.sqrt((rest * rest).sum(axis=0))
        place = int(np.argmax(length))
        if length[place] <= ROUNDING * first:
            break
        found = np.concatenate([found, rest[:, [place]] / length[place]], axis=1)
        rest = np.delete(rest, place, axis=1)
    return found


def _without(directions: Floats, values: Floats) -> Floats:
    for _ in range(2):
        values = values - directions @ (directions.T @ values)
    return values


def model_of(step: CheckedStep) -> Floats:
    """Columns of the model: numbers as they are, 0 and 1 for each code, and for empty fields."""
    found: list[NDArray[Any]] = []
    for name in step.method["given"]:
        column, unknown = step.before[name], step.original.about(name).missing
        empty = empty_fields(column, unknown)
        if str(column.type) in ("string", "bool"):
            places: dict[Any, int] = {}
            codes = np.array([places.setdefault(value, len(places)) for value in column.to_pylist()])
            codes[empty] = -1
            found += [(codes == code).astype(np.float64) for code in np.unique(codes)]
            continue
        kinds = {"date32[day]": "int32", "timestamp[us]": "int64"}
        plain = column.cast(kinds.get(str(column.type), str(column.type))).fill_null(0).to_numpy()
        least = plain[~empty].min() if not empty.all() else plain.dtype.type(0)
        found.append(np.where(empty, 0, plain - least).astype(np.float64))
        if empty.any():
            found.append(empty.astype(np.float64))
    return np.stack(found, axis=1) if found else np.zeros((len(step.original), 0))
