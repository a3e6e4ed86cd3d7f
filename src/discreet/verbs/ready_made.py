"""Ready-made tables: cells with their totals, from a data frame or a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.errors import InputError, ParameterError, counted, unknown_name
from discreet.files.frames import code_text, column_names, filled_numbers, gaps, read_columns
from discreet.model.arrays import LARGEST, NO_LOWER, NO_UPPER, Bools, Codes, Floats, Ints, Status
from discreet.model.hierarchy import Hierarchy
from discreet.model.pages import frame_kind
from discreet.model.spec import TableSpec
from discreet.model.table import NOT_JUDGED, CellStatus, Contributions, Table, cell_numbers
from discreet.model.units import decimals_of, to_units, units_up
from discreet.relations import build_system
from discreet.relations.equations import Equations, table_equations
from discreet.verbs.ready_holders import holders_of, is_holder, is_own
from discreet.verbs.ready_totals import with_totals

if TYPE_CHECKING:
    import pyarrow as pa

OPTIONAL = (
    "contributors",
    "status",
    "lower_protection",
    "upper_protection",
    "lower_bound",
    "upper_bound",
    "cost",
    "record_key",
)
KEY_DECIMALS = 15
"""Decimals of record keys that are fractions, as in the engines."""


def table_from_cells(
    cells: Any,
    by: Mapping[str, Hierarchy],
    value: str = "value",
    *,
    counts: bool = False,
    variable: str | None = None,
    compute_totals: bool = False,
    disjoint: bool | Literal["unknown"] = False,
    slack: float | Literal["rounded"] | None = None,
    decimals: int | None = None,
    delimiter: str = ",",
    **options: Any,
) -> Table:
    """A table from its cells, totals included.

    Besides the code columns and the value, these columns are used where they are there: ``contributors``,
    ``top1``, ``top2``, ..., ``status`` (V or S, U, P, M, E), ``lower_protection``, ``upper_protection``,
    ``lower_bound``, ``upper_bound``, ``cost``, ``record_key`` (the sum of the cell's record keys), ``holder1`` to
    ``holder3`` (who the largest contributors are, any code) and ``own1`` to ``own3`` (how much they have; ``top1``,
    ... when left out). An empty code stands for the total; an empty value for an empty cell.

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
        No contributor stands in two of the finest cells, so that contributors of computed totals add up. With
        ``"unknown"`` computed totals are judged by the worst that may be: as few contributors as possible, the largest
        of one cell being the largest of the others, too.
    slack
        How far a relation may be from adding up (rounded or weighted tables); ``"rounded"`` allows half a unit
        for each of its cells.
    decimals
        Decimals of the values; found when left out.
    delimiter
        Separator of a csv file.
    **options
        Further fields of :class:`~discreet.TableSpec`: ``name``, ``period``, ``where``, ``weight``, and ``cost``, the
        column that says what withholding a cell costs, where it is not called ``cost``.

    Notes
    -----
    Cells that have every combination of codes, zeros among them, are a table of all cells: methods that alter values
    then publish zeros, where they otherwise list none.

    Raises
    ------
    InputError
        When a cell stands twice, a total is missing, statuses contradict values, or the cells do not add up.
    """
    spec = _spec(by, None if counts else (variable or value), options)
    frame = _read(cells, list(by), value, delimiter, spec.cost)
    codes = _codes(frame, by)
    _refuse_twice(spec, codes)
    raw, empty = _values(frame, value)
    shown = decimals_of(raw, value) if decimals is None else decimals
    spec = spec.with_(decimals=shown, fewest=decimals is None)
    inside = shown if decimals is not None or counts or slack == "rounded" else _finest(frame, raw, shown)
    units = to_units(raw, inside, value)
    status = _status(frame)
    if status is not None:
        empty = empty | ((status == CellStatus.EMPTY) & (units == 0))
    key_sum, key_modulus = _record_keys(frame)
    table = Table(
        spec=spec,
        codes=codes,
        value=units,
        decimals=inside,
        empty=empty,
        shadow_decimals=inside,
        contributions=_contributions(frame, units, inside),
        key_sum=key_sum,
        key_modulus=key_modulus,
        manual=status,
        slack=_slack(slack, inside),
        from_records=False,
        **_levels_and_bounds(frame, inside),
        cost=_costs(frame, spec.cost or "cost", empty),
        came_as=frame_kind(cells),
    )
    table = table.with_(holders=holders_of(frame, table))
    table = table.at(np.argsort(table.keys, kind="stable"))
    _refuse_contradictions(table, counts)
    table = with_totals(table, disjoint) if compute_totals else table
    equations = table_equations(table)
    _refuse_missing_totals(table, equations)
    _refuse_missing_parts(table, equations)
    build_system(table).check_additive()
    whole = len(table) == prod(table.shape) and not table.value.all()
    return table.with_(spec=table.spec.with_(cells="all")) if whole else table


def _read(cells: Any, variables: list[str], value: str, delimiter: str, cost: str | None) -> pa.Table:
    names = column_names(cells, delimiter)
    optional = [name for name in names if name in OPTIONAL or _is_top(name) or is_holder(name) or is_own(name)]
    if cost is not None:
        if cost not in names:
            raise InputError(unknown_name("column", cost, names, "the cells (cost=)"))
        optional = [*(name for name in optional if name != "cost"), cost]
    wanted = list(dict.fromkeys([*variables, value, *optional]))
    text = [*variables, *(name for name in optional if name == "status")]
    exact = [name for name in wanted if name not in text and not is_holder(name)]
    return read_columns(cells, wanted, text=text, delimiter=delimiter, exact=exact)


def _is_top(name: str) -> bool:
    return name.startswith("top") and name[3:].isdigit()


def _spec(by: Mapping[str, Hierarchy], variable: str | None, options: dict[str, Any]) -> TableSpec:
    try:
        return TableSpec(by=by, value=variable, **options)
    except TypeError as error:
        raise ParameterError(
            f"from_cells does not know an option: {error}.",
            hint="Besides its own parameters it takes name=, period=, where=, weight= and cost=.",
        ) from None


def _codes(frame: pa.Table, by: Mapping[str, Hierarchy]) -> Codes:
    """Positions of the codes; an empty code is the total."""
    import pyarrow as pa

    columns = []
    for variable, hierarchy in by.items():
        column = frame[variable]
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        column = column.unify_dictionaries().combine_chunks()
        words = [code_text(word) or hierarchy.total for word in column.dictionary.to_pylist()] + [hierarchy.total]
        positions = np.array([hierarchy.index.get(word or "", -1) for word in words], np.int32)
        which = column.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)
        codes = positions[which]
        if (codes < 0).any():
            raise _unknown(variable, Counter(words[i] for i in which[codes < 0].tolist()))
        columns.append(codes)
    return np.column_stack(columns)


def _unknown(variable: str, counts: Mapping[str | None, int]) -> InputError:
    if None in counts:
        return InputError(
            f"Variable {variable!r} is empty in {counted(counts[None], 'cell')}, and its hierarchy has no total to "
            "stand for.",
            hint="Give the cells a code, or the hierarchy a total.",
        )
    worst = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    shown = ", ".join(f"{code!r} ({counted(count, 'cell')})" for code, count in worst[:10])
    more = f" and {len(worst) - 10} more" if len(worst) > 10 else ""
    return InputError(
        f"Variable {variable!r} has {counted(len(worst), 'code')} that its hierarchy does not have: {shown}{more}.",
        hint="Add them to the hierarchy, correct them, or remove the cells.",
    )


def _refuse_twice(spec: TableSpec, codes: Codes) -> None:
    keys = cell_numbers(codes, [len(h) for h in spec.hierarchies])
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
    empty = gaps(frame, name)
    if empty.all():
        raise InputError(f"Column {name!r} is empty in every cell.", hint="Check that the right column was named.")
    return filled_numbers(frame, name), empty


def _finest(frame: pa.Table, raw: Any, shown: int) -> int:
    """Decimals that write the largest contributions too, where the values then still fit into 64 bits."""
    amounts = [name for name in frame.column_names if _is_top(name) or is_own(name)]
    wanted = max([shown, *(decimals_of(filled_numbers(frame, name), name) for name in amounts)])
    total = float(np.abs(np.asarray(raw, np.float64)).sum())
    return wanted if total * 10.0**wanted < LARGEST else shown


def _contributions(frame: pa.Table, value: Ints, decimals: int) -> dict[str, Contributions]:
    names = frame.column_names
    tops = sorted((name for name in names if _is_top(name)), key=lambda name: int(name[3:]))
    if "contributors" not in names and not tops:
        return {}
    size = len(value)
    top = [to_units(filled_numbers(frame, name), decimals, name) for name in tops]
    largest = np.column_stack(top) if top else np.zeros((size, 0), np.int64)
    if "contributors" in names:
        given = np.asarray(filled_numbers(frame, "contributors"))
        wrong = (given < 0) | (given != np.rint(given.astype(np.float64)))
        if wrong.any():
            raise InputError(
                f"Column 'contributors' is not a whole number of at least 0 in row {int(np.argmax(wrong)) + 1}.",
                hint="It holds how many contributors each cell has.",
            )
        count = to_units(given, 0, "contributors")
    else:
        count = (largest != 0).sum(axis=1).astype(np.int64)
    return {"holding": Contributions(count, value, largest, (value < 0) | (largest < 0).any(axis=1))}


def _status(frame: pa.Table) -> Status | None:
    if "status" not in frame.column_names:
        return None
    said = ["" if s is None else str(s).strip() for s in frame["status"].to_pylist()]
    if set(said) <= {"", NOT_JUDGED}:
        return None
    letters = ["V" if letter in ("", NOT_JUDGED) else letter for letter in said]
    known: dict[str, CellStatus] = {}
    for row, letter in enumerate(letters):
        if letter not in known:
            try:
                known[letter] = CellStatus.from_letter(letter)
            except InputError as error:
                raise InputError(f"Row {row + 1}: {error.message}", hint=error.hint) from None
    return np.array([known[letter] for letter in letters], np.int8)


def _record_keys(frame: pa.Table) -> tuple[Ints | None, int]:
    """Sums of record keys, and the modulus that they are taken to: fractions of one, or whole numbers."""
    if "record_key" not in frame.column_names:
        return None, 0
    raw = filled_numbers(frame, "record_key")
    whole = raw.dtype.kind in "iub"
    if (raw < 0).any() or (not whole and (raw >= 1).any()):
        raise InputError(
            "Column 'record_key' must hold fractions in [0, 1) or whole numbers of at least 0.",
            hint="It is the sum of the record keys of a cell, of fractions only what stands after the point.",
        )
    return to_units(raw, 0 if whole else KEY_DECIMALS, "record_key"), 0 if whole else 10**KEY_DECIMALS


def _levels_and_bounds(frame: pa.Table, decimals: int) -> dict[str, Any]:
    """Levels are rounded up and bounds inwards, so that nobody is protected less than was asked."""
    names = frame.column_names
    found: dict[str, Any] = {}
    for column, name in (("lower_protection", "manual_lower"), ("upper_protection", "manual_upper")):
        if column in names:
            found[name] = units_up(_refuse_negative(frame, column), decimals, column)
    if "lower_bound" in names:
        lower = units_up(filled_numbers(frame, "lower_bound"), decimals, "lower_bound")
        found["lower_bound"] = np.where(gaps(frame, "lower_bound"), NO_LOWER, lower)
    if "upper_bound" in names:
        upper = -units_up(-filled_numbers(frame, "upper_bound"), decimals, "upper_bound")
        found["upper_bound"] = np.where(gaps(frame, "upper_bound"), NO_UPPER, upper)
    return found


def _costs(frame: pa.Table, name: str, empty: Bools) -> Floats | None:
    """What withholding each cell costs; only empty cells may go without."""
    if name not in frame.column_names:
        return None
    missing = np.flatnonzero(gaps(frame, name) & ~empty)
    if len(missing):
        raise InputError(
            f"Column {name!r} is empty in row {int(missing[0]) + 1}, and {counted(len(missing), 'cell', 'have')} no "
            "cost.",
            hint="Give every cell a cost of at least 0; 0 makes a cell free.",
        )
    return np.asarray(_refuse_negative(frame, name, "A cost cannot be below 0."), np.float64)


def _refuse_negative(frame: pa.Table, name: str, hint: str = "Protection levels are distances from the value.") -> Any:
    values = filled_numbers(frame, name)
    if (values < 0).any():
        raise InputError(
            f"Column {name!r} is negative in row {int(np.argmax(values < 0)) + 1}.",
            hint=hint,
        )
    return values


def _slack(slack: float | Literal["rounded"] | None, decimals: int) -> int | None:
    if slack is None:
        return None
    if slack == "rounded":
        return -1
    if isinstance(slack, bool) or not isinstance(slack, int | float) or not 0 <= slack < float("inf"):
        raise ParameterError(f"slack={slack!r} is not allowed.", hint="Give a number of at least 0, or 'rounded'.")
    return -int(units_up(np.array([-slack], np.float64), decimals, "slack")[0])


def _refuse_contradictions(table: Table, counts: bool) -> None:
    """Values, contributors, largest contributions, bounds and statuses must fit together."""

    def refuse(wrong: Bools, what: str, hint: str) -> None:
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(f"{counted(int(wrong.sum()), 'cell', what)}, first {table.cell_name(row)}.", hint=hint)

    if counts:
        refuse(table.value < 0, "have a negative count", "Leave counts=True out for values that are not counts.")
    found = table.contributions.get("holding")
    if found is not None:
        refuse((table.value != 0) & (found.count == 0), "have a value but no contributors", "Correct the counts.")
        refuse(
            table.empty & (found.count > 0),
            "are empty, but not without contributors",
            "Give their value, or remove them.",
        )
        listed: Bools = (found.top != 0).sum(axis=1) > found.count
        refuse(
            listed,
            "have more contributions in top1, top2, ... than contributors",
            "Correct the column contributors, or leave the contributions of nobody empty.",
        )
        if found.top.shape[1]:
            whole = table.value + (0 if table.slack is None else abs(table.slack))
            more = (found.top[:, 0] > whole) & ~found.negative
            refuse(more, "have a largest contribution above the value", "Check the columns top1 and value.")
            more = (found.top.sum(axis=1) > whole) & ~found.negative
            refuse(more, "have contributions above the value", "Check the columns top1, top2, ... and value.")
            rising: Bools = np.any(np.diff(found.top, axis=1) > 0, axis=1)
            refuse(rising, "have top2 above top1", "Put the largest first.")
    if table.manual is not None:
        marked_empty = (table.manual == CellStatus.EMPTY) & (table.value != 0)
        refuse(marked_empty, "have status E but a value", "An empty cell has no value.")
        hidden = table.empty & (table.manual >= CellStatus.UNSAFE)
        refuse(hidden, "have status U, M or P but no value", "Give the value, or status E.")
    if table.lower_bound is not None:
        refuse(table.lower_bound > table.value, "lie below the lower bound", "Bounds must contain the value.")
    if table.upper_bound is not None:
        refuse(table.upper_bound < table.value, "lie above the upper bound", "Bounds must contain the value.")


def _refuse_missing_totals(table: Table, equations: Equations) -> None:
    """Totals may be absent only where parts are subtracted and cancel out: such a total may be empty."""
    sums = np.zeros(len(equations.variable), np.int64)
    np.add.at(sums, equations.row, equations.coefficient * table.value[equations.cell])
    signed = [any(sign < 0 for g in h.groupings for _, sign in g.parts) for h in table.spec.hierarchies]
    cancelled = np.array(signed)[equations.variable] & (np.abs(sums) <= max(table.slack or 0, 0))
    lone = np.flatnonzero((equations.parent < 0) & ~cancelled)
    if not len(lone):
        return
    row = int(lone[0])
    k, sample = int(equations.variable[row]), int(equations.sample[row])
    hierarchy = table.spec.hierarchies[k]
    codes = table.codes[sample].copy()
    codes[k] = hierarchy.position(hierarchy.groupings[int(equations.grouping[row])].parent)
    words = ", ".join(f"{v}={c}" for v, c in zip(table.variables, table.spec_codes(codes.tolist()), strict=True))
    raise InputError(
        f"{counted(len(lone), 'total', 'are')} missing, first the cell {words}.",
        hint="Add them, or give compute_totals=True to have them computed from the finest cells.",
    )


def _refuse_missing_parts(table: Table, equations: Equations) -> None:
    """A value whose sum has no part in the table cannot be right: parts that are not there are empty."""
    cells = np.bincount(equations.row, minlength=len(equations.variable))
    alone = (equations.parent >= 0) & (cells == 1)
    alone &= np.abs(table.value[equations.sample]) > max(table.slack or 0, 0)
    if alone.any():
        row = int(np.argmax(alone))
        k, sample = int(equations.variable[row]), int(equations.sample[row])
        grouping = table.spec.hierarchies[k].groupings[int(equations.grouping[row])]
        raise InputError(
            f"{counted(int(alone.sum()), 'total', 'have')} a value but no parts in the table, first "
            f"{table.cell_name(sample)} "
            f"('{table.variables[k]}: {grouping}').",
            hint="Add the finer cells, or leave their codes out of the hierarchy.",
        )
