"""Tables as SDMX-CSV 2.0 and SDMX-JSON 2.0, with statuses from the official code lists.

Public files carry ``OBS_STATUS`` only. ``CONF_STATUS`` says which cells are confidential and why: it belongs into
transmissions between offices, which lie in ``restricted/`` and hold the true values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from discreet.errors import ParameterError
from discreet.files.celltext import quoted
from discreet.files.published.cube import label_of, parents_of, stacked, value_texts
from discreet.files.published.heading import Heading, notes
from discreet.model.custodian import TableCustodian
from discreet.model.public import PublicTable
from discreet.model.table import CellStatus, Table
from discreet.model.units import unit_text

OBS_STATUS = {"A": "Normal value", "O": "Missing value", "Q": "Missing value; suppressed"}
"""Codes of CL_OBS_STATUS that are used."""
CONF_STATUS = {
    "A": "Primary confidentiality due to small counts",
    "C": "Confidential statistical information",
    "D": "Secondary confidentiality set by the sender, not for publication",
    "F": "Free (free for publication)",
    "G": "Primary confidentiality due to dominance by one or two units",
}
"""Codes of CL_CONF_STATUS that are used."""
OF_LETTER = {"V": "A", "A": "A", "X": "Q", "E": "O"}
COUNTS = frozenset({"min_contributors", "min_frequency"})
CONCENTRATION = frozenset({"p_percent", "prior_posterior", "dominance", "max_share"})
SCHEMA = (
    "https://raw.githubusercontent.com/sdmx-twg/sdmx-json/master/data-message/tools/schemas/2.0.0/"
    "sdmx-json-data-schema.json"
)


@dataclass(frozen=True)
class Observations:
    """What an SDMX message says: where each value stands, the value, and statuses by name."""

    table: PublicTable
    values: Sequence[str | None]
    statuses: dict[str, Sequence[str]]


def code_id(code: str) -> str:
    """A code as an SDMX identifier; what these cannot hold becomes its number between dollar signs.

    A sign that a spreadsheet takes for the beginning of a formula is written so, too.

    Examples
    --------
    >>> code_id("C10"), code_id("C 10"), code_id("-5")
    ('C10', 'C$20$10', '$2D$5')
    """
    escaped = re.sub(r"[^A-Za-z0-9_@-]", lambda found: f"${ord(found[0]):X}$", code)
    escaped = f"${ord(escaped[0]):X}${escaped[1:]}" if escaped[:1] in ("-", "@") else escaped
    return escaped or "$$"


def dimension_ids(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Identifiers of dimensions: letters, digits, ``_`` and ``-``, beginning with a letter, never two the same."""
    used = {name.upper() for name in taken}
    found = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)
        plain = plain if re.match("[A-Za-z]", plain) else f"V_{plain}"
        while plain.upper() in used:
            plain += "_"
        used.add(plain.upper())
        found.append(plain)
    return found


def public_observations(table: PublicTable) -> Observations:
    """What goes out: values of published cells, and ``OBS_STATUS``."""
    cube = stacked(table)
    return Observations(cube, value_texts(cube), {"OBS_STATUS": [OF_LETTER[letter] for letter in cube.status]})


def restricted_observations(custodian: TableCustodian, number: int) -> Observations:
    """What goes to a partner office: true values of all cells, ``OBS_STATUS`` and ``CONF_STATUS``."""
    if custodian.published is not None:
        raise ParameterError(
            "CONF_STATUS says which cells are withheld, and a table with altered values withholds none.",
            hint="Leave restricted out of [output].",
        )
    table, status = custodian.tables.tables[number], custodian.status[number]
    shown = custodian.public().tables[number]
    values = [
        None if empty else unit_text(value, table.decimals)
        for value, empty in zip(table.value.tolist(), table.empty.tolist(), strict=True)
    ]
    observed = np.where(table.empty, "O", "A").tolist()
    reasons = [_reason(table, row, CellStatus(s)) for row, s in enumerate(status.tolist())]
    return Observations(shown, values, {"OBS_STATUS": observed, "CONF_STATUS": reasons})


def _reason(table: Table, row: int, status: CellStatus) -> str:
    """The code of CL_CONF_STATUS for a cell; one that says no more than is known of it."""
    if status == CellStatus.SECONDARY:
        return "D"
    if status != CellStatus.UNSAFE:
        return "F"
    found = table.assessment
    hits = 0 if found is None else int(found.hits[row])
    kinds = {str(rule["kind"]) for bit, rule in enumerate(found.rules if found else ()) if hits >> bit & 1}
    if kinds and kinds <= COUNTS:
        return "A"
    return "G" if kinds and kinds <= CONCENTRATION else "C"


def write_sdmx_csv(path: Path, table: PublicTable, heading: Heading) -> None:
    """Write a public table as SDMX-CSV 2.0."""
    path.write_text(csv_text(public_observations(table), heading), encoding="utf-8", newline="\n")


