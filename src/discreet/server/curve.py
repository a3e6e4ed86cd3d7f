"""The attack on a data set's own noise: how many counts are known exactly after how many tables."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from discreet.errors import ProtectionError
from discreet.model.arrays import Floats, Ints
from discreet.model.public import PublicTable
from discreet.progress import checkpoint
from discreet.server.catalogue import EVERYBODY
from discreet.server.dataset import Dataset
from discreet.server.question import Question
from discreet.server.refinement import exact_chance
from discreet.verbs.protect import protect

MOST_TABLES = 60


class CurvePoint(NamedTuple):
    """After so many tables: the share of counts that the attacker knows, and what the formula expects."""

    tables: int
    known: float
    expected: float


class AttackCurve(NamedTuple):
    """The curve of one margin."""

    margin: str
    points: list[CurvePoint]
    stops_at: float


def attack_curve(dataset: Dataset, most: int = MOST_TABLES) -> AttackCurve:
    """Average all tables that refine the margin of the two smallest variables, without an account in the way.

    Parameters
    ----------
    dataset
        The data set; its method must be one that can be averaged.
    most
        How many tables are asked.

    Raises
    ------
    ProtectionError
        When answers are sums of one hypercube: there is nothing to average.
    """
    if dataset.policy.mode == "hypercube":
        raise ProtectionError(
            "Answers of this data set are sums of one table: there is nothing to average.",
            hint="Its noise is what the hypercube has.",
        )
    names = sorted(dataset.levels, key=lambda name: (len(dataset.hierarchies[name]), name))
    target, others = names[:2], names[2:]
    true, own = _cells(dataset, target, target)
    readings: list[tuple[Floats, Floats]] = [(own, np.ones(len(own)))]
    points = [_point(dataset, true, readings)]
    further = [[name] for name in others] + [list(pair) for pair in combinations(others, 2)]
    for number, more in enumerate(further[:most]):
        checkpoint("asking", number, min(most, len(further)))
        readings.append(_reading(dataset, target, more))
        points.append(_point(dataset, true, readings))
    words = " x ".join(dataset.catalogue.variables[name].label or name for name in target)
    return AttackCurve(words, points, dataset.policy.exact_share)


def _point(dataset: Dataset, true: Ints, readings: list[tuple[Floats, Floats]]) -> CurvePoint:
    weights = np.stack([weight for _, weight in readings])
    values = np.stack([value for value, _ in readings])
    mean = (weights * values).sum(axis=0) / weights.sum(axis=0)
    known = float((np.floor(mean + 0.5) == true).mean())
    expected = float(np.mean([exact_chance(p, dataset.facts.variance) for p in weights.sum(axis=0).tolist()]))
    return CurvePoint(len(readings), known, expected)


def _asked(dataset: Dataset, names: list[str]) -> tuple[PublicTable, dict[tuple[str, ...], int]]:
    variables = tuple(sorted((name, len(dataset.levels[name])) for name in names))
    data, spec = dataset.asked(Question(dataset.name, dataset.edition, EVERYBODY, None, variables))
    release = protect(data, dataset.method, tables=[spec])
    table = release.custodian.tables[0]
    assert table.records is not None
    codes = [[h.codes[i] for i in table.codes[:, k].tolist()] for k, h in enumerate(table.spec.hierarchies)]
    rows = zip(*(codes[table.variables.index(name)] for name in names), strict=True)
    return release.public.tables[0], dict(zip(rows, table.records.tolist(), strict=True))


def _finest(dataset: Dataset, name: str) -> list[str]:
    hierarchy = dataset.hierarchies[name]
    return [code for code, base in zip(hierarchy.codes, hierarchy.base.tolist(), strict=True) if base]


def _cells(dataset: Dataset, target: list[str], names: list[str]) -> tuple[Ints, Floats]:
    """True and published counts of the finest cells of the target that are not empty."""
    public, true = _asked(dataset, names)
    shown = _values(public, target)
    cells = _target_cells(dataset, target, true)
    return np.array([true[cell] for cell in cells], np.int64), np.array([shown.get(cell, 0) for cell in cells], float)


def _target_cells(dataset: Dataset, target: list[str], true: dict[tuple[str, ...], int]) -> list[tuple[str, ...]]:
    fine = [set(_finest(dataset, name)) for name in target]
    return sorted(
        cell for cell, n in true.items() if n > 0 and all(code in f for code, f in zip(cell, fine, strict=True))
    )


def _values(public: PublicTable, names: list[str]) -> dict[tuple[str, ...], int]:
    codes = [[public.code_lists[k][i] for i in public.codes[:, k].tolist()] for k in range(len(public.variables))]
    rows = zip(*(codes[public.variables.index(name)] for name in names), strict=True)
    return dict(zip(rows, public.value.tolist(), strict=True))


def _reading(dataset: Dataset, target: list[str], more: list[str]) -> tuple[Floats, Floats]:
    """What the published cells of a finer table add up to, and how precise each sum is."""
    public, true = _asked(dataset, [*target, *more])
    _, whole = _asked(dataset, target)
    cells = _target_cells(dataset, target, whole)
    place = {cell: i for i, cell in enumerate(cells)}
    fine = [set(_finest(dataset, name)) for name in more]
    value, parts = np.zeros(len(cells)), np.zeros(len(cells))
    for cell, n in true.items():
        at = place.get(cell[: len(target)])
        if at is not None and n > 0 and all(c in f for c, f in zip(cell[len(target) :], fine, strict=True)):
            parts[at] += 1
    for cell, shown in _values(public, [*target, *more]).items():
        at = place.get(cell[: len(target)])
        if at is not None and all(c in f for c, f in zip(cell[len(target) :], fine, strict=True)):
            value[at] += shown
    return value, np.where(parts > 1, 1 / np.maximum(parts, 1), 0.0)
