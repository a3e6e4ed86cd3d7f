"""Public tables as JSON-stat and SDMX-JSON, written a second time."""

from __future__ import annotations

import json
from math import prod
from typing import Any

from discreet.errors import InputError
from discreet.verify.formats.flat import STATUS_OF, identifiers, sdmx_code
from discreet.verify.formats.shown import EMPTY, WITHHELD, Different, ShownTable
from discreet.verify.jsonfile import parse_json

SIGNS = {"X": WITHHELD, "E": EMPTY, "A": "altered to protect confidentiality"}
OBSERVED = {"A": "Normal value", "O": "Missing value", "Q": "Missing value; suppressed"}
REASONS = {
    "A": "Primary confidentiality due to small counts",
    "C": "Confidential statistical information",
    "D": "Secondary confidentiality set by the sender, not for publication",
    "F": "Free (free for publication)",
    "G": "Primary confidentiality due to dominance by one or two units",
}
SCHEMA = (
    "https://raw.githubusercontent.com/sdmx-twg/sdmx-json/master/data-message/tools/schemas/2.0.0/"
    "sdmx-json-data-schema.json"
)


class Digits(str):
    """A number as it is written."""

    __slots__ = ()


def check_jsonstat(found: bytes, shown: ShownTable) -> None:
    """A JSON-stat file is byte for byte what the cells give."""
    same_json(_jsonstat(shown.cube(), shown.notes()), found)


def check_sdmx_json(found: bytes, shown: ShownTable) -> None:
    """An SDMX-JSON file is byte for byte what the cells give."""
    cube = shown.cube()
    statuses = [STATUS_OF[letter] for letter in cube.table.status]
    same_json(sdmx_message(cube, cube.numbers(), {"OBS_STATUS": statuses}), found)


def _jsonstat(cube: ShownTable, notes: list[str]) -> dict[str, Any]:
    table, places = cube.table, cube.places()
    sizes = [len(codes) for codes in table.code_lists]
    numbers = {place: Digits(text) for place, text in zip(places, cube.numbers(), strict=True) if text}
    signs = {place: sign for place, sign in zip(places, table.status, strict=True) if sign != "V"}
    if prod(sizes) == len(table):
        values: Any = [numbers.get(place) for place in range(len(table))]
    else:
        values = {str(place): numbers[place] for place in sorted(numbers)}
    made: dict[str, Any] = {"version": "2.0", "class": "dataset", "label": table.name}
    made["id"], made["size"] = list(table.variables), sizes
    made["dimension"] = {
        variable: {"label": variable, "category": _category(cube, k)} for k, variable in enumerate(table.variables)
    }
    made["value"] = values
    made["status"] = "A" if table.altered else {str(place): sign for place, sign in signs.items()}
    made["extension"] = {
        "decimals": table.decimals,
        "measure": cube.measure,
        "period": table.period,
        "units": cube.words.units,
        "status": {"label": {sign: SIGNS[sign] for sign in sorted(set(signs.values()))}},
    }
    made |= {"source": cube.words.source} if cube.words.source else {}
    return made | ({"note": notes} if notes else {})


def _category(cube: ShownTable, k: int) -> dict[str, Any]:
    codes = cube.table.code_lists[k]
    below: dict[str, list[str]] = {}
    for code, parent in zip(codes, cube.above(k), strict=True):
        if parent >= 0:
            below.setdefault(codes[parent], []).append(code)
    category = {"index": list(codes), "label": {code: cube.label(k, code) for code in codes}}
    return category | ({"child": below} if below else {})


