"""Rules for records where they turn: chances at their bounds, values that nobody knows, ties, and bad populations."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.engine.record_set import read_record_set, with_identity
from discreet.errors import InputError, ParameterError
from discreet.rules import class_kernels, population
from discreet.rules.class_values import hierarchical_tree, ordered_tree, sensitive_column
from discreet.rules.linkage import NEAREST, MaxLinked, right_guesses, standardised_pair
from discreet.rules.population import PopulationCounts


def records_of(columns: dict[str, list], **options):
    return read_record_set(ds.Microdata(pa.table(columns), **options))


# ---- populations ----------------------------------------------------------------------------------------------------


def presence(file: list[str], everybody: list[str], lower: float, upper: float):
    rule = ds.DeltaPresence(lower, upper, population=pa.table({"x": everybody}))
    return rule.evaluate(records_of({"x": file}, keys="x"))


def test_somebody_who_is_too_certain_not_to_be_in_the_file():
    found = presence(["1", "1", "2"], ["1"] * 4 + ["2"] * 4, 0.3, 1)
    assert found.unsafe.tolist() == [False, False, True]
    assert "chances lie between 0.25 and 0.5" in found.words


def test_a_combination_that_is_not_in_the_file_at_all():
    found = presence(["1", "1"], ["1"] * 4 + ["2"], 0.1, 1)
    assert found.unsafe.tolist() == [True, True]
    assert "chances lie between 0.5 and 0.5; 1 combination of the population is not in the file" in found.words
    assert not presence(["1", "1"], ["1"] * 4 + ["2"], 0, 1).unsafe.any()


def test_more_records_than_units():
    assert presence(["1", "1", "1"], ["1", "1"], 0, 1).unsafe.all()


KEPT = {"keys": ["x", "y"], "codes": [["a"], ["b", "c"]], "combinations": [[0, 0], [0, 1]], "units": [1, 2]}


@pytest.mark.parametrize(
    "wrong",
    [
        {"codes": [["a"]]},
        {"combinations": [[0, 0]]},
        {"combinations": [[0, 0], [0]]},
        {"combinations": [[0], [0, 1]]},
        {"units": [3]},
    ],
)
def test_mappings_that_are_no_populations(wrong):
    whole = {**KEPT, "total": 3, "distinct": 2}
    assert PopulationCounts.from_plain(whole).plain() == whole
    with pytest.raises(ParameterError, match="population= is a mapping that is no population"):
        PopulationCounts.from_plain({**whole, **wrong})


def test_which_populations_are_kept(monkeypatch):
    large = {"keys": ["x"], "total": 5, "distinct": 3}
    assert PopulationCounts.from_plain(large).plain() == large
    two = ds.KMap(2, population=pa.table({"x": ["1", "2", "2"]})).population
    monkeypatch.setattr(population, "MOST_KEPT", 2)
    assert two.plain()["units"] == [1, 2]
    monkeypatch.setattr(population, "MOST_KEPT", 1)
    assert "units" not in two.plain()


def test_populations_of_files_can_be_counted(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("x\na\na\nb\n")
    records = records_of({"x": ["a", "b"]}, keys="x")
    for given in (path, str(path)):
        rule = ds.KMap(2, population=given)
        assert rule.countable is True
        assert rule.evaluate(records).unsafe.tolist() == [False, True]
    assert ds.KMap(2, population=pa.table({"x": ["a"]})).countable is True
    assert ds.KMap(2, population={"keys": ["x"], "total": 5, "distinct": 3}).countable is False
    assert ds.KAnonymity(2).countable is True


def test_keys_that_the_population_does_not_have():
    counts = PopulationCounts.from_plain({**KEPT, "total": 3, "distinct": 2})
    with pytest.raises(ParameterError, match="'z'"):
        ds.KMap(2, population=counts, keys=["x", "z"]).resolved(records_of({"x": ["a"], "z": ["b"]}))


# ---- sensitive values -----------------------------------------------------------------------------------------------


def score(kernel: str, counts: list[int], *others) -> float:
    """What a kernel says of one class with these counts of values."""
    found = np.zeros(1)
    start, value = np.array([0, len(counts)]), np.arange(len(counts))
    with np.errstate(all="raise"):  # compiled, a division by nothing is an error
        getattr(class_kernels, kernel)(start, value, np.array(counts), *others, found)
    return float(found[0])


def entropy(counts: list[int]) -> float:
    return exp(-sum(n / sum(counts) * log(n / sum(counts)) for n in counts))


@pytest.mark.parametrize("counts", [[1, 5, 5], [50, 5, 5], [3, 9, 1], [1, 1, 1, 1], [20, 1, 1, 1]])
def test_an_empty_field_neither_adds_a_value_nor_hides_that_others_are_few(counts):
    known = np.array([False, *[True] * (len(counts) - 1)])
    wanted = min(entropy(counts), entropy(counts[1:]))
    assert score("effective_values", counts, known) == pytest.approx(wanted)

    def ratio(values: list[int], least: int) -> float:
        values = sorted(values, reverse=True)
        return values[0] / sum(values[least - 1 :]) if len(values) >= least else np.inf

    for least in (2, 3, 4):
        wanted = max(ratio(counts, least), ratio(counts[1:], least))
        assert score("dominance", counts, known, least) == pytest.approx(wanted)


def test_likeness_against_the_lesser_of_beta_and_rarity():
    share = np.array([0.5, 0.5])
    assert score("likeliest_gain", [3, 1], share, 4.0, False) == pytest.approx(0.5)
    assert score("likeliest_gain", [3, 1], share, 4.0, True) == pytest.approx(0.5 / log(2) * 4)
    assert score("likeliest_gain", [3, 1], share, 0.1, True) == pytest.approx(0.5)


def test_a_value_that_everybody_has_tells_nothing():
    with np.errstate(all="raise"):
        start, value, count, found = np.array([0, 1]), np.array([1]), np.array([4]), np.ones(1)
        class_kernels.likeliest_gain(start, value, count, np.array([0.0, 1.0]), 2.0, True, found)
    assert found.tolist() == [0]


def test_codes_for_unknown_have_no_place_in_an_order():
    records = records_of({"s": ["1", "2", "9"]}, sensitive="s", missing_codes={"s": ["9"]})
    with pytest.raises(InputError, match="has empty fields or codes for unknown, which have no place in an order"):
        ordered_tree(sensitive_column(records, "s"), ())


@pytest.mark.parametrize(
    ("above", "message"),
    [
        ({"a": "b", "b": "a"}, "has 0 codes at its top"),
        ({"a": "top", "b": "other"}, "has 2 codes at its top: 'top', 'other'"),
        ({"a": "top", "b": "c", "c": "b"}, "The hierarchy goes round in a circle"),
    ],
)
def test_hierarchies_that_are_none(above, message):
    column = sensitive_column(records_of({"s": ["a", "b"]}, sensitive="s"), "s")
    with pytest.raises(InputError, match=message):
        hierarchical_tree(column, above)


def test_codes_above_others_are_text():
    with pytest.raises(ParameterError, match="above"):
        ds.TCloseness(0.5, distance="hierarchical", above={"a": 1})


# ---- combinations of keys -------------------------------------------------------------------------------------------


def test_combinations_that_are_none():
    with pytest.raises(ParameterError, match="combinations= takes lists of names"):
        ds.KAnonymity(2, combinations=5)
    for k in (2.5, True, 1):
        with pytest.raises(ParameterError, match="which is no combination of keys"):
            ds.KAnonymity(2, combinations=[{"keys": ["x"], "k": k}])
    with pytest.raises(ParameterError, match="combinations="):
        ds.KAnonymity(2, keys=["x"], combinations=[["x"]])


def test_the_rarest_of_all_combinations_is_named():
    """It is neither in the first nor in the last table."""
    records = records_of({"x": ["a"] * 4, "y": ["b", "b", "b", "c"], "z": ["d", "d", "e", "e"]})
    found = ds.KAnonymity(2, combinations=[["x"], ["y"], ["z"]]).evaluate(records)
    assert found.unsafe.tolist() == [False, False, False, True]
    assert "the rarest occurs 1 time" in found.words


# ---- linkage --------------------------------------------------------------------------------------------------------


def test_numbers_beside_the_mean_and_deviation_of_the_original():
    """With gaps, with a spread below one, and without any."""
    old = {"gap": [None, 1.0, 3.0], "tiny": [0.0, 0.5, 0.0], "same": [7.0] * 3}
    new = {"gap": [5.0, None, 3.0], "tiny": [0.5, 0.5, 0.0], "same": [8.0] * 3}
    before, after = standardised_pair(records_of(old), records_of(new), ["gap", "tiny", "same"])
    tiny, middle = np.std([0, 0.5, 0]), 0.5 / 3
    assert before == pytest.approx(np.array([[0, -1, 1], [-middle / tiny, (0.5 - middle) / tiny, -middle / tiny]]).T)
    assert after[:, 0].tolist() == [3, 0, 1]
    alone, _ = standardised_pair(records_of(old), records_of(new), ["same"])
    assert alone.tolist() == [[0], [0], [0]]


@pytest.mark.parametrize("many", range(1, NEAREST + 4))
def test_guesses_among_records_that_are_all_alike(many):
    alike = np.zeros((many, 2))
    assert right_guesses(alike, alike, np.arange(many)) == pytest.approx(1 / many)


def test_only_records_that_are_found_again_break_the_rule():
    old, new = [1.0, 2.0, 9.0], [1.0, 8.0, 3.0]
    files = [with_identity(records_of({"v": one}, numeric="v")) for one in (old, new)]
    found = MaxLinked(0.1, columns=("v",)).compared(*files)
    assert found.unsafe.tolist() == [True, False, False]
