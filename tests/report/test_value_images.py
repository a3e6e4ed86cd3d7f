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
