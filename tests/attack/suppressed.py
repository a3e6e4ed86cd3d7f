"""Attacks on suppressed tables: what is left of every unsafe cell of random sets, to outsiders and to contributors.

python -m tests.attack.suppressed --count 5000 [--first 0] [--shape cycle]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import discreet as ds
from discreet.errors import DiscreetError
from tests.attack.enumeration import TooMany, all_tables
from tests.attack.programs import Programs
from tests.attack.publication import Shown, Unseen, shown_from
from tests.attack.random_sets import RandomSet, random_set

SLIP = 1e-6


@dataclass(frozen=True)
class Found:
    """An unsafe cell that an attacker knows more closely than its level."""

    seed: int
    attacker: str
    cell: str
    value: float
    least: float
    most: float
    levels: tuple[float, float]

    def __str__(self) -> str:
        below, above = self.levels
        return (
            f"seed {self.seed}: {self.attacker} knows {self.cell} = {self.value:g} within [{self.least:g}, "
            f"{self.most:g}], the levels are {below:g} below and {above:g} above"
        )


def protect(case: RandomSet) -> ds.Release | None:
    """The release of a set; nothing where protection or the checker refuses it."""
    try:
        release = ds.protect(case.assessed(), ds.Suppress(**case.method))
    except DiscreetError:
        return None
    return release if release.verify().holds else None


def attack(case: RandomSet, release: ds.Release) -> Iterator[Found]:
    """Everything that is known too closely; attackers are those that the release claims to hold against."""
    claim = release.custodian.evidence[0].claim
    aside = any("contributors know of the table" in text for text in claim.not_considered)
    insiders = None if aside else case.method["insiders"]
    for value in dict.fromkeys(value for _, value in case.tables):
        tables = list(_published(case, release, value))
        aside = any("whole numbers of their last decimal" in text for text in claim.not_considered)
        whole = not case.weighted and (value is None or not aside)
        for group in _groups(tables, claim):
            unseen = Unseen(case.trees, [shown for shown, _ in group])
            yield from _outsiders(case, unseen, group, 10.0**-case.decimals if value else 1.0, whole)
            if insiders == "full" and not case.weighted and not case.negative and value is not None:
                yield from _insiders(case, unseen, group)


def _groups(tables: list, claim) -> Iterator[list]:
    """Tables that stand on one unseen table; apart where the release says that this is not considered."""
    if any("stand on one table" in text for text in claim.not_considered):
        yield from ([table] for table in tables)
    else:
        yield tables


def _published(case: RandomSet, release: ds.Release, value: str | None) -> Iterator[tuple[Shown, ds.Table]]:
    for (variables, mine), public, table in zip(
        case.tables, release.public.tables, release.custodian.tables, strict=True
    ):
        if mine != value:
            continue
        codes = [[*case.trees[v].sums, *case.trees[v].base] for v in variables]
        half = 0.5 * 10.0**-public.decimals if public.decimals < table.decimals else 0.0
        shown = shown_from(public.columns(), variables, public.name, value, codes, half)
        if table.upper_bound is not None:
            unit = 10**table.decimals
            for row, bound in enumerate(table.upper_bound.tolist()):
                if bound < 2**61:
                    shown.bounds[table.spec_codes(table.codes[row].tolist())] = (-np.inf, bound / unit)
        yield shown, table


def _amounts(case: RandomSet, unseen: Unseen, value: str | None) -> dict[tuple[int, str], float]:
    """What each firm adds to each base cell."""
    found: dict[tuple[int, str], float] = {}
    for i in range(len(case.records["firm"])):
        cell = unseen.inner_of({v: case.records[v][i] for v in unseen.variables})
        amount = 1.0 if value is None else case.records["value"][i]
        amount *= case.records["w"][i] if case.weighted else 1.0
        key = (cell, case.records["firm"][i])
        found[key] = found.get(key, 0.0) + amount
    return found


def _targets(table: ds.Table) -> Iterator[tuple[int, tuple[str, ...], float, float, float]]:
    """Unsafe cells: row, codes, value, lower and upper level."""
    unit = 10.0**table.decimals
    for row in np.flatnonzero(table.unsafe).tolist():
        codes = table.spec_codes(table.codes[row].tolist())
        low, high = table.assessment.lower[row] / unit, table.assessment.upper[row] / unit
        yield row, codes, table.value[row] / unit, low, high


def _outsiders(case: RandomSet, unseen: Unseen, group: list, unit: float, whole: bool) -> Iterator[Found]:
    value = group[0][0].value
    floor = np.zeros(len(unseen.cells))
    for (cell, _), amount in _amounts(case, unseen, value).items():
        if amount < 0:
            floor[cell] = -np.inf
    programs = Programs(unseen, floor, unit if whole else None)
    tables = None
    if whole and value is None and not unseen.limits and len(case.records["firm"]) <= 14:
        try:
            tables = all_tables(unseen, floor, len(case.records["firm"]))
        except TooMany:
            tables = None
    for shown, table in group:
        for _, codes, true, low, high in _targets(table):
            row = unseen.row(shown, codes)
            ends = {"somebody with programs": programs.ends(row)}
            if tables is not None:
                sums = tables @ row
                ends["somebody who lists all tables"] = (float(sums.min()), float(sums.max()))
            for who, (least, most) in ends.items():
                slip = SLIP * max(1.0, abs(true))
                if least > true - low + slip or most < true + high - slip:
                    yield Found(case.seed, who, f"{shown.name} {codes}", true, least, most, (low, high))


def _insiders(case: RandomSet, unseen: Unseen, group: list) -> Iterator[Found]:
    """Every firm knows what it has in every base cell; upper levels must hold against it where it is not alone."""
    amounts = _amounts(case, unseen, group[0][0].value)
    for firm in sorted({firm for _, firm in amounts}):
        floor = np.zeros(len(unseen.cells))
        for (cell, who), amount in amounts.items():
            if who == firm:
                floor[cell] = amount
        programs = Programs(unseen, floor, None)
        for shown, table in group:
            for _, codes, true, _, high in _targets(table):
                row = unseen.row(shown, codes)
                others = {who for (cell, who) in amounts if row[cell] != 0 and who != firm}
                if not others or np.any(row < 0):
                    continue
                _, most = programs.ends(row)
                if most < true + high - SLIP * max(1.0, abs(true)):
                    yield Found(case.seed, f"firm {firm}", f"{shown.name} {codes}", true, true, most, (0.0, high))


def main() -> int:
    """Attack as many sets as asked, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--shape")
    asked = parser.parse_args()
    tally: Counter[str] = Counter()
    short = 0
    for seed in range(asked.first, asked.first + asked.count):
        case = random_set(seed, asked.shape)
        release = protect(case)
        tally[f"{case.shape}: {'refused' if release is None else 'released'}"] += 1
        for found in attack(case, release) if release is not None else ():
            short += 1
            print(found, case.method, flush=True)
    for kind, count in sorted(tally.items()):
        print(f"{kind}: {count}")
    print(f"{asked.count} sets, {short} unsafe cells known too closely")
    return 1 if short else 0


if __name__ == "__main__":
    raise SystemExit(main())
