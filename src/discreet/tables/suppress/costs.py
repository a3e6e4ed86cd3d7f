"""What withholding a cell costs: a measure of its worth, hints of the officer, and what was withheld last period."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from discreet.errors import InputError, NeedsError, ParameterError, counted, listed, unknown_name
from discreet.model.arrays import Bools, Codes, Floats, Ints
from discreet.model.pattern import Pattern, rows_of
from discreet.model.table import Table
from discreet.relations import System
from discreet.relations.identity import cell_identities

COSTS = ("value", "count", "unity", "log", "variable", "distance")
LOGARITHM = re.compile(r"log\((.+)\)")
USES = ("never", "avoid")
HINT_FIELDS = ("table", "cell", "times", "cost", "use")
PREFER_FIELDS = ("table", "variables", "cells")
AVOID = 10.0
"""A cell to be avoided costs so many times what the dearest cell costs."""
SHOWN = 5


class Charged(NamedTuple):
    """Costs, the system in which cells that must never be withheld are forced, and what the custodian should know."""

    system: System
    cost: Floats
    notes: tuple[str, ...]


def charge(
    system: System,
    kind: str,
    exponent: float,
    hints: Sequence[Mapping[str, Any]],
    prefer: Sequence[Mapping[str, Any]],
    prefer_share: float,
) -> Charged:
    """What withholding each cell of a system costs: first the measure, then the hints, then the preference."""
    cost = measured(system, kind, exponent)
    never = _hinted(system, cost, hints)
    preferred, notes = _preferred(system, prefer)
    cost[preferred] *= prefer_share
    return Charged(replace(system, forced=system.forced | never) if never.any() else system, cost, notes)


# ---- the measure ---------------------------------------------------------------------------------------------


def cost_variable(kind: str) -> str | None:
    """The variable that a cost names, ``"employees"`` or ``"log(employees)"``; none where it is a plain measure."""
    if kind in COSTS:
        return None
    found = LOGARITHM.fullmatch(kind)
    return kind if found is None else found[1]


def refuse_cost(kind: Any) -> None:
    """Refuse what is no cost, and names that are almost those of a measure: they are more likely misspelt."""
    if not isinstance(kind, str) or not kind.strip() or kind == "log()":
        raise ParameterError(
            f"cost={kind!r} is not allowed.", hint=f"Use one of {listed(COSTS)}, or the name of a variable."
        )
    if kind not in COSTS and get_close_matches(kind, COSTS, 1, 0.8):
        raise ParameterError(
            unknown_name("cost", kind, COSTS),
            hint=f"For a variable of that name give the tables cost={kind!r} and use cost='variable'.",
        )


def measured(system: System, kind: str, exponent: float) -> Floats:
    """What withholding each cell costs by a measure or a variable, to some power."""
    name = cost_variable(kind)
    worth = system.cost(kind) if name is None else _worth(system, name)
    if name is not None and name != kind:
        worth = np.log1p(worth)
    with np.errstate(over="ignore"):
        cost = worth**exponent
    if not np.isfinite(cost).all():
        raise ParameterError(
            f"Costs to the power of {exponent:g} are too large to be computed with.", hint="Give a smaller exponent."
        )
    return np.asarray(cost, np.float64)


def _worth(system: System, name: str) -> Floats:
    """A variable's size in every cell: from the tables' cost columns, or from tables of this variable."""
    tables = system.tables.tables[: system.present]
    places, size = cell_identities(system.tables, by_value=False)
    shown = np.full(size, np.nan)
    for table, place in zip(tables, places, strict=False):
        if table.spec.value == name:
            shown[place] = _refuse_bad(table, table.values, name)
    result = np.zeros(len(system), np.float64)
    for table, place, cells in zip(tables, places, system.of, strict=False):
        worth = table.cost if table.spec.cost == name and table.cost is not None else shown[place]
        if np.isnan(worth).all():
            raise _no_variable(tables, table, name)
        np.maximum.at(result, cells, _refuse_bad(table, np.where(table.empty & np.isnan(worth), 0.0, worth), name))
    return result


def _refuse_bad(table: Table, worth: Floats, name: str) -> Floats:
    """A cost must be a number of at least 0 in every cell."""
    bad = np.flatnonzero(~(np.isfinite(worth) & (worth >= 0)))
    if len(bad):
        what = "missing" if np.isnan(worth[bad[0]]) else "not finite" if np.isinf(worth[bad[0]]) else "below 0"
        raise InputError(
            f"The cost {name!r} is {what} in {counted(len(bad), 'cell')} of table {table.name!r}, first in "
            f"{table.cell_name(int(bad[0]))}.",
            hint="A cost is a number of at least 0 for every cell; 0 makes a cell free.",
        )
    return worth


def _no_variable(tables: Sequence[Table], table: Table, name: str) -> NeedsError:
    found = [known for t in tables for known in (t.spec.value, t.spec.cost) if known]
    text = unknown_name("cost", name, [*COSTS, *dict.fromkeys(found)], f"table {table.name!r}")
    return NeedsError(
        text,
        hint=f"Use one of these, or log(...) of a variable; or give the table the variable: cost={name!r} in tabulate, "
        "from_cells, TableSpec or the recipe's table.",
        recipe_hint=f'Use one of these, or log(...) of a variable; or name the column in [[tables]]: cost = "{name}".',
    )


# ---- hints ---------------------------------------------------------------------------------------------------


def plain_hints(hints: Any) -> tuple[dict[str, Any], ...]:
    """Hints as plain data, checked.

    Accepts a mapping of cells (tuples of codes) to a multiplier, ``"never"`` or ``"avoid"``, or a sequence of mappings
    with ``cell``, one of ``times``, ``cost`` and ``use``, and ``table`` where there are several, or a data frame.
    """
    if not isinstance(hints, Mapping | Sequence):
        from discreet.files.cell_lists import read_hints

        return tuple(_plain_hint(entry) for entry in read_hints(hints))
    if isinstance(hints, Mapping):
        hints = [{"cell": cell, "use" if isinstance(said, str) else "times": said} for cell, said in hints.items()]
    return tuple(_plain_hint(entry) for entry in hints)


def _plain_hint(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise ParameterError(
            f"A hint is a {type(entry).__name__}.", hint="Give mappings: {'cell': ['C10', 'North'], 'times': 0.5}."
        )
    for field in entry:
        if field not in HINT_FIELDS:
            raise ParameterError(unknown_name("field", str(field), HINT_FIELDS, "a hint"))
    cell = entry.get("cell")
    if isinstance(cell, str) or not isinstance(cell, Mapping | Sequence) or not cell:
        raise ParameterError(
            f"A hint has no cell: {dict(entry)!r}.", hint="Give its codes, ['C10', 'North'] or {'region': 'North'}."
        )
    said = [field for field in ("times", "cost", "use") if entry.get(field) is not None]
    if len(said) != 1:
        raise ParameterError(
            f"The hint for {_cell_text(cell)} says {listed(said)}.",
            hint="Give one of times= (a multiplier), cost= (the cost itself) and use= ('never' or 'avoid').",
        )
    value = entry[said[0]]
    if said[0] == "use":
        if value not in USES:
            raise ParameterError(unknown_name("use", str(value), USES, f"the hint for {_cell_text(cell)}"))
    elif isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
        raise ParameterError(
            f"The hint for {_cell_text(cell)} has {said[0]}={value!r}.", hint="Give a number, 0 or more; 0 is free."
        )
    plain = {str(v): str(c) for v, c in cell.items()} if isinstance(cell, Mapping) else [str(c) for c in cell]
    result: dict[str, Any] = {"cell": plain, said[0]: value}
    return result if entry.get("table") is None else {"table": str(entry["table"]), **result}


def _cell_text(cell: Any) -> str:
    codes = [f"{v}={c}" for v, c in cell.items()] if isinstance(cell, Mapping) else [str(c) for c in cell]
    return f"({', '.join(codes)})"


def _hinted(system: System, cost: Floats, hints: Sequence[Mapping[str, Any]]) -> Bools:
    """Change costs as the hints say; cells that must never be withheld are returned."""
    never = np.zeros(len(system), np.bool_)
    dearest = max(float(cost.max(initial=0.0)), 1.0)
    seen: dict[int, dict[str, Any]] = {}
    for cell, entry in zip(_hint_cells(system, hints).tolist(), hints, strict=True):
        said = {field: entry[field] for field in ("times", "cost", "use") if field in entry}
        if seen.setdefault(cell, said) != said:
            raise ParameterError(
                f"Hints contradict each other on {system.cell_name(cell)}.", hint="Give one hint per cell."
            )
    for cell, said in seen.items():
        never[cell] = said.get("use") == "never"
        if said.get("use") == "avoid":
            cost[cell] = AVOID * dearest
        cost[cell] = said.get("cost", cost[cell] * said.get("times", 1.0))
    for hidden, how in ((system.unsafe, "unsafe"), (system.given, "withheld by the given pattern")):
        clash = np.flatnonzero(never & hidden)
        if len(clash):
            raise ParameterError(
                f"Hints say never to withhold cells that are {how}: "
                f"{listed([system.cell_name(c) for c in clash.tolist()], SHOWN)}.",
                hint="Take these hints away; a hint cannot publish a cell.",
            )
    return never


def _hint_cells(system: System, hints: Sequence[Mapping[str, Any]]) -> Ints:
    """Number of each hint's cell."""
    result = np.zeros(len(hints), np.int64)
    tables = system.tables.tables[: system.present]
    names = [table.name for table in tables]
    homes = np.array([_home(entry, names) for entry in hints], np.int64)
    for number, table in enumerate(tables):
        mine = np.flatnonzero(homes == number)
        cells = [_codes(table, hints[i]["cell"]) for i in mine.tolist()]
        rows = _rows(table, cells)
        if (rows < 0).any():
            gone = [_cell_text(cells[i]) for i in np.flatnonzero(rows < 0).tolist()]
            raise InputError(
                f"Hints name {counted(len(gone), 'cell')} that table {table.name!r} does not have: "
                f"{listed(gone, SHOWN)}.",
                hint="Correct their codes, or take these hints away.",
            )
        result[mine] = system.of[number][rows]
    return result


