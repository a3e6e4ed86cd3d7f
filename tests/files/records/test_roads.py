"""Labels, formats, codes for "unknown" and leading zeros survive every road from file to file."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.files import statistical
from discreet.verify.formats.shown import Different
from discreet.verify.records.published import GivenRecords
from discreet.verify.records.stat import check_sav
from tests.files.records.labelled import (
    codes,
    in_process,
    read_back,
    read_sav,
    released,
    survey_rows,
    unknown,
    write_survey,
)

UNTOUCHED = ("sex", "place", "income", "job", "born", "asked", "children")
ROADS = ("sav", "dta", "parquet", "asc")
BECOMES_LETTERS = {"sex": {"9": ".a"}, "place": {"007": ".a", "095": ".b"}}
"""Stata has letters for "unknown"; the labels of the codes go with them."""
SAME_FORMAT = {
    "sav": UNTOUCHED,
    "parquet": UNTOUCHED,
    "asc": UNTOUCHED,
    "dta": (),
}


@pytest.fixture(autouse=True, scope="module")
def reading_in_process():
    with mock.patch.object(statistical, "_asked", in_process):
        yield


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    folder = tmp_path_factory.mktemp("roads")
    data = read_sav(write_survey(folder / "survey.sav", survey_rows()))
    return read_record_set(data), released(data, folder / "out", [*ROADS, "xlsx"])


@pytest.mark.parametrize("road", ROADS)
def test_untouched_columns_keep_values_labels_formats_and_codes(survey, road):
    original, public = survey
    found = read_back(public, road)
    for name in UNTOUCHED:
        letters = BECOMES_LETTERS.get(name, {}) if road == "dta" else {}
        before = [letters.get(code, code) if code else code for code in codes(original, name)]
        assert codes(found, name) == before, name
        assert found.about(name).label == original.about(name).label
        expected = {letters.get(code, code) for code in unknown(original, name)}
        assert unknown(found, name) == (set() if (road, name) == ("dta", "job") else expected), (
            name
        )  # Stata: numbers only
        if name in SAME_FORMAT[road] and name != "job":
            assert found.about(name).format == original.about(name).format, name


@pytest.mark.parametrize("road", ROADS)
def test_labels_of_codes_survive(survey, road):
    original, public = survey
    found = read_back(public, road)
    for name in ("sex", "place", "income"):
        letters = BECOMES_LETTERS.get(name, {}) if road == "dta" else {}
        if (road, name) == ("dta", "income"):
            letters = {"-1": ".a"}
        expected = {letters.get(code, code): text for code, text in original.about(name).value_labels.items()}
        if letters:  # codes for "unknown" without a label are named by their number
            expected |= {letter: expected.get(letter, code.lstrip("0")) for code, letter in letters.items()}
        assert dict(found.about(name).value_labels) == expected, name
    if road == "dta":
        assert "Köchin, Koch" in found["job_label"].to_pylist()
    else:
        assert dict(found.about("job").value_labels) == dict(original.about("job").value_labels)


@pytest.mark.parametrize("road", ROADS)
def test_a_recoded_column_has_nothing_stale(survey, road):
    _, public = survey
    found = read_back(public, road)
    about = found.about("changed")
    assert codes(found, "changed")[:4] == ["one", "two", "9", None]
    assert not about.value_labels
    assert unknown(found, "changed") == (set() if road == "dta" else {"9"})
    assert not about.format or not about.format.startswith(("F", "%1"))


def test_formats_are_said_in_the_words_of_stata(survey):
    found = read_back(survey[1], "dta")
    assert {name: found.about(name).format for name in ("sex", "place", "income", "born", "asked")} == {
        "sex": "%1.0f",
        "place": "%03.0f",
        "income": "%9.2f",
        "born": "%td",
        "asked": "%tc",
    }


def test_stata_goes_back_to_spss_and_keeps_its_letters(survey, tmp_path):
    _, public = survey
    data = ds.Microdata(
        public / "records.dta", sensitive=["sex", "place", "job", "changed", "job_label"], numeric=["income"]
    )
    first = read_record_set(data)
    release = ds.protect(data, ds.Recode("changed", map={"one": "1"}), keep_order=True)
    release.save(tmp_path / "again", formats=["sav", "dta"])
    assert ds.check_folder(tmp_path / "again").holds
    again = read_back(tmp_path / "again" / "public", "dta")
    spss = read_back(tmp_path / "again" / "public", "sav")
    for name in ("sex", "place"):
        assert codes(again, name) == codes(spss, name) == codes(first, name)
        assert again.about(name) == first.about(name)
        assert dict(spss.about(name).value_labels) == dict(first.about(name).value_labels)
        assert unknown(spss, name) == unknown(first, name) != set()


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=12)
CODE = TEXT.map(lambda text: text.strip().replace('"', "'") or "x")


@st.composite
def surveys(draw):
    """Rows and what a file says of them."""
    count = draw(st.integers(1, 12))
    words = draw(st.lists(CODE, min_size=1, max_size=4, unique=True))
    rows = [
        {
            "codes": draw(st.sampled_from([1.0, 2.0, 9.0, None])),
            "padded": draw(st.sampled_from([0.0, 7.0, 12.0, 95.0, 345.0, None])),
            "amount": draw(st.sampled_from([None, -1.0, 0.1, 12.25, 1e15, 123456.789])),
            "word": draw(st.sampled_from([*words, None])),
            "day": draw(st.sampled_from([None, 86_400.0 * 150_000, 0.0])),
            "moment": draw(st.sampled_from([None, 86_400.0 * 150_000 + 1.0, 12.125])),
            "counted": draw(st.sampled_from([None, 0.0, 3.0])),
        }
        for _ in range(count)
    ]
    labels = draw(st.dictionaries(st.sampled_from(words), CODE, max_size=3))
    label = draw(CODE)
    return rows, words, labels, label


@given(surveys())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_labelled_files_survive_every_road(tmp_path_factory, survey):
    rows, words, labels, label = survey
    rows = [*rows, *({**rows[0], "codes": 1.0, "word": word, "counted": 1.0} for word in words)]
    folder = tmp_path_factory.mktemp("random")
    write_survey(
        folder / "survey.sav",
        rows,
        column_labels={"sex": label, "changed": label},
        variable_value_labels={
            name: of
            for name, of in {"sex": {1.0: label, 9.0: "?"}, "changed": {1.0: label}, "job": labels}.items()
            if of
        },
        missing_ranges={"sex": [9.0], "place": [{"lo": 90.0, "hi": 99.0}], "changed": [9.0]},
    )
    data = read_sav(folder / "survey.sav")
    original, public = read_record_set(data), released(data, folder / "out", list(ROADS))
    for road in ("sav", "parquet", "asc"):
        found = read_back(public, road)
        for name in UNTOUCHED:
            assert codes(found, name) == codes(original, name), (road, name)
            assert unknown(found, name) == unknown(original, name), (road, name)
            assert found.about(name).label == original.about(name).label, (road, name)
            assert dict(found.about(name).value_labels) == dict(original.about(name).value_labels), (road, name)
        assert not found.about("changed").value_labels
        assert found.about("changed").label == label


def test_levels_of_measurement_survive_from_sav_to_sav(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {"sex": [1.0, 2.0] * 12, "grade": [1.0, 2.0, 3.0] * 8, "pay": [9.5, 7.0] * 12, "age": [30.0, 40.0] * 12}
    )
    levels = {"sex": "nominal", "grade": "ordinal", "pay": "scale", "age": "scale"}
    pyreadstat.write_sav(frame, str(tmp_path / "in.sav"), variable_measure=levels)
    data = ds.Microdata(tmp_path / "in.sav", keys=["sex", "grade", "age"], numeric=["pay"])
    release = ds.protect(data, ds.Recode("age", map={"30": "young", "40": "old"}))
    release.save(tmp_path / "out", formats=["sav"])
    public = tmp_path / "out" / "public" / "records.sav"
    assert dict(ds.statistical_metadata(public).measures) == {"sex": "nominal", "grade": "ordinal", "pay": "scale"}
    assert ds.load(tmp_path / "out").custodian.original.about("grade").measure == "ordinal"
    given = GivenRecords("records", release.public.records.columns, release.public.records.info)
    check_sav(public, given)
    other = {**given.info, "grade": replace(given.info["grade"], measure="nominal")}
    with pytest.raises(Different, match="is not what the release gives"):
        check_sav(public, GivenRecords("records", given.table, other))
