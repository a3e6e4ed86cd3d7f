"""The method ``LocalSuppress``: empty single fields until nobody stands out by a combination of keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from discreet.errors import NeedsError, ParameterError, ProtectionError, counted, listed, unknown_name
from discreet.keys import Key
from discreet.measures.individual_risk import individual_risk
from discreet.methods.base import RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.claims.blanked import blanked_claim
from discreet.model.evidence import Evidence
from discreet.model.records import WEIGHT, RecordSet
from discreet.parameters import AtLeastOne, Number
from discreet.progress import steps
from discreet.records.blank_cells import MOST_KEYS, BlankPrices, LargeEnough
from discreet.records.blank_families import ColumnTable, family_blanked
from discreet.records.blank_programs import UNIT
from discreet.records.blank_risky import blank_at_risk, risky
from discreet.records.blank_strict import Blanked, strictly_blanked
from discreet.records.blank_together import FieldsTogether, fields_together
from discreet.records.blank_weakly import blanked_to_agree, blanked_to_be_exempt
from discreet.records.risk_limits import least_weights
from discreet.records.weak_bounds import WeakProblem, agreeing_least, exempt_least, risky_exempt_least
from discreet.rules.anonymity import KAnonymity, weights_of
from discreet.rules.key_counts import KeyCodes, codes_of, key_codes

MOST_TABLES = 2_000
"""So many combinations of keys are worked on."""


@dataclass(frozen=True)
class LocalSuppress(RecordMethod):
    """Empty single fields of the keys until every combination of values that is left occurs at least ``k`` times.

    An empty field is a value of its own unless ``missing`` says otherwise, so that everybody can count in the public
    file what is claimed.

    Parameters
    ----------
    k
        The least number of records.
    keys
        Columns by which somebody may be recognised; those with the role of keys where left out.
    size
        Readers know at most so many keys of a person: every combination of so many columns is protected. All keys at
        once where left out.
    combinations
        The combinations of columns that are protected, in place of ``keys`` and ``size``: lists of names, or
        ``{"keys": [...], "k": 5}`` for one with a number of its own.
    missing
        What an empty field means: ``"category"``, a value of its own; ``"any"``, it agrees with every value, as
        sdcMicro counts; ``"exempt"``, a record is not judged by combinations in which it is empty, as μ-ARGUS counts.
        Only the first says something of every public row.
    importance
        What it costs to empty a field, per column; 1 where a column is not named.
    cost
        ``"fields"``: all values of a column cost the same; ``"entropy"``: rare values cost more, minus the binary
        logarithm of their share, times importance.
    weight
        Column of weights: a field costs so many times more. ``"weight"`` is the column with that role, too.
    strata
        Columns within whose codes records are protected apart, and which are never emptied; those of the records where
        left out.
    risk
        In place of ``k``: only records whose individual risk by their weights (Benedetti and Franconi) is above this
        lose fields, until it is not.
    together
        Columns that are emptied with a key, wherever it is: ``{"town": ["district"]}``. They need not be keys.
    of_household
        Keys that say something of a household: emptied in one record, they are emptied in all of its household.
    algorithm
        ``"greedy"``, or ``"optimal"``: an integer program besides, in files that are small enough.
    nodes
        How many nodes an integer program looks at.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"age": ["20", "20", "30", "30", "40", "50"], "sex": ["f", "f", "m", "m", "m", "m"]})
    >>> data = ds.Microdata(people, keys=["age", "sex"])
    >>> release = ds.protect(data, ds.LocalSuppress(2), rules=ds.KAnonymity(2), keep_order=True)
    >>> release.public.records.shown()["age"], release.verify().holds
    (['20', '20', '30', '30', None, None], True)
    """

    kind: ClassVar[str] = "local_suppress"
    k: Annotated[int, Number(least=2)] | None = None
    keys: tuple[str, ...] = ()
    size: AtLeastOne | None = None
    combinations: tuple[Any, ...] = ()
    missing: Literal["category", "any", "exempt"] = "category"
    importance: Mapping[str, float] = field(default_factory=dict)
    cost: Literal["fields", "entropy"] = "fields"
    weight: str | None = None
    strata: tuple[str, ...] = ()
    risk: Annotated[float, Number(least=0.001, below=1)] | None = None
    algorithm: Literal["greedy", "optimal"] = "greedy"
    nodes: AtLeastOne = 200
    together: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    of_household: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.k is None) == (self.risk is None):
            raise ParameterError(
                "LocalSuppress takes either k= or risk=.",
                hint="Give k=3 for combinations that occur three times, or risk=0.05 for a limit of individual risk.",
            )
        object.__setattr__(self, "combinations", tuple(asdict(table) for table in self._asked().combinations))
        several = bool(self.combinations) or self.size is not None
        if self.risk is not None and several:
            raise ParameterError("risk= is of all keys at once.", hint="Leave size= and combinations= out.")
        weaker = self.risk is not None or self.weight is not None or self.missing != "category"
        weaker = weaker or bool(self.together or self.of_household)
        if self.algorithm == "optimal" and (several or weaker):
            raise ParameterError(
                'algorithm="optimal" is for k=, all keys at once, without weights, and missing="category".',
                hint="Leave algorithm= out, or size=, combinations=, risk=, weight=, together=, of_household= and "
                "missing=.",
            )
        for name, weight in self.importance.items():
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < np.inf:
                raise ParameterError(f"importance[{name!r}]={weight!r} is not allowed.", hint="Give a number above 0.")

    @property
    def numbers(self) -> tuple[str, ...]:
        """The column of weights."""
        return () if self.weight is None else (self.weight,)

    def record(self) -> dict[str, Any]:
        """The method as plain data."""
        plain = super().record()
        plain["combinations"] = [{"keys": list(one["keys"]), "k": one["k"]} for one in self.combinations]
        if not self.together and not self.of_household:  # releases made before there were these stay readable
            return {name: value for name, value in plain.items() if name not in ("together", "of_household")}
        plain["together"] = {name: list(others) for name, others in self.together.items()}
        plain["of_household"] = list(self.of_household)
        return plain

    def _asked(self) -> KAnonymity:
        """The rule that holds in the end."""
        return KAnonymity(self.k or 2, self.keys, self.size, self.combinations, self.missing)

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Empty fields."""
        rule = self._asked().resolved(records)
        names = rule.named
        strata = self._strata(records)
        codes = _in_order(records, key_codes(records, names, self.missing))
        free, notes = _free_columns(codes, strata)
        problem = self._problem(records, rule, codes, free)
        goes = self._together(records, names, strata, codes)
        blank, parts = self._blanks(records, strata, problem, free, len(names))
        wide = blank if goes is None else self._spread(records, rule, strata, codes, blank, goes)
        if goes is not None and goes.shared:
            dear = replace(problem, prices=goes.of_households(problem.prices, problem.codes, free))
            blank, _ = self._blanks(records, strata, dear, free, len(names))
            other = self._spread(records, rule, strata, codes, blank, goes)
            wide = min((wide, other), key=lambda tried: problem.prices.cost(problem.codes, tried[:, free]))
        more = self._weak_facts(records, rule, codes, strata)
        if goes is not None:
            more["together"] = wide[:, len(names) :].sum(axis=0).tolist()
        outcome = self._outcome(records, rule, strata, problem, wide[:, : len(names)], parts, notes, more)
        if goes is not None:
            outcome.changed.update(_emptied(records, goes.names[len(names) :], wide[:, len(names) :]))
        self._count_again(records.with_columns(outcome.changed), rule, problem, strata)
        return outcome

    def _together(
        self, records: RecordSet, names: Sequence[str], strata: Sequence[str], codes: KeyCodes
    ) -> FieldsTogether | None:
        if not self.together and not self.of_household:
            return None
        full = np.stack([column > 0 for column in codes.columns], axis=1)
        return fields_together(records, names, strata, full, self.together, self.of_household)

    def _spread(
        self,
        records: RecordSet,
        rule: KAnonymity,
        strata: Sequence[str],
        codes: KeyCodes,
        blank: Bools,
        goes: FieldsTogether,
    ) -> Bools:
        """Empty fields with all that go with them, until nobody is left alone by what went along."""
        keys = len(codes.names)
        more = np.zeros((len(blank), len(goes.names) - keys), np.bool_)
        wide = goes.spread(np.concatenate((blank, more), axis=1))
        while (wide[:, :keys] & ~blank).any():
            blank = wide[:, :keys].copy()
            left = tuple(np.where(blank[:, at], 0, column) for at, column in enumerate(codes.columns))
            now = KeyCodes(codes.names, left, codes.sizes)
            free, _ = _free_columns(now, strata)
            blank |= self._blanks(records, strata, self._problem(records, rule, now, free), free, keys)[0]
            wide = goes.spread(np.concatenate((blank, wide[:, keys:]), axis=1))
        return wide

    def _blanks(
        self, records: RecordSet, strata: Sequence[str], problem: _BlankProblem, free: Sequence[int], keys: int
    ) -> tuple[Bools, list[tuple[Ints, Blanked]]]:
        """Fields to empty, one column for every key, and what each stratum has of them."""
        blank = np.zeros((len(records), keys), np.bool_)
        parts = []
        for rows in _by_stratum(records, strata):
            parts.append((rows, self._protected(problem, rows)))
            for place, column in enumerate(free):
                blank[rows, column] = parts[-1][1].blank[:, place]
        return blank, parts

    # ---- what is to be done ---------------------------------------------------------------------------------------

    def _strata(self, records: RecordSet) -> tuple[str, ...]:
        strata = self.strata or records.strata
        for name in strata:
            if name not in records.names:
                raise ParameterError(unknown_name("column", name, records.names, "strata="))
        return strata

    def _problem(self, records: RecordSet, rule: KAnonymity, codes: KeyCodes, free: list[int]) -> _BlankProblem:
        names = rule.named
        for name in self.importance:
            if name not in names:
                raise ParameterError(unknown_name("key", name, names, "importance="))
        if not rule.combinations:
            rule._refuse_too_many()
        wanted = list(rule.tables())
        if len(wanted) > MOST_TABLES:
            raise ParameterError(
                f"{len(names)} keys have {len(wanted):,} combinations to protect, one after the other and several "
                f"times; at most {MOST_TABLES:,} are worked on.",
                hint="Give fewer keys, a smaller size, or name the combinations.",
            )
        place = {column: number for number, column in enumerate(free)}
        tables: dict[tuple[int, ...], int] = {}
        for table in wanted:
            columns = tuple(place[at] for at in map(names.index, table.keys) if at in place)
            tables[columns] = max(table.k or rule.k, tables.get(columns, 0))
        widest = max((len(columns) for columns in tables), default=0)
        if widest > MOST_KEYS:
            raise ParameterError(
                f"{widest} keys have {2**widest:,} sets of columns to empty.",
                hint=f"Give at most {MOST_KEYS} keys, or size= for combinations of fewer.",
            )
        weight = self._weight(records, self.weight)
        return _BlankProblem(
            np.ascontiguousarray(np.stack([codes.columns[at] for at in free], axis=1))
            if free
            else np.zeros((len(records), 0), np.int64),
            tuple(tables.items()),
            BlankPrices(tuple(self._prices(names[at], codes.columns[at], codes.sizes[at]) for at in free), weight),
            self._enough(records),
            any(len(table.keys) == len(names) for table in wanted),
        )

    def _weight(self, records: RecordSet, name: str | None) -> Floats | None:
        return None if name is None else weights_of(records, self._weight_column(records, name))

    def _weight_column(self, records: RecordSet, name: str) -> str:
        role = records.with_role(WEIGHT)
        if name not in records.names and name == WEIGHT and role:
            return role[0]
        if name not in records.names:
            raise ParameterError(unknown_name("column", name, records.names, "weight="))
        return name

    def _risk_weight(self, records: RecordSet) -> str:
        """The column of weights that individual risks are estimated by."""
        if self.weight is not None:
            return self._weight_column(records, self.weight)
        role = records.with_role(WEIGHT)
        if not role:
            raise NeedsError(
                "Individual risk needs the weights of the records.",
                hint="Give Microdata(weight=...), or LocalSuppress(weight=...).",
            )
        return role[0]

    def _enough(self, records: RecordSet) -> LargeEnough:
        if self.risk is None:
            return LargeEnough.of(self.k or 2)
        name = self._risk_weight(records)
        weight = weights_of(records, name)
        below = int((weight < 1).sum())
        if below:
            raise ParameterError(
                f"{counted(below, 'record', 'have')} a weight below 1 in {name!r}: each stands for a person.",
                hint="Individual risk needs weights that add up to the population.",
            )
        return LargeEnough(least_weights(self.risk, len(records)), weight)

    def _prices(self, name: str, codes: Ints, size: int) -> Floats:
        """What each code of a column costs."""
        price = np.full(size, float(self.importance.get(name, 1.0)))
        if self.cost == "entropy":
            share = np.maximum(np.bincount(codes, minlength=size), 1) / max(len(codes), 1)
            price *= -np.log2(share)
        price[0] = 0.0
        return price

    # ---- how it is done -------------------------------------------------------------------------------------------

    def _protected(self, problem: _BlankProblem, rows: Ints) -> Blanked:
        """Blanks of the records of one stratum."""
        codes, prices, enough = problem.codes[rows], problem.prices.rows(rows), problem.enough.rows(rows)
        if self.risk is not None:
            return self._below_risk(codes, prices, enough)
        most = max(k for _, k in problem.tables)
        if len(rows) < most:
            raise ProtectionError(
                f"Every combination of keys is to occur {most} times, in {counted(len(rows), 'record')}"
                f"{' of a stratum' if len(rows) < len(problem.codes) else ''}.",
                hint="Give more records or a smaller k, or recode the strata.",
            )
        tables = [table for table in problem.tables if table[0]]
        if not tables:
            return Blanked(np.zeros(codes.shape, np.bool_), 0.0, np.zeros(len(rows), np.int64))
        if self.missing == "any":
            return Blanked(blanked_to_agree(codes, tables, prices), 0.0)
        if self.missing == "exempt":
            return Blanked(blanked_to_be_exempt(codes, tables, prices), 0.0)
        if len(tables) == 1 and len(tables[0][0]) == codes.shape[1]:
            k = LargeEnough.of(tables[0][1])
            made = strictly_blanked(codes, prices, k, self.algorithm, self.nodes)
            return made if problem.whole else replace(made, least=made.simple, shares=None)
        return family_blanked(codes, tables, prices)

    def _below_risk(self, codes: Ints, prices: BlankPrices, enough: LargeEnough) -> Blanked:
        assert self.risk is not None
        assert enough.weight is not None
        lowest = float(individual_risk(len(codes), enough.weight.sum())) if len(codes) else 1.0
        if not len(codes) or lowest > self.risk:
            raise ProtectionError(
                f"Even with empty keys, {counted(len(codes), 'record', 'have')} a risk of {lowest:.4g} each.",
                hint="Give more records or a higher risk=.",
            )
        if not codes.shape[1]:
            return Blanked(np.zeros(codes.shape, np.bool_), 0.0)
        if self.missing == "category":
            made = strictly_blanked(codes, prices, enough)
            return Blanked(made.blank, made.simple)
        unsafe = risky(codes, enough, self.missing)
        return Blanked(blank_at_risk(codes, prices, enough, unsafe, self.missing), 0.0)

    def _count_again(self, after: RecordSet, rule: KAnonymity, problem: _BlankProblem, strata: Sequence[str]) -> None:
        """Count what is left: keys of very many codes are told apart by random numbers, which might meet."""
        for rows in _by_stratum(after, strata):
            part = RecordSet(after.columns.take(rows), after.info) if strata or self.risk is not None else after
            if self.risk is None:
                bad = bool(rule.evaluate(part).unsafe.any())
            else:
                codes = np.stack(key_codes(part, rule.named, self.missing).columns, axis=1)
                bad = bool(risky(codes, problem.enough.rows(rows), self.missing).any())
            if bad:
                raise ProtectionError(
                    "A combination of keys that is left still occurs too rarely.",
                    hint="Nothing is published. Recode keys with very many codes first, and please report it.",
                )

    # ---- what is said of it ---------------------------------------------------------------------------------------

    def _outcome(
        self,
        records: RecordSet,
        rule: KAnonymity,
        strata: Sequence[str],
        problem: _BlankProblem,
        blank: Bools,
        parts: Sequence[tuple[Ints, Blanked]],
        notes: tuple[str, ...],
        more: Mapping[str, Any],
    ) -> RecordOutcome:
        numbers = blank.sum(axis=0).tolist()
        changed = _emptied(records, rule.named, blank)
        cost = self._cost(records, rule.named, blank)
        facts: dict[str, Any] = {
            "keys": list(rule.named),
            "strata": list(strata),
            "blanks": numbers,
            "records": int(blank.any(axis=1).sum()),
            "rows": len(records),
            "cost": float(cost),
            "least": float(sum(part.least for _, part in parts)),
            "shares": _shares(parts, len(records)),
            **more,
        }
        if self.risk is not None:
            facts |= self._risk_facts(records, rule.named, problem, blank, strata)
        facts["least"] = min(facts["least"], facts["cost"])
        if facts["shares"]:
            facts["least"] = sum(facts["shares"]) / UNIT
        plain = self.record()
        notes = notes if changed else (*notes, "Nothing had to be emptied.")
        evidence = Evidence(
            plain,
            blanked_claim(plain, facts),
            effort={"nodes": sum(part.nodes for _, part in parts)},
            facts=facts,
            findings=self._findings(parts, facts["cost"]),
        )
        return RecordOutcome(changed, evidence, notes)

    def _cost(self, records: RecordSet, names: Sequence[str], blank: Bools) -> float:
        """What emptied fields cost: those of keys with one value as well, which went along with others."""
        codes = key_codes(records, names, self.missing)
        known = zip(names, codes.columns, codes.sizes, strict=True)
        prices = [self._prices(name, column, size) for name, column, size in known]
        found = BlankPrices(tuple(prices), self._weight(records, self.weight))
        return found.cost(np.stack(codes.columns, axis=1), blank)

    def _weak_facts(
        self, records: RecordSet, rule: KAnonymity, codes: KeyCodes, strata: Sequence[str]
    ) -> dict[str, Any]:
        """What it costs at least under the weaker meanings of an empty field; nothing under the strict one."""
        if self.missing == "category":
            return {}
        # Keys with one value tell nobody apart, and yet a record is exempt that is empty there.
        columns = [place for place, name in enumerate(rule.named) if name not in strata]
        none: dict[str, Any] = {"least": 0.0} | ({"witnesses": []} if self.missing == "any" else {})
        if not columns or len(columns) > MOST_KEYS:
            return none
        whole = self._problem(records, rule, codes, columns)
        problem = WeakProblem(whole.codes, [one for one in whole.tables if one[0]], whole.prices, whole.enough)
        least, witnesses = 0.0, []
        for rows in _by_stratum(records, strata):
            part = problem.rows(rows)
            if self.missing == "exempt":
                least += self._exempt_least(part)
                continue
            found, witness = agreeing_least(part, self._lacking(part))
            least += found
            witnesses += [int(rows[witness])] if witness >= 0 else []
        return {"least": least} | ({"witnesses": sorted(witnesses)} if self.missing == "any" else {})

    def _exempt_least(self, part: WeakProblem) -> float:
        if self.risk is None:
            return exempt_least(part)
        return risky_exempt_least(part, risky(part.codes, part.enough, "exempt"))

    def _lacking(self, part: WeakProblem) -> Ints:
        """Records of a stratum with which too few agree."""
        if self.risk is not None:
            return np.flatnonzero(risky(part.codes, part.enough, "any"))
        few = np.zeros(len(part.codes), np.bool_)
        for columns, k in part.tables:
            codes = np.ascontiguousarray(part.codes[:, list(columns)])
            # Without gaps nobody agrees but those who look alike, and these are counted faster.
            few |= risky(codes, LargeEnough.of(k), "category" if codes.all() else "any")
        return np.flatnonzero(few)

    def _risk_facts(
        self, records: RecordSet, names: Sequence[str], problem: _BlankProblem, blank: Bools, strata: Sequence[str]
    ) -> dict[str, Any]:
        codes = np.stack(key_codes(records, names, self.missing).columns, axis=1)
        unsafe = np.zeros(len(records), np.bool_)
        for rows in _by_stratum(records, strata):
            unsafe[rows] = risky(codes[rows], problem.enough.rows(rows), self.missing)
        others = int((blank.any(axis=1) & ~unsafe).sum())
        return {"unsafe": int(unsafe.sum()), "company": others, "weight": self._risk_weight(records)}

    def _findings(self, parts: Sequence[tuple[Ints, Blanked]], cost: float) -> tuple[str, ...]:
        if self.algorithm != "optimal":
            return ()
        if any(part.bound is None for _, part in parts):
            return (
                "The file is too large for the integer program, or nothing stood out: the greedy pattern was taken.",
            )
        bound = sum(part.bound or 0.0 for _, part in parts)
        gap = 100 * (cost - bound) / cost if cost else 0.0
        return (
            f"The integer program: leaving records that do not stand out as they are, nothing costs less than "
            f"{bound:,.6g}; the gap is {max(gap, 0.0):.2g} %. Nobody re-checks this.",
        )


