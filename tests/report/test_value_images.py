"""Pictures of numbers before and after."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import NeedsError, ParameterError
from discreet.report.records import records_report


def release(columns=("x", "y", "z"), rows=120):
    draw = np.random.default_rng(3)
    table = {name: np.round(draw.lognormal(3, 1, rows), 1) for name in columns}
    return ds.protect(ds.Microdata(pa.table(table), numeric=list(columns)), ds.Microaggregate(k=4))


@pytest.mark.parametrize("kind", ["densities", "quantiles", "covariances", "correlations", "biplot"])
def test_every_picture_says_in_words_what_it_shows(kind):
    drawn = release().value_image(kind)
    assert drawn.startswith("<svg")
    assert "<image" not in drawn  # pages of reports show drawings only
    label = re.search(r'aria-label="([^"]+)"', drawn)
    assert label
    assert len(label[1]) > 30


def test_the_report_shows_numbers_together():
    page = records_report(release())
    assert "Numbers after every step" in page
    assert "1 microaggregate" in page
    assert "By how much correlations between columns changed" in page
    assert "mean distance of values" in page


def test_one_column_has_no_correlations():
    assert "correlations between" not in records_report(release(("x",)))
    with pytest.raises(NeedsError, match='"biplot" needs two columns of numbers'):
        release(("x",)).value_image("biplot")


def test_learnt_groups_show_how_their_loss_fell():
    draw = np.random.default_rng(3)
    data = ds.Microdata(pa.table({"x": draw.normal(size=40).round(2)}), numeric="x")
    learnt = ds.protect(data, ds.Microaggregate(k=3, algorithm="automaton", restarts=1))
    assert "Loss by cycle" in learnt.value_image("convergence")
    with pytest.raises(NeedsError, match="No step of this release learns groups"):
        release().value_image("convergence")


def test_what_cannot_be_drawn():
    with pytest.raises(ParameterError, match=r"no kind 'density'\. Did you mean 'densities'"):
        release().value_image("density")
    other = ds.protect(ds.Microdata(pa.table({"a": ["u", "v"] * 9})), ds.Recode("a", map={"u": "w", "v": "w"}))
    with pytest.raises(NeedsError, match="No column of numbers was altered"):
        other.value_image()
    tables = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    with pytest.raises(NeedsError, match="this is one of tables"):
        tables.value_image()


COLUMNS = ["x", "y", "z"]
METHODS = {
    "microaggregate": ds.Microaggregate(COLUMNS, 4),
    "add_noise": ds.AddNoise(COLUMNS, insecure_seed=1),
    "rank_swap": ds.RankSwap(COLUMNS, 0.2, insecure_seed=1),
    "shuffle": ds.Shuffle(COLUMNS, insecure_seed=1),
    "microaggregated_swap": ds.MicroaggregatedSwap(COLUMNS, insecure_seed=1),
    "mask_residual": ds.MaskResidual(ds.Microaggregate(COLUMNS, 3), "local", "reflect", most_linked=1, insecure_seed=1),
    "redraw": ds.Redraw(COLUMNS, unusual=20, insecure_seed=1),
    "round_randomly": ds.RoundRandomly(COLUMNS, 10, insecure_seed=1),
    "blank_values": ds.BlankValues(
        dict.fromkeys(COLUMNS, 0.9),
        jitter=dict.fromkeys(COLUMNS, 1.0),
        noise=dict.fromkeys(COLUMNS, 1.0),
        insecure_seed=1,
    ),
    "multiplicative_noise": ds.MultiplicativeNoise("firm", columns=tuple(COLUMNS), insecure_seed=1),
}


@pytest.mark.parametrize("kind", METHODS)
def test_every_method_for_numbers_can_be_printed_summed_up_drawn_and_compared(kind):
    """Card 003-29, check 7 and R19: the same four questions to all of them."""
    draw = np.random.default_rng(3)
    table = pa.table({name: np.round(draw.lognormal(3, 1, 120), 1) for name in COLUMNS})
    method = METHODS[kind]
    table = table.append_column("firm", pa.array(range(120)))
    done = ds.protect(ds.Microdata(table, numeric=COLUMNS, identifier="firm"), method)
    assert type(method).__name__ in repr(method)
    assert method.kind == kind
    assert done.custodian.evidence[0].claim.statement in done.summary()
    for picture in ("densities", "correlations"):
        assert done.value_image(picture).startswith("<svg")
    compared = ds.utility(done, propensity="none").losses
    assert compared.il1 > 0
