"""The same question as programs ask it: curl, Python, R."""

from __future__ import annotations

from typing import NamedTuple

from discreet.server.catalogue import EVERYBODY
from discreet.server.pages.layout import TableLayout


class Call(NamedTuple):
    """A call in some language."""

    language: str
    text: str


def calls_of(layout: TableLayout, origin: str, dataset: str, edition: str) -> tuple[Call, ...]:
    """Calls that give the table of a layout."""
    place = f"{origin}/v1/datasets/{dataset}/{edition}/table?{layout.question_query()}"
    given: list[str] = [repr(dataset), repr(list(layout.variables)), f"edition={edition!r}"]
    given += [f"universe={layout.universe!r}"] if layout.universe != EVERYBODY else []
    given += [f"{name}={getattr(layout, name)!r}" for name in ("area", "value") if getattr(layout, name)]
    given += [f"measure={layout.measure!r}"] if layout.value and layout.measure != "sum" else []
    chosen = {name: list(codes) for name, codes in layout.select.items() if name in layout.names}
    given += [f"select={chosen!r}"] if chosen else []
    given += ["totals=False"] if layout.totals == "no" else []
    python = f"import discreet as ds\n\nserver = ds.connect({origin!r})\ntable = server.table({', '.join(given)})"
    csv = f"{place}&format=csv"
    return (
        Call("curl", f"curl {_in_shell(csv)}"),
        Call("Python", python),
        Call("R", f"table <- read.csv({_in_r(csv)})"),
    )


def _in_shell(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _in_r(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
