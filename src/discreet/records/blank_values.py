"""The method ``BlankValues``: empty values in the tails at random and add noise, so that analysts can correct."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np

from discreet.engine.draws import draws, fractions
from discreet.errors import InputError, ParameterError, ProtectionError, counted, listed
from discreet.keys import Key
from discreet.measures.retention import kept_between
from discreet.methods.base import Keyed, RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.claims.blank_values import blanked_values_claim
from discreet.model.evidence import Evidence
from discreet.model.records import RecordSet
from discreet.parameters import Number, checked_numbers
from discreet.progress import steps as in_steps
from discreet.records.exact_columns import ExactColumn
from discreet.records.value_columns import exact_column, refuse_repeated, unknown_by_accident, value_columns

if TYPE_CHECKING:
    import pyarrow as pa

OPEN_SHARE, ABOVE_ZERO = Number(above=0, below=1), Number(above=0)
FARTHEST = 9
"""No draw of 53 bits lies so many standard deviations away."""
FLOAT_LIMIT = 2**53


class BlurredColumn(NamedTuple):
    """A column that decides: its values with noise in units, where it has any, and how fine the units are."""

    units: Ints
    known: Bools
    decimals: int


class BlurredLimits(NamedTuple):
    """Limits in units, ``None`` without one, and between which fractions a draw keeps each value."""

    low: int | None
    high: int | None
    below: Floats
    above: Floats


@dataclass(frozen=True)
class BlankValues(Keyed, RecordMethod):
    """Empty values in the tails of columns at random, with a known probability, and add noise of a known variance.

    First noise is added. Then every value is compared with blurred limits: a normal draw is added to it for the
    decision only, and where the sum lies beyond a limit, all columns of the method are emptied in the record. Limits,
    blur and variance are published, so that analysts can weight and correct (:func:`discreet.analyse.bsimex`).

    Parameters
    ----------
    upper, lower
        For a column the share of values below its upper, or lower, limit: ``upper={"income": 0.95}``. Limits are
        quantiles of the file, rounded to a power of ten of at most a tenth of the jitter, so that they need not be
        anybody's value.
    jitter
        For every column with a limit the standard deviation of the draw that blurs it, in units of the column.
    noise
        For a column the standard deviation of the noise that is added to every value. It is drawn in the smallest unit
        of the column, and must not be smaller than that.
    also
        Further columns that are emptied in the same records, because they would tell what was emptied.
    least_chance
        Where a value is kept that had a smaller probability of it, nothing is released: its weight would drown all
        others.
    version
        Version of the draws.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Notes
    -----
    Source: Flossmann and Lechner (2006).

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = ds.Microdata(pa.table({"wage": [float(v % 97) for v in range(500)]}), numeric="wage")
    >>> method = ds.BlankValues(upper={"wage": 0.9}, jitter={"wage": 20}, noise={"wage": 5}, insecure_seed=1)
    >>> release = ds.protect(people, method)
    >>> release.public.records.blankings
    (Blanking of wage: wage kept below 87 (jitter 20), noise variance of wage 25.0833,)
    """

    kind: ClassVar[str] = "blank_values"
    secret: ClassVar[bool] = True
    upper: Mapping[str, float] = field(default_factory=dict)
    lower: Mapping[str, float] = field(default_factory=dict)
    jitter: Mapping[str, float] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    least_chance: Annotated[float, Number(least=0, below=1)] = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        limits = (("upper", OPEN_SHARE), ("lower", OPEN_SHARE), ("jitter", ABOVE_ZERO), ("noise", ABOVE_ZERO))
        for name, allowed in limits:
            object.__setattr__(self, name, checked_numbers(name, getattr(self, name), allowed))
        refuse_repeated(self.also)
        if not self.decides and not self.noise:
            raise ParameterError(
                "BlankValues has neither limits nor noise.",
                hint="For example ds.BlankValues(upper={'income': 0.95}, jitter={'income': 1000}).",
            )
        if set(self.jitter) != set(self.decides):
            odd = sorted(set(self.jitter) ^ set(self.decides))
            raise ParameterError(
                f"jitter= and the limits do not name the same columns: {listed(odd)}.",
                hint="Give jitter= a standard deviation for every column of upper= and lower=, and for no other.",
            )
        for name in self.lower:
            if name in self.upper and self.lower[name] >= self.upper[name]:
                raise ParameterError(
                    f"The lower limit of {name!r} ({self.lower[name]}) is not below the upper one "
                    f"({self.upper[name]}).",
                    hint="Give a smaller share to lower=.",
                )
        if self.also and not self.decides:
            raise ParameterError("also= names columns to empty, and there is no limit.", hint="Give upper= or lower=.")
        double = [name for name in self.also if name in self.numbers]
        if double:
            raise ParameterError(f"also= names {listed(double)}, emptied already.", hint="Leave them out of also=.")

    @property
    def decides(self) -> tuple[str, ...]:
        """Columns with a limit."""
        return tuple(sorted({*self.upper, *self.lower}))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that it takes numbers from."""
        return tuple(sorted({*self.upper, *self.lower, *self.noise}))

    # ---- on the records ------------------------------------------------------------------------------------

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Add noise, draw, and empty."""
        assert key is not None
        names = value_columns(records, (*self.numbers, *self.also), "BlankValues")
        changed: dict[str, pa.ChunkedArray] = {}
        exact, noised = dict[str, ExactColumn](), dict[str, Ints]()
        parts: dict[str, Ints] = {}
        for name in in_steps("records", self.numbers):
            exact[name] = exact_column(records, name)
            moves = self._noise(records, key, name, exact[name])
            noised[name] = exact[name].units + moves
            changed[name] = _moved(records, name, exact[name], moves)
            if name in self.noise:
                parts[f"noise_{self.numbers.index(name)}"] = moves
        limits, blanked = {}, np.zeros(len(records), np.bool_)
        for name in self.decides:
            column = BlurredColumn(noised[name], ~exact[name].gaps, exact[name].decimals)
            limits[name] = self._limits(name, column)
            blanked |= self._beyond(records, key, name, column, limits[name])
        self._refuse_nothing_done(blanked)
        notes = self._unlikely(limits, exact, blanked)
        for name in names:
            changed[name] = _emptied(changed.get(name, records[name]), blanked)
        facts: dict[str, Any] = {"columns": list(names), "rows": len(records), "insecure": key.insecure}
        facts |= {"kept": self._kept(limits, exact), "noise": self._variances(exact), "blanked": int(blanked.sum())}
        facts["decimals"] = {name: column.decimals for name, column in exact.items()}
        facts["beyond"] = {
            name: _beyond_counts(exact[name], noised[name], limits[name], blanked) for name in self.decides
        }
        plain = self.record()
        evidence = Evidence(
            plain,
            blanked_values_claim(plain, facts),
            facts=facts,
            findings=tuple(_in_words(name, counts) for name, counts in facts["beyond"].items()),
            parts={"records": parts} if parts else {},
        )
        return RecordOutcome(changed, evidence, tuple(notes))

    # ---- noise ---------------------------------------------------------------------------------------------

    def _noise(self, records: RecordSet, key: Key, name: str, column: ExactColumn) -> Ints:
        """Noise of a column in units, none for gaps."""
        assert records.identity is not None
        if name not in self.noise:
            return np.zeros(len(records), np.int64)
        spread = self.noise[name] * 10.0**column.decimals
        if spread < 1:
            raise ParameterError(
                f"The noise of {name!r} has the standard deviation {self.noise[name]:g}, less than the unit of "
                f"the column ({10.0**-column.decimals:g}): most values would be published as they are.",
                hint="Give more noise, or leave the column out of noise=.",
            )
        if spread * FARTHEST >= FLOAT_LIMIT:
            raise ParameterError(
                f"The noise of {name!r} is too large to be added exactly with {counted(column.decimals, 'decimal')}.",
                hint="Express the column in a larger unit (thousands), or give less noise.",
            )
        # Draws belong to who it is and to the value: the same unit with another value, or a release with another
        # variance, has other noise, so that the difference of two published values is not that of the true ones.
        purpose = self.purpose(f"blank values/noise/{name}/{float(self.noise[name])!r}")
        drawn = fractions(draws(key.secret, purpose, self.version, records.identity, column.units))
        moves = np.rint(spread * _normal(drawn)).astype(np.int64)
        return np.where(column.gaps, 0, moves)

    def _variances(self, exact: Mapping[str, ExactColumn]) -> dict[str, float]:
        """The variance of noise as published: rounding to the unit adds a twelfth of its square."""
        return {
            name: float(self.noise[name]) ** 2 + 10.0 ** (-2 * exact[name].decimals) / 12 for name in sorted(self.noise)
        }

    # ---- limits --------------------------------------------------------------------------------------------

    def _limits(self, name: str, column: BlurredColumn) -> BlurredLimits:
        values = np.sort(column.units[column.known])
        if not len(values):
            raise InputError(f"Column {name!r} has no value, so that it has no quantiles.", hint="Leave it out.")
        grain = rounding_grain(self.jitter[name], column.decimals)
        low, high = (
            rounded_quantile(values, share[name], grain) if name in share else None
            for share in (self.lower, self.upper)
        )
        if low is not None and high is not None and low >= high:
            raise ParameterError(
                f"The limits of {name!r} meet when they are rounded to a tenth of the jitter.",
                hint="Give less jitter, or limits farther apart.",
            )
        # Differences of whole units are exact; values themselves may be too large for floating point.
        spread = float(self.jitter[name]) * 10.0**column.decimals
        to_low, to_high = (None if end is None else (end - column.units) / spread for end in (low, high))
        return BlurredLimits(low, high, *kept_between(to_low, to_high))

    def _beyond(self, records: RecordSet, key: Key, name: str, column: BlurredColumn, limits: BlurredLimits) -> Bools:
        """Where a column empties records."""
        assert records.identity is not None
        purpose = self.purpose(f"blank values/jitter/{name}", float(self.jitter[name]))
        drawn = fractions(draws(key.secret, purpose, self.version, records.identity))
        found: Bools = column.known & ((drawn < limits.below) | (drawn >= limits.above))
        return found

    def _unlikely(
        self, names: Mapping[str, BlurredLimits], exact: Mapping[str, ExactColumn], blanked: Bools
    ) -> list[str]:
        """Refuse kept values whose weight would drown all others; say how many lost ones no weight can stand for."""
        notes = []
        for name, limits in names.items():
            unlikely = ~exact[name].gaps & (limits.above - limits.below < self.least_chance)
            kept, lost = int((unlikely & ~blanked).sum()), int((unlikely & blanked).sum())
            if kept:
                raise ProtectionError(
                    f"{counted(kept, 'value')} of {name!r} would be published although its probability is below "
                    f"{self.least_chance:g}: the weight of each would drown all others.",
                    hint="Give more jitter, code the tails first (ds.Recode(column, top=...)), or give a smaller "
                    "least_chance=.",
                )
            if lost:
                notes.append(
                    f"{counted(lost, 'value')} of {name!r} had a probability below {self.least_chance:g} of staying: "
                    "analysts cannot correct for their loss. More jitter helps."
                )
        return notes

    def _refuse_nothing_done(self, blanked: Bools) -> None:
        if blanked.all():
            raise ProtectionError(
                "Every record would be emptied, and nothing would be left to analyse.",
                hint="Give a larger share to upper=, or a smaller one to lower=.",
            )
        if not self.noise and not blanked.any():
            raise ProtectionError(
                "No draw fell beyond a limit: no value would change.",
                hint="Give a smaller share to upper= or a larger one to lower=, or add noise=.",
            )

    def _kept(self, limits: Mapping[str, BlurredLimits], exact: Mapping[str, ExactColumn]) -> dict[str, Any]:
        """Limits as they are published."""
        return {
            name: {
                "low": _value(found.low, exact[name]),
                "high": _value(found.high, exact[name]),
                "jitter": float(self.jitter[name]),
            }
            for name, found in limits.items()
        }


def rounding_grain(jitter: float, decimals: int) -> int:
    """To how many units limits are rounded: a tenth of the jitter's power of ten, at least one unit.

    Examples
    --------
    >>> rounding_grain(250, 0), rounding_grain(1, 3), rounding_grain(0.5, 0)
    (10, 100, 1)
    """
    power = Decimal(repr(float(jitter))).adjusted() - 1 + decimals
    return int(10 ** max(0, min(power, 18)))


def rounded_quantile(values: Ints, share: float, grain: int) -> int:
    """The value with so large a share of sorted values up to it, rounded; a half goes up.

    Examples
    --------
    >>> rounded_quantile(np.arange(1, 101), 0.95, 1), rounded_quantile(np.arange(1, 101), 0.95, 10)
    (95, 100)
    """
    place = max(1, ceil(Fraction(str(share)) * len(values)))
    return (int(values[place - 1]) + grain // 2) // grain * grain


def _normal(fraction: Floats) -> Floats:
    """Normal draws from fractions; the ends are moved inside, where the inverse is finite."""
    from scipy.special import ndtri

    return np.asarray(ndtri(np.clip(fraction, 2.0**-54, 1 - 2.0**-53)), np.float64)


def _moved(records: RecordSet, name: str, column: ExactColumn, moves: Ints) -> pa.ChunkedArray:
    """A column after moves; gaps, and codes that stand for "unknown", stay."""
    import pyarrow as pa
    import pyarrow.compute as pc

    new = column.moved_by(moves, name)
    unknown = records.about(name).missing
    if not unknown:
        return new
    there = pa.chunked_array([pa.array(~column.gaps)])
    new = pc.if_else(there, new, records[name])
    if unknown_by_accident(new, column.gaps, unknown):
        raise InputError(
            f'Noise makes a value of column {name!r} a code for "unknown".',
            hint="Empty the fields that hold such codes first, or take codes far away from all values.",
        )
    return new


def _emptied(column: pa.ChunkedArray, blanked: Bools) -> pa.ChunkedArray:
    import pyarrow as pa

    # Taken, not masked: a mask leaves the values in memory under the gaps.
    return pa.chunked_array([column.combine_chunks().take(pa.array(np.arange(len(blanked)), mask=blanked))])


def _value(units: int | None, column: ExactColumn) -> float | int | None:
    if units is None:
        return None
    return units if column.whole else units / 10.0**column.decimals


def _beyond_counts(column: ExactColumn, noised: Ints, limits: BlurredLimits, blanked: Bools) -> list[int]:
    """How many values lie beyond the limits and how many of them were emptied; with noise, and without."""
    found = []
    for units in (noised, column.units):
        beyond = np.zeros(len(units), np.bool_)
        if limits.low is not None:
            beyond |= units < limits.low
        if limits.high is not None:
            beyond |= units > limits.high
        beyond &= ~column.gaps
        found += [int(beyond.sum()), int((beyond & blanked).sum())]
    return found


def _in_words(name: str, counts: list[int]) -> str:
    beyond, emptied, truly, truly_emptied = counts
    text = f"{name}: {emptied:,} of {counted(beyond, 'value')} beyond the limits were emptied"
    return text if counts[:2] == counts[2:] else f"{text}; of the original values, {truly_emptied:,} of {truly:,}"
