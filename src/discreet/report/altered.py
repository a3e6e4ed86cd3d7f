"""The custodian's report of a release with altered values: what was changed, by how much, and how to repeat it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.attack import Audit
from discreet.errors import counted
from discreet.model.arrays import Ints
from discreet.model.claims.altered import KNOWN_LEVELS
from discreet.model.claims.base import NO_LEVELS
from discreet.model.custodian import TableCustodian
from discreet.model.table import Table
from discreet.report import findings, plots
from discreet.report.deduction import Deduction, altered_deduction
from discreet.report.heatmap import Heat
from discreet.report.levels import ALTERED, LevelLine, loss_by_level, rule_heads, unsafe_by_level
from discreet.report.maps import custodian_map, has_map
from discreet.report.numbers import TableNumbers
from discreet.report.page import render
from discreet.report.patterns import unsafe_heat
from discreet.report.words import Name, count, names_of, number, percent, plain_number
from discreet.rules import reasons
from discreet.verify import Verdict

BARS = 15
NO_CLAIM = {KNOWN_LEVELS, NO_LEVELS}
"""What releases admit that do not claim levels against an attacker."""


@dataclass(frozen=True)
class AlteredLine:
    """One unsafe cell: its value, what is published, and how far it had to stay hidden."""

    names: tuple[Name, ...]
    value: str
    published: str
    change: str
    below: str
    above: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class AlteredPart:
    """One table: how much was changed."""

    name: str
    variables: tuple[str, ...]
    cells: int
    unsafe: int
    changed: int
    mean: str
    largest: str
    total: str
    share: str
    lines: tuple[AlteredLine, ...]
    reasons: tuple[str, ...]
    by_level: tuple[LevelLine, ...]
    loss: tuple[LevelLine, ...]
    heat: Heat
    deduction: Deduction | None

    @property
    def rule_names(self) -> list[str]:
        """Heads of the columns of unsafe cells by rule."""
        return rule_heads(len(self.reasons))


def altered_page(
    custodian: TableCustodian, verdict: Verdict, audit: Audit | None, most: int, common: Mapping[str, Any]
) -> str:
    """The page of a release with altered values, with what an audit found of its unsafe cells."""
    parts = [_part(custodian, i, most, audit) for i in range(len(custodian.tables))]
    short = 0 if audit is None else audit.short
    facts = [
        (name.replace("_", " "), str(value))
        for evidence in custodian.evidence
        for name, value in evidence.facts.items()
        if not isinstance(value, Mapping)
    ]
    places = custodian_map(custodian, "The map before and after units moved") if has_map(custodian) else ""
    state = "refused" if verdict.refused else "proved" if verdict.proved else "unverified"
    if state == "proved" and short and not NO_CLAIM & set(verdict.not_considered):
        state = "contradicted"
    images = [_images(custodian.tables.tables[i], part.deduction) for i, part in enumerate(parts)]
    return render(
        "altered.html",
        verdict=verdict,
        state=state,
        tables=parts,
        images=images,
        headline=_headline(parts, audit),
        facts=facts,
        said=[*(text for e in custodian.evidence for text in e.findings), *custodian.log.get("notes", ())],
        places=places,
        arrows="moves" in custodian.evidence[0].parts,
        loss_names=[name for name, _ in ALTERED],
        **common,
    )


def _headline(parts: Sequence[AlteredPart], audit: Audit | None) -> list[findings.HeadlineNumber]:
    """The numbers that readers look for first."""
    cells, unsafe, changed = (sum(getattr(part, name) for part in parts) for name in ("cells", "unsafe", "changed"))
    where = f"in {counted(len(parts), 'table')}" if len(parts) > 1 else ""
    shown = [
        findings.HeadlineNumber(count(cells), "cells" if cells != 1 else "cell", where),
        findings.HeadlineNumber(count(unsafe), "unsafe", percent(unsafe, cells), "is-unsafe"),
        findings.HeadlineNumber(count(changed), "changed", percent(changed, cells)),
    ]
    if len(parts) == 1:
        shown.append(findings.HeadlineNumber(parts[0].largest, "largest change", f"mean {parts[0].mean}"))
    if audit is None:
        return [*shown, findings.HeadlineNumber("?", findings.KNOWN, "not audited", "is-bad")]
    return [*shown, findings.audited_number(audit)]


def _images(table: Table, deduction: Deduction | None) -> list[tuple[str, str]]:
    """Images of the attacker's intervals with their captions; none where nobody computed them."""
    if deduction is None:
        return []
    tightest = deduction.tightest(BARS)
    said = findings.width_caption(deduction), findings.interval_caption(deduction, tightest)
    made = [(plots.width_image(deduction, said[0]), said[0])]
    if len(tightest):
        made.append((plots.interval_image(table, deduction, tightest, said[1]), said[1]))
    return made


def _part(custodian: TableCustodian, index: int, most: int, audit: Audit | None) -> AlteredPart:
    assert custodian.published is not None
    table, status = custodian.tables.tables[index], custodian.status[index]
    numbers = TableNumbers(table, status)
    change = custodian.published[index] - table.value * 10 ** (custodian.decimals - table.decimals)
    size = np.abs(change)
    base_change = int(size[numbers.base].sum())
    base_value = numbers.base_value.total * 10 ** (custodian.decimals - table.decimals)
    rows = numbers.largest(table.unsafe)[:most].tolist()
    published, none = custodian.published[index], np.zeros(len(table), np.bool_)
    return AlteredPart(
        name=table.name,
        variables=table.variables,
        cells=len(table),
        unsafe=int(table.unsafe.sum()),
        changed=int((change != 0).sum()),
        mean=plain_number(float(size.mean()) / 10**custodian.decimals) if len(size) else "–",
        largest=number(int(size.max(initial=0)), custodian.decimals),
        total=number(int(size.sum()), custodian.decimals),
        share=percent(base_change, base_value),
        lines=tuple(_line(custodian, table, published, change, row) for row in rows),
        reasons=tuple(findings.reason_words(reason) for reason in numbers.reasons),
        by_level=tuple(unsafe_by_level(table, numbers.by_reason, status)),
        loss=tuple(loss_by_level(table, published, custodian.decimals, none, ALTERED)),
        heat=unsafe_heat(table),
        deduction=altered_deduction(custodian, index, audit),
    )


def _line(custodian: TableCustodian, table: Table, published: Ints, change: Ints, row: int) -> AlteredLine:
    codes = table.spec_codes(table.codes[row].tolist())
    labels = [h.label(code) for h, code in zip(table.spec.hierarchies, codes, strict=True)]
    found, none = table.assessment, np.zeros(len(table), np.int64)
    below, above = (none, none) if found is None else (found.lower, found.upper)
    return AlteredLine(
        names=names_of(codes, labels),
        value=number(int(table.value[row]), table.decimals),
        published=number(int(published[row]), custodian.decimals),
        change=number(int(change[row]), custodian.decimals),
        below=number(int(below[row]), table.decimals),
        above=number(int(above[row]), table.decimals),
        reasons=tuple(reasons(table, row)),
    )
