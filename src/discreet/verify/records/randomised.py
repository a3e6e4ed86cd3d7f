"""Post-randomised columns: matrices are those that are stated, moves are counted, draws follow from the key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.arrays import Floats, Ints
from discreet.model.claims.pram import pram_claim
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.keyed_draws import Words, drawn_fractions, identity_of
from discreet.verify.records.transition_rules import is_fixed, is_open, stated_matrix
from discreet.verify.records.words import as_number, code_of, is_unknown

if TYPE_CHECKING:
    import pyarrow as pa

NEVER = ("identifier", "contributor", "record_key", "waiver", "request", "household", "weight")
"""Roles of columns that hold no codes."""
UNSEEN = ("identifier", "contributor", "record_key", "waiver", "request", "household")
"""Roles of columns by which readers cannot tell strata apart."""
TYPES = ("string", "int64", "double", "bool")
NEARLY = 1e-9
BEYOND_CHANCE = 45.0
"""Counts of moves that have a chance below exp(-45) are no draws with the stated chances."""
Stratum = tuple[str, ...]
Moves = Counter[tuple[str, str]]


class RowStrata(NamedTuple):
    """The strata, and the number of every record's."""

    strata: list[Stratum]
    number: Ints


class RowCodes(NamedTuple):
    """The codes of a column, and for every record the places of its code before and after; -1 for gaps that stayed."""

    words: list[str]
    old: Ints
    new: Ints


@dataclass(frozen=True, eq=False)
class StatedMatrix:
    """A matrix as the evidence states it."""

    codes: list[str]
    chances: Floats
    moves: NDArray[Any]
    stratum: Stratum

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> StatedMatrix:
        """From plain data; what holds no numbers is an error."""
        chances, moves = np.array(entry["chances"], np.float64), np.array(entry["moves"])
        return cls(list(entry["codes"]), chances, moves, tuple(entry["stratum"]))


def check_pram(step: CheckedStep) -> None:
    """Stated columns were drawn with the stated matrices, and nothing else changed."""
    method, facts, before = step.method, step.evidence.facts, len(step.verdict.refused)
    columns = sorted(method["matrices"])
    within = list(step.original.strata if method["within"] is None else method["within"])
    if list(facts["columns"]) != columns or set(step.changed) != set(columns) or not columns:
        step.refuse("other columns changed than those with a matrix")
        return
    if list(facts["within"]) != within or set(within) & set(columns) or not set(within) <= set(step.before):
        step.refuse("the strata are not those that the method names, or that the records have")
        return
    if not _fits_columns(step, columns, within):
        return
    _check_first_draws(step, columns)
    strata = _row_strata(step, within)
    stated: dict[str, list[StatedMatrix]] = {name: [] for name in columns}
    for entry in facts["matrices"]:
        if list(entry["within"]) != (within if entry["stratum"] else []):
            step.refuse("a matrix is stated for other strata", str(entry["column"]))
        stated[entry["column"]].append(StatedMatrix.of(entry))
    identity = None if step.key is None else identity_of(step.original)
    changed = []
    for name in columns:
        codes = _codes(step, name)
        if codes is None:
            return
        moves = _moves(codes, strata)
        changed.append(sum(n for some in moves.values() for (old, new), n in some.items() if old != new))
        _check_matrices(step, name, stated[name], moves, bool(within))
        if len(step.verdict.refused) == before and identity is not None:
            _check_draws(step, name, codes, strata, stated[name], identity)
    if list(facts["changed"]) != changed or facts["rows"] != len(step.original):
        step.refuse("the numbers of changed codes are not those that are counted")
    if type(facts["insecure"]) is not bool or (step.key is not None and facts["insecure"] != step.key.insecure):
        step.refuse("it is not said whether draws came from a seed, or wrongly")
    step.claims(pram_claim(method, facts))
    if step.key is None:
        step.verdict.take_for_granted("that codes were drawn at random with the stated chances", "method")
    followed = "" if step.key is None else " Every code is the one that the secret key draws for its record."
    step.verdict.prove(step.evidence.claim.statement + followed, before)


