"""Transition matrices: what they are made of, and what is refused."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from discreet.errors import InputError, ParameterError
from discreet.model.transition import TransitionMatrix
from discreet.model.transition_families import read_notation


def test_plain_data_and_back():
    matrix = TransitionMatrix("x", ("a", "b"), [[0.1, 0.9], [0.3, 0.7]], ("area",), ("N",))
    for again in (
        TransitionMatrix.from_record(json.loads(json.dumps(matrix.record()))),
        pickle.loads(pickle.dumps(matrix)),
    ):
        assert again.record() == matrix.record()
    assert repr(matrix) == "TransitionMatrix('x', 2 codes, area 'N')"


def test_nobody_changes_a_matrix():
    given = np.array([[0.5, 0.5], [0.2, 0.8]])
    matrix = TransitionMatrix("x", ("a", "b"), given)
    given[0] = [1, 0]
    assert matrix.chances[0].tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        matrix.chances[0, 0] = 1


def test_the_condition_says_whether_counts_can_be_corrected():
    assert TransitionMatrix.from_notation("x", "2E(.55)", ["a", "b"]).condition == pytest.approx(10)
    singular = TransitionMatrix.from_notation("x", "4B(.5;2)", list("abcd"))
    assert singular.condition > 1e13
    with pytest.raises(InputError, match="The matrix of 'x' is singular"):
        singular.inverse  # noqa: B018
    good = TransitionMatrix.from_notation("x", "4B(.6;2)", list("abcd"))
    assert np.allclose(good.inverse @ good.chances, np.eye(4))


def test_invariant_matrices_keep_expected_counts():
    matrix = TransitionMatrix.from_notation("x", "3E(.6)", list("abc"), [10, 0, 5], invariant=True)
    assert np.allclose(np.array([10, 0, 5]) @ matrix.chances, [10, 0, 5])
    assert not matrix.chances[[0, 2], 1].any()


def test_codes_that_nobody_has_are_drawn_evenly_where_all_others_are_empty():
    chances = read_notation("3F(.6)").chances(np.array([7.0, 0, 0]))
    assert np.round(chances, 4).tolist() == [[0.6, 0.2, 0.2], [0, 0.6, 0.4], [0, 0.4, 0.6]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"notation": "3F(.6)"}, "looks at how often codes occur"),
        ({"notation": "3E(.6)", "invariant": True}, "looks at how often codes occur"),
        ({"notation": "3E(.6)", "counts": [1, 2]}, "There are 3 codes and counts of shape"),
        ({"notation": "3F(.6)", "counts": [1, -2, 3]}, "must be numbers of at least 0"),
        ({"notation": "4E(.6)"}, "is for 4 codes, and there are 3"),
    ],
)
def test_notations_that_do_not_fit_are_refused(options, message):
    with pytest.raises((InputError, ParameterError), match=message):
        TransitionMatrix.from_notation("x", codes=["a", "b", "c"], **options)


@pytest.mark.parametrize(
    ("codes", "chances", "message"),
    [
        ([], [], "must be given, each once"),
        (["a", "a"], [[1, 0], [0, 1]], "must be given, each once"),
        (["a", "b"], [[1, 0]], "is 1 x 2, and there are 2 codes"),
        (["a"], [[0.5]], "do not sum to 1: 'a' to 0.5"),
        (["a", "b"], [[2, -1], [0, 1]], "holds what is no chance"),
        (["a"], [[float("nan")]], "holds what is no chance"),
        (["a"], [["x"]], "does not hold numbers only"),
        (list("abcdefg"), np.zeros((7, 7)), "and 2 more"),
    ],
)
def test_what_is_no_matrix_is_refused(codes, chances, message):
    with pytest.raises(ParameterError, match=message):
        TransitionMatrix("x", codes, chances)
