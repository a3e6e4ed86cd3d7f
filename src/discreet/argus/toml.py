"""Plain data as TOML, for recipes that are made from batch files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(data: Mapping[str, Any], comments: Sequence[str] = ()) -> str:
    """A recipe as text: plain keys first, then its parts.

    Examples
    --------
    >>> print(toml_text({"version": 1, "data": {"file": "a.csv"}, "rules": [{"kind": "p_percent", "p": 10}]}))
    version = 1
    <BLANKLINE>
    [data]
    file = "a.csv"
    <BLANKLINE>
    [[rules]]
    kind = "p_percent"
    p = 10
    <BLANKLINE>
    """
    lines = [f"# {_one_line(comment)}" for comment in comments]
    _table(data, "", lines)
    return "\n".join(lines).lstrip("\n") + "\n"


def _table(data: Mapping[str, Any], path: str, lines: list[str]) -> None:
    parts = {key: value for key, value in data.items() if _is_part(value)}
    lines += [f"{_key(key)} = {_value(value)}" for key, value in data.items() if key not in parts]
    for key, value in parts.items():
        name = f"{path}{_key(key)}"
        for entry in [value] if isinstance(value, Mapping) else value:
            lines += ["", f"[{name}]" if isinstance(value, Mapping) else f"[[{name}]]"]
            _table(entry, f"{name}.", lines)


def _is_part(value: Any) -> bool:
    several = isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0
    return (several and all(isinstance(entry, Mapping) for entry in value)) or isinstance(value, Mapping)


def _key(key: str) -> str:
    return key if BARE.fullmatch(key) else _string(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, int | float):
        return repr(value)
    return f"[{', '.join(_value(entry) for entry in value)}]"


def _string(text: str) -> str:
    """A basic string; JSON escapes are TOML escapes, but for the sign of deletion."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _one_line(text: str) -> str:
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
