"""What a rule is: a frozen record of parameters that looks at cells and says which are unsafe and by how much."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, NeedsError, ParameterError, unknown_name
from discreet.model.arrays import LARGEST, Bools, Ints
from discreet.model.table import Contributions, Table
from discreet.model.units import as_fraction

REGISTRY: dict[str, type[Rule]] = {}


class Finding(NamedTuple):
    """Cells that break a rule and the distances from their value that must stay possible, in units."""

    unsafe: Bools
    lower: Ints
    upper: Ints


@dataclass(frozen=True)
class Rule(ABC):
    """Base of all rules. A rule is made with its parameters, which are checked at once.

    Subclasses set ``kind`` (their name in recipes and evidence) and implement :meth:`evaluate` and :meth:`words`.
    """

    kind: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            REGISTRY[cls.kind] = cls

    @abstractmethod
    def evaluate(self, table: Table, profile: str) -> Finding:
        """Which cells break the rule, and their levels."""

    @abstractmethod
    def words(self, table: Table, row: int) -> str:
        """Why a cell breaks the rule, in words for the custodian."""

    def record(self) -> dict[str, Any]:
        """The rule as plain data."""
        values = {name: value for name, value in asdict(self).items() if value not in (None, ())}
        return {"kind": self.kind, **values}

    def applies_to(self, table: Table) -> bool:
        """Whether the rule is meant for this table."""
        only = getattr(self, "tables", ())
        return not only or table.name in only


def rule_from_record(record: Mapping[str, Any]) -> Rule:
    """A rule from plain data; unknown kinds and parameters are errors."""
    given = dict(record)
    kind = str(given.pop("kind", ""))
    if kind not in REGISTRY:
        raise ParameterError(unknown_name("rule", kind, REGISTRY))
    cls = REGISTRY[kind]
    known = [f.name for f in fields(cls)]
    for name in given:
        if name not in known:
            raise ParameterError(unknown_name("parameter", name, known, f"rule {kind!r}"))
    if "tables" in given:
        given["tables"] = tuple(given["tables"])
    try:
        return cls(**given)
    except TypeError as error:
        raise ParameterError(f"Rule {kind!r}: {error}.") from None


def contributions_for(table: Table, level: str, rule: Rule, top: int = 0) -> Contributions:
    """The contributions a rule looks at; an error that says how to supply what is missing."""
    if level not in ("holding", "record"):
        raise ParameterError(f"level={level!r} is not allowed.", hint="Use 'holding' or 'record'.")
    found = table.contributions.get(level)
    if found is None:
        how = (
            f"tabulate with levels=('holding', {level!r})"
            if table.from_records
            else "give the columns contributors=, top=[...] to from_cells"
        )
        raise NeedsError(f"Rule {rule.kind!r} needs contributions per {level} in table {table.name!r}.", hint=f"Please {how}.")
    if found.top.shape[1] < top:
        how = f"tabulate with top={top}" if table.from_records else f"give {top} top columns to from_cells"
        raise NeedsError(
            f"Rule {rule.kind!r} needs the {top} largest contributions of each cell; table {table.name!r} keeps "
            f"{found.top.shape[1]}.",
            hint=f"Please {how}.",
        )
    return found


def refuse_negative(table: Table, found: Contributions, rule: Rule) -> None:
    """Concentration makes no sense with negative contributions."""
    if found.negative.any():
        row = int(np.argmax(found.negative))
        raise InputError(
            f"Rule {rule.kind!r} cannot take negative contributions; {int(found.negative.sum())} cells of table "
            f"{table.name!r} have some, first {table.cell_name(row)}.",
            hint="Tabulate with absolute=True (the rules look at absolute contributions) or with shadow= a variable "
            "that is never negative.",
        )


def combine(*terms: tuple[int, Ints]) -> NDArray[Any]:
    """Exact sum of integer multiples of columns; wide integers where 64 bits might not do."""
    bound = sum(abs(c) * float(np.abs(a.astype(np.float64)).max(initial=0.0)) for c, a in terms)
    if bound < LARGEST:
        return np.asarray(sum(np.int64(c) * a for c, a in terms), dtype=np.int64)
    return np.asarray(sum(c * a.astype(object) for c, a in terms), dtype=object)


def ceiling(numerator: NDArray[Any], denominator: int) -> Ints:
    """Quotients rounded up, as 64-bit integers."""
    return np.minimum(-(-numerator // denominator), LARGEST).astype(np.int64)


def percent_of(value: Ints, percent: float) -> Ints:
    """A percentage of absolute values, rounded up, at least one unit."""
    share = as_fraction(percent) / 100
    return np.maximum(ceiling(combine((share.numerator, np.abs(value))), share.denominator), 1)


def scaled_to_value(table: Table, total: Ints, level: NDArray[Any], denominator: int) -> Ints:
    """A level of the shadow variable as a level of the value: the same share of the cell."""
    if table.spec.shadow is None and not table.spec.absolute:
        return ceiling(level, denominator)
    safe_total = np.where(total == 0, 1, total)
    wide = np.abs(table.value).astype(object) * level.astype(object)
    divisor = safe_total.astype(object) * denominator
    quotient = np.array([-(-n // d) for n, d in zip(wide, divisor, strict=True)], dtype=object)
    return np.where(total == 0, np.abs(table.value), np.minimum(quotient, LARGEST)).astype(np.int64)


def share_of(number: float, name: str, rule: str, low: float = 0, high: float = 100) -> Fraction:
    """A percentage as an exact share; outside its range it is an error."""
    if isinstance(number, bool) or not isinstance(number, int | float) or not low < number <= high:
        raise ParameterError(f"{rule}: {name}={number!r} is not allowed.", hint=f"Use more than {low} up to {high}.")
    return as_fraction(number) / 100


def whole_number(number: int, name: str, rule: str, least: int = 1) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise ParameterError(
            f"{rule}: {name}={number!r} is not allowed.", hint=f"Use a whole number of at least {least}."
        )
