"""Random tables, and their cells and relations by brute force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from discreet import Hierarchy, Table, TableSpec
from discreet.relations import System
from tests.model.random_hierarchies import cover_of, hierarchies

Row = frozenset[tuple[Any, int]]
MOST_CODES = {1: 12, 2: 7, 3: 5, 4: 4}


def table_of(
    by: Mapping[str, Hierarchy],
    leaves: Mapping[tuple[str, ...], int],
    *,
    value: str | None = "v",
    cells: str = "nonempty",
    decimals: int = 0,
    **options: Any,
) -> Table:
    """A table from the values of its finest cells; cells above them are summed by brute force."""
    names, covers = list(by), [[cover_of(h, code) for code in h.codes] for h in by.values()]
    codes, values, empty = [], [], []
    for position in product(*(range(len(h)) for h in by.values())):
        mine = [covers[k][i] for k, i in enumerate(position)]
        signs = {leaf: int(np.prod([c.get(b, 0) for c, b in zip(mine, leaf, strict=True)])) for leaf in leaves}
        there = any(signs.values())
        if there or cells == "all":
            codes.append(position)
            values.append(sum(sign * leaves[leaf] for leaf, sign in signs.items()))
            empty.append(not there)
    table = {k: options.pop(k) for k in ("manual", "slack", "from_records") if k in options}
    return Table(
        spec=TableSpec(by=dict(by), value=value, cells=cells, **options),
        codes=np.array(codes, np.int32).reshape(-1, len(names)),
        value=np.array(values, np.int64),
        decimals=decimals,
        empty=np.array(empty, np.bool_),
        **table,
    )


@st.composite
def tables(draw: st.DrawFn, dimensions: Sequence[int] = (1, 2, 3, 4)) -> Table:
    """Tables of several dimensions, complete or with the cells that occur."""
    d = draw(st.sampled_from(dimensions))
    by = {f"v{k}": draw(hierarchies(MOST_CODES[d])) for k in range(d)}
    finest = list(product(*(h.base_codes for h in by.values())))
    chosen = draw(st.lists(st.sampled_from(finest), min_size=1, max_size=min(len(finest), 12), unique=True))
    leaves = {leaf: draw(st.integers(-50, 10**6)) for leaf in chosen}
    return table_of(by, leaves, cells=draw(st.sampled_from(["nonempty", "all"])))


def identities(table: Table) -> list[tuple[Any, ...]]:
    """What each cell of a table is, apart from value and universe: the signed base codes of every variable."""
    covers = [[frozenset(cover_of(h, code).items()) for code in h.codes] for h in table.spec.hierarchies]
    return [tuple(covers[k][i] for k, i in enumerate(codes)) for codes in table.codes.tolist()]


def brute_force_relations(table: Table) -> set[Row]:
    """All sums of all variables at all combinations of the other codes, over the cells that exist."""
    what = dict(zip(map(tuple, table.codes.tolist()), identities(table), strict=True))
    found = set()
    for k, hierarchy in enumerate(table.spec.hierarchies):
        others = [range(len(h)) for j, h in enumerate(table.spec.hierarchies) if j != k]
        for grouping, line in product(hierarchy.groupings, product(*others)):
            terms = []
            for code, sign in ((grouping.parent, -1), *grouping.parts):
                position = (*line[:k], hierarchy.index[code], *line[k:])
                if position in what:
                    terms.append((what[position], sign))
            found.add(canonical(terms))
    return found - {frozenset()}


def canonical(terms: Iterable[tuple[Any, int]]) -> Row:
    """A relation with the terms of one cell put together, apart from its sign."""
    sums: dict[Any, int] = {}
    for cell, sign in terms:
        sums[cell] = sums.get(cell, 0) + sign
    left = {cell: sign for cell, sign in sums.items() if sign}
    first = min(left, key=lambda cell: [sorted(part) for part in cell], default=None)
    return frozenset((cell, sign * (1 if left[first] > 0 else -1)) for cell, sign in left.items())


def matrix_relations(system: System) -> list[Row]:
    """The relations of a system of one table, in the same words."""
    table = system.tables.tables[0]
    what = identities(table)
    name = {int(cell): what[row] for row, cell in enumerate(system.of[0])}
    matrix = system.matrix
    return [
        canonical(
            (name[int(matrix.indices[i])], int(matrix.data[i])) for i in range(matrix.indptr[r], matrix.indptr[r + 1])
        )
        for r in range(matrix.shape[0])
    ]
