"""Values emptied at random and noise: limits are quantiles, chances follow from them, draws follow from the key."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, erfc, floor, isfinite, log, log10, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.arrays import Floats, Ints
from discreet.model.claims.blank_values import blanked_values_claim
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields
from discreet.verify.records.keyed_draws import Words, drawn_fractions, identity_of, purpose_of
from discreet.verify.records.value_columns import NEVER, whole_units

if TYPE_CHECKING:
    import pyarrow as pa

BEYOND_CHANCE = 45.0
"""What has a chance below exp(-45) was not drawn as stated."""
HALF = 0.5 + 1e-9
NEARLY = 1e-12
"""Two ways to compute a probability differ by less."""


class CheckedColumn(NamedTuple):
    """A column in whole units: before, after noise, where it has a value, and its decimals."""

    units: Ints
    noised: Ints
    known: NDArray[np.bool_]
    decimals: int


def check_blanked_values(step: CheckedStep) -> None:
    """Noise was added, limits were found and records emptied as stated, and nothing else changed."""
    facts, before = step.evidence.facts, len(step.verdict.refused)
    if not _fits(step):
        return
    blanked = _blanked(step)
    identity = None if step.key is None else identity_of(step.original)
    columns: dict[str, CheckedColumn] = {}
    for place, name in enumerate(_numbers(step)):
        found = _column(step, place, name)
        if found is None:
            return
        columns[name] = found
        _check_values(step, name, found, blanked)
        if name in step.method["noise"]:
            _check_noise(step, name, found, identity)
    _check_also(step, blanked)
    expected, beyond = np.zeros(len(blanked), np.bool_), np.zeros(len(blanked), np.bool_)
    stays = np.ones(len(blanked))
    for name in sorted(facts["kept"]):
        chances = _chances(step, name, columns[name], blanked)
        if chances is None:
            return
        stays = stays * np.where(columns[name].known, chances[1] - chances[0], 1.0)
        if identity is not None and step.key is not None:
            purpose = purpose_of(step.method, f"blank values/jitter/{name}", float(step.method["jitter"][name]))
            drawn = drawn_fractions(identity, step.key.secret, purpose)
            expected |= columns[name].known & ((drawn < chances[0] - NEARLY) | (drawn >= chances[1] + NEARLY))
            beyond |= columns[name].known & ((drawn < chances[0] + NEARLY) | (drawn >= chances[1] - NEARLY))
    if step.key is None:
        _check_numbers(step, blanked, stays)
    else:
        other = int(((expected & ~blanked) | (blanked & ~beyond)).sum())
        if other:
            step.refuse(f"{counted(other, 'record', 'are')} empty, or not, against what the key draws")
    if facts["blanked"] != int(blanked.sum()) or facts["rows"] != len(blanked):
        step.refuse("another number of records is empty than stated")
    if blanked.all() or not (step.method["noise"] or blanked.any()):
        step.refuse("every record was emptied, or nothing changed")
    if type(facts["insecure"]) is not bool or (step.key is not None and facts["insecure"] != step.key.insecure):
        step.refuse("it is not said whether draws came from a seed, or wrongly")
    step.claims(blanked_values_claim(step.method, facts))
    if step.key is None:
        step.verdict.take_for_granted("that noise and decisions were drawn at random as stated", "method")
    followed = "" if step.key is None else " Noise and decisions are those that the secret key draws."
    step.verdict.prove(step.evidence.claim.statement + followed, before)


def _numbers(step: CheckedStep) -> list[str]:
    return sorted({*step.method["upper"], *step.method["lower"], *step.method["noise"]})


def _fits(step: CheckedStep) -> bool:
    """Whether parameters make sense, and columns and facts are those that they name."""
    method, facts = step.method, step.evidence.facts
    shares, spreads = [*method["upper"].values(), *method["lower"].values()], [*method["noise"].values()]
    limited = {*method["upper"], *method["lower"]}
    spreads += method["jitter"].values()
    both = set(method["upper"]) & set(method["lower"])
    columns = [*_numbers(step), *method["also"]]
    if not all(0 < share < 1 for share in shares) or not all(s > 0 and isfinite(s) for s in spreads):
        step.refuse("a share, a jitter or a noise is none")
    elif any(method["lower"][name] >= method["upper"][name] for name in both) or set(method["jitter"]) != limited:
        step.refuse("limits and jitter do not fit each other")
    elif list(facts["columns"]) != columns or set(step.changed) != set(columns) or len(set(columns)) < len(columns):
        step.refuse("other columns changed than the stated ones")
    elif any(step.original.about(name).role in NEVER for name in columns):
        step.refuse("a column was emptied that holds no values")
    elif not limited and method["also"]:
        step.refuse("columns were to be emptied with others, and none decides")
    elif set(facts["kept"]) != limited or set(facts["noise"]) != set(method["noise"]):
        step.refuse("limits or variances are stated of other columns")
    elif any(step.changed[name].type != step.before[name].type for name in columns):
        step.refuse("a column is of another type than before")
    else:
        return True
    return False


def _blanked(step: CheckedStep) -> NDArray[np.bool_]:
    """Records that lost a value."""
    found = np.zeros(len(step.original), np.bool_)
    for name, column in step.changed.items():
        found |= _filled(step.before[name]) & ~_filled(column)
    return found


def _filled(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    return np.asarray(column.is_valid().to_numpy(), np.bool_)


def _column(step: CheckedStep, place: int, name: str) -> CheckedColumn | None:
    """A column in its own smallest units, with the noise that the evidence states."""
    old, decimals = step.before[name], step.evidence.facts["decimals"][name]
    if str(old.type) not in ("int64", "double"):
        step.refuse("a column was emptied by limits, or got noise, that holds no numbers", name)
        return None
    known = ~empty_fields(old, step.original.about(name).missing)
    values = np.where(known, np.asarray(old.fill_null(0).to_numpy()), 0)
    units = whole_units(values, decimals, 9)
    if units is None or (decimals > 0 and whole_units(values, decimals - 1, 9) is not None):
        step.refuse("numbers have other decimals than stated", name)
        return None
    parts = step.evidence.parts.get("records", {})
    wanted = sorted(f"noise_{i}" for i, other in enumerate(_numbers(step)) if other in step.method["noise"])
    if sorted(parts) != wanted or any(len(parts[key]) != len(units) for key in parts):
        step.refuse("the noise of the records is not stated")
        return None
    noise = np.asarray(parts[f"noise_{place}"]) if name in step.method["noise"] else np.zeros(len(units), np.int64)
    if np.any(noise[~known] != 0):
        step.refuse("noise is stated of empty fields", name)
    return CheckedColumn(units, units + noise, known, decimals)


def _check_values(step: CheckedStep, name: str, column: CheckedColumn, blanked: NDArray[np.bool_]) -> None:
    """Kept records have their value and its noise; empty ones have nothing."""
    new = step.changed[name]
    filled = _filled(new)
    if np.any(filled & blanked):
        step.refuse("a record lost one value and kept another", name)
    kept = column.known & ~blanked
    values = np.where(kept & filled, np.asarray(new.fill_null(0).to_numpy()), 0)
    units = whole_units(values, column.decimals, 9)
    if units is None or not np.array_equal(units[kept], column.noised[kept]):
        step.refuse("a value is not the original one with its noise", name)
    _check_same(step, name, ~column.known & ~blanked)
    after = empty_fields(new, step.original.about(name).missing)
    if np.any(after & kept):
        step.refuse("a value became a code for 'unknown', or was lost", name)


def _check_also(step: CheckedStep, blanked: NDArray[np.bool_]) -> None:
    for name in step.method["also"]:
        if np.any(_filled(step.changed[name]) & blanked):
            step.refuse("a record lost one value and kept another", name)
        _check_same(step, name, ~blanked)


def _check_same(step: CheckedStep, name: str, rows: NDArray[np.bool_]) -> None:
    import pyarrow as pa

    chosen = pa.array(rows)
    if not step.before[name].filter(chosen).combine_chunks().equals(step.changed[name].filter(chosen).combine_chunks()):
        step.refuse("a field changed that had to stay", name)


def _check_noise(step: CheckedStep, name: str, column: CheckedColumn, identity: Words | None) -> None:
    """Noise has the stated variance, and is the one that the key draws."""
    facts, unit = step.evidence.facts, 10.0**-column.decimals
    spread = float(step.method["noise"][name]) / unit
    if spread < 1 - 1e-9:
        step.refuse("noise is smaller than the unit of the column", name)
        return
    stated, variance = facts["noise"][name], (spread**2 + 1 / 12) * unit**2
    if not isinstance(stated, float) or abs(stated - variance) > 1e-9 * variance:
        step.refuse("the stated variance is not that of the noise", name)
    noise = (column.noised - column.units)[column.known]
    if identity is None or step.key is None:
        if _impossible(noise / spread, 0.5 / spread):
            step.refuse("the noise all but certainly has another variance than stated", name)
        return
    from statistics import NormalDist

    purpose = purpose_of(step.method, f"blank values/noise/{name}/{float(step.method['noise'][name])!r}")
    drawn = drawn_fractions(identity, step.key.secret, purpose, column.units.view(np.uint64))[column.known]
    inverse = NormalDist().inv_cdf
    normal = np.array([inverse(min(max(f, 2.0**-54), 1 - 2.0**-53)) for f in drawn.tolist()])
    other = int((np.abs(noise - spread * normal) > HALF + 1e-12 * np.abs(spread * normal)).sum())
    if other:
        step.refuse(f"{counted(other, 'record', 'have')} other noise than the key draws", name)


def _impossible(draws: Floats, rounded: float) -> bool:
    """Whether normal draws, each rounded by so much at most, have a mean square of hardly any chance (Chernoff)."""
    if not len(draws):
        return False
    root = float(np.sqrt((draws**2).mean()))
    nearest = min(max(1.0, max(0.0, root - rounded) ** 2), (root + rounded) ** 2)
    return nearest == 0 or len(draws) / 2 * (nearest - 1 - log(nearest)) > BEYOND_CHANCE


# ---- limits -------------------------------------------------------------------------------------------------


def _chances(
    step: CheckedStep, name: str, column: CheckedColumn, blanked: NDArray[np.bool_]
) -> tuple[Floats, Floats] | None:
    """Between which fractions draws keep each value, after a look at the limits and at what lies beyond them."""
    stated, jitter = step.evidence.facts["kept"][name], step.method["jitter"][name]
    ordered = sorted(column.noised[column.known].tolist())
    if not ordered or set(stated) != {"low", "high", "jitter"} or stated["jitter"] != jitter:
        step.refuse("the limits are not stated, or other jitter", name)
        return None
    ends: list[int | None] = []
    for side, share in (("low", step.method["lower"].get(name)), ("high", step.method["upper"].get(name))):
        end = None if share is None else _limit(ordered, share, float(jitter), column.decimals)
        ends.append(end)
        value = None if end is None else end if str(step.before[name].type) == "int64" else end / 10.0**column.decimals
        if stated[side] != value or type(stated[side]) is not type(value):
            step.refuse("a limit is not the quantile of the values", name)
            return None
    low, high = ends
    if low is not None and high is not None and low >= high:
        step.refuse("the limits leave no room between them", name)
    spread = float(jitter) * 10.0**column.decimals
    below = np.zeros(len(column.units)) if low is None else _distribution((low - column.noised) / spread)
    above = np.ones(len(column.units)) if high is None else _distribution((high - column.noised) / spread)
    if np.any((above - below)[column.known & ~blanked] < step.method["least_chance"] - NEARLY):
        step.refuse("a value was kept with less than the least chance", name)
    if list(step.evidence.facts["beyond"][name]) != _beyond(column, low, high, blanked):
        step.refuse("another number of values lies beyond the limits than stated, or was emptied", name)
    return below, above


def _limit(ordered: Sequence[int], share: float, jitter: float, decimals: int) -> int:
    """The quantile in units, rounded to a tenth of the power of ten of the jitter."""
    place = max(1, ceil(Fraction(str(share)) * len(ordered)))
    power = floor(log10(jitter))
    power += 1 if 10.0 ** (power + 1) <= jitter else -1 if 10.0**power > jitter else 0
    grain = 10 ** max(0, min(power - 1 + decimals, 18))
    return floor(Fraction(ordered[place - 1], grain) + Fraction(1, 2)) * int(grain)


def _distribution(distances: Floats) -> Floats:
    """The normal distribution function, by another way than the method's."""
    root = sqrt(2)
    return np.array([erfc(-distance / root) / 2 for distance in distances.tolist()])


