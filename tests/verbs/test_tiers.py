"""Tiers of one file: nested in what they tell, each checked, with one log."""

from __future__ import annotations

import json
import stat

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError, ProtectionError
from discreet.measures import largest_tail, rarest_risk, smallest_spread
from discreet.verbs.tiers import nesting_faults
from discreet.verify import check_folder

REGIONS = {f"{zone}{number}": zone for zone in "NCS" for number in range(4)}
HIERARCHY = ds.Hierarchy.from_parents({**REGIONS, "N": None, "C": None, "S": None}, total="All")


def households(rows: int = 600) -> ds.Microdata:
    draw = np.random.default_rng(5)
    table = pa.table(
        {
            "id": [f"h{i}" for i in range(rows)],
            "region": draw.choice(sorted(REGIONS), rows),
            "kind": draw.choice(["single", "couple", "family", "other"], rows),
            "street": draw.choice(["a", "b", "c"], rows),
            "rent": np.round(draw.lognormal(6, 0.5, rows), 2),
            "food": np.round(draw.lognormal(5, 0.3, rows), 2),
            "weight": np.round(draw.uniform(1, 5, rows), 2),
        }
    )
    return ds.Microdata(
        table,
        identifier="id",
        keys=["region", "kind", "street"],
        sensitive="rent",
        numeric="food",
        weight="weight",
        hierarchies={"region": HIERARCHY},
        value_labels={"kind": {"single": "one person"}},
    )


def plan() -> dict:
    return {
        "research": [ds.Recode("street", map={"a": "ab", "b": "ab", "c": "c"})],
        "administration": ds.Tier([ds.RankSwap(["rent"], 0.05)], drop="street"),
        "public": ds.Tier([ds.Recode("region", level=1), ds.Microaggregate(["rent"], 5)], rules=[ds.KAnonymity(3)]),
    }


KEY = ds.Key(bytes(32))


def test_each_tier_is_made_of_the_one_above_and_verifies():
    files = ds.tiers(households(), plan(), key=KEY)
    names = list(files.releases)
    assert names == ["research", "administration", "public"]
    assert all(files[name].verify().holds for name in names)
    for lower, higher in (("public", "administration"), ("administration", "research"), ("public", "research")):
        assert ds.is_nested(files[lower], files[higher]) == ((lower, higher) != ("public", "research"))
    assert not ds.is_nested(files["research"], files["public"])
    assert files["public"].public.records.variables == ("region", "kind", "rent", "food", "weight")
    assert files["public"].public.records.info["kind"].value_labels == {"single": "one person"}
    assert "administration: 5 columns, rank_swap; without street" in files.summary()


def test_columns_that_no_step_names_stay_as_they_were():
    data = households()
    files = ds.tiers(data, plan(), key=KEY)
    released = files["public"].custodian.released
    for name in ("food", "weight", "kind"):
        assert released[name].equals(data.source[name])


def test_a_finer_variable_in_a_lower_tier_is_found():
    data = households()
    broad, fine = (ds.protect(data, ds.Recode("region", level=level)) for level in (1, 2))
    assert nesting_faults(broad, fine) == []
    assert nesting_faults(fine, broad) == ["'region' of 'records' does not follow from that of 'records'"]
    fewer = ds.protect(
        data.with_(source=data.source.drop(["street"]), keys=["region", "kind"]), ds.Recode("region", level=1)
    )
    assert nesting_faults(broad, fewer) == ["'street' is in 'records' and not in 'records'"]


def test_drawn_values_that_were_not_made_of_the_others_are_not_nested():
    """Numbers that hardly repeat follow from anything, one by one."""
    data = households()
    one, two = (ds.protect(data, ds.RankSwap(["rent"], 0.1, version=version), key=KEY) for version in (1, 2))
    assert not ds.is_nested(one, two)
    assert ds.is_nested(one, ds.protect(data, ds.RankSwap(["rent"], 0.1), key=KEY))


RESIDUAL = ds.MaskResidual(ds.Microaggregate(["rent"], 5, "sum"), "gaussian", most_linked=1)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (ds.RankSwap(["rent"], 0.1), r"'public' exchanges values of column 'rent', and so"),
        (ds.AddNoise(["rent"], how="independent", version=3), r"column 'rent' .* \(add_noise, version 3\).*version=4"),
        (ds.MultiplicativeNoise("id", columns=["rent"]), r"repeats draws that .* \(multiplicative_noise, version 1\)"),
        (RESIDUAL, r"column 'rent' .* \(mask_residual, version 1\)"),
        (
            ds.MaskResidual(ds.RankSwap(["rent"]), ds.Microaggregate(k=200), most_linked=1),
            "exchanges values of column 'rent'",
        ),
    ],
)
def test_tiers_do_not_repeat_draws(method, said):
    """Exchanged twice, values come back; of noise that is added twice, holders of both files know the size."""
    with pytest.raises(ParameterError, match=said):
        ds.tiers(households(), {"research": [method], "public": [method]}, key=KEY)


