"""What methods need of tables besides their cells, and how to supply what is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from discreet.errors import NeedsError
from discreet.methods.base import TablePublisher
from discreet.model.microdata import Microdata
from discreet.model.table import Table
from discreet.model.tableset import TableSet


class Need(NamedTuple):
    """Whether a table has something, what it is called, and how to supply it."""

    met: Callable[[Table], bool]
    words: str
    hint: str


NEEDS: dict[str, Need] = {
    "record_keys": Need(
        lambda table: table.key_sum is not None,
        "record keys",
        "Name their column (Microdata(record_key=)), give cells with a column record_key, or let them be made from a "
        "stable identifier: identifier='person_id'.",
    ),
    "records": Need(
        lambda table: isinstance(table.source, Microdata),
        "the records it was made from",
        "Tabulate it from records in the same session; a ready-made or loaded table does not have them.",
    ),
    "places": Need(
        lambda table: len(table.variables) == 1 and set(table.spec.places) == set(table.variables),
        "places",
        "Tabulate it by={'place': ds.HexGrid('x', 'y', size=...)} or by={'place': ds.Adjacency(codes, pairs)}, and by "
        "nothing else.",
    ),
    "counts": Need(
        lambda table: table.spec.value is None and table.weighted is None,
        "counts of records",
        "Leave value= and weight= out, or use a method for magnitudes.",
    ),
}
"""By the names that methods give in ``Method.needs``."""


def check_needs(tables: TableSet, method: TablePublisher) -> None:
    """Refuse tables that lack what a method needs, and say how to supply it."""
    for name in method.needs:
        need = NEEDS[name]
        for table in tables:
            if not need.met(table):
                raise NeedsError(
                    f"{type(method).__name__} needs {need.words}, and table {table.name!r} does not have them.",
                    hint=need.hint,
                )
