"""Methods: frozen records of declared parameters that act on tables, or on records."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from pathlib import Path
from types import NoneType
from typing import Any, ClassVar, Self

from discreet.errors import ParameterError
from discreet.keys import Key, find_key
from discreet.methods.outcome import NO_READING, NotAudited, Reading, RecordOutcome, TableOutcome
from discreet.methods.registry import METHODS, method_from_record
from discreet.model.arrays import Ints
from discreet.model.evidence import Evidence, Parts
from discreet.model.records import RecordSet
from discreet.model.spec import TableSpec
from discreet.model.tableset import TableSet
from discreet.parameters import Declared
from discreet.relations import System

ATOMS = (bool, int, float, str, NoneType)
"""What needs no copy to be plain data."""


@dataclass(frozen=True)
class Method(Declared, ABC):
    """Base of all methods. A method is made with its parameters, which are checked at once.

    ``kind`` is its name in recipes. ``secret`` is an attribute of the class where it does not depend on the parameters.

    Examples
    --------
    >>> import discreet as ds
    >>> isinstance(ds.Suppress(), ds.Method), ds.Suppress().kind
    (True, 'suppress')
    """

    kind: ClassVar[str] = ""

    @property
    def secret(self) -> bool:
        """Whether it uses randomness that must stay secret, and so needs a key."""
        return False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            METHODS.add(cls.kind, cls)

    def with_files_read(self, find: Callable[[str], Path] = Path) -> Self:
        """The method with what the files say that it names, so that they stay in the evidence.

        ``find`` turns a name into a path.
        """
        return self

    def record(self) -> dict[str, Any]:
        """The method as plain data."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        if not all(isinstance(value, ATOMS) or (isinstance(value, tuple) and not value) for value in given.values()):
            given = asdict(self)
        return {"method": self.kind, **given}


@dataclass(frozen=True)
class TablePublisher(Method):
    """What decides what is published of tables: a method for tables, or one for records of which tables are made.

    ``alters`` says whether it publishes values other than the true ones. ``needs`` and ``relates`` are attributes of
    the class where they do not depend on the parameters.
    """

    alters: ClassVar[bool] = False

    @property
    def needs(self) -> tuple[str, ...]:
        """What tables must carry besides their cells: names of :data:`discreet.methods.needs.NEEDS`."""
        return ()

    @property
    def relates(self) -> bool:
        """Whether it looks at relations between cells.

        They are many in large tables. Where a method does not look at them, they are not worked out to see whether
        tables add up that the engine has just added up itself.
        """
        return True

    @property
    def cost_variable(self) -> str | None:
        """The variable that says what withholding a cell costs, where the method names one."""
        return None

    @abstractmethod
    def publish(self, system: System, key: Key | None = None) -> TableOutcome:
        """What is published of the cells of a system; a secret method draws with the key."""

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


@dataclass(frozen=True)
class TableMethod(TablePublisher):
    """A method that acts on the cells and relations of tables."""

    @abstractmethod
    def run(self, system: System, key: Key | None = None) -> TableOutcome:
        """Protect the cells of a system; a secret method draws with the key."""

    def publish(self, system: System, key: Key | None = None) -> TableOutcome:
        """What :meth:`run` gives."""
        return self.run(system, key)


@dataclass(frozen=True)
class RecordMethod(Method):
    """A method that acts on records: it says what some of their columns become."""

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that it takes numbers from; those of csv files are read as text otherwise."""
        return ()

    @abstractmethod
    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Change columns of records; a secret method draws with the key."""


@dataclass(frozen=True, kw_only=True)
class Keyed:
    """Parameters of methods that draw at random.

    Parameters
    ----------
    version
        Version of the draws: another one draws anew with the same key.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.
    """

    version: int = 1
    key_file: str | None = None
    insecure_seed: int | None = None

    def purpose(self, what: str, *told: Any) -> str:
        """What a draw is for, so that another version draws anew.

        ``told`` is what the effect of a draw depends on: from two releases with the same draws and other effects,
        readers could work out what was there before.
        """
        if told:
            what = f"{what}/{blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=8).hexdigest()}"
        return what if self.version == 1 else f"{what}/{self.version}"


def key_of(method: Method, given: Key | None = None) -> Key | None:
    """The key that a method draws with: one that is given, that of its file, the environment's, or a new one."""
    if not method.secret:
        return None
    if given is not None:
        return given
    if isinstance(method, Keyed):
        return find_key(method.key_file, method.insecure_seed)
    return find_key(None, None)


def publisher_from_record(record: Mapping[str, Any]) -> TablePublisher:
    """The method of a release of tables, from plain data."""
    method = method_from_record(record)
    if not isinstance(method, TablePublisher):
        raise ParameterError(f"Method {method.kind!r} acts on records, and there are only tables.")
    return method
