"""Linking series: against plain Python, with panels, gaps, ties and bad input."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.attack import compare_series_links, link_series, series_distance, warping_path
from discreet.engine.record_set import read_record_set
from discreet.errors import InputError, NeedsError, ParameterError

# ---- plain Python ---------------------------------------------------------------------------------------------------


def plain_distance(x, v, distance, q=2, beta=1, band=None):
    """Distances of two lists by their definitions."""
    if distance == "minkowski":
        return sum(abs(a - b) ** q for a, b in zip(x, v, strict=True)) ** (1 / q)
    if distance == "sts":
        return math.sqrt(sum((v[k + 1] - v[k] - x[k + 1] + x[k]) ** 2 for k in range(len(x) - 1)))
    if distance == "cc":
        return plain_correlation_distance(x, v) ** beta
    cost, steps = plain_warping(x, v, band)
    return (math.sqrt(cost) / steps) ** beta


def plain_correlation_distance(x, v):
    a, b = (np.array(one) - sum(one) / len(one) for one in (x, v))
    if max(x) == min(x) or max(v) == min(v):
        return 1.0
    r = float((a * b).sum() / math.sqrt((a * a).sum() * (b * b).sum()))
    return math.inf if r <= -1 else (1 - min(r, 1)) / (1 + min(r, 1))


def plain_warping(x, v, band=None):
    """Least pairs of cost and length over all paths, each listed one by one."""
    reach = len(x) + len(v) if band is None else max(band, abs(len(x) - len(v)))

    def walk(i, j):
        if i < 0 or j < 0 or abs(i - j) > reach:
            return []
        own = (x[i] - v[j]) ** 2
        if i == j == 0:
            return [(own, 1)]
        before = walk(i - 1, j - 1) + walk(i - 1, j) + walk(i, j - 1)
        return [(cost + own, length + 1) for cost, length in before]

    return min(walk(len(x) - 1, len(v) - 1))


SMALL = st.lists(st.integers(0, 4).map(float), min_size=1, max_size=4)


@given(SMALL, SMALL, st.none() | st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_warping_is_the_least_of_all_paths(x, v, band):
    assert warping_path(x, v, band) == plain_warping(x, v, band)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_links_are_those_of_plain_python(data):
    units, times = data.draw(st.integers(2, 5)), data.draw(st.integers(2, 4))
    number = st.integers(0, 3).map(float)
    file = st.lists(st.lists(number, min_size=times, max_size=times), min_size=units, max_size=units)
    original, released = data.draw(file), data.draw(file)
    distance = data.draw(st.sampled_from(["minkowski", "sts", "cc", "dtw"]))
    options = {"q": data.draw(st.integers(1, 4))} if distance == "minkowski" else {}
    found = link_series(original, released, distance, normalise=None, **options)
    for unit in range(units):
        far = [plain_distance(original[unit], other, distance, **options) for other in released]
        best = min(far)
        if math.isinf(best) or best > 1e12:
            continue
        near = [place for place, one in enumerate(far) if one <= best * (1 + 1e-9) + 1e-11]
        assert found.best[unit] == pytest.approx(best, abs=1e-11)
        assert (found.links[unit], found.tied[unit]) == (near[0], len(near))
        assert found.chance[unit] == pytest.approx(1 / len(near) if unit in near else 0)


# ---- what comes back ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def series():
    rng = np.random.default_rng(3)
    original = rng.normal(size=(40, 2, 8)).cumsum(axis=2)
    return original, original + rng.normal(scale=0.8, size=original.shape)


def test_the_order_of_rows_and_blocks_changes_nothing(series, monkeypatch):
    original, released = series
    found = link_series(original, released, "dtw")
    order = np.random.default_rng(0).permutation(len(released))
    place = np.argsort(order)
    moved = link_series(original, released[order], "dtw", truth=place)
    assert (moved.chance == found.chance).all()
    assert (order[moved.links] == found.links).all()
    monkeypatch.setitem(link_series.__globals__, "BLOCK", 100)
    again = link_series(original, released, "dtw")
    assert (again.links == found.links).all()
    assert (again.second == found.second).all()
    assert 0 < found.right < len(original)
    assert found.baseline == 1 / 40


def test_several_series_are_added_or_their_squares_averaged(series):
    original, released = series
    each = [link_series(original[:, n], released[:, n], "minkowski", normalise=None).best for n in range(2)]
    twice = np.concatenate([original[:, :1], original[:, :1]], axis=1)
    there = np.concatenate([released[:, :1], released[:, :1]], axis=1)
    assert link_series(twice, there, "minkowski", normalise=None).best == pytest.approx(2 * each[0])
    assert link_series(twice, there, "minkowski", normalise=None, combine="rms").best == pytest.approx(each[0])
    flat = link_series(original.reshape(40, 16), released.reshape(40, 16), "minkowski", normalise="component")
    whole = link_series(original, released, "minkowski", normalise="component", combine="rms")
    assert (whole.links == flat.links).all()  # standard record linkage takes all times of all series for variables


def test_pieces_of_a_series_are_series(series):
    original, released = series[0][:, :1], series[1][:, :1]
    cut = [np.stack([file[:, 0, :4], file[:, 0, 4:]], axis=1) for file in (original, released)]
    split = link_series(original, released, "sts", split=2)
    assert split.best == pytest.approx(link_series(*cut, "sts").best)
    assert link_series(original, released, "minkowski", split=3).tried == 40  # pieces of 3, 3 and 2 times
    with pytest.raises(ParameterError, match=r"split=9 is more than the 8 times there are\. Give at most 8\."):
        link_series(original, released, split=9)
    with pytest.raises(InputError, match=r"A series of one time has no slope\. Give distance=\"minkowski\""):
        link_series(original, released, "sts", split=8)


def test_three_ways_to_count_a_tie():
    original = np.array([[0.0, 1.0], [0.0, 1.0], [5.0, 5.0]])
    expected = link_series(original, original, "minkowski")
    assert (expected.chance.tolist(), expected.tied.tolist(), expected.distinct) == ([0.5, 0.5, 1.0], [2, 2, 1], 2)
    assert expected.notes == ("1 original unit cannot be told from an earlier one by these series.",)
    assert expected.gap.tolist()[:2] == [0.0, 0.0]
    assert expected.gap[2] == np.inf
    first = link_series(original, original, "minkowski", ties="first")
    assert (first.chance.tolist(), first.links.tolist()) == ([1.0, 0.0, 1.0], [0, 0, 2])
    drawn = [link_series(original, original, "minkowski", ties="random", seed=seed) for seed in range(40)]
    assert {tuple(one.links.tolist()) for one in drawn} == {(0, 0, 2), (0, 1, 2), (1, 0, 2), (1, 1, 2)}
    assert all((one.chance == (one.links == np.arange(3))).all() for one in drawn)


def test_equal_series_stay_equal_whatever_is_summed():
    """A tie is not decided by the last digit of a mean."""
    rng = np.random.default_rng(1)
    one = rng.normal(size=(30, 7)) * 1e3 + 0.1
    released = np.repeat(one.round(1), 3, axis=0)
    original = released + rng.normal(scale=0.01, size=released.shape)
    for distance in ("minkowski", "sts", "cc", "dtw"):
        for normalise in ("pooled", "series", "component", None):
            assert (link_series(original, released, distance, normalise=normalise).tied % 3 == 0).all()


def test_series_that_differ_by_a_constant_have_the_same_slopes():
    original = np.array([[0.1, 0.4, 0.2], [1e3, 2e3, 7e3]])
    released = np.array([[0.1, 0.4, 0.2], [100.1, 100.4, 100.2], [3.0, 2.0, 1.0]])
    found = link_series(original, released, "sts", truth=[0, -1], normalise=None)
    assert (found.tied[0], found.chance.tolist()) == (2, [0.5, 0.0])
    assert found.notes == ("1 original unit is not in the released file, so that every guess is wrong.",)
    assert found.baseline == pytest.approx(1 / 6)


def test_flat_series_correlate_with_nothing():
    original = np.array([[0.1] * 5, [1, 2, 3, 4, 6.0]])
    found = link_series(original, original, "cc")
    assert found.best.tolist() == pytest.approx([1.0, 0.0], abs=1e-12)
    assert found.notes == (
        "2 series of the two files do not vary over time and are taken as uncorrelated with all others.",
    )
    assert link_series(original, original, "minkowski", normalise="series").notes == (
        "2 series of the two files do not vary over time and count as 0 at every time.",
    )


def test_among_units_that_are_all_infinitely_far_a_guess_is_as_good_as_any():
    opposite = link_series([[1.0, 2.0], [1.0, 3.0]], [[2.0, 1.0], [5.0, 1.0]], "cc")
    assert opposite.best.tolist() == [math.inf, math.inf]
    assert (opposite.chance.tolist(), opposite.tied.tolist()) == ([0.5, 0.5], [2, 2])
    assert (opposite.linked, opposite.gap.tolist()) == ({0: 0, 1: 0}, [0.0, 0.0])
    assert opposite.advantage == 0.0


def test_one_unit_of_one_time():
    found = link_series([[3.0]], [[4.0]], "minkowski")
    assert (found.share, found.baseline, found.advantage) == (1.0, 1.0, 0.0)
    assert link_series([[3.0]], [[4.0]], "dtw").share == 1.0
    with pytest.raises(InputError, match=r"A series of one time has no correlation\."):
        link_series([[3.0]], [[4.0]], "cc")


def test_high_orders_stay_finite():
    assert series_distance([1e300, 0], [0, 0], "minkowski", q=64) == pytest.approx(1e300)
    assert series_distance([0, 0, 0], [1e-9, 1e-9, 0], "minkowski", q=40) == pytest.approx(1e-9, rel=0.02)


@pytest.mark.parametrize("unit", [1e-90, 1e90])
@pytest.mark.parametrize("distance", ["minkowski", "sts", "cc", "dtw"])
@pytest.mark.parametrize("normalise", ["pooled", "component", "series", None])
def test_the_unit_of_numbers_changes_no_link(series, unit, distance, normalise):
    """Squares of very small numbers vanish: nobody would be found."""
    original, released = (file[:, 0] for file in series)
    found = link_series(original * unit, released * unit, distance, normalise=normalise)
    assert (found.links == link_series(original, released, distance, normalise=normalise).links).all()


def test_one_very_large_unit_does_not_hide_the_others():
    rng = np.random.default_rng(8)
    original = rng.normal(size=(60, 6)).cumsum(axis=1) + 50
    original[0] *= 1e9
    for distance in ("minkowski", "sts", "dtw"):
        for normalise in ("pooled", None):
            assert link_series(original, original, distance, normalise=normalise).share == 1.0


def test_units_beyond_reason_are_refused():
    for unit in (1e-120, 1e120):
        with pytest.raises(
            InputError, match=r"The numbers of the original file are of a size at which distances are no"
        ):
            link_series(np.eye(3) * unit, np.eye(3) * unit)


def test_every_distance_side_by_side(series):
    found = compare_series_links(*series)
    assert list(found.found) == ["records", "minkowski", "sts", "cc", "dtw"]
    assert found.worst.right == max(one.right for one in found.found.values())
    frame = found.to_frame()
    assert frame["right"].to_pylist() == [one.right for one in found.found.values()]
    assert frame["most"].to_pylist() == [40] * 5
    text = repr(found)
    assert text.splitlines()[0].startswith("records: ")
    assert "Worst: series by " in text
    with pytest.raises(ParameterError, match=r"combine=, distance= differ from distance to distance here\."):
        compare_series_links(*series, distance="sts", combine="sum")


def test_a_summary_says_what_was_compared(series):
    found = link_series(*series, "minkowski", normalise="component")
    assert found.summary().startswith("series by Minkowski distance, q = 2, every time for itself: ")
    assert "40 attempts name the right series" in found.summary()
    frame = found.to_frame()
    assert frame.column_names == ["position", "link", "chance", "tied", "best", "second"]


# ---- panels ---------------------------------------------------------------------------------------------------------


def long_panel(values: np.ndarray, names=("income",), start=2001, ids=None) -> pa.Table:
    units, _, times = values.shape
    who = ids or [f"p{unit}" for unit in range(units)]
    columns = {"person": np.repeat(who, times), "year": np.tile(np.arange(start, start + times), units)}
    columns |= {name: values[:, number].ravel() for number, name in enumerate(names)}
    return pa.table(columns)


NAMES = ("income", "tax")


@pytest.mark.parametrize("distance", ["minkowski", "sts", "cc", "dtw"])
def test_panels_in_any_form_and_order_are_linked_as_arrays_are(series, distance):
    original, released = series
    expected = link_series(original, released, distance)
    first, second = (long_panel(file, NAMES) for file in series)
    order = np.random.default_rng(4).permutation(len(second))
    found = link_series(first, second.take(order), distance, id="person", time="year", values=NAMES)
    assert found.right == pytest.approx(expected.right)
    assert found.columns == NAMES
    named = {f"p{row}": f"p{link}" for row, link in enumerate(expected.links)}
    assert {who: found.linked[who] for who in named} == named
    wide = {f"{name}_{year}": original[:, n, year] for n, name in enumerate(NAMES) for year in range(8)}
    after = {f"{name}_{year}": released[:, n, year] for n, name in enumerate(NAMES) for year in range(8)}
    columns = {name: [f"{name}_{year}" for year in range(8)] for name in NAMES}
    assert (link_series(pa.table(wide), pa.table(after), distance, values=columns).links == expected.links).all()


def test_panels_with_a_column_that_names_the_series(series):
    original, released = series
    longest = [
        pa.concat_tables(
            [
                long_panel(file[:, n : n + 1], ("value",)).append_column("what", pa.array([name] * 320))
                for n, name in enumerate(NAMES)
            ]
        )
        for file in (original, released)
    ]
    found = link_series(*longest, "sts", id="person", time="year", values="value", variable="what")
    assert found.right == pytest.approx(link_series(original, released, "sts").right)
    assert found.columns == NAMES


def test_microdata_say_who_and_which_themselves(series):
    panels = [
        ds.Microdata(long_panel(file, NAMES), identifier=["person", "year"], numeric=["income", "tax"])
        for file in series
    ]
    found = link_series(*panels, "sts", time="year")
    assert found.columns == NAMES
    assert found.right == pytest.approx(link_series(*series, "sts").right)
    sets = [read_record_set(panel) for panel in panels]
    assert (link_series(*sets, "sts", time="year").links == found.links).all()


def test_dates_are_days_and_codes_for_unknown_are_gaps():
    import datetime

    days = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2), datetime.date(2024, 1, 5)]
    frame = pa.table({"who": ["a"] * 3 + ["b"] * 3, "day": days * 2, "x": [1, 2, 8, 1, 1, 2]})
    found = link_series(frame, frame, "sts", id="who", time="day", normalise=None)
    apart = math.sqrt((1 - 0) ** 2 + (6 / 3 - 1 / 3) ** 2)
    assert found.second.tolist() == pytest.approx([apart, apart])
    coded = ds.Microdata(
        pa.table({"who": ["a", "a", "b", "b"], "t": [1, 2, 1, 2], "x": [1, -9, 4, 5]}),
        identifier=["who", "t"],
        missing_codes={"x": ["-9"]},
    )
    with pytest.raises(
        InputError, match=r"The panel is unbalanced: 1 of 2 original units and 1 of 2 released units lack"
    ):
        link_series(coded, coded, "minkowski", time="t", values="x")


def test_text_that_spells_years_is_taken_for_them():
    frame = pa.table({"who": ["a", "a", "b", "b"], "year": ["2001", "2003"] * 2, "x": [1.0, 3.0, 1.0, 7.0]})
    found = link_series(frame, frame, "sts", id="who", time="year", values="x", normalise=None)
    assert found.second.tolist() == [2.0, 2.0]
    bad = frame.set_column(1, "year", pa.array(["spring", "autumn"] * 2))
    with pytest.raises(
        InputError, match=r"Column 'year' of the original file holds times that are neither numbers nor"
    ):
        link_series(bad, frame, "sts", id="who", time="year", values="x")


# ---- gaps -----------------------------------------------------------------------------------------------------------


def test_unbalanced_panels_are_refused_by_name_unless_told(series):
    first, second = (long_panel(file[:, :1]) for file in series)
    short = second.slice(1)
    with pytest.raises(InputError) as refused:
        link_series(first, short, id="person", time="year")
    assert str(refused.value) == (
        "The panel is unbalanced: 0 of 40 original units and 1 of 40 released units lack a value at some times. "
        'Give gaps="interpolate" (straight lines over time) or gaps="drop" (times that both series have; with '
        'distance="dtw", series of unequal length), or leave these units out.'
    )
    for gaps, word in (("interpolate", "interpolated"), ("drop", "left out, pair by pair")):
        for distance in ("minkowski", "sts", "cc", "dtw"):
            found = link_series(first, short, distance, id="person", time="year", gaps=gaps)
            assert word in found.notes[0]
            assert found.right > 5


def test_gaps_are_filled_by_straight_lines_and_the_nearest_end():
    gap = np.nan
    holes = [[gap, 1.0, gap, 4.0, gap], [0.0, 0.0, 0.0, 0.0, 9.0]]
    full = [[1.0, 1.0, 3.0, 4.0, 4.0], [0.0, 0.0, 0.0, 0.0, 9.0]]
    times = [0, 1, 3, 4, 5]
    found = link_series(holes, full, "minkowski", times=times, gaps="interpolate", normalise=None)
    assert found.best.tolist() == [0.0, 0.0]
    with pytest.raises(InputError, match=r"The series have gaps: 1 of 2 original units and 0 of 2 released units lack"):
        link_series(holes, full, "minkowski", times=times)


def test_pairs_with_few_times_in_common_do_not_look_near():
    gap = np.nan
    assert series_distance([1, gap, 3, 5], [1, 9, 4, gap], "minkowski", gaps="drop") == pytest.approx(math.sqrt(2))
    assert series_distance([1, gap, 3, 5], [1, 9, 7, 4], "sts", gaps="drop") == pytest.approx(
        math.sqrt((2**2 + (-3 - 2) ** 2) * 3 / 2)
    )
    assert series_distance([1, gap, 3], [gap, 2, gap], "minkowski", gaps="drop") == math.inf
    assert series_distance([1, gap, 3], [gap, 2, 3], "cc", gaps="drop") == math.inf
    assert series_distance([1, gap, 3], [1, 3], "dtw", gaps="drop") == 0.0
    with pytest.raises(InputError, match=r'The series have 1 gap\. Give gaps="drop", or fill them\.'):
        series_distance([1, gap], [1, 2])


def test_series_of_unequal_length_need_warping():
    original = [[1, 2, 3], [5, 1], [7.0]]
    released = [[1, 1, 2, 3], [5, 1, 1], [7, 7]]
    found = link_series(original, released, "dtw", normalise=None)
    assert (found.right, found.best.tolist()) == (3.0, [0.0, 0.0, 0.0])
    with pytest.raises(InputError, match=r"The series are of unequal length\. Give distance=\"dtw\""):
        link_series(original, released, "sts")
    with pytest.raises(
        InputError, match=r"Original series have 3 times, released ones 2\. Series of unequal length need"
    ):
        link_series(np.ones((2, 3)), np.ones((2, 2)), "minkowski")
    with pytest.raises(ParameterError, match=r"Series of unequal length are not split\."):
        link_series(original, released, "dtw", split=2)
    with pytest.raises(InputError, match=r"Series 1 has a gap, and the series are of unequal length\."):
        link_series([[1, np.nan, 2], [1]], released, "dtw")


# ---- bad input ------------------------------------------------------------------------------------------------------


def test_a_unit_twice_at_one_time_is_refused(series):
    first, second = (long_panel(file[:, :1]) for file in series)
    doubled = pa.concat_tables([first, first.slice(3, 2)])
    with pytest.raises(InputError) as refused:
        link_series(doubled, second, id="person", time="year")
    assert str(refused.value) == (
        "2 records of the original file repeat the 'person', 'year' of an earlier one (row 321, 322). "
        "A unit has one value at a time: remove repeated records, or name the column that tells them apart."
    )
    wide = {"income": ["income", "year"]}
    with pytest.raises(InputError, match=r"280 records of the original file repeat the 'person' of an earlier one\."):
        link_series(first, second, id="person", values=wide)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"distance": "euclid"}, ParameterError, "There is no distance 'euclid'. Available: 'minkowski', 'sts', 'cc'"),
        ({"normalise": "none"}, ParameterError, "There is no normalise 'none'."),
        ({"q": 0}, ParameterError, "q=0 is not allowed. Give a whole number from 1 to 64."),
        ({"beta": 0}, ParameterError, "beta=0 is not allowed. Give a number above 0."),
        ({"band": 2}, ParameterError, "band= is for distance=\"dtw\", not 'sts'."),
        ({"paper_literal": True, "beta": 0.5}, ParameterError, "beta=0.5 has no meaning with the printed formulas"),
        ({"times": [0, 1]}, ParameterError, "times= does not give one number for each of 3 values of a series."),
        ({"times": [0, 1, 1]}, ParameterError, "times= does not rise from each time to the next."),
        ({"truth": [0]}, ParameterError, "truth= does not say it of every original unit."),
        ({"truth": [0, 7]}, ParameterError, "truth= names positions that the released file does not have."),
        ({"id": "who"}, ParameterError, "id=, time=, values= and variable= name columns of panels."),
    ],
)
def test_what_is_not_allowed(options, error, message):
    with pytest.raises(error) as refused:
        link_series(np.eye(2, 3), np.eye(2, 3), **options)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("original", "released", "message"),
    [
        (np.ones((2, 3)), np.ones((4, 3)), "There are 2 original units and 4 released ones, and it is not said which"),
        (np.ones((2, 2, 3)), np.ones((2, 1, 3)), "Original units have 2 series each, released ones 1."),
        (np.full((2, 3), np.inf), np.ones((2, 3)), "2 units of the original file have infinite numbers."),
        (np.ones((1, 3)), np.full((1, 3), np.nan), "1 unit of the released file has a series without any value."),
        (np.ones((0, 3)), np.ones((0, 3)), "the original file holds no series."),
    ],
)
def test_files_that_cannot_be_linked(original, released, message):
    with pytest.raises(InputError) as refused:
        link_series(original, released)
    assert message in str(refused.value)


def test_panels_that_cannot_be_linked(series):
    first, second = (long_panel(file[:, :1]) for file in series)
    with pytest.raises(ParameterError, match=r"A panel needs to know its times\. Give time= the column"):
        link_series(first, second, id="person")
    with pytest.raises(NeedsError, match=r"It is not said which records are one unit's\. Give id="):
        link_series(first, second, time="year")
    with pytest.raises(ParameterError, match=r"One file is a panel and the other an array\."):
        link_series(first, np.ones((2, 3)), id="person", time="year")
    with pytest.raises(InputError, match=r"Column 'person' holds string, not numbers\."):
        link_series(first, second, id="year", time="income", values="person")
    with pytest.raises(ParameterError, match=r"times= is for arrays; a panel has a column of times\."):
        link_series(first, second, id="person", time="year", times=[1, 2])
    gaps = first.set_column(0, "person", pa.array([None, *first["person"].to_pylist()[1:]]))
    with pytest.raises(InputError, match=r"1 record of the original file has no 'person'\."):
        link_series(gaps, second, id="person", time="year")
    strangers = long_panel(series[1][:, :1], ids=[f"q{unit}" for unit in range(40)])
    with pytest.raises(InputError, match=r"No unit of the original file is in the released one\."):
        link_series(first, strangers, id="person", time="year")
    known = link_series(first, strangers, id="person", time="year", truth={f"p{u}": f"q{u}" for u in range(40)})
    assert known.right == link_series(first, second, id="person", time="year").right
    with pytest.raises(ParameterError, match=r"truth= of panels goes by units\."):
        link_series(first, second, id="person", time="year", truth=[1, 2])
    with pytest.raises(InputError, match=r"The original file has series 'income', the released file 'wage'\."):
        link_series(first, second.rename_columns(["person", "year", "wage"]), id="person", time="year")
