"""Linking an original with a released file, against linking by hand."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.attack import link, link_all_ways
from discreet.attack.linkage import LinkageQuestion
from discreet.attack.nearest import nearest_in_blocks
from discreet.errors import InputError, NeedsError, ParameterError

COLUMNS = ["pay", "tax"]


def two_files(rows=120, noise=0.2, seed=3):
    draw = np.random.default_rng(seed)
    pay = draw.lognormal(3, 0.6, rows)
    tax = pay * draw.lognormal(-1, 0.3, rows)
    sex, area = draw.choice(["f", "m"], rows), draw.choice(["n", "s", "w"], rows)
    before = {"id": np.arange(rows), "pay": pay, "tax": tax, "sex": sex, "area": area}
    after = {
        **before,
        "pay": pay + noise * pay.std() * draw.normal(size=rows),
        "tax": tax + noise * tax.std() * draw.normal(size=rows),
    }
    return pa.table(before), pa.table(after)


BEFORE, AFTER = two_files()


def z(values):
    return (values - values.mean()) / values.std(ddof=1)


def by_hand(apart, truth):
    """Chances and first links of a matrix of squared distances."""
    least = apart.min(axis=1, keepdims=True)
    near = apart <= least * (1 + 2e-9)
    chance = [near[i, j] / near[i].sum() if j >= 0 else 0.0 for i, j in enumerate(truth)]
    return near.argmax(axis=1).tolist(), chance


def standardised(table, names=COLUMNS):
    return np.stack([z(table[name].to_numpy()) for name in names], axis=1)


def squares(one, other):
    return ((one[:, None, :] - other[None, :, :]) ** 2).sum(axis=2)


# What is near ---------------------------------------------------------------------------------------------------------


def test_the_nearest_by_mean_and_deviation_of_each_file():
    found = link(BEFORE, AFTER, COLUMNS)
    linked, chance = by_hand(squares(standardised(BEFORE), standardised(AFTER)), range(120))
    assert found.linked.tolist() == linked
    assert found.chance.tolist() == chance
    assert 0.1 < found.share < 0.9
    assert found.baseline == pytest.approx(1 / 120)
    assert found.interval().low < found.share < found.interval().high


@pytest.mark.parametrize("scale", ["pooled", "original", "range"])
def test_other_units(scale):
    old, new = (np.stack([table[name].to_numpy() for name in COLUMNS], axis=1) for table in (BEFORE, AFTER))
    unit = {
        "pooled": np.sqrt(old.var(axis=0, ddof=1) + new.var(axis=0, ddof=1)),
        "original": old.std(axis=0, ddof=1),
        "range": np.maximum(old.max(axis=0), new.max(axis=0)) - np.minimum(old.min(axis=0), new.min(axis=0)),
    }[scale]
    assert link(BEFORE, AFTER, COLUMNS, scale=scale).linked.tolist() == by_hand(squares(old / unit, new / unit), [])[0]


def test_codes_count_one_where_they_differ():
    found = link(BEFORE, AFTER, [*COLUMNS, "sex", "area"])
    apart = squares(standardised(BEFORE), standardised(AFTER))
    for name in ("sex", "area"):
        apart += BEFORE[name].to_numpy()[:, None] != AFTER[name].to_numpy()[None, :]
    assert found.linked.tolist() == by_hand(apart, [])[0]
    numbered = [
        table.append_column("k", pa.array([{"n": 1, "s": 5, "w": 2}[a.as_py()] for a in table["area"]]))
        for table in (BEFORE, AFTER)
    ]
    as_codes = link(*numbered, ["pay", "k"], categories="k")
    assert as_codes.linked.tolist() == link(BEFORE, AFTER, ["pay", "area"]).linked.tolist()


def test_codes_alone_share_the_guess():
    found = link(BEFORE, AFTER, ["sex", "area"])
    cells = list(zip(BEFORE["sex"].to_pylist(), BEFORE["area"].to_pylist(), strict=True))
    assert found.chance.tolist() == pytest.approx([1 / cells.count(cell) for cell in cells])
    assert found.right == pytest.approx(6)
    assert found.among == 1.0


def test_dates_are_numbers():
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=7 * i) for i in range(30)]
    moved = [day + dt.timedelta(days=2) for day in days]
    assert link(pa.table({"day": days}), pa.table({"day": moved}), "day").share == 1.0


def test_blocking_leaves_only_who_agrees():
    found = link(BEFORE, AFTER, COLUMNS, blocking=["sex", "area"])
    apart = squares(standardised(BEFORE), standardised(AFTER))
    for name in ("sex", "area"):
        apart[BEFORE[name].to_numpy()[:, None] != AFTER[name].to_numpy()[None, :]] = np.inf
    linked, chance = by_hand(apart, range(120))
    assert (found.linked.tolist(), found.chance.tolist()) == (linked, chance)
    cells = list(zip(BEFORE["sex"].to_pylist(), BEFORE["area"].to_pylist(), strict=True))
    assert found.baseline == pytest.approx(np.mean([1 / cells.count(cell) for cell in cells]))


def test_a_record_whose_block_changed_is_never_found():
    moved = AFTER.set_column(3, "sex", pa.array(["x", *AFTER["sex"].to_pylist()[1:]]))
    found = link(BEFORE, moved, COLUMNS, blocking="sex")
    assert found.chance[0] == 0
    back = link(BEFORE, moved, COLUMNS, blocking="sex", direction="released")
    assert (back.linked[0], back.ties[0]) == (-1, 0)
    assert "1 record has nobody in the other file to be taken for." in back.notes


def test_gaps_count_as_the_mean_of_their_column_and_file():
    pay = [None, *BEFORE["pay"].to_pylist()[1:]]
    holed = BEFORE.set_column(1, "pay", pa.array(pay))
    known = np.array(pay[1:])
    filled = np.r_[0.0, (known - known.mean()) / known.std(ddof=1)]
    one = np.column_stack([filled, z(BEFORE["tax"].to_numpy())])
    assert link(holed, AFTER, COLUMNS).linked.tolist() == by_hand(squares(one, standardised(AFTER)), [])[0]


def test_codes_for_unknown_are_gaps():
    before = ds.Microdata(pa.table({"pay": [1, 2, 3, 4, 99]}), numeric="pay", missing_codes={"pay": ["99"]})
    plain = pa.table({"pay": pa.array([1, 2, 3, 4, None], pa.int64())})
    assert link(before, plain, "pay").linked.tolist() == link(plain, plain, "pay").linked.tolist()


def test_a_column_that_never_varies_says_nothing():
    found = link(
        BEFORE.append_column("one", pa.array([1.5] * 120)),
        AFTER.append_column("one", pa.array(np.arange(120.0))),
        ["pay", "one"],
    )
    assert found.notes == ("'one': never varies in one of the files, and was left out.",)
    assert found.linked.tolist() == link(BEFORE, AFTER, "pay").linked.tolist()
    nothing = link(pa.table({"x": [1, 1, 1]}), pa.table({"x": [1, 2, 3]}), "x")
    assert nothing.right == pytest.approx(1)
    assert nothing.advantage == pytest.approx(0)


@pytest.mark.parametrize("factor", [1e300, 1e-300, 2.0**40])
@pytest.mark.parametrize("way", ["nearest", "mahalanobis", "kernel", "probabilistic"])
def test_units_of_a_column_do_not_matter(way, factor):
    scaled = [table.set_column(1, "pay", pa.array(table["pay"].to_numpy() * factor)) for table in (BEFORE, AFTER)]
    assert link(*scaled, COLUMNS, way=way).linked.tolist() == link(BEFORE, AFTER, COLUMNS, way=way).linked.tolist()


@given(st.permutations(range(12)), st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_the_order_of_rows_decides_nothing(order, seed):
    draw = np.random.default_rng(seed)
    before = pa.table({"x": draw.integers(0, 4, 12), "y": draw.integers(0, 4, 12)})
    after = pa.table({"x": draw.integers(0, 4, 12), "y": draw.integers(0, 4, 12)})
    plain = link(before, after, ["x", "y"])
    turned = link(before.take(pa.array(order)), after, ["x", "y"], truth=list(order))
    assert turned.chance.tolist() == pytest.approx(plain.chance[list(order)].tolist())
    other = link(before, after.take(pa.array(order)), ["x", "y"], truth=np.argsort(order))
    assert other.chance.tolist() == pytest.approx(plain.chance.tolist())


# Which record is whose ------------------------------------------------------------------------------------------------


def test_files_of_different_sizes_with_a_truth():
    part = AFTER.slice(20)
    links = [-1] * 20 + list(range(100))
    found = link(BEFORE, part, COLUMNS, truth=links)
    assert link(BEFORE, part, COLUMNS, truth="id").chance.tolist() == found.chance.tolist()
    assert found.chance[:20].tolist() == [0] * 20
    assert found.baseline == pytest.approx(100 / 120 / 100)
    assert "20 records have no record in the other file; every guess for them is wrong." in found.notes
    assert any('scale="pooled" compares values as they are, and may find more' in note for note in found.notes)
    assert not any("pooled" in note for note in link(BEFORE, part, COLUMNS, truth=links, scale="pooled").notes)
    back = link(BEFORE, part, COLUMNS, truth=links, direction="released")
    assert back.tried == 100
    assert back.truth.tolist() == list(range(20, 120))
    assert back.baseline == pytest.approx(1 / 120)
    linked, chance = by_hand(squares(standardised(part), standardised(BEFORE)), range(20, 120))
    assert (back.linked.tolist(), back.chance.tolist()) == (linked, chance)


def test_the_same_file_is_found_again_in_every_way():
    for way in ("nearest", "mahalanobis", "kernel"):
        assert link(BEFORE, BEFORE, COLUMNS, way=way).share == 1.0
    assert link(BEFORE, BEFORE, COLUMNS, way="probabilistic").share == 1.0
    assert link(BEFORE, BEFORE, COLUMNS, way="rank", share=0.01).share == 1.0


def test_a_permutation_is_guessed_at_random():
    draw = np.random.default_rng(1)
    shares = [link(BEFORE, AFTER, COLUMNS, truth=draw.permutation(120)).right for _ in range(40)]
    assert 0.5 < np.mean(shares) < 1.6


def test_a_sample_does_not_depend_on_the_order_of_rows():
    order = np.random.default_rng(2).permutation(120)
    some = link(BEFORE, AFTER, COLUMNS, sample=30)
    turned = link(BEFORE.take(order), AFTER.take(order), COLUMNS, sample=30)
    assert some.tried == 30
    assert sorted(order[turned.rows].tolist()) == some.rows.tolist()
    assert some.right == pytest.approx(turned.right)
    assert some.notes == ("30 of 120 records were tried.",)


def test_a_release_alone_is_linked_with_its_original():
    cents = {name: np.round(BEFORE[name].to_numpy(), 2) for name in COLUMNS}
    people = ds.Microdata(pa.table({"id": BEFORE["id"], **cents}), identifier="id", numeric=COLUMNS)
    release = ds.protect(people, ds.Microaggregate(k=3))
    found = link(release)
    assert found.columns == ("pay", "tax")
    assert found.among > found.share
    assert found.share == pytest.approx(link(people, release).share)
    assert found.to_frame().column_names == ["position", "linked", "truth", "ties", "distance", "chance"]


# Errors that are known ------------------------------------------------------------------------------------------------


def correlated(rows=400, seed=1):
    """Errors that are large along one direction and small across it."""
    draw = np.random.default_rng(seed)
    values = draw.normal(size=(rows, 3))
    errors = draw.normal(size=(rows, 1)) * np.array([[1.0, 1.0, 1.0]]) + 0.02 * draw.normal(size=(rows, 3))
    tables = [pa.table({f"x{i}": v[:, i] for i in range(3)}) for v in (values, values + errors)]
    return (*tables, ["x0", "x1", "x2"])


def test_knowing_errors_finds_what_plain_distances_do_not():
    before, after, names = correlated()
    ways = {
        "plain": link(before, after, names),
        **{
            kind: link(before, after, names, way="mahalanobis", covariance=kind)
            for kind in ("zero", "iterative", "aligned", "regression")
        },
        "links": link(before, after, names, way="mahalanobis", covariance="links", known=20),
    }
    assert ways["plain"].share < 0.3
    assert min(ways[kind].share for kind in ("aligned", "regression", "links", "iterative")) > 0.8
    assert {kind: way.knows for kind, way in ways.items()} == {
        "plain": "records",
        "zero": "records",
        "iterative": "records",
        "aligned": "all links",
        "regression": "all links",
        "links": "some links",
    }
    assert ways["links"].tried == 380
    assert "20 records whose link is known were not tried." in ways["links"].notes


def test_known_links_mean_the_same_records_from_either_side():
    before, after, names = correlated(100)
    order = np.random.default_rng(3).permutation(100)
    turned, truth = after.take(pa.array(np.argsort(order))), order  # original row i is row order[i] now
    rows = list(range(10))
    options = {"way": "mahalanobis", "covariance": "links", "known": rows, "truth": truth}
    found, back = link(before, turned, names, **options), link(before, turned, names, direction="released", **options)
    assert found.rows.tolist() == list(range(10, 100))
    assert back.rows.tolist() == sorted(order[10:].tolist())
    assert found.share > 0.7
    assert back.share > 0.7


def test_one_huge_value_hides_nobody_else():
    """Squares of all others vanish beside it. Units of the original are not touched by it, and are among all ways."""
    pay = AFTER["pay"].to_numpy().copy()
    pay[0] = 1e300
    huge = AFTER.set_column(1, "pay", pa.array(pay))
    without = link(BEFORE, AFTER, COLUMNS, scale="original")
    assert (link(BEFORE, huge, COLUMNS, scale="original").linked[1:] == without.linked[1:]).mean() > 0.95
    assert link_all_ways(BEFORE, huge, COLUMNS).worst.share > 0.9 * without.share
    for options in ({}, {"scale": "pooled"}, {"way": "kernel"}, {"way": "mahalanobis"}, {"way": "probabilistic"}):
        found = link(BEFORE, huge, COLUMNS, **options)
        assert (found.linked >= 0).all()
        assert found.share > link(BEFORE, AFTER, "tax").share / 3


def test_coordinates_that_are_not_finite_are_refused():
    points = np.array([[0.0], [np.inf]])
    with pytest.raises(InputError, match="Values of a column lie too far apart to be compared"):
        nearest_in_blocks(points, points[:1], 1, 0, None)


def test_the_covariance_of_errors_by_hand():
    before, after, names = correlated(60)
    old, new = (np.stack([table[name].to_numpy() for name in names], axis=1) for table in (before, after))
    errors = old - new
    for kind, matrix, shift in (
        ("zero", np.cov(old.T) + np.cov(new.T), 0.0),
        ("aligned", np.cov(errors.T), errors.mean(axis=0)),
    ):
        step = old[:, None, :] - shift - new[None, :, :]
        apart = np.einsum("abi,ij,abj->ab", step, np.linalg.inv(matrix), step)
        found = link(before, after, names, way="mahalanobis", covariance=kind)
        assert found.linked.tolist() == by_hand(apart, [])[0]
        assert found.distance == pytest.approx(np.sqrt(apart.min(axis=1)))


def test_an_error_that_is_the_same_for_all_hides_nobody_from_who_knows_it():
    moved = AFTER.set_column(1, "pay", pa.array(AFTER["pay"].to_numpy() + 1e4))
    kinds = {
        kind: link(BEFORE, moved, COLUMNS, way="mahalanobis", covariance=kind).share for kind in ("zero", "aligned")
    }
    assert kinds["zero"] < 0.05
    assert kinds["aligned"] == pytest.approx(
        link(BEFORE, AFTER, COLUMNS, way="mahalanobis", covariance="aligned").share
    )


def test_directions_without_error_decide_and_are_named():
    """Leaving them out, as a pseudo-inverse does, would call a file safe whose values are the original ones."""
    same = AFTER.set_column(2, "tax", BEFORE["tax"])
    found = link(BEFORE, same, COLUMNS, way="mahalanobis", covariance="aligned")
    assert found.share == 1.0
    assert found.notes == (
        "The covariance of errors is singular: in 1 of 2 directions the released values are the original ones. "
        "These directions decide before all others.",
    )
    all_same = link(BEFORE, BEFORE, COLUMNS, way="mahalanobis", covariance="aligned")
    assert all_same.share == 1.0
    assert "in 2 of 2 directions" in all_same.notes[0]


def test_columns_that_follow_from_others_are_named():
    files = [t.append_column("sum", pa.array(t["pay"].to_numpy() + t["tax"].to_numpy())) for t in (BEFORE, AFTER)]
    found = link(*files, [*COLUMNS, "sum"], way="mahalanobis")
    assert found.notes == ("The columns vary in 2 of 3 directions only: some follow from others.",)
    assert found.linked.tolist() == link(BEFORE, AFTER, COLUMNS, way="mahalanobis").linked.tolist()


# Refused --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"columns": None}, NeedsError, "Linking needs to know which columns an intruder has"),
        ({"columns": ["pay", "pay"]}, ParameterError, "columns names a column twice"),
        ({"columns": 3}, ParameterError, "columns=3 is not allowed"),
        ({"columns": ["income"]}, InputError, "There is no column 'income'"),
        ({"categories": ["sex"]}, ParameterError, "categories= names 'sex', which is not among the columns"),
        ({"way": "guess"}, ParameterError, "There is no way 'guess'"),
        ({"scale": "iqr"}, ParameterError, "There is no scale 'iqr'"),
        ({"covariance": "true"}, ParameterError, "There is no covariance 'true'"),
        ({"degree": 0}, ParameterError, "degree=0 is not allowed"),
        ({"sample": 0}, ParameterError, "sample=0 is not allowed"),
        ({"way": "rank"}, ParameterError, 'way="rank" needs the published share'),
        ({"share": 0.1}, ParameterError, 'share= belongs to way="rank", not to way="nearest"'),
        ({"way": "rank", "share": 0.1, "direction": "released"}, ParameterError, "looks for original records"),
        ({"known": 5}, ParameterError, "known= and way="),
        ({"way": "mahalanobis", "covariance": "links"}, ParameterError, "known= and way="),
        ({"way": "mahalanobis", "covariance": "links", "known": 500}, ParameterError, "known=500 is not allowed"),
        (
            {"way": "mahalanobis", "covariance": "links", "known": [500]},
            ParameterError,
            "known= does not name original",
        ),
        (
            {"way": "mahalanobis", "covariance": "links", "known": list(range(120))},
            ParameterError,
            "known= names every record",
        ),
        (
            {"way": "mahalanobis", "covariance": "links", "known": 3},
            InputError,
            'covariance="links" has 3 pairs of records without a gap to learn the errors of 2 directions from; '
            "it needs 4 at least",
        ),
        ({"columns": ["pay", "sex"], "way": "mahalanobis"}, InputError, "'sex' holds codes, and the Mahalanobis"),
        ({"columns": ["area", "sex"], "way": "kernel"}, InputError, "'area', 'sex' hold codes, and a kernel"),
        ({"columns": ["pay", "sex"], "way": "rank", "share": 0.1}, InputError, "'sex' holds codes, and rank linkage"),
        ({"truth": [0] * 120}, InputError, "truth= gives 1 released row to several original records"),
        ({"truth": [0, 1]}, ParameterError, "truth= does not give one row for each of 120 original records"),
        ({"truth": list(range(1, 121))}, ParameterError, "truth= names 1 row that the released file does not have"),
        ({"truth": "sex"}, InputError, "118 records have the 'sex' of an earlier one in the original"),
    ],
)
def test_what_is_not_allowed_is_said(change, error, message):
    with pytest.raises(error) as raised:
        link(BEFORE, AFTER, **{"columns": COLUMNS, **change})
    assert message in str(raised.value)


def test_too_few_records_for_their_covariance_are_refused():
    few = [table.slice(0, 5) for table in (BEFORE, AFTER)]
    with pytest.raises(InputError, match=r'covariance="regression" has 5 pairs .* it needs 6 at least'):
        link(*few, COLUMNS, way="mahalanobis", covariance="regression")
    with pytest.raises(InputError, match=r'covariance="aligned" has 3 pairs .* it needs 4 at least'):
        link(*(table.slice(0, 3) for table in few), COLUMNS, way="mahalanobis", covariance="aligned")
    holed = pa.table({"pay": pa.array([1.0, 2.0, None, None]), "tax": pa.array([None, None, 1.0, 2.0])})
    with pytest.raises(InputError, match="A covariance needs two records without a gap"):
        link(holed, holed, COLUMNS, way="mahalanobis")


def test_other_types_other_sizes_and_no_released_file():
    text = AFTER.set_column(1, "pay", pa.array(["low"] * 120))
    with pytest.raises(InputError, match="Column 'pay' holds numbers in the original and text in the released file"):
        link(BEFORE, text, COLUMNS)
    with pytest.raises(InputError, match="Column 'sex' holds text in the original and bool in the released file"):
        link(BEFORE, AFTER.set_column(3, "sex", pa.array([True] * 120)), COLUMNS, blocking="sex")
    with pytest.raises(InputError, match="The original has 120 records and the released file 100: nothing says"):
        link(BEFORE, AFTER.slice(20), COLUMNS)
    with pytest.raises(ParameterError, match="There is no released file"):
        link(BEFORE, columns=COLUMNS)
    gap = pa.table(
        {**dict(zip(AFTER.column_names, AFTER.columns, strict=True)), "id": pa.array([None, *range(1, 120)])}
    )
    with pytest.raises(InputError, match="1 record has no 'id' in the released file"):
        link(BEFORE, gap, COLUMNS, truth="id")
    tables = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    with pytest.raises(ParameterError, match="This is a release of tables"):
        link(tables)


def test_messages_hold_no_values():
    with pytest.raises(InputError) as raised:
        link(BEFORE, AFTER.set_column(1, "pay", pa.array(["canary"] * 120)), COLUMNS)
    assert "canary" not in str(raised.value)


# All ways side by side ------------------------------------------------------------------------------------------------


def test_ways_stand_side_by_side_the_worst_first():
    before, after, names = correlated(150)
    found = link_all_ways(before, after, names, share=0.9)
    assert len(found) == 11
    assert found.worst.share == max(way.share for way in found)
    assert found.worst.attack in ("Mahalanobis (aligned)", "Mahalanobis (regression)", "Mahalanobis (iterative)")
    assert found.summary().startswith(f"The best of 11 attacks: {found.worst.attack}")
    assert found["kernel"].share == link(before, after, names, way="kernel").share
    with pytest.raises(ParameterError, match="There is no attack 'kernels'"):
        found["kernels"]
    assert found.to_frame()["share"].to_pylist() == [way.share for way in found]


def test_ways_that_the_files_do_not_allow_are_named():
    found = link_all_ways(BEFORE, AFTER, ["pay", "sex"], ways=["nearest", "zero", "kernel"])
    assert [way.attack for way in found] == ["nearest"]
    assert found.not_run[0].attack == "Mahalanobis (zero)"
    assert found.not_run[0].why.startswith("'sex' holds codes")
    assert "note: kernel was not tried: " in found.summary()
    with pytest.raises(InputError, match="No way to link these files is left"):
        link_all_ways(BEFORE, AFTER, ["sex"], ways=["zero"])
    with pytest.raises(ParameterError, match="There is no covariance 'nearst'"):
        link_all_ways(BEFORE, AFTER, ["pay"], ways=["nearst"])


def test_names_of_ways():
    assert LinkageQuestion("nearest", scale="range").name == "nearest (range)"
    assert LinkageQuestion("mahalanobis", covariance="aligned").name == "Mahalanobis (aligned)"
