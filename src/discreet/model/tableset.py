"""Several tables that are published together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, counted, listed, one_at, unknown_name
from discreet.model import doors
from discreet.model.table import Table
from discreet.model.table_verbs import TablesVerbs

if TYPE_CHECKING:
    from discreet.rules.base import Rule


@dataclass(frozen=True)
class VariableEquation:
    """An equation between value variables that holds in every cell: ``total`` = ``plus`` less ``minus``.

    Examples
    --------
    >>> str(VariableEquation("turnover", ("home", "export")))
    'turnover = home + export'
    """

    total: str
    plus: tuple[str, ...]
    minus: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        twice = [name for name, n in Counter((self.total, *self.plus, *self.minus)).items() if n > 1]
        if twice or not (self.plus or self.minus):
            raise ParameterError(
                f"The equation for {self.total!r} names {listed(twice)} twice."
                if twice
                else f"The equation for {self.total!r} has no right-hand side.",
                hint="Write each variable once: turnover = home + export.",
            )

    def terms(self) -> tuple[tuple[str, int], ...]:
        """All variables with their coefficients; they sum to zero."""
        return ((self.total, -1), *((v, 1) for v in self.plus), *((v, -1) for v in self.minus))

    @classmethod
    def parse(cls, text: str) -> VariableEquation:
        """Read ``total = a + b - c``; names may hold ``+`` and ``-`` where blanks stand around the signs."""
        left, equals, right = text.partition("=")
        tokens = right.split()
        if not {"+", "-"} & set(tokens):
            tokens = right.replace("+", " + ").replace("-", " - ").split()
        if tokens and tokens[0] not in ("+", "-"):
            tokens.insert(0, "+")
        signs, names = tokens[::2], tokens[1::2]
        if not (left.strip() and equals and names) or len(signs) != len(names) or set(signs) - {"+", "-"}:
            raise ParameterError(
                f"Cannot read the equation {text!r}.", hint="Write: turnover = home + export (names without blanks)."
            )
        both = list(zip(signs, names, strict=True))
        return cls(left.strip(), tuple(n for s, n in both if s == "+"), tuple(n for s, n in both if s == "-"))

    def __str__(self) -> str:
        text = "".join(f" + {v}" for v in self.plus) + "".join(f" - {v}" for v in self.minus)
        return f"{self.total} ={text.removeprefix(' +')}"


@dataclass(frozen=True, eq=False)
class TableSet(TablesVerbs):
    """Tables protected as one: cells that mean the same are one cell, wherever they stand.

    Parameters
    ----------
    tables
        The tables; their names must differ.
    equations
        Equations between value variables, as text or :class:`VariableEquation`.
    one_pattern
        Withhold the same cells in all value variables.

    Examples
    --------
    >>> import discreet as ds
    >>> import pyarrow as pa
    >>> firms = pa.table({"region": ["N", "E"], "size": ["big", "small"], "sales": [5, 6]})
    >>> by_region = ds.tabulate(firms, by={"region": ds.Hierarchy.flat(["N", "E"])}, value="sales")
    >>> by_size = ds.tabulate(firms, by={"size": ds.Hierarchy.flat(["big", "small"])}, value="sales")
    >>> ds.TableSet([by_region, by_size]).shared()
    [('sales_by_region', 'sales_by_size', 1)]
    """

    tables: tuple[Table, ...]
    equations: tuple[VariableEquation, ...] = ()
    one_pattern: bool = False

    def __init__(
        self,
        tables: Sequence[Table],
        equations: Sequence[VariableEquation | str] = (),
        one_pattern: bool = False,
    ) -> None:
        object.__setattr__(self, "tables", tuple(tables))
        parsed = tuple(VariableEquation.parse(e) if isinstance(e, str) else e for e in equations)
        object.__setattr__(self, "equations", parsed)
        object.__setattr__(self, "one_pattern", bool(one_pattern))
        if not self.tables:
            raise ParameterError("A table set needs at least one table.")
        twice = [name for name, n in Counter(table.name for table in self.tables).items() if n > 1]
        if twice:
            raise ParameterError(
                f"Table names must differ; used twice: {listed(twice)}.", hint="Give name= to the specs."
            )
        known = {table.spec.value or "" for table in self.tables}
        for equation in parsed:
            for variable, _ in equation.terms():
                if variable not in known:
                    raise ParameterError(unknown_name("value variable", variable, known, f"the equation '{equation}'"))

    def __iter__(self) -> Iterator[Table]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def __getitem__(self, name: str | int) -> Table:
        """A table by its name, or by its place from 0."""
        if isinstance(name, int):
            return one_at(self.tables, name, "the set")
        for table in self.tables:
            if table.name == name:
                return table
        raise ParameterError(unknown_name("table", name, [table.name for table in self.tables], "the set"))

    def replaced(self, tables: Sequence[Table]) -> TableSet:
        """The same set with other versions of its tables."""
        return TableSet(tables, self.equations, self.one_pattern)

    def assess(
        self,
        *rules: Rule | Sequence[Rule],
        profile: str = "handbook",
        missing_safe: bool = False,
        manual_range: float = 20.0,
        unrelated: Sequence[str] = (),
    ) -> TableSet:
        """Find the unsafe cells of all tables and how much protection each needs.

        All rules are evaluated; a cell's level is the largest over those it breaks. Statuses set by hand stay.

        Parameters
        ----------
        *rules
            Rules such as ``ds.PPercent(10)``; ``tables=`` of a rule restricts it to some tables of the set.
        profile
            ``"handbook"``, or ``"argus"`` for the order of tests and the symmetric levels of that program.
        missing_safe
            Leave cells alone whose code stands for "unknown".
        manual_range
            Level of cells marked unsafe by hand, in per cent of their value.
        unrelated
            Variables without a total of which one code is the sum of others by coincidence. Where it is no coincidence,
            the sum is a relation that readers know: declare it in the hierarchy.

        Examples
        --------
        >>> import discreet as ds
        >>> tables = ds.TableSet([ds.examples.small_table()]).assess(ds.PPercent(10))
        >>> [int(table.unsafe.sum()) for table in tables]
        [1]
        """
        return doors.assess(
            self,
            *rules,
            profile=profile,
            missing_safe=missing_safe,
            manual_range=manual_range,
            unrelated=unrelated,
        )

    def shared(self) -> list[tuple[str, str, int]]:
        """Which tables of the set share cells, and how many: (table, table, cells).

        Examples
        --------
        >>> import discreet as ds
        >>> table = ds.examples.small_table()
        >>> ds.TableSet([table, table.with_(spec=table.spec.with_(name="again"))]).shared()
        [('turnover', 'again', 16)]
        """
        return doors.shared_cells(self)

    def __repr__(self) -> str:
        return f"TableSet({', '.join(f'{t.name}: {len(t):,} cells' for t in self.tables)})"

    def __str__(self) -> str:
        equations = [f"Equation {equation}" for equation in self.equations]
        return "\n".join([counted(len(self), "table"), *equations, *(str(table) for table in self.tables)])

    def _repr_html_(self) -> str:
        from discreet.model.pages import set_page

        return set_page(self)


def as_set(tables: Table | TableSet) -> TableSet:
    """A table as a set of one."""
    return tables if isinstance(tables, TableSet) else TableSet([tables])
