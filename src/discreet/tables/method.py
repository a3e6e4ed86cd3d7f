"""What a method is: a frozen record of parameters, what it needs and what it claims."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from discreet.errors import ParameterError, unknown_name
from discreet.model.arrays import Bools
from discreet.model.evidence import Evidence
from discreet.relations import System

METHODS: dict[str, type[Method]] = {}


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method did to a system: cells withheld, the evidence, and what the custodian should know besides."""

    withheld: Bools
    evidence: Evidence
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Method(ABC):
    """Base of all methods. A method is made with its parameters, which are checked at once.

    ``kind`` is its name in recipes, ``needs`` what a table must carry, ``secret`` whether it uses randomness
    that must stay secret.
    """

    kind: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ("cells",)
    secret: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            METHODS[cls.kind] = cls

    @abstractmethod
    def run(self, system: System) -> Outcome:
        """Protect the cells of a system."""

    def record(self) -> dict[str, Any]:
        """The method as plain data."""
        return {"method": self.kind, **asdict(self)}


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
    return METHODS[kind](**given)
