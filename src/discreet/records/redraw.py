"""The method ``Redraw``: values of unusual records, and of some others, are drawn anew within bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from discreet.engine.draws import draws, fractions
from discreet.errors import InputError, ParameterError, ProtectionError, counted, listed
from discreet.keys import Key
from discreet.methods.base import Keyed, RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.claims.redrawing import redrawn_claim
from discreet.model.evidence import Evidence
from discreet.model.records import IDENTIFIER, NEVER_PUBLIC, RecordSet
from discreet.parameters import Natural, Number
from discreet.progress import steps as in_steps
from discreet.records.exact_columns import ExactColumn
from discreet.records.fixed_relations import refuse_fixed_relations
from discreet.records.money_columns import (
    MovedColumn,
    added_up,
    checked_codes,
    checked_totals,
    money_column,
    term_of,
    without_totals,
    written_column,
)
from discreet.records.redrawing import MoneyModels, Redrawn, reach, redrawn
from discreet.records.unusual import CAMOUFLAGE, FLAGGED, UNUSUAL, chosen_rows, flagged_rows, outlyingness
from discreet.records.value_columns import refuse_repeated, rows_by_kind, stratum_of, value_columns


@dataclass(frozen=True)
class Redraw(Keyed, RecordMethod):
    """Draw the values of unusual records anew, near to what they were, and those of some others as camouflage.

    In the chosen records every column is drawn from a model of it by the others, one after the other: a normal draw
    around what the model says, on a signed-log scale, under the condition that it falls within a secret share of the
    value. Nothing in the public file tells which records were chosen.

    Parameters
    ----------
    columns
        Columns of numbers, in the order in which they are drawn; those with the role ``numeric`` where left out.
    unusual
        So many records that lie farthest from the median, in any of the columns ``by``, are chosen.
    by
        Columns of numbers that say who is unusual; ``columns`` where left out.
    flags
        Column of true/false (or 1 and 0) whose records are chosen, too. It must have a role that no public file has,
        such as ``request``.
    camouflage
        So many of all other records are chosen at random.
    least, most
        Each value has a bound of its own, a share of it drawn between these two.
    predictors
        Further columns that models go by, such as age and occupation: numbers, or codes.
    totals
        Totals and their parts, such as ``{"wealth": ["assets", "-debts"]}``: they are not drawn but added up anew.
        Records whose totals no longer add up would show that they were chosen: columns that are sums or multiples of
        others in all records, and are not named here, are refused.
    keep
        Numbers that are codes (-9) and stay.
    version
        Version of the draws.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Examples
    --------
    >>> import discreet as ds
    >>> survey = ds.generate.wealth_survey(500)
    >>> people = ds.Microdata(
    ...     survey.records.select(["household", "income", "assets", "debts"]),
    ...     identifier="household", numeric=["income", "assets", "debts"],
    ... )
    >>> release = ds.protect(people, ds.Redraw(unusual=20, camouflage=20, insecure_seed=1))
    >>> release.verify().holds, release.public.records.altered
    (True, ('income', 'assets', 'debts'))
    """

    kind: ClassVar[str] = "redraw"
    secret: ClassVar[bool] = True
    columns: tuple[str, ...] = ()
    unusual: Natural = 0
    by: tuple[str, ...] = ()
    flags: str | None = None
    camouflage: Natural = 0
    least: Annotated[float, Number(above=0, below=1)] = 0.1
    most: Annotated[float, Number(above=0, below=1)] = 0.25
    predictors: tuple[str, ...] = ()
    totals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    keep: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for names in (self.columns, self.by, self.predictors):
            refuse_repeated(names)
        object.__setattr__(self, "keep", checked_codes(self.keep))
        object.__setattr__(self, "totals", checked_totals(self.totals))
        without_totals((), self.totals, self.columns)
        if self.least > self.most:
            raise ParameterError(
                f"least={self.least:g} lies above most={self.most:g}.", hint="Bounds are drawn from least to most."
            )
        if not (self.unusual or self.camouflage or self.flags):
            raise ParameterError("Redraw does not say which records.", hint="Give unusual=, flags= or camouflage=.")
        if self.by and not self.unusual:
            raise ParameterError("by= says who is unusual, and unusual=0.", hint="Give unusual=, or leave by out.")
        both = sorted({*self.columns, *self.totals} & set(self.predictors))
        if both:
            raise ParameterError(
                f"{listed(both)}: columns that change are no predictors.", hint="Models go by them in any case."
            )

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that it takes numbers from."""
        parts = (term_of(part)[1] for named in self.totals.values() for part in named)
        flags = () if self.flags is None else (self.flags,)
        return tuple(dict.fromkeys((*self.columns, *self.by, *flags, *self.totals, *parts)))

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Choose records, and draw their values."""
        assert key is not None
        names = without_totals(value_columns(records, self.columns, "Redraw"), self.totals, ())
        money = {name: money_column(records, name, self.keep) for name in names}
        self._refuse_constant(money)
        refuse_fixed_relations(records, names, self.totals)
        able = {name: ~c.gaps & (reach(c.units, self.least) >= 1) for name, c in money.items()}
        why = self._chosen(records, money, np.logical_or.reduce(list(able.values())), key)
        models = MoneyModels(records, money, self._predicting(records, names), rows_by_kind(stratum_of(records)))
        moved: dict[str, MovedColumn] = {}
        clipped = []
        for name in in_steps("records", names):
            rows = np.flatnonzero(able[name] & (why > 0))
            found = self._drawn(records, key, name, money[name], models, rows)
            column = money[name]
            new = column.units.copy()
            new[rows] = found.units
            models.put(name, rows, found.units / 10.0**column.decimals)
            moved[name] = MovedColumn(column.units, new, column.gaps, column.decimals, column.whole)
            clipped.append(int(found.clipped.sum()))
        both = {**moved, **added_up(records, self.totals, moved, self.keep)}
        changed = {name: written_column(records, name, column, self.keep) for name, column in both.items()}
        return self._outcome(records, key, moved, changed, why, clipped)

    def _outcome(
        self,
        records: RecordSet,
        key: Key,
        moved: Mapping[str, MovedColumn],
        changed: dict[str, Any],
        why: Ints,
        clipped: list[int],
    ) -> RecordOutcome:
        drawn = [int((column.new != column.old).sum()) for column in moved.values()]
        facts: dict[str, Any] = {
            "columns": list(moved),
            "strata": list(records.strata),
            "identified": bool(records.with_role(IDENTIFIER)),
            "insecure": key.insecure,
            "unusual": int((why == UNUSUAL).sum()),
            "flagged": int((why == FLAGGED).sum()),
            "camouflage": int((why == CAMOUFLAGE).sum()),
            "drawn": drawn,
            "clipped": clipped,
        }
        plain = self.record()
        evidence = Evidence(plain, redrawn_claim(plain, facts), facts=facts, parts={"records": {"chosen": why}})
        places = zip(moved, clipped, drawn, strict=True)
        shares = ", ".join(f"{at} of {many} in {name!r}" for name, at, many in places if at)
        notes = [f"Values that lie at their bound because the model rules out the rest: {shares or 'none'}."]
        if facts["camouflage"] < self.camouflage:
            notes.append(f"Only {counted(facts['camouflage'], 'other record')} could be chosen as camouflage.")
        return RecordOutcome(changed, evidence, tuple(notes))

    def _chosen(self, records: RecordSet, money: Mapping[str, ExactColumn], able: Bools, key: Key) -> Ints:
        assert records.identity is not None
        if not able.any():
            raise ProtectionError(
                f"No value of {listed(money)} can be drawn anew: {100 * self.least:g} % of each is less than a unit.",
                hint="Raise least, or name columns with larger values.",
            )
        score = None
        if self.unusual:
            by = value_columns(records, self.by, "Redraw") if self.by else tuple(money)
            score = outlyingness([money.get(n) or money_column(records, n, self.keep) for n in by], by)
        flagged = np.zeros(len(able), np.bool_) if self.flags is None else flagged_rows(records, self.flags)
        chance = self._fraction(records, key, "redraw/camouflage")
        why = chosen_rows(able, score, self.unusual, flagged, chance, self.camouflage, records.identity)
        if not why.any():
            raise ProtectionError("No record was chosen.", hint="Flag some, or give unusual= or camouflage=.")
        return why

    def _refuse_constant(self, money: Mapping[str, ExactColumn]) -> None:
        for name, column in money.items():
            known = column.units[~column.gaps]
            if len(known) > 1 and known.min() == known.max():
                raise InputError(
                    f"Column {name!r} has the same value in all records, and no model of it can be made.",
                    hint="Leave it out of columns=.",
                )

    def _predicting(self, records: RecordSet, names: Sequence[str]) -> tuple[str, ...]:
        for name in self.predictors:
            records[name]  # refuses what is not there
            role = records.about(name).role
            if role in NEVER_PUBLIC or name in names:
                what = "drawn anew itself" if name in names else f"an identifying column ({role})"
                raise ParameterError(f"Predictor {name!r} is {what}.", hint="Leave it out of predictors=.")
        return self.predictors

    def _drawn(
        self, records: RecordSet, key: Key, name: str, column: ExactColumn, models: MoneyModels, rows: Ints
    ) -> Redrawn:
        """New units of a column in some records."""
        if not len(rows):
            return Redrawn(rows, np.zeros(0, np.bool_))
        told = float(self.least), float(self.most)
        share, chance = (
            self._fraction(records, key, f"redraw/{name}/{what}", *told)[rows] for what in ("bound", "value")
        )
        share = share * (self.most - self.least) + self.least
        scale = 10.0**column.decimals
        return redrawn(column.units[rows], models.of(name, rows), scale, share, self.least, chance)

    def _fraction(self, records: RecordSet, key: Key, what: str, *told: float) -> Floats:
        assert records.identity is not None
        return fractions(draws(key.secret, self.purpose(what, *told), self.version, records.identity))
