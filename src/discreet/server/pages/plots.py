"""Safe plots as people see them: a form, the drawing with its band, its numbers, and what it cost."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from starlette.responses import Response
from starlette.routing import Route

from discreet.errors import DiscreetError, InputError
from discreet.report.page import trusted
from discreet.report.safe_plots.request import FLAT, KINDS
from discreet.report.safe_plots.result import NOISE_NOTE, SafePlot
from discreet.server.catalogue import EVERYBODY
from discreet.server.dataset import Dataset
from discreet.server.denied import Denied
from discreet.server.pages.frame import PageFrame, Visit, page_problem
from discreet.server.plots import DrawnPlot, PlotBody, PlotDesk, encoded_plot
from discreet.server.roles import Subject, allowed
from discreet.server.store.projects import ProjectRow

MOST_ROWS = 250
"""Numbers that stand beside a drawing; the file has all."""
WORDS = {
    "histogram": "Histogram",
    "density": "Density line",
    "density2d": "Density of two variables",
    "contours": "Contours of two variables",
    "box": "Box: quantiles",
}
FIELDS = ("of", "kind", "variable", "second", "universe", "width", "second_width", "noise", "log")
POINTS = 41
"""Points each way of a plot of two variables, on a page."""


class PlotChoice(NamedTuple):
    """An edition that somebody may ask plots of, for a project."""

    project: ProjectRow
    dataset: Dataset
    variables: tuple[tuple[str, str], ...]
    left: float

    @property
    def name(self) -> str:
        """How forms name it."""
        return f"{self.project.id} {self.dataset.name} {self.dataset.edition}"


@dataclass(frozen=True)
class PlotPages:
    """Plots for members of projects.

    Parameters
    ----------
    frame
        The frame of pages.
    desk
        Where plots are asked for.
    """

    frame: PageFrame
    desk: PlotDesk

    def routes(self) -> list[Route]:
        """Addresses."""
        return [
            self.frame.route("/plots", self.show_plots),
            self.frame.route("/plots", self.draw_plot, methods=("POST",)),
        ]

    async def show_plots(self, visit: Visit) -> Response:
        """The form."""
        return self._page(visit, await self._choices(visit))

    async def _choices(self, visit: Visit) -> list[PlotChoice]:
        """Active projects with editions whose owner has opened plots."""
        number = visit.who.principal_id
        allowed(visit.who, "plot.ask", Subject(belongs_to=frozenset({number or 0}))).required()
        assert number is not None
        return await asyncio.to_thread(self._granted, number)

    def _granted(self, number: int) -> list[PlotChoice]:
        store, found = self.desk.store, []
        for project in store.projects.of(number):
            for (name, edition), dataset in sorted(self.desk.service.datasets.items()):
                if dataset.policy.plot_account <= 0:
                    continue
                try:
                    grant = store.projects.granted(project.id, number, name, edition)
                except Denied:
                    continue
                values = dataset.catalogue.values
                named = tuple((one, part.label or one) for one, part in values.items() if one in grant.variables)
                left = dataset.policy.plot_account - store.plots.used(project.id, name, edition)
                found += [PlotChoice(project, dataset, named, max(0.0, left))] if named else []
        return found

    async def draw_plot(self, visit: Visit) -> Response:
        """A plot; what is wrong with the form stands above it."""
        choices = await self._choices(visit)
        chosen = next((one for one in choices if one.name == visit.form.get("of")), None)
        if chosen is None:
            raise Denied("other-project", "You do not work on this project.", hint="Ask its head to add you.")
        place = (chosen.dataset.name, chosen.dataset.edition)

        async def body() -> PlotBody:
            return _body(visit, chosen)

        try:
            found = await self.desk.drawn(visit.who, place, body, visit.number)
        except DiscreetError as error:
            problem = page_problem(error)
            return self._page(visit, choices, problem.status, problem=problem)
        if visit.form.get("format") == "csv":
            headers = {"content-disposition": f'attachment; filename="{chosen.dataset.name}-plot.csv"'}
            return Response(encoded_plot(found.plot, "csv"), headers=headers, media_type="text/csv; charset=utf-8")
        drawing = await asyncio.to_thread(found.plot.image)
        return self._page(visit, await self._choices(visit), shown=_shown(found, drawing))

    def _page(
        self, visit: Visit, choices: list[PlotChoice], status: int = 200, *, problem: Any = None, shown: Any = None
    ) -> Response:
        known = {choice.name: choice for choice in choices}
        given = {**dict.fromkeys(FIELDS, ""), "of": next(iter(known), ""), **visit.form}
        context: dict[str, Any] = {"choices": choices, "given": given, "kinds": WORDS, "problem": problem}
        context |= {"universes": _universes(choices), "variables": _variables(choices), "shown": shown}
        return self.frame.page(visit, "plots.html", "Plots", status, **context)


def _universes(choices: list[PlotChoice]) -> dict[str, str]:
    parts = [part for choice in choices for part in choice.dataset.catalogue.universes]
    return {EVERYBODY: "Everybody", **{part.name: part.label or part.name for part in parts}}


def _variables(choices: list[PlotChoice]) -> dict[str, str]:
    return {name: label for choice in choices for name, label in choice.variables}


def _body(visit: Visit, chosen: PlotChoice) -> PlotBody:
    """What a form asks for."""
    form = visit.form
    kind = form.get("kind", "")
    if kind not in KINDS:
        raise InputError("There is no such plot.", hint="Choose one of the list.")
    flat = kind in FLAT
    variables = [form.get("variable", ""), *([form.get("second", "")] if flat else [])]
    widths = [_number(form, name) for name in ("width", *(("second_width",) if flat else ()))]
    given = [one for one in widths if one is not None]
    if given and len(given) < len(widths):
        raise InputError("Only one of two widths is given.", hint="Give both, or none: they are worked out then.")
    return PlotBody(
        project=chosen.project.id,
        kind=kind,
        variables=variables,
        universe=form.get("universe", EVERYBODY),
        width=None if not given or kind == "box" else given,
        points=POINTS if flat else None,
        noise=_number(form, "noise") or 1.0,
        log=form.get("log") == "yes",
    )


def _number(form: Any, name: str) -> float | None:
    text = form.get(name, "").strip()
    if not text:
        return None
    try:
        return float(text[:40])
    except ValueError:
        raise InputError(f"{name.replace('_', ' ')} is no number.", hint="Write it as 1500 or 0.5.") from None


def _shown(found: DrawnPlot, drawing: str) -> dict[str, Any]:
    """What the page has of a plot."""
    plot: SafePlot = found.plot
    rows = plot.to_rows()
    return {
        "drawing": plain_drawing(drawing),
        "legend": plot.legend,
        "notes": [NOISE_NOTE, *plot.notes],
        "width": plot.width,
        "names": list(rows[0]),
        "rows": [[f"{value:,.6g}" for value in row.values()] for row in rows[:MOST_ROWS]],
        "many": len(rows),
        "protection": plot.protection(),
    }


def plain_drawing(drawing: str) -> str:
    """A drawing without styles, which the policy of pages forbids: attributes, and classes for colours of the page."""

    def attributes(found: re.Match[str]) -> str:
        written, classes = "", []
        for part in found[1].split(";"):
            name, _, value = (piece.strip() for piece in part.partition(":"))
            named = re.fullmatch(r"var\(--(\w+), (#\w+)\)", value)
            if named:
                classes.append(f"{name}-{named[1]}")
            elif name and name != "font-family":
                written += f' {name}="{value}"'
        return written + (f' class="{" ".join(classes)}"' if classes else "")

    bare = re.sub(r"<style.*?</style>", "", drawing, flags=re.DOTALL)
    return trusted(re.sub(r' style="([^"]*)"', attributes, bare))
