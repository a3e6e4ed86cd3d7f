"""Instances of solvers (JJ files) as tables that can be protected like any other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from discreet.errors import InputError, counted, listed
from discreet.files.argus.jj import Instance, read_jj
from discreet.model.arrays import Floats
from discreet.model.hierarchy import Grouping, Hierarchy
from discreet.model.spec import TableSpec
from discreet.model.table import CellStatus, Table
from discreet.model.units import decimals_of, to_units, units_up
from discreet.rules.assess import assess_table

STATUSES = np.array([0, CellStatus.UNSAFE, CellStatus.SECONDARY, CellStatus.FORCED], np.int8)
"""What the statuses s, u, m and z of JJ files are here."""


def table_from_jj(source: str | Path | Instance, name: str = "instance") -> Table:
    """A JJ file as an assessed table of one variable, ``cell``, whose codes add up as the relations say.

    Levels, bounds and weights (as costs) are those of the file; cells of status z are published in any case.

    Parameters
    ----------
    source
        The file, or what :func:`~discreet.files.argus.jj.read_jj` found.
    name
        Name of the table.

    Raises
    ------
    InputError
        Where relations do not add up to zero, have no total, go round in a circle, or have no grand total.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> table = ds.examples.small_table().assess(ds.PPercent(10))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ds.write_argus(table, f"{folder}/small.jj", "jj").files[0]
    ...     again = ds.table_from_jj(file)
    >>> ds.protect(again, ds.Suppress(cost="variable")).verify().holds
    True
    """
    instance = source if isinstance(source, Instance) else read_jj(source)
    codes = [str(number) for number in range(len(instance))]
    groupings = _groupings(instance, codes)
    hierarchy = Hierarchy(groupings, _total(groupings, codes), tuple(codes))
    order = np.argsort([hierarchy.index[code] for code in codes])
    value = instance.value[order]
    columns = (instance.value, instance.lower_level, instance.upper_level, instance.lower, instance.upper)
    decimals = max(decimals_of(column, "value") for column in columns)
    slack = _slack(instance, decimals)
    table = Table(
        spec=TableSpec(by={"cell": hierarchy}, value="value", name=name, decimals=decimals_of(value, "value")),
        codes=np.arange(len(instance), dtype=np.int32)[:, None],
        value=to_units(value, decimals, "value"),
        decimals=decimals,
        empty=np.zeros(len(instance), np.bool_),
        shadow_decimals=decimals,
        manual=STATUSES[instance.status[order]],
        manual_lower=units_up(instance.lower_level[order], decimals, "lower level"),
        manual_upper=units_up(instance.upper_level[order], decimals, "upper level"),
        lower_bound=units_up(_inside(instance.lower[order], value, np.minimum), decimals, "lower bound"),
        upper_bound=-units_up(-_inside(instance.upper[order], value, np.maximum), decimals, "upper bound"),
        cost=instance.weight[order],
        slack=slack,
        from_records=False,
    )
    assessed = assess_table(table, ())
    found = assessed.assessment
    assert found is not None
    sliding = np.where(found.unsafe, units_up(instance.sliding_level[order], decimals, "sliding level"), 0)
    return assessed.with_(assessment=replace(found, sliding=sliding))


def _total(groupings: tuple[Grouping, ...], codes: list[str]) -> str:
    """The cell that is no part of any other."""
    parts = {code for grouping in groupings for code, _ in grouping.parts}
    roots = [code for code in codes if code not in parts]
    if len(roots) != 1:
        raise InputError(
            f"{counted(len(roots), 'cell of the instance', 'are')} part of no other: {listed(roots)}.",
            hint="Only instances with one cell that all others are parts of can be read as a table.",
        )
    return roots[0]


def _inside(bound: Floats, value: Floats, nearer: np.ufunc) -> Floats:
    """Bounds that hold the value; files often state the same bounds for all cells."""
    result: Floats = nearer(bound, value)
    return result


def _slack(instance: Instance, decimals: int) -> int | None:
    if instance.rhs.any():
        row = int(np.argmax(instance.rhs != 0))
        raise InputError(
            f"Relation {row + 1} of the instance does not add up to zero.",
            hint="Only relations between cells can be read: put the constant into a cell of its own.",
        )
    gap = float(np.abs(instance.residual()).max(initial=0.0))
    units = int(np.rint(gap * 10.0**decimals))
    return units or None


def _groupings(instance: Instance, codes: list[str]) -> tuple[Grouping, ...]:
    """Relations as sums: the only cell with -1 is the total, or the only one with 1."""
    groupings = []
    start = instance.start.tolist()
    for row in range(len(instance.rhs)):
        cells = instance.cell[start[row] : start[row + 1]].tolist()
        signs = instance.coefficient[start[row] : start[row + 1]].tolist()
        total_sign = -1 if signs.count(-1) == 1 else 1
        if signs.count(total_sign) != 1 or len(set(cells)) != len(cells):
            raise InputError(
                f"Relation {row + 1} of the instance has no single total, or names a cell twice.",
                hint="Write it with -1 for the total and 1 for its parts.",
            )
        total = signs.index(total_sign)
        parts = tuple(
            (codes[c], -s * total_sign) for k, (c, s) in enumerate(zip(cells, signs, strict=True)) if k != total
        )
        if parts:
            groupings.append(Grouping(codes[cells[total]], parts))
    return tuple(groupings)
