"""Requests that the description of the addresses allows, and some that it does not, made up by schemathesis."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from discreet.server.account import MemoryAccount
from discreet.server.dataset import Dataset
from discreet.server.identity import Identity
from discreet.server.openapi import openapi
from discreet.server.roles import Role
from discreet.server.store.schema import migrate
from discreet.server.store.store import Store
from tests.server.census import PUBLIC, made
from tests.server.extracts.conftest import PLOTS
from tests.server.extracts.desk import Desk
from tests.server.extracts.made import build
from tests.server.extracts.made import census as census_of_households
from tests.server.running import Running, running

schemathesis = pytest.importorskip("schemathesis")

from schemathesis import GenerationMode  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
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
    "id": ["census", "all", "CL6_census_sex", "CS_census", "+"],
    "version": ["latest", "all", "2021.1"],
}
"""What a data set is asked by those who know it: else nearly all that is made up ends at a name."""


def described() -> Any:
    """The description without the log, which this server does not have."""
    plain = json.loads(openapi())
    plain["paths"] = {path: part for path, part in plain["paths"].items() if not path.startswith("/v1/log")}
    return plain


PLOT: dict[str, list[Any]] = {
    "kind": ["histogram"],
    "variables": [["income"], ["age"]],
    "universe": ["all", "adults"],
    "limits": [None],
    "width": [None, 20_000],
    "local": [0.0],
    "points": [None],
    "trim": [0],
    "smooth": [5],
    "levels": [None],
    "noise": [1.0],
    "log": [False],
    "weight": [None],
    "format": ["json", "csv", "svg"],
}
"""Plots that can be drawn: of what is made up freely, nearly nothing can."""
CART: dict[str, list[Any]] = {
    "dataset": ["sample"],
    "edition": ["1990.1"],
    "variables": [["age"], ["age", "sex"]],
    "format": ["discreet extract 1"],
    "where": [[], ["age >= 30"], ["sex == 'F'"]],
    "households": [False, True],
    "share": [1.0, 0.5],
    "strata": [False],
    "file": ["csv", "parquet"],
}
"""Extracts that may be had."""
MANY_PLOTS = {**PLOTS, "exact_share = 0.5": "exact_share = 0.5\nplot_account = 1000.0"}


class Plotting(NamedTuple):
    """A project, and somebody who works on it."""

    project: int
    member: Identity


@pytest.fixture(scope="module")
def census_with_plots(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return made(tmp_path_factory.mktemp("described"), records=4_000, areas=20, change=MANY_PLOTS)


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("projects") / "server.db"
    migrate(path)
    with Store.open(path) as store:
        yield store


@pytest.fixture(scope="module")
def plotting(projects: Store, census_with_plots: Dataset) -> Plotting:
    name, edition = census_with_plots.name, census_with_plots.edition
    projects.editions.register(name, edition, key_fingerprint=census_with_plots.manifest.key, key_version=1)
    ada = projects.people.add("ada", "ada@example.org")
    number = projects.projects.request("plots", ada, licence="1", expires=int(time.time()) + 86_400)
    projects.projects.set_state(number, "active")
    projects.projects.grant(number, name, edition, ("income", "age"), None)
    return Plotting(number, Identity(ada, "ada", frozenset({Role.RESEARCHER}), 3))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Where extracts are asked for: Ada has a project, Ben has none."""
    folder = tmp_path_factory.mktemp("desk")
    census_of_households(folder, 8_000, 16)
    migrate(folder / "server.db")
    with Store.open(folder / "server.db") as store:
        yield Desk(store, build(folder, {"2000": "1000"}), folder)


@pytest.fixture(scope="module")
def server(census_with_plots: Dataset, projects: Store, plotting: Plotting, desk: Desk) -> Iterator[Running]:
    with running(census_with_plots, store=projects, desk=desk.desk) as found:
        yield found


def somebody(path: str, plotting: Plotting, researcher: Identity) -> Identity:
    """The public asks, and for plots and extracts somebody who may have some."""
    if path.startswith("/v1/extracts"):
        return researcher
    return plotting.member if path.endswith("/plot") else PUBLIC


@pytest.fixture
def strange(server: Running, plotting: Plotting, desk: Desk, path: str) -> None:
    """Who has no project asks."""
    server.who = somebody(path, plotting, desk.who("Ben"))


@pytest.fixture
def expert(server: Running, plotting: Plotting, desk: Desk, path: str) -> None:
    """Who has one asks."""
    server.who = somebody(path, plotting, desk.who("Ada"))


@pytest.fixture(scope="module")
def strangers() -> Any:
    """Who knows the description only."""
    return schemathesis.openapi.from_dict(described())


@pytest.fixture(scope="module")
def extract_numbers(desk: Desk) -> dict[str, int]:
    """The number that those who know it put into the address of an extract or project."""
    project, base = desk.active(), "/v1/extracts"
    ready, destroyed = desk.ask(project, "age"), desk.ask(project, "age")
    while desk.worker.run_once():
        pass
    waiting = desk.ask(project, "age")
    return {
        f"{base}/projects/{{number}}/estimate": project,
        f"{base}/projects/{{number}}/extracts": project,
        f"{base}/{{number}}": ready,
        f"{base}/{{number}}/definition": ready,
        f"{base}/{{number}}/file": ready,
        f"{base}/{{number}}/withdraw": waiting,
        f"{base}/{{number}}/destroyed": destroyed,
    }


@pytest.fixture(scope="module")
def acquainted(plotting: Plotting, desk: Desk, extract_numbers: dict[str, int]) -> Any:
    """Who knows the names as well."""
    plain = described()
    for path, number in extract_numbers.items():
        for operation in plain["paths"][path].values():
            operation["parameters"][0]["schema"]["enum"] = [number]
    file = plain["paths"]["/v1/extracts/files/{name}/{edition}"]["get"]["parameters"]
    file[0]["schema"], file[1]["schema"] = {"enum": [desk.file.name]}, {"enum": [desk.file.edition]}
    cart = plain["components"]["schemas"]["Definition"]["properties"]
    cart.update({name: {"enum": known} for name, known in CART.items()})
    plain["components"]["schemas"]["KeyBody"]["properties"]["key"] = {"enum": [desk.secret.public.text]}
    for part in plain["paths"].values():
        for operation in part.values():
            for parameter in operation.get("parameters", []):
                if parameter["name"] in KNOWN and "enum" not in parameter["schema"]:
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
    plot = plain["components"]["schemas"]["PlotBody"]["properties"]
    plot.update({name: {"enum": known} for name, known in {**PLOT, "project": [plotting.project]}.items()})
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


@pytest.mark.usefixtures("strange")
@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_strangers_find_no_error_of_ours(server: Running, strangers: Any, path: str, method: str, mode: Any) -> None:
    try:
        assert judged(server, strangers, path, method, mode)
    except Unsatisfiable:
        assert mode == GenerationMode.NEGATIVE  # nothing can be wrong with what has no parts


@pytest.mark.usefixtures("expert")
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_those_who_know_the_names_get_answers_and_find_none(
    server: Running, acquainted: Any, path: str, method: str
) -> None:
    assert {200, 201} & judged(server, acquainted, path, method, GenerationMode.POSITIVE)


def test_an_error_of_ours_is_found(server: Running, acquainted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server.who = PUBLIC

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(server.service, "dataset", broken)
    with pytest.raises(BaseException, match="Server error"):
        judged(server, acquainted, "/v1/datasets/{name}/{edition}", "get", GenerationMode.POSITIVE)
