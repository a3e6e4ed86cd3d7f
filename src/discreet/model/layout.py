"""The custodian's files as plain data: which columns a cell file has, and what stands beside it as JSON.

Writing and reading meet here, so that a saved release and its checker speak of the same columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, counted
from discreet.model.arrays import NO_LOWER, NO_UPPER, Ints, Status
from discreet.model.claims.base import Claim
from discreet.model.condition import parse_conditions
from discreet.model.evidence import Acceptance
from discreet.model.geography import geography_from
from discreet.model.hierarchy import Grouping, Hierarchy
from discreet.model.spec import TableSpec
from discreet.model.table import NOBODY, Assessment, CellStatus, Contributions, Holders, Table

FORMAT = 3
PUBLIC_COLUMNS = ("value", "status")
PUBLIC_INTERVAL_COLUMNS = ("value", "lower", "upper", "status")
INTERVAL_COLUMNS = ("published_lower", "published_upper")
LETTER, FLAG, FLOAT, IDENTITY = -1, -2, -3, -4
"""Kinds of columns that are not numbers in units: one letter, true/false, floating point, who contributes (empty where
there is nobody)."""


class CellColumn(NamedTuple):
    """A column of the cell file: integers in units of ``10 ** -decimals``, or another ``kind``."""

    name: str
    data: NDArray[Any]
    kind: int


def cell_columns(
    table: Table,
    status: Status,
    lower: Ints,
    upper: Ints,
    published: Ints | None = None,
    decimals: int = 0,
    intervals: tuple[Ints, Ints] | None = None,
) -> list[CellColumn]:
    """All columns of a custodian's cell file after the codes; ``lower`` and ``upper`` bound the attacker's view.

    ``published`` are altered values in units of ``10 ** -decimals``, and ``intervals`` the ends published beside them.
    """
    value = table.decimals
    columns = [CellColumn("value", table.value, value)]
    if published is not None:
        columns.append(CellColumn("published", published, decimals))
    if intervals is not None:
        columns += [CellColumn(name, ends, decimals) for name, ends in zip(INTERVAL_COLUMNS, intervals, strict=True)]
    holding = table.contributions.get("holding")
    if holding is not None:
        columns.append(CellColumn("contributors", holding.count, 0))
    columns.append(CellColumn("status", status, LETTER))
    assessment = table.assessment
    if assessment is not None:
        columns += [
            CellColumn("lower_protection", assessment.lower, value),
            CellColumn("upper_protection", assessment.upper, value),
            CellColumn("sliding_protection", assessment.sliding, value),
        ]
    columns += [CellColumn("lower", lower, value), CellColumn("upper", upper, value)]
    if assessment is not None:
        columns.append(CellColumn("hits", assessment.hits, 0))
    columns.append(CellColumn("empty", table.empty, FLAG))
    for name, data, kind in (
        ("records", table.records, 0),
        ("nonzero", table.nonzero, 0),
        ("weighted", table.weighted, table.weight_decimals),
        ("key_sum", table.key_sum, 0),
        ("manual", table.manual, 0),
        ("manual_lower", table.manual_lower, value),
        ("manual_upper", table.manual_upper, value),
        ("lower_bound", table.lower_bound, value),
        ("upper_bound", table.upper_bound, value),
        ("cost", table.cost, FLOAT),
    ):
        if data is not None:
            columns.append(CellColumn(name, data, kind))
    for level, found in table.contributions.items():
        columns += _contribution_columns(level, found, table.shadow_decimals)
    if table.holders is not None:
        columns += _holder_columns(table.holders, value)
    return columns


def _contribution_columns(level: str, found: Contributions, decimals: int) -> list[CellColumn]:
    columns = [] if level == "holding" else [CellColumn(f"{level}_contributors", found.count, 0)]
    columns.append(CellColumn(f"{level}_total", found.total, decimals))
    columns += [CellColumn(f"{level}_top{i + 1}", found.top[:, i], decimals) for i in range(found.top.shape[1])]
    columns.append(CellColumn(f"{level}_negative", found.negative, FLAG))
    if found.unwaived is not None:
        columns.append(CellColumn(f"{level}_unwaived", found.unwaived, decimals))
    if found.requested is not None:
        columns += [CellColumn(f"{level}_requested{j + 1}", found.requested[:, j], decimals) for j in range(2)]
    if found.nonzero is not None:
        columns.append(CellColumn(f"{level}_nonzero", found.nonzero, 0))
    if found.own is not None and found.own_total is not None:
        columns.append(CellColumn(f"{level}_own_total", found.own_total, decimals))
        columns += [CellColumn(f"{level}_own{i + 1}", found.own[:, i], decimals) for i in range(found.own.shape[1])]
    return columns


def _holder_columns(holders: Holders, decimals: int) -> list[CellColumn]:
    columns = [CellColumn("holders", holders.count, 0)]
    for i in range(holders.identity.shape[1]):
        columns.append(CellColumn(f"holder{i + 1}", holders.identity[:, i], IDENTITY))
        columns.append(CellColumn(f"own{i + 1}", holders.amount[:, i], decimals))
    return columns


def column_kinds(description: Mapping[str, Any], names: list[str]) -> dict[str, int]:
    """Kind of each column of a cell file, from the table's description."""
    value, shadow = int(description["decimals"]), int(description["shadow_decimals"])
    fixed = {
        "status": LETTER,
        "empty": FLAG,
        "cost": FLOAT,
        "contributors": 0,
        "hits": 0,
        "records": 0,
        "nonzero": 0,
        "key_sum": 0,
        "manual": 0,
        "holders": 0,
        "weighted": int(description["weight_decimals"]),
        **dict.fromkeys(("published", *INTERVAL_COLUMNS), int(description.get("published_decimals", 0))),
    }
    kinds = {}
    for name in names:
        if name in fixed:
            kinds[name] = fixed[name]
        elif name.endswith("_negative"):
            kinds[name] = FLAG
        elif name.endswith(("_contributors", "_nonzero")):
            kinds[name] = 0
        elif name.startswith(("holding_", "record_")):
            kinds[name] = shadow
        elif name.startswith("holder"):
            kinds[name] = IDENTITY
        else:
            kinds[name] = value
    return kinds


