"""Shuffled columns: every stratum keeps its values, and where there is the key, the places that it draws."""

from __future__ import annotations

from hashlib import blake2b
from math import isclose
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.arrays import Floats, Ints
from discreet.model.claims.shuffle import shuffled_claim
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields
from discreet.verify.records.drawn_shuffle import ShuffledStratum, expected_numbers, explained_shares
from discreet.verify.records.keyed_draws import Words, drawn_fractions, identity_of, purpose_of
from discreet.verify.records.value_columns import NEVER, stated_columns, stratum_numbers

if TYPE_CHECKING:
    import pyarrow as pa

ORDERED = ("int64", "double", "date32[day]", "timestamp[us]")
NEARLY = 1e-6
ALIKE = 1e-7
"""Drawn numbers that differ by less may stand in either order: sums are not the same to the last bit everywhere."""


class ShuffledColumn(NamedTuple):
    """A column as numbers before and after (the same for one that stays), and where it is empty."""

    name: str
    before: NDArray[Any]
    after: NDArray[Any]
    empty: NDArray[np.bool_]


def check_shuffled(step: CheckedStep) -> None:
    """Values changed places within strata; what is stated of them is so; the key draws these places."""
    facts, before = step.evidence.facts, len(step.verdict.refused)
    columns = _columns(step)
    if columns is None:
        return
    many, kinds = len(facts["columns"]), stratum_numbers(step)
    for column in columns[:many]:
        _check_values(step, column, kinds)
    _check_facts(step, columns, many, kinds)
    if len(step.verdict.refused) == before:
        _check_draws(step, columns, many, kinds)
    step.claims(shuffled_claim(step.method, facts))
    if step.key is None:
        step.verdict.take_for_granted("that new places were drawn as stated", "method")
    followed = "" if step.key is None else " Every place is the one that the secret key draws."
    step.verdict.prove(step.evidence.claim.statement + followed, before)


def _columns(step: CheckedStep) -> list[ShuffledColumn] | None:
    """The shuffled columns, and those that they were to depend on."""
    facts, given = step.evidence.facts, list(step.method["given"])
    names = stated_columns(step, "shuffled")
    if names is None:
        return None
    if len({*names, *given}) < len(names) + len(given) or not set(given) <= set(step.before):
        step.refuse("columns are given that are shuffled, or that are not there")
    elif step.method["sample"] != "normal" and (given or step.method["scale"] != "rank"):
        step.refuse("a Latin hypercube sample pairs ranks, without given columns")
    elif any(step.original.about(name).role in NEVER and step.original.about(name).role != "weight" for name in given):
        step.refuse("a column is given on which nothing depends")
    elif any(len(facts[what]) != len(names) for what in ("kept", "told", "explained")):
        step.refuse("what is stated is not stated of every column")
    elif list(facts["strata"]) != list(step.original.strata):
        step.refuse("the strata are not those of the records")
    elif any(str(step.before[name].type) not in ORDERED for name in (*names, *given)):
        step.refuse("values changed places that have no order")
    else:
        return [_column(step, name) for name in (*names, *given)]
    return None


def _column(step: CheckedStep, name: str) -> ShuffledColumn:
    old, new = step.before[name], step.changed.get(name, step.before[name])
    empty = empty_fields(old, step.original.about(name).missing)
    return ShuffledColumn(name, _numbers(old.combine_chunks()), _numbers(new.combine_chunks()), empty)


def _check_values(step: CheckedStep, column: ShuffledColumn, kinds: Ints) -> None:
    """Every stratum has the values that it had, and empty fields are where they were."""
    import pyarrow.compute as pc

    old, new = step.before[column.name], step.changed[column.name]
    gaps, later = (np.asarray(one.is_null().to_numpy(), np.bool_) for one in (old, new))
    there = ~column.empty
    if old.type != new.type:
        step.refuse("a column has another type than before", column.name)
    elif not np.array_equal(gaps, later) or np.any(column.before[column.empty] != column.after[column.empty]):
        step.refuse("an empty field changed, or a value became empty", column.name)
    else:
        kind, before, after = kinds[there], column.before[there], column.after[there]
        if not np.array_equal(before[np.lexsort((before, kind))], after[np.lexsort((after, kind))]):
            step.refuse("a stratum does not have the values that it had", column.name)
        place = step.evidence.facts["columns"].index(column.name)
        kept = len(old) - int(pc.sum(pc.fill_null(pc.not_equal(old, new), False)).as_py() or 0)
        if step.evidence.facts["kept"][place] != kept:
            step.refuse("another number of records kept their value than stated", column.name)
        if kept == len(old):
            step.refuse("no value changed its place", column.name)


def _check_facts(step: CheckedStep, columns: list[ShuffledColumn], many: int, kinds: Ints) -> None:
    """Shares and correlations are those that are stated."""
    facts = step.evidence.facts
    for column, stated in zip(columns[:many], facts["told"], strict=True):
        there = ~column.empty
        old, new = column.before[there].astype(np.float64), column.after[there].astype(np.float64)
        known = float(np.corrcoef(old, new)[0, 1] ** 2) if old.std() > 0 else 0.0
        if not isclose(stated, known, abs_tol=NEARLY):
            step.refuse("readers know another share of a column than stated", column.name)
    strata = list(_strata(columns, many, kinds))
    found = [_correlations([_ranks(one, strata, after) for one in columns]) for after in (False, True)]
    if not isclose(facts["change"], float(np.abs(found[0] - found[1])[:many].max(initial=0.0)), abs_tol=NEARLY):
        step.refuse("correlations changed by something else than stated")
    most = np.max([explained_shares(_stratum(columns, rows, step), many) for rows in strata], axis=0)
    if not np.allclose(facts["explained"], most, rtol=0, atol=NEARLY):
        step.refuse("given columns explain another share than stated")
    if type(facts["insecure"]) is not bool or (step.key is not None and facts["insecure"] != step.key.insecure):
        step.refuse("it is not said whether draws came from a seed, or wrongly")
    _check_twice(step)


