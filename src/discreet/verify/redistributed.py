"""Maps without small places: moves add up, nothing is small, mass is kept, steps are as many as stated."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.model.arrays import Ints
from discreet.model.claims.noise import noise_claim, redistributed_statement
from discreet.model.evidence import Evidence
from discreet.model.table import Table
from discreet.verify.altered import Altered, Numbers
from discreet.verify.verdict import Verdict

KIND = "redistribute"
ADMITTED = (
    "what the threshold itself tells",
    "readers who repeat the method",
    "true totals that are published elsewhere",
)
"""How the sentences begin that say what a map tells besides."""
NEAREST = 10
"""Remainders of maps without a p% rule come no closer to a sensitive value than so many per cent."""


def check_redistributed(a: Altered) -> None:
    """Before and moves give after, nothing is small, and the total is kept but for suppressed outliers."""
    verdict, ground, evidence, true, published = a.verdict, a.ground, a.evidence, a.true, a.published
    method, facts = evidence.method, evidence.facts
    threshold = int(method["threshold"])
    if len(ground.tables) != 1 or len(ground.tables.tables[0].variables) != 1 or threshold < 2:
        verdict.refuse(KIND, "there is not one map")
        return
    table = ground.tables.tables[0]
    before = len(verdict.refused)
    old, new = _by_place(table, true), _by_place(table, published)
    if table.spec.value is None:
        found = _check_counts(verdict, table, evidence, old, new, threshold)
    else:
        found = _check_magnitudes(verdict, evidence, old, new, threshold)
    if method["areas"]:
        _check_areas(verdict, table, evidence, old, new, threshold)
    a.check_additive()
    magnitudes = table.spec.value is not None
    stated = {**facts, **found}
    statement = redistributed_statement(threshold, stated, magnitudes=magnitudes, record=method)
    left_out = tuple(text for text in evidence.claim.not_considered if text.startswith(ADMITTED))
    if not all(any(text.startswith(words) for text in left_out) for words in ADMITTED):
        verdict.refuse("claim", "the release does not admit what the threshold, the method or other totals tell")
    claim = noise_claim(KIND, statement, additive=True, universes=False, insecure=False, left_out=left_out)
    a.claims(claim)
    verdict.take_for_granted("the place of every record", "method")
    if magnitudes:
        verdict.asserted.append("how many contributors moved, and how far")
    verdict.prove(f"{claim.statement} ({int((new > 0).sum())} occupied places)", before)


def _by_place(table: Table, values: Numbers) -> Ints:
    """Values by base code, zero where the table has no cell."""
    hierarchy = table.spec.hierarchies[0]
    place = {hierarchy.index[code]: i for i, code in enumerate(hierarchy.base_codes)}
    result = np.zeros(len(place), np.int64)
    for code, value in zip(table.codes[:, 0].tolist(), values.tolist(), strict=True):
        if code in place:
            result[place[code]] = int(value)
    return result


def _check_counts(
    verdict: Verdict, table: Table, evidence: Evidence, old: Ints, new: Ints, threshold: int
) -> dict[str, int]:
    moves, outliers = evidence.parts["moves"], evidence.parts["outlier_moves"]
    if np.any((new > 0) & (new < threshold)) or np.any(new < 0):
        verdict.refuse(KIND, "an occupied place holds fewer units than the threshold", table.name)
    now = old.copy()
    gone = np.flatnonzero((old > 0) & (new == 0))
    np.add.at(now, outliers["target"], outliers["units"])
    np.subtract.at(now, outliers["source"], outliers["units"])
    lost = int(now[gone].sum())
    now[gone] = 0
    np.subtract.at(now, moves["source"], moves["units"])
    np.add.at(now, moves["target"], moves["units"])
    if np.any(now != new):
        verdict.refuse(KIND, "what moved does not lead from the original to the published counts", table.name)
    if np.any(moves["units"] < 1) or np.any(outliers["units"] < 1):
        verdict.refuse(KIND, "a move is of nothing", table.name)
    if np.any(old[gone] >= threshold):
        verdict.refuse(KIND, "a place with enough units was left out as an outlier", table.name)
    if np.any((new > 0) & (old == 0)) or (len(gone) and evidence.method["outliers"] == "none"):
        verdict.refuse(KIND, "other places are occupied than before", table.name)
    steps = [_steps(evidence.parts, part) for part in (moves, outliers)]
    for part, mine in zip((moves, outliers), steps, strict=True):
        if np.any(part["steps"] != mine):
            verdict.refuse(KIND, "a move is said to be shorter or longer than it is", table.name)
    walked = [int((part["units"] * mine).sum()) for part, mine in zip((moves, outliers), steps, strict=True)]
    return {
        "moved": int(moves["units"].sum()),
        "steps": walked[0],
        "outliers": len(gone),
        "outlier_steps": walked[1],
        "lost": lost,
    }


def _steps(parts: Mapping[str, Mapping[str, Ints]], moves: Mapping[str, Ints]) -> Ints:
    """How many steps lie between the places of each move."""
    source, target = moves["source"], moves["target"]
    if "hexagons" in parts:
        q, r = parts["hexagons"]["q"], parts["hexagons"]["r"]
        across, along = q[source] - q[target], r[source] - r[target]
        return np.asarray((np.abs(across) + np.abs(along) + np.abs(across + along)) // 2)
    near: dict[int, set[int]] = {}
    for one, two in zip(parts["neighbours"]["one"].tolist(), parts["neighbours"]["two"].tolist(), strict=True):
        near.setdefault(one, set()).add(two)
        near.setdefault(two, set()).add(one)
    known: dict[int, dict[int, int]] = {}
    found = []
    for start, end in zip(source.tolist(), target.tolist(), strict=True):
        if start not in known:
            known[start] = _walked(near, start)
        found.append(known[start].get(end, -1))
    return np.array(found, np.int64)


def _walked(near: Mapping[int, set[int]], start: int) -> dict[int, int]:
    """Steps from one place to all that can be reached."""
    steps, waiting = {start: 0}, deque([start])
    while waiting:
        here = waiting.popleft()
        for place in near.get(here, ()):
            if place not in steps:
                steps[place] = steps[here] + 1
                waiting.append(place)
    return steps


def _check_magnitudes(verdict: Verdict, evidence: Evidence, old: Ints, new: Ints, threshold: int) -> dict[str, int]:
    """Contributions before give the original map, those after the published one, in which every rule holds."""
    for part, values, what in (("contributions", old, "original"), ("repaired", new, "published")):
        sums = np.zeros(len(values), np.int64)
        np.add.at(sums, evidence.parts[part]["place"], evidence.parts[part]["value"])
        if np.any(sums != values):
            verdict.refuse(KIND, f"the contributions do not add up to the {what} map")
    gone = set(np.flatnonzero((old > 0) & (new == 0)).tolist())
    removed = gone if evidence.method["outliers"] == "suppress" else set()
    lost = sum(int(old[i]) for i in removed)
    if int(old.sum()) - lost != int(new.sum()):
        verdict.refuse(KIND, "the total is not kept")
    after = evidence.parts["repaired"]
    if np.any(after["value"] < 0):
        verdict.refuse(KIND, "a contribution is below zero")
    inside, held = _held(after), _held(evidence.parts["contributions"])
    for amounts in map(_largest_first, inside.values()):
        if len(amounts) < threshold:
            verdict.refuse(KIND, "an occupied place has fewer contributors than the threshold")
        elif _dominated(amounts, evidence.method):
            verdict.refuse(KIND, "a place breaks a rule")
    _check_repaired(verdict, evidence, held, old, new, threshold)
    kept = set().union(*(who for place, who in held.items() if place not in removed and old[place] > 0))
    if kept != set(after["contributor"].tolist()):
        verdict.refuse(KIND, "other contributors are in the map than before")
    if set(inside) != set(np.flatnonzero(old > 0).tolist()) - gone or (gone and evidence.method["outliers"] == "none"):
        verdict.refuse(KIND, "other places are occupied than before")
    if any(len(held[place]) >= threshold for place in gone):
        verdict.refuse(KIND, "a place with enough contributors was left out as an outlier")
    return {"outliers": len(gone), "lost": lost}


def _check_repaired(
    verdict: Verdict, evidence: Evidence, held: Mapping[int, Mapping[int, int]], old: Ints, new: Ints, threshold: int
) -> None:
    """Places that broke a rule show something else than the truth."""
    for place, amounts in ((place, _largest_first(who)) for place, who in held.items()):
        broke = 0 < len(amounts) < threshold or (bool(amounts) and _dominated(amounts, evidence.method))
        if broke and new[place] == old[place]:
            verdict.refuse(KIND, "a place that broke a rule shows its true value")


def _held(part: Mapping[str, Ints]) -> dict[int, dict[int, int]]:
    """Who has how much in each place; whoever is listed there twice counts once."""
    found: dict[int, dict[int, int]] = {}
    rows = zip(part["place"].tolist(), part["contributor"].tolist(), part["value"].tolist(), strict=True)
    for place, who, value in rows:
        inside = found.setdefault(place, {})
        inside[who] = inside.get(who, 0) + value
    return found


def _largest_first(held: Mapping[int, int]) -> list[int]:
    """What contributors have who have something."""
    return sorted((value for value in held.values() if value > 0), reverse=True)


def _check_areas(verdict: Verdict, table: Table, evidence: Evidence, old: Ints, new: Ints, threshold: int) -> None:
    """True totals of areas, and of the parts that they cut the map into, tell of no place, shown or not, too much."""
    areas = [set(members) for _, members in evidence.method["areas"]]
    parts: dict[tuple[bool, ...], list[int]] = {}
    for i, code in enumerate(table.spec.hierarchies[0].base_codes):
        parts.setdefault(tuple(code in area for area in areas), []).append(i)
    if table.spec.value is None:
        told = _told_counts(evidence, list(parts.values()), old, new, threshold)
    else:
        told = _told_values(evidence, _known_regions(list(parts), list(parts.values())), old, new, threshold)
    if told:
        verdict.refuse(KIND, "totals of areas tell too much of a place", table.name)


def _told_counts(evidence: Evidence, parts: list[list[int]], old: Ints, new: Ints, threshold: int) -> bool:
    """Whether totals leave too little for a place, shown or not, to be large.

    Of places that are not shown a reader must be able to think that they hold nothing, or enough.
    """
    taken = np.zeros(len(old), np.int64)
    np.add.at(taken, evidence.parts["outlier_moves"]["target"], evidence.parts["outlier_moves"]["units"])
    moved = evidence.method["outliers"] == "redistribute"
    shown = [[i for i in inside if new[i] > 0] for inside in parts]
    open_ = [len(some) < len(inside) for some, inside in zip(shown, parts, strict=True)]
    total = [sum(int(old[i]) for i in inside) for inside in parts]
    least = {i: max(int(new[i] - taken[i]), 1) if new[i] > threshold else 1 for some in shown for i in some}
    rest = [t - sum(least[i] for i in some) for t, some in zip(total, shown, strict=True)]
    # What places can have held beyond the least: all of them together, less what parts without a gap must have had.
    free = int(new.sum() - taken.sum()) - sum(least.values())
    free -= sum(r for r, gap in zip(rest, open_, strict=True) if not gap)
    rich = [sum(int(new[i]) if new[i] > threshold else 1 for i in some) for some in shown]
    lack = [r - t for r, t in zip(rich, total, strict=True)]
    lacking = sum(one if gap else max(one, 0) for one, gap in zip(lack, open_, strict=True))
    for k, inside in enumerate(parts):
        beyond = min(rest[k], free) if open_[k] else rest[k]
        if any(least[i] + beyond < threshold for i in shown[k]):
            return True
        if not any(old[i] > 0 and new[i] == 0 for i in inside):
            continue
        if moved:
            low, high = lacking - lack[k], total[k] - len(shown[k])
        else:
            others = sum(r for j, r in enumerate(rest) if j != k and open_[j] and shown[j])
            low, high = rest[k] - beyond, rest[k] - max(free - others, 0)
        if not shown[k] or low > 0 or high < threshold:
            return True
    return False


def _known_regions(marks: list[tuple[bool, ...]], parts: list[list[int]]) -> list[list[int]]:
    """Places of which the totals of areas give the total: all, areas and the rest, overlaps, differences, parts."""
    number = len(marks[0])
    asked: list[dict[int, bool]] = [{}]
    for one in range(number):
        asked += [{one: True}, {one: False}]
        for two in range(one):
            if any(mark[one] and mark[two] for mark in marks):
                asked += [{one: a, two: b} for a, b in ((True, True), (True, False), (False, True))]
    regions = [*parts]
    for wanted in asked:
        inside = [k for k, mark in enumerate(marks) if all(mark[i] == yes for i, yes in wanted.items())]
        regions.append([i for k in inside for i in parts[k]])
    return [region for region in regions if region]


def _told_values(evidence: Evidence, parts: list[list[int]], old: Ints, new: Ints, threshold: int) -> bool:
    """Whether the total of a region, or what is left of it without some places, tells of contributors too much."""
    own = _held(evidence.parts["contributions"])
    p = evidence.method["p"]
    near = Fraction(str(NEAREST if p is None else p)) / 100

    def held_in(places: list[int]) -> list[int]:
        together: dict[int, int] = {}
        for place in places:
            for who, value in own.get(place, {}).items():
                together[who] = together.get(who, 0) + value
        return _largest_first(together)

    def breaks(values: list[int]) -> bool:
        return bool(values) and (len(values) < threshold or _dominated(values, evidence.method))

    for inside in parts:
        if breaks(held_in(inside)) or breaks(held_in([i for i in inside if old[i] > 0 and old[i] != new[i]])):
            return True
        off = sum(int(old[i]) - int(new[i]) for i in inside)
        gone = [i for i in inside if old[i] > 0 and new[i] == 0]
        # Where the places shown have the true total, a remainder is what the map shows of its place.
        alone = [[i] for i in inside if old[i] > 0] if off else []
        for some in [*alone, *([gone] if gone else [])]:
            values = held_in(some)
            error = abs(off - sum(int(old[i]) - int(new[i]) for i in some))
            if breaks(values) and error < near * values[0]:
                return True
    return False


def _dominated(values: list[int], method: Mapping[str, Any]) -> bool:
    """Whether contributions in whole units, largest first, break a rule of dominance, exactly."""
    total = sum(values)
    share, dominance, p = method["max_share"], method["dominance"], method["p"]
    if share is not None and values[0] > Fraction(str(share)) * total:
        return True
    if dominance is not None and sum(values[: int(dominance[0])]) >= Fraction(str(dominance[1])) * total:
        return True
    return p is not None and total - sum(values[:2]) < Fraction(str(p)) / 100 * values[0]
