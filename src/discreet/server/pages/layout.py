"""What the page of a table shows, as its address says it: the whole question, and how it is laid out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from discreet.server.catalogue import EVERYBODY
from discreet.server.question import QuestionBody, QuestionRefusal, VariableAsked, asked

ZONES = ("rows", "columns", "layers")
PERCENTS = ("none", "row", "column", "all")
VIEWS = ("table", "chart", "map")
PLAIN = ("universe", "area", "value", "measure", "totals", "empty", "percent", "view", "ask", "find", "page")
DEFINITION = "discreet table definition 1"
LARGEST_DEFINITION = 256 * 1024


@dataclass(frozen=True)
class TableLayout:
    """Variables in rows, columns and layers, and everything else that an address of the page may say."""

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    universe: str = EVERYBODY
    area: str = ""
    value: str = ""
    measure: str = "sum"
    totals: str = "yes"
    empty: str = "show"
    percent: str = "none"
    view: str = "table"
    ask: str = "no"
    """Whether the table is wanted now, and after every further change."""
    find: str = ""
    page: int = 1
    select: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    at: Mapping[str, str] = field(default_factory=dict)
    """The code of each layer that is shown."""

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables, as a question names them: ``age:2``."""
        return (*self.rows, *self.columns, *self.layers)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all variables."""
        return tuple(name_of(item) for item in self.variables)

    def body(self) -> QuestionBody:
        """The question; totals are always asked for, because percentages are shares of them."""
        kept: list[str | VariableAsked] = list(self.variables)
        return QuestionBody(
            variables=kept,
            universe=self.universe,
            area=self.area or None,
            value=self.value or None,
            measure=self.measure,
            select={name: list(codes) for name, codes in self.select.items() if name in self.names},
        )

    def pairs(self) -> list[tuple[str, str]]:
        """The query of the address; what is as usual is left out."""
        usual = TableLayout()
        found = [(zone, ",".join(getattr(self, zone))) for zone in ZONES if getattr(self, zone)]
        found += [(name, str(getattr(self, name))) for name in PLAIN if getattr(self, name) != getattr(usual, name)]
        found += [(f"select.{name}", code) for name, codes in self.select.items() for code in codes]
        return found + [(f"layer.{name}", code) for name, code in self.at.items()]

    @property
    def query(self) -> str:
        """The query as text."""
        return urlencode(self.pairs(), safe=",:")

    def with_(self, **changes: Any) -> TableLayout:
        """Another layout; its first page is shown."""
        return replace(self, **{"page": 1, **changes})

    def placed(self, item: str, zone: str, place: int | None = None) -> TableLayout:
        """A variable put into a zone, at its end or at a place; it leaves where it was."""
        kept = {other: [one for one in getattr(self, other) if name_of(one) != name_of(item)] for other in ZONES}
        into = kept[zone]
        into.insert(len(into) if place is None else place, item)
        return self.with_(**{other: tuple(items) for other, items in kept.items()})

    def without(self, name: str) -> TableLayout:
        """The layout without a variable."""
        kept = {zone: tuple(one for one in getattr(self, zone) if name_of(one) != name) for zone in ZONES}
        return self.with_(
            **kept,
            select={other: codes for other, codes in self.select.items() if other != name},
            at={other: code for other, code in self.at.items() if other != name},
        )

    def moved(self, name: str, by: int) -> TableLayout:
        """A variable moved within its zone."""
        zone = next(zone for zone in ZONES if any(name_of(one) == name for one in getattr(self, zone)))
        items = list(getattr(self, zone))
        place = [name_of(one) for one in items].index(name)
        item = items.pop(place)
        items.insert(max(0, min(len(items), place + by)), item)
        return self.with_(**{zone: tuple(items)})

    def levelled(self, name: str, level: int) -> TableLayout:
        """A variable down to another level."""
        kept = {
            zone: tuple(f"{name}:{level}" if name_of(one) == name else one for one in getattr(self, zone))
            for zone in ZONES
        }
        return self.with_(**kept, select={other: codes for other, codes in self.select.items() if other != name})

    def turned(self) -> TableLayout:
        """Rows and columns exchanged."""
        return self.with_(rows=self.columns, columns=self.rows)

    def question_query(self) -> str:
        """The query of the same question to the program interface."""
        found = [("variables", ",".join(self.variables))]
        found += [(name, str(getattr(self, name))) for name in ("area", "value") if getattr(self, name)]
        found += [("universe", self.universe)] if self.universe != EVERYBODY else []
        found += [("measure", self.measure)] if self.value and self.measure != "sum" else []
        found += [("totals", "no")] if self.totals == "no" else []
        found += [(f"select.{name}", ",".join(codes)) for name, codes in self.select.items() if name in self.names]
        return urlencode(found, safe=",:")

    def definition(self, dataset: str, edition: str) -> bytes:
        """A small file that holds everything, to be kept, shared and handed in again."""
        plain = {"format": DEFINITION, "dataset": dataset, "edition": edition, "table": self.pairs()}
        return json.dumps(plain, indent=1, ensure_ascii=False).encode()


def name_of(item: str) -> str:
    """The name of a variable that may come with a level."""
    return item.partition(":")[0]


def level_of(item: str) -> int | None:
    """The level that a variable comes with."""
    (found,) = asked([item])
    return found.level


def layout_of(pairs: Iterable[tuple[str, str]]) -> TableLayout:
    """The layout that an address says.

    Raises
    ------
    QuestionRefusal
        When it says what a page does not show.
    """
    found: dict[str, Any] = {}
    select: dict[str, list[str]] = {}
    at: dict[str, str] = {}
    for name, value in pairs:
        if name in ZONES:
            items = [part for part in value.split(",") if part]
            asked(items)
            found[name] = (*found.get(name, ()), *items)
        elif name.startswith("select."):
            select.setdefault(name[7:], []).append(value)
        elif name.startswith("layer."):
            at[name[6:]] = value
        elif name in PLAIN:
            found[name] = _page(value) if name == "page" else value
        else:
            raise _unknown(name)
    for name, words in (
        ("totals", ("yes", "no")),
        ("empty", ("show", "hide")),
        ("percent", PERCENTS),
        ("view", VIEWS),
        ("ask", ("yes", "no")),
    ):
        if found.get(name, words[0]) not in words:
            raise QuestionRefusal(
                "not-a-question",
                f"{name} cannot be {found[name][:40]!r}.",
                hint=f"Give {', '.join(words)}.",
                status=400,
            )
    return TableLayout(**found, select={name: tuple(dict.fromkeys(codes)) for name, codes in select.items()}, at=at)


def _unknown(name: str) -> QuestionRefusal:
    return QuestionRefusal("not-a-question", f"The page has no {name[:80]!r}.", hint="Begin at /.", status=400)


def _page(value: str) -> int:
    if not (value.isascii() and value.isdigit() and 1 <= len(value) < 7):
        raise QuestionRefusal("not-a-question", "page is not a number.", hint="Give page=1.", status=400)
    return max(1, int(value))


def layout_of_definition(content: bytes) -> tuple[str, str, TableLayout]:
    """Data set, edition and layout of a definition that somebody handed in.

    Raises
    ------
    QuestionRefusal
        When it is none.
    """
    try:
        plain = json.loads(content[:LARGEST_DEFINITION].decode("utf-8"))
        if plain["format"] != DEFINITION or len(plain["table"]) > 200:
            raise ValueError(DEFINITION)
        pairs = [(str(name), str(value)) for name, value in plain["table"]]
        return str(plain["dataset"]), str(plain["edition"]), layout_of(pairs)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise QuestionRefusal(
            "not-a-definition", "This is not the definition of a table.", hint="Save one on a page.", status=400
        ) from None


def dropped(layout: TableLayout, moves: Sequence[tuple[str, str]]) -> TableLayout:
    """A layout after what buttons and dragging ask for: ``put=age:rows``, ``up=age``, ``out=age``, ``level=age:2``."""
    for what, value in moves:
        name, _, rest = value.partition(">")
        if what == "put":
            zone, _, place = rest.partition("@")
            if zone not in ZONES:
                raise _unknown(value)
            layout = layout.placed(name, zone, int(place) if place.isdigit() and len(place) < 3 else None)
        elif what == "out":
            layout = layout.without(name)
        elif what == "level" and rest.isdigit() and len(rest) < 4:
            layout = layout.levelled(name, int(rest))
        elif what in ("up", "down"):
            if name not in layout.names:
                raise _unknown(value)
            layout = layout.moved(name, -1 if what == "up" else 1)
        else:
            raise _unknown(value)
    return layout
