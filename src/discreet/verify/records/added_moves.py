"""Moves that the secret key draws for records, worked out anew by code of the checker's own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.keyed_draws import Words, drawn_fractions, drawn_normals, drawn_words
from discreet.verify.records.outlying_records import outlyingness

BY_ITSELF = ("independent", "proportional")
TOGETHER = 31
"""Records that are turned together, at least, where there are so many."""
EDGE = 1e-9
"""Scores and distances that are so near to a border may lie on either side of it."""


class NoisyRows(NamedTuple):
    """Records that get noise together: rows, the columns they have, their units (one row each), and who they are.

    ``gaps`` says where values are missing among records that were not told apart by it.
    """

    rows: Ints
    columns: list[str]
    units: Ints
    identity: Words | None
    gaps: Bools | None = None

    def there(self, place: int) -> Bools:
        """Which of the records have a value of a column."""
        return np.ones(len(self.rows), np.bool_) if self.gaps is None else ~self.gaps[:, place]

    def whole(self) -> Ints:
        """The units of the records without a gap."""
        return self.units if self.gaps is None else self.units[~self.gaps.any(axis=1)]


class MoveRange(NamedTuple):
    """How far every value moves, between two numbers that are the same but for borders; in units of its column."""

    low: Floats
    high: Floats


def drawn_moves(step: CheckedStep, part: NoisyRows, columns: Sequence[str]) -> MoveRange:
    """The moves of a part; ``columns`` are all columns of the step."""
    method = step.method
    how, amount = method["how"], float(method["amount"])
    middle = _middle(part)
    if how == "romm":
        once = _turned_blocks(step, part, columns, middle)
        return MoveRange(once, once)
    normals = np.stack([_normals(step, part, columns, name) for name in part.columns], axis=1)
    if how == "proportional":
        once = np.sqrt(amount) * normals * part.units
        return MoveRange(once, once)
    if how == "latin_hypercube":
        return _hypercube(step, part, columns, middle, normals)
    once = added(how, middle, normals, amount)
    if how == "outliers":
        far = outlyingness(part.units.astype(np.float64), method["flag"], method["beyond"])
        assert far is not None
        never, always = (far <= 1 + EDGE)[:, None], (far > 1 - EDGE)[:, None]
        ends = np.where(never, 0.0, once * far[:, None]), np.where(always, once * far[:, None], 0.0)
        return MoveRange(np.minimum(*ends), np.maximum(*ends))
    return MoveRange(once, once)


def added(how: str, middle: Floats, normals: Floats, amount: float) -> Floats:
    """Noise of draws: for each column by itself, with covariances, with exact ones, or such that they are kept."""
    rows, many = middle.shape
    if how == "independent":
        return np.asarray(np.sqrt(amount) * normals * middle.std(axis=0, ddof=1))
    lower = np.linalg.cholesky(np.cov(middle, rowvar=False).reshape(many, many))
    if how in ("correlated", "outliers"):
        return np.asarray(np.sqrt(amount) * normals @ lower.T)
    ones = np.ones((rows, 1))
    beside = [ones] if how == "exact" else [ones, middle / middle.std(axis=0)]
    straight = _orthonormal(np.concatenate([*beside, normals], axis=1))[:, -many:] * np.sqrt(rows - 1)
    noise = np.sqrt(amount) * straight @ lower.T
    return np.asarray(noise if how == "exact" else (middle + noise) / np.sqrt(1 + amount) - middle)


def _middle(part: NoisyRows) -> Floats:
    units = part.whole()
    away = (units - units.min(axis=0)).astype(np.float64)
    return np.asarray(away - away.mean(axis=0))


def _purpose(step: CheckedStep, columns: Sequence[str], name: str, what: str = "") -> str:
    """What draws are for, in the words that the key is mixed with."""
    method, version = step.method, int(step.method["version"])
    how = method["how"]
    told = [how, float(method["amount"])]
    if how not in BY_ITSELF:
        told += columns
    told.append(None)
    if how != "proportional":
        told += step.original.strata
    if how == "outliers":
        told += [method["flag"], float(method["beyond"])]
    if method["missing"] == "together":
        told.append("together")
    digest = blake2b(json.dumps(told).encode(), digest_size=8).hexdigest()
    again = "" if version == 1 else f"/{version}"
    return f"add noise/{digest}/{name}{again}{what}/{version}"


def _normals(step: CheckedStep, part: NoisyRows, columns: Sequence[str], name: str) -> Floats:
    assert step.key is not None
    assert part.identity is not None
    return drawn_normals(part.identity, step.key.secret, _purpose(step, columns, name))


def _orthonormal(columns: Floats) -> Floats:
    """Columns made orthogonal from the first on, of length 1, each on the side where it was."""
    straight, lengths = np.linalg.qr(columns)
    return np.asarray(straight * np.sign(np.diagonal(lengths)))


def _turned_blocks(step: CheckedStep, part: NoisyRows, columns: Sequence[str], middle: Floats) -> Floats:
    """Moves of records that are turned together, block by block."""
    assert step.key is not None
    assert part.identity is not None
    secret, rows = step.key.secret, len(middle)
    order = np.argsort(drawn_words(part.identity, secret, _purpose(step, columns, "", "/block")), kind="stable")
    blocks = np.array_split(order, max(rows // TOGETHER, 1))
    widest = max(len(block) for block in blocks) - 1
    draws = [drawn_normals(part.identity, secret, _purpose(step, columns, "", f"/{i}")) for i in range(widest)]
    normals = np.stack(draws, axis=1)
    angle = np.arccos(1 - float(step.method["amount"]) / 2)
    moves = np.zeros_like(middle)
    for block in blocks:
        size = len(block)
        axes = _orthonormal(np.concatenate([np.ones((size, 1)), normals[block, : size - 1]], axis=1))[:, 1:]
        pairs = (size - 1) // 2
        first, second = axes[:, 0 : 2 * pairs : 2], axes[:, 1 : 2 * pairs : 2]
        one, two = first.T @ middle[block], second.T @ middle[block]
        moves[block] += first @ ((np.cos(angle) - 1) * one - np.sin(angle) * two)
        moves[block] += second @ (np.sin(angle) * one + (np.cos(angle) - 1) * two)
    return moves


def _hypercube(
    step: CheckedStep, part: NoisyRows, columns: Sequence[str], middle: Floats, normals: Floats
) -> MoveRange:
    """Moves to the values of new ranks; ranks of scores that are nearly the same may be exchanged."""
    from scipy.special import ndtri

    assert step.key is not None
    assert part.identity is not None
    rows, who = len(middle), part.identity.astype(np.int64)
    rank = np.stack([_ranks(column, who) for column in middle.T], axis=1)
    scores = ndtri((rank + 0.5) / rows)
    scores = scores + added("restricted", scores - scores.mean(axis=0), normals, float(step.method["amount"]))
    low, high = np.empty_like(middle), np.empty_like(middle)
    for place, name in enumerate(part.columns):
        purpose = _purpose(step, columns, name, "/place")
        inside = drawn_fractions(part.identity, step.key.secret, purpose)
        new = _ranks(scores[:, place], who)
        ordered = np.sort(scores[:, place])
        close = np.zeros(rows, np.bool_)
        close[np.argsort(new)] = np.append(np.diff(ordered) < EDGE, False) | np.append(False, np.diff(ordered) < EDGE)
        values = np.sort(middle[:, place])
        for found, side in ((low, -1), (high, 1)):
            at = np.clip(new + inside - 0.5 + side * close, 0, rows - 1)
            found[:, place] = np.interp(at, np.arange(rows), values) - middle[:, place]
    return MoveRange(low, high)


def _ranks(values: Floats, who: Ints) -> Ints:
    rank = np.empty(len(values), np.int64)
    rank[np.lexsort((who, values))] = np.arange(len(values))
    return rank