@dataclass(frozen=True, eq=False)
class _BlankProblem:
    """Codes of the columns that may be emptied, tables of these, prices, and when a group is large enough.

    ``whole`` says whether one of the tables has all keys.
    """

    codes: Ints
    tables: tuple[ColumnTable, ...]
    prices: BlankPrices
    enough: LargeEnough
    whole: bool


def _free_columns(codes: KeyCodes, strata: Sequence[str]) -> tuple[list[int], tuple[str, ...]]:
    """Keys that may be emptied, and notes on those that tell nobody apart."""
    free, notes = [], []
    for place, (name, column) in enumerate(zip(codes.names, codes.columns, strict=True)):
        if name in strata:
            continue
        if len(column) and (column == column[0]).all():
            what = "is empty in all records" if column[0] == 0 else "has the same value in all records"
            notes.append(f"Key {name!r} {what}: it tells nobody apart.")
        else:
            free.append(place)
    return free, tuple(notes)


def _in_order(records: RecordSet, codes: KeyCodes) -> KeyCodes:
    """The same with numbers in the order of the values, not of the rows in which they come first."""
    import pyarrow.compute as pc

    columns = []
    for name, column, size in zip(codes.names, codes.columns, codes.sizes, strict=True):
        first = np.full(size, -1, np.int64)
        first[column[::-1]] = np.arange(len(column))[::-1]
        there = np.flatnonzero(first[1:] >= 0) + 1
        number = np.zeros(size, np.int64)
        values = records[name].take(first[there])
        number[there[pc.array_sort_indices(values.combine_chunks()).to_numpy()]] = np.arange(1, len(there) + 1)
        columns.append(number[column])
    return KeyCodes(codes.names, tuple(columns), codes.sizes)


