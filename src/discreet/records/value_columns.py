"""Columns of values that a method is about: those that it names, or those that the records call numeric."""

from __future__ import annotations

from discreet.errors import NeedsError, ParameterError
from discreet.model.records import HOUSEHOLD, NEVER_PUBLIC, NUMERIC, WEIGHT, RecordSet

NO_VALUES = (*NEVER_PUBLIC, HOUSEHOLD, WEIGHT)
"""Roles of columns that hold no values of anybody."""


def value_columns(records: RecordSet, named: tuple[str, ...], method: str) -> tuple[str, ...]:
    """The columns; ``method`` is the name of the one that asks."""
    names = named or records.with_role(NUMERIC)
    if not names:
        raise NeedsError(
            f"{method} needs to know which columns it is about.",
            hint=f"Give {method}([...]), or Microdata(numeric=[...]).",
        )
    for name in names:
        records[name]  # refuses what is not there
        if records.about(name).role in NO_VALUES:
            raise ParameterError(
                f"Column {name!r} is a {records.about(name).role}, and holds no values that may change.",
                hint="Leave it out.",
            )
    return names
