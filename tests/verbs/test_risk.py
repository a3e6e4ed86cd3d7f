"""``ds.risk``: all numbers by one call, against counts by hand; what it refuses, and what it never prints."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError
from discreet.measures import individual_risk

AGES = ["old", "old", "old", "young", "young", "young", "young", "middle"]
SEXES = ["f", "f", "m", "m", "m", "f", "f", "m"]
ILLS = ["flu", "flu", "none", "none", "cold", "cold", "flu", "flu"]
PEOPLE = pa.table(
    {
        "age": AGES,
        "sex": SEXES,
        "ill": ILLS,
        "w": [10.0, 20.0, 5.0, 8.0, 8.0, 4.0, 4.0, 30.0],
        "home": [1, 1, 1, 2, 2, 3, 3, 4],
        "income": [1, 2, 3, 4, 5, 6, 7, 8],
    }
)


def people(**roles: Any) -> ds.Microdata:
    given = {"keys": ["age", "sex"], "sensitive": ["ill"], "weight": "w", "household": "home"} | roles
    return ds.Microdata(PEOPLE, **given)


def test_counts_of_a_small_file() -> None:
    found = people().risk(k=3)
    assert found.like.tolist() == [2, 2, 1, 2, 2, 2, 2, 1]
    assert (found.k, found.uniques, found.rare) == (1, 2, 8)
    by_set = {one.keys: one for one in found.tables.sets}
    assert (by_set[("age",)].unsafe, by_set[("age",)].records) == (1, 1)
    assert (by_set[("sex",)].unsafe, by_set[("sex",)].records) == (0, 0)
    assert (by_set[("age", "sex")].combinations, by_set[("age", "sex")].unsafe) == (5, 5)


def test_individual_and_household_risk_of_a_small_file() -> None:
    found = people().risk()
    sums = {("old", "f"): (2, 30.0), ("old", "m"): (1, 5.0), ("young", "m"): (2, 16.0), ("young", "f"): (2, 8.0)}
    sums[("middle", "m")] = (1, 30.0)
    expected = [float(individual_risk(*sums[pair])) for pair in zip(AGES, SEXES, strict=True)]
    assert found.individual == pytest.approx(expected)
    assert found.file.expected == pytest.approx(sum(expected))
    home = 1 - (1 - expected[0]) * (1 - expected[1]) * (1 - expected[2])
    assert found.household is not None
    assert found.household[:3] == pytest.approx([home] * 3)
    assert found.household[7] == pytest.approx(expected[7])
    assert found.fraction == pytest.approx(8 / 89)


def test_without_weights_the_file_is_the_population_and_a_fraction_says_otherwise() -> None:
    plain = ds.risk(PEOPLE, keys=["age", "sex"])
    assert plain.individual == pytest.approx(1 / plain.like)
    assert plain.fraction is None
    part = ds.risk(PEOPLE, keys=["age", "sex"], fraction=0.1)
    assert part.individual == pytest.approx(individual_risk(part.like, part.like * 10))
    assert "taken for the population" in plain.summary()
    assert "not who is in the file" in part.summary()


def test_what_keys_tell_of_sensitive_columns() -> None:
    found = people(numeric=["income"]).risk(sensitive=["ill", "income"])
    ill, income = found.sensitive
    assert (ill.distinct, ill.known, ill.spread, ill.ordered) == (1, 4, 2, False)
    assert income.ordered


def test_findings_need_more_knowledge_one_after_the_other_and_zeros_come_last() -> None:
    found = people().risk(k=2)
    assert [one.measure for one in found.findings] == [
        "rare by 1 key",
        "ill known",
        "unique",
        "rare",
        "above the threshold",
        "expected matches",
        "households above",
        "expected with households",
        "expected special",
        "population uniques",
    ]
    assert all(one.knows and one.what for one in found.findings)
    safe = ds.risk(pa.table({"x": ["a"] * 4, "y": ["b"] * 4}), keys=["x", "y"])
    numbers = [one.number for one in safe.findings]
    assert numbers == sorted(numbers, key=lambda number: number == 0)


def test_thresholds_answer_how_many_and_how_high() -> None:
    found = people().risk()
    risks = found.individual
    assert found.above(0.15) == int((risks > 0.15).sum())
    assert (risks > found.threshold_for(records=2)).sum() <= 2
    assert np.minimum(risks, found.threshold_for(rate=0.1)).mean() == pytest.approx(0.1)
    assert sum(found.histogram()) == 8
    worst = found.at_risk(0.0)
    assert sorted(worst.tolist()) == list(range(8))
    assert found.household is not None
    assert np.all(np.diff(found.household[worst]) <= 1e-15)
    for wrong in ({}, {"records": 1, "rate": 0.1}):
        with pytest.raises(ParameterError, match="either records= or rate="):
            found.threshold_for(**wrong)


def test_frames_of_all_parts() -> None:
    found = people().risk()
    assert found.to_frame().column_names == ["measure", "number", "share", "what", "knows"]
    assert found.to_frame("sets")["records"].to_pylist() == sorted(
        found.to_frame("sets")["records"].to_pylist(), reverse=True
    )
    keys = found.to_frame("keys")
    assert keys.column_names == ["key", "contribution", "unsafe by 1 key", "unsafe by 2 keys"]
    assert keys["contribution"].to_pylist() == sorted(keys["contribution"].to_pylist(), reverse=True)
    records = found.to_frame("records")
    assert records.num_rows == 8
    assert not set(records.column_names) & set(PEOPLE.column_names)
    assert found.to_frame("sizes").to_pydict() == {"occurs": [1, 2], "records": [2, 6]}
    assert found.to_frame("sensitive")["name"].to_pylist() == ["ill"]
    with pytest.raises(ParameterError, match="There is no part 'rows' in the risk of records"):
        found.to_frame("rows")  # type: ignore[arg-type]


def test_values_that_are_to_blame_are_for_the_custodian_who_asks() -> None:
    found = people().risk()
    values = found.values("age")
    assert set(values["value"].to_pylist()) == {"old", "young", "middle"}
    assert values["contribution"].to_pylist() == [0.5, 0.5, 0.0]
    assert sum(values["contribution"].to_pylist()) == pytest.approx(found.suda.contributions["age"])  # type: ignore[union-attr]
    assert dict(zip(values["value"].to_pylist(), values["records"].to_pylist(), strict=True))["old"] == 3
    with pytest.raises(ParameterError, match="There is no key 'ill'"):
        found.values("ill")


CANARY = "canary-7f3a"


def test_no_value_is_printed() -> None:
    table = pa.table(
        {
            "age": [f"{CANARY}{i}" for i in range(6)],
            "ill": [f"{CANARY}-ill{i}" for i in range(6)],
            "w": [1.0 + i for i in range(6)],
            "home": [f"{CANARY}-home{i // 2}" for i in range(6)],
        }
    )
    found = ds.Microdata(table, keys=["age"], sensitive=["ill"], weight="w", household="home").risk()
    shown = [repr(found), str(found), found._repr_html_(), json.dumps(found.to_dict())]
    shown += [str(found.to_frame(part)) for part in ("findings", "sets", "keys", "sensitive", "sizes", "records")]
    assert not any(CANARY in text for text in shown)


def test_a_release_is_measured_as_it_goes_out() -> None:
    data = people()
    release = ds.protect(data, ds.LocalSuppress(2), rules=[ds.KAnonymity(2)])
    found = ds.risk(release, k=2)
    assert (found.k >= 2, found.uniques, found.rare) == (True, 0, 0)
    assert found.question.keys == ("age", "sex")
    assert found.notes == ()


def test_altered_keys_are_counted_and_the_notes_say_what_that_means() -> None:
    table = pa.table({"area": ["N", "S"] * 20, "home": [i // 2 for i in range(40)], "sex": ["f", "m"] * 20})
    area = ds.Hierarchy.flat(["N", "S"])
    table = table.set_column(0, "area", pa.array(["N" if (i // 2) % 2 else "S" for i in range(40)]))
    data = ds.Microdata(table, keys=["area", "sex"], household="home", hierarchies={"area": area})
    release = ds.protect(data, ds.Swap("area", "home", insecure_seed=1))
    assert any("Values of 'area' were altered and may be false." in note for note in ds.risk(release).notes)


def test_a_release_of_tables_has_no_records_to_measure() -> None:
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    with pytest.raises(ParameterError, match=r"release of tables, and risk is measured of records\. Use ds\.audit"):
        ds.risk(release)


def test_files_frames_and_records_give_the_same(tmp_path: Any) -> None:
    from pyarrow import csv

    csv.write_csv(PEOPLE, tmp_path / "people.csv")
    kinds = [PEOPLE, PEOPLE.to_pandas(), str(tmp_path / "people.csv"), tmp_path / "people.csv"]
    found = [ds.risk(one, keys=["age", "sex"], sensitive="ill", weight="w", household="home") for one in kinds]
    assert len({json.dumps(one.to_dict()) for one in found}) == 1
    assert json.dumps(people().risk().to_dict()) == json.dumps(found[0].to_dict())


ROWS = st.lists(
    st.tuples(st.sampled_from([None, "a", "b"]), st.sampled_from([None, "x", "y"]), st.integers(1, 9)),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=60)
@given(ROWS, st.sampled_from(["category", "any", "exempt"]), st.randoms())
def test_each_meaning_of_an_empty_field_and_no_matter_which_order(rows: Any, missing: Any, random: Any) -> None:
    def measured(some: list[Any]) -> Any:
        table = pa.table(
            {
                "p": pa.array([p for p, _, _ in some], pa.string()),
                "q": pa.array([q for _, q, _ in some], pa.string()),
                "w": [float(w) for _, _, w in some],
            }
        )
        if any(table[name].null_count == len(some) for name in ("p", "q")):
            return None
        return ds.risk(table, keys=["p", "q"], weight="w", missing=missing)

    def agree(one: Any, other: Any) -> bool:
        if missing == "exempt" and None in other[:2]:
            return False
        return all(a == b or (missing == "any" and None in (a, b)) for a, b in zip(one[:2], other[:2], strict=True))

    found = measured(rows)
    if found is None:
        return
    for place, row in enumerate(rows):
        if missing == "exempt" and None in row[:2]:
            assert np.isnan(found.individual[place])
            continue
        like = [other for other in rows if agree(row, other)]
        assert found.like[place] == len(like)
        expected = float(individual_risk(len(like), sum(other[2] for other in like)))
        assert found.individual[place] == pytest.approx(expected)
    order = list(range(len(rows)))
    random.shuffle(order)
    again = measured([rows[i] for i in order])
    assert again.individual == pytest.approx(found.individual[order], nan_ok=True)
    if found.suda is not None:
        assert again.suda.score.tolist() == found.suda.score[order].tolist()


def refused(kind: type[Exception], words: str, data: Any = PEOPLE, **given: Any) -> None:
    with pytest.raises(kind, match=words):
        ds.risk(data, **({"keys": ["age", "sex"]} | given))


def test_bad_questions_are_refused() -> None:
    refused(NeedsError, r"by which columns somebody may be recognised\. Give Microdata\(keys=\[\.\.\.\]\)", keys=None)
    refused(NeedsError, "by which columns", keys=[])
    refused(ParameterError, "There is no column 'agee' in the records. Did you mean 'age'", keys=["agee"])
    refused(ParameterError, "keys= names a column twice: 'age', 'age'", keys=["age", "age"])
    refused(ParameterError, r"keys=3 is not allowed\. Give names of columns in a list", keys=3)
    refused(ParameterError, "k=1 is not allowed", k=1)
    refused(ParameterError, "size=0 is not allowed", size=0)
    refused(ParameterError, "There is no missing 'x'. Available: 'category', 'any', 'exempt'", missing="x")
    refused(ParameterError, r"threshold=2 is not allowed\. Give a number from 0 to 1", threshold=2)
    refused(ParameterError, "fraction=0 is not allowed", fraction=0)
    refused(ParameterError, "weight= and fraction= both say", weight="w", fraction=0.1)
    refused(ParameterError, "Column 'age' is a key and something else, too", sensitive=["age"])


def test_bad_weights_are_refused_by_row() -> None:
    light = PEOPLE.set_column(3, "w", pa.array([10, 20, 0.5, 8, 8, 0.25, 4, 30.0]))
    refused(InputError, r"2 records have a weight below 1 in 'w' \(row 3, 6\)\. A record stands for", light, weight="w")
    nothing = PEOPLE.set_column(3, "w", pa.array([10, 20, 0, None, 8, 1, 4, 30.0]))
    refused(InputError, r"2 records have no weight above 0 in 'w'", nothing, weight="w")
    refused(InputError, "'ill'", weight="ill")


def test_columns_without_any_value_are_refused_as_keys_and_told_of_in_releases() -> None:
    empty = PEOPLE.set_column(0, "age", pa.nulls(8, pa.string()))
    refused(InputError, r"Key 'age' is empty in every record\. Leave it out", empty)
    alone = pa.table({"a": ["x", "y"], "b": ["1", "2"]})
    release = ds.protect(ds.Microdata(alone, keys=["a", "b"]), ds.LocalSuppress(2))
    assert "Key 'a' is empty in every record: it tells nobody apart." in ds.risk(release).notes


def test_a_key_without_variation_is_told_of() -> None:
    same = PEOPLE.set_column(1, "sex", pa.array(["f"] * 8))
    found = ds.risk(same, keys=["age", "sex"])
    assert found.notes == ("Key 'sex' has the same value in every record: it tells nobody apart.",)
    assert found.suda is not None
    assert found.suda.contributions["sex"] == 0


def test_households_in_two_regions_are_told_of() -> None:
    homes = 40
    region = ["N" if i // 2 % 2 else "S" for i in range(2 * homes)]
    region[1] = "N"  # one household of forty lives in two regions
    table = pa.table({"region": region, "sex": ["f", "m"] * homes, "home": [i // 2 for i in range(2 * homes)]})
    notes = ds.risk(table, keys=["region", "sex"], household="home").notes
    assert len(notes) == 1
    assert notes[0].startswith("1 household has members with different values of 'region', which all others share.")
    assert "their risk is too high" in notes[0]


def test_households_without_a_number_are_refused() -> None:
    gaps = PEOPLE.set_column(4, "home", pa.array([1, 1, None, 2, 2, 3, 3, 4]))
    refused(InputError, "1 record has nothing in 'home', the household", gaps, household="home")


def test_twenty_keys_are_searched_up_to_a_size_and_more_is_refused_before_work() -> None:
    draw = np.random.default_rng(2)
    table = pa.table({f"k{i}": draw.integers(0, 3, 50) for i in range(20)})
    keys = [f"k{i}" for i in range(20)]
    found = ds.risk(table, keys=keys, size=2)
    assert found.suda is not None
    assert found.suda.size == 2
    assert "among sets of up to 2 keys only, because there are 20 keys" in found.notes[0]
    refused(ParameterError, "20 keys have 21,699 sets of up to 5; at most 20,000", table, keys=keys, size=5)


def test_records_that_are_not_judged_are_told_of() -> None:
    table = pa.table({"p": ["a", None, "a"], "q": ["x", "x", "y"]})
    found = ds.risk(table, keys=["p", "q"], missing="exempt")
    assert found.notes[0].startswith("1 record is empty in a key and, with missing='exempt', not judged")
    assert found.file.records == 2


def test_empty_fields_that_agree_with_everything_are_told_of() -> None:
    table = pa.table({"p": ["a", None, "b"], "q": ["x", "x", "x"]})
    found = ds.risk(table, keys=["p", "q"], missing="any")
    assert found.like.tolist() == [2, 3, 2]
    assert any(note.startswith("1 record has an empty key and, with missing='any'") for note in found.notes)
    assert not any("missing=" in note for note in ds.risk(table, keys=["p", "q"]).notes)


def test_special_uniques_are_left_out_where_they_would_take_too_long() -> None:
    draw = np.random.default_rng(4)
    columns = {f"k{i}": pa.array([None if v == 0 else int(v) for v in draw.integers(0, 3, 200)]) for i in range(9)}
    found = ds.risk(pa.table(columns), keys=list(columns), missing="any", size=1)
    assert found.suda is None
    assert any("Special uniques were left out" in note for note in found.notes)
    assert "special" not in {one.measure for one in found.findings}
    assert found.to_dict()["special"] is None
    with pytest.raises(NeedsError, match="left out"):
        found.values("k0")


def test_a_page_shows_the_findings() -> None:
    shown = people().risk()._repr_html_()
    assert "Risk of 8 records by 2 keys" in shown
    assert "The intruder knows" in shown
    assert "2 unique" in shown


def test_it_is_said_where_individual_risk_is_far_below_the_population() -> None:
    """By weights alone 15 % of these people are matched; three in four really are."""
    draw = np.random.default_rng(1)
    people = np.stack([draw.integers(0, many, 20_000) for many in (60, 20, 10, 2)], axis=1)
    _, cell, counts = np.unique(people, axis=0, return_inverse=True, return_counts=True)
    drawn = draw.random(20_000) < 0.05
    table = pa.table({name: people[drawn, at].astype(str) for at, name in enumerate("abcd")})
    found = ds.risk(table, keys=list("abcd"), fraction=0.05)
    true = float((1 / counts[cell.ravel()[drawn]]).sum())
    assert found.file.expected < true / 2
    assert "Individual risks are probably far too low." in found.summary()
    whole = ds.risk(table, keys=["d"], fraction=0.05)
    assert "far too low" not in whole.summary()
