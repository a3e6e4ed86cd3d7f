"""Swapped records: households exchanged their areas in pairs that agree, and nothing else changed."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from discreet.model.arrays import Ints
from discreet.model.claims.records import swapped_claim
from discreet.verify.records.context import CheckedStep

if TYPE_CHECKING:
    import pyarrow as pa

OUT_OF_SIGHT = ("identifier", "contributor", "record_key", "waiver", "request", "household")
"""Roles of columns that readers do not see as they were."""
LARGEST = 8
"""Households of this size and more are one band."""


def check_swapped_records(step: CheckedStep) -> None:
    """Who belongs together moved together, and every exchange is one between households that agree."""
    method, facts, before = step.method, step.evidence.facts, len(step.verdict.refused)
    area = str(method["area"])
    if set(step.changed) != {area} or step.changed[area].type != step.before[area].type:
        step.refuse("other columns changed than the area, or it is of another type")
        return
    for done in step.earlier:
        same = ("method", "area", "version")
        if all(done.method.get(name) == method[name] for name in same):
            step.refuse("areas were exchanged twice with the same draws, which brings many households back")
    like = list(dict.fromkeys([*map(str, method["profile"]), *step.original.strata]))
    within = None if method["within"] is None else str(method["within"])
    needed = [area, str(method["household"]), *([within] if within else []), *like]
    absent = [name for name in needed if name not in step.before]
    if absent or area in like or list(facts["profile"]) != like:
        step.refuse("the columns that the exchange speaks of are not those that it may", ", ".join(absent))
        return
    if any(step.before[name].null_count for name in needed) or step.changed[area].null_count:
        step.refuse("a record has no area, household or profile")
        return
    home = _numbers(step.before[str(method["household"])])
    first = np.unique(home, return_index=True)[1]
    old, new = _same_numbers(step.before[area], step.changed[area])
    broad = np.zeros(len(home), np.int64) if within is None else _numbers(step.before[within])
    if any(np.any(column[first][home] != column) for column in (old, new, broad)):
        step.refuse("members of a household are in different areas, before or after")
        return
    if len(np.unique(np.stack([old, broad]), axis=1).T) > len(np.unique(old)):
        step.refuse("an area lies in two broader areas")
    profile = _profiles(home, [_numbers(step.before[name]) for name in like])
    moved = _check_pairs(step, broad[first], profile, old[first], new[first])
    _check_numbers(step, moved, broad[first])
    if list(facts["telling"]) != _telling(step, area, old):
        step.refuse("the columns that tell the area are not those that are named")
    step.claims(swapped_claim(method, facts))
    step.verdict.take_for_granted("that who was exchanged was drawn at random, and how many found no partner", "method")
    step.verdict.prove(step.evidence.claim.statement, before)


def _check_pairs(step: CheckedStep, broad: Ints, profile: Ints, old: Ints, new: Ints) -> int:
    """Among households that agree, as many went from one area to another as came back; gives how many moved."""
    moves = np.flatnonzero(old != new)
    went = Counter(zip(*(column[moves].tolist() for column in (broad, profile, old, new)), strict=True))
    if any(count > went[where, who, there, here] for (where, who, here, there), count in went.items()):
        step.refuse("households changed areas without others of the same profile taking their places")
    return len(moves)


def _telling(step: CheckedStep, area: str, old: Ints) -> list[str]:
    """Columns in sight that have no code in two areas, but codes that are there more than once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = []
    for name, column in step.before.items():
        if (
            name == area
            or step.original.about(name).role in OUT_OF_SIGHT
            or str(column.type) not in ("string", "int64")
        ):
            continue
        known = pa.table({"code": column, "area": old}).filter(pc.field("code").is_valid())
        pairs = known.group_by(["code", "area"]).aggregate([([], "count_all")])
        alone = pc.sum(pc.equal(pairs["count_all"], 1)).as_py() or 0
        one_each = len(pairs) == len(pairs["code"].unique())
        if one_each and 2 * alone <= len(known) and len(known["area"].unique()) > 1:
            found.append(name)
    return found


def _check_numbers(step: CheckedStep, moved: int, broad: Ints) -> None:
    """The numbers of households are the counted ones, and no more were selected than the rate says."""
    facts, rate = step.evidence.facts, Fraction(str(step.method["rate"]))
    if facts["households"] != len(broad) or facts["moved"] != moved or not moved:
        step.refuse("the numbers of households are not those that are there and that moved")
    selected = sum((rate * count + Fraction(1, 2)) // 1 for count in np.bincount(broad).tolist())
    if not isinstance(facts["alone"], int) or facts["alone"] < 0 or moved // 2 + facts["alone"] > selected:
        step.refuse("more households were selected than the rate says")


def _numbers(column: pa.ChunkedArray) -> Ints:
    """A number for every value, from 0, in the order in which values first appear."""
    return _same_numbers(column, column)[0]


def _same_numbers(one: pa.ChunkedArray, two: pa.ChunkedArray) -> tuple[Ints, Ints]:
    """Numbers for the values of two columns of one type, the same for the same value."""
    import pyarrow as pa

    both = pa.chunked_array([*one.chunks, *two.chunks], one.type).combine_chunks().dictionary_encode()
    both = both.chunk(0) if isinstance(both, pa.ChunkedArray) else both
    found = both.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return found[: len(one)], found[len(one) :]


def _profiles(home: Ints, columns: list[Ints]) -> Ints:
    """A number for every household, the same where size and all codes of the members agree, however they are listed."""
    size = np.bincount(home)
    ends = np.concatenate(([0], np.cumsum(size))).tolist()
    found: list[tuple[object, ...]] = [(min(n, LARGEST),) for n in size.tolist()]
    for column in columns:
        codes = column[np.lexsort((column, home))].tolist()
        found = [(*mine, tuple(codes[a:b])) for mine, (a, b) in zip(found, pairwise(ends), strict=True)]
    known: dict[tuple[object, ...], int] = {}
    return np.array([known.setdefault(mine, len(known)) for mine in found], np.int64)
