"""The description of the server's addresses (OpenAPI 3.1), from the types that read and write them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import msgspec

from discreet.server.encoding import ENCODINGS
from discreet.server.extracts import described
from discreet.server.extracts.definition import Definition
from discreet.server.gate import MEASURES
from discreet.server.plots import FORMATS as PLOT_FORMATS
from discreet.server.plots import PlotBody
from discreet.server.problems import MEDIA_TYPE
from discreet.server.question import QuestionBody
from discreet.server.sdmx_ml import GENERIC_TYPE, KINDS, SPECIFIC_TYPE, STRUCTURE_TYPE
from discreet.server.sdmx_rest import BESIDE

PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "request"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "request": {"type": "string"},
    },
}
STATUS = {
    "400": "What was sent is not a question.",
    "401": "The proof of identity does not hold.",
    "403": "The question is not answered.",
    "404": "Something that was named is not there.",
    "406": "The format is not ours.",
    "409": "It is not ready yet.",
    "410": "The edition is answered no more.",
    "413": "Too large.",
    "414": "The address is too long.",
    "415": "Not JSON.",
    "429": "The budget of today is used up.",
    "503": "Not at the moment; ask again.",
}


def _problems(*codes: str) -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {code: {"description": STATUS[code], "content": content} for code in codes}


def _path(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _query(name: str, words: str, required: bool = False, **schema: Any) -> dict[str, Any]:
    kind = schema or {"type": "string"}
    return {"name": name, "in": "query", "required": required, "schema": kind, "description": words}


def _number(words: str) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 1}
    return {"name": "number", "in": "path", "required": True, "schema": schema, "description": words}


def _get(words: str, kind: str = "application/json", **more: Any) -> dict[str, Any]:
    good = {"200": {"description": words, "content": {kind: {}}}}
    return {"summary": words, "responses": {**good, **more.pop("problems", {})}, **more}


@cache
def openapi() -> bytes:
    """The description as JSON."""
    (question, plot, *extracts), parts = msgspec.json.schema_components(
        [QuestionBody, PlotBody, *EXTRACT_TYPES], ref_template="#/components/schemas/{name}"
    )
    of_extracts = dict(zip(EXTRACT_TYPES, extracts, strict=True))
    description = {
        "openapi": "3.1.0",
        "info": {"title": "discreet table server", "version": "1"},
        "paths": {
            **_of_the_server(),
            **_of_data_sets(question),
            **_of_plots(plot),
            **_of_extracts(of_extracts),
            **_of_sdmx(),
            **_of_the_log(),
        },
        "components": {"schemas": {**parts, "Problem": PROBLEM}},
    }
    return msgspec.json.encode(description)


def _of_the_server() -> dict[str, Any]:
    return {
        "/health": {"get": _get("The process lives.")},
        "/ready": {"get": _get("Questions are answered.", problems=_problems("503"))},
        "/metrics": {"get": _get("Counters.", "text/plain")},
        "/openapi.json": {"get": _get("This description.")},
    }


def _of_data_sets(question: dict[str, Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {encoding.media_type.partition(";")[0]: {} for encoding in ENCODINGS.values()}
    format_query = _query("format", "Format of the answer.", type="string", enum=list(ENCODINGS))
    answer = {
        "summary": "A protected table.",
        "responses": {
            "200": {"description": "The table.", "content": answers},
            **_problems("400", "401", "403", "404", "406", "410", "413", "414", "415", "429", "503"),
        },
    }
    body = {"required": True, "content": {"application/json": {"schema": question}}}
    place = "/v1/datasets/{name}/{edition}"
    asked = [
        _query("variables", "Names with commas between; age:2 is level 2 of age.", True),
        _query("universe", "Who is counted."),
        _query("area", "Only this area."),
        _query("value", "What is summed; persons are counted where left out."),
        _query("measure", "sum, mean, percent or rse.", type="string", enum=list(MEASURES)),
        _query("totals", "Whether totals are shown.", type="string", enum=["yes", "no"]),
        format_query,
    ]
    refused = ("401", "403", "404", "410")
    return {
        "/v1/datasets": {"get": _get("Data sets and editions.", problems=_problems("401", "403"))},
        place: {
            "get": _get(
                "What may be asked of a data set; the edition 'latest' is the newest.",
                parameters=_path("name", "edition"),
                problems=_problems(*refused),
            )
        },
        f"{place}/variables/{{variable}}": {
            "get": _get(
                "Codes of a variable.", parameters=_path("name", "edition", "variable"), problems=_problems(*refused)
            )
        },
        f"{place}/table": {
            "get": {**answer, "parameters": [*_path("name", "edition"), *asked]},
            "post": {**answer, "parameters": [*_path("name", "edition"), format_query], "requestBody": body},
        },
        f"{place}/estimate": {
            "post": {
                "summary": "How many cells a table would have.",
                "parameters": _path("name", "edition"),
                "requestBody": body,
                "responses": {
                    "200": {"description": "Cells at most.", "content": {"application/json": {}}},
                    **_problems("400", "406", "413", "414", "415", *refused),
                },
            }
        },
    }


def _of_plots(plot: dict[str, Any]) -> dict[str, Any]:
    types: dict[str, Any] = {kind.partition(";")[0]: {} for kind in PLOT_FORMATS.values()}
    post = {
        "summary": "A safe plot, charged to the account of a project.",
        "parameters": _path("name", "edition"),
        "requestBody": {"required": True, "content": {"application/json": {"schema": plot}}},
        "responses": {
            "200": {"description": "The plot.", "content": types},
            **_problems("400", "401", "403", "404", "406", "410", "413", "414", "415", "503"),
        },
    }
    return {"/v1/datasets/{name}/{edition}/plot": {"post": post}}


EXTRACT_TYPES: tuple[type[msgspec.Struct], ...] = (
    Definition,
    described.DestroyedBody,
    described.ExtractEstimate,
    described.ExtractList,
    described.ExtractShown,
    described.FileDescribed,
    described.FileList,
    described.KeyBody,
    described.KeyShown,
    described.ProjectList,
)
"""What is sent and answered about extracts."""
OWN = ("401", "403")
"""Problems of what is for somebody who is known."""


Schemas = dict[type[msgspec.Struct], dict[str, Any]]


def _of_extracts(schemas: Schemas) -> dict[str, Any]:
    """Extracts: files, projects, the cart as a definition, the queue, the sealed file."""
    base, sent = "/v1/extracts", ("400", "413", "414", "415")
    asking = (*sent, "404", "410", "503")
    place, project = _path("name", "edition"), [_number("Of a project.")]
    said, body = partial(_of_own, schemas), partial(_body, schemas)
    return {
        base: {"get": said("Extracts of one's own projects.", described.ExtractList)},
        f"{base}/files": {"get": said("Files that extracts are taken from.", described.FileList)},
        f"{base}/files/{{name}}/{{edition}}": {
            "get": said("Variables and limits of a file.", described.FileDescribed, "404", "410", parameters=place)
        },
        f"{base}/key": {
            "get": said("The key that one's extracts are sealed to.", described.KeyShown),
            "put": said(
                "Give the key that one's extracts are sealed to.", described.KeyShown, *sent, **body(described.KeyBody)
            ),
        },
        f"{base}/projects": {"get": said("One's own projects.", described.ProjectList)},
        f"{base}/projects/{{number}}/estimate": {
            "post": said(
                "How large and how risky an extract would be.",
                described.ExtractEstimate,
                *asking,
                parameters=project,
                **body(Definition),
            )
        },
        f"{base}/projects/{{number}}/extracts": {
            "post": said(
                "Ask for an extract; it is queued.",
                described.ExtractShown,
                *asking,
                code="201",
                parameters=project,
                **body(Definition),
            )
        },
        **_of_one_extract(schemas, f"{base}/{{number}}", sent),
    }


def _of_one_extract(schemas: Schemas, base: str, sent: Sequence[str]) -> dict[str, Any]:
    """An extract that was asked for: its state, its definition, its file, and its end."""
    one = [_number("Of an extract.")]
    said = partial(_of_own, schemas, parameters=one)
    file = {"200": {"description": "The sealed file.", "content": {"application/octet-stream": {}}}}
    return {
        base: {"get": said("Where an extract is.", described.ExtractShown, "404")},
        f"{base}/definition": {"get": said("The definition that an extract was asked for by.", Definition, "404")},
        f"{base}/file": {
            "get": {
                "summary": "The sealed file, for who asked for it.",
                "parameters": one,
                "responses": {**file, **_problems(*OWN, "404", "409", "410")},
            }
        },
        f"{base}/withdraw": {"post": said("Give an extract up.", described.ExtractShown, "404")},
        f"{base}/destroyed": {
            "post": said(
                "State that all copies are destroyed.",
                described.ExtractShown,
                *sent,
                "404",
                **_body(schemas, described.DestroyedBody),
            )
        },
    }


def _of_own(
    schemas: Schemas, words: str, found: type[msgspec.Struct], *problems: str, code: str = "200", **more: Any
) -> dict[str, Any]:
    """What is answered to somebody who is known."""
    content = {"application/json": {"schema": schemas[found]}}
    return {
        "summary": words,
        "responses": {code: {"description": words, "content": content}, **_problems(*OWN, *problems)},
        **more,
    }


def _body(schemas: Schemas, sent: type[msgspec.Struct]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schemas[sent]}}}}


def _of_sdmx() -> dict[str, Any]:
    references = _query("references", "What is sent besides.", type="string", enum=list(BESIDE))
    kind = {"name": "kind", "in": "path", "required": True, "schema": {"type": "string", "enum": list(KINDS)}}
    structure = _get(
        "SDMX-REST 2.1: flows, structures, code lists and concepts; all, latest and + as the standard has them.",
        STRUCTURE_TYPE.partition(";")[0],
        problems=_problems("400", "401", "403", "404", "406", "414"),
    )
    types: dict[str, Any] = {kind.partition(";")[0]: {} for kind in (GENERIC_TYPE, SPECIFIC_TYPE)}
    data = {
        "summary": "SDMX-REST 2.1: the protected table of a key; a dimension that is _T is not in the table.",
        "parameters": _path("flow", "key"),
        "responses": {
            "200": {"description": "The table.", "content": types},
            **_problems("400", "401", "403", "404", "406", "410", "413", "414", "429", "503"),
        },
    }
    parts = ("agency", "id", "version")
    return {
        **{
            "/sdmx/{kind}" + "".join(f"/{{{part}}}" for part in parts[:n]): {
                "get": {**structure, "parameters": [kind, *_path(*parts[:n]), references]}
            }
            for n in range(4)
        },
        "/sdmx/data/{flow}/{key}": {"get": data},
    }


def _of_the_log() -> dict[str, Any]:
    return {
        "/v1/log/head": {"get": _get("The signed head of the log.", problems=_problems("503"))},
        "/v1/log/consistency": {
            "get": _get(
                "Proof that the log continues an earlier one.",
                parameters=[_query("first", "Entries then.", True), _query("second", "Entries now.", True)],
                problems=_problems("400", "404", "503"),
            )
        },
        "/v1/log/inclusion": {
            "get": _get(
                "Proof that an entry is in the log.",
                parameters=[_query("seq", "Number of the entry.", True)],
                problems=_problems("400", "404", "503"),
            )
        },
    }
