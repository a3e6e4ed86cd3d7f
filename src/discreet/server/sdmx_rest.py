"""Addresses of SDMX-REST 2.1: structures of data sets, and data by key. A key is a question like any other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.errors import unknown_name
from discreet.files.published.heading import Heading
from discreet.model.public import PublicTable
from discreet.server.dataset import Dataset
from discreet.server.encoding import Encoding, kinds_accepted
from discreet.server.gate import estimated_cells
from discreet.server.identity import Identity
from discreet.server.question import Question, QuestionBody, QuestionRefusal, asked, query_pairs
from discreet.server.roles import allowed
from discreet.server.sdmx_ml import (
    GENERIC_TYPE,
    KINDS,
    SPECIFIC_TYPE,
    STRUCTURE_TYPE,
    generic_data,
    specific_data,
    structure_message,
)
from discreet.server.sdmx_structure import VERSION, SdmxFlow, SdmxStructure
from discreet.server.service import Service, in_order

ANYTHING = ("*/*", "application/*", "application/xml", "text/xml", "")
BESIDE: dict[str, dict[str, tuple[str, ...]]] = {
    "none": {},
    "children": {"dataflow": ("datastructure",), "datastructure": ("codelist", "conceptscheme")},
    "descendants": {
        "dataflow": ("datastructure", "codelist", "conceptscheme"),
        "datastructure": ("codelist", "conceptscheme"),
    },
    "parents": {
        "datastructure": ("dataflow",),
        "codelist": ("datastructure",),
        "conceptscheme": ("datastructure",),
    },
    "parentsandsiblings": {
        "datastructure": ("dataflow",),
        "codelist": ("datastructure", "codelist", "conceptscheme"),
        "conceptscheme": ("datastructure", "codelist"),
    },
    "all": dict.fromkeys(KINDS, KINDS),
    **{kind: dict.fromkeys(KINDS, (kind,)) for kind in KINDS},
}
"""What is sent beside what was asked for, by the word of ``references``."""
Found = tuple[str, str, SdmxStructure]


class SdmxAddresses:
    """What answers under ``/sdmx``.

    Parameters
    ----------
    service
        Data sets, and what answers questions.
    who_asks
        Who sent a request.
    """

    def __init__(self, service: Service, who_asks: Callable[[Request], Awaitable[Identity]]) -> None:
        self.service = service
        self.who_asks = who_asks
        self._structures = {place: SdmxStructure(dataset) for place, dataset in service.datasets.items()}

    def routes(self, guarded: Callable[[Any], Any]) -> list[Route]:
        """Addresses and what answers them; ``guarded`` is what goes for all requests."""
        parts = ("", "/{agency}", "/{agency}/{id}", "/{agency}/{id}/{version}")
        found = [Route(f"/sdmx/{{kind}}{part}", guarded(self.sdmx_structure), methods=["GET"]) for part in parts]
        return [
            Route("/sdmx/data/{flow}", guarded(self.sdmx_data), methods=["GET"]),
            Route("/sdmx/data/{flow}/{key}", guarded(self.sdmx_data), methods=["GET"]),
            Route("/sdmx/data/{flow}/{key}/{provider}", guarded(self.sdmx_data), methods=["GET"]),
            *found,
        ]

    # ---- structures ------------------------------------------------------------------------------------------

    async def sdmx_structure(self, request: Request, _number: str) -> Response:
        """Flows, structures, code lists and concepts."""
        allowed(await self.who_asks(request), "catalogue.read").required()
        kind = request.path_params["kind"]
        if kind not in KINDS:
            raise QuestionRefusal("unknown-structure", unknown_name("kind of structure", kind[:40], KINDS), status=404)
        words = _parameters(request, {"references": list(BESIDE), "detail": ["full"]})
        accepted = kinds_accepted(request.headers.get("accept", "*/*"))
        if not any(one in (*ANYTHING, STRUCTURE_TYPE.partition(";")[0]) for one in accepted):
            raise QuestionRefusal(
                "unknown-format", "Structures are sent as SDMX-ML 2.1.", hint=f"Accept {STRUCTURE_TYPE}.", status=406
            )
        wanted = [request.path_params.get(part, usual) for part, usual in PARTS.items()]
        found = list(dict.fromkeys(self._found(kind, wanted, words.get("references", "none"))))
        if not found:
            raise QuestionRefusal(
                "unknown-structure",
                f"There is no {kind} {wanted[1][:80]!r} of {wanted[0][:80]!r} in version {wanted[2][:40]!r}.",
                hint=f"See /sdmx/{kind}/all/all/all.",
                status=404,
            )
        return Response(structure_message(found), media_type=STRUCTURE_TYPE)

    def _found(self, kind: str, wanted: list[str], references: str) -> Iterator[Found]:
        """What was asked for, then what is sent beside it."""
        agencies, ids, versions = ([] if part in ("all", "*") else part.split("+") for part in wanted)
        beside = BESIDE[references].get(kind, ())
        for structure in self._versions(versions):
            if agencies and structure.agency not in agencies:
                continue
            mine = [id for id in _ids(structure, kind) if not ids or id in ids]
            yield from ((kind, id, structure) for id in mine)
            if mine:
                yield from ((other, id, structure) for other in beside for id in _ids(structure, other))

    def _versions(self, versions: list[str]) -> Iterator[SdmxStructure]:
        """Structures of the editions asked for, the newest of each data set where ``latest`` is among them."""
        newest: dict[str, str] = {}
        for name, edition in sorted(self._structures, key=lambda place: in_order(place[1])):
            newest[name] = edition if VERSION.fullmatch(edition) else newest.get(name, "")
        for (name, edition), structure in sorted(self._structures.items()):
            if not VERSION.fullmatch(edition):
                continue
            if not versions or edition in versions or ("latest" in versions and newest[name] == edition):
                yield structure

    # ---- data ------------------------------------------------------------------------------------------------

    async def sdmx_data(self, request: Request, number: str) -> Response:
        """The protected table that a key asks for."""
        who = await self.who_asks(request)
        structure, flow = self._flow(request.path_params["flow"])
        _parameters(request, {"dimensionAtObservation": ["AllDimensions"], "detail": ["full"]})
        if request.path_params.get("provider", "all") not in ("all", structure.agency):
            raise QuestionRefusal(
                "unknown-provider", "The data come from another office.", hint="Leave the provider out.", status=404
            )
        media_type = _data_type(request.headers.get("accept", "*/*"))
        body = structure.question(flow, request.path_params.get("key", "all"))
        write = specific_data if media_type == SPECIFIC_TYPE else generic_data
        encoding = Encoding(media_type, ".xml", partial(_encoded, partial(write, structure, flow, body.area)))
        dataset = structure.dataset
        try:
            reply = await self.service.ask(who, (dataset.name, dataset.edition), body, encoding, number)
        except QuestionRefusal as error:
            raise _as_key(error, dataset, body) from None
        headers = {"x-content-digest": reply.digest, "x-dataset": f"{dataset.name}/{dataset.edition}"}
        return Response(reply.content, media_type=reply.media_type, headers=headers)

    def _flow(self, text: str) -> tuple[SdmxStructure, SdmxFlow]:
        """A flow by its identifier, with agency before and version after it where they are given."""
        parts = text.split(",")
        agency, id, version = {1: ["all", *parts, "latest"], 2: [*parts, "latest"], 3: parts}.get(len(parts), [""] * 3)
        for _, found, structure in self._found("dataflow", [agency, id, version], "none"):
            if found == id:
                return structure, structure.flows[id]
        known = [id for structure in self._versions(["latest"]) for id in structure.flows]
        raise QuestionRefusal("unknown-dataset", unknown_name("dataflow", text[:80], known), status=404)


PARTS = {"agency": "all", "id": "all", "version": "latest"}


def _ids(structure: SdmxStructure, kind: str) -> list[str]:
    """Identifiers of one kind that a data set has."""
    if kind == "dataflow":
        return list(structure.flows)
    if kind == "codelist":
        return [*(structure.code_list(part) for part in structure.dimensions), structure.statuses]
    return [structure.concepts if kind == "conceptscheme" else structure.dataset.name]


def _parameters(request: Request, known: dict[str, list[str]]) -> dict[str, str]:
    """Words of the query; what is not known is refused, so that nobody takes more for less than was asked."""
    found: dict[str, str] = {}
    for name, value in query_pairs(request.url.query):
        if name not in known or value not in known[name] or name in found:
            may = "; ".join(f"{name}={' or '.join(values)}" for name, values in known.items())
            raise QuestionRefusal(
                "unknown-parameter",
                f"{name[:40]}={value[:40]} is not answered here.",
                hint=f"There are, once each: {may}.",
                status=400,
            )
        found[name] = value
    return found


def _data_type(accept: str) -> str:
    for kind in kinds_accepted(accept):
        if kind in ANYTHING:
            return GENERIC_TYPE
        for ours in (GENERIC_TYPE, SPECIFIC_TYPE):
            if kind == ours.partition(";")[0]:
                return ours
    raise QuestionRefusal(
        "unknown-format",
        "Data are sent as SDMX-ML 2.1.",
        hint=f"Accept {GENERIC_TYPE} or {SPECIFIC_TYPE}; other formats are at /v1/datasets.",
        status=406,
    )


def _encoded(write: Callable[[PublicTable], bytes], table: PublicTable, _heading: Heading) -> bytes:
    return write(table)


def _as_key(error: QuestionRefusal, dataset: Dataset, body: QuestionBody) -> QuestionRefusal:
    """A refusal in the words of keys: how large the table of an open key is, and how to leave dimensions out."""
    if error.kind not in ("too-many-variables", "too-many-cells", "no-variables", "not-listed", "not-together"):
        return error
    message, status = error.message, error.status
    if error.kind == "too-many-variables":
        levels = tuple((part.name, part.level or len(dataset.levels[part.name])) for part in asked(body.variables))
        cells = estimated_cells(dataset, Question(dataset.name, dataset.edition, body.universe, None, levels))
        message, status = f"{message} The key asks for up to {cells:,} cells.", 413
    return QuestionRefusal(
        error.kind,
        message,
        hint=f"Write _T for dimensions that are not to be in the table; at most {dataset.policy.most_variables} may "
        f"be open or have codes{', besides ' + repr(dataset.geography) if dataset.geography else ''}.",
        status=status,
    )
