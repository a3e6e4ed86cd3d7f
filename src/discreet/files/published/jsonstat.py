"""Public tables as JSON-stat 2.0."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from discreet.files.published.cube import label_of, parents_of, place_numbers, places, sizes, stacked, value_texts
from discreet.files.published.heading import EMPTY, WITHHELD, Heading, notes
from discreet.files.published.json_kernels import json_by_place, json_list
from discreet.model.arrays import LARGEST
from discreet.model.public import PublicTable


def write_jsonstat(path: Path, table: PublicTable, heading: Heading) -> None:
    """Write a table as a JSON-stat dataset."""
    path.write_bytes(jsonstat_text(table, heading))


def jsonstat_text(table: PublicTable, heading: Heading) -> bytes:
    """A table as a JSON-stat dataset; numbers keep all their digits, and withheld cells have none.

    The status of every cell that is not a plain value stands beside it: ``X`` withheld, ``E`` empty, ``A`` altered
    (then of all).
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
        "dimension": {variable: _dimension(cube, k) for k, variable in enumerate(cube.variables)},
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
    if notes(table):
        dataset["note"] = notes(table)
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


def _dimension(table: PublicTable, k: int) -> dict[str, Any]:
    codes, parents = table.code_lists[k], parents_of(table, k)
    category: dict[str, Any] = {"index": list(codes), "label": {code: label_of(table, k, code) for code in codes}}
    child: dict[str, list[str]] = {}
    for code, parent in zip(codes, parents, strict=True):
        if parent >= 0:
            child.setdefault(codes[parent], []).append(code)
    if child:
        category["child"] = child
    return {"label": table.variables[k], "category": category}