def table_description(table: Table) -> dict[str, Any]:
    """Everything of a table that is not per cell, as JSON-ready data."""
    spec = table.spec
    assessment = table.assessment
    return {
        "name": spec.name,
        "variables": [{"name": name, **hierarchy_description(hierarchy)} for name, hierarchy in spec.by.items()],
        "value": spec.value,
        "where": [str(condition) for condition in spec.where],
        "weight": spec.weight or None,
        "period": spec.period,
        "shadow": spec.shadow,
        "absolute": spec.absolute,
        "cost": spec.cost,
        "shown_decimals": spec.decimals,
        "fewest_decimals": spec.fewest,
        "cells": spec.cells,
        "places": {variable: where.record() for variable, where in spec.places.items()},
        "top": spec.top,
        "levels": list(spec.levels),
        "holders": spec.holders,
        "decimals": table.decimals,
        "shadow_decimals": table.shadow_decimals,
        "weight_decimals": table.weight_decimals,
        "key_modulus": table.key_modulus,
        "slack": table.slack,
        "from_records": table.from_records,
        "notes": list(table.notes),
        "rules": None if assessment is None else [dict(rule) for rule in assessment.rules],
        "profile": None if assessment is None else assessment.profile,
        "options": None if assessment is None else dict(assessment.options),
    }


def table_from(description: Mapping[str, Any], codes: NDArray[np.int32], data: Mapping[str, NDArray[Any]]) -> Table:
    """A table from its description and the columns of its cell file."""
    spec = TableSpec(
        by={v["name"]: hierarchy_from(v) for v in description["variables"]},
        value=description["value"],
        name=description["name"],
        where=parse_conditions(tuple(description["where"])),
        weight=description["weight"] or False,
        period=description["period"],
        shadow=description["shadow"],
        absolute=description["absolute"],
        cost=description["cost"],
        decimals=description["shown_decimals"],
        fewest=description["fewest_decimals"],
        cells=description["cells"],
        places={variable: geography_from(record) for variable, record in description["places"].items()},
        top=description["top"],
        levels=tuple(description["levels"]),
        holders=description["holders"],
    )
    manual = data.get("manual")
    return Table(
        spec=spec,
        codes=codes,
        value=data["value"],
        decimals=description["decimals"],
        empty=data["empty"],
        shadow_decimals=description["shadow_decimals"],
        contributions={
            level: found for level in ("holding", "record") if (found := _contributions_from(level, data)) is not None
        },
        holders=_holders_from(data),
        records=data.get("records"),
        nonzero=data.get("nonzero"),
        weighted=data.get("weighted"),
        weight_decimals=description["weight_decimals"],
        key_sum=data.get("key_sum"),
        key_modulus=description["key_modulus"],
        manual=None if manual is None else manual.astype(np.int8),
        manual_lower=data.get("manual_lower"),
        manual_upper=data.get("manual_upper"),
        lower_bound=data.get("lower_bound"),
        upper_bound=data.get("upper_bound"),
        cost=data.get("cost"),
        slack=description["slack"],
        assessment=_assessment_from(description, data),
        from_records=description["from_records"],
        notes=tuple(description["notes"]),
    )