def _fits_columns(step: CheckedStep, columns: Sequence[str], within: Sequence[str]) -> bool:
    """Whether the columns hold codes, of the type that they had, and what is published is of use."""
    before = len(step.verdict.refused)
    for name in columns:
        if step.original.about(name).role in NEVER or str(step.before[name].type) not in TYPES:
            step.refuse("a column was drawn that holds no codes", name)
        elif step.changed[name].type != step.before[name].type:
            step.refuse("a column is of another type than before", name)
    published = list(step.method["publish"])
    hidden = any(step.original.about(name).role in UNSEEN for name in within)
    if not set(published) <= set(columns) or len(set(published)) < len(published) or (published and hidden):
        step.refuse("a matrix is to be published that readers cannot use")
    return len(step.verdict.refused) == before


def _check_first_draws(step: CheckedStep, columns: Sequence[str]) -> None:
    """No earlier step drew for the same column with the same draws."""
    for evidence in step.earlier:
        again = evidence.method["method"] == "pram" and evidence.method["version"] == step.method["version"]
        for name in columns if again else ():
            if name in evidence.method["matrices"]:
                step.refuse("a column was drawn twice with the same draws", name)


# ---- codes --------------------------------------------------------------------------------------------------


def _words(column: pa.ChunkedArray) -> tuple[list[str], Ints]:
    """The distinct values of a column as codes, and for every row the place of its own; -1 for gaps."""
    import pyarrow as pa

    found = column.combine_chunks().dictionary_encode()
    found = found.chunk(0) if isinstance(found, pa.ChunkedArray) else found
    words = [code_of(value) for value in found.dictionary.to_pylist()]
    return words, np.asarray(found.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)


def _row_strata(step: CheckedStep, within: Sequence[str]) -> RowStrata:
    """The strata; a gap is empty text."""
    number, strata = np.zeros(len(step.original), np.int64), [()]
    for name in within:
        words, place = _words(step.before[name])
        kinds, number = np.unique(number * (len(words) + 1) + place + 1, return_inverse=True)
        pairs = [divmod(kind, len(words) + 1) for kind in kinds.tolist()]
        strata = [(*strata[before], words[at - 1] if at else "") for before, at in pairs]
    known: dict[Stratum, int] = {}
    same = np.array([known.setdefault(stratum, len(known)) for stratum in strata], np.int64)
    return RowStrata(list(known), same[number])


def _codes(step: CheckedStep, name: str) -> RowCodes | None:
    """For every record its code before and after; nothing for a gap that stayed."""
    (before, old), (after, new) = _words(step.before[name]), _words(step.changed[name])
    if np.any(old < 0) and "" in before:
        step.refuse("a column has gaps and empty text, which files do not tell apart", name)
        return None
    category = step.method["missing"] == "category"
    if not category and np.any((old < 0) != (new < 0)):
        step.refuse("a column has other empty fields than before", name)
        return None
    words = list(dict.fromkeys([*before, *after, ""]))
    where = {word: i for i, word in enumerate(words)}
    gap = where[""] if category else -1
    same = [np.array([*(where[word] for word in some), gap], np.int64) for some in (before, after)]
    return RowCodes(words, same[0][old], same[1][new])


