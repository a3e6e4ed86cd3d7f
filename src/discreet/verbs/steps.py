"""What all releases begin with: methods in order, and what the log says of keys and versions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from itertools import pairwise
from typing import Any

from discreet.errors import ParameterError
from discreet.keys import Key
from discreet.methods.base import Method, RecordMethod

Steps = Method | Sequence[Method]
MADE_KEY = (
    "A new secret key was made, and is saved with the release (custodian/key.txt). Give it as key_file= to later "
    "releases: with another key the same units are altered in another way, and both together tell more."
)


def as_steps(methods: Sequence[Any]) -> list[Method]:
    """Methods alone or in lists, in their order: those for records first, then at most one for tables."""
    steps = [m for item in methods for m in (item if isinstance(item, list | tuple) else [item])]
    for step in steps:
        if isinstance(step, type) and issubclass(step, Method):
            raise ParameterError(f"{step.__name__} was not called.", hint=f"Write ds.{step.__name__}(...).")
        if not isinstance(step, Method):
            raise ParameterError(
                f"protect takes methods, not a {type(step).__name__}.",
                hint="For example ds.protect(table, ds.Suppress()).",
            )
    if not steps:
        raise ParameterError("protect needs a method.", hint="For example ds.protect(table, ds.Suppress()).")
    for first, second in pairwise(steps):
        if not isinstance(first, RecordMethod):
            raise ParameterError(
                f"{type(second).__name__} cannot follow {type(first).__name__}, which acts on tables.",
                hint="Give methods for records first, then one method for tables.",
            )
    return steps


def refuse_for_records(steps: Sequence[Method]) -> list[RecordMethod]:
    """The same steps, where all of them act on records."""
    for step in steps:
        if not isinstance(step, RecordMethod):
            raise ParameterError(
                f"{type(step).__name__} acts on tables, and records were given without a table to make of them.",
                hint="Give tables=[ds.TableSpec(by=..., value=...)], or a method for records, such as ds.Recode(...).",
            )
    return [step for step in steps if isinstance(step, RecordMethod)]


def key_entry(key: Key) -> dict[str, Any]:
    """What the log says of a key."""
    return {"fingerprint": key.fingerprint, "made": key.made, "insecure": key.insecure}


@cache
def installed_version() -> str:
    """The version of the package, which takes long to look up beside small tables."""
    return version("discreet")
