"""Columns to a table, as pandas' ``crosstab`` takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.errors import InputError, ParameterError, counted
from discreet.model.microdata import Microdata
from discreet.model.table import Table
from discreet.rules.base import Rule
from discreet.verbs.assess import assess
from discreet.verbs.tabulate import tabulate


def crosstab(
    index: Any,
    columns: Any,
    values: Any = None,
    *,
    aggfunc: str | None = None,
    contributor: Any = None,
    weight: Any = None,
    rules: Rule | Sequence[Rule] = (),
    **options: Any,
) -> Table:
    """A table of columns, taken as ``pandas.crosstab`` takes them.

    Nothing is protected yet: ``ds.protect(table, method)`` does that.

    Parameters
    ----------
    index, columns
        One column (a pandas or polars series, an Arrow array), or a list of them.
    values
        Column that is summed; records are counted without it.
    aggfunc
        ``"sum"``, or ``"count"`` without ``values``; found by itself where left out.
    contributor
        Column that says who a record belongs to.
    weight
        Column of sampling weights.
    rules
        Rules to assess the table by.
    **options
        Further options of :func:`tabulate`.

    Returns
    -------
    Table
        Assessed, where rules are given.

    Examples
    --------
    >>> import discreet as ds, pandas as pd
    >>> firms = pd.DataFrame({"region": ["N", "N", "S"], "size": ["small", "large", "small"], "sales": [5, 7, 9]})
    >>> table = ds.crosstab(firms["region"], firms["size"], firms["sales"], rules=ds.MinContributors(2))
    >>> table.name, table.values.tolist()[0], int(table.unsafe.sum())
    ('sales_by_region_size', 21.0, 5)
    """
    _refuse_aggregate(aggfunc, values is not None)
    rows, heads = _listed(index), _listed(columns)
    given = {_name(one, f"row_{k}"): one for k, one in enumerate(rows)}
    given |= {_name(one, f"col_{k}"): one for k, one in enumerate(heads)}
    if len(given) != len(rows) + len(heads):
        raise ParameterError("Two columns have the same name.", hint="Give each a name of its own: series.rename(...).")
    by = list(given)
    roles: dict[str, Any] = {}
    for role, column in (("value", values), ("contributor", contributor), ("weight", weight)):
        if column is not None:
            roles[role] = _name(column, role)
            if given.setdefault(roles[role], column) is not column and role == "value":
                raise ParameterError(
                    f"{roles[role]!r} spans the table and is summed.", hint="Leave values= out to count records."
                )
    _refuse_unlike(given)
    value = roles.pop("value", None)
    table: Table = tabulate(Microdata(_together(given), **roles), by=by, value=value, **options)
    return assess(table, rules) if rules else table


def _refuse_aggregate(aggfunc: str | None, summed: bool) -> None:
    if aggfunc in (None, "sum" if summed else "count"):
        return
    if aggfunc == "sum":
        raise ParameterError("aggfunc='sum' needs values=, the column to sum.", hint="Give it, or leave aggfunc= out.")
    raise ParameterError(
        f"aggfunc={aggfunc!r} cannot be protected as a table of its own.",
        hint="A table holds sums or counts. For means, protect both: ds.tabulate(frame, by=[...], value=[...]).",
    )


def _listed(given: Any) -> list[Any]:
    found = list(given) if isinstance(given, list | tuple) else [given]
    if not found:
        raise ParameterError("crosstab needs at least one column for rows and one for columns.")
    return found


def _name(column: Any, otherwise: str) -> str:
    return str(getattr(column, "name", None) or otherwise)


def _refuse_unlike(given: dict[str, Any]) -> None:
    """Columns are put side by side row by row: they must be as long, and pandas' must have one index."""
    for name, column in given.items():
        if not hasattr(column, "__len__") or isinstance(column, str):
            raise ParameterError(
                f"{name!r} is a {type(column).__name__}, not a column.",
                hint="Give columns, as in ds.crosstab(df['region'], df['size']); by name: ds.tabulate(df, by=[...]).",
            )
    lengths = {name: len(column) for name, column in given.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name!r} has {counted(rows, 'row')}" for name, rows in lengths.items())
        raise InputError(f"The columns are not of one length: {told}.", hint="Take all of them from one frame.")
    indexes = [column.index for column in given.values() if hasattr(column, "index") and hasattr(column, "iloc")]
    if any(not found.equals(indexes[0]) for found in indexes[1:]):
        raise InputError(
            "The columns have different indexes, so that their rows would not belong together.",
            hint="Take all of them from one frame.",
        )


def _together(given: dict[str, Any]) -> Any:
    """One frame of the columns, of the kind that they came in."""
    import narwhals as nw
    import pyarrow as pa

    series = [nw.from_native(column, series_only=True, pass_through=True) for column in given.values()]
    found = [one for one in series if isinstance(one, nw.Series)]
    if len(found) == len(series) and len({one.implementation for one in found}) == 1:
        named = [one.alias(name).to_frame() for name, one in zip(given, found, strict=True)]
        return nw.concat(named, how="horizontal").to_native()
    arrays = [one.to_arrow() if isinstance(one, nw.Series) else pa.array(one) for one in series]
    return pa.table(dict(zip(given, arrays, strict=True)))
