"""What is left of a file of records: everything that is measured of two files, but for models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import numpy as np

from discreet.errors import DiscreetError, ParameterError, counted, unknown_name
from discreet.measures.file_pair import FilePair, PairedColumn
from discreet.measures.margins import MOST_PAIRED, TableDistance, associations, margins, refuse_tables, table_distance
from discreet.measures.matrix_battery import MatrixBattery, matrix_battery
from discreet.measures.model_changes import ModelChange
from discreet.measures.propensity import MOST_TERMS, Propensity, fitted_propensity, mean_one
from discreet.measures.propensity_terms import Indicators, Terms, count_terms, standard
from discreet.measures.propensity_tree import TreeColumn, TreePropensity, tree_propensity
from discreet.measures.statistic_changes import ChangeLimits, Cuts, Groups, Statistic, statistic_changes
from discreet.measures.utility_result import RecordUtility
from discreet.measures.values import EigenvalueChanges, ValueLosses, eigenvalue_changes, value_losses
from discreet.model.arrays import Floats, Ints
from discreet.parameters import Declared, Natural, Number

FEW_TERMS = 100
"""Without a degree, the richest model of up to so many terms is taken, and of a term for every twenty records."""
RECORDS_A_TERM = 20
MOST_CODES = 20
"""Codes besides the most frequent ones have no term of their own."""
TREE_RECORDS = 200_000
"""Of larger files a tree sees every so-manieth record."""
WAYS = ((3, True), (2, True), (3, False), (2, False), (1, False))
"""Degrees and whether codes are crossed with others, from the richest model to the poorest."""
Score = Literal["logistic", "tree", "both", "none"]


@dataclass(frozen=True)
class UtilityQuestion(Declared):
    """What is asked of two files; :func:`discreet.utility` says what each part means."""

    tables: Any = ()
    statistics: Any = ("mean", "median")
    ratios: tuple[str, ...] = ()
    by: Any = None
    cuts: Literal["each", "original"] = "each"
    propensity: Literal["logistic", "tree", "both", "none"] = "both"
    degree: Annotated[int, Number(least=1, most=3)] | None = None
    leaf: Annotated[int, Number(least=1)] | None = None
    draws: Natural = 20
    seed: Natural = 1
    limits: ChangeLimits = field(default_factory=ChangeLimits)
    importance: Any = field(default_factory=dict)


def measure_utility(files: FilePair, question: UtilityQuestion, models: Sequence[ModelChange] = ()) -> RecordUtility:
    """What analysts lose who have one file in place of the other.

    Parameters
    ----------
    files
        The original and the released file.
    question
        What is asked.
    models
        Models that were fitted to both.
    """
    statistics: Sequence[Statistic] = question.statistics
    by: Groups = question.by
    cuts: Cuts = question.cuts
    changes = statistic_changes(
        files, statistics=statistics, ratios=question.ratios, by=by, cuts=cuts, limits=question.limits
    )
    tables, failed = _tables(files, question.tables)
    logistic, tree, notes = _scores(files, question)
    importance = _importance(files, question.importance, question.ratios)
    battery, losses, eigenvalues, more = _of_numbers(files, importance)
    return RecordUtility(
        records=files.rows,
        aligned=files.aligned,
        weighted=files.weighted,
        columns=files.standings,
        statistics=changes,
        models=tuple(models),
        tables=tables,
        failed_tables=failed,
        margins=margins(files),
        pairs=associations(files),
        logistic=logistic,
        tree=tree,
        battery=battery,
        losses=losses,
        eigenvalues=eigenvalues,
        limits=question.limits,
        notes=(*files.notes, *notes, *more, *_pair_note(files)),
        importance=importance,
    )


def _importance(files: FilePair, given: Any, ratios: Sequence[str]) -> dict[str, float]:
    """How much columns, and ratios of them, count; refused where that is no number from 0 on, or nothing counts."""
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"importance={given!r} is not allowed.", hint="Write importance={'income': 5, 'age': 0.5}."
        )
    names = [*(one.name for one in files.columns), *ratios]
    for name, value in given.items():
        if name not in names:
            raise ParameterError(unknown_name("column", str(name), names, "the compared columns (importance)"))
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < np.inf:
            raise ParameterError(
                f"importance[{name!r}]={value!r} is not allowed.", hint="Give a number from 0 (left out) on."
            )
    found = {str(name): float(value) for name, value in given.items()}
    if not any(found.get(one.name, 1.0) for one in files.columns):
        raise ParameterError("No column counts.", hint="Give at least one an importance above 0.")
    return found


def _pair_note(files: FilePair) -> list[str]:
    if len(files.columns) <= MOST_PAIRED:
        return []
    return [f"Pairs were compared of the first {MOST_PAIRED} columns only; name others with columns=."]


def _tables(files: FilePair, tables: Any) -> tuple[tuple[TableDistance, ...], tuple[str, ...]]:
    """Distances of named tables; one that cannot be made is told and not raised."""
    if isinstance(tables, str | Mapping) or not isinstance(tables, Sequence):
        raise ParameterError(f"tables={tables!r} is not allowed.", hint="Write tables=[['age', 'sex'], ['region']].")
    refuse_tables(files, tables)
    found, failed = [], []
    for table in tables:
        compared = isinstance(table, str) or {one.name for one in files.columns} >= set(table)
        try:
            found.append(table_distance(files, table))
        except DiscreetError as error:
            if compared:
                raise
            failed.append(f"{' x '.join(table)} cannot be made of both files: {error}")
    return tuple(found), tuple(failed)


# ---- propensity ---------------------------------------------------------------------------------------------


def _scores(files: FilePair, question: UtilityQuestion) -> tuple[Propensity | None, TreePropensity | None, list[str]]:
    logistic, tree, notes = None, None, []
    if question.propensity in ("logistic", "both"):
        logistic, words = logistic_propensity(files, question.degree)
        notes.append(words)
    if question.propensity in ("tree", "both"):
        step = max(1, -(-sum(files.rows) // TREE_RECORDS))
        columns = [
            TreeColumn(one.name, np.concatenate([one.before[::step], one.after[::step]])) for one in files.columns
        ]
        originals = len(columns[0].values) - len(files.columns[0].after[::step])
        weight = np.concatenate([side[::step] for side in files.weights]) if files.weighted else None
        tree = tree_propensity(
            columns, originals, leaf=question.leaf, draws=question.draws, seed=question.seed, weight=weight
        )
        words = (
            f"The tree has leaves of {tree.leaf:,} records or more, and is judged beside {question.draws} mixed files."
        )
        notes.append(f"{words} It saw one record in {step}." if step > 1 else words)
    if question.propensity != "none" and files.weighted:
        notes.append("Propensity scores count records by their weights, which have a mean of 1 in each file.")
    return logistic, tree, notes


def logistic_propensity(files: FilePair, degree: int | None = None) -> tuple[Propensity, str]:
    """How well a logistic model tells two files apart, numbers and codes together, and the model in words.

    Parameters
    ----------
    files
        Both files. Gaps of numbers have a term of their own; records count by their weights where files have them.
    degree
        Degree of the polynomial of numbers. Where it is left out, the richest model is taken that has at most 100
        terms, and one for every twenty records; codes are crossed with other columns where that leaves room.
    """
    numbers = _stacked_numbers(files)
    indicators = [one for column in files.columns if (one := _indicators(column)).chosen]
    codes = [len(one.chosen) for one in indicators]
    fewest = min(FEW_TERMS, max(1, sum(files.rows) // RECORDS_A_TERM))
    ways = [way for way in WAYS if degree is None or way == (degree, False)] or [(degree or 1, False)]
    fitting = [way for way in ways if count_terms(len(numbers), codes, *way) <= fewest]
    power, crossed = fitting[0] if fitting else ways[-1]
    many = count_terms(len(numbers), codes, power, crossed)
    if many > MOST_TERMS:
        raise ParameterError(
            f"A propensity model of these columns has {many:,} terms; at most {MOST_TERMS} are fitted.",
            hint="Name fewer columns, a lower degree, or propensity='tree'.",
        )
    weight = np.concatenate([mean_one(side) for side in files.weights]) if files.weighted else None
    score = fitted_propensity(Terms(numbers, indicators, power, crossed), files.rows[0], weight)
    words = f"The logistic model has {counted(score.terms, 'term')}: numbers up to degree {power}"
    words += f", codes{' crossed with other columns' if crossed else ''}."
    if score.terms * RECORDS_A_TERM > 2 * score.records:
        words += " That is many for so few records, and its score is unsteady."
    return score, words


def _stacked_numbers(files: FilePair) -> Floats:
    columns = files.numbers
    if not columns:
        return np.zeros((0, sum(files.rows)))
    return standard(np.stack([np.concatenate([column.before, column.after]) for column in columns]))


def _indicators(column: PairedColumn) -> Indicators:
    """Codes that have a term: all but the most frequent one and rare ones; of numbers, gaps."""
    if column.is_number:
        gaps: Ints = np.concatenate(column.gaps()).astype(np.int64)
        return Indicators(column.name, gaps, (1,) if gaps.any() and not gaps.all() else ())
    codes: Ints = np.concatenate([column.before, column.after]).astype(np.int64)
    counts = np.bincount(codes)
    common = [int(code) for code in np.argsort(-counts, kind="stable") if counts[code]]
    return Indicators(column.name, codes, tuple(common[1 : MOST_CODES + 1]))


# ---- numbers ------------------------------------------------------------------------------------------------


def _of_numbers(
    files: FilePair, importance: Mapping[str, float]
) -> tuple[MatrixBattery | None, ValueLosses | None, EigenvalueChanges | None, list[str]]:
    """What is measured of all numbers together, of records without a gap."""
    if not files.numbers:
        return None, None, None, []
    pair, weights = files.values()
    left = [rows - len(side) for rows, side in zip(files.rows, (pair.before, pair.after), strict=True)]
    notes = []
    if any(left):
        words = f"{left[0]:,} original and {left[1]:,} released records have a gap in a number"
        notes.append(f"{words}, and were left out of IL1s, eigenvalues, losses and the battery.")
    if min(len(pair.before), len(pair.after)) < 2:
        return None, None, None, [*notes, "Too few records have all numbers for these measures."]
    losses = value_losses(pair)
    if not files.aligned:
        losses = replace(losses, il1=float("nan"))
        notes.append("Records are not matched: distances of single values (IL1s, X of the battery) are left out.")
    try:
        battery = matrix_battery(
            pair, aligned=files.aligned, weights=weights if files.weighted else None, importance=importance
        )
    except DiscreetError as error:
        return None, losses, eigenvalue_changes(pair), [*notes, str(error)]
    if battery.unstable:
        notes.append("Components nearly tie or turned: RF and F of the battery are unstable, and mean little.")
    if battery.left_out:
        notes.append(f"Columns {', '.join(battery.left_out)} never vary in a file, and are not in the battery.")
    return battery, losses, eigenvalue_changes(pair), notes
