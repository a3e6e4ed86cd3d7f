"""JSON from others: read once, strictly, with no way to say two things or to break the reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from discreet.errors import InputError

DEEPEST = 40
"""Files of a release are nested far less than this."""


def parse_json(data: bytes, name: str = "", numbers: Callable[[str], Any] | None = None) -> Any:
    """What a JSON file says.

    Keys that occur twice, numbers that are none, deep nesting and text that is not UTF-8 are errors.

    Parameters
    ----------
    data
        The bytes of the file.
    name
        How an error names it.
    numbers
        What to make of numbers, from their digits; by default integers and floating-point numbers.
    """
    about = f"The file {name!r}" if name else "the file"
    try:
        found = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_once,
            parse_constant=_not_a_number,
            parse_int=numbers or int,
            parse_float=numbers or float,
        )
        _shallow(found)
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()  # no halves of signs, no infinite numbers
    except _Twice as error:
        raise InputError(f"{about} has the key {error.args[0][:60]!r} twice.") from None
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else type(error).__name__
        raise InputError(f"{about} is not well formed ({reason}).") from None
    return found


class _Twice(Exception):
    """A key that occurs twice in one object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Twice(next(key for i, key in enumerate(keys) if key in keys[:i]))
    return found


def _not_a_number(word: str) -> Any:
    raise ValueError(word)


def _shallow(data: Any) -> None:
    """Refuse what is nested deeply, without going deep."""
    level = [data]
    for _ in range(DEEPEST):
        level = [
            part
            for item in level
            if isinstance(item, dict | list)
            for part in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise RecursionError
