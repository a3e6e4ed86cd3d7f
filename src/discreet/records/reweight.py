"""The method ``Reweight``: survey weights are computed anew for published strata, clusters or sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import fsum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError, counted, listed
from discreet.keys import Key
from discreet.methods.base import RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Floats
from discreet.model.claims.reweighting import reweighted_claim
from discreet.model.evidence import Evidence
from discreet.model.records import HOUSEHOLD, NEVER_PUBLIC, WEIGHT, RecordSet
from discreet.parameters import Number, checked_numbers
from discreet.records.group_weights import (
    Codes,
    DesignGroups,
    adjustment_factors,
    copied,
    exact_totals,
    groups_of,
    is_multiple,
    known_population,
    refuse_unmatched,
    said_of,
    shared_by_factors,
    shared_equally,
    telling_factors,
    varying,
)
from discreet.records.value_columns import empty_rows, refuse_repeated

if TYPE_CHECKING:
    import pyarrow as pa

POSITIVE = Number(above=0)


class NewWeights(NamedTuple):
    """New weights, and what is told of them: groups in all, without a record and with one, and the share lost.

    ``total`` is the total size where weights go by sizes.
    """

    values: Floats
    groups: int = 0
    empty: int = 0
    few: int = 0
    lost: float = 0.0
    total: float | None = None


@dataclass(frozen=True)
class Reweight(RecordMethod):
    """Compute survey weights anew for published strata, clusters or sizes.

    Weights follow from the design: whoever sees that a record has the weight of another stratum than the published one
    knows that it was altered, and which it was. After a method that alters design variables, this one gives every
    record a weight that fits what is published of it (Mitra and Reiter 2006).

    Parameters
    ----------
    by
        Columns that make strata or clusters, as they are published.
    size
        In place of ``by``: the column of sizes that records were sampled in proportion to.
    how
        ``"recalculate"``: the population of each group by the number of records that are published in it, so that
        weights add up as before. ``"copy"``: the old weight of the records that were in the group.
    population
        What the weights of each code of ``by`` add up to: people in a stratum, or in a cluster. The sums of the old
        weights where left out.
    times
        What populations are multiplied by: for clusters, how many there are for each one that was sampled.
    total
        The sum of sizes over the population; what the old weights say of it where left out.
    least_size
        Sizes below are taken for this one.
    factors
        Where old weights differ within a group: ``"refuse"``, ``"drop"`` what makes them differ, or ``"keep"`` it with
        each record.
    empty
        Where no record is published in a group: ``"refuse"``, or ``"spread"`` its population over all others.
    weight
        The column of weights; that with the role where left out.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> table = pa.table({"area": ["n"] * 4 + ["s"] * 2, "w": [10.0] * 4 + [40.0] * 2, "x": [1, 2, 3, 4, 5, 6]})
    >>> people = ds.Microdata(table, weight="w", keys=["area"])
    >>> swapped = ds.Pram({"area": {"n": {"n": 0.5, "s": 0.5}, "s": {"s": 1.0}}}, insecure_seed=1)
    >>> shown = ds.protect(people, swapped, ds.Reweight(["area"])).public.records.shown()
    >>> sum(shown["w"]), sorted(set(zip(shown["area"], shown["w"])))
    (120.0, [('n', 40.0), ('s', 16.0)])
    """

    kind: ClassVar[str] = "reweight"
    by: tuple[str, ...] = ()
    size: str | None = None
    how: Literal["recalculate", "copy"] = "recalculate"
    population: Mapping[str, float] = field(default_factory=dict)
    times: Annotated[float, POSITIVE] = 1.0
    total: Annotated[float, POSITIVE] | None = None
    least_size: Annotated[float, POSITIVE] | None = None
    factors: Literal["refuse", "drop", "keep"] = "refuse"
    empty: Literal["refuse", "spread"] = "refuse"
    weight: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_repeated(self.by)
        object.__setattr__(self, "population", checked_numbers("population", self.population, POSITIVE))
        if bool(self.by) == (self.size is not None):
            raise ParameterError(
                "Reweight needs to know what weights go by, and only one of by= and size=.",
                hint="Give the columns of strata or clusters as by=, or the column of sizes as size=.",
            )
        if self.size is not None and self.how == "copy":
            raise ParameterError(
                'how="copy" is not allowed with size=: hardly a published size is one that somebody had.',
                hint="Leave how out.",
            )
        besides = {
            "population": bool(self.population) and (self.size is not None or self.how == "copy"),
            "times": self.times != 1 and not self.population,
            "total": self.total is not None and self.size is None,
            "least_size": self.least_size is not None and self.size is None,
            "factors": self.factors != "refuse" and (self.size is not None or self.how == "copy"),
            "empty": self.empty != "refuse" and (self.size is not None or self.how == "copy"),
        }
        wrong = [f"{name}=" for name, found in besides.items() if found]
        if wrong:
            raise ParameterError(
                f"{listed(wrong)} {'says' if len(wrong) == 1 else 'say'} nothing here.",
                hint="population=, factors= and empty= are for recalculated weights of strata and clusters, times= "
                "goes with population=, total= and least_size= with size=.",
            )

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that it takes numbers from."""
        return tuple(name for name in (self.size, self.weight) if name is not None)

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Compute the weights."""
        import pyarrow as pa

        name = self._weight(records)
        first = records.columns if records.first is None else records.first
        old = _old_weights(first, name)
        for column in (*self.by, *((self.size,) if self.size else ())):
            records[column]  # refuses what is not there
            if records.about(column).role in (*NEVER_PUBLIC, HOUSEHOLD) or column == name:
                raise ParameterError(
                    f"Column {column!r} is not published as a part of the design.", hint="Name the published columns."
                )
        found = self._by_size(records, first, old) if self.size else self._by_group(records, first, old)
        self._refuse_telling(records, name, old, found.values)
        facts: dict[str, Any] = {
            "weight": name,
            "groups": found.groups,
            "empty": found.empty,
            "few": found.few,
            "lost": found.lost,
            "total": found.total,
            "before": fsum(old),
            "after": fsum(found.values),
            "effects": [_design_effect(old), _design_effect(found.values)],
        }
        plain = self.record()
        evidence = Evidence(plain, reweighted_claim(plain, facts), facts=facts)
        changed = {name: pa.chunked_array([pa.array(found.values)])}
        return RecordOutcome(changed, evidence, tuple(self._notes(facts, found.values)))

    def _weight(self, records: RecordSet) -> str:
        names = (self.weight,) if self.weight is not None else records.with_role(WEIGHT)
        if not names:
            raise NeedsError(
                "Reweight needs to know which column holds the weights.",
                hint="Give Microdata(weight=...), or Reweight(weight=...).",
            )
        if names[0] not in records.names:
            records[names[0]]  # refuses what is not there
        if records.about(names[0]).role in (*NEVER_PUBLIC, HOUSEHOLD):
            raise ParameterError(f"Column {names[0]!r} holds no weights.", hint="Name the column of weights.")
        return names[0]

    # ---- strata and clusters -----------------------------------------------------------------------------------

    def _by_group(self, records: RecordSet, first: pa.Table, old: Floats) -> NewWeights:
        before, now = groups_of(first, self.by), groups_of(records.columns, self.by)
        uneven = varying(before, old)
        if self.how == "copy":
            self._refuse_uneven(uneven, "the weight to copy is not known")
            refuse_unmatched(
                now, dict.fromkeys(before.codes), self.by, 'Use how="recalculate" with population=, or recode first.'
            )
            return self._told(copied(before, now, old), before.codes, now)
        if self.population:
            stated = known_population(self.population, self.by, now)
            totals: Mapping[Codes, Fraction] = {codes: size * Fraction(self.times) for codes, size in stated.items()}
        else:
            totals = exact_totals(before, old)
        if self.factors == "refuse":
            self._refuse_uneven(uneven, "equal ones in their place would drop what makes them differ")
        refuse_unmatched(now, totals, self.by, "State population= for all of them.")
        missing = [codes for codes in totals if codes not in set(now.codes)]
        totals, lost = self._spread(totals, missing)
        if self.factors == "keep":
            values = shared_by_factors(totals, now, self._factors(before, old))
        else:
            values = shared_equally(totals, now)
        return self._told(values, totals, now)._replace(lost=lost)

    def _factors(self, before: DesignGroups, old: Floats) -> Floats:
        """Adjustments of records, where they do not tell the group that a record was in."""
        factors = adjustment_factors(before, old)
        telling = telling_factors(before, factors)
        if telling:
            raise ProtectionError(
                f"{counted(telling, 'record', 'have')} an adjustment that only records of one group have, and would "
                "still tell which that was.",
                hint='Use factors="drop".',
            )
        return factors

    def _told(self, values: Floats, known: Any, now: DesignGroups) -> NewWeights:
        return NewWeights(values, len(known), len(known) - len(now.codes), int((now.counts < 2).sum()))

    def _refuse_uneven(self, uneven: Sequence[Codes], why: str) -> None:
        if uneven:
            raise InputError(
                f"Weights differ within {counted(len(uneven), 'group')} ({said_of(uneven, self.by)}), and {why}.",
                hint="Name all columns of the design as by=. Of weights that were adjusted for non-response or "
                'calibrated, factors="drop" takes the mean, and factors="keep" leaves each record its adjustment.',
            )

    def _spread(
        self, totals: Mapping[Codes, Fraction], missing: Sequence[Codes]
    ) -> tuple[Mapping[Codes, Fraction], float]:
        """Populations with those of groups without a record spread over all others, and the share that this is."""
        if not missing:
            return totals, 0.0
        if self.empty == "refuse":
            raise InputError(
                f"No record is published in {counted(len(missing), 'group')} ({said_of(missing, self.by)}), so that "
                "weights would not add up to the population.",
                hint='Draw anew (another version=), recode to broader groups, or use empty="spread".',
            )
        whole = sum(totals.values())
        left = whole - sum(totals[codes] for codes in missing)
        return {codes: size * whole / left for codes, size in totals.items()}, float(1 - left / whole)

    # ---- sizes -------------------------------------------------------------------------------------------------

    def _by_size(self, records: RecordSet, first: pa.Table, old: Floats) -> NewWeights:
        assert self.size is not None
        sizes = _numbers(records, self.size)
        if self.least_size is not None:
            sizes = np.maximum(sizes, self.least_size)
        low = int((sizes <= 0).sum())
        if low:
            raise InputError(
                f"Column {self.size!r} has {counted(low, 'size')} of zero or below, which no record is sampled with.",
                hint="Draw them anew, or give least_size=, the smallest size in the population.",
            )
        total = self.total
        if total is None:
            before = np.asarray(first[self.size].to_numpy(), np.float64)
            if not np.isfinite(before).all():
                raise InputError(
                    f"Some original sizes in {self.size!r} are missing or infinite, so that their total is not known.",
                    hint="Give total=, the sum of sizes over the population.",
                )
            total = fsum(old * before)
        values = total / (len(sizes) * sizes)
        return NewWeights(values, len(sizes), total=float(total))

    # ---- what comes out ----------------------------------------------------------------------------------------

    def _refuse_telling(self, records: RecordSet, name: str, old: Floats, new: Floats) -> None:
        """Refuse weights that are still the old ones, and columns that say what these were."""
        import pyarrow as pa

        if is_multiple(new, old):
            raise ProtectionError(
                f"The new weights are those of before, or a multiple of them: {listed(self.by or (self.size,))} "
                "is as it was in all records.",
                hint="Give Reweight after the method that alters the design, or leave it out.",
            )
        for other in records.names:
            kind = records[other].type
            if other == name or records.about(other).role in (*NEVER_PUBLIC, HOUSEHOLD):
                continue
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                continue
            values = np.asarray(records[other].to_numpy(), np.float64)
            if is_multiple(np.where(empty_rows(records, other), np.nan, values), old):
                raise ProtectionError(
                    f"Column {other!r} is a multiple of the old weights, or of one by them, and would still tell what "
                    "they were.",
                    hint="Leave it out of the file.",
                )

    def _notes(self, facts: Mapping[str, Any], values: Floats) -> list[str]:
        notes = [
            f"New weights lie between {values.min():.6g} and {values.max():.6g}; the design effect of weighting "
            f"(1 + cv²) is {facts['effects'][1]:.3f}, and was {facts['effects'][0]:.3f}."
        ]
        if facts["empty"] and self.how == "copy":
            notes.append(
                f"No record is published in {counted(facts['empty'], 'group')}: weights do not add up to them."
            )
        elif facts["empty"]:
            notes.append(f"{facts['lost']:.3%} of the population, of groups without a record, was spread over others.")
        if facts["few"]:
            few = counted(facts["few"], "group")
            notes.append(f"Of {few}, fewer than two records are published: there is no variance within them.")
        if self.factors == "keep":
            notes.append("Adjustments stay with their records: look whether they tell records apart.")
        return notes


def _old_weights(first: pa.Table, name: str) -> Floats:
    import pyarrow as pa

    column = first[name]
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(
            f"Column {name!r} holds {column.type}, not numbers.",
            hint=f"Weights of csv files are text unless they are called so: Microdata(weight={name!r}).",
        )
    values = np.asarray(column.fill_null(0).to_numpy(), np.float64)
    wrong = int((~np.isfinite(values) | (values <= 0)).sum())
    if wrong:
        raise InputError(
            f"{counted(wrong, 'weight', 'are')} missing, infinite, zero or below zero in {name!r}.",
            hint="Every record needs a weight; leave records without one out.",
        )
    return values


def _numbers(records: RecordSet, name: str) -> Floats:
    import pyarrow as pa

    kind = records[name].type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(f"Column {name!r} holds {kind}, not sizes.", hint="Name strata as by=.")
    empty = int(empty_rows(records, name).sum())
    if empty:
        raise InputError(
            f"{counted(empty, 'record', 'have')} no size in {name!r}.",
            hint="Fill sizes in before weights are computed.",
        )
    return np.asarray(records[name].to_numpy(), np.float64)


def _design_effect(weights: Floats) -> float:
    """One and the squared coefficient of variation."""
    mean = fsum(weights) / len(weights)
    return float(f"{fsum((weights / mean) ** 2) / len(weights):.6g}")
