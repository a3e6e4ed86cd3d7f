"""Methods by their names in recipes; the module of one is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, unknown_name

if TYPE_CHECKING:
    from discreet.methods.base import Method


class Registry(Mapping[str, "type[Method]"]):
    """Classes of methods by kind.

    A class is known as soon as its module is imported. ``homes`` names the modules of those that nobody has asked for
    yet, so that one method does not bring all the others into memory.
    """

    def __init__(self) -> None:
        self._classes: dict[str, type[Method]] = {}
        self._homes: dict[str, str] = {}

    def add(self, kind: str, cls: type[Method]) -> None:
        """Make a class known."""
        self._classes[kind] = cls

    def add_homes(self, homes: Mapping[str, str]) -> None:
        """Say in which modules methods live, by kind."""
        self._homes.update(homes)

    def __getitem__(self, kind: str) -> type[Method]:
        if kind not in self._classes:
            import_module(self._homes[kind])
        return self._classes[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._classes, *self._homes}))

    def __len__(self) -> int:
        return len({*self._classes, *self._homes})


METHODS = Registry()


def method_from_record(record: Mapping[str, Any]) -> Method:
    """A method from plain data; unknown methods and parameters are errors."""
    given = dict(record)
    kind = str(given.pop("method", ""))
    if kind not in METHODS:
        raise ParameterError(unknown_name("method", kind, METHODS))
    cls = METHODS[kind]
    known = [f.name for f in fields(cls)]
    for name in given:
        if name not in known:
            raise ParameterError(unknown_name("parameter", name, known, f"method {kind!r}"))
    for field in fields(cls):
        if field.init and field.default is MISSING and field.default_factory is MISSING and field.name not in given:
            raise ParameterError(f"Method {kind!r} needs {field.name}.", hint=f"Add {field.name} = ... to it.")
    return cls(**given)