def _by_stratum(records: RecordSet, strata: Sequence[str]) -> Iterator[Ints]:
    """Rows of each stratum; all rows where there are no strata.

    They stand in an order that depends on who they are: which of several equal ones loses a field must not depend on
    the order of the file.
    """
    order = np.arange(len(records)) if records.identity is None else np.argsort(records.identity, kind="stable")
    if not strata or not len(records):
        yield order
        return
    columns = [codes_of(records[name]) for name in strata]
    group = np.zeros(len(records), np.int64)
    for codes, size in columns:
        _, group = np.unique(group * size + codes, return_inverse=True)
    order = order[np.argsort(group[order], kind="stable")]
    ends = np.flatnonzero(np.diff(group[order])) + 1
    yield from steps(f"strata ({listed(strata)})", np.split(order, ends))


def _emptied(records: RecordSet, names: Sequence[str], blank: Bools) -> dict[str, Any]:
    """Columns with fields emptied."""
    import pyarrow as pa
    import pyarrow.compute as pc

    changed = {}
    for place, name in enumerate(names):
        if blank[:, place].any():
            column = records[name]
            mask = pa.chunked_array([pa.array(blank[:, place])])
            changed[name] = pc.if_else(mask, pa.scalar(None, column.type), column)
    return changed


def _shares(parts: Sequence[tuple[Ints, Blanked]], rows: int) -> list[int]:
    """Every record's share of the least cost, in the order of the records; none where some have none."""
    if any(part.shares is None for _, part in parts) or not any(part.least for _, part in parts):
        return []
    found = np.zeros(rows, np.int64)
    for chosen, part in parts:
        if part.shares is not None:
            found[chosen] = part.shares
    return [int(share) for share in found]
