"""Columns that models of others look at: bins for trees, columns of numbers for straight-line models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import RecordSet
from discreet.records.synthesis.columns import CodesOfColumn, UnitColumn
from discreet.records.value_columns import empty_rows

Bins = NDArray[np.uint8]
MOST_BINS = 256
MOST_FLAGS = 40
"""Codes of a predictor that straight-line models tell apart; rarer ones are as the most frequent one."""
SAME = 1e-9
"""A column of a straight-line model that varies less says nothing."""


@dataclass(frozen=True, eq=False)
class Predictor:
    """A column that others depend on: as it was, and as it is now that it has been synthesised.

    ``edges`` are given for numbers; codes have none. Empty fields of numbers are those that ``empty`` says.
    """

    name: str
    old: Floats
    new: Floats
    old_empty: Bools
    new_empty: Bools
    edges: Floats | None

    def with_new(self, values: Floats, empty: Bools) -> Predictor:
        """The same with what was drawn."""
        return replace(self, new=values, new_empty=empty)

    def bins(self, *, new: bool) -> Bins:
        """The number of each record's bin; empty fields of numbers are the first."""
        values, empty = (self.new, self.new_empty) if new else (self.old, self.old_empty)
        if self.edges is None:
            return np.minimum(values, MOST_BINS - 1).astype(np.uint8)
        found = np.searchsorted(self.edges, values, side="right") + 1
        return np.where(empty, 0, found).astype(np.uint8)


def number_predictor(name: str, values: Floats, empty: Bools) -> Predictor:
    """A predictor of numbers: at most 255 bins, as many records in each as ties allow."""
    known = values[~empty]
    distinct = np.unique(known)
    if len(distinct) > MOST_BINS - 2:
        distinct = np.unique(np.quantile(known, np.linspace(0, 1, MOST_BINS - 1), method="lower"))
    edges = distinct[1:]
    return Predictor(name, values, values, empty, empty, edges)


def code_predictor(name: str, codes: Ints) -> Predictor:
    """A predictor of codes: by how frequent they are, so that beyond 256 the rarest are one."""
    often = np.bincount(codes)
    place = np.empty(len(often), np.int64)
    place[np.argsort(-often, kind="stable")] = np.arange(len(often))
    values = place[codes].astype(np.float64)
    none = np.zeros(len(codes), np.bool_)
    return Predictor(name, values, values, none, none, None)


def predictor_of(column: CodesOfColumn | UnitColumn) -> Predictor:
    """A column that is synthesised, for those after it."""
    if isinstance(column, CodesOfColumn):
        return code_predictor(column.name, column.codes)
    return number_predictor(column.name, column.floats, column.state > 0)


def renewed(predictor: Predictor, column: CodesOfColumn | UnitColumn, drawn: Ints, state: Ints) -> Predictor:
    """The predictor with drawn codes, or units and where they are empty."""
    if isinstance(column, UnitColumn):
        return predictor.with_new(drawn.astype(np.float64), state > 0)
    place = np.zeros(column.size, np.float64)
    place[column.codes] = predictor.old
    return predictor.with_new(place[drawn], predictor.new_empty)


def kept_predictor(records: RecordSet, name: str) -> Predictor:
    """A column that stays as it is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = records[name]
    if pa.types.is_string(column.type) or pa.types.is_boolean(column.type):
        text = column.cast(pa.string())
        words = sorted(word for word in text.unique().to_pylist() if word is not None)
        codes = pc.index_in(text, pa.array(words, pa.string())).fill_null(len(words))
        return code_predictor(name, np.asarray(codes.to_numpy(), np.int64))
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
    values = np.asarray(column.fill_null(0).to_numpy(), np.float64)
    return number_predictor(name, values, empty_rows(records, name))


def stacked_bins(predictors: Sequence[Predictor], rows: int) -> tuple[Bins, Bins, Bools]:
    """Bins of all records before and after, a line for each predictor, and whether bins have an order.

    Without a predictor there is one line in which all records are alike.
    """
    if not predictors:
        alike = np.zeros((1, rows), np.uint8)
        return alike, alike, np.ones(1, np.bool_)
    old = np.stack([one.bins(new=False) for one in predictors])
    new = np.stack([old[at] if one.new is one.old else one.bins(new=True) for at, one in enumerate(predictors)])
    return old, new, np.array([one.edges is not None for one in predictors])


def design(predictors: Sequence[Predictor], fit: Ints, draw: Ints) -> tuple[Floats, Floats]:
    """Columns of a straight-line model, for the records that it is made of and those that it is for.

    Numbers are standardised, with a column of 0 and 1 for empty fields; so is there one for each code but the most
    frequent.
    """
    before: list[Floats] = [np.ones(len(fit))]
    after: list[Floats] = [np.ones(len(draw))]
    for one in predictors:
        for old, new in _columns(one, fit, draw):
            centre, size = float(old.mean()), float(old.std())
            if size > SAME * max(1.0, abs(centre)):
                before.append((old - centre) / size)
                after.append((new - centre) / size)
    return np.stack(before, axis=1), np.stack(after, axis=1)


def _columns(one: Predictor, fit: Ints, draw: Ints) -> list[tuple[Floats, Floats]]:
    old, new = one.old[fit], one.new[draw]
    if one.edges is None:
        present, often = np.unique(old, return_counts=True)
        frequent = present[np.argsort(-often, kind="stable")][1 : MOST_FLAGS + 1]
        return [((old == code).astype(np.float64), (new == code).astype(np.float64)) for code in frequent]
    gaps = one.old_empty[fit], one.new_empty[draw]
    middle = float(old[~gaps[0]].mean()) if not gaps[0].all() else 0.0
    values = np.where(gaps[0], middle, old), np.where(gaps[1], middle, new)
    return [values, *([(gaps[0].astype(np.float64), gaps[1].astype(np.float64))] if gaps[0].any() else [])]
