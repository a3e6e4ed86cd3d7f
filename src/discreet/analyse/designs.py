"""What a model is fitted to: outcome, regressors and probabilities of the records that have all their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.analyse.models import ModelName, refuse_outcome
from discreet.engine.any_records import records_of_release
from discreet.engine.record_set import read_record_set
from discreet.errors import InputError, ParameterError, counted, listed, unknown_column
from discreet.measures.retention import kept_between
from discreet.model.arrays import Bools, Floats
from discreet.model.blanking import Blanking
from discreet.model.microdata import Microdata
from discreet.model.records import MissingRange, PublicRecords
from discreet.rules.key_counts import codes_of

if TYPE_CHECKING:
    import pyarrow as pa

LEAST_PROBABILITY = 1e-6
Blankings = Blanking | Sequence[Blanking] | None


class AnalystRecords(NamedTuple):
    """Columns of published records, codes that stand for "unknown", and what is told of blanking."""

    table: pa.Table
    unknown: Mapping[str, tuple[MissingRange, ...]]
    blankings: tuple[Blanking, ...] | None


@dataclass(frozen=True, eq=False)
class Design:
    """Records that have all values of a model.

    ``matrix`` has a one and the regressors, less ``shift`` and divided by ``scale``, so that large numbers lose no
    digits; ``weights`` are those of the sample. ``total`` is the number of records, complete or not.
    """

    names: tuple[str, ...]
    outcome: Floats
    matrix: Floats
    shift: Floats
    scale: Floats
    weights: Floats
    rows: Bools

    def in_units(self, coefficients: Floats) -> Floats:
        """Coefficients (in the last axis) of the regressors as they came."""
        return np.asarray(coefficients @ self._back().T)

    def covariance_in_units(self, covariance: Floats) -> Floats:
        """The covariance of coefficients of the regressors as they came."""
        back = self._back()
        return np.asarray(back @ covariance @ back.T)

    def _back(self) -> Floats:
        """The matrix that turns coefficients into those of the regressors as they came."""
        back = np.diag(1 / np.append(1.0, self.scale))
        back[0, 1:] = -self.shift / self.scale
        return np.asarray(back, np.float64)


def opened(records: Any, numbers: Sequence[str], blanking: Blankings) -> AnalystRecords:
    """Published records in any form; what is told of blanking may come with them, or be given."""
    told = None if blanking is None else (blanking,) if isinstance(blanking, Blanking) else tuple(blanking)
    if told is not None and not all(isinstance(one, Blanking) for one in told):
        raise ParameterError("blanking= takes what ds.read_blanking(...) gives.", hint="Give the published file to it.")
    records = records_of_release(records)
    if isinstance(records, PublicRecords):
        missing = {name: about.missing for name, about in records.info.items() if about.missing}
        return AnalystRecords(records.columns, missing, records.blankings or None if told is None else told)
    data = records if isinstance(records, Microdata) else Microdata(records)
    found = read_record_set(data, list(numbers))
    missing = {name: found.about(name).missing for name in found.names if found.about(name).missing}
    return AnalystRecords(found.columns, missing, told)


def design_of(
    given: AnalystRecords, outcome: str, regressors: Sequence[str], model: ModelName, weight: str | None
) -> Design:
    """Outcome and regressors of the complete records."""
    names = (regressors,) if isinstance(regressors, str) else tuple(regressors)
    if not names or len({outcome, *names}) < len(names) + 1:
        raise ParameterError(
            "A model needs an outcome and other columns as regressors, each named once.",
            hint="For example outcome='wage', regressors=['age', 'hours'].",
        )
    wanted = (outcome, *names, *([weight] if weight else []))
    columns = {name: numbers_of(given, name) for name in wanted}
    rows = np.all([~np.isnan(column) for column in columns.values()], axis=0)
    terms = len(names) + 1
    if not rows.any():
        raise InputError(
            f"No record has values of all of {listed(wanted)}: nothing is left to analyse.",
            hint="Every record was blanked, or lacks a value; take fewer columns.",
        )
    if rows.sum() < terms + 1:
        raise InputError(
            f"{counted(int(rows.sum()), 'record', 'have')} values of all of {listed(wanted)}, and a model with "
            f"{counted(terms, 'coefficient')} needs at least {terms + 1}.",
            hint="Take fewer regressors, or more records.",
        )
    explained = columns[outcome][rows]
    refuse_outcome(model, explained, outcome)
    weights = columns[weight][rows] if weight else np.ones(int(rows.sum()))
    if np.any(weights <= 0):
        raise InputError(f"The weight {weight!r} has values that are not above 0.", hint="Leave such records out.")
    plain = np.stack([columns[name][rows] for name in names], axis=1)
    shift, scale = plain.mean(axis=0), plain.std(axis=0)
    constant = [name for name, spread, middle in zip(names, scale, shift, strict=True) if spread <= 1e-13 * abs(middle)]
    matrix = np.column_stack([np.ones(len(plain)), (plain - shift) / np.where(scale > 0, scale, 1.0)])
    if constant or np.linalg.matrix_rank(matrix, tol=1e-9 * np.sqrt(len(matrix))) < terms:
        raise InputError(
            f"The regressors {listed(names)} determine each other, or one never varies: the design is singular.",
            hint=f"Leave out {listed(constant)}." if constant else "Leave one of them out.",
        )
    return Design(("intercept", *names), explained, matrix, shift, scale, weights, rows)


def numbers_of(given: AnalystRecords, name: str) -> Floats:
    """A column as numbers; nothing (nan) in gaps, and for codes that stand for "unknown"."""
    import pyarrow as pa

    if name not in given.table.column_names:
        raise unknown_column(name, given.table.column_names, "the records")
    column = given.table[name]
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(f"Column {name!r} holds {column.type}, not numbers.", hint="Make columns of 0 and 1 of codes.")
    values = np.asarray(column.cast(pa.float64()).to_numpy(), np.float64).copy()
    if name in given.unknown:
        values[codes_of(given.table[name], given.unknown[name])[0] == 0] = np.nan
    if np.isinf(values).any():
        raise InputError(f"Column {name!r} has numbers that are not finite.", hint="Leave such records out.")
    return values


# ---- probabilities ------------------------------------------------------------------------------------------


def retention_probabilities(
    records: Any, columns: str | Sequence[str] | None = None, *, blanking: Blankings = None
) -> Floats:
    """How likely each record was to be kept by the limits of some columns; nothing (nan) where it was blanked.

    Parameters
    ----------
    records
        Public records: a release or its public part, a data frame, or a file.
    columns
        Columns whose limits count; all where left out. Their draws are independent, so that probabilities multiply.
    blanking
        What is published of the blanking (:func:`discreet.read_blanking`); what the release says where left out.

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> from discreet.model.blanking import Blanking, KeptRange
    >>> told = Blanking(("wage",), {"wage": KeptRange(None, 10.0, 2.0)}, {})
    >>> ds.analyse.retention_probabilities(pa.table({"wage": [10.0, 6.0, None]}), blanking=told).round(4)
    array([0.5   , 0.9772,    nan])
    """
    named = None if columns is None else {columns} if isinstance(columns, str) else set(columns)
    told = blanking if blanking is None or isinstance(blanking, Blanking) else tuple(blanking)
    wanted = [name for one in ([told] if isinstance(told, Blanking) else told or ()) for name in one.kept]
    given = opened(records, wanted, told)
    if given.blankings is None:
        raise nothing_told()
    limited = {name for one in given.blankings for name in one.kept}
    for name in sorted((named or set()) - limited):
        raise unknown_column(name, limited, "the limits")
    chosen = [name for one in given.blankings for name in one.kept if named is None or name in named]
    found = np.ones(given.table.num_rows)
    for name in chosen:
        found = found * _probability(given, name)
    return found


def _probability(given: AnalystRecords, name: str) -> Floats:
    """The probability of a column in every record, nan where it has no value."""
    assert given.blankings is not None
    ends = next(one.kept[name] for one in given.blankings if name in one.kept)
    values = numbers_of(given, name)
    low, high = (None if end is None else (end - values) / ends.jitter for end in (ends.low, ends.high))
    below, above = kept_between(low, high)
    return np.where(np.isnan(values), np.nan, above - below)


def model_probabilities(given: AnalystRecords, design: Design, outcome: str) -> Floats:
    """How likely each complete record was to be kept, as far as it matters to the model.

    Limits of regressors do not bias a model of the outcome given these regressors. Limits of all other columns do, the
    outcome's above all, where some column of the model is emptied by them.
    """
    if given.blankings is None:
        raise nothing_told()
    used = {outcome, *design.names[1:]}
    found = np.ones(len(design.outcome))
    for one in given.blankings:
        for name in one.kept if used & set(one.columns) else ():
            if name not in design.names[1:]:
                chances = _probability(given, name)[design.rows]
                found = found * np.where(np.isnan(chances), 1.0, chances)  # a gap of its own decided nothing
    return found


def stated_probabilities(given: AnalystRecords, design: Design, probabilities: Any) -> Floats:
    """Probabilities that the user gives: a column, or a number for every record."""
    if isinstance(probabilities, str):
        values = numbers_of(given, probabilities)
    else:
        values = np.asarray(probabilities, np.float64)
        if values.shape != (given.table.num_rows,):
            raise ParameterError(
                f"probabilities= has {values.size:,} numbers, and there are {counted(given.table.num_rows, 'record')}.",
                hint="Give one for every record; those of blanked ones are not looked at.",
            )
    return np.asarray(values[design.rows])


def refuse_probabilities(probabilities: Floats) -> None:
    """Refuse what is no probability, and what is so small that a weight is of no use."""
    wrong = int((~((probabilities > 0) & (probabilities <= 1))).sum())
    if wrong:
        raise InputError(
            f"{counted(wrong, 'record', 'have')} a probability of being kept that is not above 0 and at most 1.",
            hint="A record that is there was kept with some probability; give it.",
        )
    small = int((probabilities < LEAST_PROBABILITY).sum())
    if small:
        raise InputError(
            f"{counted(small, 'record', 'have')} a probability of being kept below {LEAST_PROBABILITY:g}: the weight "
            "would drown all others.",
            hint="Leave such records out and say so, or ask the office for a file with wider limits.",
        )


def nothing_told() -> ParameterError:
    """Nobody says how values were blanked."""
    return ParameterError(
        "Nothing says how likely records were to be kept.",
        hint="Give blanking=ds.read_blanking('NAME.blanking.json'), or probabilities=.",
    )
