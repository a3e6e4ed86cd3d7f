"""The utility of several released files of one original: what analysts lose on average over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from discreet.errors import counted
from discreet.measures.margins import Association, Margin, TableDistance
from discreet.measures.matrix_battery import BatteryLine, MatrixBattery
from discreet.measures.model_changes import CoefficientChange, ModelChange
from discreet.measures.overlap import inverse_mean_square, percent_difference
from discreet.measures.propensity import Propensity
from discreet.measures.propensity_tree import TreePropensity
from discreet.measures.statistic_changes import ChangeLimits, StatisticChange
from discreet.measures.utility_result import RecordUtility
from discreet.measures.values import EigenvalueChanges, ValueLosses

Line = TypeVar("Line", Margin, Association, TableDistance, BatteryLine, StatisticChange, CoefficientChange)
Found = TypeVar("Found")


def over_releases(found: Sequence[RecordUtility]) -> RecordUtility:
    """Means over several released files; inverse squares are one over the mean of squared differences.

    What one of the files does not have (a group, a term, a table) is left out.

    Parameters
    ----------
    found
        The utility of each file beside the same original, asked the same questions.
    """
    first = found[0]
    if len(found) == 1:
        return first
    limits = first.limits
    note = f"All numbers are means over {counted(len(found), 'release')}; warnings are of the first one."
    return replace(
        first,
        records=(first.records[0], round(float(np.mean([one.records[1] for one in found])))),
        statistics=_statistics([one.statistics for one in found], limits),
        models=tuple(_model([one.models[at] for one in found]) for at in range(len(first.models))),
        tables=_lines([one.tables for one in found], lambda line: line.table, _mean),
        margins=_lines([one.margins for one in found], lambda line: line.column, _mean),
        pairs=_lines([one.pairs for one in found], lambda line: (line.first, line.second), _mean),
        logistic=_score(_all([one.logistic for one in found])),
        tree=_tree(_all([one.tree for one in found])),
        battery=_battery(_all([one.battery for one in found])),
        losses=_losses(_all([one.losses for one in found])),
        eigenvalues=_eigenvalues(_all([one.eigenvalues for one in found])),
        notes=(note, *first.notes),
    )


def _all(found: Sequence[Found | None]) -> list[Found]:
    """What all files have; nothing where one has not."""
    there = [one for one in found if one is not None]
    return there if len(there) == len(found) else []


def _lines(
    found: Sequence[Sequence[Line]], name: Callable[[Line], Any], joined: Callable[[Sequence[Line]], Line]
) -> tuple[Line, ...]:
    """One line for each that all files have, made of theirs."""
    by_name = [{name(line): line for line in lines} for lines in found]
    common = [name(line) for line in found[0] if all(name(line) in lines for lines in by_name)]
    return tuple(joined([lines[one] for lines in by_name]) for one in common)


def _mean(lines: Sequence[Line]) -> Line:
    """A line with the means of all numbers; counts are rounded."""
    means: dict[str, Any] = {}
    for field, value in lines[0]._asdict().items():
        if isinstance(value, int | float):
            mean = float(np.mean([getattr(line, field) for line in lines]))
            means[field] = round(mean) if isinstance(value, int) else mean
    return lines[0]._replace(**means)


def _statistics(found: Sequence[Sequence[StatisticChange]], limits: ChangeLimits) -> tuple[StatisticChange, ...]:
    def joined(lines: Sequence[StatisticChange]) -> StatisticChange:
        original, each = lines[0].original, [line.released for line in lines]
        mean = float(np.mean(each))
        flag = "same" if all(line.flag == "same" for line in lines) else limits.flag(original, mean)
        percent, inverse = float(percent_difference(original, mean)), inverse_mean_square(original, each)
        return lines[0]._replace(released=mean, percent=percent, inverse_mse=inverse, flag=flag)

    return _lines(found, lambda line: (line.quantity, line.statistic, line.group), joined)


def _model(found: Sequence[ModelChange]) -> ModelChange:
    """A model over several files; it failed where it failed for one."""
    failed = [one for one in found if one.failed]
    if failed:
        words = f"{counted(len(failed), 'release')} of {len(found)}: {failed[0].failed}"
        return ModelChange(found[0].model, failed=words)

    def joined(lines: Sequence[CoefficientChange]) -> CoefficientChange:
        mean = _mean(lines)
        return mean._replace(
            percent=float(percent_difference(mean.original, mean.released)),
            inverse_mse=inverse_mean_square(mean.original, [line.released for line in lines]),
        )

    notes = tuple(dict.fromkeys(note for one in found for note in one.notes))
    return ModelChange(found[0].model, _lines([one.lines for one in found], lambda line: line.term, joined), "", notes)


def _score(found: Sequence[Propensity]) -> Propensity | None:
    if not found:
        return None
    total = float(np.mean([one.total for one in found]))
    shuffled = tuple(number for one in found for number in one.shuffled)
    like = [one.weighted for one in found if one.weighted is not None]
    weighted = (float(np.mean([one[0] for one in like])), float(np.mean([one[1] for one in like]))) if like else None
    separated = all(one.separated for one in found)
    return replace(found[0], total=total, shuffled=shuffled, separated=separated, weighted=weighted)


def _tree(found: Sequence[TreePropensity]) -> TreePropensity | None:
    score = _score([one.score for one in found])
    if score is None:
        return None
    importance = {name: float(np.mean([one.importance[name] for one in found])) for name in found[0].importance}
    return replace(found[0], score=score, importance=importance)


def _battery(found: Sequence[MatrixBattery]) -> MatrixBattery | None:
    if not found:
        return None
    lines = _lines([one.lines for one in found], lambda line: line.matrix, _mean)
    return replace(found[0], lines=lines, unstable=any(one.unstable for one in found))


def _losses(found: Sequence[ValueLosses]) -> ValueLosses | None:
    if not found:
        return None
    return ValueLosses(
        **{field.name: float(np.mean([getattr(one, field.name) for one in found])) for field in fields(ValueLosses)}
    )


def _eigenvalues(found: Sequence[EigenvalueChanges]) -> EigenvalueChanges | None:
    if not found:
        return None
    return EigenvalueChanges(*(float(np.mean(side)) for side in zip(*found, strict=True)))
