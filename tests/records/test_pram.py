"""Post-randomisation of records: what is drawn, what stays, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.errors import InputError, ParameterError, ProtectionError
from discreet.methods.registry import method_from_record
from discreet.model.claims.pram import pram_claim
from discreet.records.pram_drawing import drawn_codes
from discreet.report.records import records_report
from discreet.verify.check import check_release

KEY = ds.Key(bytes(range(32)))


def people(rows: int = 3000, **roles) -> ds.Microdata:
    draw = np.random.default_rng(2)
    job = draw.choice(["a", "b", "c", "d", "9", "?"], rows, p=[0.4, 0.3, 0.15, 0.05, 0.05, 0.05])
    table = pa.table(
        {
            "sex": draw.choice(["m", "f"], rows, p=[0.6, 0.4]),
            "job": pa.array([None if code == "?" else str(code) for code in job]),
            "age": draw.integers(0, 9, rows),
            "area": draw.choice(["N", "S"], rows),
            "income": draw.lognormal(10, 1, rows),
        }
    )
    return ds.Microdata(table, **{"missing_codes": {"job": ["9"]}, "numeric": ["income"], **roles})


def pram(*given, data: ds.Microdata | None = None, **options) -> ds.Release:
    return ds.protect(data or people(), ds.Pram(*given, **options), key=KEY, keep_order=True)


def facts(release: ds.Release) -> dict:
    return release.custodian.steps[-1].evidence.facts


# ---- what is drawn ----------------------------------------------------------------------------------------------


def test_moves_are_those_of_the_matrix():
    release = pram({"sex": "2E(0.8)"})
    (entry,) = facts(release)["matrices"]
    moves = np.array(entry["moves"])
    assert entry["codes"] == ["f", "m"]
    assert moves.sum() == 3000
    for row in moves:
        assert abs(row.max() / row.sum() - 0.8) < 4 * np.sqrt(0.16 / row.sum())
    old, new = people().source["sex"].to_pylist(), release.public.records.shown()["sex"]
    assert (
        sum(a != b for a, b in zip(old, new, strict=True)) == facts(release)["changed"][0] == moves[0, 1] + moves[1, 0]
    )
    assert release.public.records.altered == ("sex",)


def test_the_codes_of_two_columns_are_drawn_apart():
    table = pa.table({"x": ["a", "b"] * 2000, "y": ["a", "b"] * 2000})
    shown = pram({"x": "2E(0.4)", "y": "2E(0.4)"}, data=ds.Microdata(table)).public.records.shown()
    same = np.mean([a == b for a, b in zip(shown["x"], shown["y"], strict=True)])
    assert abs(same - 0.52) < 4 * 0.5 / np.sqrt(4000)


def test_the_order_of_rows_does_not_matter():
    data = people()
    order = np.random.default_rng(1).permutation(3000)
    mixed = data.with_(source=data.source.take(pa.array(order)))
    one, two = (pram({"job": "F(0.7)"}, data=d).public.records.columns for d in (data, mixed))
    assert one.take(pa.array(order)).equals(two)


def test_another_version_draws_anew():
    one, two = (pram({"sex": "2E(0.8)"}, version=v).public.records.columns["sex"] for v in (1, 2))
    assert not one.equals(two)


def test_gaps_and_codes_for_unknown_never_change():
    old = people().source["job"].to_pylist()
    new = pram({"job": "4E(0.3)"}).public.records.shown()["job"]
    assert {b for a, b in zip(old, new, strict=True) if a is None} == {None}
    assert {b for a, b in zip(old, new, strict=True) if a == "9"} == {"9"}
    assert {b for a, b in zip(old, new, strict=True) if a not in (None, "9")} == set("abcd")


def test_unknown_codes_may_be_named_as_a_block_of_their_own():
    release = pram({"job": "Block(2; 1; 4E(.6))"}, codes={"job": ["9", "a", "b", "c", "d"]})
    assert release.verify().holds
    (entry,) = facts(release)["matrices"]
    assert entry["codes"][0] == "9"
    assert entry["chances"][0] == [1, 0, 0, 0, 0]


def test_gaps_and_unknown_codes_are_categories_when_asked_for():
    release = pram({"job": "E(0.3)"}, missing="category")
    (entry,) = facts(release)["matrices"]
    assert entry["codes"] == ["", "9", "a", "b", "c", "d"]
    assert np.array(entry["moves"]).sum() == 3000
    old, new = people().source["job"], release.public.records.columns["job"]
    assert new.type == old.type
    assert {b for a, b in zip(old.to_pylist(), new.to_pylist(), strict=True) if a is None} == {None, *"abcd9"}
    assert release.verify().holds


def test_blocks_are_not_left():
    matrix = ds.Pram({"age": "Block(2; 4E(0.5); 5E(0.5))"})
    new = ds.protect(people(), matrix, key=KEY, keep_order=True).public.records.shown()["age"]
    old = people().source["age"].to_pylist()
    assert all((a < 4) == (b < 4) for a, b in zip(old, new, strict=True))
    assert new != old


def test_whole_numbers_stay_whole_numbers_in_their_order():
    table = pa.table({"age": [2, 10, 9] * 100})
    release = pram({"age": "3B(0.6;1.5)"}, data=ds.Microdata(table))
    (entry,) = facts(release)["matrices"]
    assert entry["codes"] == ["2", "9", "10"]
    assert release.public.records.columns["age"].type == pa.int64()


@pytest.mark.parametrize("column", [[1.5, 2.0] * 100, [True, False] * 100])
def test_other_types_stay_what_they_are(column):
    release = pram({"x": "2E(0.4)"}, data=ds.Microdata(pa.table({"x": column})))
    assert release.public.records.columns["x"].type == pa.array(column).type
    assert release.verify().holds


def test_codes_that_do_not_occur_may_be_drawn():
    release = pram({"sex": {"m": {"x": 0.5, "m": 0.5}, "f": {"f": 1}, "x": {"x": 1}}})
    assert set(release.public.records.shown()["sex"]) == {"m", "f", "x"}
    assert release.verify().holds


# ---- invariant, and within strata -------------------------------------------------------------------------------


def test_invariant_matrices_keep_expected_counts():
    release = pram({"job": "E(0.6)", "age": "9B(0.6;3)"}, invariant=True)
    for entry in facts(release)["matrices"]:
        counts, chances = np.array(entry["moves"]).sum(axis=1), np.array(entry["chances"])
        assert np.allclose(counts @ chances, counts)
        assert np.allclose(chances.sum(axis=1), 1)
    assert "expected counts of codes are those before" in release.custodian.evidence[0].claim.statement


def test_matrices_that_look_at_counts_are_made_in_each_stratum():
    release = pram({"job": "4F(0.6)", "sex": "2E(0.8)"}, within=["area"])
    strata = [(entry["column"], tuple(entry["stratum"])) for entry in facts(release)["matrices"]]
    assert strata == [("job", ("N",)), ("job", ("S",)), ("sex", ())]
    assert release.verify().holds


def test_the_strata_of_the_records_are_taken():
    release = pram({"job": "F(0.6)"}, data=people(strata=["area"]))
    assert [entry["stratum"] for entry in facts(release)["matrices"]] == [["N"], ["S"]]
    alone = pram({"job": "F(0.6)"}, data=people(strata=["area"]), within=[])
    assert [entry["stratum"] for entry in facts(alone)["matrices"]] == [[]]


def test_codes_stay_among_those_of_their_stratum():
    table = pa.table({"place": ["N1", "N2", "S1", "S2"] * 200, "area": ["N", "N", "S", "S"] * 200})
    shown = pram({"place": "E(0.6)"}, data=ds.Microdata(table), within=["area"]).public.records.shown()
    assert all(place[0] == area for place, area in zip(shown["place"], shown["area"], strict=True))
    assert shown["place"] != table["place"].to_pylist()


def test_a_stratum_of_gaps_only_is_left_alone():
    table = pa.table({"x": [None] * 10 + ["a", "b"] * 20, "area": ["N"] * 10 + ["S"] * 40})
    release = pram({"x": "E(0.6)"}, data=ds.Microdata(table), within=["area"])
    assert [entry["stratum"] for entry in facts(release)["matrices"]] == [["S"]]
    assert release.verify().holds
    fixed = pram({"x": "2F(0.6)"}, data=ds.Microdata(table), within=["area"])
    assert fixed.verify().holds


def test_no_draw_leads_where_there_is_no_chance():
    from discreet.model.transition import TransitionMatrix

    matrix = TransitionMatrix(
        "x", ("a", "b", "c", "d"), np.array([[0, 0.3, 0, 0.7], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]])
    )
    fraction = np.array([0.0, 0.3, np.nextafter(0.3, 0), 1 - 2**-53, 0.0, 1 - 2**-53, 0.5, 0.9])
    place = np.array([0, 0, 0, 0, 1, 1, 3, -1])
    drawn = drawn_codes(place, np.zeros(8, np.int64), matrix.codes, [matrix], fraction)
    assert drawn.place.tolist() == [1, 3, 1, 3, 0, 0, 2, -1]
    assert drawn.moves[0].tolist() == [[0, 2, 0, 2], [2, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]]


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(1, 3), st.integers(0, 10**6))
def test_draws_are_those_of_plain_sums(codes, strata, seed):
    from discreet.model.transition import TransitionMatrix

    draw = np.random.default_rng(seed)
    names = [chr(97 + i) for i in range(codes)]
    matrices = []
    for _ in range(strata):
        chances = draw.dirichlet(np.ones(codes) * 0.5, codes)
        chances[draw.random(chances.shape) < 0.3] = 0
        chances[np.arange(codes), np.arange(codes)] += 1e-3
        order = draw.permutation(codes)
        matrices.append(TransitionMatrix("x", [names[i] for i in order], chances / chances.sum(axis=1, keepdims=True)))
    rows = 50
    place, stratum = draw.integers(-1, codes, rows), draw.integers(0, strata, rows)
    fraction = draw.random(rows)
    drawn = drawn_codes(place, stratum, names, matrices, fraction)
    for row in range(rows):
        if place[row] < 0:
            assert drawn.place[row] == -1
            continue
        matrix = matrices[stratum[row]]
        chance = matrix.chances[matrix.codes.index(names[place[row]])]
        at = next(i for i in range(codes) if fraction[row] < chance[: i + 1].sum() or i == codes - 1)
        assert names[drawn.place[row]] == matrix.codes[at]
    assert sum(int(moves.sum()) for moves in drawn.moves) == int((place >= 0).sum())


# ---- plain data, recipes, steps ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "matrix",
    [
        "2E(0.8)",
        {"m": {"m": 0.8, "f": 0.2}, "f": {"f": 0.8, "m": 0.2}},
        [[0.8, 0.2], [0.2, 0.8]],
        np.array([[0.8, 0.2], [0.2, 0.8]]),
    ],
    ids=["notation", "mapping", "rows", "array"],
)
def test_a_matrix_may_be_given_in_every_way(matrix):
    codes = {} if isinstance(matrix, str | dict) else {"sex": ["f", "m"]}
    method = ds.Pram({"sex": matrix}, codes=codes)
    again = method_from_record(json.loads(json.dumps(method.record(), sort_keys=True)))
    records = read_record_set(people())
    one, two, plain = (m.run(records, KEY).changed["sex"] for m in (method, again, ds.Pram({"sex": "2E(0.8)"})))
    assert one.equals(two)
    assert one.equals(plain)


def test_a_transition_matrix_may_be_given():
    matrix = ds.TransitionMatrix.from_notation("sex", "2E(0.8)", ["m", "f"])
    records = read_record_set(people())
    one, two = (ds.Pram({"sex": m}).run(records, KEY).changed["sex"] for m in (matrix, "2E(0.8)"))
    assert one.equals(two)


def test_a_recipe_can_name_it(tmp_path):
    import pyarrow.csv as csv

    csv.write_csv(people().source.drop_columns(["income"]), tmp_path / "people.csv")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        """
