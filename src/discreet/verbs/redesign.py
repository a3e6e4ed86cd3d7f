"""Coarser tables: codes put together, values and contributors computed anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InputError, ParameterError, counted, unknown_name
from discreet.files.argus.recodes import closed_tree, code_map, nodes_at, read_recode
from discreet.files.hrc import read_code_map
from discreet.model.hierarchy import Grouping, Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.verbs.ready_totals import with_totals
from discreet.verbs.tabulate import tabulate

How = Mapping[str, str] | int | str | Path
"""A recode: old base codes to new ones, a level that a tree is cut at, or a file (``.grc``, or old and new codes)."""


def recode(table: Table, variable: str, codes: How, hierarchy: Hierarchy | None = None) -> Table:
    """The table with codes of one variable put together.

    Where branches of a tree are closed, their cells are left out and the others stay as they are. Where codes are
    merged, a tabulated table is computed anew from its records, so that distinct contributors and largest contributions
    of the merged cells are right. A ready-made table does not know whether a contributor stands in several of the
    merged cells: it keeps its values and loses its contributors, and rules that need them then say so.

    Parameters
    ----------
    table
        The table.
    variable
        The variable to recode.
    codes
        Old base codes to new ones (codes left out stay; a code above them closes its branch), the level that a tree is
        cut at (its total is level 0), or a file: ``.grc`` of τ-ARGUS, or lines of old and new codes.
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
    codes, smaller = read_how(old, codes)
    for code in codes:
        if code not in old.index or not old.base[old.index[code]]:
            raise InputError(unknown_name("base code", code, old.base_codes, f"variable {variable!r}"))
    new = hierarchy or smaller or merged_codes(old, codes)
    data = _recoded_source(table, variable, codes)
    changed = {to for code, to in codes.items() if to != code}
    if hierarchy is None and all(to in old.index and not old.base[old.index[to]] for to in changed):
        return _closed_cells(table, variable, new).with_(source=data)
    if table.manual is not None:
        raise ParameterError(
            f"Cells of table {table.name!r} are marked by hand, and the marks would be lost.",
            hint="Recode first, then mark cells.",
        )
    if isinstance(data, Microdata):
        made = tabulate(data, specs=[table.spec.with_(by={**table.spec.by, variable: new})])
        assert isinstance(made, TableSet)
        return made.tables[0]
    return _merged_cells(table, variable, codes, new)


def read_how(tree: Hierarchy, how: How, notes: list[str] | None = None) -> tuple[Mapping[str, str], Hierarchy | None]:
    """A recode as a map of base codes, and the smaller tree where branches are closed; notes get what a file says."""
    if isinstance(how, bool) or not isinstance(how, Mapping | int | str | Path):
        raise ParameterError(
            f"Cannot recode by a {type(how).__name__}.", hint="Give a map of codes, a level, or the path of a file."
        )
    if isinstance(how, Mapping):
        return how, None
    if isinstance(how, int):
        return closed_tree(tree, nodes_at(tree, how))
    if Path(how).suffix.lower() != ".grc":
        return read_code_map(how), None
    said = read_recode(how)
    if notes is not None:
        notes += said.notes
    if said.nodes:
        return closed_tree(tree, [_node(code, tree) for code, _ in said.nodes])
    return code_map(said, tree.base_codes), None


def _node(code: str, tree: Hierarchy) -> str:
    """A node as the tree writes it: leading blanks may be lost in recode files."""
    alike = [known for known in tree.codes if known.strip() == code.strip()]
    return alike[0] if code not in tree.index and len(alike) == 1 else code


def _recoded_source(table: Table, variable: str, codes: Mapping[str, str]) -> Any:
    """The records behind a table, recoded after what was recoded before; nothing where there are none."""
    if not isinstance(table.source, Microdata):
        return table.source
    earlier = table.source.recode.get(variable, {})
    chained = {**codes, **{code: codes.get(to, to) for code, to in earlier.items()}}
    return replace(table.source, recode={**table.source.recode, variable: chained})


def merged_codes(hierarchy: Hierarchy, codes: Mapping[str, str]) -> Hierarchy:
    """The hierarchy with base codes merged or branches closed; codes of different parents need one of their own."""
    image = {code: codes.get(code, code) for code in hierarchy.base_codes}
    sums = [code for code in hierarchy.codes if code not in image]
    for node in sums:
        found = {image[code] for code in hierarchy.covered(node)}
        if len(found) == 1 and (to := next(iter(found))) in sums:
            image[node] = to
    for to in dict.fromkeys(codes.values()):
        if to in sums and {c for c, new in image.items() if new == to and c not in sums} != set(hierarchy.covered(to)):
            raise InputError(
                f"Code {to!r} is a sum of others, and only some of them (or further ones) would become it.",
                hint="Give the merged codes a new code.",
            )
    parents: dict[str, set[str]] = {}
    groupings = []
    for grouping in hierarchy.groupings:
        if grouping.parent in image:
            continue
        parts = tuple(dict.fromkeys((image.get(code, code), sign) for code, sign in grouping.parts))
        groupings.append(Grouping(grouping.parent, parts))
        for code, _ in grouping.parts:
            if image.get(code, code) != code:
                parents.setdefault(image[code], set()).add(grouping.parent)
    for new, above in parents.items():
        if len(above) > 1:
            raise InputError(
                f"Code {new!r} would stand under {counted(len(above), 'parent')}: {', '.join(sorted(above))}.",
                hint="Give hierarchy= with the place of the new codes.",
            )
    if hierarchy.total in image:
        raise InputError("The recode closes the whole tree.", hint="Leave the variable out of the table instead.")
    kept = tuple(image.get(code, code) for code in hierarchy.codes)
    labels = {code: label for code, label in hierarchy.labels.items() if code in kept}
    missing = frozenset(image.get(code, code) for code in hierarchy.missing)
    return Hierarchy(tuple(groupings), hierarchy.total, tuple(dict.fromkeys(kept)), labels, missing)


def _closed_cells(table: Table, variable: str, new: Hierarchy) -> Table:
    """The cells that are left when branches are closed, as they are; nothing needs to be computed anew."""
    k = table.variables.index(variable)
    place = np.array([new.index.get(code, -1) for code in table.spec.hierarchies[k].codes], np.int32)
    left = table.with_(assessment=None).at(np.flatnonzero(place[table.codes[:, k]] >= 0))
    codes = left.codes.copy()
    codes[:, k] = place[codes[:, k]]
    left = left.with_(spec=table.spec.with_(by={**table.spec.by, variable: new}), codes=codes)
    return left.at(np.argsort(left.keys, kind="stable"))


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
