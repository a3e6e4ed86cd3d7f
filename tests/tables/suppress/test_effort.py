"""How much is done for a cheap pattern: words, numbers and seconds; what is claimed holds with all of them."""

from __future__ import annotations

import pytest

import discreet as ds
from discreet.errors import ParameterError
from discreet.tables.suppress.effort import CARE, EffortLimits
from tests.tables.suppress.test_bound import survey_table


@pytest.mark.parametrize("effort", ["quick", "normal", "best"])
def test_every_word_gives_a_pattern_that_verifies(effort: str) -> None:
    release = ds.protect(survey_table(), ds.Suppress(effort=effort))  # type: ignore[arg-type]
    assert release.verify().holds
    counts = release.custodian.evidence[0].effort
    assert 0 < counts["least_cost"] <= counts["cost"]
    assert "limit_struck_at" not in counts


def test_more_effort_never_withholds_more_value() -> None:
    table = survey_table()
    costs = [
        ds.protect(table, ds.Suppress(insiders=None, joint=False, effort=word)).custodian.evidence[0].effort["cost"]
        for word in CARE
    ]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("given", ["much", -1, 1.5, None, True])
def test_other_words_and_numbers_are_refused(given: object) -> None:
    with pytest.raises(ParameterError, match="effort"):
        ds.Suppress(effort=given)  # type: ignore[arg-type]


def test_the_hint_names_numbers_and_words() -> None:
    with pytest.raises(ParameterError) as caught:
        ds.Suppress(effort=-1)
    assert "Give a whole number of at least 0, or one of 'quick', 'normal', 'best'." in str(caught.value)


def test_words_set_no_limit_and_numbers_do() -> None:
    assert not EffortLimits.of("quick", None).limited
    assert EffortLimits.of(5, None).struck(5)
    assert EffortLimits.of("best", 0.0).struck(0)
