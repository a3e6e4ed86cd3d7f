"""The risk of a file of records: everything that is counted and estimated, by one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from discreet.attack.suda import ALL_SUBSETS, Suda, suda
from discreet.errors import InputError, NeedsError, ParameterError, counted, listed, unknown_name
from discreet.measures.diversity import SensitiveRisk, sensitive_risk
from discreet.measures.individual_risk import household_risk, individual_risk
from discreet.measures.key_tables import count_key_tables
from discreet.measures.population.estimate import PopulationEstimate
from discreet.measures.population.overview import population_estimates
from discreet.measures.risk_result import RecordRisk
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import RecordSet
from discreet.parameters import AtLeastOne, Declared, Number, Share
from discreet.rules.anonymity import weights_of
from discreet.rules.key_counts import KeyCodes, Meaning, codes_of, key_codes, records_like

MOST_PATTERNS = 20_000
"""Special uniques are left out where empty fields agree with every value and make more work than this."""
NEARLY_ALL = 0.95
"""A column belongs to households as a whole where so many of them have one value of it."""
FAR_BELOW = 2.0
"""Where a model of the population expects so many times the matches that weights do, it is said."""
ROWS_NAMED = 5


@dataclass(frozen=True)
class RiskQuestion(Declared):
    """What is asked of a file of records; :func:`discreet.risk` says what each part means."""

    keys: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    weight: str | None = None
    household: str | None = None
    k: Annotated[int, Number(least=2)] = 3
    size: AtLeastOne = 3
    missing: Literal["category", "any", "exempt"] = "category"
    threshold: Share = 0.1
    fraction: Annotated[float, Number(above=0, most=1)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.keys:
            raise NeedsError(
                "The risk of records needs to know by which columns somebody may be recognised.",
                hint="Give Microdata(keys=[...]), or ds.risk(data, keys=[...]).",
                recipe_hint="Give --keys age,sex,region.",
            )
        for what, names in (("keys", self.keys), ("sensitive", self.sensitive)):
            if len(set(names)) < len(names):
                raise ParameterError(f"{what}= names a column twice: {listed(names)}.", hint="Name every column once.")
        if self.weight is not None and self.fraction is not None:
            raise ParameterError(
                "weight= and fraction= both say how much of the population the file is.", hint="Give one of them."
            )


def measure_risk(records: RecordSet, question: RiskQuestion) -> RecordRisk:
    """Who can be recognised in some records, by whom, and why.

    Parameters
    ----------
    records
        The records.
    question
        Keys, sensitive columns, weights, households and limits.
    """
    _refuse_unknown(records, question)
    codes = key_codes(records, question.keys, question.missing)
    weight = None if question.weight is None else weights_from_one(records, question.weight)
    like, own = matching_risk(codes, question.missing, weight, question.fraction)
    judged = np.isfinite(like)
    home, notes = _households(records, question)
    found, left_out = _special(codes, question)
    fraction = question.fraction if weight is None else min(1.0, len(records) / float(weight.sum()))
    population = _population(codes, question, weight)
    return RecordRisk(
        records=len(records),
        question=question,
        like=like,
        tables=count_key_tables(codes, question.k, question.size, question.missing),
        sensitive=_sensitive(records, codes, question),
        individual=own,
        household=None if home is None else household_risk(np.nan_to_num(own), home),
        households=0 if home is None else int(home.max()) + 1,
        suda=found,
        fraction=fraction,
        notes=(
            *_key_notes(codes),
            *_gap_notes(codes, question.missing, judged),
            *notes,
            *left_out,
            *_model_notes(population, own[like == 1]),
        ),
        _records=records,
        population=population,
    )


def _population(codes: KeyCodes, question: RiskQuestion, weight: Floats | None) -> tuple[PopulationEstimate, ...]:
    """What models expect of the population; nothing where the file is the population, or too little is known."""
    sampled = weight is not None or (question.fraction is not None and question.fraction < 1)
    if not sampled or question.missing != "category":
        return ()
    return population_estimates(codes, weight, question.fraction)


def _model_notes(population: tuple[PopulationEstimate, ...], uniques: Floats) -> list[str]:
    """That individual risk, which knows nothing but weights, is far below what the best model expects of uniques."""
    fitted = next((one for one in population if one.fitted), None)
    expected = float(np.nansum(uniques))
    if fitted is None or fitted.matches < max(FAR_BELOW * expected, expected + 1):
        return []
    return [
        f"Individual risk knows weights alone: of the sample uniques it expects {expected:,.1f} to be matched "
        f"correctly, and the model that fits best ({fitted.model}) {fitted.matches:,.1f}. "
        "Individual risks are probably far too low."
    ]


def _refuse_unknown(records: RecordSet, question: RiskQuestion) -> None:
    for name in (*question.keys, *question.sensitive, question.weight, question.household):
        if name is not None and name not in records.names:
            raise ParameterError(unknown_name("column", name, records.names, "the records"))
    for name in question.keys:
        if name in (*question.sensitive, question.weight, question.household):
            raise ParameterError(f"Column {name!r} is a key and something else, too.", hint="Give it one part to play.")
    if not len(records):
        raise InputError("There are no records.", hint="Give a file with at least one record.")


def weights_from_one(records: RecordSet, name: str) -> Floats:
    """Weights of records: at least 1 each, because a record stands at least for itself."""
    weight = weights_of(records, name)
    wrong = np.flatnonzero(weight < 1)
    if len(wrong):
        rows = ", ".join(str(row + 1) for row in wrong[:ROWS_NAMED].tolist())
        more = " and more" if len(wrong) > ROWS_NAMED else ""
        raise InputError(
            f"{counted(len(wrong), 'record', 'have')} a weight below 1 in {name!r} (row {rows}{more}).",
            hint="A record stands for at least one person: correct the weights, or leave weight= out.",
            recipe_hint="A record stands for at least one person: correct the weights, or leave --weight out.",
        )
    return weight


def matching_risk(
    codes: KeyCodes, missing: Meaning = "category", weight: Floats | None = None, fraction: float | None = None
) -> tuple[Floats, Floats]:
    """For every record how many have its keys, and its individual risk; infinite, and not a number, where not judged.

    Without weights and fraction the file is the population.
    """
    gaps = any(bool((column == 0).any()) for column in codes.columns)
    if missing == "category" or not gaps:
        group, many = codes.groups()
        counts = np.bincount(group, minlength=many).astype(np.float64)
        there = np.flatnonzero(counts)
        sums = counts / (fraction or 1.0) if weight is None else np.bincount(group, weight, many)
        risk = np.zeros(many)
        risk[there] = individual_risk(counts[there], sums[there])
        return counts[group], risk[group]
    like = records_like(codes, missing)
    population = like / (fraction or 1.0) if weight is None else records_like(codes, missing, weight)
    judged = np.isfinite(like)
    own = np.full(len(like), np.nan)
    own[judged] = individual_risk(like[judged], population[judged])
    return like, own


def _households(records: RecordSet, question: RiskQuestion) -> tuple[Ints | None, list[str]]:
    """The number of each record's household, and what is odd about households."""
    if question.household is None:
        return None, []
    column = records[question.household]
    if column.null_count:
        raise InputError(
            f"{counted(column.null_count, 'record', 'have')} nothing in {question.household!r}, the household.",
            hint="Fill it, or leave these records out.",
        )
    home = codes_of(column)[0] - 1
    return home, [note for name in question.keys if (note := _split(records, name, home))]


