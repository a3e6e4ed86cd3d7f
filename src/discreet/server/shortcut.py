"""A shorter way to the answers that are asked most: plain counts with cell keys, of records in columns.

It gives the public table that ``protect`` gives. That is not only tested: what somebody asks for the first time goes
the long way, and the short way beside it. Where the two ever differ, the short way is closed for the data set, and the
operator is told.
"""

from __future__ import annotations

import logging
from dataclasses import fields
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.engine.column_files import open_columns
from discreet.engine.columns import ENGINE as COLUMNS
from discreet.engine.columns import ColumnRecords
from discreet.files.published.jsonstat import ReadyDimensions
from discreet.model.public import PublicTable
from discreet.tables.perturb.straight import MOST_CELLS, StraightNoise, StraightVariable, straight_counts

if TYPE_CHECKING:
    from discreet.server.dataset import Dataset
    from discreet.server.question import Question

LOG = logging.getLogger("discreet.server")
SMALL_CELLS, SMALL_RECORDS = 20_000, 100_000
"""A table with at most so many cells, of at most so many records, is made in less time than a thread takes over."""


class Shortcut:
    """The short way of a data set.

    Parameters
    ----------
    dataset
        The data set.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._noise: StraightNoise | None = None
        if _fits(dataset):
            self._noise = StraightNoise(dataset.method)  # type: ignore[arg-type]
        self._variables = {
            (name, level.number): StraightVariable(level.hierarchy)
            for name, levels in dataset.levels.items()
            for level in levels
            if name != dataset.geography  # no table of one area is by areas
        }
        self.written = ReadyDimensions()
        """What answers say of these variables, where all of their codes occur."""
        for (name, _), one in self._variables.items():
            self.written.add(name, one.hierarchy.codes, one.labels, one.hierarchy.listed_parents)

    def leads(self, question: Question) -> bool:
        """Whether a question can be answered this way."""
        return self._noise is not None and self._way(question) is not None

    def table(self, question: Question) -> PublicTable | None:
        """The public table of a question; ``None`` where only the long way leads to it."""
        noise, way = self._noise, self._way(question)
        if noise is None or way is None:
            return None
        packed = way.records.packed({name: one.hierarchy for name, one in way.variables.items()})
        if packed is None:
            return None
        return straight_counts(way.variables, packed, noise, self._dataset.catalogue.period)

    def is_small(self, question: Question, cells: int) -> bool:
        """Whether a question leads this way and takes so little that no thread is worth it."""
        if cells > SMALL_CELLS or self._noise is None:
            return False
        way = self._way(question)
        return way is not None and len(way.records) <= SMALL_RECORDS

    def compare(self, question: Question, public: PublicTable) -> None:
        """Close the way where it leads elsewhere than the long one."""
        found = self.table(question)
        if found is not None and not same_tables(found, public):
            self._noise = None
            LOG.error("the short way of data set %s gave another table; it is closed", self._dataset.name)

    def _way(self, question: Question) -> _Way | None:
        """Variables and records of a question that leads this way."""
        if "way" not in question.kept:
            question.kept["way"] = self._found_way(question)
        found: _Way | None = question.kept["way"]
        return found

    def _found_way(self, question: Question) -> _Way | None:
        areas, dataset = self._dataset.areas, self._dataset
        if question.value is not None or question.area is None or areas is None or question.area == areas.total:
            return None
        variables = {place[0]: self._variables[place] for place in question.variables}
        cells = prod(len(one.hierarchy) for one in variables.values())
        if cells > MOST_CELLS or not all(one.fits for one in variables.values()):
            return None
        levels = {name: dataset.levels[name][number - 1] for name, number in question.variables}
        recode = {name: level.recode for name, level in levels.items() if level.recode}
        data = dataset.data.with_(recode=recode) if recode else dataset.data
        return _Way(variables, COLUMNS.selected(data, dataset.where(question)))


class _Way(NamedTuple):
    """Variables and records of a table."""

    variables: dict[str, StraightVariable]
    records: ColumnRecords


def _fits(dataset: Dataset) -> bool:
    """Whether a data set has what the short way takes: whole record keys, no weights, nothing looked at besides."""
    data, policy = dataset.data, dataset.policy
    if data.engine != "columns" or policy.mode == "hypercube" or policy.most_sparse is not None:
        return False
    if any((data.weight, data.contributor, data.waiver, data.request)) or data.record_key is None:
        return False
    keys = open_columns(data.source).manifest.keys
    return keys is not None and not keys.modulus and StraightNoise.fits(dataset.method)


def same_tables(one: PublicTable, two: PublicTable) -> bool:
    """Whether two public tables are the same in everything that goes out."""
    for field in fields(PublicTable):
        mine, other = getattr(one, field.name), getattr(two, field.name)
        if isinstance(mine, np.ndarray) or isinstance(other, np.ndarray):
            if mine is None or other is None or mine.dtype != other.dtype or not np.array_equal(mine, other):
                return False
        elif mine != other:
            return False
    return True
