"""What rules on the population say of a public file of records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from discreet.errors import counted, listed
from discreet.model.claims.records import anonymity_statement

WEIGHT_DECIMALS = 6
"""Weights count to so many decimals, and are rounded down to them, so that no sum is larger than the true one."""


def population_statement(rule: Mapping[str, Any]) -> str:
    """What a rule on the population says of a public file, from the rule as plain data."""
    named, keys, size = rule.get("combinations") or (), rule["keys"], rule.get("size")
    if named:
        what = " and of ".join(listed(columns) for columns in named[:3])
        what += f" and of {counted(len(named) - 3, 'further set')} of columns" if len(named) > 3 else ""
    elif size is None or size >= len(keys):
        what = listed(keys)
    else:
        what = f"any {size} of {listed(keys)}"
    return (
        f"Every combination of values of {what} that occurs in the public file stands for at least "
        f"{rule['n']:,.15g} people, as the sum of {rule['weight']!r} says; an empty field is a value of its own."
    )


STATEMENTS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "k_anonymity": anonymity_statement,
    "min_population": population_statement,
}
"""What each rule for records says of a public file."""


def rule_statement(rule: Mapping[str, Any]) -> str:
    """What a rule says of a public file, from the rule as plain data."""
    return STATEMENTS[rule["kind"]](rule)
