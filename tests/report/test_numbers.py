"""The counts of the report against counting cell by cell."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from discreet.model.table import CellStatus
from discreet.report.numbers import TableNumbers
from discreet.report.words import count, interval, number, percent, rule_words


@pytest.fixture(scope="module")
def numbers(survey):
    return TableNumbers(survey.custodian.tables.tables[0], survey.custodian.status[0])


def rows(numbers):
    """Every cell as (codes, value, status)."""
    table = numbers.table
    for row in range(len(table)):
        yield table.spec_codes(table.codes[row].tolist()), int(table.value[row]), CellStatus(numbers.status[row])


def test_cells_are_counted_by_status(numbers):
    expected = Counter(status for _, _, status in rows(numbers))
    assert numbers.tally.cells == tuple(expected[s] for s in CellStatus)
    assert numbers.tally.withheld == expected[CellStatus.UNSAFE] + expected[CellStatus.SECONDARY]
    assert numbers.tally.forced == 1


def test_value_is_counted_once(numbers):
    hierarchies = numbers.table.spec.hierarchies
    expected = Counter()
    for codes, value, status in rows(numbers):
        if all(code in h.base_codes for code, h in zip(codes, hierarchies, strict=True)):
            expected[status] += abs(value)
    assert numbers.base_value.cells == tuple(expected[s] for s in CellStatus)
    assert numbers.base_value.total == numbers.table.value[numbers.table.row()]


def test_levels_have_the_cells_at_their_codes(numbers):
    for level in numbers.levels:
        k = numbers.table.variables.index(level.variable)
        hierarchy = numbers.table.spec.hierarchies[k]
        here = [s for codes, _, s in rows(numbers) if hierarchy.depth[hierarchy.position(codes[k])] == level.depth]
        assert level.tally.cells == tuple(Counter(here)[s] for s in CellStatus)


def test_codes_stand_in_the_order_of_their_shares(numbers):
    shown = numbers.largest_shares(5)
    shares = [code.tally.withheld / (code.tally.total - code.tally.empty) for code in shown]
    assert len(shown) == 5
    assert shares == sorted(shares, reverse=True)
    for code in shown:
        here = Counter(status for codes, _, status in rows(numbers) if codes[0] == code.code)
        assert code.tally.cells == tuple(here[s] for s in CellStatus)


def test_reasons_count_rules_alone_and_together(numbers):
    found = numbers.table.assessment
    by_hand = numbers.table.manual == CellStatus.UNSAFE
    sets = [set(np.flatnonzero((found.hits >> bit) & 1)) for bit in range(2)] + [set(np.flatnonzero(by_hand))]
    assert len(numbers.reasons) == 3
    for i, reason in enumerate(numbers.reasons):
        others = set().union(*(s for j, s in enumerate(sets) if j != i))
        assert reason.hit == len(sets[i])
        assert reason.only == len(sets[i] - others)
        assert reason.with_others == tuple(len(sets[i] & s) for s in sets)
    assert sum(reason.forced for reason in numbers.reasons) >= numbers.forced_unsafe == 1


def test_examples_are_the_largest_unsafe_cells_of_each_rule(numbers):
    chosen = set(numbers.examples(2).tolist())
    for broken in numbers.by_reason:
        mine = sorted(
            np.flatnonzero(broken & (numbers.status == CellStatus.UNSAFE)), key=lambda r: -numbers.table.value[r]
        )
        assert set(mine[:2]) <= chosen


def test_numbers_are_written_exactly():
    assert number(123456789012345678, 3) == "123,456,789,012,345.678"
    assert number(-5, 2) == "−0.05"
    assert count(-1234) == "−1,234"
    assert percent(0, 7) == "0 %"
    assert percent(7, 7) == "100 %"


def test_intervals_say_where_they_end():
    assert interval(1.0, 2.0, 0) == "1\N{NO-BREAK SPACE}to 2"
    assert interval(-np.inf, np.inf, 0) == "no limit"
    assert interval(-np.inf, 15.0, 1) == "at most\N{NO-BREAK SPACE}1.5"
    assert interval(1e20, 2e20, 0) == "about 1e+20\N{NO-BREAK SPACE}to about 2e+20"
    assert interval(3.0, 3.0, 0) == "3"


def test_every_rule_has_a_sentence_and_an_unknown_one_is_shown_as_it_is():
    from discreet.rules.base import REGISTRY

    needed = {"p": 10, "n": 3, "k": 80, "share": 0.5, "p1": 10, "variable": "sex"}
    for kind, rule in REGISTRY.items():
        if "." in kind:  # an office's own, of another test
            continue
        given = {name: needed[name] for name in needed if name in rule.__dataclass_fields__}
        assert not rule_words({"kind": kind, **given}).startswith("Rule ")
    assert rule_words({"kind": "of_tomorrow", "m": 4}) == "Rule of_tomorrow: m = 4."
