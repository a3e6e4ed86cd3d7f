"""Parameters that say themselves what they may be: annotated fields of dataclasses, read by one validator.

A field's type is its declaration: ``bool``, ``int``, ``float``, ``str``, ``Literal["a", "b"]``, ``tuple[str, ...]``,
``Mapping[...]``, each with ``| None`` where it may be left out; or ``int | Literal["a", "b"]``.
``Annotated[float, Number(above=0)]`` adds limits. What a type cannot say (``Any``) is not looked at here; rules between
fields stand in ``__post_init__`` after ``super()``.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from discreet.errors import ParameterError, unknown_name


@dataclass(frozen=True)
class Number:
    """Limits of a number: above or at least one number, below or at most another."""

    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = None

    def allows(self, number: float) -> bool:
        """Whether a number lies within."""
        return (
            (self.above is None or number > self.above)
            and (self.least is None or number >= self.least)
            and (self.below is None or number < self.below)
            and (self.most is None or number <= self.most)
        )

    def words(self) -> str:
        """The limits, to go on "a number"."""
        low = f"above {self.above:g}" if self.above is not None else ""
        low = f"of at least {self.least:,g}" if self.least is not None else low
        high = f"below {self.below:g}" if self.below is not None else ""
        high = f"at most {self.most:,.15g}" if self.most is not None else high
        if self.least is not None and self.most is not None:
            return f"from {self.least:,g} to {self.most:,.15g}"
        return " and ".join(text for text in (low, high) if text)


Positive = Annotated[float, Number(above=0)]
"""A number above zero."""
Share = Annotated[float, Number(least=0, most=1)]
"""A number from 0 to 1."""
Natural = Annotated[int, Number(least=0)]
"""A whole number that is not negative."""
AtLeastOne = Annotated[int, Number(least=1)]
"""A whole number of at least one."""

Check = Callable[[str, Any], Any]
"""From the name of a parameter and what was given to what is kept; refuses what is not allowed."""


class Declared:
    """Base of dataclasses whose fields are checked as they are declared, as soon as one is made."""

    def __post_init__(self) -> None:
        for name, check in _checks(type(self)):  # type: ignore[arg-type]
            given = getattr(self, name)
            kept = check(name, given)
            if kept is not given:
                object.__setattr__(self, name, kept)


@cache
def _checks(cls: type) -> tuple[tuple[str, Check], ...]:
    """What is checked of each field of a class."""
    hints = get_type_hints(cls, include_extras=True)
    made = ((f.name, _check(hints[f.name])) for f in fields(cls))
    return tuple((name, check) for name, check in made if check is not None)


def _check(hint: Any) -> Check | None:
    """How a declared type is checked; ``None`` where it says nothing."""
    limits = None
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        limits = next((note for note in notes if isinstance(note, Number)), None)
    if get_origin(hint) in (Union, types.UnionType):
        return _optional(hint)
    if get_origin(hint) is Literal:
        return _one_of(get_args(hint))
    if hint is bool:
        return _plain(lambda given: isinstance(given, bool), "Use True or False.")
    if hint in (int, float):
        return _number(hint, limits or Number(), "")
    if hint is str:
        return _plain(lambda given: isinstance(given, str) and given != "", "Give a name.")
    if get_origin(hint) is tuple and get_args(hint) == (str, ...):
        return _names()
    if get_origin(hint) is Mapping or hint is Mapping:
        return _mapping()
    return None


def _optional(hint: Any) -> Check | None:
    """A type that may be left out, or one of several: only what is declared with ``None`` is checked further."""
    members = [member for member in get_args(hint) if member is not types.NoneType]
    words = [get_args(member) for member in members if get_origin(member) is Literal]
    numbers = [member for member in members if _is_number(member)]
    if len(members) == len(get_args(hint)) == 2 and words and numbers:
        return _number_or_word(numbers[0], words[0])
    if len(members) != 1 or len(members) == len(get_args(hint)):
        return None
    member = members[0]
    if get_origin(member) is Literal:
        return _one_of((*get_args(member), None))
    inner = _check(member)
    if inner is None:
        return None
    if _is_number(member):
        inner = _number(*_number_of(member), ", or leave it out")
    return lambda name, given: None if given is None else inner(name, given)


def _number_or_word(number: Any, words: tuple[str, ...]) -> Check:
    """A number, or one of some words."""
    as_word, as_number = _one_of(words), _number(*_number_of(number), f", or one of {', '.join(map(repr, words))}")
    return lambda name, given: (as_word if isinstance(given, str) else as_number)(name, given)


def _is_number(hint: Any) -> bool:
    return (get_args(hint)[0] if get_origin(hint) is Annotated else hint) in (int, float)


def _number_of(hint: Any) -> tuple[Any, Number]:
    if get_origin(hint) is not Annotated:
        return hint, Number()
    kind, *notes = get_args(hint)
    return kind, next((note for note in notes if isinstance(note, Number)), Number())


def _one_of(allowed: tuple[Any, ...]) -> Check:
    def check(name: str, given: Any) -> Any:
        if not any(given is choice or (type(given) is type(choice) and given == choice) for choice in allowed):
            raise ParameterError(unknown_name(name, str(given), [str(choice) for choice in allowed]))
        return given

    return check


def _plain(good: Callable[[Any], bool], hint: str) -> Check:
    def check(name: str, given: Any) -> Any:
        if not good(given):
            raise ParameterError(f"{name}={given!r} is not allowed.", hint=hint)
        return given

    return check


def _number(kind: Any, limits: Number, ending: str) -> Check:
    whole = kind is int
    words = " ".join(text for text in ("Give a whole number" if whole else "Give a number", limits.words()) if text)

    def check(name: str, given: Any) -> Any:
        number = given.item() if hasattr(given, "dtype") and getattr(given, "ndim", 1) == 0 else given
        good = isinstance(number, int if whole else int | float) and not isinstance(number, bool)
        if not good or not isfinite(number) or not limits.allows(number):
            raise ParameterError(f"{name}={given!r} is not allowed.", hint=f"{words}{ending}.")
        return number

    return check


def _names() -> Check:
    def check(name: str, given: Any) -> tuple[str, ...]:
        made = (given,) if isinstance(given, str) else given
        if not isinstance(made, tuple | list) or not all(isinstance(word, str) and word for word in made):
            raise ParameterError(f"{name}={given!r} is not allowed.", hint="Give names in a list.")
        return tuple(made)

    return check


def _mapping() -> Check:
    def check(name: str, given: Any) -> dict[Any, Any]:
        if not isinstance(given, Mapping):
            raise ParameterError(
                f"{name}= takes a mapping, not a {type(given).__name__}.", hint=f"For example {name}={{...}}."
            )
        return dict(given)

    return check


def checked_numbers(name: str, given: Mapping[Any, Any], limits: Number) -> dict[str, Any]:
    """A mapping from names to numbers within limits; whatever else it holds is refused."""
    check = _number(float, limits, "")
    for key in given:
        if not isinstance(key, str) or not key:
            raise ParameterError(
                f"{name}= has {key!r} in place of a name.", hint=f"For example {name}={{'income': 1}}."
            )
    return {key: check(f"{name}[{key!r}]", number) for key, number in sorted(given.items())}


def as_path_text(given: Any) -> str | None:
    """The text of a path, where a path or text was given."""
    return str(given) if isinstance(given, str | Path) else None
