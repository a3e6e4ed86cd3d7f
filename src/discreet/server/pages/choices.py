"""What can be chosen beside a table: variables, their places, levels and moves, as links that need no scripts."""

from __future__ import annotations

from typing import NamedTuple

from discreet.server.catalogue import EVERYBODY
from discreet.server.dataset import Dataset
from discreet.server.pages.layout import ZONES, TableLayout, level_of, name_of

MOST_LABELS = 40
"""Labels of codes that the page carries of each variable, to be searched while somebody types."""
MOST_LAYERS = 400
"""Codes of a layer that are offered in a list; of more, the code is written."""
WORDS = {"rows": "Rows", "columns": "Columns", "layers": "Layers"}


class VariableChoice(NamedTuple):
    """A variable in the list: where it is now, and links that put it elsewhere."""

    name: str
    label: str
    description: str
    codes: int
    zone: str
    links: tuple[tuple[str, str], ...]
    words: str
    """What a search looks through: with the labels of its first codes."""


class ZoneChip(NamedTuple):
    """A variable in a zone."""

    name: str
    label: str
    level: int
    levels: tuple[int, ...]
    """How many codes each level has."""
    chosen: int
    up: str
    down: str
    out: str


class ZoneChoice(NamedTuple):
    """A zone with its variables."""

    name: str
    words: str
    chips: tuple[ZoneChip, ...]


class LayerChoice(NamedTuple):
    """A layer with the codes that may be shown of it; none where they are too many for a list."""

    name: str
    label: str
    codes: tuple[tuple[str, str], ...]
    at: str


class Choices(NamedTuple):
    """Everything that can be chosen."""

    variables: tuple[VariableChoice, ...]
    zones: tuple[ZoneChoice, ...]
    layers: tuple[LayerChoice, ...]
    universes: tuple[tuple[str, str], ...]
    values: tuple[tuple[str, str], ...]


def choices_of(dataset: Dataset, layout: TableLayout, base: str) -> Choices:
    """What can be chosen from a layout on."""
    variables = tuple(_variable(dataset, layout, base, name) for name in dataset.levels)
    wanted = layout.find.casefold()
    found = tuple(one for one in variables if not wanted or _has(dataset, one, wanted))
    zones = tuple(
        ZoneChoice(
            zone,
            WORDS[zone],
            tuple(
                _chip(dataset, layout, base, item) for item in getattr(layout, zone) if name_of(item) in dataset.levels
            ),
        )
        for zone in ZONES
    )
    known = [(EVERYBODY, "Everybody"), *((part.name, part.label or part.name) for part in dataset.catalogue.universes)]
    values = [
        ("", counted_words(dataset)),
        *((name, part.label or name) for name, part in dataset.catalogue.values.items()),
    ]
    layers = tuple(_layer(dataset, layout, item) for item in layout.layers if name_of(item) in dataset.levels)
    return Choices(found, zones, layers, tuple(known), tuple(values))


def counted_words(dataset: Dataset) -> str:
    """What a table without a value counts."""
    return "Number of records" if dataset.data.weight is None else "Weighted number"


def _has(dataset: Dataset, variable: VariableChoice, wanted: str) -> bool:
    """Whether words stand in what a variable says of itself, or in one of its codes or their labels."""
    if wanted in f"{variable.words} {variable.description}".casefold():
        return True
    hierarchy = dataset.hierarchies[variable.name]
    return any(
        wanted in code.casefold() or wanted in hierarchy.labels.get(code, "").casefold() for code in hierarchy.codes
    )


def _address(base: str, layout: TableLayout) -> str:
    return f"{base}?{layout.query}"


def _variable(dataset: Dataset, layout: TableLayout, base: str, name: str) -> VariableChoice:
    part = dataset.catalogue.variables[name]
    zone = next((z for z in ZONES if any(name_of(item) == name for item in getattr(layout, z))), "")
    item = next((one for one in layout.variables if name_of(one) == name), name)
    links = tuple((z, _address(base, layout.placed(item, z))) for z in ZONES if z != zone)
    hierarchy = dataset.hierarchies[name]
    labels = [hierarchy.labels.get(code, code) for code in hierarchy.codes[:MOST_LABELS]]
    words = " ".join([part.label, name, part.description, *labels])
    label, codes = part.label or name, len(hierarchy)
    return VariableChoice(name, label, part.description, codes, zone, links, words)


def _chip(dataset: Dataset, layout: TableLayout, base: str, item: str) -> ZoneChip:
    name = name_of(item)
    levels = tuple(len(level.hierarchy) for level in dataset.levels[name])
    return ZoneChip(
        name,
        dataset.catalogue.variables[name].label or name,
        level_of(item) or len(levels),
        levels,
        len(layout.select.get(name, ())),
        _address(base, layout.moved(name, -1)),
        _address(base, layout.moved(name, 1)),
        _address(base, layout.without(name)),
    )


def _layer(dataset: Dataset, layout: TableLayout, item: str) -> LayerChoice:
    name = name_of(item)
    levels = dataset.levels[name]
    level = level_of(item) or len(levels)
    hierarchy = levels[min(level, len(levels)) - 1].hierarchy
    chosen = layout.select.get(name)
    total = str(hierarchy.total)
    codes = hierarchy.codes if chosen is None else (total, *(code for code in chosen if code != total))
    words = tuple((code, hierarchy.labels.get(code, code)) for code in codes)
    words = words if len(words) <= MOST_LAYERS else ()
    return LayerChoice(name, dataset.catalogue.variables[name].label or name, words, layout.at.get(name, total))
