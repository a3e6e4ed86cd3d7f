"""What spans a table: hierarchies as they are given, or found in the records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.engine.encode import recoded
from discreet.engine.protocol import FindsCodes, engine_of
from discreet.errors import InputError, ParameterError, counted, unknown_column
from discreet.files.frames import column_or_delimiter
from discreet.model.geography import Geography
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata

By = str | Sequence[str] | Mapping[str, Any]
"""Names of variables; or per variable its hierarchy or map, its codes, or ``None`` for the codes that occur."""
TOTAL = "Total"
MANY = 1_000
"""A variable with more codes than this, and a code of its own for every other record, is taken for a slip."""


def spanned(data: Microdata, by: By | None) -> dict[str, Any]:
    """Hierarchies of the variables that span a table of some records.

    Where none is given, it is the one that the data declare, or the codes that occur under one total.
    """
    if by is None:
        raise ParameterError("Say what spans the table.", hint="Give by=['region', 'size'], or a hierarchy for each.")
    given = dict(by) if isinstance(by, Mapping) else _named(by)
    return {variable: _hierarchy(data, variable, found) for variable, found in given.items()}


def _named(by: str | Sequence[str]) -> dict[str, None]:
    names = [by] if isinstance(by, str) else list(by)
    for name in names:
        if not isinstance(name, str):
            raise ParameterError(
                f"by= has a {type(name).__name__} where the name of a column is needed.",
                hint="Give names, by=['region', 'size'], or hierarchies, by={'region': ds.Hierarchy.flat(codes)}.",
            )
        if names.count(name) > 1:
            raise ParameterError(f"by= names {name!r} {names.count(name)} times.", hint="Name every variable once.")
    return dict.fromkeys(names)


def _hierarchy(data: Microdata, variable: str, given: Any) -> Hierarchy | Geography:
    if isinstance(given, Hierarchy | Geography):
        return given
    if given is None:
        declared = data.hierarchies.get(variable)
        return declared if declared is not None else _flat(codes_that_occur(data, variable), variable)
    if isinstance(given, Mapping):
        return Hierarchy.from_nested(given)
    if isinstance(given, Iterable) and not isinstance(given, str):
        return Hierarchy.flat(given)
    raise ParameterError(
        f"by[{variable!r}] is a {type(given).__name__}, not a hierarchy.",
        hint=f"Give a ds.Hierarchy, a list of codes, or by=[{variable!r}] for the codes that occur.",
    )


def _flat(codes: Sequence[str], variable: str) -> Hierarchy:
    if TOTAL in codes:
        raise InputError(
            f"Records have the code {TOTAL!r} in {variable!r}, which is to name the total of all others.",
            hint=f"If they are totals, leave them out: where=\"{variable} != '{TOTAL}'\". If not, give another name: "
            f"by={{{variable!r}: ds.Hierarchy.flat(codes, total='All')}}.",
        )
    return Hierarchy.flat(codes, total=TOTAL)


def codes_that_occur(data: Microdata, variable: str) -> list[str]:
    """The codes of a column, in the order of an ordered category, else sorted; whole numbers by size."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = engine_of(data).names(data)
    if variable not in names:
        path = data.source if isinstance(data.source, Path) and data.source.is_file() else None
        raise (
            unknown_column(variable, names)
            if path is None
            else column_or_delimiter(path, variable, names, data.delimiter)
        )
    found: dict[str, None] = {}
    ordered, rows, gaps = False, 0, 0
    for column, more, empty in _columns(data, variable):
        rows, gaps = rows + more, gaps + empty
        kind = column.type
        if pa.types.is_dictionary(kind):
            ordered = kind.ordered
            column = column.unify_dictionaries()
            used = pc.unique(column.combine_chunks().indices).drop_null()
            texts = column.chunk(0).dictionary.take(used.sort() if ordered else used)
        else:
            texts = pc.unique(column).drop_null()
        if pa.types.is_floating(texts.type) and not pc.all(pc.equal(pc.floor(texts), texts)).as_py():
            raise ParameterError(
                f"{variable!r} holds numbers with decimals, and by= needs codes.",
                hint=f"Make classes first, or sum it: value={variable!r}.",
            )
        found.update(dict.fromkeys(recoded(value, data.recode.get(variable, {})) for value in texts.to_pylist()))
    if gaps and variable in data.missing:
        found[str(data.missing[variable])] = None
    if len(found) > MANY and len(found) * 2 > rows:
        raise ParameterError(
            f"{variable!r} has {counted(len(found), 'code')} in {counted(rows, 'record')}: it seems to name records.",
            hint=f"Name another column, or give its codes: by={{{variable!r}: ds.Hierarchy.flat(codes)}}.",
        )
    return list(found) if ordered else _sorted(found)


def _columns(data: Microdata, variable: str) -> Iterator[tuple[Any, int, int]]:
    """Values of a column, with how many records there are and how many gaps: all of them, or those that occur."""
    engine = engine_of(data)
    if isinstance(engine, FindsCodes):
        yield engine.codes(data, variable)
        return
    for piece in engine.pieces(data, [variable], [variable]):
        yield piece[variable], len(piece), piece[variable].null_count


def _sorted(codes: Iterable[str]) -> list[str]:
    listing = list(codes)
    if all(code.removeprefix("-").isdecimal() and code.isascii() for code in listing):
        return sorted(listing, key=lambda code: (int(code), code))
    return sorted(listing)
