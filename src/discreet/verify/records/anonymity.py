"""Rules that a public file of records keeps, counted anew from its own rows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

from discreet.errors import counted
from discreet.model.claims.records import anonymity_statement
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SUBSETS = 20_000
"""So many sets of keys are counted; no true release has more."""


def check_rule(verdict: Verdict, public: pa.Table, rule: Mapping[str, Any]) -> None:
    """A rule holds in the public file."""
    if rule["kind"] != "k_anonymity":
        verdict.refuse("rules", f"a rule {str(rule['kind'])[:60]!r} is stated, which this checker does not know")
        return
    before = len(verdict.refused)
    keys = [str(key) for key in rule["keys"]]
    absent = [key for key in keys if key not in public.column_names]
    if absent or not keys or len(set(keys)) < len(keys):
        verdict.refuse("rules", "the keys of k-anonymity are not columns of the public file", ", ".join(absent))
        return
    k, size = int(rule["k"]), min(int(rule.get("size", len(keys))), len(keys))
    if comb(len(keys), size) > MOST_SUBSETS:
        verdict.refuse("rules", f"{len(keys)} keys have more subsets of {size} than this checker counts")
        return
    rarest = public.num_rows
    for chosen in combinations(keys, size):
        counts = public.select(list(chosen)).group_by(list(chosen)).aggregate([([], "count_all")])["count_all"]
        least = min(counts.to_pylist(), default=k)
        rarest = min(rarest, least)
        if least < k:
            few = sum(count < k for count in counts.to_pylist())
            verdict.refuse("rules", f"{counted(few, 'combination', 'occur')} fewer than {k} times", ", ".join(chosen))
    verdict.prove(f"{anonymity_statement(rule)} (the rarest: {rarest:,})", before)
