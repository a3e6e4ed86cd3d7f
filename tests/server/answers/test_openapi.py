"""Requests that the description of the addresses allows, and some that it does not, made up by schemathesis."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from discreet.server.account import MemoryAccount
from discreet.server.dataset import Dataset
from discreet.server.openapi import openapi
from tests.server.running import Running, running

schemathesis = pytest.importorskip("schemathesis")

from schemathesis import GenerationMode  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance  # noqa: E402

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance]
BOUNDED = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
KNOWN: dict[str, list[str]] = {
    "name": ["census"],
    "edition": ["latest", "2021.1"],
    "variable": ["sex", "area"],
    "variables": ["sex", "sex,marital", "age_group:1,sex", "area,sex", "labour:2", "sex,sex", "sex:", ","],
    "universe": ["all", "adults", "x"],
    "area": ["G01", "Total", "G01010101", ""],
    "value": ["income", "", "x"],
    "flow": ["census", "census@adults", "UNKNOWN,census@all@income,latest"],
    "key": ["_T.F.._T._T._T._T", "G01..._T._T._T._T", "all", "......", "_T._T._T._T._T._T._T", "..+.....", "_T"],
    "agency": ["UNKNOWN", "all", "+"],
    "id": ["census", "all", "CL_census@sex", "CS_census", "+"],
    "version": ["latest", "all", "2021.1"],
}
"""What a data set is asked by those who know it: else nearly all that is made up ends at a name."""


def described() -> Any:
    """The description without the log, which this server does not have."""
    plain = json.loads(openapi())
    plain["paths"] = {path: part for path, part in plain["paths"].items() if not path.startswith("/v1/log")}
    return plain


@pytest.fixture(scope="module")
def server(census: Dataset) -> Iterator[Running]:
    with running(census) as found:
        yield found


@pytest.fixture(scope="module")
def strangers() -> Any:
    """Who knows the description only."""
    return schemathesis.openapi.from_dict(described())


@pytest.fixture(scope="module")
def acquainted() -> Any:
    """Who knows the names as well."""
    plain = described()
    for part in plain["paths"].values():
        for operation in part.values():
            for parameter in operation.get("parameters", []):
                if parameter["name"] in KNOWN:
                    parameter["schema"] = {"type": "string", "enum": KNOWN[parameter["name"]]}
    body = plain["components"]["schemas"]["QuestionBody"]["properties"]
    names = {"type": "string", "enum": ["sex", "area", "age_group:1", "marital", "labour"]}
    body["variables"] = {"type": "array", "items": names, "minItems": 1, "maxItems": 3, "uniqueItems": True}
    body["measure"] = {"type": "string", "enum": ["sum", "mean"]}
    codes = {"type": "array", "items": {"type": "string", "enum": ["F", "M", "Total", "S", "x"]}}
    body["select"] = {"type": "object", "properties": {"sex": codes, "marital": codes}, "additionalProperties": False}
    groups = {"type": "object", "additionalProperties": codes, "maxProperties": 2}
    body["groups"] = {"type": "object", "properties": {"sex": groups}, "additionalProperties": False}
    for name in ("universe", "area", "value"):
        body[name] = {"type": "string", "enum": KNOWN[name]}
    return schemathesis.openapi.from_dict(plain)


OPERATIONS = [
    (path, method)
    for path, part in json.loads(openapi())["paths"].items()
    for method in part
    if not path.startswith("/v1/log")
]


def judged(server: Running, schema: Any, path: str, method: str, mode: Any) -> set[int]:
    """Send what schemathesis makes up for an operation and let it judge the answers; their statuses."""
    found = set()
    server.service.account = MemoryAccount()  # what others asked does not count

    @given(case=schema[path][method].as_strategy(generation_mode=mode))
    @BOUNDED
    def judge(case: Any) -> None:
        found.add(case.call_and_validate(base_url=server.url, checks=CHECKS).status_code)

    judge()
    return found


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_strangers_find_no_error_of_ours(server: Running, strangers: Any, path: str, method: str, mode: Any) -> None:
    try:
        assert judged(server, strangers, path, method, mode)
    except Unsatisfiable:
        assert mode == GenerationMode.NEGATIVE  # nothing can be wrong with what has no parts


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_those_who_know_the_names_get_answers_and_find_none(
    server: Running, acquainted: Any, path: str, method: str
) -> None:
    assert 200 in judged(server, acquainted, path, method, GenerationMode.POSITIVE)


def test_an_error_of_ours_is_found(server: Running, acquainted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(server.service, "dataset", broken)
    with pytest.raises(BaseException, match="Server error"):
        judged(server, acquainted, "/v1/datasets/{name}/{edition}", "get", GenerationMode.POSITIVE)