version = 1
[data]
file = "people.csv"
[records]
[[protect]]
method = "pram"
publish = ["sex"]
within = ["area"]
[protect.matrices]
sex = "2E(0.8)"
age = "Block(2; 4E(.8); 5F(.6))"
[output]
directory = "out"
""",
        encoding="utf-8",
    )
    ds.run_recipe(recipe)
    assert ds.check_folder(tmp_path / "out").holds
    assert ds.read_transition_matrices(tmp_path / "out" / "public" / "records.matrices.json")[0].column == "sex"


def test_tables_may_be_made_of_it():
    spec = ds.TableSpec(by={"sex": ds.Hierarchy.flat(["m", "f"])})
    steps = [ds.Pram({"sex": "2E(0.8)"}), ds.Suppress()]
    release = ds.protect(people(), steps, tables=[spec], rules=[ds.MinFrequency(3)], key=KEY)
    assert release.verify().holds
    with pytest.raises(ParameterError, match="is for files of records, and tables are to be published"):
        ds.protect(people(), [ds.Pram({"sex": "2E(0.8)"}, publish=["sex"]), ds.Suppress()], tables=[spec], key=KEY)
    said = release.custodian.evidence[0]
    method = {**said.method, "publish": ["sex"]}
    lie = replace(said, method=method, claim=pram_claim(method, said.facts))
    custodian = replace(release.custodian, evidence=(lie, *release.custodian.evidence[1:]))
    assert not check_release(custodian, release.public).holds


def test_published_matrices_go_out_and_no_others():
    release = pram({"sex": "2E(0.8)", "job": "4F(0.6)"}, publish=["job"])
    assert [matrix.column for matrix in release.public.records.matrices] == ["job"]
    claim = release.custodian.evidence[0].claim
    assert "Published is the matrix of job." in claim.statement
    assert any("shares of the codes before can be worked out" in text for text in claim.not_considered)
    closed = pram({"sex": "2E(0.8)"})
    assert closed.public.records.matrices == ()
    assert "No matrix is published." in closed.custodian.evidence[0].claim.statement


# ---- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ({"m": {"m": 0.8, "f": 0.1}, "f": {"f": 1}}, "do not sum to 1: 'm' to 0.9"),
        ({"m": {"m": 1.2, "f": -0.2}, "f": {"f": 1}}, "holds what is no chance"),
        ({"m": {"m": 0.8, "x": 0.2}, "f": {"f": 1}}, "moves 'm' to 'x', which has no row"),
        ({"m": "f"}, "must give a row for each code"),
        ({"m": {"m": "much"}}, "numbers only"),
        ([[1, 0], [0, 1]], "does not say which codes"),
        ("2E(1.5)", "'2E\\(1.5\\)' is no matrix"),
        ("0E(.5)", "'0E\\(.5\\)' is no matrix"),
        ("2B(0.5)", "is no matrix"),
        ("2E(0.5;2)", "is no matrix"),
        ("2B(0.5;1)", "is no band"),
        ("2B(0.5;2.5)", "is no band"),
        ("1E(0.5)", "nowhere to move to"),
        ("two", "is no notation of a matrix"),
        ("Block(2; 2E(0.8))", "announces 2 blocks and has 1"),
        ("Block(2; E(0.8); 1)", "has no number of codes"),
        ("Block(1; Block(1; 2E(.8)))", "is no notation"),
    ],
)
def test_what_is_no_matrix_is_refused(matrix, message):
    with pytest.raises(ParameterError, match=message):
        ds.Pram({"sex": matrix})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"matrices": {}}, "Pram has no matrix"),
        ({"codes": {"sex": ["m"]}}, "is for 2 codes, and codes\\['sex'\\] names 1"),
        ({"codes": {"sex": ["m", "m"]}}, "must name every code once"),
        ({"codes": {"sex": "mf"}}, "takes codes in a list"),
        ({"codes": {"age": ["1"]}}, "no column 'age' in matrices \\(codes\\)"),
        ({"publish": ["age"]}, "no column 'age' in matrices \\(publish\\)"),
        ({"within": ["sex"]}, "cannot be a stratum, too"),
        ({"matrices": {"sex": [[0.5, 0.5]]}, "codes": {"sex": ["m", "f"]}}, "is 1 x 2, and there are 2 codes"),
        ({"matrices": {"sex": {"m": {"m": 1}}}, "codes": {"sex": ["m"]}}, "names its codes already"),
        ({"missing": "moves"}, "missing"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        ds.Pram(**{"matrices": {"sex": "2E(0.8)"}, **options})


WORDS = {**{str(i): {str(i): 0.5, "x": 0.5} for i in range(9)}, "x": {"x": 1}}
SEEN_BY_NOBODY = {"within": ["area"], "publish": ["job"]}


@pytest.mark.parametrize(
    ("data", "matrices", "options", "error", "message"),
    [
        (people(), {"sx": "2E(.8)"}, {}, InputError, "no column 'sx'"),
        (people(), {"sex": "3E(.8)"}, {}, InputError, "'3E\\(.8\\)' is for 3 codes, and there are 2"),
        (people(), {"sex": {"m": {"m": 1}}}, {}, InputError, "f"),
        (people(), {"sex": "2E(1)"}, {}, ProtectionError, "leaves every code that occurs as it is"),
        (people(), {"sex": "2E(.8)"}, {"within": ["region"]}, InputError, "no column 'region'"),
        (people(strata=["sex"]), {"sex": "2E(.8)"}, {}, ParameterError, "cannot be a stratum, too"),
        (people(identifier="age"), {"age": "E(.8)"}, {}, InputError, "identifier of an earlier record"),
        (people(weight="income", numeric=[]), {"income": "E(.8)"}, {}, ParameterError, "is the weight, and holds no"),
        (people(), {"income": "E(.8)"}, {}, ParameterError, "3,?000 codes: its matrices would be too large"),
        (
            people(),
            {"job": "5E(.8)"},
            {"codes": {"job": ["a", "b", "c", "d", "9"]}},
            ParameterError,
            "moves the code '9', which stands for 'unknown'",
        ),
        (people(), {"age": WORDS}, {}, ParameterError, "codes that a column of int64 cannot hold"),
        (people(household="area"), {"job": "F(.8)"}, SEEN_BY_NOBODY, ParameterError, "of no use to readers"),
    ],
)
def test_records_that_cannot_be_drawn_are_refused(data, matrices, options, error, message):
    with pytest.raises(error, match=message):
        ds.protect(data, ds.Pram(matrices, **options), key=KEY)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": pa.array([None, None], pa.string()), "y": [1, 1]}, "every field is empty or stands for 'unknown'"),
        ({"x": pa.array(["", None]), "y": [1, 1]}, "empty fields and fields of empty text"),
        ({"x": pa.array([1, 2], pa.date32()), "y": [1, 1]}, "holds date32\\[day\\], not codes"),
        ({"x": ["a", "a"], "y": [1, 1]}, "leaves every code that occurs as it is"),
    ],
)
def test_columns_that_hold_nothing_to_draw_are_refused(columns, message):
    with pytest.raises((InputError, ProtectionError), match=message):
        pram({"x": "E(0.8)"}, data=ds.Microdata(pa.table(columns)))


def test_strata_that_are_too_small_are_refused():
    table = pa.table({"x": ["a", "b", "a", "a", "b", "b"], "area": ["N", "N", "S", "S", "W", "W"]})
    with pytest.raises(ProtectionError, match="In 2 of 3 strata of 'area', the matrix of 'x' leaves every code"):
        pram({"x": "E(0.8)"}, data=ds.Microdata(table), within=["area"])


@pytest.mark.parametrize("size", range(3, 9))
@pytest.mark.parametrize("stay", [0.1, 0.3, 0.6, 0.7])
def test_rounding_does_not_hide_that_nothing_can_move(size, stay):
    """Back by the chances of Bayes, a code that is alone in its stratum comes from itself only."""
    table = pa.table({"x": ["a", "b", "c"] * 20 + ["c"] * 40, "area": ["N"] * 60 + ["S"] * 40})
    codes = {"x": list("abcdefgh")[:size]}
    with pytest.raises(ProtectionError, match="In 1 of 2 strata of 'area'"):
        pram({"x": f"{size}E({stay})"}, data=ds.Microdata(table), within=["area"], codes=codes, invariant=True)


def test_a_column_is_not_drawn_twice_with_the_same_draws():
    twice = [ds.Pram({"sex": "2E(0.8)"}), ds.Pram({"sex": "2E(0.9)"})]
    with pytest.raises(ParameterError, match="post-randomised twice with the same draws"):
        ds.protect(people(), twice, key=KEY)
    again = [ds.Pram({"sex": "2E(0.8)"}), ds.Pram({"sex": "2E(0.9)"}, version=2)]
    assert ds.protect(people(), again, key=KEY).verify().holds


@pytest.mark.parametrize("later", [ds.Recode("sex", map={"m": "x"}), ds.Recode("area", map={"N": "x"})])
def test_a_matrix_that_does_not_fit_any_more_is_not_published(later):
    first = ds.Pram({"job": "F(.8)", "sex": "2E(0.8)"}, within=["area"], publish=["sex", "job"])
    with pytest.raises(ParameterError, match=r"do not fit '(sex|area)', changed by a later step"):
        ds.protect(people(), [first, later], key=KEY)
    assert ds.protect(people(), [ds.Pram({"sex": "2E(0.8)"}), later], key=KEY).verify().holds


def test_a_singular_matrix_is_warned_about():
    table = pa.table({"x": list("abcd") * 50})
    with pytest.warns(UserWarning, match="The matrix of 'x' is singular"):
        release = pram({"x": "4B(.5;2)"}, data=ds.Microdata(table))
    assert any("is singular" in note for note in release.custodian.log["notes"])
    assert release.verify().holds
    eps = 1e-8
    near = {"a": {"a": 0.5 + eps, "b": 0.5 - eps}, "b": {"a": 0.5 - eps, "b": 0.5 + eps}}
    with pytest.warns(UserWarning, match="is nearly singular"):
        pram({"x": near}, data=ds.Microdata(pa.table({"x": list("ab") * 50})))


def test_noise_that_drowns_counts_is_noted():
    table = pa.table({"x": ["a"] * 500 + ["b"] * 500 + ["c"]})
    release = pram({"x": "3E(.5)"}, data=ds.Microdata(table))
    assert any("standard error above the count itself" in note for note in release.custodian.log["notes"])
    (finding,) = release.custodian.evidence[0].findings
    assert finding.startswith("x: information lost ")
    assert finding in records_report(release)
