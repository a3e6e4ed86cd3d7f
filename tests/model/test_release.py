"""The public part of a release holds nothing that was withheld."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import discreet as ds
from discreet.errors import ParameterError
from discreet.model.public import PublicRelease, public_table


def shown(withheld: list[int], **changes):
    table = ds.examples.small_table().with_(**changes)
    hidden = np.zeros(16, np.bool_)
    hidden[withheld] = True
    return public_table(table, hidden)


def test_withheld_values_are_not_in_the_public_table():
    public = shown([7, 5])
    assert public.value[[5, 7]].tolist() == [0, 0]
    assert public.columns()["value"][7] is None
    assert [public.status[i] for i in (5, 6, 7)] == ["X", "V", "X"]


def test_a_withheld_cell_that_is_empty_does_not_say_so():
    empty = np.zeros(16, np.bool_)
    empty[[5, 6]] = True
    public = shown([5], empty=empty)
    assert public.status[5:7] == ["X", "E"]


def test_text_and_html_show_withheld_cells_as_gaps():
    public = shown([1])
    lines = repr(public).splitlines()
    assert lines[0] == "turnover: 16 cells, 1 withheld"
    assert lines[3].split() == ["Total", "North", "X"]
    html = public._repr_html_()
    assert '<td class="n sum x" title="withheld">X</td>' in html
    assert ">250<" in html  # the same number stands elsewhere, where it is published


def test_tables_are_found_by_name():
    release = PublicRelease((shown([1]),))
    assert release["turnover"].name == "turnover"
    with pytest.raises(ParameterError, match=r"no table 'turnovr' in the release. Did you mean 'turnover'"):
        release["turnovr"]


def test_a_pickled_release_is_its_public_part():
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    again = pickle.loads(pickle.dumps(release))
    assert isinstance(again, PublicRelease)
    assert again["turnover"].status == release.public["turnover"].status
