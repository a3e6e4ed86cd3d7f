"""The recipe of Kennickell and Lane (2006) on the stand-in survey: the acceptance checks of card 003-25."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError
from discreet.methods.base import Method
from discreet.methods.registry import method_from_record
from discreet.model.custodian import RecordCustodian
from discreet.records.round_randomly import MONEY, base_of

ROOT = Path(__file__).parents[2]
PARTS = ("wage", "business", "rent", "house", "financial", "debts")
TOTALS = {"income": ["wage", "business", "rent"], "assets": ["house", "financial"], "networth": ["assets", "-debts"]}
KEY = ds.Key(bytes(range(32)))


@cache
def survey(seed: int = 1) -> pa.Table:
    return ds.generate.wealth_survey(4_500, seed=seed).records


def households(seed: int = 1, **more: object) -> ds.Microdata:
    given = {
        "identifier": "household",
        "numeric": [*PARTS, *TOTALS],
        "keys": ["age", "education", "occupation"],
        "sensitive": ["region", "accounts", "acres"],
        "weight": "weight",
    }
    return ds.Microdata(survey(seed), **{**given, **more})


@cache
def recipe() -> ds.Release[RecordCustodian]:
    steps = ds.presets.wealth_survey(
        [*PARTS, *TOTALS],
        coarsen={"education": {"1": "low", "2": "low", "3": "high", "4": "high"}},
        top={"accounts": 10, "age": 95},
        totals=TOTALS,
        by=["networth"],
        predictors=["age", "education"],
        round_other={"acres": 5},
    )
    return ds.protect(households(), steps, key=KEY, keep_order=True)


def column(table: pa.Table, name: str) -> np.ndarray:
    return np.asarray(table[name].to_numpy(), np.float64)


def test_the_stand_in_is_what_the_card_asks_for():
    worth, weight = column(survey(), "networth"), column(survey(), "weight")
    assert len(worth) == 4_500
    assert abs((worth <= 0).mean() - 0.2) < 0.02
    logs = np.log(worth[worth > 0])
    assert abs(((logs - logs.mean()) ** 3).mean() / logs.std() ** 3) < 1  # nearly symmetric in logarithms
    rich = worth > np.quantile(worth, 0.95)
    assert weight[rich].mean() < 0.3 * weight[~rich].mean()


def test_the_chance_to_go_up_is_exact():
    """Of evenly spaced draws 2,221 in 10,000 let 1,222,221 go up, and 679 in 1,000 let -54,321 go up."""
    for value, base, up in ((1_222_221, 10_000, 2_221), (-54_321, 1_000, 679)):
        assert base_of(np.array([value]), [(int(size), int(b)) for size, b in MONEY]).tolist() == [base]
        assert int((np.arange(base) / base * base < value % base).sum()) == up


def test_the_whole_recipe_holds_and_says_what_it_did():
    done = recipe()
    verdict = done.verify()
    assert not verdict.refused
    kinds = [step.evidence.method["method"] for step in done.custodian.steps]
    assert kinds == ["recode", "recode", "recode", "redraw", "round_randomly"]
    assert sum("Every" in line and "secret key draws" in line for line in verdict.proved) == 2


def test_top_coded_maxima_are_the_limits_and_counts_are_logged():
    """Check 3."""
    done = recipe()
    for name, limit, step in (("accounts", 10, 1), ("age", 95, 2)):
        old = column(survey(), name)
        assert column(done.public.records.columns, name).max() == limit < old.max()
        (tail,) = done.custodian.steps[step].evidence.facts["tails"]
        assert tail["records"] == int((old > limit).sum()) > 0


def test_every_amount_of_the_public_file_is_a_multiple_and_totals_add_up():
    """Checks 1 and 2, after all steps: multiples of 10 at least, and of 1,000 where amounts are large."""
    public = {name: column(recipe().public.records.columns, name) for name in (*PARTS, *TOTALS, "acres")}
    for name in PARTS:
        values = np.abs(public[name])
        assert np.all(values % 10 == 0)
        assert np.all(values[values > 10_000] % 1_000 == 0)
        assert np.all(values[values > 1_000_000] % 10_000 == 0)
    assert np.all(public["acres"] % 5 == 0)
    assert np.array_equal(public["income"], public["wage"] + public["business"] + public["rent"])
    assert np.array_equal(public["networth"], public["assets"] - public["debts"])


def zeros(values: np.ndarray) -> np.ndarray:
    """How many zeros amounts end with."""
    return sum((values % 10**k == 0).astype(int) for k in range(1, 10))


def test_no_column_separates_altered_records():
    """Check 5: amounts of altered records end with as many zeros as they did, so that they look like all others."""
    done = recipe()
    chosen = np.asarray(done.custodian.steps[3].evidence.parts["records"]["chosen"]) > 0
    assert chosen.sum() == 350
    for name in PARTS:
        old, new = column(survey(), name)[chosen], column(done.custodian.steps[3].changed, name)[chosen]
        there = np.abs(old) > 1_000
        assert abs(zeros(old[there]).mean() - zeros(new[there]).mean()) < 0.3, name
    assert set(done.public.records.variables) == set(survey().column_names) - {"household"}


def test_the_same_key_gives_the_same_file():
    """Check 5."""
    again = ds.protect(households(), [step_of(number) for number in range(5)], key=KEY, keep_order=True)
    assert again.public.records.columns.equals(recipe().public.records.columns)


def step_of(number: int) -> Method:
    return method_from_record(recipe().custodian.log["protect"][number])


@pytest.mark.parametrize("seed", range(1, 6))
def test_rounding_alone_hardly_moves_means_and_medians(seed):
    """Check 6: means by less than 0.1 %, medians by less than 2 %."""
    done = ds.protect(households(seed), ds.RoundRandomly(totals=TOTALS), key=KEY, keep_order=True)
    for name in (*PARTS, *TOTALS):
        old, new = column(survey(seed), name), column(done.public.records.columns, name)
        assert abs(new.mean() / old.mean() - 1) < 0.001, name
        middle = np.median(old)
        assert np.median(new) == 0 if middle == 0 else abs(np.median(new) / middle - 1) < 0.02, name


@pytest.mark.parametrize("seed", range(1, 6))
def test_bounded_simulation_of_the_largest_hardly_moves_the_mean(seed):
    """Check 6: 350 cases chosen for size move the mean of net worth by less than 5 %."""
    method = ds.Redraw(PARTS, unusual=350, by="networth", totals=TOTALS, predictors=["age", "education"])
    done = ds.protect(households(seed), method, key=KEY, keep_order=True)
    old, new = column(survey(seed), "networth"), column(done.public.records.columns, "networth")
    assert int((old != new).sum()) in range(340, 351)  # a few sums are the same as before
    assert abs(new.mean() / old.mean() - 1) < 0.05
    assert abs(np.median(new) / np.median(old) - 1) < 0.001


def test_maps_that_do_not_cover_all_codes_are_refused():
    steps = ds.presets.wealth_survey(["wage"], coarsen={"education": {"1": "low", "2": "low"}})
    with pytest.raises(InputError, match="Column 'education' has 2 codes that its map does not name"):
        ds.protect(households(), steps, key=KEY)


def test_the_preset_is_a_list_that_can_be_changed():
    steps = ds.presets.wealth_survey(
        ["wage", "debts"], unusual=0, camouflage=0, negative=["wage"], top={"debts": 10**6}
    )
    assert [step.kind for step in steps] == ["recode", "recode", "round_randomly"]
    assert steps[-1].keep == (-9,)
    with pytest.raises(ParameterError, match="'wage': a column that is coded cannot be a total or a part of one"):
        ds.presets.wealth_survey(["wage", "rent"], negative=["wage"], totals={"income": ["wage", "rent"]})


def test_the_recipe_of_the_page_runs(tmp_path):
    pc.write_csv(survey().drop_columns(["income"]).cast(plain(survey())), tmp_path / "survey.csv")
    text = (ROOT / "docs/how-to/wealth-survey.toml").read_text(encoding="utf-8")
    page = (ROOT / "docs/how-to/wealth-survey.md").read_text(encoding="utf-8")
    assert f"```toml\n{text}```" in page
    (tmp_path / "wealth-survey.toml").write_text(text, encoding="utf-8")
    run = ds.run_recipe(tmp_path / "wealth-survey.toml")
    assert not run.verdict.refused
    worth = survey()["networth"].to_numpy()
    assert len(run.release.public.records) == int((worth <= 400_000_000).sum()) < 4_500
    assert "1 record was left out before anything else: networth > 400000000." in run.release.custodian.log["notes"]
    shown = run.release.public.records.columns
    assert set(shown["occupation"].unique().to_pylist()) == {"white_collar", "service", "farm", "manual", "none"}
    assert column(shown, "business").min() == -9
    assert ds.check_folder(tmp_path / "out").holds


def plain(table: pa.Table) -> pa.Schema:
    """Codes as text: the writer of csv files takes no dictionaries."""
    kinds = {f.name: f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in table.schema}
    return pa.schema([(name, kind) for name, kind in kinds.items() if name != "income"])
