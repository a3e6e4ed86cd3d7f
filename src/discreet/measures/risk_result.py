"""What was found about the risk of a file of records: as text, frame, page and plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.attack.record_attack import RecordAttack
from discreet.attack.record_audit import RecordAudit
from discreet.attack.suda import Suda
from discreet.errors import NeedsError, ParameterError, counted, unknown_name
from discreet.files.frames import to_frame
from discreet.measures.diversity import SensitiveRisk
from discreet.measures.individual_risk import (
    FileRisk,
    file_risk,
    high_beside_others,
    refuse_threshold,
    risk_classes,
    threshold_for,
    threshold_for_rate,
)
from discreet.measures.key_tables import KeyTables
from discreet.measures.population.estimate import PopulationEstimate
from discreet.model.arrays import Floats, Ints
from discreet.model.display import rows_of, text_of_columns, to_the_right
from discreet.model.notebook import Chip, items, listing, page, sentence
from discreet.model.records import RecordSet

if TYPE_CHECKING:
    from discreet.measures.record_risk import RiskQuestion

EDGES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Upper ends of the classes of a histogram of risks."""
SHOWN = 10
Part = Literal["findings", "sets", "keys", "sensitive", "population", "attacks", "sizes", "records"]


@dataclass(frozen=True)
class RiskFinding:
    """One number about a file, and what an intruder must know for it.

    ``number`` counts records, or those that are expected to be matched correctly; ``share`` is its share of the file.
    """

    measure: str
    number: float
    share: float
    what: str
    knows: str


