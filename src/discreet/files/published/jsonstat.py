"""Public tables as JSON-stat 2.0."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from discreet.files.published.cube import parents_of, place_numbers, places, sizes, stacked, value_texts
from discreet.files.published.heading import EMPTY, WITHHELD, Heading, notes
from discreet.files.published.json_kernels import json_by_place, json_list
from discreet.model.arrays import LARGEST
from discreet.model.public import PublicTable


def write_jsonstat(path: Path, table: PublicTable, heading: Heading) -> None:
    """Write a table as a JSON-stat dataset."""
    path.write_bytes(jsonstat_text(table, heading))


class ReadyDimensions:
    """Dimensions that are written already: of lists of codes that live as long as this, and are asked for often."""

    def __init__(self) -> None:
        self._written: dict[tuple[str, int, int, int], tuple[msgspec.Raw, object]] = {}

    def add(self, variable: str, codes: tuple[str, ...], labels: Mapping[str, str], parents: tuple[int, ...]) -> None:
        """Write a dimension; tables that have these very lists find it."""
        text = msgspec.Raw(msgspec.json.encode(_dimension(variable, codes, labels, parents)))
        self._written[variable, id(codes), id(labels), id(parents)] = text, (codes, labels, parents)

    def find(self, table: PublicTable, k: int) -> msgspec.Raw | None:
        """The k-th dimension of a table, where it was written."""
        if not table.parents:
            return None
        place = (table.variables[k], id(table.code_lists[k]), id(table.labels[k]), id(table.parents[k]))
        found = self._written.get(place)
        return None if found is None else found[0]


def jsonstat_text(table: PublicTable, heading: Heading, ready: ReadyDimensions | None = None) -> bytes:
    """A table as a JSON-stat dataset; numbers keep all their digits, and withheld cells have none.

    The status of every cell that is not a plain value stands beside it: ``X`` withheld, ``E`` empty, ``A`` altered
    (then of all). Dimensions that are ``ready`` are not written again.
    """
    cube = stacked(table)
    size = sizes(cube)
    if table.altered:
        status, used = {}, ["A"]
    else:
        letters_of = zip(places(cube), cube.status, strict=True)
        status = {str(place): letter for place, letter in letters_of if letter != "V"}
        used = sorted(set(status.values()))
    letters = {"X": WITHHELD, "E": EMPTY, "A": "altered to protect confidentiality"}
    dataset: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "label": table.name,
        "id": list(cube.variables),
        "size": size,
        "dimension": {
            variable: (ready and ready.find(cube, k))
            or _dimension(variable, cube.code_lists[k], cube.labels[k], parents_of(cube, k))
            for k, variable in enumerate(cube.variables)
        },
        "value": _values(cube, prod(size)),
        "status": "A" if table.altered else status,
        "extension": {
            "decimals": table.decimals,
            "measure": table.measure or "count",
            "period": table.period,
            "units": heading.units,
            "status": {"label": {key: letters[key] for key in used}},
        },
    }
    if heading.source:
        dataset["source"] = heading.source
    if said := notes(table):
        dataset["note"] = said
    return msgspec.json.encode(dataset) + b"\n"


def _values(cube: PublicTable, space: int) -> Any:
    """Values by their places: a list where every place has a cell, and an object in their order otherwise."""
    if space <= LARGEST and cube.decimals == 0 and cube.shown.all():
        where = place_numbers(cube)
        values = cube.value
        if len(where) > 1 and not (where[1:] > where[:-1]).all():
            order = np.argsort(where)
            where, values = where[order], values[order]
        values = np.ascontiguousarray(values)
        return msgspec.Raw(json_list(values) if space == len(cube) else json_by_place(where, values))
    pairs = zip(places(cube), value_texts(cube), strict=True)
    numbers = {place: msgspec.Raw(text.encode()) for place, text in pairs if text is not None}
    if space == len(cube):
        return [numbers.get(place) for place in range(space)]
    return {str(place): numbers[place] for place in sorted(numbers)}


def _dimension(
    variable: str, codes: tuple[str, ...], labels: Mapping[str, str], parents: tuple[int, ...]
) -> dict[str, Any]:
    category: dict[str, Any] = {"index": list(codes), "label": {code: str(labels.get(code, code)) for code in codes}}
    child: dict[str, list[str]] = {}
    for code, parent in zip(codes, parents, strict=True):
        if parent >= 0:
            child.setdefault(codes[parent], []).append(code)
    if child:
        category["child"] = child
    return {"label": variable, "category": category}