def _beyond(column: CheckedColumn, low: int | None, high: int | None, blanked: NDArray[np.bool_]) -> list[int]:
    """Values beyond the limits, and those of them that were emptied: with noise, and without."""
    found = []
    for units in (column.noised, column.units):
        under = units < low if low is not None else np.zeros(len(units), np.bool_)
        over = units > high if high is not None else np.zeros(len(units), np.bool_)
        out = (under | over) & column.known
        found += [int(out.sum()), int((out & blanked).sum())]
    return found


def _check_numbers(step: CheckedStep, blanked: NDArray[np.bool_], stays: Floats) -> None:
    """Without the key: as many records are empty as their chances give, likely ones and others (Hoeffding)."""
    for rows in (stays < 0.5, stays >= 0.5):
        many, mean = int(blanked[rows].sum()), float((1 - stays[rows]).sum())
        if abs(many - mean) > sqrt(BEYOND_CHANCE * int(rows.sum()) / 2):
            step.refuse("all but certainly other records are empty than the stated chances give")


# ---- what goes out ------------------------------------------------------------------------------------------


def check_published_blankings(step: CheckedStep) -> None:
    """No published probability or variance is of a column that this step changed after it."""
    for evidence in step.earlier:
        if evidence.method.get("method") == "blank_values" and set(step.changed) & set(evidence.facts["columns"]):
            step.refuse("published probabilities or variances do not fit a column that was changed after them")


def public_blankings(evidences: Sequence[Any]) -> list[dict[str, Any]]:
    """What analysts are told, as plain data, in the order of the evidence."""
    return [
        {name: evidence.facts[name] for name in ("columns", "kept", "noise")}
        for evidence in evidences
        if evidence.method.get("method") == "blank_values"
    ]
