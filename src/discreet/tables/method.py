"""What a method is: a frozen record of parameters, what it needs and what it claims."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from types import NoneType
from typing import Any, ClassVar

from discreet.attack.whole import Whole
from discreet.errors import ParameterError, unknown_name
from discreet.keys import Key
from discreet.model.arrays import Bools, Ints
from discreet.model.evidence import Evidence, Parts
from discreet.model.spec import TableSpec
from discreet.model.tableset import TableSet
from discreet.relations import System

METHODS: dict[str, type[Method]] = {}
ATOMS = (bool, int, float, str, NoneType)
"""What needs no copy to be plain data."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method did to a system: cells withheld, the evidence, and the values to publish where it alters them.

    ``published`` holds a value for every cell of the system, in its units; ``None`` where values stay what they are.
    ``intervals`` are published beside them: ends that hold the true value, equal to it where it is published itself;
    or confidence intervals, with their ``coverage`` among the facts of the evidence.
    ``notes`` are for the custodian.
    """

    withheld: Bools
    evidence: Evidence
    published: Ints | None = None
    intervals: tuple[Ints, Ints] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Reading:
    """What a reader who knows a method can tell of each cell of a system from its altered values.

    Parameters
    ----------
    lower, upper
        The least and most that each cell can be, in units of the system.
    knows
        What of the method the reader knows, in words that go on "knows the publication, the relations, the bounds of
        each cell, and ...".
    not_considered
        What readers may know or do besides, and the audit leaves out.
    whole
        Which numbers cells can be where counts are whole; left out for other values.
    certain
        Unsafe cells that readers can tell exactly by other means than bounds and relations, and how, in words.
    """

    lower: Ints
    upper: Ints
    knows: str
    not_considered: tuple[str, ...] = ()
    whole: Whole | None = None
    certain: tuple[Bools, str] | None = None


@dataclass(frozen=True)
class NotAudited:
    """Nobody has worked out what a reader who knows a method can tell; ``why`` says so in words."""

    why: str


NO_READING = "discreet has no attacker who knows this method, so that nothing is said of what readers can work out"


@dataclass(frozen=True)
class Method(ABC):
    """Base of all methods. A method is made with its parameters, which are checked at once.

    ``kind`` is its name in recipes, ``alters`` whether it publishes values other than the true ones. ``needs``,
    ``relates`` and ``secret`` are attributes of the class where they do not depend on the parameters.
    """

    kind: ClassVar[str]
    alters: ClassVar[bool] = False

    @property
    def needs(self) -> tuple[str, ...]:
        """What tables must carry besides their cells: names of :data:`discreet.tables.needs.NEEDS`."""
        return ()

    @property
    def relates(self) -> bool:
        """Whether it looks at relations between cells.

        They are many in large tables. Where a method does not look at them, they are not worked out to see whether
        tables add up that the engine has just added up itself.
        """
        return True

    @property
    def secret(self) -> bool:
        """Whether it uses randomness that must stay secret, and so needs a key."""
        return False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            METHODS[cls.kind] = cls

    @abstractmethod
    def run(self, system: System, key: Key | None = None) -> Outcome:
        """Protect the cells of a system; a secret method draws with the key."""

    def tabulated(self, spec: TableSpec) -> TableSpec:
        """How the method wants a table of records to be made."""
        return spec

    def supply(self, tables: TableSet, key: Key | None) -> Parts:
        """What the method needs besides the cells, from where the tables came from.

        It stays in the evidence, so that a release can be repeated and checked without the records.
        """
        return {}

    def reading(self, system: System, published: Ints, evidence: Evidence) -> Reading | NotAudited:
        """What somebody who knows the method and its public parameters can tell of each cell from altered values.

        A method that does not say it is reported as not audited: bounds that say nothing would pass for an audit.

        Parameters
        ----------
        system
            Cells and relations, with the true values: the audit needs them, and a reader may be taken to know more
            than there is to know, never less.
        published
            Altered values of all cells, in units of ``evidence.decimals``.
        evidence
            What the method left behind.
        """
        return NotAudited(NO_READING)

    def record(self) -> dict[str, Any]:
        """The method as plain data."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        if not all(isinstance(value, ATOMS) or (isinstance(value, tuple) and not value) for value in given.values()):
            given = asdict(self)
        return {"method": self.kind, **given}


def names_of(given: str | Iterable[str]) -> tuple[str, ...]:
    """Names as a tuple; a single one may stand alone."""
    return (given,) if isinstance(given, str) else tuple(given)


def method_from_record(record: Mapping[str, Any]) -> Method:
    """A method from plain data; unknown methods and parameters are errors."""
    given = dict(record)
    kind = str(given.pop("method", ""))
    if kind not in METHODS:
        raise ParameterError(unknown_name("method", kind, METHODS))
    known = [f.name for f in fields(METHODS[kind])]
    for name in given:
        if name not in known:
            raise ParameterError(unknown_name("parameter", name, known, f"method {kind!r}"))
    for field in fields(METHODS[kind]):
        if field.init and field.default is MISSING and field.default_factory is MISSING and field.name not in given:
            raise ParameterError(f"Method {kind!r} needs {field.name}.", hint=f"Add {field.name} = ... to it.")
    return METHODS[kind](**given)