def _split(records: RecordSet, name: str, home: Ints) -> str:
    """What it means that a few households have members with different values of a column which others share."""
    codes, _ = codes_of(records[name])
    first = np.zeros(int(home.max()) + 1, np.int64)
    first[home[::-1]] = codes[::-1]
    differing = np.zeros(len(first), np.bool_)
    differing[home[codes != first[home]]] = True
    apart = int(differing.sum())
    several = np.bincount(home) > 1
    if not apart or apart > (1 - NEARLY_ALL) * several.sum():
        return ""
    return (
        f"{counted(apart, 'household', 'have')} members with different values of {name!r}, which all others share. "
        "Each member counts with its own value; if a household number was given out twice, households are too "
        "large and their risk is too high."
    )


def _sensitive(records: RecordSet, codes: KeyCodes, question: RiskQuestion) -> tuple[SensitiveRisk, ...]:
    if not question.sensitive:
        return ()
    group, _ = codes.groups()
    found = []
    for name in question.sensitive:
        value, ordered = _values(records, name)
        found.append(sensitive_risk(name, group, value, ordered=ordered))
    return tuple(found)


def _values(records: RecordSet, name: str) -> tuple[Ints, bool]:
    """Numbers for the values of a column, in their order where it holds numbers, and whether it does."""
    import pyarrow as pa

    column = records[name]
    codes, _ = codes_of(column)
    numbers = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if not numbers or column.null_count:
        return codes, False
    place = np.unique(column.to_numpy(), return_inverse=True)[1]
    return place.astype(np.int64), True


def _special(codes: KeyCodes, question: RiskQuestion) -> tuple[Suda | None, list[str]]:
    """Special uniques, over all sets of keys where there are few keys; or why they were left out."""
    keys = len(codes.names)
    size = None if keys <= ALL_SUBSETS else question.size
    if question.missing == "any" and _patterns(codes) ** 2 * 2 ** min(keys, ALL_SUBSETS) > MOST_PATTERNS:
        return None, ["Special uniques were left out: with missing='any' and so many empty fields they take too long."]
    note = f"Special uniques were looked for among sets of up to {size} keys only, because there are {keys} keys."
    return suda(codes, question.missing, size), [] if size is None else [note]


def _patterns(codes: KeyCodes) -> int:
    """How many ways to be empty there are among the records."""
    bits = np.zeros(len(codes), np.int64)
    for place, column in enumerate(codes.columns):
        bits |= (column == 0).astype(np.int64) << place
    return len(np.unique(bits))


def _key_notes(codes: KeyCodes) -> list[str]:
    """Keys that tell nobody apart."""
    notes: list[str] = []
    if len(codes) == 1:
        return notes
    for name, column in zip(codes.names, codes.columns, strict=True):
        if (column == column[0]).all():
            what = "is empty in every record" if column[0] == 0 else "has the same value in every record"
            notes.append(f"Key {name!r} {what}: it tells nobody apart.")
    return notes


def _gap_notes(codes: KeyCodes, missing: Meaning, judged: Bools) -> list[str]:
    """What the weaker meanings of an empty field leave open."""
    exempt = int((~judged).sum())
    if exempt:
        return [
            f"{counted(exempt, 'record', 'are')} empty in a key and, with missing='exempt', not judged by all keys "
            "together: they are left out of individual risk, and count nothing in that of their household."
        ]
    empty = int(np.any([column == 0 for column in codes.columns], axis=0).sum())
    if missing != "any" or not empty:
        return []
    return [
        f"{counted(empty, 'record', 'have')} an empty key and, with missing='any', count as like all that agree in the "
        "rest: a few such records hide many others, so that these numbers can be far too low."
    ]
