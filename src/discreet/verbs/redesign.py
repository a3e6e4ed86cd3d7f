"""Coarser tables: codes put together, values and contributors computed anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from discreet.errors import InputError, ParameterError, unknown_name
from discreet.model.hierarchy import Grouping, Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.verbs.ready_made import with_totals
from discreet.verbs.tabulate import tabulate


def recode(table: Table, variable: str, codes: Mapping[str, str], hierarchy: Hierarchy | None = None) -> Table:
    """The table with codes of one variable put together.

    A tabulated table is computed anew from its records, so that distinct contributors and largest contributions of
    the merged cells are right. A ready-made table does not know whether a contributor stands in several of the
    merged cells: it keeps its values and loses its contributors, and rules that need them then say so.

    Parameters
    ----------
    table
        The table.
    variable
        The variable to recode.
    codes
        Old base codes to new ones; codes left out stay.
    hierarchy
        How the new codes add up; made from the old hierarchy when left out and codes of one parent are merged.

    Examples
    --------
    >>> import discreet as ds
    >>> ds.examples.small_table().recode("region", {"North": "Rest", "East": "Rest"}).spec.by["region"].base_codes
    ('Rest', 'South')
    """
    if variable not in table.spec.by:
        raise ParameterError(unknown_name("variable", variable, table.variables, f"table {table.name!r}"))
    old = table.spec.by[variable]
    for code in codes:
        if code not in old.index or not old.base[old.index[code]]:
            raise InputError(unknown_name("base code", code, old.base_codes, f"variable {variable!r}"))
    new = hierarchy or merged_codes(old, codes)
    by = {**table.spec.by, variable: new}
    if isinstance(table.source, Microdata):
        earlier = table.source.recode.get(variable, {})
        chained = {**codes, **{code: codes.get(to, to) for code, to in earlier.items()}}
        data = replace(table.source, recode={**table.source.recode, variable: chained})
        made = tabulate(data, specs=[table.spec.with_(by=by)])
        assert isinstance(made, TableSet)
        return made.tables[0]
    return _merged_cells(table, variable, codes, new)


def merged_codes(hierarchy: Hierarchy, codes: Mapping[str, str]) -> Hierarchy:
    """The hierarchy with base codes merged; codes of different parents need a hierarchy of their own."""
    parents: dict[str, set[str]] = {}
    groupings = []
    for grouping in hierarchy.groupings:
        parts = tuple(dict.fromkeys((codes.get(code, code), sign) for code, sign in grouping.parts))
        groupings.append(Grouping(grouping.parent, parts))
        for code, _ in grouping.parts:
            if code in codes:
                parents.setdefault(codes[code], set()).add(grouping.parent)
    for new, above in parents.items():
        if len(above) > 1:
            raise InputError(
                f"Code {new!r} would stand under {len(above)} parents: {', '.join(sorted(above))}.",
                hint="Give hierarchy= with the place of the new codes.",
            )
    kept = tuple(codes.get(code, code) for code in hierarchy.codes)
    labels = {code: label for code, label in hierarchy.labels.items() if code in kept}
    missing = frozenset(codes.get(code, code) for code in hierarchy.missing)
    return Hierarchy(tuple(groupings), hierarchy.total, tuple(dict.fromkeys(kept)), labels, missing)


def _merged_cells(table: Table, variable: str, codes: Mapping[str, str], new: Hierarchy) -> Table:
    """Values of the finest cells added up under their new codes; contributors are not known any more."""
    k = table.variables.index(variable)
    old = table.spec.hierarchies[k]
    finest = np.all(np.column_stack([h.base[table.codes[:, j]] for j, h in enumerate(table.spec.hierarchies)]), axis=1)
    leaf = table.at(np.flatnonzero(finest))
    place = np.array([new.index.get(codes.get(code, code), -1) for code in old.codes], np.int32)
    positions = leaf.codes.copy()
    positions[:, k] = place[leaf.codes[:, k]]
    if (positions[:, k] < 0).any():
        lost = old.codes[int(leaf.codes[np.argmax(positions[:, k] < 0), k])]
        raise InputError(f"The new hierarchy of {variable!r} has no place for code {lost!r}.")
    unique, inverse = np.unique(positions, axis=0, return_inverse=True)
    value = np.zeros(len(unique), np.int64)
    np.add.at(value, inverse.ravel(), leaf.value)
    empty = np.ones(len(unique), np.bool_)
    np.logical_and.at(empty, inverse.ravel(), leaf.empty)
    note = f"{variable} was recoded: contributors of merged cells are not known"
    merged = Table(
        spec=table.spec.with_(by={**table.spec.by, variable: new}),
        codes=unique,
        value=value,
        decimals=table.decimals,
        empty=empty,
        shadow_decimals=table.shadow_decimals,
        slack=table.slack,
        from_records=False,
        notes=(*table.notes, note),
    )
    return with_totals(merged, disjoint=False)
