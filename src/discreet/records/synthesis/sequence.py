"""Columns one after the other: each drawn from a model by those before it, on what these were drawn to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError, ParameterError, ProtectionError, counted
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import HOUSEHOLD, RecordSet
from discreet.records.ordered_values import order_of
from discreet.records.synthesis.columns import CodesOfColumn, SynthesisColumn, UnitColumn
from discreet.records.synthesis.drawing import LeafSizes, Model, Setting, drawn_codes, drawn_units
from discreet.records.synthesis.predictors import (
    Predictor,
    design,
    kept_predictor,
    number_predictor,
    predictor_of,
    renewed,
    stacked_bins,
)
from discreet.records.synthesis.structural import StructuralRule, rule_value, under_rules
from discreet.records.value_columns import rows_by_kind
from discreet.rules.key_counts import codes_of

if TYPE_CHECKING:
    import pyarrow as pa

LEAST_CHANGE = 1e-3
"""The mean square change of numbers is at least this share of their variance."""
STRAIGHT = ("normal", "normal_rank", "logit", "polytomous")
SIZE = "size of the household"
"""What trees of households look at besides columns."""
Fractions = Callable[[str], Floats]
"""A fraction for every record, drawn for a stated purpose."""


@dataclass(frozen=True, eq=False)
class Households:
    """The number of each record's household, one record of each, how many members it has; columns that all share."""

    number: Ints
    one: Ints
    size: Ints
    columns: tuple[str, ...]


def households_of(records: RecordSet, names: Sequence[str]) -> Households | None:
    """Households, where the records have any of several members, and which of some columns are theirs."""
    named = records.with_role(HOUSEHOLD)
    if not named:
        return None
    assert records.identity is not None
    number = np.unique(codes_of(records[named[0]])[0], return_inverse=True)[1].ravel()
    size = np.bincount(number)
    if size.max(initial=1) < 2:
        return None
    order = order_of(records.identity)
    one = np.empty(len(size), np.int64)
    one[number[order[::-1]]] = order[::-1]  # of several members the one that comes first
    return Households(number, one, size, tuple(name for name in names if _whole(records, name, number, one)))


def _whole(records: RecordSet, name: str, number: Ints, one: Ints) -> bool:
    """Whether all members of every household have the same value of a column."""
    codes = codes_of(records[name])[0]
    return bool(np.array_equal(codes, codes[one][number]))


@dataclass(frozen=True)
class SynthesisPlan:
    """How one column is synthesised."""

    column: SynthesisColumn
    model: Model
    rules: list[StructuralRule]
    of_households: bool


