"""Answers that are sums of the cells of one table, which was protected once: there is nothing to average."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.engine.cells import LeafCells, strides_of
from discreet.engine.rollup import rolled_up_by_variable
from discreet.model.arrays import Bools, Ints
from discreet.model.public import PublicTable
from discreet.server.question import Question
from discreet.server.selecting import without_codes

if TYPE_CHECKING:
    from discreet.server.dataset import Dataset


def summed(dataset: Dataset, whole: PublicTable, question: Question, refused: frozenset[str]) -> PublicTable:
    """The table of a question as sums of published cells of a finer one.

    Parameters
    ----------
    dataset
        The data set.
    whole
        The protected table.
    question
        What was asked.
    refused
        Areas that are not shown.
    """
    keep = _finest(dataset, whole, question)
    chosen = [dataset.levels[name][level - 1] for name, level in question.variables]
    hierarchies = [level.hierarchy for level in chosen]
    shape = [len(hierarchy) for hierarchy in hierarchies]
    keys = np.zeros(int(keep.sum()), np.int64)
    for (name, _), level, stride in zip(question.variables, chosen, strides_of(shape), strict=True):
        k = whole.variables.index(name)
        place = level.hierarchy.index
        number = np.array([place.get(level.recode.get(code, code), -1) for code in whole.code_lists[k]], np.int64)
        keys += number[whole.codes[keep, k]] * stride
    distinct, at = np.unique(keys, return_inverse=True)
    value: Ints = np.zeros(len(distinct), np.int64)
    np.add.at(value, at, whole.value[keep])
    ones = np.ones(len(distinct), np.int64)
    rolled = rolled_up_by_variable(LeafCells(distinct, ones, value[None, :], np.zeros(0, np.int64)), hierarchies, 0)
    codes = np.stack(np.unravel_index(rolled.keys, shape), axis=1).astype(np.int32)
    shown = rolled.sums[0] != 0
    table = PublicTable(
        name=whole.name,
        variables=question.names,
        code_lists=tuple(hierarchy.codes for hierarchy in hierarchies),
        labels=tuple(dict(hierarchy.labels) for hierarchy in hierarchies),
        codes=codes[shown],
        value=rolled.sums[0][shown],
        decimals=whole.decimals,
        shown=np.ones(int(shown.sum()), np.bool_),
        empty=np.zeros(int(shown.sum()), np.bool_),
        altered=True,
        parents=tuple(tuple(hierarchy.parents.tolist()) for hierarchy in hierarchies),
        measure=whole.measure,
        period=whole.period,
    )
    return without_codes(table, str(dataset.geography), refused) if refused else table


def _finest(dataset: Dataset, whole: PublicTable, question: Question) -> Bools:
    """The finest cells of the protected table, those of one area where one was asked for."""
    keep = np.ones(len(whole), np.bool_)
    for k, name in enumerate(whole.variables):
        hierarchy = dataset.hierarchies[name]
        fine = {code for code, base in zip(hierarchy.codes, hierarchy.base.tolist(), strict=True) if base}
        if name == dataset.geography and question.area is not None:
            fine &= set(hierarchy.covered(question.area))
        keep &= np.array([code in fine for code in whole.code_lists[k]], np.bool_)[whole.codes[:, k]]
    return keep
