"""Samples by their keys, alone or beside a register with the same codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import InputError, NeedsError, ParameterError, counted, unknown_name
from discreet.measures.population.cells import SampleCells, refuse_weights, sample_cells
from discreet.model.arrays import Floats, Ints
from discreet.model.records import RecordSet

MOST_CELLS = 50_000_000


@dataclass(frozen=True, eq=False)
class AlignedTables:
    """A sample and a register as tables of the same keys, with the values of each key in their order.

    ``sample`` counts records, ``weights`` adds up their weights where they have some, ``register`` counts persons.
    """

    keys: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    sample: Ints
    weights: Floats | None
    register: Floats


def aligned_tables(
    sample: Any, register: Any, keys: Sequence[str], *, weight: str | None = None, count: str | None = None
) -> AlignedTables:
    """Tables of a sample and of a register, or an old census, by the same codes.

    Parameters
    ----------
    sample
        Records of the sample: a data frame, Microdata or the path of a file.
    register
        Records of everybody, or cells with their counts, in the same way.
    keys
        Columns of both.
    weight
        Column of sampling weights.
    count
        Column of the register with the number of persons in each row; every row is one person where left out.

    Raises
    ------
    InputError
        Where the sample has values of a key that the register lacks, or a key has empty fields.

    Examples
    --------
    >>> import pyarrow as pa
    >>> sample = pa.table({"sex": ["f", "m", "m"]})
    >>> found = aligned_tables(sample, pa.table({"sex": ["m", "f"], "persons": [40, 30]}), ["sex"], count="persons")
    >>> found.values, found.sample.tolist(), found.register.tolist()
    ((('f', 'm'),), [1, 2], [30.0, 40.0])
    """
    records, everybody = _read(sample, weight), _read(register, count)
    if not keys:
        raise NeedsError("There are no keys.", hint="Name the columns by which somebody may be recognised.")
    wanted = ((records, "the sample", [*keys, weight]), (everybody, "the register", [*keys, count]))
    for table, where, names in wanted:
        for name in names:
            if name is not None and name not in table.names:
                raise ParameterError(unknown_name("column", name, table.names, where))
    places, others, values = zip(*(_codes(records[key], everybody[key], key) for key in keys), strict=True)
    shape = tuple(len(one) for one in values)
    if np.prod([float(size) for size in shape]) > MOST_CELLS:
        raise ParameterError(f"The keys have more than {MOST_CELLS:,} cells.", hint="Use fewer keys, or coarser ones.")
    cells = int(np.prod(shape))
    own, theirs = (np.asarray(np.ravel_multi_index(one, shape), np.int64) for one in (places, others))
    weights = None
    if weight is not None:
        mass = refuse_weights(_numbers(records[weight]))
        weights = np.bincount(own, mass, cells).reshape(shape).astype(np.float64)
    persons = np.ones(len(theirs)) if count is None else _numbers(everybody[count])
    if not np.all(persons >= 0):
        raise InputError(f"Column {count!r} of the register has empty or negative counts.", hint="Correct them.")
    return AlignedTables(
        tuple(keys),
        values,
        np.bincount(own, minlength=cells).reshape(shape).astype(np.int64),
        weights,
        np.bincount(theirs, persons, cells).reshape(shape).astype(np.float64),
    )


def key_cells(
    data: Any, keys: Sequence[str], *, weight: str | None = None, fraction: float | None = None
) -> SampleCells:
    """The cells of a sample by its keys, for the models of this package. Empty fields are a value of their own.

    Parameters
    ----------
    data
        Records of the sample: a data frame, Microdata or the path of a file.
    keys
        Columns by which somebody may be recognised.
    weight, fraction
        One of them: the column of sampling weights, or the share of the population in the sample.

    Examples
    --------
    >>> import pyarrow as pa
    >>> found = key_cells(pa.table({"age": [30, 30, 31], "sex": ["f", "f", "m"]}), ["age", "sex"], fraction=0.1)
    >>> found.records, found.uniques
    (3, 1)
    """
    from discreet.rules.key_counts import key_codes

    records = _read(data, weight)
    for name in (*keys, weight):
        if name is not None and name not in records.names:
            raise ParameterError(unknown_name("column", name, records.names, "the sample"))
    weights = None if weight is None else _numbers(records[weight])
    return sample_cells(key_codes(records, tuple(keys)), weights, fraction)


def _read(data: Any, number: str | None) -> RecordSet:
    from discreet.engine.any_records import records_of

    return records_of(data, () if number is None else (number,))


def _numbers(column: Any) -> Floats:
    import pyarrow as pa

    return np.asarray(column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(), np.float64)


def _codes(own: Any, theirs: Any, key: str) -> tuple[Ints, Ints, tuple[Any, ...]]:
    """The codes of a key in both, and its values in their order."""
    for column, where in ((own, "sample"), (theirs, "register")):
        if column.null_count == len(column):
            raise InputError(
                f"Key {key!r} is empty in every row of the {where}.", hint="Leave it out, or correct how it is read."
            )
        if column.null_count:
            raise InputError(
                f"Key {key!r} is empty in {counted(column.null_count, 'row')} of the {where}.",
                hint="Fill empty fields with a value of their own in both, or leave these rows out.",
            )
    there = {value: place for place, value in enumerate(sorted(set(theirs.to_pylist()), key=_order))}
    lacking = {value for value in set(own.to_pylist()) if value not in there}
    if lacking:
        raise InputError(
            f"The register lacks {counted(len(lacking), 'value')} of key {key!r} that the sample has.",
            hint="Recode both to the same values; a register of everybody has all of them.",
        )
    places = [np.array([there[value] for value in column.to_pylist()], np.int64) for column in (own, theirs)]
    return places[0], places[1], tuple(there)


def _order(value: Any) -> tuple[str, Any]:
    return type(value).__name__, value