@dataclass(frozen=True, eq=False, repr=False)
class RecordRisk:
    """Who can be recognised in a file of records, by whom, and why. What it prints holds numbers and names of columns.

    Parameters
    ----------
    records
        How many records there are.
    question
        What was asked: keys, limits, the meaning of an empty field.
    like
        Per record how many have its keys, itself included.
    tables
        Unsafe combinations of up to so many keys.
    sensitive
        What keys tell of each sensitive column.
    individual
        Per record the probability that a match with the population is right; not a number where it is not judged.
    household
        Per record the same for at least one member of its household.
    suda
        Special uniques.
    fraction
        The share of the population in the file, where weights or the user state it.
    notes
        What to know before using the numbers.
    population
        How many uniques of the file are unique in the population, by several models.
    attacks
        What attackers find again who have original values, where there is an original.
    """

    records: int
    question: RiskQuestion
    like: Floats
    tables: KeyTables
    sensitive: tuple[SensitiveRisk, ...]
    individual: Floats
    household: Floats | None
    households: int
    suda: Suda | None
    fraction: float | None
    notes: tuple[str, ...]
    _records: RecordSet = field(repr=False)
    population: tuple[PopulationEstimate, ...] = ()
    attacks: RecordAudit | None = None

    def with_notes(self, notes: Sequence[str]) -> RecordRisk:
        """The same with further notes."""
        return replace(self, notes=(*self.notes, *notes)) if notes else self

    # ---- numbers ----------------------------------------------------------------------------------------------

    @property
    def k(self) -> int:
        """How often the rarest combination of all keys occurs: the file is k-anonymous for this k."""
        judged = self.like[np.isfinite(self.like)]
        return int(judged.min()) if len(judged) else self.records

    @property
    def uniques(self) -> int:
        """How many records nobody shares all keys with."""
        return int((self.like == 1).sum())

    @property
    def rare(self) -> int:
        """How many records have keys that occur fewer than ``k`` times, with the ``k`` that was asked for."""
        return int((self.like < self.question.k).sum())

    @property
    def _judged(self) -> Floats:
        return self.individual[np.isfinite(self.individual)]

    @cached_property
    def file(self) -> FileRisk:
        """Individual risk of the file as a whole."""
        return file_risk(self._judged, self.question.threshold)

    @cached_property
    def file_of_households(self) -> FileRisk | None:
        """The same with the risk of each record's household; nothing where no household is known."""
        return None if self.household is None else file_risk(self.household, self.question.threshold)

    def histogram(self, edges: tuple[float, ...] = EDGES) -> tuple[int, ...]:
        """How many records have an individual risk up to each edge and above the one before."""
        return tuple(risk_classes(self._judged, edges).tolist())

    def above(self, threshold: float) -> int:
        """How many records have an individual risk above a threshold."""
        refuse_threshold(threshold)
        return int((self._judged > threshold).sum())

    def threshold_for(self, *, records: int | None = None, rate: float | None = None) -> float:
        """The risk above which at most so many records lie; or to which risks must be cut for a rate of the file.

        Parameters
        ----------
        records
            How many records may lie above.
        rate
            The expected share of correct matches that the file may have when no risk is above the threshold.
        """
        if (records is None) == (rate is None):
            raise ParameterError("Give either records= or rate=.", hint="For example threshold_for(records=100).")
        return (
            threshold_for(self._judged, records) if records is not None else threshold_for_rate(self._judged, rate or 0)
        )

    def at_risk(self, threshold: float | None = None) -> Ints:
        """For the custodian: positions (from 0) of records with a risk above a threshold, the highest first.

        It is the risk of the household where one is known, and the own risk otherwise. Positions of a release are those
        of the original records.
        """
        limit = self.question.threshold if threshold is None else threshold
        refuse_threshold(limit)
        risk = np.nan_to_num(self.individual if self.household is None else self.household)
        found = np.flatnonzero(risk > limit)
        return found[np.argsort(-risk[found], kind="stable")]

    # ---- findings ---------------------------------------------------------------------------------------------

    @cached_property
    def findings(self) -> tuple[RiskFinding, ...]:
        """What was found: what takes least knowledge first, and what touches nobody last."""
        found = [*self._by_few_keys(), *self._by_all_keys(), *self._by_attacks(), *self._by_register()]
        return tuple(sorted(found, key=lambda one: one.number == 0))

    def _finding(self, measure: str, number: float, what: str, knows: str) -> RiskFinding:
        return RiskFinding(measure, number, number / self.records, what, knows)

    def _by_few_keys(self) -> list[RiskFinding]:
        k, keys = self.question.k, len(self.question.keys)
        found = []
        for size, at_risk in enumerate(self.tables.at_risk, start=1):
            if size == keys:
                continue  # that is all keys
            several = "any one key" if size == 1 else f"any {size} keys"
            rarely = f"that occurs fewer than {k} times"
            what = f"records with a combination of up to {size} keys {rarely}"
            what = f"records with a value of one key {rarely}" if size == 1 else what
            knows = f"{several} of a person, and that the person is in the file"
            found.append(self._finding(f"rare by {counted(size, 'key')}", int(at_risk.sum()), what, knows))
        return found

    def _by_all_keys(self) -> list[RiskFinding]:
        knows = f"all {counted(len(self.question.keys), 'key')} of a person, and that the person is in the file"
        if len(self.question.keys) == 1:
            knows = "the key of a person, and that the person is in the file"
        found = [
            self._finding(
                f"{one.name} known",
                one.known,
                f"records that share {one.name!r} with everybody who has their keys",
                knows,
            )
            for one in self.sensitive
        ]
        found.append(self._finding("unique", self.uniques, "records that nobody shares all keys with", knows))
        rare = f"records whose keys occur fewer than {self.question.k} times"
        found.append(self._finding("rare", self.rare, rare, knows))
        return found

    def _by_register(self) -> list[RiskFinding]:
        if self.fraction is None:
            knows = "all keys of a person, and that the person is in the file; the file is taken for the population"
        else:
            knows = "all keys of everybody in the population, not who is in the file"
        limit = f"{self.question.threshold:g}"
        above = f"records with an individual risk above {limit}"
        found = [
            self._finding("above the threshold", self.file.above, above, knows),
            self._finding("expected matches", self.file.expected, "records expected to be matched correctly", knows),
        ]
        homes = self.file_of_households
        if homes is not None:
            above = f"records whose household has a risk above {limit}"
            of_all = f"{knows}; the same of all members of a household, and who lives together"
            found.append(self._finding("households above", homes.above, above, of_all))
            words = "records expected to be in a household with a member matched correctly"
            found.append(self._finding("expected with households", homes.expected, words, of_all))
        if self.suda is not None and self.fraction is not None and self.fraction < 1:
            chance = float(self.suda.probability(self.fraction).sum())
            words = "special uniques expected to be matched correctly, by their scores"
            found.append(self._finding("expected special", chance, words, knows))
        return [*found, *self._by_models()]

    def _by_models(self) -> list[RiskFinding]:
        """The most that a model expects: which model is right nobody knows."""
        fitted = [one for one in self.population if one.fitted]
        if not fitted:
            return []
        worst = max(fitted, key=lambda one: one.uniques)
        what = f"sample uniques expected to be unique in the population, by the most cautious model ({worst.model})"
        return [
            self._finding("population uniques", worst.uniques, what, "who is alone with all keys in the population")
        ]

    def _by_attacks(self) -> list[RiskFinding]:
        """What attackers who have original values get right: the best attack for each kind of guess and knowledge."""
        best: dict[tuple[str, str], RecordAttack] = {}
        for one in () if self.attacks is None else self.attacks.findings:
            if one.of_records:
                best.setdefault((one.what, one.knows), one)
        return [
            self._finding(one.attack, one.share * self.records, f"{one.attack}: guesses that {one.what}", one.has)
            for one in best.values()
        ]

    # ---- doors ------------------------------------------------------------------------------------------------

    def columns(self, part: Part = "findings") -> dict[str, list[Any]]:
        """One part of the result as columns; :meth:`to_frame` says which parts there are."""
        makers = {
            "findings": self._finding_columns,
            "sets": self._set_columns,
            "keys": self._key_columns,
            "sensitive": self._sensitive_columns,
            "population": self._population_columns,
            "attacks": lambda: {} if self.attacks is None else self.attacks.columns(),
            "sizes": self._size_columns,
            "records": self._record_columns,
        }
        if part not in makers:
            raise ParameterError(unknown_name("part", str(part), makers, "the risk of records"))
        return makers[part]()

    def to_frame(self, part: Part = "findings", backend: str = "pyarrow") -> Any:
        """One part of the result as a data frame.

        Parameters
        ----------
        part
            ``"findings"``; ``"sets"``: unsafe combinations and records of each set of keys, the worst first;
            ``"keys"``: unsafe combinations by key and number of keys, and what each key contributes to the scores of
            special uniques; ``"sensitive"``: l, t and what is known for certain of each sensitive column;
            ``"population"``: what models expect of the population; ``"attacks"``: what attackers find again;
            ``"sizes"``: how many records have keys that occur once, twice and so on; ``"records"``: for the custodian,
            the numbers of every record by its position, and no values.
        backend
            ``"pyarrow"``, ``"pandas"``, ``"polars"`` or ``"duckdb"``.
        """
        return to_frame(self.columns(part), backend)

    def values(self, key: str, backend: str = "pyarrow") -> Any:
        """For the custodian: what each value of a key contributes to the scores of special uniques, the most first.

        Parameters
        ----------
        key
            One of the keys.
        backend
            ``"pyarrow"``, ``"pandas"``, ``"polars"`` or ``"duckdb"``.
        """
        if self.suda is None:
            raise NeedsError("Special uniques were left out, so no value contributes.", hint="Read the notes.")
        if key not in self.question.keys:
            raise ParameterError(unknown_name("key", key, self.question.keys))
        codes = self.suda.codes_of(key)
        shares = self.suda.value_contributions(key)
        _, rows = np.unique(codes, return_index=True)
        order = np.argsort(-shares[codes[rows]], kind="stable")
        rows = rows[order]
        counts = np.bincount(codes, minlength=len(shares))[codes[rows]]
        return to_frame(
            {
                "value": self._records[key].take(rows),
                "records": counts,
                "contribution": shares[codes[rows]],
            },
            backend,
        )

    def _finding_columns(self) -> dict[str, list[Any]]:
        names = ("measure", "number", "share", "what", "knows")
        return {
            name: [float(getattr(f, name)) if name == "number" else getattr(f, name) for f in self.findings]
            for name in names
        }

    def _set_columns(self) -> dict[str, list[Any]]:
        sets = self.tables.worst()
        return {
            "keys": [" × ".join(one.keys) for one in sets],
            "size": [len(one.keys) for one in sets],
            "combinations": [one.combinations for one in sets],
            "unsafe": [one.unsafe for one in sets],
            "records": [one.records for one in sets],
            "uniques": [one.uniques for one in sets],
            "fewest": [one.fewest for one in sets],
        }

    def _key_columns(self) -> dict[str, list[Any]]:
        by_key = self.tables.by_key(self.question.keys)
        shares = {} if self.suda is None else self.suda.contributions
        order = sorted(self.question.keys, key=lambda name: (-shares.get(name, 0.0), [-n for n in by_key[name][::-1]]))
        columns: dict[str, list[Any]] = {"key": order, "contribution": [shares.get(name) for name in order]}
        for size in range(1, self.tables.size + 1):
            columns[f"unsafe by {counted(size, 'key')}"] = [by_key[name][size - 1] for name in order]
        return columns

    def _sensitive_columns(self) -> dict[str, list[Any]]:
        names = ("name", "distinct", "entropy", "t", "ordered", "known", "spread")
        return {name: [getattr(one, name) for one in self.sensitive] for name in names}

    def _population_columns(self) -> dict[str, list[Any]]:
        names = ("model", "uniques", "matches", "uniques_deviation", "matches_deviation", "fitted")
        columns: dict[str, list[Any]] = {name: [getattr(one, name) for one in self.population] for name in names}
        return columns | {"notes": [" ".join(one.notes) for one in self.population]}

    def _size_columns(self) -> dict[str, list[Any]]:
        finite = self.like[np.isfinite(self.like)].astype(np.int64)
        sizes, records = np.unique(finite, return_counts=True)
        return {"occurs": sizes.tolist(), "records": records.tolist()}

    def _record_columns(self) -> dict[str, list[Any]]:
        columns: dict[str, Any] = {
            "position": np.arange(self.records),
            "like": np.where(np.isfinite(self.like), self.like, np.nan),
            "risk": self.individual,
        }
        if self.household is not None:
            columns["household_risk"] = self.household
        if self.suda is not None:
            columns |= {"score": self.suda.score, "alone_by": self.suda.smallest}
            if self.fraction is not None and self.fraction < 1:
                columns["special_risk"] = self.suda.probability(self.fraction)
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Everything but the records, as plain data."""
        asked = asdict(self.question)
        homes = self.file_of_households
        parts: tuple[Part, ...] = ("findings", "sets", "keys", "sensitive", "population", "attacks")
        return {
            "records": self.records,
            **asked,
            "keys": list(self.question.keys),
            "sensitive": list(self.question.sensitive),
            "occurs_at_least": self.k,
            "uniques": self.uniques,
            "rare": self.rare,
            "individual": asdict(self.file),
            "household": None if homes is None else asdict(homes),
            "special": None if self.suda is None else self._special_numbers(self.suda),
            "parts": {part: rows_of(self.columns(part)) for part in parts},
            "notes": list(self.notes),
        }

    def _special_numbers(self, found: Suda) -> dict[str, Any]:
        return {"uniques": found.special, "sizes": list(found.sizes), "contributions": found.contributions}

    def summary(self) -> str:
        """The findings, the keys and the worst sets of keys as text."""
        asked = self.question
        heading = (
            f"Risk of {counted(self.records, 'record')} by {counted(len(asked.keys), 'key')}: {', '.join(asked.keys)}"
        )
        lines = [heading, "", text_of_columns(self._short_findings(), len(self.findings)), ""]
        lines += ["The intruder knows:"]
        lines += [f"  ({number}) {knows}" for number, knows in enumerate(self._knowledge(), start=1)]
        lines += ["", *self.facts, "", self._keys_text()]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _knowledge(self) -> list[str]:
        return list(dict.fromkeys(one.knows for one in self.findings))

    def _short_findings(self) -> dict[str, list[Any]]:
        known = self._knowledge()
        return {
            "": [one.what for one in self.findings],
            "number": [_rounded(one.number) for one in self.findings],
            "share": to_the_right([_percent(one.share) for one in self.findings]),
            "who": [f"({known.index(one.knows) + 1})" for one in self.findings],
        }

    @property
    def facts(self) -> list[str]:
        """What the numbers of single records come to, in sentences."""
        lines = [f"The rarest combination of all keys occurs {'once' if self.k == 1 else f'{self.k:,} times'}."]
        for one in self.sensitive:
            way = "by order" if one.ordered else "as classes"
            words = f"distinct l = {one.distinct}, entropy l = {one.entropy:.3g}, t = {one.t:.3f} ({way})"
            lines.append(f"Sensitive {one.name!r} among records with the same keys: {words}.")
        beside = int(high_beside_others(self._judged).sum())
        largest = f"The largest individual risk is {self.file.largest:.3g}"
        return [*lines, f"{largest}; {counted(beside, 'record', 'lie')} above 0.1 and far above most others."]

    def _keys_text(self) -> str:
        columns = self._key_columns()
        columns["contribution"] = to_the_right(_shares(columns["contribution"]))
        return text_of_columns(columns, len(columns["key"]))

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        chips = [
            Chip(f"{self.uniques:,} unique", "u" if self.uniques else "good"),
            Chip(f"{self.rare:,} below k = {self.question.k}", "m" if self.rare else "good"),
            Chip(f"{self.file.expected:,.1f} expected matches"),
        ]
        columns = {name or "what": entries for name, entries in self._short_findings().items()}
        keys = self._key_columns()
        keys["contribution"] = _shares(keys["contribution"])
        sets = {name: entries[:SHOWN] for name, entries in self._set_columns().items()}
        more = len(self.tables.sets) - SHOWN
        return page(
            f"Risk of {counted(self.records, 'record')} by {counted(len(self.question.keys), 'key')}",
            chips,
            listing(columns),
            items("The intruder knows", [f"({n}) {knows}" for n, knows in enumerate(self._knowledge(), start=1)]),
            *(sentence(fact, soft=False) for fact in self.facts),
            listing(keys),
            listing(sets),
            sentence(f"... {counted(more, 'more set of keys')} (to_frame('sets') shows all)") if more > 0 else "",
            items("Notes", self.notes, "warn"),
        )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share == 0 or share >= 0.0005 else "< 0.1 %"


def _rounded(number: float) -> float:
    return int(number) if number == int(number) else round(number, 1)


def _shares(shares: Sequence[float | None]) -> list[str]:
    return ["" if share is None else _percent(share) for share in shares]
