"""SDMX-ML 2.1: structures and data as XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product
from xml.sax.saxutils import escape

from discreet.files.published.cube import dense_rows, value_texts
from discreet.files.published.heading import Heading
from discreet.files.published.sdmx import OBS_STATUS
from discreet.model.public import PublicTable
from discreet.server.description import ALTERED
from discreet.server.sdmx_structure import (
    NOTE,
    STATUS,
    TOTAL,
    VALUE,
    SdmxDimension,
    SdmxFlow,
    SdmxStructure,
)

STRUCTURE_TYPE = "application/vnd.sdmx.structure+xml;version=2.1"
GENERIC_TYPE = "application/vnd.sdmx.genericdata+xml;version=2.1"
SPECIFIC_TYPE = "application/vnd.sdmx.structurespecificdata+xml;version=2.1"
SCHEMAS = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"
NAMESPACES = {
    "mes": f"{SCHEMAS}/message",
    "com": f"{SCHEMAS}/common",
    "str": f"{SCHEMAS}/structure",
    "gen": f"{SCHEMAS}/data/generic",
    "ss": f"{SCHEMAS}/data/structurespecific",
    "xsi": "http://www.w3.org/2001/XMLSchema-instance",
}
KINDS = ("dataflow", "codelist", "conceptscheme", "datastructure")
"""Kinds of structures, in the order in which a message has them."""
FLAT = "AllDimensions"
"""What stands at an observation: every dimension, since none of ours is time."""
NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """Text as XML has it between tags and in quotes; signs that XML cannot hold become the sign for such."""
    return escape(NO_XML.sub("\ufffd", text), {'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _tag(name: str, content: str = "", **attributes: str) -> str:
    head = name + "".join(f' {key}="{xml_text(value)}"' for key, value in attributes.items())
    return f"<{head}>{content}</{name}>" if content else f"<{head}/>"


def _named(title: str, description: str = "") -> str:
    lang = 'xml:lang="en"'
    more = f"<com:Description {lang}>{xml_text(description)}</com:Description>" if description else ""
    return f"<com:Name {lang}>{xml_text(title)}</com:Name>{more}"


def _message(kind: str, number: str, agency: str, about: str, body: str, more: str = "") -> bytes:
    """A message: what it is, its header, and what it says. The time is fixed: the same answer has the same bytes."""
    spaces = "".join(f' xmlns:{short}="{address}"' for short, address in NAMESPACES.items())
    header = (
        f"<mes:ID>{xml_text(number)}</mes:ID><mes:Test>false</mes:Test>"
        f"<mes:Prepared>{Heading().prepared}</mes:Prepared>{_tag('mes:Sender', id=agency.replace('.', '_'))}{about}"
    )
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<mes:{kind}{spaces}{more}><mes:Header>{header}</mes:Header>{body}'
    return f"{text}</mes:{kind}>\n".encode()


# ---- structures ---------------------------------------------------------------------------------------------


def structure_message(found: Iterable[tuple[str, str, SdmxStructure]]) -> bytes:
    """A message of structures.

    Parameters
    ----------
    found
        Kind and identifier of each, and the structure that it belongs to.
    """
    written: dict[str, list[str]] = {kind: [] for kind in KINDS}
    agencies = []
    for kind, id, structure in found:
        written[kind].append(_WRITERS[kind](structure, id))
        agencies.append(structure.agency)
    groups = {"dataflow": "Dataflows", "codelist": "Codelists", "conceptscheme": "Concepts"}
    parts = [
        f"<str:{group}>{''.join(written[kind])}</str:{group}>"
        for kind, group in {**groups, "datastructure": "DataStructures"}.items()
        if written[kind]
    ]
    return _message("Structure", "structures", agencies[0], "", f"<mes:Structures>{''.join(parts)}</mes:Structures>")


def _maintained(name: str, structure: SdmxStructure, id: str, content: str) -> str:
    return _tag(f"str:{name}", content, id=id, agencyID=structure.agency, version=structure.version, isFinal="true")


def _ref(structure: SdmxStructure, id: str, package: str, kind: str) -> str:
    values = {"agencyID": structure.agency, "id": id, "version": structure.version}
    return _tag("Ref", **values, package=package, **{"class": kind})


def _dataflow(structure: SdmxStructure, id: str) -> str:
    dataset = structure.dataset
    words = " ".join(part for part in (dataset.catalogue.description, ALTERED) if part)
    ref = _ref(structure, dataset.name, "datastructure", "DataStructure")
    content = _named(structure.flows[id].title(dataset), words) + f"<str:Structure>{ref}</str:Structure>"
    return _maintained("Dataflow", structure, id, content)


def _codelist(structure: SdmxStructure, id: str) -> str:
    if id == structure.statuses:
        codes = "".join(_tag("str:Code", _named(words), id=code) for code, words in OBS_STATUS.items())
        return _maintained("Codelist", structure, id, _named("Observation status") + codes)
    dimension = next(part for part in structure.dimensions if structure.code_list(part) == id)
    return _maintained("Codelist", structure, id, _named(dimension.label) + "".join(_codes(dimension)))


def _codes(dimension: SdmxDimension) -> Iterator[str]:
    hierarchy, ids = dimension.hierarchy, dimension.ids
    for code, parent in zip(hierarchy.codes, hierarchy.parents.tolist(), strict=True):
        above = _tag("str:Parent", _tag("Ref", id=ids[hierarchy.codes[parent]])) if parent >= 0 else ""
        yield _tag("str:Code", _named(hierarchy.labels.get(code, code)) + above, id=ids[code])


def _concepts(structure: SdmxStructure, id: str) -> str:
    words = {part.id: part.label for part in structure.dimensions}
    words |= {VALUE: "Observed value", STATUS: "Observation status", NOTE: "Note"}
    concepts = "".join(_tag("str:Concept", _named(text), id=concept) for concept, text in words.items())
    return _maintained("ConceptScheme", structure, id, _named(f"Concepts of {structure.dataset.name}") + concepts)


def _component(structure: SdmxStructure, name: str, id: str, codes: str | None, content: str = "", **more: str) -> str:
    scheme = {"maintainableParentID": structure.concepts, "maintainableParentVersion": structure.version}
    concept = {"package": "conceptscheme", "class": "Concept"}
    identity = _tag("str:ConceptIdentity", _tag("Ref", id=id, agencyID=structure.agency, **scheme, **concept))
    coded = ""
    if codes is not None:
        listed = _tag("str:Enumeration", _ref(structure, codes, "codelist", "Codelist"))
        coded = _tag("str:LocalRepresentation", listed)
    return _tag(f"str:{name}", identity + coded + content, id=id, **more)


def _datastructure(structure: SdmxStructure, id: str) -> str:
    dimensions = "".join(
        _component(structure, "Dimension", part.id, structure.code_list(part), position=str(place))
        for place, part in enumerate(structure.dimensions, 1)
    )
    of_cells = _tag("str:AttributeRelationship", _tag("str:PrimaryMeasure", _tag("Ref", id=VALUE)))
    of_all = _tag("str:AttributeRelationship", _tag("str:None"))
    optional = {"assignmentStatus": "Conditional"}
    attributes = _component(structure, "Attribute", STATUS, structure.statuses, of_cells, **optional)
    attributes += _component(structure, "Attribute", NOTE, None, of_all, **optional)
    components = (
        _tag("str:DimensionList", dimensions, id="DimensionDescriptor")
        + _tag("str:AttributeList", attributes, id="AttributeDescriptor")
        + _tag("str:MeasureList", _component(structure, "PrimaryMeasure", VALUE, None), id="MeasureDescriptor")
    )
    title = _named(structure.dataset.catalogue.title or structure.dataset.name)
    return _maintained("DataStructure", structure, id, title + _tag("str:DataStructureComponents", components))


_WRITERS = {
    "dataflow": _dataflow,
    "codelist": _codelist,
    "conceptscheme": _concepts,
    "datastructure": _datastructure,
}


# ---- data ---------------------------------------------------------------------------------------------------


def generic_data(structure: SdmxStructure, flow: SdmxFlow, area: str | None, table: PublicTable) -> bytes:
    """A protected table as generic data.

    Parameters
    ----------
    structure
        The structure of the data set.
    flow
        What was asked.
    area
        The one area that the table is about, where it is about one.
    table
        What is shown.
    """
    lines = []
    for codes, value in _observations(structure, area, table):
        key = "".join(
            f'<gen:Value id="{part.id}" value="{code}"/>'
            for part, code in zip(structure.dimensions, codes, strict=True)
        )
        status = f'<gen:Attributes><gen:Value id="{STATUS}" value="A"/></gen:Attributes>'
        lines.append(f'<gen:Obs><gen:ObsKey>{key}</gen:ObsKey><gen:ObsValue value="{value}"/>{status}</gen:Obs>')
    note = _tag("gen:Attributes", _tag("gen:Value", id=NOTE, value=ALTERED))
    body = f'<mes:DataSet structureRef="{STRUCTURE_ID}">{note}{"".join(lines)}</mes:DataSet>'
    return _message("GenericData", "data", structure.agency, _about(structure, flow), body)


def specific_data(structure: SdmxStructure, flow: SdmxFlow, area: str | None, table: PublicTable) -> bytes:
    """A protected table as data of its own structure, which is shorter; see :func:`generic_data`."""
    lines = []
    for codes, value in _observations(structure, area, table):
        key = "".join(f' {part.id}="{code}"' for part, code in zip(structure.dimensions, codes, strict=True))
        lines.append(f'<Obs{key} {VALUE}="{value}" {STATUS}="A"/>')
    space = f"urn:sdmx:org.sdmx.infomodel.datastructure.Dataflow={structure.agency}:{flow.id(structure.dataset)}"
    space += f"({structure.version}):ObsLevelDim:{FLAT}"
    head = (
        f'<mes:DataSet ss:structureRef="{STRUCTURE_ID}" ss:dataScope="DataStructure" xsi:type="own:DataSetType" '
        f'{NOTE}="{xml_text(ALTERED)}">'
    )
    about = _about(structure, flow, namespace=space)
    more = f' xmlns:own="{xml_text(space)}"'
    return _message(
        "StructureSpecificData", "data", structure.agency, about, f"{head}{''.join(lines)}</mes:DataSet>", more
    )


STRUCTURE_ID = "structure"
"""What a message calls its structure by itself."""


def _about(structure: SdmxStructure, flow: SdmxFlow, **more: str) -> str:
    usage = _ref(structure, flow.id(structure.dataset), "datastructure", "Dataflow")
    content = _tag("com:StructureUsage", usage)
    return _tag("mes:Structure", content, structureID=STRUCTURE_ID, **more, dimensionAtObservation=FLAT)


def _observations(
    structure: SdmxStructure, area: str | None, table: PublicTable
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Codes and value of every cell, zeros written out: to SDMX, what is not there is not known."""
    texts, rows = value_texts(table), dense_rows(table).tolist()
    at = {name: k for k, name in enumerate(table.variables)}
    lists = [[part.ids[code] for code in table.code_lists[at[part.variable]]] for part in _in_table(structure, at)]
    fixed = [
        part.ids[area] if area is not None and part.variable == structure.dataset.geography else TOTAL
        for part in structure.dimensions
    ]
    places = [k for k, part in enumerate(structure.dimensions) if part.variable in at]
    for codes, row in zip(product(*lists), rows, strict=True):
        key = fixed.copy()
        for place, code in zip(places, codes, strict=True):
            key[place] = code
        value = texts[row] if row >= 0 else "0"
        if value is not None:
            yield tuple(key), value


def _in_table(structure: SdmxStructure, at: dict[str, int]) -> list[SdmxDimension]:
    """Dimensions that a table has; it stands in their order."""
    found = [part for part in structure.dimensions if part.variable in at]
    assert [at[part.variable] for part in found] == sorted(at.values())
    return found
