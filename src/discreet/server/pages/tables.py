"""The table builder: choose variables, see the protected table, take it along."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError
from discreet.server.dataset import Dataset
from discreet.server.description import ALTERED, variable_page
from discreet.server.gate import admitted, estimated_cells
from discreet.server.looking import why_not
from discreet.server.pages.calls import calls_of
from discreet.server.pages.choices import choices_of, counted_words
from discreet.server.pages.frame import PageFrame, Visit, see_other
from discreet.server.pages.grid import QualityMarks, grid_of
from discreet.server.pages.hexagons import hexagon_map
from discreet.server.pages.layout import (
    LARGEST_DEFINITION,
    TableLayout,
    dropped,
    layout_of,
    layout_of_definition,
)
from discreet.server.problems import problem_of
from discreet.server.question import Question, QuestionRefusal, query_pairs
from discreet.server.received import table_of_jsonstat
from discreet.server.roles import Subject, allowed
from discreet.server.service import Service

if TYPE_CHECKING:
    from discreet.server.store.store import Store

MOVES = ("put", "out", "up", "down", "level")
FORMATS = {
    "csv": "CSV",
    "xlsx": "Excel",
    "jsonstat": "JSON-stat",
    "sdmx-csv": "SDMX-CSV",
    "sdmx-json": "SDMX-JSON",
    "px": "PX",
    "parquet": "Parquet",
}
MOST_WORDS = 200
"""Characters of a search."""
MOST_CODES = 400
"""Codes of a tree that are shown at once."""


@dataclass(frozen=True)
class TablePages:
    """Tables as people see them.

    Parameters
    ----------
    frame
        The frame of pages.
    service
        What answers questions.
    store
        Where the history of those who signed in is kept.
    """

    frame: PageFrame
    service: Service
    store: Store | None = None

    def routes(self) -> list[Route]:
        """Addresses."""
        place = "/tables/{name}/{edition}"
        found = [
            self.frame.route("/", self.show_datasets),
            self.frame.route("/tables/definition", self.open_definition, methods=("POST",), files=LARGEST_DEFINITION),
            self.frame.route(place, self.show_table),
            self.frame.route(f"{place}/codes/{{variable}}", self.show_codes),
            self.frame.route(f"{place}/find", self.find_variables),
            self.frame.route(f"{place}/look", self.look),
            self.frame.route(f"{place}/definition", self.save_definition),
        ]
        return [*found, self.frame.route("/history", self.show_history)] if self.store is not None else found

    async def show_datasets(self, visit: Visit) -> Response:
        """All data sets."""
        allowed(visit.who, "catalogue.read").required()
        datasets = [dataset for _, dataset in sorted(self.service.datasets.items())]
        return self.frame.page(visit, "datasets.html", "Tables", datasets=datasets, note=ALTERED)

    async def show_table(self, visit: Visit) -> Response:
        """The builder, and the table where it is asked for."""
        allowed(visit.who, "catalogue.read").required()
        pairs = query_pairs(visit.request.url.query)
        layout = layout_of([pair for pair in pairs if pair[0] not in MOVES])
        try:
            dataset = self._dataset(visit)
        except QuestionRefusal as error:
            if error.status != 410:
                raise
            return self._gone(visit, error)
        moves = [pair for pair in pairs if pair[0] in MOVES]
        if moves:
            return see_other(f"{visit.request.url.path}?{dropped(layout, moves).query}")
        context = await self._built(visit, dataset, layout)
        title = dataset.catalogue.title or dataset.name
        if visit.partial:
            return self.frame.part("builder_part.html", **context)
        return self.frame.page(visit, "builder.html", title, **context)

    def _dataset(self, visit: Visit) -> Dataset:
        return self.service.dataset(visit.request.path_params["name"], visit.request.path_params["edition"])

    def _gone(self, visit: Visit, error: QuestionRefusal) -> Response:
        """An old link: the same question to the newest edition, where there is one."""
        name, edition = visit.request.path_params["name"], visit.request.path_params["edition"]
        newest, query = self.service.withdrawn.get((name, edition), ""), visit.request.url.query
        way_on = f"/tables/{name}/{newest}" + (f"?{query}" if query else "") if newest else ""
        shown = {"problem": problem_of(error), "way_on": way_on}
        return self.frame.page(visit, "gone.html", error.message, 410, **shown)

    async def _built(self, visit: Visit, dataset: Dataset, layout: TableLayout) -> dict[str, Any]:
        base = f"/tables/{dataset.name}/{dataset.edition}"
        found: dict[str, Any] = {"dataset": dataset, "layout": layout, "base": base, "note": ALTERED, "grid": None}
        found |= {
            "problem": None,
            "map": None,
            "cells": 0,
            "formats": FORMATS,
            "calls": (),
            "bars": "",
            "request_number": "",
            "marks": (),
        }
        found["choices"] = choices_of(dataset, layout, base)
        found["what"] = table_words(dataset, layout)
        if not layout.variables:
            return found
        try:
            question, _ = admitted(dataset, layout.body())
            found["cells"] = estimated_cells(dataset, question)
            if layout.ask == "yes":
                found |= await self._shown(visit, dataset, layout, question)
        except DiscreetError as error:
            found["problem"] = problem_of(error)
        if found["problem"] is None or found["cells"]:
            found["calls"] = calls_of(layout, _origin(visit.request), dataset.name, dataset.edition)
        return found

    async def _shown(self, visit: Visit, dataset: Dataset, layout: TableLayout, question: Question) -> dict[str, Any]:
        """The table that the server answers; it is logged like any other answer."""
        reply = await self.service.ask(
            visit.who, (dataset.name, dataset.edition), layout.body(), "jsonstat", visit.number
        )
        await self._remember(visit, dataset, question, layout)
        table = table_of_jsonstat(reply.content)
        totals = {name: str(dataset.hierarchies[name].total) for name in table.variables}
        words = {name: part.label or name for name, part in dataset.catalogue.variables.items()}
        quality = None if layout.value else _quality(dataset)
        grid = grid_of(table, layout, totals, words, dataset.geography, quality)
        bars = json.dumps([list(bar) for bar in grid.bars])
        shown = {"grid": grid, "map": hexagon_map(grid.areas), "bars": bars, "request_number": visit.number}
        return {**shown, "marks": () if quality is None else quality.limits}

    async def look(self, visit: Visit) -> Response:
        """Whether the table would be answered, and why not; it is not shown, and nothing is charged to the account."""
        dataset = self._dataset(visit)
        layout = layout_of([pair for pair in query_pairs(visit.request.url.query) if pair[0] not in MOVES])
        reason = await why_not(self.service, visit.who, (dataset.name, dataset.edition), layout.body(), visit.number)
        context: dict[str, Any] = {
            "base": f"/tables/{dataset.name}/{dataset.edition}",
            "layout": layout,
            "what": table_words(dataset, layout),
            "problem": None if reason is None else problem_of(reason),
        }
        if visit.partial:
            return self.frame.part("look_part.html", **context)
        return self.frame.page(visit, "look.html", "Before asking", **context)

    async def _remember(self, visit: Visit, dataset: Dataset, question: Question, layout: TableLayout) -> None:
        """Enter the question, and how it was laid out, into the history of who asked, once while they look at it."""
        store, person = self.store, visit.who.principal_id
        if store is None or person is None:
            return
        cells = estimated_cells(dataset, question)

        def work() -> None:
            last = store.questions.of(person, 1)
            if last and last[0].digest == question.digest:
                return
            given: dict[str, Any] = {
                "digest": question.digest,
                "spec": json.dumps([*json.loads(question.canonical), layout.query]),
                "decision": "answered",
                "cells": cells,
            }
            store.questions.enter(dataset.name, dataset.edition, **given, principal_id=person)

        await asyncio.to_thread(work)

    async def find_variables(self, visit: Visit) -> Response:
        """Names of the variables that have some words in what they say of themselves, or in a label of their codes."""
        allowed(visit.who, "catalogue.read").required()
        dataset, words = self._dataset(visit), visit.request.query_params.get("words", "")[:MOST_WORDS]
        found = choices_of(dataset, TableLayout(find=words), "").variables
        return JSONResponse({"variables": [one.name for one in found]})

    async def show_codes(self, visit: Visit) -> Response:
        """Codes of a variable as a tree, with boxes to choose some."""
        allowed(visit.who, "catalogue.read").required()
        dataset, name = self._dataset(visit), visit.request.path_params["variable"]
        described = variable_page(dataset, name)
        layout = layout_of(query_pairs(visit.request.url.query))
        find = layout.find.casefold()
        codes = [one for one in described["codes"] if find in one["label"].casefold() or find in one["code"].casefold()]
        context = {"dataset": dataset, "name": name, "layout": layout, "label": described["label"]}
        shown = codes[:MOST_CODES]
        context |= {"codes": shown, "left": len(codes) - MOST_CODES}
        seen = {one["code"] for one in shown}
        context["unseen"] = [code for code in layout.select.get(name, ()) if code not in seen]
        context["others"] = {other: chosen for other, chosen in layout.select.items() if other != name}
        context |= {"base": f"/tables/{dataset.name}/{dataset.edition}"}
        return self.frame.page(visit, "codes.html", described["label"], **context)

    async def save_definition(self, visit: Visit) -> Response:
        """The whole question as a small file."""
        allowed(visit.who, "catalogue.read").required()
        dataset = self._dataset(visit)
        layout = layout_of(query_pairs(visit.request.url.query))
        content = layout.definition(dataset.name, dataset.edition)
        headers = {"content-disposition": f'attachment; filename="{dataset.name}-definition.json"'}
        return Response(content, headers=headers, media_type="application/json")

    async def open_definition(self, visit: Visit) -> Response:
        """A definition that is handed in again: the page of its table."""
        allowed(visit.who, "catalogue.read").required()
        if len(visit.files) != 1:
            raise QuestionRefusal("no-file", "No file was chosen.", hint="Choose a definition.", status=400)
        name, edition, layout = layout_of_definition(visit.files[0].content)
        known = {*self.service.datasets, *self.service.withdrawn}
        if (name, edition) not in known:
            self.service.dataset(name, edition)  # says what is known instead
        return see_other(f"/tables/{name}/{edition}?{layout.query}")

    async def show_history(self, visit: Visit) -> Response:
        """What somebody asked, the last first."""
        who = visit.who
        own = frozenset() if who.principal_id is None else frozenset({who.principal_id})
        allowed(who, "history.read", Subject(belongs_to=own)).required()
        assert self.store is not None
        assert who.principal_id is not None
        rows = await asyncio.to_thread(self.store.questions.of, who.principal_id)
        shown = [_remembered(row, self.service.datasets.get((row.dataset, row.edition))) for row in rows]
        return self.frame.page(visit, "history.html", "History", rows=shown)


def _origin(request: Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc}"


def _quality(dataset: Dataset) -> QualityMarks | None:
    """How counts of a data set are marked; not at all where nobody knows their errors."""
    curve, part = dataset.facts.errors, dataset.catalogue.quality
    return None if curve is None or part is None else QualityMarks(curve, tuple(part.marks))


def table_words(dataset: Dataset, layout: TableLayout) -> str:
    """What a table shows, in words: what is counted, of whom, by what, when."""
    catalogue = dataset.catalogue
    value = catalogue.values.get(layout.value)
    if value is None:
        found = counted_words(dataset)
    else:
        words = value.label or layout.value
        found = f"Mean of {words}" if layout.measure == "mean" else words
        found += f" ({value.unit})" if value.unit and layout.percent == "none" else ""
    found += {"row": ", % of row", "column": ", % of column", "all": ", % of all"}.get(layout.percent, "")
    universe = next((part for part in catalogue.universes if part.name == layout.universe), None)
    found += f", {universe.label or universe.name}" if universe else ""
    found += f", {layout.area}" if layout.area else ""
    names = [catalogue.variables[name].label or name for name in layout.names if name in catalogue.variables]
    return f"{found} by {', '.join(names)}" + (f", {catalogue.period}." if catalogue.period else ".")


def _remembered(row: Any, dataset: Dataset | None) -> dict[str, Any]:
    """A line of the history: the address of the page that was looked at, and what it showed."""
    name, edition, universe, area, variables, value, *query = json.loads(row.spec)
    items = tuple(f"{variable}:{level}" for variable, level in variables)
    layout = TableLayout(
        rows=items[:1], columns=items[1:], universe=universe, area=area or "", value=value or "", ask="yes"
    )
    layout = layout_of(query_pairs(query[0])) if query else layout
    words = ", ".join(items) if dataset is None else table_words(dataset, layout)
    return {"row": row, "words": words, "address": f"/tables/{name}/{edition}?{layout.query}"}