def _check_twice(step: CheckedStep) -> None:
    earlier = [done for done in step.earlier if done.method["method"] == "shuffle"]
    version, names = step.method["version"], step.evidence.facts["columns"]
    twice = [n for n in names if any(n in d.facts["columns"] and d.method["version"] == version for d in earlier)]
    if twice:
        step.refuse("values were shuffled twice by the same draws", ", ".join(twice))


def _strata(columns: list[ShuffledColumn], many: int, kinds: Ints) -> Any:
    """Rows of each stratum that have a value to shuffle."""
    some = ~np.logical_and.reduce([column.empty for column in columns[:many]])
    for kind in np.unique(kinds[some]):
        yield np.flatnonzero((kinds == kind) & some)


def _stratum(columns: list[ShuffledColumn], rows: Ints, step: CheckedStep) -> ShuffledStratum:
    values = [column.before[rows] for column in columns]
    return ShuffledStratum(values, [column.empty[rows] for column in columns], step.method["scale"] == "rank")


def _check_draws(step: CheckedStep, columns: list[ShuffledColumn], many: int, kinds: Ints) -> None:
    """New values stand in the order of the numbers that the key draws."""
    if step.key is None:
        return
    identity = identity_of(step.original)
    told = _told(step, columns, identity)
    purposes = [purpose_of(step.method, f"shuffle/{column.name}", *told) for column in columns[:many]]
    fractions = [drawn_fractions(identity, step.key.secret, purpose) for purpose in purposes]
    wrong = [0] * many
    for rows in _strata(columns, many, kinds):
        noise = np.stack([one[rows] for one in fractions], axis=1)
        exact, hypercube = bool(step.method["exact"]), step.method["sample"] == "latin_hypercube"
        numbers = expected_numbers(_stratum(columns, rows, step), noise, exact, hypercube)
        for place, column in enumerate(columns[:many]):
            there = ~column.empty[rows]
            wrong[place] += _out_of_order(column.after[rows][there], numbers[there, place])
    for column, bad in zip(columns, wrong, strict=False):
        if bad:
            step.refuse(f"{counted(bad, 'record', 'have')} another value than the key draws", column.name)


def _told(step: CheckedStep, columns: list[ShuffledColumn], identity: Words) -> list[Any]:
    """What the draws are for: the parameters, and a digest of identities and values in the order of identities."""
    method, order = step.method, np.argsort(identity.astype(np.int64), kind="stable")
    values = [np.where(column.empty, 0, column.before)[order].astype("<f8") for column in columns]
    parts = [identity[order].astype("<u8").tobytes(), *(some.tobytes() for some in values)]
    content = blake2b(b"".join(parts), digest_size=16).hexdigest()
    names = [column.name for column in columns]
    told = [names, list(method["given"]), bool(method["exact"]), method["scale"], list(step.original.strata), content]
    return told if method["sample"] == "normal" else [*told, method["sample"]]


def _out_of_order(values: NDArray[Any], numbers: Floats) -> int:
    """How many records have a larger value than one with a larger number."""
    if not len(values):  # a stratum may have no value of a column
        return 0
    order = np.lexsort((numbers, values))
    ordered, drawn = values[order], numbers[order]
    start = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    group = np.repeat(np.arange(len(start)), np.diff(np.append(start, len(ordered))))
    highest = np.maximum.accumulate(np.maximum.reduceat(drawn, start))
    below = np.append(-np.inf, highest[:-1])[group]
    return int((drawn < below - ALIKE).sum())


def _ranks(column: ShuffledColumn, strata: list[Ints], after: bool) -> Floats:
    """Ranks around 0 in shares of the stratum; equal values share one; 0 where it is empty, or nothing was shuffled."""
    values, found = column.after if after else column.before, np.zeros(len(column.empty))
    for stratum in strata:
        rows = stratum[~column.empty[stratum]]
        if len(rows):
            _, place, count = np.unique(values[rows], return_inverse=True, return_counts=True)
            found[rows] = ((np.cumsum(count) - count / 2) / len(rows) - 0.5)[place]
    return found


def _correlations(ranks: list[Floats]) -> Floats:
    size = [float(np.sqrt((one**2).sum())) or 1.0 for one in ranks]
    scaled = np.stack(ranks) / np.array(size)[:, None]
    return np.asarray(scaled @ scaled.T)


def _numbers(column: pa.Array) -> NDArray[Any]:
    """Values as numbers, 0 for gaps; dates as days, times as microseconds."""
    import pyarrow as pa

    kinds = {"date32[day]": pa.int32(), "timestamp[us]": pa.int64()}
    plain = column.cast(kinds.get(str(column.type), column.type))
    return np.asarray(plain.fill_null(0).to_numpy(zero_copy_only=False))
