"""Nobody can change what an altered release means and have it pass; `tests/attack/changed_meanings.py` tries more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.model.public import PublicRelease
from discreet.verify import check_release
from tests.attack.changed_meanings import PAIRS, attack
from tests.verify.forging import RELEASES, made

PARTS, TRIALS = 4, 125


@pytest.mark.parametrize("part", range(PARTS))
def test_no_altered_release_can_be_changed_unnoticed(part, capsys):
    """Every change with every method at least once, in all parts together."""
    assert len(PAIRS) <= PARTS * TRIALS
    found = attack(TRIALS, seed=part * TRIALS)
    assert capsys.readouterr().out == ""
    assert (found["changes"], found["accepted"]) == (TRIALS, 0)


@pytest.mark.parametrize("name", RELEASES)
def test_no_published_value_differs_from_the_forged_one(name):
    """The public part alone is changed: one value in every row in turn."""
    release = made(name)
    for t, table in enumerate(release.public.tables):
        for row in range(len(table)):
            value = table.value.copy()
            value[row] += 1
            shown = [*release.public.tables]
            shown[t] = replace(table, value=value)
            assert not check_release(release.custodian, PublicRelease(tuple(shown))).holds, row
