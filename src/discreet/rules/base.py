"""What a rule is: a frozen record of parameters that looks at cells and says which are unsafe and by how much."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, NeedsError, ParameterError, counted, listed, unknown_name
from discreet.model.arrays import LARGEST, Bools, Ints
from discreet.model.table import Contributions, Table
from discreet.model.units import as_fraction

REGISTRY: dict[str, type[Rule]] = {}
LEVELS = ("holding", "record")
MOST = 10**9
"""Largest whole number that a parameter may be."""


class Finding(NamedTuple):
    """Cells that break a rule and the distances from their value that must stay possible, in units."""

    unsafe: Bools
    lower: Ints
    upper: Ints


@dataclass(frozen=True)
class Rule(ABC):
    """Base of all rules. A rule is made with its parameters, which are checked at once.

    Subclasses set ``kind`` (their name in recipes and evidence) and implement :meth:`check`, :meth:`evaluate` and
    :meth:`words`.

    Examples
    --------
    >>> import discreet as ds
    >>> rule = ds.PPercent(10)
    >>> isinstance(rule, ds.Rule), rule.kind
    (True, 'p_percent')
    """

    kind: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            REGISTRY[cls.kind] = cls

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.generic):  # a rule is plain data, so that it can be written down
                object.__setattr__(self, field.name, value.item())
            if isinstance(field.default, bool) and not isinstance(getattr(self, field.name), bool):
                raise ParameterError(f"{self.kind}: {field.name}={value!r} is not allowed.", hint="Use true or false.")
        level = getattr(self, "level", "holding")
        if level not in LEVELS:
            raise ParameterError(f"{self.kind}: level={level!r} is not allowed.", hint="Use 'holding' or 'record'.")
        if hasattr(self, "tables"):
            object.__setattr__(self, "tables", _table_names(self.tables, self.kind))
        self.check()

    @abstractmethod
    def check(self) -> None:
        """Refuse parameters that make no sense."""

    @abstractmethod
    def evaluate(self, table: Table, profile: str) -> Finding:
        """Which cells break the rule, and their levels."""

    def evaluate_beside(self, table: Table, profile: str, others: Sequence[Rule]) -> Finding:
        """The same where other rules are asked of the table, too; levels may agree with theirs."""
        return self.evaluate(table, profile)

    @abstractmethod
    def words(self, table: Table, row: int) -> str:
        """Why a cell breaks the rule, in words for the custodian."""

    def record(self) -> dict[str, Any]:
        """The rule as plain data."""
        values = {name: value for name, value in asdict(self).items() if value not in (None, ()) and value is not False}
        return {"kind": self.kind, **values}

    def applies_to(self, table: Table) -> bool:
        """Whether the rule is meant for this table."""
        only = getattr(self, "tables", ())
        return not only or table.name in only


def rule_from_record(record: Mapping[str, Any]) -> Rule:
    """A rule from plain data; unknown kinds and parameters are errors."""
    given = dict(record)
    kind = str(given.pop("kind", ""))
    if "." in kind and kind not in REGISTRY:
        raise ParameterError(
            f"Rule {kind!r} is not one of ours, and whoever wrote it has not made it known here.",
            hint="Import the module that defines it first; a rule is known as soon as its class is.",
        )
    if kind not in REGISTRY:
        raise ParameterError(unknown_name("rule", kind, REGISTRY))
    cls = REGISTRY[kind]
    known = [f.name for f in fields(cls)]
    for name in given:
        if name not in known:
            raise ParameterError(unknown_name("parameter", name, known, f"rule {kind!r}"))
    missing = [f.name for f in fields(cls) if f.default is MISSING and f.name not in given]
    if missing:
        raise ParameterError(f"Rule {kind!r} needs {listed(missing)}.", hint=f"It takes {listed(known)}.")
    return cls(**given)


def _table_names(tables: Any, kind: str) -> tuple[str, ...]:
    names = (tables,) if isinstance(tables, str) else tables
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) and name for name in names):
        raise ParameterError(f"{kind}: tables={tables!r} is not allowed.", hint="Give names of tables in a list.")
    return tuple(names)


def contributions_for(table: Table, level: str, rule: Rule, top: int = 0) -> Contributions:
    """The contributions a rule looks at; an error that says how to supply what is missing."""
    found = table.contributions.get(level)
    if found is None:
        if table.from_records:
            how = "tabulate with levels=('holding', 'record')"
        elif level == "record":
            how = "use level='holding': a ready-made table knows one kind of contributor"
        else:
            how = "give from_cells a column 'contributors' and, for the largest contributions, 'top1', 'top2' and so on"
        why = "".join(f" ({note})" for note in table.notes)
        raise NeedsError(
            f"Rule {rule.kind!r} needs contributions per {level} in table {table.name!r}{why}.", hint=f"Please {how}."
        )
    if found.top.shape[1] < top:
        columns = listed(f"top{i + 1}" for i in range(top))
        how = f"tabulate with top={top}" if table.from_records else f"give from_cells the columns {columns}"
        raise NeedsError(
            f"Rule {rule.kind!r} needs the {top} largest contributions of each cell; table {table.name!r} keeps "
            f"{found.top.shape[1]}.",
            hint=f"Please {how}.",
        )
    return found


def with_value(found: Contributions) -> Ints:
    """How many contributors have a value other than zero.

    Ready-made tables do not say it, but where their list of the largest ends with zeros nobody else has anything.
    """
    if found.nonzero is not None:
        return found.nonzero
    if found.top.shape[1] == 0:
        return found.count
    ends = (found.top[:, -1] == 0) & ~found.negative
    return np.where(ends, np.minimum(np.count_nonzero(found.top, axis=1), found.count), found.count)


def refuse_negative(table: Table, negative: Bools, rule: Rule) -> None:
    """Concentration makes no sense with negative contributions, unless the rules look at absolute ones."""
    if negative.any() and not table.spec.absolute:
        row = int(np.argmax(negative))
        raise InputError(
            f"Rule {rule.kind!r} cannot take negative contributions; {counted(int(negative.sum()), 'cell')} of table "
            f"{table.name!r} have some, first {table.cell_name(row)}.",
            hint="Tabulate with absolute=True (the rules look at absolute contributions) or with shadow= a variable "
            "that is never negative.",
        )


def combine(*terms: tuple[int, Ints]) -> NDArray[Any]:
    """Exact sum of integer multiples of columns; wide integers where 64 bits might not do."""
    bound = sum(abs(c) * max(int(np.abs(a).max(initial=0)), 1) for c, a in terms)
    if bound < LARGEST:
        return np.asarray(sum(np.int64(c) * a for c, a in terms), dtype=np.int64)
    return np.asarray(sum(c * a.astype(object) for c, a in terms), dtype=object)


def ceiling(numerator: NDArray[Any], denominator: int) -> Ints:
    """Quotients rounded up, as 64-bit integers; :func:`refuse_too_large` finds those that do not fit."""
    if denominator > LARGEST:
        numerator = numerator.astype(object)
    quotient: Ints = np.minimum(-(-numerator // denominator), LARGEST).astype(np.int64)
    return quotient


def refuse_too_large(table: Table, level: Ints) -> None:
    """A level that does not fit into 64 bits would be asked for too small."""
    wrong = level >= LARGEST
    if wrong.any():
        raise InputError(
            f"{counted(int(wrong.sum()), f'cell of table {table.name!r}', 'need')} protection levels too large for "
            "64-bit integers.",
            hint="Express the values in a larger unit (thousands), or use a larger k or a smaller p or range.",
            details=f"The first is {table.cell_name(int(np.argmax(wrong)))}.",
        )


def percent_of(value: Ints, percent: float) -> Ints:
    """A percentage of absolute values, rounded up, at least one unit."""
    share = as_fraction(percent) / 100
    return np.maximum(ceiling(combine((share.numerator, np.abs(value))), share.denominator), 1)


def in_proportion(value: Ints, total: Ints, level: NDArray[Any], denominator: int) -> Ints:
    """Levels of a shadow variable, ``level / denominator``, as the same share of the value; at least one unit."""
    rows = zip(np.abs(value).tolist(), level.tolist(), total.tolist(), strict=True)
    wide = [v if t == 0 else -(-v * n // (t * denominator)) for v, n, t in rows]
    return np.array([min(max(w, 1), LARGEST) for w in wide], dtype=np.int64)


def share_of(number: float, name: str, rule: str, high: float = 100, below_one: bool = False) -> Fraction:
    """A percentage as an exact share; outside its range it is an error, and so is a share in place of a percentage."""
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number <= high:
        raise ParameterError(f"{rule}: {name}={number!r} is not allowed.", hint=f"Use more than 0 up to {high:g}.")
    if number < 1 and not below_one:
        meant = 100 * as_fraction(number)
        raise ParameterError(
            f"{rule}: {name}={number!r} is less than one per cent, which protects next to nothing.",
            hint=f"Did you mean {float(meant):g}? {name} is a percentage. Give below_one=True if {number:g} % is "
            "what you mean.",
        )
    return as_fraction(number) / 100


def whole_number(number: int, name: str, rule: str, least: int = 1) -> None:
    """Refuse what is not a whole number from ``least`` on."""
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= MOST:
        raise ParameterError(
            f"{rule}: {name}={number!r} is not allowed.", hint=f"Use a whole number from {least} to {MOST}."
        )