def sdmx_message(cube: ShownTable, values: list[str], statuses: dict[str, list[str]]) -> dict[str, Any]:
    """An SDMX-JSON message with some columns of statuses."""
    table, words = cube.table, cube.words
    name = identifiers([table.name], [])[0]
    urn = f"urn:sdmx:org.sdmx.infomodel.datastructure.Dataflow={words.agency}:{name}(1.0.0)"
    links = [{"rel": "dataflow", "urn": urn}]
    kinds = {known: sorted(set(column)) for known, column in statuses.items()}
    observations = {}
    for i, places in enumerate(table.codes.tolist()):
        key = ":".join(map(str, [*places, 0] if table.period else places))
        letters = [kinds[known].index(column[i]) for known, column in statuses.items()]
        observations[key] = [Digits(values[i]) if values[i] else None, *letters]
    structure = {
        "dataSets": [0],
        "links": links,
        "name": table.name,
        "dimensions": {"dataSet": [], "series": [], "observation": _dimensions(cube)},
        "measures": {"observation": [{"id": "OBS_VALUE", "name": cube.measure}]},
        "attributes": {"dataSet": [], "dimensionGroup": [], "series": [], "observation": _attributes(kinds)},
    }
    if cube.notes() and "CONF_STATUS" not in statuses:
        structure["description"] = " ".join(cube.notes())
    about = {
        "schema": SCHEMA,
        "id": name,
        "prepared": words.prepared,
        "contentLanguages": ["en"],
        "sender": {"id": words.agency.replace(".", "_")},
    }
    sets = [{"structure": 0, "action": "Information", "links": links, "observations": observations}]
    return {"meta": about, "data": {"structures": [structure], "dataSets": sets}}


def _dimensions(cube: ShownTable) -> list[dict[str, Any]]:
    table, made = cube.table, []
    for k, name in enumerate(identifiers(table.variables, ["TIME_PERIOD"])):
        values = []
        for code, parent in zip(table.code_lists[k], cube.above(k), strict=True):
            value = {"id": sdmx_code(code), "name": cube.label(k, code)}
            values.append(value | ({"parent": sdmx_code(table.code_lists[k][parent])} if parent >= 0 else {}))
        made.append({"id": name, "name": table.variables[k], "keyPosition": k, "values": values})
    if table.period:
        time: dict[str, Any] = {"id": "TIME_PERIOD", "name": "Time period", "keyPosition": len(made)}
        made.append({**time, "roles": ["TIME_PERIOD"], "values": [{"value": table.period}]})
    return made


def _attributes(kinds: dict[str, list[str]]) -> list[dict[str, Any]]:
    about = {"OBS_STATUS": ("Observation status", OBSERVED), "CONF_STATUS": ("Confidentiality status", REASONS)}
    return [
        {
            "id": known,
            "name": about[known][0],
            "relationship": {"observation": {}},
            "values": [{"id": letter, "name": about[known][1][letter]} for letter in letters],
        }
        for known, letters in kinds.items()
        if letters
    ]


def same_json(expected: Any, found: bytes) -> None:
    """Refuse a JSON file that is not byte for byte the expected one, with the place where its meaning differs."""
    if (_text(expected) + "\n").encode() == found:
        return
    try:
        given = parse_json(found, numbers=Digits)
    except InputError as error:
        raise Different(str(error.args[0])) from None
    raise Different(_place(expected, given, "") or "the file is written in another way than releases are")


def _text(data: Any) -> str:
    if isinstance(data, Digits):
        return str(data)
    if isinstance(data, dict):
        return "{" + ",".join(f"{_text(key)}:{_text(value)}" for key, value in data.items()) + "}"
    if isinstance(data, list):
        return "[" + ",".join(map(_text, data)) + "]"
    return json.dumps(data, ensure_ascii=False)


def _place(expected: Any, found: Any, path: str) -> str:
    """Where two trees differ first, in words; nothing where they say the same."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in found:
            if key not in expected:
                return f"the entry {path}{key} is not one that the release has"
        for key, value in expected.items():
            if key not in found:
                return f"the entry {path}{key} is missing"
            wrong = _place(value, found[key], f"{path}{key}.")
            if wrong:
                return wrong
        return ""
    if isinstance(expected, list) and isinstance(found, list):
        for i, (mine, theirs) in enumerate(zip(expected, found, strict=False)):
            wrong = _place(mine, theirs, f"{path}{i}.")
            if wrong:
                return wrong
        return "" if len(expected) == len(found) else f"the list {path[:-1]} has another length"
    same = str(expected) == found if isinstance(expected, int) else type(expected) is type(found) and expected == found
    return "" if same else f"the entry {path[:-1]} is not what the published cells give"
