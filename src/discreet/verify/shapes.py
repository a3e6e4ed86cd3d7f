"""Shapes of plain data: what may stand where, and the place of what may not."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from discreet.errors import InputError

Shape = Callable[[Any, str], None]
"""Looks at a value and its place; raises where the value is not what must stand there."""


def wrong(place: str, what: str) -> InputError:
    """The error for something that does not belong where it stands."""
    return InputError(f"{place[:200]} {what}.")


def text(pattern: str = "", most: int = 100_000) -> Shape:
    """Text, of a pattern where one is given."""
    wanted = re.compile(pattern, re.DOTALL) if pattern else None

    def look(value: Any, place: str) -> None:
        if not isinstance(value, str) or len(value) > most or (wanted is not None and not wanted.fullmatch(value)):
            raise wrong(place, "is not the text that must stand there")

    return look


def whole(least: int = 0, most: int = 2**63 - 1) -> Shape:
    """A whole number."""

    def look(value: Any, place: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise wrong(place, f"is not a whole number from {least} to {most}")

    return look


def number(least: float = -math.inf, most: float = math.inf) -> Shape:
    """A finite number."""

    def look(value: Any, place: str) -> None:
        good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not good or not least <= value <= most:
            raise wrong(place, "is not a number that may stand there")

    return look


def flag(value: Any, place: str) -> None:
    """True or false."""
    if not isinstance(value, bool):
        raise wrong(place, "is neither true nor false")


def one_of(*allowed: Any) -> Shape:
    """One of some values."""

    def look(value: Any, place: str) -> None:
        if not any(type(value) is type(known) and value == known for known in allowed):
            raise wrong(place, f"is not one of {', '.join(map(repr, allowed))}")

    return look


def either(*shapes: Shape) -> Shape:
    """What one of several shapes allows."""

    def look(value: Any, place: str) -> None:
        for shape in shapes[:-1]:
            try:
                shape(value, place)
            except InputError:
                continue
            return
        shapes[-1](value, place)

    return look


def optional(shape: Shape) -> Shape:
    """Null, or what a shape allows."""
    return lambda value, place: None if value is None else shape(value, place)


def many(shape: Shape, least: int = 0) -> Shape:
    """A list, or in memory a tuple."""

    def look(value: Any, place: str) -> None:
        if not isinstance(value, list | tuple) or len(value) < least:
            raise wrong(place, "is not a list, or one that is too short")
        for i, item in enumerate(value):
            shape(item, f"{place}[{i}]")

    return look


def row(*shapes: Shape) -> Shape:
    """A list of fixed length."""

    def look(value: Any, place: str) -> None:
        if not isinstance(value, list) or len(value) != len(shapes):
            raise wrong(place, f"is not a list of {len(shapes)}")
        for i, (item, shape) in enumerate(zip(value, shapes, strict=True)):
            shape(item, f"{place}[{i}]")

    return look


def by_name(shape: Shape, names: Shape | None = None) -> Shape:
    """An object whose keys are names."""

    def look(value: Any, place: str) -> None:
        if not isinstance(value, Mapping):
            raise wrong(place, "is not an object")
        for key, item in value.items():
            if names is not None:
                names(key, f"the key {key!r} of {place}")
            shape(item, f"{place}.{key}")

    return look


def record(fields: Mapping[str, Shape], besides: Mapping[str, Shape] | None = None) -> Shape:
    """An object with exactly these keys, and of those besides any."""

    def look(value: Any, place: str) -> None:
        if not isinstance(value, Mapping):
            raise wrong(place, "is not an object")
        for key in value:
            if key not in fields and key not in (besides or {}):
                raise wrong(f"{place}.{key}", "is not known to this checker")
        for key, shape in fields.items():
            if key not in value:
                raise wrong(f"{place}.{key}", "is missing")
            shape(value[key], f"{place}.{key}")
        for key, shape in (besides or {}).items():
            if key in value:
                shape(value[key], f"{place}.{key}")

    return look


def plain(value: Any, place: str) -> None:
    """Any plain data; whoever uses it must look closer."""
    if not isinstance(value, Mapping | list | str | int | float | None):
        raise wrong(place, "is not plain data")
