"""Inner cells of a set of tables: the cross-classification of all variables by their base codes."""

from __future__ import annotations

from discreet.errors import NeedsError
from discreet.model.hierarchy import Hierarchy
from discreet.model.tableset import TableSet


def inner_codes(tables: TableSet) -> dict[str, tuple[str, ...]]:
    """Variables of all tables, in the order in which they come, with their base codes, sorted.

    Raises
    ------
    NeedsError
        When two tables have the same variable with other base codes.
    """
    found: dict[str, tuple[str, ...]] = {}
    for table in tables:
        for variable, hierarchy in table.spec.by.items():
            mine = tuple(sorted(hierarchy.base_codes))
            if found.setdefault(variable, mine) != mine:
                raise NeedsError(
                    f"Variable {variable!r} has other base codes in table {table.name!r} than in another table.",
                    hint="Give the tables hierarchies with the same base codes.",
                )
    return found


def positions(codes: tuple[str, ...], hierarchy: Hierarchy) -> list[int]:
    """Positions of base codes in a hierarchy."""
    return [hierarchy.index[code] for code in codes]
