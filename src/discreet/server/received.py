"""Tables as a server sends them, read back: JSON-stat to a public table. Nothing of it is believed unchecked."""

from __future__ import annotations

import json
from decimal import Decimal
from math import prod
from typing import Any

import msgspec
import numpy as np

from discreet.errors import InputError
from discreet.model.arrays import LARGEST, Ints
from discreet.model.public import PublicTable

MOST_DECIMALS = 15


class _Category(msgspec.Struct):
    index: list[str]
    label: dict[str, str] = {}
    child: dict[str, list[str]] = {}


class _Dimension(msgspec.Struct):
    category: _Category


class _Extension(msgspec.Struct):
    decimals: int
    measure: str = ""
    period: str = ""


class _Cube(msgspec.Struct):
    label: str
    id: list[str]
    size: list[int]
    dimension: dict[str, _Dimension]
    value: list[Decimal | None] | dict[str, Decimal]
    status: str | dict[str, str]
    extension: _Extension


def table_of_jsonstat(content: bytes) -> PublicTable:
    """The public table of a JSON-stat dataset that a server of ours wrote.

    Raises
    ------
    InputError
        When it is none.
    """
    try:
        cube = msgspec.convert(json.loads(content, parse_float=Decimal), _Cube)
        return _table(cube)
    except (ValueError, KeyError, ArithmeticError, RecursionError, msgspec.ValidationError):
        raise InputError(
            "What the server sent is not a table as discreet sends it.", hint="Check the address, and its version."
        ) from None


def _table(cube: _Cube) -> PublicTable:
    categories = [cube.dimension[name].category for name in cube.id]
    if [len(category.index) for category in categories] != cube.size or len(set(cube.id)) != len(cube.id):
        raise ValueError("sizes")
    if not 0 <= cube.extension.decimals <= MOST_DECIMALS:
        raise ValueError("decimals")
    values = _values(cube)
    letters = {} if isinstance(cube.status, str) else {int(place): letter for place, letter in cube.status.items()}
    places: Ints = np.array(sorted({*values, *letters}), np.int64)
    if len(places) and not 0 <= int(places[0]) <= int(places[-1]) < prod(cube.size):
        raise ValueError("places")
    shown = np.array([place in values for place in places.tolist()], np.bool_)
    value = [_units(values.get(place, Decimal(0)), cube.extension.decimals) for place in places.tolist()]
    codes = np.stack(np.unravel_index(places, cube.size), axis=1).astype(np.int32)
    measure = cube.extension.measure
    return PublicTable(
        name=cube.label,
        variables=tuple(cube.id),
        code_lists=tuple(tuple(category.index) for category in categories),
        labels=tuple(category.label for category in categories),
        codes=codes,
        value=np.array(value, np.int64),
        decimals=cube.extension.decimals,
        shown=shown,
        empty=np.array([letters.get(place) == "E" for place in places.tolist()], np.bool_),
        altered=cube.status == "A",
        parents=tuple(_parents(category) for category in categories),
        measure="" if measure == "count" else measure,
        period=cube.extension.period,
    )


def _values(cube: _Cube) -> dict[int, Decimal]:
    if isinstance(cube.value, dict):
        return {int(place): value for place, value in cube.value.items()}
    if len(cube.value) != prod(cube.size):
        raise ValueError("values")
    return {place: value for place, value in enumerate(cube.value) if value is not None}


def _units(value: Decimal, decimals: int) -> int:
    """A value in units of its last decimal; one that has more is not ours."""
    found: Any = value.scaleb(decimals)
    if found != int(found) or abs(found) > LARGEST:
        raise ValueError("units")
    return int(found)


def _parents(category: _Category) -> tuple[int, ...]:
    place = {code: i for i, code in enumerate(category.index)}
    parents = [-1] * len(place)
    for parent, children in category.child.items():
        for child in children:
            parents[place[child]] = place[parent]
    return tuple(parents)