def write_sdmx_json(path: Path, table: PublicTable, heading: Heading) -> None:
    """Write a public table as SDMX-JSON 2.0."""
    path.write_bytes(json_text(public_observations(table), heading))


def _flow(table: PublicTable, heading: Heading) -> tuple[str, str]:
    """Agency, identifier and version of the dataflow, as CSV and as URN write them."""
    name = dimension_ids([table.name], ())[0]
    return f"{heading.agency}:{name}(1.0.0)", f"urn:sdmx:org.sdmx.infomodel.datastructure.Dataflow={heading.agency}"


def csv_text(found: Observations, heading: Heading) -> str:
    """An SDMX-CSV 2.0 message: structure, action, dimensions, value, attributes."""
    table = found.table
    flow = _flow(table, heading)[0]
    time = ["TIME_PERIOD"] if table.period else []
    fixed = ["STRUCTURE", "STRUCTURE_ID", "ACTION", "TIME_PERIOD", "OBS_VALUE", "COMMENT_DSET", *found.statuses]
    dimensions = dimension_ids(table.variables, fixed)
    comment = {"COMMENT_DSET": " ".join(notes(table))} if table.altered else {}
    lines = [[*fixed[:3], *dimensions, *time, "OBS_VALUE", *found.statuses, *comment]]
    ids = [[code_id(code) for code in codes] for codes in table.code_lists]
    for row, places in enumerate(table.codes.tolist()):
        codes = [mine[place] for mine, place in zip(ids, places, strict=True)]
        period = [_inert(table.period)] if table.period else []
        statuses = [column[row] for column in found.statuses.values()]
        lines.append(["dataflow", flow, "I", *codes, *period, found.values[row] or "", *statuses, *comment.values()])
    return "".join(",".join(quoted(field) for field in line) + "\n" for line in lines)


def _inert(text: str) -> str:
    """Free text that no spreadsheet runs."""
    return code_id(text) if text[:1] in "=+-@\t\r" else text


def json_text(found: Observations, heading: Heading) -> bytes:
    """An SDMX-JSON 2.0 message with flat observations."""
    table = found.table
    flow, urn = _flow(table, heading)
    link = {"rel": "dataflow", "urn": f"{urn}:{flow.split(':', 1)[1]}"}
    dimensions = [
        {"id": name, "name": variable, "keyPosition": k, "values": _values(table, k)}
        for k, (name, variable) in enumerate(
            zip(dimension_ids(table.variables, ["TIME_PERIOD"]), table.variables, strict=True)
        )
    ]
    if table.period:
        period = {"id": "TIME_PERIOD", "name": "Time period", "keyPosition": len(dimensions)}
        dimensions.append({**period, "roles": ["TIME_PERIOD"], "values": [{"value": table.period}]})
    lists = {"OBS_STATUS": OBS_STATUS, "CONF_STATUS": CONF_STATUS}
    used = {name: sorted(set(column)) for name, column in found.statuses.items()}
    attributes: list[dict[str, Any]] = [
        {
            "id": name,
            "name": "Observation status" if name == "OBS_STATUS" else "Confidentiality status",
            "relationship": {"observation": {}},
            "values": [{"id": code, "name": lists[name][code]} for code in codes],
        }
        for name, codes in used.items()
        if codes
    ]
    observations: dict[str, list[Any]] = {}
    for row, places in enumerate(table.codes.tolist()):
        value = found.values[row]
        number = None if value is None else msgspec.Raw(value.encode())
        statuses = [used[name].index(column[row]) for name, column in found.statuses.items()]
        key = ":".join(str(place) for place in [*places, *([0] if table.period else [])])
        observations[key] = [number, *statuses]
    structure: dict[str, Any] = {
        "dataSets": [0],
        "links": [link],
        "name": table.name,
        "dimensions": {"dataSet": [], "series": [], "observation": dimensions},
        "measures": {"observation": [{"id": "OBS_VALUE", "name": table.measure or "count"}]},
        "attributes": {"dataSet": [], "dimensionGroup": [], "series": [], "observation": attributes},
    }
    if notes(table) and "CONF_STATUS" not in found.statuses:
        structure["description"] = " ".join(notes(table))
    message = {
        "meta": {
            "schema": SCHEMA,
            "id": dimension_ids([table.name], ())[0],
            "prepared": heading.prepared,
            "contentLanguages": ["en"],
            "sender": {"id": heading.agency.replace(".", "_")},
        },
        "data": {
            "structures": [structure],
            "dataSets": [
                {"structure": 0, "action": "Information", "links": [link], "observations": observations},
            ],
        },
    }
    return msgspec.json.encode(message) + b"\n"


def _values(table: PublicTable, k: int) -> list[dict[str, str]]:
    codes, parents = table.code_lists[k], parents_of(table, k)
    found = []
    for code, parent in zip(codes, parents, strict=True):
        entry = {"id": code_id(code), "name": label_of(table, k, code)}
        if parent >= 0:
            entry["parent"] = code_id(codes[parent])
        found.append(entry)
    return found
