"""Records to tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Literal, overload

from discreet.engine.protocol import columns_of, engine_of, open_records
from discreet.errors import InputError, ParameterError, unknown_name
from discreet.files.frames import coordinates
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import EngineName, Microdata
from discreet.model.spec import TableSpec
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.progress import steps
from discreet.verbs.spanning import By, spanned
from discreet.watching import watched

ROLES = ("contributor", "waiver", "request", "record_key", "missing", "recode")
WRITTEN = ("delimiter", "decimal", "encoding", "sheet")
"""How a file is written."""


@overload
def tabulate(
    data: Any,
    by: By,
    value: str | None = ...,
    *,
    specs: None = ...,
    engine: EngineName | None = ...,
    weight: str | Literal[False] | None = ...,
    **options: Any,
) -> Table: ...


@overload
def tabulate(
    data: Any,
    by: By,
    value: list[str] | tuple[str, ...],
    *,
    specs: None = ...,
    engine: EngineName | None = ...,
    weight: str | Literal[False] | None = ...,
    **options: Any,
) -> TableSet: ...


@overload
def tabulate(
    data: Any,
    *,
    specs: Sequence[TableSpec],
    engine: EngineName | None = ...,
) -> TableSet: ...


@overload
def tabulate(
    data: Any,
    by: By | None = ...,
    value: str | Sequence[str] | None = ...,
    *,
    specs: Sequence[TableSpec] | None = ...,
    engine: EngineName | None = ...,
    weight: str | Literal[False] | None = ...,
    **options: Any,
) -> Table | TableSet: ...


@watched
def tabulate(
    data: Any,
    by: By | None = None,
    value: str | Sequence[str] | None = None,
    *,
    specs: Sequence[TableSpec] | None = None,
    engine: EngineName | None = None,
    weight: str | Literal[False] | None = None,
    **options: Any,
) -> Table | TableSet:
    """Build one table, or several at once.

    Parameters
    ----------
    data
        :class:`~discreet.Microdata`, a data frame or the path of a file.
    by
        Names of the variables that span the table; or per variable its hierarchy, a list of codes, or a
        :class:`~discreet.HexGrid` or :class:`~discreet.Adjacency` for a map. A variable that is only named has the
        hierarchy that the data declare, or the codes that occur under the total ``"Total"``.
    value
        Variable to sum; several make a :class:`~discreet.TableSet`; ``None`` counts records.
    specs
        Ready specs instead of ``by`` and ``value``; they make a :class:`~discreet.TableSet`.
    engine
        ``"memory"``, ``"duckdb"`` for files larger than memory, ``"columns"`` for folders of columns, or ``"remote"``
        for tables of a database or cluster; what the data say (``Microdata(engine=)``) where left out. All give the
        same answer.
    weight
        Weight column; ``None`` takes the one the data declare, ``False`` none.
    **options
        Further fields of :class:`~discreet.TableSpec` (``where``, ``shadow``, ``cells``, ...), and roles of
        :class:`~discreet.Microdata` (``contributor``, ``waiver``, ...) when ``data`` is a plain frame or file.

    Returns
    -------
    Table or TableSet

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> firms = pa.table({"region": ["N", "N", "S"], "turnover": [5, 7, 9], "firm": [1, 2, 3]})
    >>> table = ds.tabulate(firms, by=["region"], value="turnover", contributor="firm")
    >>> table.values.tolist()
    [21.0, 12.0, 9.0]
    """
    data = as_microdata(data, weight, options)
    data = data if engine is None else data.on(engine)
    if specs is not None:
        if by is not None or value is not None or options:
            raise ParameterError("Give either specs= or by=, value= and options, not both.")
        wanted = list(specs)
    else:
        wanted = specs_of(data, by, value, weight, options)
    data, wanted = _placed(data, wanted)
    _refuse_unknown_columns(data)
    tables = _tables(data, wanted)
    return tables[0] if specs is None and (value is None or isinstance(value, str)) else TableSet(tables)


def as_microdata(data: Any, weight: str | Literal[False] | None, options: dict[str, Any]) -> Microdata:
    """Records with their roles, which are taken out of the options where a plain frame or file is given."""
    roles = {name: options.pop(name) for name in (*ROLES, *WRITTEN) if name in options}
    if not isinstance(data, Microdata):
        if isinstance(weight, str):
            roles["weight"] = weight
        return Microdata(data, **roles)
    if roles:
        raise ParameterError(f"{next(iter(roles))}= is a role: give it to Microdata, which was given already.")
    return data


def _refuse_unknown_columns(data: Microdata) -> None:
    """Refuse codes for the fields of a column that the records do not have: a misspelt name would go unnoticed."""
    for option, stated in (("missing", data.missing), ("recode", data.recode)):
        names = engine_of(data).names(data) if stated else []
        for name in stated:
            if name not in names:
                raise InputError(
                    unknown_name("column", name, names, "the records"),
                    hint=f"Correct the name in Microdata({option}=).",
                )


def specs_of(
    data: Microdata,
    by: By | None,
    value: str | Sequence[str] | None,
    weight: str | Literal[False] | None,
    options: Mapping[str, Any],
) -> list[TableSpec]:
    """One spec for each value."""
    own = [field.name for field in fields(TableSpec) if field.name not in ("places", "fewest", "identity_")]
    for name in options:
        if name not in own:
            raise ParameterError(unknown_name("option", name, [*own, *ROLES, *WRITTEN, "engine"], "tabulate"))
    found = spanned(data, by)
    values = [value] if value is None or isinstance(value, str) else list(value)
    return [TableSpec(by=found, value=v, weight=weight, **options) for v in values]


def _placed(data: Microdata, specs: list[TableSpec]) -> tuple[Microdata, list[TableSpec]]:
    """Records with a column of codes for every geography of coordinates, and specs with the codes that occur."""
    found = {v: where for spec in specs for v, where in spec.places.items() if where.coordinates}
    if not found:
        return data, specs
    import pyarrow as pa

    variables = {v for spec in specs for v in spec.variables if v not in found}
    names = engine_of(data).names(data)
    frame = columns_of(data, names, text=variables)
    by: dict[str, Hierarchy] = {}
    for variable, where in found.items():
        if variable in names:
            raise ParameterError(
                f"The records have a column {variable!r} already, and {variable!r} is to be made of coordinates.",
                hint="Give the map's variable another name.",
            )
        if any(spec.cells == "all" and variable in spec.by for spec in specs):
            raise ParameterError(
                f"cells='all' cannot be had by {variable!r}: its hexagons are those that the records lie in.",
                hint="Leave cells out, or state all places with ds.Adjacency(codes, pairs).",
            )
        codes = where.codes_of(*(coordinates(frame, column) for column in where.columns))
        by[variable] = where.hierarchy(codes)
        frame = frame.append_column(variable, pa.array(codes, pa.string()))
    placed = [spec.with_(by={v: by.get(v, h) for v, h in spec.by.items()}) for spec in specs]
    return replace(data, source=frame, engine="memory", encoded=None), placed


def _tables(data: Microdata, specs: list[TableSpec]) -> list[Table]:
    """Tables of all specs; specs of one universe and weight read the records once."""
    universes: dict[tuple[Any, ...], list[TableSpec]] = {}
    for spec in specs:
        weight = data.weight if spec.weight is None else spec.weight or None
        universes.setdefault((spec.where, weight), []).append(spec)
    done: dict[int, Table] = {}
    for (_, weight), members in universes.items():
        with open_records(data, members, weight) as records:
            done.update({id(spec): records.table(spec) for spec in steps("tabulate", members)})
    return [done[id(spec)] for spec in specs]
