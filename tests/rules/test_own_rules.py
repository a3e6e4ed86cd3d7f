"""Rules that users write: twenty lines, known to recipes at once, asserted by the checker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import discreet as ds
from discreet.errors import ParameterError
from discreet.rules import rule_from_record
from discreet.rules.base import Finding, Rule, percent_of, whole_number
from discreet.verify.rules import Recheck
from tests.rules.making import assessed, magnitudes


@dataclass(frozen=True)
class RoundLot(Rule):
    """Unsafe when the value is a multiple of a lot: our traders sell by the lot, and one sale is then plain."""

    kind: ClassVar[str] = "ours.round_lot"
    lot: int
    range: float = 10
    tables: tuple[str, ...] = ()

    def check(self) -> None:
        whole_number(self.lot, "lot", self.kind)

    def evaluate(self, table, profile):
        broken = (table.value != 0) & (table.value % (self.lot * 10**table.decimals) == 0)
        level = np.where(broken, percent_of(table.value, self.range), 0)
        return Finding(broken, level, level)

    def words(self, table, row):
        return f"a multiple of {self.lot}"


def test_a_rule_of_ones_own_is_assessed_beside_the_others():
    table = magnitudes([50, 30, 20], [50, 30, 25], [0])
    assert assessed(table, RoundLot(100), ds.MinContributors(3)) == [(10, 10), None, (0, 1)]
    assert rule_from_record({"kind": "ours.round_lot", "lot": 100}) == RoundLot(100)


def test_the_checker_says_that_a_rule_of_ones_own_is_asserted_only():
    table = magnitudes([50, 30, 20]).assess(RoundLot(100))
    assert Recheck(table).asserted == ["rule ours.round_lot in table turnover: one of the office's own"]


def test_a_release_with_a_rule_of_ones_own_holds_and_says_so():
    table = ds.examples.small_table().assess(RoundLot(150), ds.PPercent(10))
    verdict = ds.protect(table, ds.Suppress()).verify()
    assert verdict.holds
    assert "rule ours.round_lot in table turnover: one of the office's own" in verdict.asserted


def test_a_rule_that_nobody_has_made_known_is_refused_with_the_way_on():
    with pytest.raises(ParameterError, match="Import the module that defines it first"):
        rule_from_record({"kind": "theirs.rule"})
