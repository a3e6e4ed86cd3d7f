"""Equations between variables: where they are relations, and between which cells."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.relations import System, build_system
from tests.tables.rounding.making import table

ROWS = ds.Hierarchy.flat(["a0", "a1"])


def named(made: ds.Table, name: str) -> ds.Table:
    return made.with_(spec=made.spec.with_(name=name, value=name))


def equations_of(*tables: ds.Table) -> tuple[System, dict[str, list[str]]]:
    """For every place of the total, the cells that the relation there holds."""
    system = build_system(ds.TableSet(list(tables), equations=["all = home + away"]))
    rows = np.flatnonzero(system.origin[:, 1] == -1)
    found = {}
    for row in rows.tolist():
        cells = system.matrix[[row]].indices.tolist()
        found[system.cell_name(int(system.parent[row]))] = sorted(system.cell_name(cell) for cell in cells)
    return system, found


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_every_place_of_the_total_is_a_relation(order):
    """Also that of the first cell, whichever table that is in."""
    tables = [
        named(table([[3, 5], [7, 9]]), "all"),
        named(table([[1, 2], [3, 4]]), "home"),
        named(table([[2, 3], [4, 5]]), "away"),
    ]
    system, found = equations_of(*(tables[i] for i in order))
    assert len(found) == 9
    place = "v0=Total, v1=Total"
    assert found[f"all: {place}"] == [f"{name}: {place}" for name in ("all", "away", "home")]
    system.check_additive()


def test_a_part_that_its_table_does_not_list_is_zero():
    home = named(table([[3, 0], [3, 4]]), "home")
    home = home.at(np.flatnonzero(home.value))
    tables = [named(table([[5, 3], [7, 9]]), "all"), home, named(table([[2, 3], [4, 5]]), "away")]
    _, found = equations_of(*tables)
    assert len(found) == 9
    assert found["all: v0=a0, v1=b1"] == ["all: v0=a0, v1=b1", "away: v0=a0, v1=b1"]


def test_where_no_table_of_a_part_has_codes_there_is_no_relation():
    away = named(table([5, 9], hierarchies=[ROWS]), "away")
    tables = [named(table([[3, 5], [7, 9]]), "all"), named(table([[1, 2], [3, 4]]), "home"), away]
    _, found = equations_of(*tables)
    assert sorted(found) == [f"all: v0={row}, v1=Total" for row in ("Total", "a0", "a1")]
