"""Swapped records: cells of whole broad areas are unchanged, and all tables add up."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.model.arrays import Bools
from discreet.model.claims.noise import noise_claim, swapped_statement
from discreet.model.table import Table
from discreet.verify.altered import Altered

KIND = "swap"


def check_swapped(a: Altered) -> None:
    """What whole broad areas hold is unchanged; numbers of households fit together."""
    verdict, ground, evidence, true, published = a.verdict, a.ground, a.evidence, a.true, a.published
    method, parts = evidence.method, evidence.parts
    area = str(method["area"])
    value = parts["altered"]["value"]
    counts = {name: int(column[0]) for name, column in parts["households"].items()}
    if len(value) != len(published) or any(area not in table.spec.by for table in ground.tables):
        verdict.refuse(KIND, "there is not one sum for every cell, or a table without the area")
        return
    before = len(verdict.refused)
    listing = sorted(dict.fromkeys(c for t in ground.tables for c in t.spec.by[area].base_codes))
    broad = dict(zip(listing, parts["areas"]["broad"].tolist(), strict=True))
    same: list[Bools] = []
    for number, table in enumerate(ground.tables):
        rows = slice(int(ground.first[number]), int(ground.first[number]) + len(table))
        scale = 10 ** (evidence.decimals - table.decimals)
        if np.any(value[rows].astype(object) * scale != published[rows]):
            verdict.refuse(KIND, "a value is not what the records add up to", table.name)
        same.append(_whole_areas(table, area, broad))
    moved = np.concatenate(same) & np.asarray(published != true, np.bool_)
    a.refuse_where(moved, "what a whole broader area holds changed")
    if not 0 <= counts["moved"] <= counts["households"] or counts["moved"] % 2 or counts["alone"] < 0:
        verdict.refuse(KIND, "the numbers of households do not fit together")
    if not np.any(published != true):
        verdict.refuse(KIND, "no cell differs from what it was: nothing was exchanged")
    movable = parts["altered"]["movable"]
    if len(movable) != len(value) or np.any(movable < 0) or np.any(parts["moved"]["persons"] < 0):
        verdict.refuse(KIND, "the numbers of persons who could move do not fit the cells")
    a.check_additive()
    within = method["within"]
    claim = noise_claim(
        KIND,
        swapped_statement(area, within, counts),
        additive=True,
        **a.marks,
    )
    a.claims(claim)
    verdict.take_for_granted(
        "which households were exchanged and which could be, that their profiles agree, and how many there are",
        "method",
    )
    verdict.prove(f"{claim.statement} ({int(np.concatenate(same).sum())} unchanged cells)", before)


def _whole_areas(table: Table, area: str, broad: Mapping[str, int]) -> Bools:
    """Rows whose area code covers whole broad areas."""
    hierarchy = table.spec.by[area]
    members: dict[int, set[str]] = {}
    for code, number in broad.items():
        members.setdefault(number, set()).add(code)
    whole = []
    for code in hierarchy.codes:
        covered = {base for base, times in hierarchy.covered(code).items() if times}
        whole.append(all(members[broad[base]] <= covered for base in covered))
    return np.array(whole, np.bool_)[table.codes[:, table.variables.index(area)]]