def _moves(codes: RowCodes, strata: RowStrata) -> dict[Stratum, Moves]:
    """How many records went from each code to each other, by stratum."""
    size, known = len(codes.words), codes.old >= 0
    key = (strata.number[known] * size + codes.old[known]) * size + codes.new[known]
    found: dict[Stratum, Moves] = {stratum: Counter() for stratum in strata.strata}
    for kind, times in zip(*(part.tolist() for part in np.unique(key, return_counts=True)), strict=True):
        stratum, pair = divmod(kind, size * size)
        found[strata.strata[stratum]][codes.words[pair // size], codes.words[pair % size]] = times
    return found


# ---- matrices -----------------------------------------------------------------------------------------------


def _check_matrices(
    step: CheckedStep, name: str, stated: Sequence[StatedMatrix], moves: Mapping[Stratum, Moves], strata: bool
) -> None:
    """One matrix for all records, or one for every stratum that has codes; each is what the method says."""
    unknown = _unknown_codes(step, name, moves)
    occurs = {old for some in moves.values() for old, _ in some} - set(unknown)
    if not occurs:
        step.refuse("a column has nothing to draw", name)
        return
    listing = _listing(step, name, occurs)
    if not occurs <= set(listing):
        step.refuse("a code occurs that the matrix does not have", name)
        return
    fixed = not strata or is_fixed(step.method, name)
    wanted: dict[Stratum, Moves] = {(): sum(moves.values(), Counter())} if fixed else dict(moves)
    wanted = {stratum: some for stratum, some in wanted.items() if some or (not is_open(step.method, name)) or unknown}
    if sorted(one.stratum for one in stated) != sorted(wanted):
        step.refuse("there is not one matrix for every stratum", name)
        return
    for one in stated:
        mine = wanted[one.stratum]
        codes = listing
        if is_open(step.method, name) and not fixed:
            here = {old for old, _ in mine}
            codes = [code for code in listing if code in here]
        _check_matrix(step, name, one, mine, codes, unknown)


def _unknown_codes(step: CheckedStep, name: str, moves: Mapping[Stratum, Moves]) -> list[str]:
    """Codes that stand for "unknown" and stay."""
    if step.method["missing"] == "category":
        return []
    ranges = step.original.about(name).missing
    return _ordered({old for some in moves.values() for old, _ in some if is_unknown(old, ranges)})


def _listing(step: CheckedStep, name: str, occurs: set[str]) -> list[str]:
    """The codes of the matrix in their order."""
    given = step.method["matrices"][name]
    if not isinstance(given, str):
        return _ordered(given)
    return list(step.method["codes"].get(name) or _ordered(occurs))


def _ordered(codes: Any) -> list[str]:
    """Numbers by size where all codes are numbers, else by the alphabet."""
    numbers = {code: as_number(code) for code in codes}
    if any(number is None for number in numbers.values()):
        return sorted(numbers)
    return sorted(numbers, key=lambda code: (numbers[code], code))


def _check_matrix(
    step: CheckedStep, name: str, stated: StatedMatrix, moves: Moves, listing: Sequence[str], unknown: Sequence[str]
) -> None:
    """A matrix is stochastic, the stated one, and the moves are those that are counted and can have been drawn."""
    besides = [code for code in unknown if code not in listing]
    chances = stated.chances
    if stated.codes != [*listing, *besides]:
        step.refuse("a matrix has other codes than it must", name)
        return
    square = chances.shape == (len(stated.codes), len(stated.codes))
    if not square or not np.all(chances >= 0) or np.any(np.abs(chances.sum(axis=1) - 1) > NEARLY):
        step.refuse("the rows of a matrix are not chances that sum to 1", name)
        return
    place = {code: i for i, code in enumerate(stated.codes)}
    counts = np.zeros(chances.shape, np.int64)
    for (old, new), number in moves.items():
        if new not in place:
            step.refuse("a code was published that the matrix does not have", name)
            return
        counts[place[old], place[new]] = number
    if not np.array_equal(counts, stated.moves):
        step.refuse("the numbers of moves are not those that are counted", name)
    times = counts.sum(axis=1).astype(np.float64)
    wanted = np.eye(len(place))
    first = len(listing)
    wanted[:first, :first] = stated_matrix(step.method, name, listing, times[:first])
    # What has no chance has none at all: a tiny one would make impossible moves possible.
    if np.any(np.abs(wanted - chances) > NEARLY) or np.any((wanted == 0) & (chances > 0)):
        step.refuse("a matrix is not the one that the method states", name)
    stay = [place[code] for code in unknown]
    if np.any(np.delete(chances[:, stay], stay, axis=0)) or np.any(chances[stay, stay] != 1):
        step.refuse("a matrix moves codes that stand for 'unknown'", name)
    if step.method["invariant"] and np.any(np.abs(times @ chances - times) > NEARLY * max(times.sum(), 1)):
        step.refuse("the expected counts are not those before", name)
    if np.any((counts > 0) & (chances == 0)):
        step.refuse("a code became one that it has no chance to become", name)
    elif _beyond_chance(counts, chances):
        step.refuse("codes moved far more or less often than the stated chances allow", name)
    moving = [place[code] for code in place if code not in unknown and times[place[code]]]
    if moving and np.all(chances[moving, moving] > 1 - NEARLY):
        step.refuse("a matrix leaves every code that occurs as it is", name)


def _beyond_chance(counts: Ints, chances: Floats) -> bool:
    """Whether some count, or how many codes stayed in all, is so far from what is expected that chance is ruled out.

    The bound is that of Chernoff and Hoeffding, which holds of records with different chances, too.
    """
    times = counts.sum(axis=1)
    stayed, expected = int(np.trace(counts)), float(times @ np.diag(chances))
    every = [(stayed, int(times.sum()), expected / max(int(times.sum()), 1))]
    for total, row, chance in zip(times.tolist(), counts.tolist(), chances.tolist(), strict=True):
        every += [(number, total, likely) for number, likely in zip(row, chance, strict=True)]
    return any(total * _apart(number / total, chance) > BEYOND_CHANCE for number, total, chance in every if total)


def _apart(share: float, chance: float) -> float:
    """The divergence of a share from a chance; a chance of 0 or 1 is not judged."""
    if not 0 < chance < 1:
        return 0.0
    parts = ((share, chance), (1 - share, 1 - chance))
    return sum(some * log(some / likely) for some, likely in parts if some > 0)


# ---- draws --------------------------------------------------------------------------------------------------


def _check_draws(
    step: CheckedStep,
    name: str,
    codes: RowCodes,
    strata: RowStrata,
    stated: Sequence[StatedMatrix],
    identity: Words,
) -> None:
    """Every code is the one that the key draws: the first at which the chances add up to more than its fraction."""
    assert step.key is not None
    fraction = drawn_fractions(identity, step.key.secret, f"pram/{name}/{step.method['version']}")
    matrix = {one.stratum: one for one in stated}
    where = {word: i for i, word in enumerate(codes.words)}
    rows = np.flatnonzero(codes.old >= 0)
    kind = strata.number[rows] * len(codes.words) + codes.old[rows]
    order = np.argsort(kind, kind="stable")
    wrong = 0
    for part in np.split(order, np.flatnonzero(np.diff(kind[order])) + 1) if len(order) else []:
        stratum, old = divmod(int(kind[part[0]]), len(codes.words))
        one = matrix.get(strata.strata[stratum]) or matrix[()]
        chance = one.chances[one.codes.index(codes.words[old])]
        (leads,) = np.nonzero(chance)
        found = np.searchsorted(np.cumsum(chance[leads])[:-1], fraction[rows[part]], side="right")
        drawn = np.array([where.get(one.codes[lead], -1) for lead in leads.tolist()])[found]
        wrong += int((drawn != codes.new[rows[part]]).sum())
    if wrong:
        step.refuse(f"{counted(wrong, 'code', 'are')} not what the secret key draws", name)


def check_published_matrices(step: CheckedStep) -> None:
    """No published matrix is of a column or stratum that this step changed after it."""
    for evidence in step.earlier:
        if evidence.method.get("method") != "pram" or not evidence.method["publish"]:
            continue
        if set(step.changed) & {*evidence.method["publish"], *evidence.facts["within"]}:
            step.refuse("a published transition matrix does not fit a column that was changed after it")


def public_matrices(evidences: Sequence[Any]) -> list[dict[str, Any]]:
    """The matrices that go out, as plain data, in the order of the evidence."""
    fields = ("column", "codes", "chances", "within", "stratum")
    return [
        {name: entry[name] for name in fields}
        for evidence in evidences
        if evidence.method.get("method") == "pram"
        for entry in evidence.facts["matrices"]
        if entry["column"] in evidence.method["publish"]
    ]
