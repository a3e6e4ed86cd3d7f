"""Names of what is compared: methods with the parameters that were given, releases by their folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from discreet.errors import DiscreetError, ParameterError, listed
from discreet.methods.base import Method

Named = TypeVar("Named")
NOT_SHOWN = ("key_file", "insecure_seed")
"""Parameters that do not belong to the name of a method: a comparison draws with keys of its own."""
LONGEST = 40
"""Parameters with longer text are not written into names."""


def unlike(pairs: Sequence[tuple[str, Named]]) -> dict[str, Named]:
    """What is compared by name; names must differ."""
    names = [str(name) for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(
            f"Several methods are called {listed(twice)}.", hint="Give a mapping: {'a name': ds.Suppress(), ...}."
        )
    return dict(zip(names, (tried for _, tried in pairs), strict=True))


def method_name(tried: Any) -> str:
    """A method with the parameters that were given; a release by the name of its folder.

    Examples
    --------
    >>> import discreet as ds
    >>> method_name(ds.Round(base=5, insecure_seed=1))
    'Round(base=5)'
    """
    if isinstance(tried, str | Path):
        return Path(tried).name
    if not isinstance(tried, Method):
        return type(tried).__name__.lower()
    said = {
        field.name: getattr(tried, field.name)
        for field in fields(tried)
        if field.name not in NOT_SHOWN and getattr(tried, field.name) not in (field.default, (), {}, None)
    }
    for name in list(said):
        # What the method sets itself when it is left out does not belong to the name.
        rest = {other: value for other, value in said.items() if other != name}
        if _same(tried, rest):
            said = rest
    text = {name: repr(value) for name, value in said.items()}
    shown = ", ".join(f"{name}={value if len(value) <= LONGEST else '…'}" for name, value in text.items())
    return f"{type(tried).__name__}({shown})"


def _same(method: Method, parameters: Mapping[str, Any]) -> bool:
    keys = {name: getattr(method, name) for name in NOT_SHOWN if hasattr(method, name)}
    try:
        return bool(type(method)(**parameters, **keys) == method)
    except (DiscreetError, TypeError):  # a parameter that must be given, or does not go with the others
        return False
