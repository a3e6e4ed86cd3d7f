"""Ready-made tables: cells with their totals, from a data frame or a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.engine.cells import Above, all_cells, cells_above
from discreet.errors import InputError, NeedsError, ParameterError, unknown_codes
from discreet.files.frames import code_text, column_names, numbers, read_columns
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Codes, Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.spec import TableSpec
from discreet.model.table import CellStatus, Contributions, Table, cell_keys
from discreet.model.units import choose_decimals, to_units
from discreet.relations import build_system
from discreet.relations.build import table_equations

if TYPE_CHECKING:
    import pyarrow as pa

OPTIONAL = ("contributors", "status", "lower_protection", "upper_protection", "lower_bound", "upper_bound", "cost")


def table_from_cells(
    cells: Any,
    by: Mapping[str, Hierarchy],
    value: str = "value",
    *,
    counts: bool = False,
    variable: str | None = None,
    compute_totals: bool = False,
    disjoint: bool = False,
    slack: float | Literal["rounded"] | None = None,
    decimals: int | None = None,
    delimiter: str = ",",
    **options: Any,
) -> Table:
    """A table from its cells, totals included.

    Besides the code columns and the value, these columns are used where they are there: ``contributors``,
    ``top1``, ``top2``, ..., ``status`` (V or S, U, P, M, E), ``lower_protection``, ``upper_protection``,
    ``lower_bound``, ``upper_bound``, ``cost``. An empty code stands for the total; an empty value for an empty cell.

    Parameters
    ----------
    cells
        Data frame, or path of a csv or Parquet file.
    by
        Variable to hierarchy.
    value
        Column of values.
    counts
        Whether the values are counts.
    variable
        Name of the value variable, where it is not the column's; part of the cells' identity.
    compute_totals
        Add missing totals from the finest cells instead of refusing.
    disjoint
        No contributor stands in two of the finest cells, so that contributors of computed totals add up.
    slack
        How far a relation may be from adding up (rounded or weighted tables); ``"rounded"`` allows half a unit
        for each of its cells.
    decimals
        Decimals of the values; found when left out.
    delimiter
        Separator of a csv file.
    **options
        Further fields of :class:`~discreet.TableSpec`: ``name``, ``period``, ``where``, ``weight``.

    Raises
    ------
    InputError
        When a cell stands twice, a total is missing, statuses contradict values, or the cells do not add up.
    """
    frame = _read(cells, list(by), value, delimiter)
    spec = _spec(by, None if counts else (variable or value), options)
    codes = _codes(frame, by)
    _refuse_twice(frame, spec, codes)
    raw, empty = _values(frame, value)
    exact = choose_decimals(raw, value) if decimals is None else decimals
    table = Table(
        spec=spec.with_(decimals=exact),
        codes=codes,
        value=to_units(raw, exact, value),
        decimals=exact,
        empty=empty,
        shadow_decimals=exact,
        contributions=_contributions(frame, to_units(raw, exact, value), exact),
        slack=_slack(slack, exact),
        from_records=False,
        **_status_columns(frame, exact),
    )
    table = table.at(np.argsort(table.keys, kind="stable"))
    _refuse_contradictions(table)
    table = _with_totals(table, disjoint) if compute_totals else table
    _refuse_missing_totals(table)
    build_system(table).check_additive()
    return table


def _read(cells: Any, variables: list[str], value: str, delimiter: str) -> pa.Table:
    names = column_names(cells, delimiter)
    optional = [n for n in names if n in OPTIONAL or (n.startswith("top") and n[3:].isdigit())]
    wanted = list(dict.fromkeys([*variables, value, *optional]))
    return read_columns(cells, wanted, text=[*variables, *(n for n in optional if n == "status")], delimiter=delimiter)


def _spec(by: Mapping[str, Hierarchy], variable: str | None, options: dict[str, Any]) -> TableSpec:
    try:
        return TableSpec(by=by, value=variable, **options)
    except TypeError as error:
        raise ParameterError(f"from_cells does not know an option: {error}.") from None


def _codes(frame: pa.Table, by: Mapping[str, Hierarchy]) -> Codes:
    """Positions of the codes; an empty code is the total."""
    columns = []
    for variable, hierarchy in by.items():
        words = [None if w is None else code_text(w) for w in frame[variable].to_pylist()]
        unknown: dict[str, int] = {}
        positions = np.zeros(len(words), np.int32)
        for i, word in enumerate(words):
            word = hierarchy.total if word in (None, "") else word
            if word is None or word not in hierarchy.index:
                unknown[str(word)] = unknown.get(str(word), 0) + 1
            else:
                positions[i] = hierarchy.index[word]
        if unknown:
            raise unknown_codes(variable, unknown)
        columns.append(positions)
    return np.column_stack(columns)


def _refuse_twice(frame: pa.Table, spec: TableSpec, codes: Codes) -> None:
    keys = cell_keys(codes, [len(h) for h in spec.hierarchies])
    order = np.argsort(keys, kind="stable")
    twice = order[1:][keys[order][1:] == keys[order][:-1]]
    if len(twice):
        row = int(twice.min())
        words = ", ".join(f"{v}={h.codes[codes[row, k]]}" for k, (v, h) in enumerate(spec.by.items()))
        raise InputError(
            f"The cell {words} stands twice, the second time in row {row + 1}.",
            hint="Give every cell once; an empty code stands for the total.",
        )


def _values(frame: pa.Table, name: str) -> tuple[Any, Bools]:
    """Values, and which cells are empty."""
    import pyarrow.compute as pc

    column = frame[name]
    empty = np.array(column.is_null().to_numpy(), np.bool_)
    if empty.all():
        raise InputError(f"Column {name!r} is empty in every cell.")
    if column.null_count:
        frame = frame.set_column(frame.column_names.index(name), name, pc.fill_null(column, 0))
    return np.asarray(numbers(frame, name), np.float64), empty


def _contributions(frame: pa.Table, value: Ints, decimals: int) -> dict[str, Contributions]:
    names = frame.column_names
    tops = sorted((n for n in names if n.startswith("top") and n[3:].isdigit()), key=lambda n: int(n[3:]))
    if "contributors" not in names and not tops:
        return {}
    size = len(value)
    top = [to_units(_filled(frame, n), decimals, n) for n in tops]
    largest = np.column_stack(top) if top else np.zeros((size, 0), np.int64)
    if "contributors" in names:
        count = to_units(_filled(frame, "contributors"), 0, "contributors")
    else:
        count = (largest > 0).sum(axis=1).astype(np.int64)
    return {"holding": Contributions(count, value, largest, (value < 0) | (largest < 0).any(axis=1))}


def _filled(frame: pa.Table, name: str) -> Any:
    """A numeric column whose empty fields are zero."""
    import pyarrow.compute as pc

    column = frame[name]
    if column.null_count:
        frame = frame.set_column(frame.column_names.index(name), name, pc.fill_null(column, 0))
    return numbers(frame, name)


def _status_columns(frame: pa.Table, decimals: int) -> dict[str, Any]:
    names = frame.column_names
    found: dict[str, Any] = {}
    if "status" in names:
        letters = ["V" if s is None else str(s).strip() or "V" for s in frame["status"].to_pylist()]
        found["manual"] = np.array([CellStatus.from_letter(letter) for letter in letters], np.int8)
    for column, name in (("lower_protection", "manual_lower"), ("upper_protection", "manual_upper")):
        if column in names:
            levels = to_units(_filled(frame, column), decimals, column)
            if (levels < 0).any():
                raise InputError(
                    f"Column {column!r} is negative in row {int(np.argmax(levels < 0)) + 1}.",
                    hint="Protection levels are distances from the value.",
                )
            found[name] = levels
    for name, nothing in (("lower_bound", NO_LOWER), ("upper_bound", NO_UPPER)):
        if name in names:
            known = ~np.array(frame[name].is_null().to_numpy(), np.bool_)
            found[name] = np.where(known, to_units(_filled(frame, name), decimals, name), nothing)
    if "cost" in names:
        found["cost"] = np.asarray(_filled(frame, "cost"), np.float64)
    return found


def _slack(slack: float | Literal["rounded"] | None, decimals: int) -> int | None:
    if slack is None:
        return None
    if slack == "rounded":
        return -1
    if isinstance(slack, bool) or not isinstance(slack, int | float) or slack < 0:
        raise ParameterError(f"slack={slack!r} is not allowed.", hint="Give a number of at least 0, or 'rounded'.")
    return int(round(slack * 10**decimals))


def _refuse_contradictions(table: Table) -> None:
    """Values, contributors, largest contributions, bounds and statuses must fit together."""

    def refuse(wrong: Bools, what: str, hint: str) -> None:
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(f"{int(wrong.sum())} cells {what}, first {table.cell_name(row)}.", hint=hint)

    found = table.contributions.get("holding")
    if found is not None:
        refuse((table.value != 0) & (found.count == 0), "have a value but no contributors", "Correct the counts.")
        refuse(table.empty & (found.count > 0), "are empty but have contributors", "Give their value, or remove them.")
        if found.top.shape[1]:
            whole = table.value + (0 if table.slack is None else abs(table.slack))
            more = (found.top[:, 0] > whole) & ~found.negative
            refuse(more, "have a largest contribution above their value", "Check the columns top1 and value.")
            refuse((found.top.sum(axis=1) > whole) & ~found.negative, "have contributions above their value", "Check top1, top2.")
            refuse((np.diff(found.top, axis=1) > 0).any(axis=1), "have top2 above top1", "Put the largest first.")
    if table.manual is not None:
        marked_empty = (table.manual == CellStatus.EMPTY) & (table.value != 0)
        refuse(marked_empty, "have status E but a value", "An empty cell has no value.")
        hidden = table.empty & np.isin(table.manual, (CellStatus.UNSAFE, CellStatus.SECONDARY))
        refuse(hidden, "have status U or M but no value", "Give the value, or status E.")
    if table.lower_bound is not None:
        refuse(table.lower_bound > table.value, "lie below their lower bound", "Bounds must contain the value.")
    if table.upper_bound is not None:
        refuse(table.upper_bound < table.value, "lie above their upper bound", "Bounds must contain the value.")


def _refuse_missing_totals(table: Table) -> None:
    equations = table_equations(table)
    lone = np.flatnonzero(~equations.has_parent)
    if not len(lone):
        return
    row = int(lone[0])
    k, sample = int(equations.variable[row]), int(equations.sample[row])
    hierarchy = table.spec.hierarchies[k]
    codes = table.codes[sample].copy()
    codes[k] = hierarchy.position(hierarchy.groupings[int(equations.grouping[row])].parent)
    words = ", ".join(f"{v}={c}" for v, c in zip(table.variables, table.spec_codes(codes.tolist()), strict=True))
    raise InputError(
        f"{len(lone)} totals are missing, first the cell {words}.",
        hint="Add them, or give compute_totals=True to have them computed from the finest cells.",
    )


def _with_totals(table: Table, disjoint: bool) -> Table:
    """The table with all totals above its finest cells."""
    hierarchies = table.spec.hierarchies
    finest = np.all(np.column_stack([h.base[table.codes[:, k]] for k, h in enumerate(hierarchies)]), axis=1)
    leaf = table.at(np.flatnonzero(finest))
    keys = all_cells(leaf.keys, hierarchies, every=False)
    above = cells_above(leaf.keys, keys, hierarchies)
    old = np.searchsorted(keys, table.keys)
    if not np.array_equal(keys[np.minimum(old, len(keys) - 1)], table.keys):
        raise InputError(
            "Some cells have no finer cells below them, so that totals cannot be computed.",
            hint="Give the finest cells, or all totals.",
        )
    missing = np.ones(len(keys), np.bool_)
    missing[old] = False
    owner = np.repeat(np.arange(len(leaf)), np.diff(above.start))
    value = np.zeros(len(keys), np.int64)
    np.add.at(value, above.cell, above.sign * leaf.value[owner])
    value[old] = table.value
    shape = table.shape
    codes = np.column_stack(np.unravel_index(keys, shape)).astype(np.int32)
    changes: dict[str, Any] = {"codes": codes, "value": value}
    empty = np.zeros(len(keys), np.bool_)
    empty[old] = table.empty
    changes["empty"] = empty
    for name, nothing in (
        ("manual", CellStatus.SAFE),
        ("manual_lower", 0),
        ("manual_upper", 0),
        ("lower_bound", NO_LOWER),
        ("upper_bound", NO_UPPER),
        ("cost", np.nan),
    ):
        column = getattr(table, name)
        if column is not None:
            whole = np.full(len(keys), nothing, column.dtype)
            whole[old] = column
            changes[name] = np.where(np.isnan(whole), np.abs(value), whole) if name == "cost" else whole
    if table.contributions and missing.any():
        if not disjoint:
            raise NeedsError(
                f"{int(missing.sum())} totals were computed, and who contributes to them is not known.",
                hint="Give the totals with their contributors, or disjoint=True where no contributor stands in two "
                "of the finest cells. Adding contributors of finer cells up would look safer than it is.",
            )
        changes["contributions"] = {"holding": _disjoint_contributions(table, leaf, above, owner, old, value)}
    return table.with_(**changes)


def _disjoint_contributions(
    table: Table, leaf: Table, above: Above, owner: Ints, old: Ints, value: Ints
) -> Contributions:
    """Contributors of totals as the union of those of the finest cells, which have none in common."""
    mine, given = leaf.contributions["holding"], table.contributions["holding"]
    size, top = len(value), mine.top.shape[1]
    count = np.zeros(size, np.int64)
    np.add.at(count, above.cell, mine.count[owner])
    cell = np.repeat(above.cell, top)
    amount = mine.top[owner].ravel()
    order = np.lexsort((-amount, cell))
    rank = np.arange(len(order)) - np.searchsorted(cell[order], cell[order])
    largest = np.zeros((size, top), np.int64)
    keep = rank < top
    largest[cell[order][keep], rank[keep]] = amount[order][keep]
    negative = np.zeros(size, np.bool_)
    np.logical_or.at(negative, above.cell, mine.negative[owner])
    count[old], largest[old], negative[old] = given.count, given.top, given.negative
    return Contributions(count, value, largest, negative)
