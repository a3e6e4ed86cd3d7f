"""Blanking at random with noise: what it does to records, what it publishes, and what is refused."""

from __future__ import annotations

import pickle
from math import erf, sqrt
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.csv import write_csv

import discreet as ds
from discreet.errors import InputError, ParameterError, ProtectionError
from discreet.model.blanking import Blanking
from discreet.records.blank_values import rounded_quantile, rounding_grain

KEY = ds.Key(bytes(range(32)))
ROWS = 600


def people(rows: int = ROWS, seed: int = 3, **roles: object) -> ds.Microdata:
    draw = np.random.default_rng(seed)
    hours = draw.integers(5, 60, rows)
    wage = np.round(hours * 20 + draw.normal(0, 200, rows), 2)
    table = pa.table(
        {
            "id": np.arange(rows),
            "wage": pa.array([None if i % 11 == 0 else float(v) for i, v in enumerate(wage)]),
            "hours": pa.array([99 if i % 13 == 0 else int(v) for i, v in enumerate(hours)]),
            "job": pa.array(["a", "b", None] * (rows // 3)),
            "area": draw.choice(["n", "s"], rows),
        }
    )
    given = {"identifier": "id", "numeric": ["wage", "hours"], "missing_codes": {"hours": ["99"]}}
    return ds.Microdata(table, **{**given, **roles})


BOTH = ds.BlankValues(
    upper={"wage": 0.9, "hours": 0.95}, lower={"hours": 0.05}, jitter={"wage": 150, "hours": 4}, noise={"wage": 80.5}
)


@pytest.fixture(scope="module")
def release() -> ds.Release:
    return ds.protect(people(), BOTH, key=KEY)


def test_columns_are_emptied_together_and_nothing_else_changes(release):
    old, new = release.custodian.original.columns.to_pydict(), release.custodian.released.columns.to_pydict()
    blanked = [i for i in range(ROWS) if new["hours"][i] is None]
    assert 0 < len(blanked) < ROWS / 2
    assert len(blanked) == release.custodian.evidence[0].facts["blanked"]
    assert all(new["wage"][i] is None for i in blanked)
    for i in set(range(ROWS)) - set(blanked):
        assert new["hours"][i] == old["hours"][i]  # codes for "unknown" too
        assert (new["wage"][i] is None) == (old["wage"][i] is None)
    for name in ("id", "job", "area"):
        assert new[name] == old[name]


def test_a_record_without_a_value_that_could_decide_is_never_emptied():
    data = people()
    hidden = data.source.set_column(1, "wage", pa.array([None] * (ROWS - 1) + [1.0]))
    hidden = hidden.set_column(2, "hours", pa.array([99] * (ROWS - 2) + [30, 40]))
    method = ds.BlankValues({"wage": 0.9, "hours": 0.5}, jitter={"wage": 1, "hours": 10}, noise={"wage": 5})
    new = ds.protect(data.with_(source=hidden), method, key=KEY).custodian.released.columns
    assert new["hours"].to_pylist()[: ROWS - 2] == [99] * (ROWS - 2)


def test_noise_has_the_published_variance_and_its_decimals(release):
    old, new = (
        records.columns["wage"].to_pylist() for records in (release.custodian.original, release.custodian.released)
    )
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if b is not None]
    assert all(round(b, 2) == b for _, b in pairs)
    (told,) = release.public.records.blankings
    assert told.noise == {"wage": pytest.approx(80.5**2 + 1e-4 / 12, rel=1e-12)}
    moves = ds.protect(people(), BOTH, key=KEY).custodian.evidence[0].parts["records"]["noise_1"] / 100
    known = np.array([value is not None for value in old])
    assert np.all(moves[~known] == 0)
    assert np.std(moves[known]) == pytest.approx(80.5, rel=0.12)  # 545 draws: four standard errors are 0.12
    assert abs(np.mean(moves[known])) < 4 * 80.5 / sqrt(known.sum())


@pytest.mark.parametrize("spread", [1.0, 1.3, 4.0])
def test_rounding_adds_a_twelfth_to_the_variance_of_noise(spread):
    """The variance of a normal draw that is rounded to whole units, summed term by term."""
    normal = NormalDist(0, spread)
    exact = sum(k * k * (normal.cdf(k + 0.5) - normal.cdf(k - 0.5)) for k in range(-60, 61))
    assert exact == pytest.approx(spread**2 + 1 / 12, rel=1e-6)


def test_limits_are_rounded_quantiles_of_values_with_noise(release):
    parts = release.custodian.evidence[0].parts["records"]
    old = release.custodian.original.columns["wage"].to_pylist()
    noised = sorted(round(v * 100) + int(m) for v, m in zip(old, parts["noise_1"], strict=True) if v is not None)
    quantile = noised[-(-9 * len(noised) // 10) - 1]
    (told,) = release.public.records.blankings
    assert told.kept["wage"].high == pytest.approx(
        round(quantile / 1000) * 10
    )  # to tens: a tenth of 150, and a power of ten
    assert told.kept["wage"].low is None
    assert told.kept["hours"].jitter == 4
    hours = sorted(v for v in release.custodian.original.columns["hours"].to_pylist() if v != 99)
    assert told.kept["hours"].low == hours[-(-len(hours) // 20) - 1]
    assert type(told.kept["hours"].low) is int


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=60), st.integers(1, 99), st.sampled_from([1, 10, 1000])
)
@settings(max_examples=60, deadline=None)
def test_a_rounded_quantile_lies_within_half_a_grain_of_the_value_with_that_share(values, percent, grain):
    found = rounded_quantile(np.sort(np.array(values)), percent / 100, grain)
    exact = min(v for v in values if 100 * sum(w <= v for w in values) >= percent * len(values))
    assert found % grain == 0
    assert -grain <= 2 * (found - exact) <= grain


def test_grains_are_powers_of_ten_from_a_hundredth_to_a_tenth_of_the_jitter():
    for jitter in (0.003, 0.5, 1, 9.99, 10, 250, 1e6):
        grain = rounding_grain(jitter, 9) / 1e9
        assert jitter / 100 < grain * (1 + 1e-12)
        assert grain <= jitter / 10 * (1 + 1e-12)


def test_values_are_kept_as_often_as_published():
    """Blanking by one column: the share of kept values in every tenth is the mean probability (4 standard errors)."""
    draw = np.random.default_rng(8)
    values = np.round(draw.normal(0, 2, 40_000), 4)
    data = ds.Microdata(pa.table({"y": values}), numeric="y")
    done = ds.protect(data, ds.BlankValues({"y": 0.9}, {"y": 0.02}, {"y": 1}), key=KEY)
    (told,) = done.public.records.blankings
    ends = told.kept["y"]
    chance = np.array([_phi(ends.high - y) - _phi(ends.low - y) for y in values])
    kept = done.custodian.released.columns["y"].is_valid().to_numpy()
    order = np.argsort(values)
    for tenth in np.array_split(order, 10):
        error = sqrt(float((chance[tenth] * (1 - chance[tenth])).sum())) / len(tenth)
        assert abs(kept[tenth].mean() - chance[tenth].mean()) < 4 * error + 1e-9


def _phi(z: float) -> float:
    return (1 + erf(z / sqrt(2))) / 2


def test_the_order_of_rows_says_nothing():
    data = people()
    mixed = data.with_(source=data.source.take(pa.array(np.random.default_rng(1).permutation(ROWS))))
    one, two = (ds.protect(given, BOTH, key=KEY).public.records for given in (data, mixed))
    assert one.columns.equals(two.columns)
    assert one.blankings == two.blankings


def noise_by_id(data: ds.Microdata, noise: float, version: int = 1) -> np.ndarray:
    done = ds.protect(data, ds.BlankValues(noise={"wage": noise}, version=version), key=KEY)
    return done.custodian.evidence[0].parts["records"]["noise_0"] / noise


def test_no_two_releases_share_noise_that_cancels():
    """Another variance, version, or value of the same person has other noise; the same ones have the same."""
    data = people()
    first = noise_by_id(data, 50)
    assert np.array_equal(first, noise_by_id(data, 50))
    later = np.array([None if v is None else v + 1 for v in data.source["wage"].to_pylist()], object)
    raised = data.with_(source=data.source.set_column(1, "wage", pa.array(later, pa.float64())))
    for other in (noise_by_id(data, 100), noise_by_id(data, 50, version=2), noise_by_id(raised, 50)):
        known = (first != 0) & (other != 0)
        assert abs(np.corrcoef(first[known], other[known])[0, 1]) < 0.2


def test_the_same_records_are_emptied_for_nearly_the_same_limits():
    """Draws of decisions do not depend on limits: a second release gives little of what the first one took."""
    emptied = [
        ds.protect(people(), ds.BlankValues({"wage": share}, jitter={"wage": 150}), key=KEY)
        .custodian.released.columns["wage"]
        .is_null()
        .to_numpy()
        for share in (0.9, 0.91)
    ]
    assert np.mean(emptied[0] != emptied[1]) < 0.03


def test_lower_shares_empty_more_and_more_jitter_leaves_more_of_the_tail():
    """Card 003-14, check 7."""

    def numbers(share: float, jitter: float) -> tuple[int, float]:
        facts = ds.protect(people(3000), ds.BlankValues({"wage": share}, jitter={"wage": jitter}), key=KEY)
        found = facts.custodian.evidence[0].facts
        beyond, emptied, *_ = found["beyond"]["wage"]
        return found["blanked"], emptied / beyond

    dropped = [numbers(share, 150)[0] for share in (0.95, 0.9, 0.8)]
    assert dropped == sorted(dropped)
    shares = [numbers(0.9, jitter)[1] for jitter in (100, 250, 800)]
    assert shares == sorted(shares, reverse=True)


def test_further_columns_go_with_the_others():
    method = ds.BlankValues({"wage": 0.9}, jitter={"wage": 150}, also=["job", "area"])
    done = ds.protect(people(), method, key=KEY)
    new = done.custodian.released.columns.to_pydict()
    emptied = [i for i in range(ROWS) if new["area"][i] is None]
    assert len(emptied) == done.custodian.evidence[0].facts["blanked"] > 0
    assert all(new["wage"][i] is None and new["job"][i] is None for i in emptied)
    assert done.verify().holds
    assert set(done.public.records.blankings[0].columns) == {"wage", "job", "area"}


@pytest.mark.parametrize("keep_order", [False, True])
def test_nothing_that_was_emptied_stays_in_memory_under_the_gaps(keep_order):
    """Arrow may keep values under gaps: no file shows them, but a pickled release would have them."""
    data = people()
    source = data.source.append_column("name", pa.array([f"canary {i:04d}" for i in range(ROWS)]))
    method = ds.BlankValues({"wage": 0.9}, jitter={"wage": 150}, also=["name"])
    done = ds.protect(data.with_(source=source, sensitive=["name"]), method, key=KEY, keep_order=keep_order)
    seen, content = set(done.public.records.shown()["name"]), pickle.dumps(done)
    assert None in seen
    assert not [name for name in source["name"].to_pylist() if name not in seen and name.encode() in content]


def test_labels_and_codes_for_unknown_stay():
    data = people(value_labels={"hours": {"99": "not known", "30": "usual"}}, labels={"hours": "Hours a week"})
    about = ds.protect(data, ds.BlankValues({"hours": 0.9}, jitter={"hours": 4}), key=KEY).public.records.info["hours"]
    assert about.label == "Hours a week"
    assert about.value_labels == {"99": "not known", "30": "usual"}
    assert about.missing


def test_the_bundle_holds_records_numbers_and_words(tmp_path, release):
    release.save(tmp_path / "out")
    shown = {path.name for path in (tmp_path / "out" / "public").iterdir()}
    assert shown == {"records.csv", "records.blanking.json", "records.README.md"}
    assert ds.read_blanking(tmp_path / "out" / "public" / "records.blanking.json") == release.public.records.blankings
    words = (tmp_path / "out" / "public" / "records.README.md").read_text(encoding="utf-8")
    (told,) = release.public.records.blankings
    for number in (told.noise["wage"], told.kept["wage"].high, told.kept["hours"].low):
        assert repr(number) in words
    assert "ds.analyse.bsimex" in words
    assert ds.load(tmp_path / "out").public.records.blankings == release.public.records.blankings


def test_a_recipe_says_the_same(tmp_path):
    write_csv(people().source.drop_columns(["id"]), tmp_path / "people.csv")
    (tmp_path / "key.txt").write_text("5e" * 32, encoding="utf-8")
    (tmp_path / "key.txt").chmod(0o600)
    (tmp_path / "recipe.toml").write_text(
        """version = 1
[data]
file = "people.csv"
numeric = ["wage", "hours"]
[records]
[[protect]]
method = "blank_values"
upper = { wage = 0.9 }
jitter = { wage = 150 }
noise = { wage = 80.5 }
also = ["job"]
key_file = "key.txt"
[output]
directory = "out"
""",
        encoding="utf-8",
    )
    ds.run_recipe(tmp_path / "recipe.toml")
    (told,) = ds.read_blanking(next((tmp_path / "out" / "public").glob("*.blanking.json")))
    assert told.columns == ("wage", "job")
    assert ds.check_folder(tmp_path / "out").holds


# ---- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "neither limits nor noise"),
        ({"upper": {"wage": 0.9}}, r"do not name the same columns: 'wage'\. Give jitter= a standard deviation"),
        ({"noise": {"wage": 5}, "jitter": {"wage": 1}}, "do not name the same columns"),
        (
            {"upper": {"wage": 1}, "jitter": {"wage": 1}},
            r"upper\['wage'\]=1 is not allowed. Give a number above 0 and below 1",
        ),
        ({"lower": {"wage": 0}, "jitter": {"wage": 1}}, r"lower\['wage'\]=0 is not allowed"),
        ({"upper": {"wage": 0.9}, "jitter": {"wage": 0}}, r"jitter\['wage'\]=0 is not allowed. Give a number above 0"),
        ({"noise": {"wage": -1}}, r"noise\['wage'\]=-1 is not allowed"),
        ({"noise": {"wage": True}}, r"noise\['wage'\]=True is not allowed"),
        ({"noise": {3: 1}}, "has 3 in place of a name"),
        ({"noise": ["wage"]}, "noise= takes a mapping, not a list"),
        (
            {"upper": {"wage": 0.5}, "lower": {"wage": 0.5}, "jitter": {"wage": 1}},
            r"\(0.5\) is not below the upper one",
        ),
        ({"noise": {"wage": 5}, "also": ["job"]}, "there is no limit"),
        ({"upper": {"wage": 0.9}, "jitter": {"wage": 1}, "also": ["wage"]}, "emptied already"),
        ({"upper": {"wage": 0.9}, "jitter": {"wage": 1}, "also": ["job", "job"]}, "names a column twice"),
        ({"noise": {"wage": 5}, "least_chance": 1}, "least_chance=1 is not allowed"),
    ],
)
def test_parameters_that_say_nothing_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        ds.BlankValues(**parameters)


@pytest.mark.parametrize(
    ("method", "error", "message"),
    [
        (ds.BlankValues({"pay": 0.9}, jitter={"pay": 1}), InputError, "no column 'pay'"),
        (ds.BlankValues({"id": 0.9}, jitter={"id": 1}), ParameterError, "'id' is a identifier"),
        (ds.BlankValues({"job": 0.9}, jitter={"job": 1}), InputError, "'job' holds string, not numbers"),
        (ds.BlankValues(noise={"wage": 0.009}), ParameterError, r"less than the unit of the column \(0.01\)"),
        (ds.BlankValues(noise={"wage": 1e16}), ParameterError, "too large to be added exactly"),
        (
            ds.BlankValues(noise={"hours": 60}),
            InputError,
            "Noise makes a value of column 'hours' a code for \"unknown\"",
        ),
        (
            ds.BlankValues({"hours": 0.5}, {"hours": 0.49}, {"hours": 200}),
            ParameterError,
            "limits of 'hours' meet when they are rounded",
        ),
        (
            ds.BlankValues({"wage": 0.9}, jitter={"wage": 150}, least_chance=0.3),
            ProtectionError,
            r"of 'wage' would be published although its probability is below 0.3",
        ),
    ],
)
def test_records_that_cannot_be_blanked_are_refused(method, error, message):
    with pytest.raises(error, match=message):
        ds.protect(people(), method, key=KEY)


def test_a_column_without_values_has_no_limits():
    data = ds.Microdata(pa.table({"a": pa.array([None, None], pa.float64()), "b": [1, 2]}), numeric=["a"])
    with pytest.raises(InputError, match="'a' has no value, so that it has no quantiles"):
        ds.protect(data, ds.BlankValues({"a": 0.9}, jitter={"a": 1}), key=KEY)


def test_a_release_in_which_nothing_changes_or_nothing_is_left_is_refused():
    data = ds.Microdata(pa.table({"a": [*range(1000, 1019), 0]}), numeric=["a"])
    with pytest.raises(ProtectionError, match="No draw fell beyond a limit: no value would change"):
        ds.protect(data, ds.BlankValues(lower={"a": 0.02}, jitter={"a": 0.001}, version=4), key=KEY)
    one = ds.Microdata(pa.table({"a": [1]}), numeric=["a"])  # its own quantile: kept every other time

    def blanked(version: int) -> ds.Release:
        return ds.protect(one, ds.BlankValues({"a": 0.5}, jitter={"a": 1}, noise={"a": 1}, version=version), key=KEY)

    with pytest.raises(ProtectionError, match="Every record would be emptied"):
        blanked(4)
    assert blanked(5).verify().holds


def test_losses_that_no_weight_can_stand_for_are_noted():
    data = ds.Microdata(pa.table({"a": [*range(99), 10_000]}), numeric=["a"])
    done = ds.protect(data, ds.BlankValues({"a": 0.9}, jitter={"a": 20}), key=KEY)
    assert any(
        "1 value of 'a' had a probability below 1e-06 of staying" in note for note in done.custodian.log["notes"]
    )
    assert done.custodian.released.columns["a"].to_pylist()[-1] is None


def test_a_later_step_on_the_same_columns_is_refused():
    steps = [ds.BlankValues({"wage": 0.9}, jitter={"wage": 150}), ds.Recode("wage", base=10)]
    with pytest.raises(ParameterError, match="do not fit 'wage', changed by a later step"):
        ds.protect(people(), steps, key=KEY)
    with pytest.raises(ParameterError, match="Give BlankValues last, and once for all its columns"):
        ds.protect(people(), [BOTH, ds.BlankValues(noise={"wage": 80.5})], key=KEY)
    first = ds.Recode("wage", base=10)
    assert (
        ds.protect(people(), [first, *steps[:1], ds.Recode("area", map={"n": "all", "s": "all"})], key=KEY)
        .verify()
        .holds
    )


def test_tables_are_no_place_for_it():
    spec = ds.TableSpec(by={"area": ds.Hierarchy.flat(["n", "s"])}, value="wage")
    with pytest.raises(ParameterError, match="sums without the values that it empties would be too small"):
        ds.protect(people(), [BOTH, ds.Round(base=5)], tables=[spec])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "does not say how values were blanked"),
        ("[", "does not say how values were blanked"),
        ('{"blankings": [{"columns": ["a"]}]}', "This does not say how values were blanked"),
        (
            '{"blankings": [{"columns": ["a"], "kept": {"b": {"low": null, "high": 1, "jitter": 1}}, "noise": {}}]}',
            "'b'",
        ),
        (
            '{"blankings": [{"columns": ["a"], "kept": {"a": {"low": 2, "high": 1, "jitter": 1}}, "noise": {}}]}',
            "no limits",
        ),
        (
            '{"blankings": [{"columns": ["a"], "kept": {"a": {"low": 2, "high": null, "jitter": 0}}, "noise": {}}]}',
            "jitter=0",
        ),
        ('{"blankings": [{"columns": ["a"], "kept": {}, "noise": {"a": -1}}]}', "no variance above 0"),
    ],
)
def test_files_that_tell_nothing_are_refused(tmp_path, text, message):
    (tmp_path / "told.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        ds.read_blanking(tmp_path / "told.json")


def test_a_missing_or_huge_file_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"Cannot read 'none\.json'"):
        ds.read_blanking(tmp_path / "none.json")
    (tmp_path / "huge.json").write_bytes(b" " * 1_000_001)
    with pytest.raises(InputError, match="too large"):
        ds.read_blanking(tmp_path / "huge.json")


def test_what_is_told_goes_to_plain_data_and_back(release):
    for told in release.public.records.blankings:
        assert Blanking.from_record(told.record()) == told
