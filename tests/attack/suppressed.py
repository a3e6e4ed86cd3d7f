"""Attacks on suppressed tables: what is left of every unsafe cell of random sets, to outsiders and to contributors.

python -m tests.attack.suppressed --count 5000 [--seed 0] [--shape cycle]
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import LinearConstraint

import discreet as ds
from discreet.errors import DiscreetError
from discreet.model.public import PublicTable
from tests.attack.enumeration import TooMany, all_tables
from tests.attack.programs import Programs
from tests.attack.publication import Shown, Unseen, shown_from
from tests.attack.random_sets import SHAPES, RandomSet, random_set
from tests.attack.running import asked

SLIP = 1e-6
FIRMS = 3
"""So many firms of a set attack it."""
FAR = 2**61
"""Bounds beyond are none."""


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
        release = ds.protect(case.assessed(), ds.Suppress(**case.method), already_published=case.already())
    except DiscreetError:
        return None
    return release if release.verify().holds else None


def attack(case: RandomSet, release: ds.Release) -> Iterator[Found]:
    """Everything that is known too closely; attackers are those that the release claims to hold against."""
    left_out = release.custodian.evidence[0].claim.not_considered
    fractions = any("whole numbers of their last decimal" in text for text in left_out)
    apart = any("stand on one table" in text for text in left_out)
    insiders_apart = apart or any("contributors know of the table" in text for text in left_out)
    for value in dict.fromkeys(value for _, value in case.tables):
        tables = list(_published(case, release, value))
        whole = not case.weighted and (value is None or not fractions)
        unit = 10.0**-case.decimals if value else 1.0
        for group in [[table] for table in tables] if apart else [tables]:
            yield from _outsiders(case, _behind(case, group), group, unit, whole)
        if case.method["insiders"] and not case.weighted and not case.negative:
            for group in [[table] for table in tables] if insiders_apart else [tables]:
                yield from _insiders(case, _behind(case, group), group)


def _behind(case: RandomSet, group: list[tuple[Shown, ds.Table]]) -> Unseen:
    """The table behind some of the tables, with all that is known of it: earlier releases and figures, too."""
    shown = [one for one, _ in group]
    names = {one.name for one in shown}
    if case.earlier and case.name(*case.tables[0]) in names:
        table, public = case.before.custodian.tables.tables[0], case.before.public.tables[0]
        shown.append(_shown(case, public, table, *case.tables[0]))
    unseen = Unseen(case.trees, shown)
    of_name = {one.name: one for one, _ in group}
    for told in case.figures:
        name = case.name(*case.tables[told.table])
        if name not in names:
            continue
        parts = sum(unseen.row(of_name[name], codes) for codes in told.parts)
        half = 0.5 * 10.0**-told.decimals
        if told.whole is None:
            unseen.limits.append((parts, told.value - half, told.value + half))
        else:
            whole = unseen.row(of_name[name], told.whole)
            unseen.limits.append((100 * parts - (told.value - half) * whole, 0.0, np.inf))
            unseen.limits.append((100 * parts - (told.value + half) * whole, -np.inf, 0.0))
    return unseen


def _published(case: RandomSet, release: ds.Release, value: str | None) -> Iterator[tuple[Shown, ds.Table]]:
    for (variables, mine), public, table in zip(
        case.tables, release.public.tables, release.custodian.tables, strict=True
    ):
        if mine == value:
            yield _shown(case, public, table, variables, value), table


def _shown(
    case: RandomSet, public: PublicTable, table: ds.Table, variables: tuple[str, ...], value: str | None
) -> Shown:
    """A table as it was published, with the bounds that everybody was said to know."""
    codes = [[*case.trees[v].sums, *case.trees[v].base] for v in variables]
    # Without weights nothing is rounded: values have fewer decimals only where they need no more.
    half = 0.5 * 10.0**-public.decimals if case.weighted and public.decimals < table.decimals else 0.0
    shown = shown_from(public.columns(), variables, public.name, value, codes, half)
    _add_bounds(shown, table)
    return shown


def _add_bounds(shown: Shown, table: ds.Table) -> None:
    """Bounds that everybody was said to know."""
    if table.upper_bound is None or table.lower_bound is None:
        return
    unit = 10.0**table.decimals
    for row, (low, high) in enumerate(zip(table.lower_bound.tolist(), table.upper_bound.tolist(), strict=True)):
        ends = (low / unit if low > -FAR else -np.inf, high / unit if high < FAR else np.inf)
        if ends != (-np.inf, np.inf):
            shown.bounds[table.spec_codes(table.codes[row].tolist())] = ends


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
    """Every firm knows what it has in every base cell, and where it is alone.

    Cells that it does not fill alone must be out of its reach, and at their upper levels where the release says so.
    """
    amounts = _amounts(case, unseen, group[0][0].value)
    rows = [(shown, one, unseen.row(shown, one[1])) for shown, table in group for one in _targets(table)]
    behind = [{who for (cell, who) in amounts if row[cell] != 0} for _, _, row in rows]
    firms = sorted({firm for _, firm in amounts})
    for firm in np.random.default_rng(case.seed).permutation(firms)[:FIRMS].tolist():
        floor = np.zeros(len(unseen.cells))
        for (cell, who), amount in amounts.items():
            if who == firm:
                floor[cell] = amount
        programs = Programs(unseen, floor, None)
        for (_, (_, _, true, _, _), row), inside in zip(rows, behind, strict=True):
            if inside == {firm}:
                programs.constraints.append(LinearConstraint(row[None, :], true, true))
        for (shown, (_, codes, true, _, high), row), inside in zip(rows, behind, strict=True):
            if inside == {firm} or np.any(row < 0):
                continue
            slip = SLIP * max(1.0, abs(true))
            least, most = programs.ends(row)
            full = case.method["insiders"] == "full"
            if (full and most < true + high - slip) or most - least < slip:
                level = (0.0, high if full else 0.0)
                yield Found(case.seed, f"firm {firm}", f"{shown.name} {codes}", true, least, most, level)


class TooLong(Exception):
    """A set takes more processor time than it is worth."""


def _give_up(number: int, frame: object) -> None:
    raise TooLong


def outcome(case: RandomSet, seconds: float) -> tuple[str, list[Found]]:
    """What became of a set, and what was found; it is given up after so many seconds of processor time."""
    signal.signal(signal.SIGPROF, _give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        release = protect(case)
        return ("refused", []) if release is None else ("attacked", list(attack(case, release)))
    except TooLong:
        return "given up", []
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main() -> int:
    """Attack as many sets as asked, and say what was found."""
    seconds = {"type": float, "default": 10.0, "help": "processor time for one set"}
    given = asked(__doc__, 5_000, shape={"choices": list(SHAPES)}, seconds=seconds)
    tally: dict[str, Counter[str]] = {}
    found: list[Found] = []
    for seed in range(given.seed, given.seed + given.count):
        case = random_set(seed, given.shape)
        what, short = outcome(case, given.seconds)
        if what == "given up":
            print(f"seed {seed}: given up ({case.shape}, {case.method['algorithm']})", flush=True)
        for kind in (case.shape, case.method["algorithm"], *case.features, "all"):
            tally.setdefault(kind, Counter())[what] += 1
        for one in short:
            print(one, case.features, case.method, flush=True)
        found += short
    for kind, counts in sorted(tally.items()):
        print(f"{kind}: {counts['attacked']} attacked, {counts['refused']} refused, {counts['given up']} given up")
    print(f"{given.count} sets, {len(found)} unsafe cells known too closely")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