def _assessment_from(description: Mapping[str, Any], data: Mapping[str, NDArray[Any]]) -> Assessment | None:
    if description["rules"] is None:
        return None
    status = data["status"]
    return Assessment(
        rules=tuple(description["rules"]),
        profile=description["profile"],
        options=description["options"],
        unsafe=(status == CellStatus.UNSAFE) | ((status == CellStatus.FORCED) & (data["hits"] > 0)),
        hits=data["hits"],
        lower=data["lower_protection"],
        upper=data["upper_protection"],
        sliding=data["sliding_protection"],
    )


def _contributions_from(level: str, data: Mapping[str, NDArray[Any]]) -> Contributions | None:
    count = data.get("contributors" if level == "holding" else f"{level}_contributors")
    if count is None:
        return None
    top = [data[name] for i in range(1, 21) if (name := f"{level}_top{i}") in data]
    requested = [data[name] for j in (1, 2) if (name := f"{level}_requested{j}") in data]
    own = [data[name] for i in range(1, 21) if (name := f"{level}_own{i}") in data]
    return Contributions(
        count=count,
        total=data[f"{level}_total"],
        top=np.column_stack(top) if top else np.zeros((len(count), 0), np.int64),
        negative=data[f"{level}_negative"],
        unwaived=data.get(f"{level}_unwaived"),
        requested=np.column_stack(requested) if requested else None,
        nonzero=data.get(f"{level}_nonzero"),
        own=np.column_stack(own) if own else None,
        own_total=data.get(f"{level}_own_total"),
    )


def _holders_from(data: Mapping[str, NDArray[Any]]) -> Holders | None:
    if "holders" not in data:
        return None
    places = [i for i in range(1, 21) if f"holder{i}" in data]
    return Holders(
        count=data["holders"],
        identity=np.column_stack([data[f"holder{i}"] for i in places]),
        amount=np.column_stack([data[f"own{i}"] for i in places]),
    )


def hierarchy_description(hierarchy: Hierarchy) -> dict[str, Any]:
    """A hierarchy as JSON-ready data."""
    return {
        "total": hierarchy.total,
        "codes": list(hierarchy.codes),
        "groupings": [[g.parent, [[code, sign] for code, sign in g.parts]] for g in hierarchy.groupings],
        "labels": dict(hierarchy.labels),
        "missing": sorted(hierarchy.missing),
    }


def hierarchy_from(description: Mapping[str, Any]) -> Hierarchy:
    """A hierarchy from JSON data; the order of its codes must be the one that the cells refer to."""
    groupings = tuple(
        Grouping(parent, tuple((str(code), int(sign)) for code, sign in parts))
        for parent, parts in description["groupings"]
    )
    hierarchy = Hierarchy(
        groupings,
        description["total"],
        tuple(description["codes"]),
        description["labels"],
        frozenset(description["missing"]),
    )
    if hierarchy.codes != tuple(description["codes"]):
        raise InputError(
            f"A hierarchy of {counted(len(hierarchy.codes), 'code')} does not list them in their order, total and "
            "parents first.",
            hint="Use the description as it was written.",
        )
    return hierarchy


def claim_description(claim: Claim) -> dict[str, Any]:
    """A claim as JSON-ready data."""
    return {
        "method": claim.method,
        "statement": claim.statement,
        "attackers": list(claim.attackers),
        "not_considered": list(claim.not_considered),
        "together_with": list(claim.together_with),
    }


def claim_from(description: Mapping[str, Any]) -> Claim:
    """A claim from JSON data."""
    return Claim(
        description["method"],
        description["statement"],
        tuple(description["attackers"]),
        tuple(description["not_considered"]),
        tuple(description["together_with"]),
    )


def acceptance_description(accepted: Acceptance) -> dict[str, Any]:
    """An accepted cell as JSON-ready data, with the multipliers of its proof as fractions in words."""
    because = accepted.because
    proof = None
    if because is not None:
        proof = {
            "use": because.use,
            "relations": [
                {**vars(r), "cell": list(r.cell), "times": f"{r.times.numerator}/{r.times.denominator}"}
                for r in because.relations
            ],
            "insiders": [[table, list(cell), place] for table, cell, place in because.insiders],
        }
    return {**vars(accepted), "cell": list(accepted.cell), "because": proof}


def empty_means(name: str) -> int:
    """What an empty field of a column stands for: nobody, or no bound."""
    if name.startswith("holder"):
        return NOBODY
    return NO_LOWER if name.startswith("lower") else NO_UPPER
