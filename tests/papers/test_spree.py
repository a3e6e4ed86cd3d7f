"""Card 003-21: structure preserving estimation, an old census with new margins."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import InputError, ParameterError
from discreet.measures import SpreeSettings, individual_risk, spree_risk

CENSUS = np.array([[[10, 5], [4, 1]], [[20, 30], [6, 14]]])
MARGINS = [((1, 2), [[35, 38], [12, 18]]), ((0, 1), [[17, 6], [56, 24]])]
SAMPLE = np.ones((2, 2, 2), int)
CONVERGED = [[[11.607045, 5.392955], [4.8, 1.2]], [[23.392955, 32.607045], [7.2, 16.8]]]
FIRST_STEP = [[[11.601671, 5.398329], [4.8, 1.2]], [[23.373083, 32.626917], [7.2, 16.8]]]


def odds(table: np.ndarray) -> np.ndarray:
    """Odds ratios of the first and last axis within each value of the second."""
    return np.asarray(table[0, :, 0] * table[1, :, 1] / (table[0, :, 1] * table[1, :, 0]))


def test_the_small_example() -> None:
    found = spree_risk(SAMPLE, CENSUS, MARGINS, SpreeSettings(tolerance=1e-9))
    assert found.fitted == pytest.approx(np.array(CONVERGED), abs=1e-6)
    assert max(found.gaps) <= 1e-9
    assert found.converged
    once = spree_risk(SAMPLE, CENSUS, MARGINS, SpreeSettings(cycles=1))
    assert once.fitted == pytest.approx(np.array(FIRST_STEP), abs=1e-6)
    assert once.notes[0].startswith("Margins were not met: after 1 cycles they are off by up to")
    assert not once.converged


def test_the_default_tolerance_stops_after_four_steps() -> None:
    found = spree_risk(SAMPLE, CENSUS, MARGINS)
    assert found.cycles == 4
    assert found.fitted[0, 0, 0] == pytest.approx(CONVERGED[0][0][0], abs=1e-6)


def test_odds_ratios_stay() -> None:
    found = spree_risk(SAMPLE, CENSUS, MARGINS, SpreeSettings(tolerance=1e-9))
    assert odds(CENSUS.astype(float)) == pytest.approx([3, 9 + 1 / 3])
    assert odds(found.fitted) == pytest.approx(odds(CENSUS.astype(float)), rel=1e-9)


def test_a_census_that_fits_already_takes_one_step_and_is_exact() -> None:
    margins = [((1, 2), CENSUS.sum(axis=0)), ((0, 1), CENSUS.sum(axis=2))]
    found = spree_risk(SAMPLE, CENSUS, margins)
    assert found.cycles == 1
    assert found.fitted == pytest.approx(CENSUS.astype(float), rel=1e-12)
    assert found.risk == pytest.approx(1 / CENSUS, rel=1e-12)


def test_cells_that_are_empty_in_both_stay_empty() -> None:
    census, sample = CENSUS.copy(), SAMPLE.copy()
    census[0, 0, 0] = sample[0, 0, 0] = 0
    found = spree_risk(sample, census, MARGINS)
    assert found.fitted[0, 0, 0] == 0
    assert np.isnan(found.risk[0, 0, 0])
    assert np.isnan(found.cautious[0, 0, 0])
    assert found.filled == ()


def test_cells_that_are_empty_in_the_census_alone_are_flagged() -> None:
    census = CENSUS.copy()
    census[0, 0, 0] = 0
    found = spree_risk(SAMPLE, census, MARGINS)
    assert found.filled == ((0, 0, 0),)
    assert found.fitted[0, 0, 0] > 0
    assert found.notes[0] == "1 cell is empty in the census but not in the sample: a small count was put there."


def test_margins_that_do_not_agree_are_rescaled_or_refused() -> None:
    survey = ((1, 2), [[70, 76], [12, 18]])  # twice as many in the first value of the second axis
    found = spree_risk(SAMPLE, CENSUS, [survey, MARGINS[1]], SpreeSettings(tolerance=1e-9))
    assert found.fitted == pytest.approx(np.array(CONVERGED), abs=1e-6)
    words = "Margins 1 and 2 do not agree on axis 1: they differ by up to 50.0%"
    assert found.notes == (f"{words}; the first was scaled to the second.",)
    with pytest.raises(InputError, match=rf"{words}, in 1 total\."):
        spree_risk(SAMPLE, CENSUS, [survey, MARGINS[1]], SpreeSettings(disagree="refuse"))
    nothing = ((1, 2), [[0, 0], [12, 18]])
    with pytest.raises(InputError, match=r"Margins 1 and 2 do not agree on axis 1: they differ by up to 100\.0%"):
        spree_risk(SAMPLE, CENSUS, [nothing, MARGINS[1]])


def test_margins_without_a_common_axis_agree_on_their_total() -> None:
    found = spree_risk(SAMPLE, CENSUS, [((0,), [40, 60]), ((2,), [30, 40])])
    assert "do not agree on their total" in found.notes[0]
    assert found.fitted.sum() == pytest.approx(70)


def test_a_margin_that_the_census_cannot_meet_is_said() -> None:
    census, sample = CENSUS.copy(), SAMPLE.copy()
    census[0] = sample[0] = 0  # nobody lived in the first region, and the register has persons there
    found = spree_risk(sample, census, MARGINS)
    assert not found.converged
    assert found.notes[0].startswith("Margins were not met")


def test_axes_may_be_given_in_any_order() -> None:
    turned = [((2, 1), np.array(MARGINS[0][1]).T), ((1, 0), np.array(MARGINS[1][1]).T)]
    expected = spree_risk(SAMPLE, CENSUS, MARGINS).fitted
    assert spree_risk(SAMPLE, CENSUS, turned).fitted == pytest.approx(expected, rel=1e-12)


def test_risks_lie_above_zero_and_up_to_one_over_the_count() -> None:
    sample = np.array([[[9, 5], [9, 2]], [[1, 2], [9, 1]]])
    found = spree_risk(sample, CENSUS, MARGINS)
    assert found.adjusted == 3
    assert ((found.risk > 0) & (found.risk <= 1 / sample)).all()
    assert ((found.cautious > 0) & (found.cautious <= 1 / sample)).all()
    assert found.cautious == pytest.approx(individual_risk(sample, found.population))
    left = spree_risk(sample, CENSUS, MARGINS, SpreeSettings(adjust="none"))
    assert left.risk[0, 1, 1] == pytest.approx(1 / 1.2, abs=1e-3)
    assert "37.5% of the cells of the sample have fewer persons than records" in found.notes[0]


def test_both_estimates() -> None:
    plain, cautious = spree_risk(SAMPLE, CENSUS, MARGINS).estimates
    assert plain.model == "SPREE"
    assert plain.uniques == 1  # the cell with 1.2 persons
    assert plain.matches == pytest.approx((1 / np.array(CONVERGED)).sum(), rel=1e-5)
    assert cautious.uniques == pytest.approx(plain.matches)
    assert cautious.matches > plain.matches
    assert [one.matches for one in spree_risk(2 * SAMPLE, CENSUS, MARGINS).estimates] == [0.0, 0.0]


def test_spree_is_less_biased_than_weights_for_small_cells() -> None:
    """Check 6 on a stand-in of 4,800 cells with rates that differ by region and an association that drifted."""
    rng, shape = np.random.default_rng(21), (6, 40, 20)
    old = rng.poisson(rng.gamma(0.5, 60, shape))
    now = rng.poisson(old * rng.gamma(40, 1 / 40, shape))
    rate = np.linspace(0.012, 0.09, 6)[:, None, None]
    register, bias = now.sum(axis=2), {low: [[], []] for low in (1, 2, 3)}  # type: ignore[var-annotated]
    deviations = []
    for _ in range(30):
        sample = rng.binomial(now, rate)
        weighted = sample / rate
        found = spree_risk(sample, old, [((1, 2), weighted.sum(axis=0) + 1e-9), ((0, 1), register)])
        bf = np.full(shape, np.nan)
        bf[sample > 0] = individual_risk(sample[sample > 0], weighted[sample > 0])
        for low, high in ((1, 1), (2, 2), (3, 5)):
            cells = (sample > 0) & (now >= low) & (now <= high)
            bias[low][0] += (bf[cells] - 1 / now[cells]).tolist()
            bias[low][1] += (found.risk[cells] - 1 / now[cells]).tolist()
        alone = sample == 1
        deviations.append((bf[alone].std(), found.risk[alone].std()))
    for of_weights, of_spree in bias.values():
        assert abs(np.mean(of_spree)) < abs(np.mean(of_weights))
    assert np.mean(deviations, axis=0)[1] > np.mean(deviations, axis=0)[0]


def test_bad_tables_are_refused() -> None:
    with pytest.raises(InputError, match=r"The sample has shape \(2, 2\) and the census \(2, 2, 2\)\."):
        spree_risk(np.ones((2, 2)), CENSUS, MARGINS)
    with pytest.raises(InputError, match=r"Counts of the census must be numbers from 0 on, not all 0\."):
        spree_risk(SAMPLE, -CENSUS, MARGINS)
    with pytest.raises(InputError, match=r"Counts of records must be whole numbers from 0 on\."):
        spree_risk(SAMPLE * 0.5, CENSUS, MARGINS)
    with pytest.raises(ParameterError, match=r"There are no margins\."):
        spree_risk(SAMPLE, CENSUS, [])
    with pytest.raises(ParameterError, match=r"Margin 1 is over axes \(0, 3\)\."):
        spree_risk(SAMPLE, CENSUS, [((0, 3), [[1]])])
    with pytest.raises(InputError, match=r"Margin 1 over axes \(0,\) has shape \(3,\), and the census \(2,\) there\."):
        spree_risk(SAMPLE, CENSUS, [((0,), [1, 2, 3])])
    with pytest.raises(InputError, match=r"Margin 1 must hold numbers from 0 on, not all 0\."):
        spree_risk(SAMPLE, CENSUS, [((0,), [1, -2])])
