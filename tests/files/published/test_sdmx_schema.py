"""SDMX-JSON 2.0 messages keep to the published schema of data messages (sdmx-twg/sdmx-json, 2.0.0).

No package on the registry reads data messages of this version: sdmx1 2.28 knows 1.0 only, and pysdmx 1.21 reads
structures and metadata. So what the schema asks of the parts that are written is stated here, rule by rule.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import discreet as ds
from discreet.files.published import write_public
from tests.files.published.making import public_tables

COMPONENT = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
CODE = re.compile(r"[A-Za-z0-9_@$-]+")
KEY = re.compile(r"[0-9]+(:[0-9]+)*")
LEVELS = {
    "dimensions": {"dataSet", "series", "observation"},
    "measures": {"observation"},
    "attributes": {"dataSet", "dimensionGroup", "series", "observation"},
}
RELATIONSHIPS = {"dimensions", "dataflow", "observation", "primaryMeasure"}


def check_message(message: Mapping[str, Any]) -> None:
    """Raise where a message breaks a rule of the schema."""
    assert set(message) <= {"meta", "data", "errors"}
    meta = message["meta"]
    assert {"id", "prepared", "sender"} <= set(meta)
    assert CODE.fullmatch(meta["id"])
    assert CODE.fullmatch(meta["sender"]["id"])
    assert datetime.fromisoformat(meta["prepared"]).tzinfo is not None
    assert meta["schema"].endswith("/2.0.0/sdmx-json-data-schema.json")
    structures, sets = message["data"]["structures"], message["data"]["dataSets"]
    for structure in structures:
        check_structure(structure, len(sets))
    for data in sets:
        check_set(data, structures[data["structure"]])


def check_structure(structure: Mapping[str, Any], sets: int) -> None:
    """A structure: its components at the levels that there are, each with what it must have."""
    assert structure["dataSets"]
    assert all(0 <= number < sets for number in structure["dataSets"])
    check_links(structure["links"])
    for part, levels in LEVELS.items():
        assert set(structure[part]) <= levels
    positions = []
    for level in structure["dimensions"].values():
        for dimension in level:
            assert {"id", "keyPosition", "values"} <= set(dimension)
            positions.append(dimension["keyPosition"])
            check_component(dimension, {"id", "value"})
    assert positions == list(range(len(positions)))
    for measure in structure["measures"]["observation"]:
        check_component(measure, {"id", "value", "values"})
    for level in structure["attributes"].values():
        for attribute in level:
            assert len(set(attribute["relationship"]) & RELATIONSHIPS) == 1
            assert attribute["relationship"].get("observation", {}) == {}
            check_component(attribute, {"id", "value", "values"})


def check_component(component: Mapping[str, Any], kinds: set[str]) -> None:
    """A component: a name for programs, and values that are codes with words, or plain values."""
    assert COMPONENT.fullmatch(component["id"])
    assert all(COMPONENT.fullmatch(role) for role in component.get("roles", []))
    if "values" not in component:
        return
    values = component["values"]
    assert values
    assert len({json.dumps(value, sort_keys=True) for value in values}) == len(values)
    for value in values:
        [kind] = kinds & set(value)
        if kind == "id":
            assert CODE.fullmatch(value["id"])
            assert isinstance(value["name"], str)
            assert value.get("parent", value["id"]) in {other.get("id") for other in values}


def check_links(links: list[Mapping[str, str]]) -> None:
    """Links say what they lead to, by an address or a registered name."""
    for link in links:
        assert "rel" in link
        assert {"href", "urn"} & set(link)


def check_set(data: Mapping[str, Any], structure: Mapping[str, Any]) -> None:
    """A set of data: observations whose keys and attributes point into the structure."""
    check_links(data["links"])
    assert data["action"] in ("Information", "Append", "Replace", "Delete")
    sizes = [len(dimension["values"]) for dimension in structure["dimensions"]["observation"]]
    attributes = structure["attributes"]["observation"]
    for key, observation in data["observations"].items():
        assert KEY.fullmatch(key)
        places = [int(place) for place in key.split(":")]
        assert len(places) == len(sizes)
        assert all(place < size for place, size in zip(places, sizes, strict=True))
        value, *flags = observation
        assert value is None or isinstance(value, int | float)
        assert len(flags) == len(attributes)
        for flag, attribute in zip(flags, attributes, strict=True):
            assert 0 <= flag < len(attribute["values"])


@given(public_tables(rare=True))
def test_any_public_table_keeps_to_the_schema(table):
    with tempfile.TemporaryDirectory() as folder:
        message = json.loads(write_public(table, Path(folder) / "t.sdmx.json").read_text(encoding="utf-8"))
    check_message(message)
    assert len(message["data"]["dataSets"][0]["observations"]) >= len(table.codes)


def test_restricted_messages_keep_to_the_schema(tmp_path: Path) -> None:
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    release.save(tmp_path / "out", restricted=["sdmx-json"], heading=ds.Heading(agency="XX.YY"))
    message = json.loads((tmp_path / "out" / "restricted" / "turnover.sdmx.json").read_text())
    check_message(message)


@pytest.mark.parametrize(
    "damage",
    [
        lambda m: m["meta"].pop("sender"),
        lambda m: m["data"]["structures"][0]["dimensions"]["observation"][0].update(id="1st"),
        lambda m: m["data"]["structures"][0]["dimensions"]["observation"][0]["values"].clear(),
        lambda m: m["data"]["dataSets"][0].pop("links"),
        lambda m: m["data"]["dataSets"][0]["observations"].update({"0:99": [1, 0]}),
        lambda m: m["data"]["structures"][0]["attributes"]["observation"][0].pop("relationship"),
    ],
)
def test_the_check_sees_damage(tmp_path: Path, damage: Any) -> None:
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    message = json.loads(ds.write_public(release.public, tmp_path / "t.sdmx.json").read_text())
    check_message(message)
    damage(message)
    with pytest.raises((AssertionError, KeyError, ValueError)):
        check_message(message)