def test_tiers_draw_anew_with_another_version():
    """Then the difference of both files tells nothing of the noise in the first."""
    noise = [ds.AddNoise(["rent"], how="independent", version=version) for version in (1, 2)]
    files = ds.tiers(households(), dict(zip(("research", "public"), ([one] for one in noise), strict=True)), key=KEY)
    first, second = (files[name].custodian.released["rent"].to_numpy() for name in ("research", "public"))
    assert files["public"].verify().holds
    assert abs(np.corrcoef(first - households().source["rent"].to_numpy(), second - first)[0, 1]) < 0.15


def test_all_tiers_are_saved_with_one_log(tmp_path):
    files = ds.tiers(households(), plan(), key=KEY)
    files.save(tmp_path / "out", formats=["csv", "parquet"])
    for name in files.releases:
        assert check_folder(tmp_path / "out" / name).holds
    log = tmp_path / "out" / "custodian" / "tiers.json"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert [entry["tier"] for entry in json.loads(log.read_text())] == ["research", "administration", "public"]
    assert json.loads(log.read_text())[1]["made_of"] == "research"
    files.save(tmp_path / "out", formats=["csv", "parquet"])


def test_a_sensitive_column_must_be_masked_or_left_out():
    bare = {"research": [ds.Recode("street", map={"a": "ab", "b": "ab", "c": "c"})]}
    with pytest.raises(ProtectionError, match=r"Tier 'research' has 'rent', sensitive, as it was\. Mask it"):
        ds.tiers(households(), bare)
    assert ds.tiers(households(), {"public": ds.Tier(drop=["rent"])})["public"].verify().holds


def test_published_tables_must_be_made_of_the_last_tier():
    count = ds.TableSpec(by={"kind": ds.Hierarchy.flat(["single", "couple", "family", "other"])}, name="by kind")
    fine = ds.TableSpec(by={"region": HIERARCHY}, name="by region")
    gone = ds.TableSpec(by={"street": ds.Hierarchy.flat(["a", "b", "c"])}, name="by street")
    assert ds.tiers(households(), plan(), tables=[count], key=KEY)
    with pytest.raises(ProtectionError, match="'by region' is already published by 'region', and the codes of"):
        ds.tiers(households(), plan(), tables=[fine], key=KEY)
    with pytest.raises(ProtectionError, match="the tier 'public' has no 'street'"):
        ds.tiers(households(), plan(), tables=[gone], key=KEY)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({}, ParameterError, "There is no tier"),
        ({"p/q": []}, ParameterError, "'p/q' is no name for a tier"),
        ({"public": ds.Tier(drop=["nothing"])}, InputError, "nothing"),
        ({"public": [ds.Recode("wealth", top=3)]}, InputError, "wealth"),
    ],
)
def test_bad_plans(wrong, error, message):
    with pytest.raises(error, match=message):
        ds.tiers(households(), wrong)


def test_tiers_take_methods_for_records_only():
    with pytest.raises(ParameterError, match="Suppress acts on tables"):
        ds.Tier([ds.Suppress()])
    with pytest.raises(ParameterError, match=r"There is no tier 'secret'\. The tiers are 'public'"):
        ds.tiers(households(), {"public": ds.Tier(drop=["rent"])})["secret"]


def test_releases_of_other_records_are_not_compared():
    one = ds.protect(households(), ds.Recode("region", level=1))
    two = ds.protect(households(500), ds.Recode("region", level=1))
    with pytest.raises(ParameterError, match="not of the same records"):
        ds.is_nested(one, two)


def test_risks_of_two_cells_by_hand():
    values, cell = np.array([1.0, 3.0, 5.0, 5.0, 8.0]), np.array([0, 0, 1, 1, 1])
    assert smallest_spread(values, cell) == 1.0
    assert smallest_spread(values, cell, "range") == 2.0
    assert smallest_spread(values, cell, "mean_deviation") == 1.0
    assert largest_tail(values, cell, above=4) == 1.0
    assert largest_tail(values, cell, below=2) == 0.5
    with pytest.raises(ParameterError, match="One limit is needed"):
        largest_tail(values, cell)
    with pytest.raises(ParameterError, match="spread='width' is not allowed"):
        smallest_spread(values, cell, "width")


def test_the_rarest_cell_of_the_census():
    assert rarest_risk(np.array([19, 200, 5]), np.array([1, 4, 0])) == pytest.approx(0.0526, abs=5e-5)
    assert rarest_risk(np.array([4, 2])) == 0.5
    with pytest.raises(InputError, match="records and no unit of the population"):
        rarest_risk(np.array([0, 2]), np.array([1, 1]))
