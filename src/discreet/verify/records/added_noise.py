"""Noise that was added to columns: done as stated, moments kept where claimed, and drawn with the key where known."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.claims.added_noise import FLAGS, HOW, added_noise_claim
from discreet.verify.records.added_moves import BY_ITSELF, EDGE, NoisyRows, drawn_moves
from discreet.verify.records.changed_columns import ChangedColumn, LandedUnits, changed_columns
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.keyed_draws import Words, identity_of
from discreet.verify.records.outlying_records import outlyingness
from discreet.verify.records.value_columns import stated_columns, stratum_numbers
from discreet.verify.records.words import is_unknown

KEEPING = ("exact", "restricted", "romm")
COUNTS = ("kept", "cut", "zeros", "codes")
MOST_STEPS = 1000
NEARLY, NEARLY_ZERO = 1e-4, 1e-5
"""What stated effects may be off by: a share of them, and where they are nearly zero."""
SAME_MOVE = 1e-7
"""Of the size of the noise: what two ways of computing a move may differ by."""
BEYOND_CHANCE = 1e-20
"""Sums of squares that have a smaller chance are no draws of the stated size."""


def check_added_noise(step: CheckedStep) -> None:
    """The stated columns got the stated noise, and nothing else changed."""
    facts, before = step.evidence.facts, len(step.verdict.refused)
    columns = _columns(step)
    if columns is None:
        return
    noisy = changed_columns(step, columns)
    if noisy is None:
        return
    for place, (name, column) in enumerate(noisy.items()):
        _check_counts(step, name, column, place)
        _check_effect(step, name, column, place)
    identity = None if step.key is None else identity_of(step.original)
    parts = _parts(step, noisy, identity)
    if parts is None or len(step.verdict.refused) > before:
        return
    if step.method["how"] == "outliers":
        _check_flags(step, noisy, parts)
    if facts["moments"]:
        for part in parts:
            _check_moments(step, noisy, part)
    if step.key is None:
        _check_sizes(step, noisy, parts)
    else:
        _check_moves(step, noisy, parts)
    if type(facts["insecure"]) is not bool or (step.key is not None and facts["insecure"] != step.key.insecure):
        step.refuse("it is not said whether draws came from a seed, or wrongly")
    step.claims(added_noise_claim(step.method, facts))
    if step.key is None:
        step.verdict.take_for_granted("that noise was drawn at random", "method")
    followed = "" if step.key is None else " Every value moved as the secret key draws."
    step.verdict.prove(step.evidence.claim.statement + followed, before)


# ---- what is stated --------------------------------------------------------------------------------------------------


def _columns(step: CheckedStep) -> list[str] | None:
    method, facts, columns = step.method, step.evidence.facts, stated_columns(step, "given noise")
    if columns is None:
        return None
    lists = [facts[what] for what in (*COUNTS, "decimals", "shifts", "ratios")]
    amount, how = method["amount"], method["how"]
    wrong = how not in HOW or method["flag"] not in FLAGS or not 0.5 < method["beyond"] < 1
    wrong |= not isfinite(amount) or amount <= 0 or (how == "romm" and amount > 2)
    wrong |= how == "outliers" and method["decimals"] is not None
    wrong |= method["missing"] == "together" and how != "correlated"
    drawn = [done.facts["columns"] for done in step.earlier if _same_draws(done.method, method)]
    if wrong or any(len(some) != len(columns) for some in lists):
        step.refuse("how noise was made is not what the method says")
    elif facts["moments"] != (how in KEEPING and not any(facts["cut"]) and not any(facts["zeros"])):
        step.refuse("means and covariances are said to be kept, or not, without reason")
    elif list(facts["strata"]) != list(step.original.strata):
        step.refuse("the strata are not those of the records")
    elif any(name in some for some in drawn for name in columns):
        step.refuse("a column got noise twice with the same draws")
    else:
        return columns
    return None


def _same_draws(one: Any, other: Any) -> bool:
    return bool(one["method"] == other["method"] and one["version"] == other["version"])


def _check_counts(step: CheckedStep, name: str, column: ChangedColumn, place: int) -> None:
    """Zeros that stayed, values that did not change, and what cannot have been cut or moved away from codes."""
    method, there = step.method, ~column.empty
    kept, cut, zeros, codes = (step.evidence.facts[what][place] for what in COUNTS)
    if any(type(number) is not int or number < 0 for number in (kept, cut, zeros, codes)):
        step.refuse("what was kept, cut or moved aside is not counted", name)
        return
    old, new = column.old[there], column.new[there]
    stayed = int((column.moved()[there] == 0).sum())
    if kept != stayed:
        step.refuse("another number of values stayed than stated", name)
    if stayed == int(there.sum()):
        step.refuse("no value changed", name)
    if method["nonnegative"] and (np.any(old < 0) or np.any(new < 0)):
        step.refuse("a column has values below zero, and shall have none", name)
    was_zero = old == 0
    if method["zeros"] == "keep" and np.any(new[was_zero] != 0):
        step.refuse("a zero did not stay zero", name)
    if zeros != (int(was_zero.sum()) if method["zeros"] == "keep" else 0):
        step.refuse("another number of zeros is said to have stayed than there are", name)
    if cut > (int((new == 0).sum()) + codes if method["nonnegative"] else 0):
        step.refuse("more values are said to be cut at zero than can be", name)
    if codes and not column.unknown:
        step.refuse("values are said to have been moved away from codes that there are none of", name)
    if method["how"] == "outliers" and np.any(new % column.step):
        step.refuse("altered values are told from others by their last digits", name)


def _check_effect(step: CheckedStep, name: str, column: ChangedColumn, place: int) -> None:
    """How far the mean moved, and what became of the variance."""
    facts, there = step.evidence.facts, ~column.empty
    if not there.any():
        return
    old = (column.old[there] - column.old[there].min()).astype(np.float64)
    new = old + column.moved()[there]
    spread = float(old.std())
    shift, ratio = ((new.mean() - old.mean()) / spread, new.var() / old.var()) if spread > 0 else (0.0, 1.0)
    wrong = not isclose(facts["shifts"][place], shift, rel_tol=NEARLY, abs_tol=NEARLY_ZERO)
    if wrong or not isclose(facts["ratios"][place], ratio, rel_tol=NEARLY):
        step.refuse("the mean or the variance changed otherwise than stated", name)


def _parts(step: CheckedStep, noisy: dict[str, ChangedColumn], identity: Words | None) -> list[NoisyRows] | None:
    """Records that got noise together: those of a stratum, with the same gaps; of each column where it is by itself."""
    gaps = np.stack([column.empty for column in noisy.values()], axis=1)
    kinds, names = stratum_numbers(step), list(noisy)
    apart = step.method["how"] in BY_ITSELF
    if gaps.any() and not apart:
        if len(names) > 1 and step.method["missing"] == "refuse":
            step.refuse("records with gaps got noise, and the method refuses them")
            return None
        if step.method["missing"] == "together":
            return _with_gaps(step, noisy, identity, gaps)
        kinds = np.unique(np.column_stack([kinds, gaps]), axis=0, return_inverse=True)[1].ravel()
    found = []
    for rows in np.split(np.argsort(kinds, kind="stable"), np.cumsum(np.unique(kinds, return_counts=True)[1])[:-1]):
        there = ~gaps[rows]
        groups = [[name] for name in names] if apart else [[n for n, has in zip(names, there[0], strict=True) if has]]
        for chosen in groups:
            mine = rows[there[:, names.index(chosen[0])]] if chosen else rows[:0]
            if len(mine):
                units = np.stack([noisy[name].old[mine] for name in chosen], axis=1)
                found.append(NoisyRows(mine, chosen, units, None if identity is None else identity[mine]))
    return found


def _with_gaps(
    step: CheckedStep, noisy: dict[str, ChangedColumn], identity: Words | None, gaps: Bools
) -> list[NoisyRows] | None:
    """Records of each stratum, whatever their gaps; those without one must be enough for covariances."""
    kinds, found = stratum_numbers(step), []
    units = np.stack([column.old for column in noisy.values()], axis=1)
    for kind in np.unique(kinds):
        rows = np.flatnonzero(kinds == kind)
        part = NoisyRows(rows, list(noisy), units[rows], None if identity is None else identity[rows], gaps[rows])
        if len(part.whole()) < len(noisy) + 2:
            step.refuse("too few records have no gap to say how noise goes together")
            return None
        found.append(part)
    return found


# ---- what can be seen without the key --------------------------------------------------------------------------------


def _check_flags(step: CheckedStep, noisy: dict[str, ChangedColumn], parts: Sequence[NoisyRows]) -> None:
    """Records that do not lie far out stand as they were."""
    sure = most = changed = 0
    for part in parts:
        far = outlyingness(part.units.astype(np.float64), step.method["flag"], step.method["beyond"])
        if far is None or not np.all(np.isfinite(far)):
            step.refuse("it cannot be said which records lie far out")
            return
        sure, most = sure + int((far > 1 + EDGE).sum()), most + int((far > 1 - EDGE).sum())
        inside = part.rows[far <= 1 - EDGE]
        changed += int(np.any([noisy[name].moved()[inside] != 0 for name in part.columns], axis=0).sum())
    if changed:
        step.refuse(f"{counted(changed, 'record')} changed that do not lie far out")
    if not sure <= step.evidence.facts["flagged"] <= most:
        step.refuse("another number of records lies far out than stated")


def _check_moments(step: CheckedStep, noisy: dict[str, ChangedColumn], part: NoisyRows) -> None:
    """Sums are kept, and covariances are what they should be, as far as rounding lets them."""
    method, facts = step.method, step.evidence.facts
    old = np.stack([_from_least(noisy[name].old[part.rows]) for name in part.columns], axis=1)
    moved = np.stack([noisy[name].moved()[part.rows] for name in part.columns], axis=1)
    size = len(part.columns)
    for name in part.columns:
        column = noisy[name]
        before, after = (int(units[part.rows].sum(dtype=object)) for units in (column.old, column.new))
        # Of two sums that are equally near, the upper one.
        apart = 2 * (after * 10 ** max(-column.finer, 0) - before * 10 ** max(column.finer, 0))
        if not -(10 ** max(-column.finer, 0)) < apart <= 10 ** max(-column.finer, 0):
            step.refuse("a sum is not kept", name)
    codes = np.array([facts["codes"][facts["columns"].index(name)] for name in part.columns])
    finer = np.array([noisy[name].finer for name in part.columns])
    # Values are off by half a unit, and by a whole one more where that keeps the sum; few by more, beside codes.
    off = np.sqrt(1.5**2 + MOST_STEPS**2 * np.minimum(codes / len(part.rows), 1)) / 10.0**finer
    plain = np.cov(old, rowvar=False).reshape(size, size)
    noise = np.cov(moved, rowvar=False).reshape(size, size)
    share = float(method["amount"])
    pairs = [] if method["how"] == "exact" else [(np.cov(old + moved, rowvar=False).reshape(size, size), plain)]
    if method["how"] != "romm":
        pairs.append((noise, plain * (share if method["how"] == "exact" else 2 - 2 / np.sqrt(1 + share))))
    for found, wanted in pairs:
        spread = np.sqrt(np.maximum(np.diagonal(wanted), 0)) + off
        loose = np.outer(off, spread) + np.outer(spread, off) + NEARLY**2 * np.outer(spread, spread)
        if not np.all(np.abs(found - wanted) <= loose * len(old) / (len(old) - 1)):
            step.refuse("covariances are not what they should be", ", ".join(part.columns))


def _from_least(units: Ints) -> Floats:
    return np.asarray((units - units.min()).astype(np.float64))


def _check_sizes(step: CheckedStep, noisy: dict[str, ChangedColumn], parts: Sequence[NoisyRows]) -> None:
    """Noise is about as large as stated: sums of squares that chance all but excludes were not drawn."""
    from scipy.stats import chi2

    how, facts = step.method["how"], step.evidence.facts
    if how == "latin_hypercube":
        _check_places(step, noisy, parts)
    if how not in ("independent", "correlated", "proportional"):
        return
    for part in parts:
        for place, name in enumerate(part.columns):
            at = facts["columns"].index(name)
            there = part.there(place)
            units = part.units[there, place].astype(np.float64)
            spread = float(part.whole()[:, place].astype(np.float64).std(ddof=1))
            size = np.abs(units) if how == "proportional" else np.full(len(units), spread)
            use = size > 0
            if any(facts[what][at] for what in ("cut", "zeros", "codes")) or not use.any():
                continue
            size = size[use] * np.sqrt(float(step.method["amount"]))
            column = noisy[name]
            total = float(np.sqrt((((column.moved()[part.rows[there]])[use] / size) ** 2).sum()))
            rounded = float(np.sqrt(((0.5 / 10.0**column.finer / size) ** 2).sum()))
            least, most = (
                float(np.sqrt(end)) for end in (chi2.ppf(BEYOND_CHANCE, len(size)), chi2.isf(BEYOND_CHANCE, len(size)))
            )
            if total > most + rounded + 1e-6 or total < least - rounded:
                step.refuse("noise is larger or smaller than chance lets it be", name)


def _check_places(step: CheckedStep, noisy: dict[str, ChangedColumn], parts: Sequence[NoisyRows]) -> None:
    """Every new value lies between neighbours of the old value of its rank."""
    facts = step.evidence.facts
    for part in parts:
        for name in part.columns:
            at, column = facts["columns"].index(name), noisy[name]
            if any(facts[what][at] for what in ("cut", "zeros", "codes")):
                continue
            old = np.sort(column.old[part.rows]).astype(np.float64) * 10.0**column.finer
            new = np.sort(column.new[part.rows])
            low, high = np.append(old[:1], old[:-1]), np.append(old[1:], old[-1:])
            if np.any(new < low - 0.5 - np.abs(low) * 1e-12) or np.any(new > high + 0.5 + np.abs(high) * 1e-12):
                step.refuse("a value does not lie in the place of its rank", name)


# ---- what the key draws ----------------------------------------------------------------------------------------------


def _check_moves(step: CheckedStep, noisy: dict[str, ChangedColumn], parts: Sequence[NoisyRows]) -> None:
    """Every value moved as the key draws, and what was cut or moved aside is counted."""
    facts, columns = step.evidence.facts, list(noisy)
    wrong = dict.fromkeys(columns, 0)
    counts = {(name, what): np.zeros(2, np.int64) for name in columns for what in ("cut", "codes")}
    for part in parts:
        ends = drawn_moves(step, part, columns)
        for place, name in enumerate(part.columns):
            column, there = noisy[name], part.there(place)
            rows = part.rows[there]
            lands = [
                _landing(step, column, rows, end[there, place], side) for end, side in zip(ends, (-1, 1), strict=True)
            ]
            new = column.new[rows]
            slack = 1 if step.method["how"] in KEEPING else 0  # what keeps the sum
            wrong[name] += int(((new < lands[0].units - slack) | (new > lands[1].units + slack)).sum())
            for what in ("cut", "codes"):
                both = sorted(getattr(land, what) for land in lands)
                counts[name, what] += both
    for place, name in enumerate(columns):
        if wrong[name]:
            step.refuse(f"{counted(wrong[name], 'value')} moved otherwise than the key draws", name)
        for what in ("cut", "codes"):
            least, most = counts[name, what]
            if not least <= facts[what][place] <= most and not wrong[name]:
                step.refuse("what was cut or moved away from codes is not what is stated", name)


def _landing(step: CheckedStep, column: ChangedColumn, rows: Ints, moves: Floats, side: int) -> LandedUnits:
    """Published units after moves, a little more or less than computed."""
    units, scale = column.old[rows], 10 ** abs(column.finer)
    spare = SAME_MOVE * (np.abs(moves) + float(np.sqrt((moves**2).mean()))) + 1e-9
    spare += 1e-15 * float(np.abs(units - units.min()).max())
    moves = moves + side * spare
    if column.finer >= 0:
        base, rest = units * scale, moves * scale
    else:
        base = units // scale
        rest = (units % scale + moves) / scale
    unit = column.step if step.method["how"] == "outliers" else 1
    new = base + np.rint(rest / unit).astype(np.int64) * unit
    stays = (units == 0) & (step.method["zeros"] == "keep")
    low = (new < 0) & ~stays & bool(step.method["nonnegative"])
    new[low | stays] = 0
    bad = _codes(column, new)
    new[bad] = _off_codes(column, new[bad], unit, bool(step.method["nonnegative"]))
    return LandedUnits(new, int(low.sum()), int(bad.sum()))


def _codes(column: ChangedColumn, units: Ints) -> NDArray[np.bool_]:
    """Where units stand for "unknown"."""
    if not column.unknown or not len(units):
        return np.zeros(len(units), np.bool_)
    different, place = np.unique(units, return_inverse=True)
    decimals = column.digits + column.finer
    told = [is_unknown(value / 10**decimals if decimals else value, column.unknown) for value in different.tolist()]
    return np.asarray(np.array(told, np.bool_)[place.ravel()])


def _off_codes(column: ChangedColumn, units: Ints, unit: int, floor: bool) -> Ints:
    """The nearest units that stand for something, the upper one of two."""
    found: Any = units.copy()
    for value in np.unique(units).tolist():
        near = (value + side * steps * unit for steps in range(1, MOST_STEPS + 1) for side in (1, -1))
        good = (one for one in near if one >= 0 or not floor)
        found[units == value] = next((one for one in good if not _codes(column, np.array([one]))[0]), value)
    return np.asarray(found)
