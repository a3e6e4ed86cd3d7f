"""Mistakes in a recipe, or a file written like one, in words: what stands there, what may, and how to write it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from discreet.errors import ParameterError, listed, unknown_name

PLACE = re.compile(r" - at `(?:key in )?\$(.*?)`$")
STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`")
MISSING = re.compile(r"Object missing required field `([^`]*)`")
ENUM = re.compile(r"Invalid enum value (.*)")
EXPECTED = re.compile(r"Expected `([^`]*)`(?:, got `([^`]*)`| of length .*| [<>=].*)?")
WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text in quotes",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}
"""What the kinds of values are called in a recipe."""


def explained(
    message: str, raw: Mapping[str, Any], recipe: type[msgspec.Struct], document: str = "recipe"
) -> ParameterError:
    """The error for what a recipe holds and may not.

    Parameters
    ----------
    message
        What the parser says.
    raw
        The recipe as it was read.
    recipe
        What it may hold.
    document
        What it is called: a recipe, or another file that is written like one.
    """
    found = PLACE.search(message)
    path = [name or int(number) for name, number in STEP.findall(found[1] if found else "") if number != "..."]
    plain = PLACE.sub("", message)
    kind, value = _kind(recipe, path), _value(raw, path)
    if match := UNKNOWN.match(plain):
        part = _struct(kind) or recipe
        where = f"{_place(raw, path)} of the {document}" if path else f"the {document}"
        return ParameterError(unknown_name("key", match[1], part.__struct_fields__, where))
    if match := MISSING.match(plain):
        return _missing(match[1], _place(raw, path), document)
    if ENUM.match(plain):
        return _not_allowed(raw, path, value, kind, document)
    if match := EXPECTED.match(plain):
        return _other_kind(raw, path, value, match[1], document)
    hint = "Compare with: discreet schema" if document == "recipe" else "Correct it there."
    return ParameterError(f"The {document} cannot be used: {message}.", hint=hint)


def _missing(name: str, place: str, document: str) -> ParameterError:
    if name == "version":
        return ParameterError(f"The {document} does not say its version.", hint="Write version = 1 in its first line.")
    if place:
        return ParameterError(f"{place} of the {document} has no {name}.", hint=f"Add {name} = ... below {place}.")
    brackets = f"[[{name}]]" if name == "protect" else f"[{name}]"
    return ParameterError(f"The {document} has no {brackets}.", hint=f"Add {brackets} with its keys below it.")


def _said(raw: Mapping[str, Any], path: Sequence[str | int], value: Any, document: str) -> str:
    """What stands at a place, in words that a verb follows: a key with its value, or an item of a list."""
    names = [step for step in path if isinstance(step, str)] or [f"the {document}"]
    place = _place(raw, names[:-1])
    where = f" in {place}" if place else ""
    if path and isinstance(path[-1], int):
        return f"{names[-1]}{where} holds {_toml(value)}, which"
    return f"{names[-1]} = {_toml(value)}{where}"


def _not_allowed(
    raw: Mapping[str, Any], path: Sequence[str | int], value: Any, kind: Any, document: str
) -> ParameterError:
    if list(path) == ["version"]:
        return ParameterError(
            f"The {document} has version = {_toml(value)}, and this version of discreet reads version = 1.",
            hint=f"Write version = 1, or install the version of discreet that the {document} was written for.",
        )
    allowed = [_toml(choice) for choice in _choices(kind)]
    return ParameterError(f"{_said(raw, path, value, document)} is not allowed.", hint=f"Use {' or '.join(allowed)}.")


def _other_kind(
    raw: Mapping[str, Any], path: Sequence[str | int], value: Any, wanted: str, document: str
) -> ParameterError:
    name = str(path[-1]) if path else f"the {document}"
    kinds = [part.strip() for part in wanted.split("|")]
    if len(path) == 1 and "array" in kinds and isinstance(value, Mapping):
        return ParameterError(
            f"[{name}] stands in single brackets, and there may be several.",
            hint=f"Write [[{name}]] in double brackets, once for each.",
        )
    if len(path) == 1 and "object" in kinds and isinstance(value, list):
        return ParameterError(f"[[{name}]] stands in double brackets.", hint=f"Write [{name}]: there is only one.")
    words = " or ".join(WORDS.get(kind, kind) for kind in kinds)
    if "array" in kinds and isinstance(value, str | int | float):
        hint = f"Write {name} = [{_toml(value)}]."
    else:
        hint = f"Write {words}."
    return ParameterError(f"{_said(raw, path, value, document)} is not {words}.", hint=hint)


def _kind(kind: Any, path: Sequence[str | int]) -> Any:
    """The type of what stands at a place."""
    for step in path:
        struct = _struct(kind)
        if isinstance(step, str) and struct is not None:
            kind = get_type_hints(struct).get(step, Any)
        else:
            inside = [part for part in _parts(kind) if get_origin(part) in (list, tuple, dict)]
            arguments = [a for part in inside for a in get_args(part) if a is not Ellipsis]
            kind = arguments[-1] if arguments else Any
    return kind


def _parts(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _struct(kind: Any) -> type[msgspec.Struct] | None:
    found = [p for part in _parts(kind) for p in (part, *get_args(part))]
    return next((p for p in found if isinstance(p, type) and issubclass(p, msgspec.Struct)), None)


def _choices(kind: Any) -> list[Any]:
    """Values that a type allows."""
    found: list[Any] = []
    for part in _parts(kind):
        if get_origin(part) is Literal:
            found += get_args(part)
        elif part is bool:
            found += [True, False]
        elif part is not NoneType and get_origin(part) in (list, tuple):
            found += _choices(get_args(part)[0])
    return found


def _value(raw: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        try:
            raw = raw[step]
        except (KeyError, IndexError, TypeError):
            return None
    return raw


def _place(raw: Any, path: Sequence[str | int]) -> str:
    """A part of the recipe by its brackets: ``[data]``, ``[[tables]]``, ``[hierarchies.nace]``."""
    names = [step for step in path if isinstance(step, str)]
    if not names:
        return ""
    inside = ".".join(names)
    return f"[[{inside}]]" if isinstance(_value(raw, names[:1]), list) else f"[{inside}]"


def _toml(value: Any) -> str:
    """A value as TOML writes it, cut short."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value[:40]}"'
    if isinstance(value, list):
        return f"[{', '.join(_toml(item) for item in value[:4])}{', ...' if len(value) > 4 else ''}]"
    return "{ ... }" if isinstance(value, Mapping) else str(value)


def without_kind(record: Mapping[str, Any], tag: str, part: str, known: Sequence[str]) -> ParameterError:
    """The error for a rule or method that does not say which one it is."""
    near = next((name for name in record if name not in ("p", "n", "k") and name.lower()[:3] == tag[:3]), None)
    instead = f" It has {near!r}: did you mean {tag!r}?" if near else ""
    return ParameterError(
        f"An entry of [[{part}]] has no {tag}.{instead}",
        hint=f'Write {tag} = "{known[0]}", or another of {listed(known[1:])}.',
    )
