"""Rules that a public file of records keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from discreet.verify.records.anonymity import Unknown, check_anonymity
from discreet.verify.records.population import check_map, check_presence
from discreet.verify.records.sensitive import check_sensitive
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

RuleCheck = Callable[[Verdict, "pa.Table", Mapping[str, Any], Unknown], None]
RULE_CHECKS: dict[str, RuleCheck] = {
    "k_anonymity": check_anonymity,
    "l_diversity": check_sensitive,
    "t_closeness": check_sensitive,
    "beta_likeness": check_sensitive,
    "k_map": check_map,
    "delta_presence": check_presence,
}
"""For every rule for records what counts it again."""


def check_rule(verdict: Verdict, public: pa.Table, rule: Mapping[str, Any], unknown: Unknown) -> None:
    """A rule holds in the public file; ``unknown`` are the codes of each column that stand for "unknown"."""
    kind = str(rule["kind"])
    if kind in RULE_CHECKS:
        RULE_CHECKS[kind](verdict, public, rule, unknown)
    else:
        verdict.refuse("rules", f"a rule {kind[:60]!r} is stated, which this checker does not know")
