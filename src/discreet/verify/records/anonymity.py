"""Whether every combination of keys occurs often enough in a public file, counted anew from its own rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import counted
from discreet.model.claims.record_rules import anonymity_words
from discreet.model.records import MissingRange
from discreet.verify.records.counting import (
    Sums,
    combination_counts,
    complete_rows,
    household_counts,
    rows_agreeing,
)
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SUBSETS = 20_000
"""So many sets of keys are counted; no true release has more."""
NEARLY = 1 - 1e-9
"""Weights are added up in another order here, so that their sums differ in the last digits."""

Unknown = Mapping[str, Sequence[MissingRange]]


def check_anonymity(verdict: Verdict, public: pa.Table, rule: Mapping[str, Any], unknown: Unknown) -> None:
    """k-anonymity holds in the public file."""
    before = len(verdict.refused)
    if not _can_be_counted(verdict, public, rule):
        return
    rarest = np.inf
    for chosen, k in _tables(rule):
        counts = counts_of(public, chosen, rule, unknown)
        least = float(counts.min(initial=np.inf))
        rarest = min(rarest, least)
        if least < k * NEARLY:
            few = int((counts < k * NEARLY).sum())
            what = "record has" if few == 1 else "records have"
            message = f"{counted(few, 'combination', 'occur')} fewer than {k} times"
            if rule["missing"] == "any":
                message = f"{few:,} {what} a combination with which fewer than {k} agree"
            verdict.refuse("rules", message, ", ".join(chosen))
    words = anonymity_words(rule)
    rare = f" (the rarest: {rarest:,.6g})" if np.isfinite(rarest) else ""
    verdict.prove(f"{words.statement}{rare}", before)
    verdict.not_considered += words.not_considered


def counts_of(public: pa.Table, chosen: Sequence[str], rule: Mapping[str, Any], unknown: Unknown) -> Sums:
    """How often combinations occur as the rule counts: of each combination, or of each row where gaps agree."""
    weight, household = rule.get("weight"), rule.get("household")
    if household is not None:
        return household_counts(public, chosen, household)
    if rule["missing"] == "any":
        return rows_agreeing(public, chosen, unknown, weight)
    if rule["missing"] == "exempt":
        public = public.filter(complete_rows(public, chosen, unknown))
    return combination_counts(public, chosen, weight)


def _can_be_counted(verdict: Verdict, public: pa.Table, rule: Mapping[str, Any]) -> bool:
    """Whether the rule names columns of the public file, each once, and not more sets of them than are counted."""
    tables = rule.get("combinations")
    sets = [rule["keys"]] if not tables else [table["keys"] for table in tables]
    named = {str(name) for keys in sets for name in keys}
    absent = sorted(named - set(public.column_names))
    if absent or not all(keys and len(set(keys)) == len(keys) for keys in sets):
        verdict.refuse("rules", "the keys of k-anonymity are not columns of the public file", ", ".join(absent))
        return False
    if tables and (rule["keys"] or "size" in rule):
        verdict.refuse("rules", "k-anonymity is stated of combinations and of keys at once")
        return False
    for name in (rule.get("weight"), rule.get("household")):
        if name is not None and name not in public.column_names:
            verdict.refuse("rules", "what k-anonymity counts by is no column of the public file", name)
            return False
    if rule.get("household") is not None and (rule.get("weight") is not None or rule["missing"] != "category"):
        verdict.refuse("rules", "households are counted without weights, and an empty field as a value of its own")
        return False
    return _weights_count(verdict, public, rule) and _few_enough(verdict, rule)


def _weights_count(verdict: Verdict, public: pa.Table, rule: Mapping[str, Any]) -> bool:
    """Whether the weights are numbers above zero."""
    import pyarrow as pa

    if rule.get("weight") is None:
        return True
    column = public[rule["weight"]]
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        weight = np.asarray(column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(), np.float64)
        if bool((weight > 0).all()) and bool(np.isfinite(weight).all()):
            return True
    verdict.refuse("rules", "weights are not all numbers above zero", rule["weight"])
    return False


def _few_enough(verdict: Verdict, rule: Mapping[str, Any]) -> bool:
    keys, tables = len(rule["keys"]), rule.get("combinations")
    many = len(tables) if tables else sum(comb(keys, size) for size in _sizes(rule))
    what = "there are more combinations" if tables else f"{keys} keys have more subsets of {_sizes(rule)[-1]}"
    if many > MOST_SUBSETS:
        verdict.refuse("rules", f"{what} than this checker counts")
    return many <= MOST_SUBSETS


def _sizes(rule: Mapping[str, Any]) -> Sequence[int]:
    """Where records are exempt, fewer keys at once must be counted, too: more fields are empty among more keys."""
    keys = len(rule["keys"])
    most = min(int(rule.get("size", keys)), keys)
    return range(1, most + 1) if rule["missing"] == "exempt" and "size" in rule else [most]


def _tables(rule: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Sets of columns that are counted, and how often their combinations must occur."""
    if rule.get("combinations"):
        for table in rule["combinations"]:
            yield tuple(table["keys"]), int(table["k"])
        return
    for size in _sizes(rule):
        for chosen in combinations([str(key) for key in rule["keys"]], size):
            yield chosen, int(rule["k"])