@dataclass(eq=False)
class ColumnSequence:
    """Records on their way: predictors as they were and as they are drawn, columns that are done.

    Parameters
    ----------
    records
        All records as they were.
    given
        Columns that stay, and that others depend on.
    strata
        The number of every record's stratum.
    households
        Who lives together, where that is known.
    """

    records: RecordSet
    given: Sequence[str]
    strata: Ints
    households: Households | None
    least: int
    smoothing: str
    proper: bool
    words: Callable[[int], str]
    predictors: list[Predictor] = field(default_factory=list)
    changed: dict[str, pa.ChunkedArray] = field(default_factory=dict)
    sizes: dict[str, LeafSizes] = field(default_factory=dict)
    met: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.predictors = [kept_predictor(self.records, name) for name in self.given]
        home = self.households
        if home is not None:
            size = home.size[home.number].astype(np.float64)
            self.predictors.append(number_predictor(SIZE, size, np.zeros(len(size), np.bool_)))

    def add(self, plan: SynthesisPlan, fractions: Fractions) -> None:
        """Synthesise the next column."""
        column = plan.column
        rows = np.arange(len(self.records)) if not plan.of_households else self._home.one
        before = under_rules(plan.rules, self.records)
        after = under_rules(plan.rules, self.records.with_columns(self.changed))
        used = self._predictors(plan)
        state, drawn = np.zeros(len(self.records), np.int64), np.zeros(len(self.records), np.int64)
        if isinstance(column, CodesOfColumn):
            drawn = self._drawn(plan, used, column.codes, None, (rows, before, after), fractions)
        else:
            if column.empties:
                state = self._drawn(plan, used, column.state, None, (rows, before, after), fractions)
            have = before.copy()
            have[column.state > 0] = 0  # no value to draw from
            want = np.where(state > 0, 0, after)
            drawn = self._drawn(plan, used, column.units, column, (rows, have, want), fractions)
        if plan.of_households:
            drawn, state = (one[self._home.one][self._home.number] for one in (drawn, state))
            after = after[self._home.one][self._home.number]
        self._finish(plan, drawn, state, after)

    @property
    def _home(self) -> Households:
        assert self.households is not None
        return self.households

    def _predictors(self, plan: SynthesisPlan) -> list[Predictor]:
        """What a model looks at; a model of households only at what all members share."""
        if not plan.of_households:
            return self.predictors
        return [one for one in self.predictors if one.name == SIZE or one.name in self._home.columns]

    def _drawn(
        self,
        plan: SynthesisPlan,
        used: Sequence[Predictor],
        values: Ints,
        units: UnitColumn | None,
        which: tuple[Ints, Ints, Ints],
        fractions: Fractions,
    ) -> Ints:
        """Draw codes, or units, for all records that no rule is about, from models of such records."""
        rows, before, after = which
        assert self.records.identity is not None
        what = "value" if units is not None else "code"
        chance, spread, again = (fractions(f"{what}/{use}") for use in ("model", "place", "again"))
        found = np.zeros(len(self.records), np.int64)
        old, new, ordered = stacked_bins(used, len(self.records))
        rows = rows[order_of(self.records.identity[rows])]
        for part in rows_by_kind(self.strata[rows]) if len(rows) else []:
            fit, draw = (rows[part][some[rows[part]] < 0] for some in (before, after))
            if not len(draw):
                continue
            self._refuse_few(plan, fit, int(draw[0]), units is not None)
            if self.proper:
                fit = fit[(again[fit] * len(fit)).astype(np.int64)]
            straight = plan.model in STRAIGHT
            lines = design(used, fit, draw) if straight else (np.zeros((0, 0)), np.zeros((0, 0)))
            setting = Setting(plan.column.name, old[:, fit], new[:, draw], ordered, *lines, self.least)
            if units is None:
                found[draw], sizes = drawn_codes(setting, values[fit], _model_of_codes(plan), chance[draw])
            else:
                found[draw], sizes = drawn_units(
                    setting, units, values[fit], plan.model, self.smoothing, chance[draw], spread[draw]
                )
            earlier = self.sizes.get(plan.column.name)
            self.sizes[plan.column.name] = sizes if earlier is None else earlier.joined(sizes)
        return found

    def _refuse_few(self, plan: SynthesisPlan, fit: Ints, row: int, numbers: bool) -> None:
        if len(fit) >= self.least:
            return
        what = "value" if numbers else ("household" if plan.of_households else "record")
        raise InputError(
            f"There {'is' if len(fit) == 1 else 'are'} {counted(len(fit), what)} to make the model of column "
            f"{plan.column.name!r} of{self.words(row)}, and min_leaf={self.least} needs at least as many.",
            hint="Give a smaller min_leaf=, merge strata, or leave the column out.",
        )

    def _finish(self, plan: SynthesisPlan, drawn: Ints, state: Ints, after: Ints) -> None:
        """Write the column, with the values of rules, and let those after it look at it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = plan.column
        if isinstance(column, CodesOfColumn):
            made = column.written(drawn)
        else:
            made = column.written(drawn, state)
            _refuse_followed(column, drawn, (state == 0) & (column.state == 0) & (after < 0))
            self.met[column.name] = int(np.isin(drawn[(state == 0) & (after < 0)], column.rare).sum())
        for number, rule in enumerate(plan.rules):
            here = after == number
            made = pc.if_else(pa.chunked_array([pa.array(here)]), rule_value(self.records, rule), made)
            drawn, state = _ruled(column, rule, here, drawn, state)
        self.changed[column.name] = made
        self.predictors.append(renewed(predictor_of(column), column, drawn, state))


def _refuse_followed(column: UnitColumn, drawn: Ints, rows: Bools) -> None:
    """Refuse numbers that columns that stay tell nearly exactly: each would be drawn beside its own value."""
    old = column.floats[rows]
    if len(old) and float(((drawn[rows] - old) ** 2).mean()) < LEAST_CHANGE * float(old.var()):
        raise ProtectionError(
            f"Values of {column.name!r} would stay nearly as they are: models by the columns that stay follow each.",
            hint="Take columns that say the same out of given=, synthesise them, too, or leave this one out.",
        )


def _model_of_codes(plan: SynthesisPlan) -> Model:
    """The model of a column's codes, or of which fields are empty."""
    if isinstance(plan.column, CodesOfColumn) or plan.model in ("cart", "sample"):
        return plan.model
    return "polytomous"


def _ruled(column: SynthesisColumn, rule: StructuralRule, here: Bools, drawn: Ints, state: Ints) -> tuple[Ints, Ints]:
    """What models see of the records that a rule is about."""
    import pyarrow as pa

    if isinstance(column, CodesOfColumn):
        value = pa.scalar(rule.value, column.type).as_py() if rule.value is not None else None
        place = column.words.index(value) if value in column.words else 0
        return np.where(here, place, drawn), state
    if rule.value in column.empties:
        return drawn, np.where(here, column.empties.index(rule.value) + 1, state)
    if pa.types.is_temporal(column.type):
        unit = pa.scalar(str(rule.value)).cast(column.type).value
    else:
        unit = round(float(rule.value) * 10.0**column.decimals)
    return np.where(here, unit, drawn), np.where(here, 0, state)


def refuse_late_rules(
    rules: Mapping[str, Sequence[StructuralRule]], order: Sequence[str], records: RecordSet, whole: Sequence[str] | None
) -> None:
    """Refuse rules that look at columns that are not yet synthesised, or of members where a household's is meant."""
    for name, lines in rules.items():
        seen = order[: order.index(name)]
        for rule in lines:
            for condition in rule.conditions:
                records[condition.column]  # refuses what is not there
                if condition.column in order and condition.column not in seen:
                    raise ParameterError(
                        f"The rule {rule.text!r} of {name!r} looks at {condition.column!r}, which is drawn later.",
                        hint=f"Name {condition.column!r} before {name!r} in order=.",
                    )
                if whole is not None and name in whole and condition.column not in whole:
                    raise ParameterError(
                        f"{name!r} is the same for all members of a household, and the rule {rule.text!r} looks at "
                        f"{condition.column!r}, which is not.",
                        hint="Write rules of households about columns of households.",
                    )


def column_facts(column: SynthesisColumn, sizes: LeafSizes | None, met: int) -> dict[str, Any]:
    """What the evidence states of one column; ``met`` counts released values that few records have."""
    size = sizes or LeafSizes(0, 0, 0)
    leaves = {"leaves": size.leaves, "smallest": size.smallest, "largest": size.largest}
    if isinstance(column, CodesOfColumn):
        return {"kind": "codes", **leaves}
    return {
        "kind": "numbers",
        "decimals": column.decimals,
        "step": column.step,
        "low": column.low,
        "high": column.high,
        "fine": column.fine,
        "rare": len(column.rare),
        "met": met,
        **leaves,
    }
