"""The question that a table answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from discreet.errors import ParameterError
from discreet.model.condition import Condition, parse_conditions
from discreet.model.geography import Geography
from discreet.model.hierarchy import Hierarchy

RESERVED = re.compile(
    "value|contributors|status|(lower|upper|sliding)_protection|lower|upper|hits|empty|records|nonzero|weighted|key_sum|"
    r"record_key|manual|manual_(lower|upper)|(lower|upper)_bound|cost|top\d+|holding_.*|record_.*|holders|"
    r"holder\d+|own\d+"
)
"""Columns of the cell files, which no variable may be named after."""


@dataclass(frozen=True, eq=False)
class TableSpec:
    """What to tabulate: the variables that span the table, the value, and for whom.

    Parameters
    ----------
    by
        Variable name to hierarchy, in the order of the table's columns. A map has a ``HexGrid`` or an ``Adjacency``.
    value
        Variable that is summed; ``None`` counts records.
    name
        Name of the table and of its files; made from value and variables when left out.
    where
        Filter or filters that say which records belong to the universe.
    weight
        Weight column; ``None`` takes the one that the data declare, ``False`` none.
    period
        Period that the table is about; part of a cell's identity.
    shadow
        Variable that the rules look at instead of the value.
    absolute
        Let the rules look at absolute contributions, for values that may be negative.
    cost
        Variable that says how much a cell is worth when cells are withheld.
    decimals
        Decimals of the published value; when left out, as few as write the published values exactly, so that withheld
        ones have no say in it, and none where weights count, because weighted sums are rounded. Inside, values are
        exact.
    cells
        ``"nonempty"`` keeps cells that have a record, ``"all"`` every combination of codes.
    top
        How many of the largest contributions each cell keeps.
    levels
        For whom contributions are summed: ``"holding"`` (the data's contributor), ``"record"``, or both.
    holders
        Keep who contributes most to each cell, which insiders need.
    fewest
        Whether ``decimals`` were found in the data and not declared: published values then have as few as they need.
    places
        Where the codes of a variable lie; taken from ``by``.

    Examples
    --------
    >>> import discreet as ds
    >>> import pyarrow as pa
    >>> firms = pa.table({"region": ["N", "N", "E"], "sales": [5, 6, 7]})
    >>> spec = ds.TableSpec(by={"region": ds.Hierarchy.flat(["N", "E"])}, value="sales")
    >>> spec.name, ds.tabulate(firms, specs=[spec]).tables[0].value.tolist()
    ('sales_by_region', [18, 11, 7])
    """

    by: Mapping[str, Hierarchy]
    value: str | None = None
    name: str = ""
    where: tuple[Condition, ...] = ()
    weight: str | Literal[False] | None = None
    period: str = ""
    shadow: str | None = None
    absolute: bool = False
    cost: str | None = None
    decimals: int | None = None
    cells: Literal["nonempty", "all"] = "nonempty"
    top: int = 3
    levels: tuple[str, ...] = ("holding",)
    holders: bool = True
    places: Mapping[str, Geography] = field(default_factory=dict)
    fewest: bool = False
    identity_: tuple[str, str, str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.by, Mapping) or not self.by:
            raise ParameterError("A table needs at least one variable.", hint="Give by={'variable': hierarchy}.")
        found = {variable: where for variable, where in self.by.items() if isinstance(where, Geography)}
        object.__setattr__(self, "places", {**self.places, **found})
        object.__setattr__(self, "by", {**self.by, **{v: where.hierarchy() for v, where in found.items()}})
        for variable, hierarchy in self.by.items():
            if not isinstance(hierarchy, Hierarchy):
                raise ParameterError(
                    f"by[{variable!r}] is a {type(hierarchy).__name__}, not a Hierarchy.",
                    hint="Use ds.Hierarchy.flat(codes) for a plain list of codes.",
                )
            if RESERVED.fullmatch(variable):
                raise ParameterError(
                    f"A variable cannot be called {variable!r}: the cell files have a column of that name.",
                    hint="Rename the variable.",
                )
        if self.cells not in ("nonempty", "all"):
            raise ParameterError(f"cells={self.cells!r} is not allowed.", hint="Use 'nonempty' or 'all'.")
        if self.top < 1 or self.top > 20:
            raise ParameterError(f"top={self.top} is not allowed.", hint="Keep 1 to 20 contributions per cell.")
        if self.decimals is not None and not 0 <= self.decimals <= 15:
            raise ParameterError(f"decimals={self.decimals} is not allowed.", hint="Give 0 to 15, or leave it out.")
        if not self.levels or not set(self.levels) <= {"holding", "record"}:
            raise ParameterError(f"levels={self.levels!r} is not allowed.", hint="Use 'holding', 'record' or both.")
        object.__setattr__(self, "by", dict(self.by))
        object.__setattr__(self, "where", parse_conditions(self.where))
        if not self.name:
            object.__setattr__(self, "name", default_name(self.value, self.by))
        object.__setattr__(self, "period", str(self.period))
        universe = " and ".join(sorted({condition.canonical() for condition in self.where}))
        object.__setattr__(self, "identity_", (self.value or "", universe, self.period, self.weight or ""))

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables that span the table."""
        return tuple(self.by)

    @property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        """Hierarchies of the variables, in their order."""
        return tuple(self.by.values())

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What all cells of the table share: value variable, universe, period and weight."""
        return self.identity_

    def with_(self, **changes: Any) -> TableSpec:
        """The same spec with some fields changed."""
        return replace(self, **changes)


def default_name(value: str | None, variables: Iterable[str]) -> str:
    """The name of a table that nobody gave one."""
    return "_by_".join([value or "count", "_".join(variables)])
