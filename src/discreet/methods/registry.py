"""Methods by their names in recipes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, unknown_name
from discreet.lazy import Registry

if TYPE_CHECKING:
    from discreet.methods.base import Method


METHODS: Registry[Method] = Registry()


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
