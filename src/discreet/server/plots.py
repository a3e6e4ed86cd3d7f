"""Safe plots over HTTP: for members of a project, charged to the account that the project has of the data set."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.engine.protocol import columns_of
from discreet.errors import DiscreetError, ParameterError, ProtectionError, unknown_name
from discreet.files.frames import coordinates
from discreet.report.safe_plots.publishing import publish
from discreet.report.safe_plots.request import PROTECTED, PlotRequest, plot_request
from discreet.report.safe_plots.result import SafePlot
from discreet.server.bodies import json_body
from discreet.server.catalogue import EVERYBODY, PolicyPart
from discreet.server.dataset import Dataset
from discreet.server.denied import Denied
from discreet.server.identity import Identity
from discreet.server.problems import problem_of
from discreet.server.question import QuestionRefusal
from discreet.server.roles import Subject, allowed
from discreet.server.service import Service, log_fields
from discreet.server.store.store import Store
from discreet.trust.log.entries import AnswerGiven, QuestionRefused

FORMATS = {"json": "application/json", "csv": "text/csv; charset=utf-8", "svg": "image/svg+xml"}
SIZE = 1_000_000
"""A plot stands in line like a table of so many cells."""


PROJECTS_WORTH = 4
"""Accounts of one project that all projects have together, where the owner does not say."""


class PlotBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A plot as it is asked for."""

    project: int
    kind: str
    variables: list[str]
    universe: str = EVERYBODY
    limits: list[list[float]] | None = None
    width: float | list[float] | None = None
    local: float = 0.0
    points: int | None = None
    trim: int = 0
    smooth: int = 5
    levels: int | list[float] | None = None
    noise: float = 1.0
    log: bool = False
    weight: str | None = None
    format: str = "json"


class DrawnPlot(NamedTuple):
    """A plot, and as it is sent."""

    plot: SafePlot
    content: bytes
    media_type: str


@dataclass(frozen=True)
class ProjectAccount:
    """The account of one project and edition, as plots are charged to it."""

    store: Store
    project: int
    dataset: Dataset

    def charge(self, request: str, mu_squared: float) -> float:
        """Charge a request; what is left."""
        name, edition, policy = self.dataset.name, self.dataset.edition, self.dataset.policy
        most, of_all = policy.plot_account, plots_of_all(policy)
        return self.store.plots.charge(self.project, name, edition, request, mu_squared, most, of_all)


def plots_of_all(policy: PolicyPart) -> float:
    """The most that all projects together may be told by plots."""
    given = policy.plot_account_of_all
    return PROJECTS_WORTH * policy.plot_account if given is None else given


class PlotDesk:
    """Where plots are asked for, by programs and by people.

    Parameters
    ----------
    service
        Data sets, key, log, and the line before the one thread that computes.
    store
        Projects and their accounts.
    """

    def __init__(self, service: Service, store: Store) -> None:
        self.service, self.store = service, store

    async def drawn(
        self, who: Identity, place: tuple[str, str], body: Callable[[], Awaitable[PlotBody]], number: str
    ) -> DrawnPlot:
        """A safe plot. It is in the log before it leaves, and so is that it was refused.

        Parameters
        ----------
        who
            Who asks.
        place
            Name and edition of the data set.
        body
            Reads what is asked for, once it is known that they may ask at all.
        number
            The number of the request, for the log.
        """
        dataset: Dataset | None = None
        try:
            allowed(who, "plot.ask", Subject(belongs_to=_self(who))).required()
            dataset = self.service.dataset(*place)
            asked = await body()
            await asyncio.to_thread(self._granted, who, dataset, asked)
            wanted = wanted_plot(dataset, asked)
            if self.service.key is None:
                raise QuestionRefusal("no-plots", "This server has no key for plots.", hint="Ask for tables.")
            found = await self.service.workplace.run(SIZE, lambda: self._drawn(dataset, asked, wanted))
        except Exception as error:
            await self._refused(who, dataset, error, number)
            raise
        entry = AnswerGiven(
            **log_fields(who, number),
            action="plot.ask",
            dataset=dataset.name,
            edition=dataset.edition,
            question=hashlib.sha256(f"{asked.universe}\n{wanted.canonical}".encode()).hexdigest(),
            answer=hashlib.sha256(found.content).hexdigest(),
            method="safe_plot",
        )
        await self.service.log.append(entry)
        return found

    def _granted(self, who: Identity, dataset: Dataset, body: PlotBody) -> None:
        """Refuse who is no member, projects that are over, and variables that they were not granted."""
        assert who.principal_id is not None
        try:
            grant = self.store.projects.granted(body.project, who.principal_id, dataset.name, dataset.edition)
        except Denied:
            raise
        except DiscreetError:  # whether there is a project of this number is nobody else's business
            raise Denied("other-project", "You do not work on this project.", hint="Ask its head to add you.") from None
        for name in body.variables:
            if name not in grant.variables:
                raise Denied("not-granted", f"Your project was not granted {name[:64]!r}.", hint="Ask its owner.")

    def _drawn(self, dataset: Dataset, body: PlotBody, wanted: PlotRequest) -> DrawnPlot:
        names = [*wanted.variables, *(() if wanted.weighted is None else (wanted.weighted,))]
        table = columns_of(dataset.data, names, where=dataset.conditions[body.universe])
        values = np.column_stack([coordinates(table, name) for name in wanted.variables])
        weights = None if wanted.weighted is None else coordinates(table, wanted.weighted)
        assert self.service.key is not None
        try:
            plot = publish(
                wanted,
                values,
                weights,
                self.service.key,
                version=f"{dataset.name}/{dataset.edition}/{body.universe}",
                account=ProjectAccount(self.store, body.project, dataset),
                allow_gaps=True,
            )
        except ProtectionError as error:
            raise QuestionRefusal("not-drawn", error.message, hint=error.hint) from None
        return DrawnPlot(plot, encoded_plot(plot, body.format), FORMATS[body.format])

    async def _refused(self, who: Identity, dataset: Dataset | None, error: Exception, number: str) -> None:
        kind = error.kind if isinstance(error, Denied) else problem_of(error).kind
        rule = kind if isinstance(error, DiscreetError) else "unexpected"
        known = (None, None) if dataset is None else (dataset.name, dataset.edition)
        entry = QuestionRefused(
            **log_fields(who, number), action="plot.ask", rule=rule, dataset=known[0], edition=known[1]
        )
        await self.service.log.append(entry)