def _home(entry: Mapping[str, Any], names: Sequence[str]) -> int:
    name = entry.get("table")
    if name is None and len(names) > 1:
        raise ParameterError(
            f"The hint for {_cell_text(entry['cell'])} does not say which table it is for.",
            hint=f"Add table=, one of {listed(names)}.",
        )
    if name is not None and name not in names:
        raise ParameterError(unknown_name("table", str(name), names, "the set (hints=)"))
    return 0 if name is None else names.index(name)


def _codes(table: Table, cell: Mapping[str, str] | Sequence[str]) -> list[str]:
    """Codes in the order of the table's variables; variables that are left out stand at their total."""
    if isinstance(cell, Mapping):
        for variable in cell:
            if variable not in table.variables:
                raise ParameterError(unknown_name("variable", variable, table.variables, f"table {table.name!r}"))
        return [cell.get(variable, "") for variable in table.variables]
    if len(cell) != len(table.variables):
        raise ParameterError(
            f"A cell of table {table.name!r} has {len(table.variables)} codes, {_cell_text(cell)} has {len(cell)}."
        )
    return list(cell)


def _rows(table: Table, cells: Sequence[Sequence[str]], variables: Sequence[str] | None = None) -> Ints:
    names = table.variables if variables is None else variables
    lists: list[list[str]] = []
    codes: Codes = np.zeros((len(cells), len(names)), np.int32)
    for k in range(len(names)):
        position: dict[str, int] = {}
        codes[:, k] = [position.setdefault(cell[k], len(position)) for cell in cells]
        lists.append(list(position))
    return rows_of(table, names, lists, codes)


# ---- last period's pattern -----------------------------------------------------------------------------------


def plain_preference(prefer: Any) -> tuple[dict[str, Any], ...]:
    """The withheld cells of a pattern as plain data, checked."""
    if isinstance(prefer, Pattern):
        hidden = [part.at(part.withheld) for part in prefer.tables]
        return tuple({"table": p.name, "variables": list(p.variables), "cells": p.cells()} for p in hidden)
    if isinstance(prefer, Mapping) or not isinstance(prefer, Sequence):
        raise ParameterError(
            f"prefer= takes a pattern, not a {type(prefer).__name__}.",
            hint="Give ds.read_pattern(...), release.pattern() or the path of a pattern file.",
            recipe_hint='Give the path of a pattern file: prefer = "pattern.csv".',
        )
    result = []
    for entry in prefer:
        if not isinstance(entry, Mapping) or set(entry) != set(PREFER_FIELDS):
            raise ParameterError(
                "A preferred pattern as plain data has other fields than it should.", hint=f"Give {PREFER_FIELDS}."
            )
        variables = [str(v) for v in entry["variables"]]
        cells = [[str(c) for c in cell] for cell in entry["cells"]]
        if any(len(cell) != len(variables) for cell in cells):
            raise ParameterError(
                f"A cell of the preferred pattern has another number of codes than {listed(variables)}.",
                hint="Give one code per variable.",
            )
        result.append({"table": str(entry["table"]), "variables": variables, "cells": cells})
    return tuple(result)


def _preferred(system: System, prefer: Sequence[Mapping[str, Any]]) -> tuple[Ints, tuple[str, ...]]:
    """Cells that were withheld before, and what became of those that are not there any more.

    Codes change from period to period, so that cells which are gone are only reported; a pattern of which nothing is
    left was meant for something else.
    """
    names = [table.name for table in system.tables.tables[: system.present]]
    found: list[Ints] = [np.zeros(0, np.int64)]
    gone: list[str] = []
    for entry in prefer:
        cells, name = entry["cells"], entry["table"]
        number = 0 if not name and len(names) == len(prefer) == 1 else names.index(name) if name in names else -1
        if number < 0:
            gone += [f"{name}: {_cell_text(cell)}" for cell in cells]
            continue
        table = system.tables.tables[number]
        rows = _rows(table, cells, entry["variables"])
        found.append(system.of[number][rows[rows >= 0]])
        label = f"{table.name}: " if len(names) > 1 else ""
        gone += [f"{label}{_cell_text(cells[i])}" for i in np.flatnonzero(rows < 0).tolist()]
    total = sum(len(entry["cells"]) for entry in prefer)
    if total and len(gone) == total:
        raise ParameterError(
            f"None of the {counted(total, 'cell of the preferred pattern')} is in the tables: {listed(gone, SHOWN)}.",
            hint="Check that it is the pattern of these tables, by the same names (pattern.renamed).",
        )
    some = f"{len(gone)} of the {counted(total, 'cell of the preferred pattern')}"
    note = f"Not in the tables: {some}: {listed(gone, SHOWN)}"
    return np.unique(np.concatenate(found)), (note,) if gone else ()