class PlotAddresses:
    """What answers ``/v1/datasets/{name}/{edition}/plot``.

    Parameters
    ----------
    desk
        Where plots are asked for.
    who_asks
        Who sent a request.
    """

    def __init__(self, desk: PlotDesk, who_asks: Callable[[Request], Awaitable[Identity]]) -> None:
        self.desk, self.who_asks = desk, who_asks

    def routes(self, guarded: Callable[[Any], Any]) -> list[Route]:
        """Addresses and what answers them; ``guarded`` is what goes for all requests."""
        return [Route("/v1/datasets/{name}/{edition}/plot", guarded(self.plot), methods=["POST"])]

    async def plot(self, request: Request, number: str) -> Response:
        """A safe plot."""
        who = await self.who_asks(request)
        place = (request.path_params["name"], request.path_params["edition"])
        found = await self.desk.drawn(who, place, lambda: json_body(request, PlotBody), number)
        return Response(found.content, media_type=found.media_type)


def wanted_plot(dataset: Dataset, body: PlotBody) -> PlotRequest:
    """The request that a body makes, in the owner's limits.

    Raises
    ------
    QuestionRefusal
        When plots are not drawn of this data set, or what is asked for is not there or not allowed.
    """
    policy, values = dataset.policy, dataset.catalogue.values
    if policy.plot_account <= 0:
        raise QuestionRefusal("no-plots", "Plots of this data set are not drawn.", hint="Ask for tables.")
    if body.weight is not None:
        raise QuestionRefusal(
            "weights", "Weights are those of the data set and cannot be chosen.", hint="Leave weight out.", status=400
        )
    weight = dataset.data.weight
    if weight is not None and policy.largest_weight is None:
        raise QuestionRefusal(
            "weights",
            "The records have weights, and their owner has not said how large these can be.",
            hint="Ask for tables, or ask the owner for largest_weight.",
        )
    if body.universe not in dataset.conditions:
        raise QuestionRefusal(
            "unknown-universe", unknown_name("universe", body.universe[:64], dataset.conditions), status=404
        )
    for name in body.variables:
        if name not in values:
            raise QuestionRefusal("unknown-value", unknown_name("value", name[:64], values), status=404)
    if body.format not in FORMATS:
        raise QuestionRefusal("unknown-format", unknown_name("format", body.format[:40], FORMATS), status=406)
    limits = body.limits or [values[name].limits for name in body.variables]
    try:
        return plot_request(
            body.kind,
            body.variables,
            limits if all(len(one) == 2 for one in limits) else None,
            width=PROTECTED if body.width is None else body.width,
            local=body.local,
            points=body.points,
            trim=body.trim,
            smooth=body.smooth,
            levels=body.levels,
            noise=body.noise,
            log=body.log,
            weighted=weight,
            largest_weight=1.0 if weight is None else float(policy.largest_weight or 1.0),
        )
    except ParameterError as error:
        raise QuestionRefusal("bad-plot", error.message, hint=error.hint, status=400) from None


def encoded_plot(plot: SafePlot, format: str) -> bytes:
    """A plot in one of :data:`FORMATS`."""
    if format == "csv":
        return plot.to_csv().encode()
    if format == "svg":
        return "".join(plot.image()).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1).encode()
    return msgspec.json.encode(plot.to_dict())


def _self(who: Identity) -> frozenset[int]:
    """Whose it is so far: membership of the project is looked up with its grant."""
    return frozenset() if who.principal_id is None else frozenset({who.principal_id})
