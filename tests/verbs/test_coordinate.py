"""Several offices protect one table together."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError
from discreet.generate import business_survey
from discreet.model.table import CellStatus
from discreet.verbs.office_sums import unsafe_sums
from discreet.verbs.offices import JOINT, joint_table, offices_of, top_table

MODULAR = ds.Suppress(algorithm="modular", insiders=None)


@cache
def survey(seed: int = 1) -> ds.Table:
    made = business_survey(1_200, seed=seed, activities=(4, 10, 16), regions=(5, 14))
    by = {v: ds.Hierarchy.from_parents(made.parents[v], total="Total") for v in ("activity", "region")}
    table = ds.tabulate(ds.Microdata(made.records, contributor="holding"), by=by, value="turnover", name="firms")
    return table.assess(ds.PPercent(10))


@cache
def coordinated(model: str = "decentral", algorithm: str = "modular"):
    options = {"weighted": {"last": survey(2)}, "block": {"alone": ("R1", "R2")}}.get(model, {})
    method = replace(MODULAR, algorithm=algorithm)
    return ds.coordinate(survey(), "region", method, model=model, frozen="report", **options)


def withheld(pattern: ds.Pattern) -> set[tuple[str, ...]]:
    return {cell for status in ("unsafe", "secondary") for cell in pattern.cells(status=status)}


# ---- the tables of offices -----------------------------------------------------------------------------------


def test_the_tables_of_offices_add_up_and_cover_the_whole():
    table = survey()
    parts = [ds.office_table(table, "region", office) for office in offices_of(table, "region")]
    for part in parts:
        assert part.spec.by["region"].total in offices_of(table, "region")
        ds.protect(part, ds.Suppress(insiders=None))  # refuses tables that do not add up
    assert sum(len(part) for part in parts) == len(table) - len(table.view(region="Total"))
    assert sum(part.unsafe.sum() for part in parts) == table.unsafe.sum() - table.view(region="Total").unsafe.sum()


def test_the_made_up_total_of_a_joint_run_adds_up_and_is_not_judged():
    joint = joint_table(survey(), "region", ["R1", "R3"])
    mine = joint.view(region=JOINT)
    assert not mine.unsafe.any()
    expected = sum(joint.values[joint.row(region=office)] for office in ("R1", "R3"))
    assert joint.values[joint.row()] == pytest.approx(expected)
    ds.protect(joint, ds.Suppress(insiders=None))


def test_the_top_has_the_offices_and_nothing_below():
    top = top_table(survey(), "region")
    assert set(top.spec.by["region"].codes) == {"Total", *offices_of(survey(), "region")}


# ---- models --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["modular", "hypercube", "gauss", "certified"])
def test_no_total_with_exactly_one_withheld_office_is_published(algorithm):
    done = coordinated("decentral", algorithm)
    hidden = withheld(done.pattern)
    offices = offices_of(done.table, "region")
    for activity in done.table.spec.by["activity"].codes:
        count = sum((activity, office) in hidden for office in offices)
        if (activity, "Total") in {tuple(c) for c in done.pattern.cells()}:
            assert count != 1 or (activity, "Total") in hidden


def test_patterns_of_offices_are_those_of_their_own_runs_and_stay_frozen():
    done = coordinated()
    for office in offices_of(done.table, "region"):
        mine = ds.office_table(done.table, "region", office)
        accept = [{"class": kind, "reason": "r", "name": "n"} for kind in ("undecided", "impossible")]
        alone = ds.protect(mine, replace(MODULAR, accept=accept)).pattern()
        assert withheld(done.patterns[office]) == withheld(alone)
        region = set(mine.spec.by["region"].codes)
        assert {cell for cell in withheld(done.pattern) if cell[1] in region} == withheld(alone)


def test_offices_of_the_first_block_work_for_themselves():
    block, decentral = coordinated("block"), coordinated()
    assert withheld(block.patterns["R1"]) == withheld(decentral.patterns["R1"])
    assert withheld(block.pattern) != withheld(decentral.pattern)


def test_a_central_run_costs_the_top_least():
    top = {model: coordinated(model).counts()["top"] for model in ("central", "block", "decentral")}
    assert top["central"] <= top["block"] <= top["decentral"]
    assert top["central"] < top["decentral"]


def test_last_periods_secondaries_are_withheld_again():
    last = ds.coordinate(survey(2), "region", MODULAR, model="central").pattern
    before = set(last.cells(status="secondary"))
    plain, weighted = coordinated("decentral"), coordinated("weighted")
    again = [len(before & set(c.pattern.cells(status="secondary"))) for c in (plain, weighted)]
    assert again[1] > again[0]
    by_pattern = ds.coordinate(survey(), "region", MODULAR, model="weighted", last=last, frozen="report")
    assert withheld(by_pattern.pattern) == withheld(weighted.pattern)


def test_counts_recompute_from_the_frame_and_the_pattern():
    done = coordinated()
    frame, count = done.to_frame("pandas"), done.counts()
    assert frame["secondaries"].sum() == count["top"] + count["offices"] + count["below"]
    assert frame["secondaries"].sum() == done.pattern.count("secondary")
    top = frame[frame["region level"] == 0]
    assert count["top_share"] == round(100 * top["secondaries"].sum() / top["cells"].sum(), 2)


def test_coordination_claims_nothing_and_is_completed_to_a_certified_release():
    done = coordinated()
    assert "PS1*" not in done.found.met
    made = done.certified(ds.Suppress(insiders=None))
    assert made.release.verify().holds
    assert withheld(done.pattern) <= withheld(made.release.pattern())


# ---- sums of what offices withhold ---------------------------------------------------------------------------


def test_sums_of_offices_are_judged_like_cells():
    """As in a table in which the two offices are one."""
    table = survey()
    joined = table.spec.by["region"].with_grouping("both", ["R1", "R3"])
    judged = ds.tabulate(table.source, by={**table.spec.by, "region": joined}, value="turnover").assess(ds.PPercent(10))
    place = {tuple(judged.spec_codes(codes)): row for row, codes in enumerate(judged.codes.tolist())}
    top = top_table(table, "region")
    region = np.array(top.spec.by["region"].codes)[top.codes[:, top.variables.index("region")]]
    found = unsafe_sums(top, np.isin(region, ["R1", "R3"]), "region")
    got = {
        top.spec_codes(top.codes[row])[0]: level
        for row, level in zip(found.row.tolist(), found.upper.tolist(), strict=True)
    }
    expected = {
        a: int(judged.assessment.upper[place[a, "both"]])
        for a in table.spec.by["activity"].codes
        if (a, "R1") in place and (a, "R3") in place and judged.unsafe[place[a, "both"]]
    }
    assert expected
    assert got == expected


def unsafe_together(frozen: bool = False) -> tuple[ds.Table, ds.Pattern]:
    """Of trade a the offices N and S withhold a cell each: nearly all of both is one firm's. And what S withholds."""
    firms = [("a", "N", 1000), ("a", "N", 5), ("a", "W", 900), *[("a", "S", 10)] * 4, *[("a", "W", 800)] * 3]
    firms += [(trade, region, 500) for trade in ("b", "c") for region in ("N", "S", "W") for _ in range(4)]
    records = pa.table(dict(zip(("trade", "region", "v"), zip(*firms, strict=True), strict=True)))
    by = {"trade": ds.Hierarchy.flat(["a", "b", "c"]), "region": ds.Hierarchy.flat(["N", "S", "W"])}
    table = ds.tabulate(records, by=by, value="v")
    if frozen:
        table = table.marked({("a", "Total"): "P"})
    table = table.assess(ds.PPercent(10))
    part = ds.office_table(table, "region", "S").pattern().tables[0]
    status = part.status.copy()
    codes = [tuple(part.code_lists[k][i] for k, i in enumerate(row)) for row in part.codes.tolist()]
    status[[codes.index(("a", "S")), codes.index(("b", "S"))]] = CellStatus.SECONDARY
    return table, ds.Pattern((replace(part, status=status),))


def test_a_total_whose_withheld_parts_are_unsafe_together_is_withheld():
    """Which an algorithm that looks at exact values only would not see."""
    table, of_south = unsafe_together()
    gauss = ds.Suppress(algorithm="gauss", insiders=None)
    done = ds.coordinate(table, "region", gauss, patterns={"S": of_south}, frozen="report")
    assert {("a", "N"), ("a", "S")} <= withheld(done.pattern)
    assert ("a", "W") not in withheld(done.pattern)
    assert ("a", "Total") in withheld(done.pattern)


def test_a_frozen_total_whose_withheld_parts_are_unsafe_together_is_named():
    table, of_south = unsafe_together(frozen=True)
    gauss = ds.Suppress(algorithm="gauss", insiders=None)
    with pytest.raises(ProtectionError, match=r"what offices withhold of trade=a, region=Total, together"):
        ds.coordinate(table, "region", gauss, patterns={"S": of_south})


# ---- exchange between offices --------------------------------------------------------------------------------


def test_offices_exchange_pattern_files(tmp_path):
    table, files = survey(), {}
    for office in offices_of(table, "region"):
        mine = ds.office_table(table, "region", office)
        pattern = ds.protect(mine, ds.Suppress(insiders=None)).pattern()
        files[office] = tmp_path / f"{office}.csv"
        pattern.write(files[office])
    done = ds.coordinate(table, "region", ds.Suppress(insiders=None), patterns=files, frozen="report")
    own = ds.coordinate(table, "region", ds.Suppress(insiders=None), frozen="report")
    assert withheld(done.pattern) == withheld(own.pattern)


def test_an_office_with_other_codes_is_named():
    table = survey()
    mine = ds.office_table(table, "region", "R2")
    pattern = ds.protect(mine, ds.Suppress(insiders=None)).pattern()
    part = pattern.tables[0]
    other = tuple(tuple("Z99" if code == "Total" else code for code in codes) for codes in part.code_lists)
    with pytest.raises(InputError, match=r"Office 'R2' uses other codes.*Z99.*same code lists"):
        ds.coordinate(table, "region", patterns={"R2": ds.Pattern((replace(part, code_lists=other),))})


def test_an_office_that_publishes_unsafe_cells_is_named():
    mine = ds.office_table(survey(), "region", "R2")
    part = mine.pattern().tables[0]
    open_ = ds.Pattern((replace(part, status=np.full(len(part), CellStatus.SAFE, np.int8)),))
    with pytest.raises(InputError, match=r"Office 'R2' publishes \d+ unsafe cells"):
        ds.coordinate(survey(), "region", patterns={"R2": open_})


def frozen_table() -> ds.Table:
    """One office withholds a cell, and everything at the top is frozen."""
    values = {("a", "N"): 10, ("a", "S"): 40, ("b", "N"): 30, ("b", "S"): 50, ("c", "N"): 35, ("c", "S"): 45}
    rows = [(a, r, sum(v for (x, y), v in values.items() if a in ("Total", x) and r in ("Total", y)))
            for a in ("Total", "a", "b", "c") for r in ("Total", "N", "S")]  # fmt: skip
    cells = pa.table(
        {
            "trade": [a for a, _, _ in rows],
            "region": [r for _, r, _ in rows],
            "value": [v for _, _, v in rows],
            "status": ["U" if (a, r) == ("a", "N") else "P" if r == "Total" else "S" for a, r, _ in rows],
            "upper_protection": [2 if (a, r) == ("a", "N") else 0 for a, r, _ in rows],
        }
    )
    by = {"trade": ds.Hierarchy.flat(["a", "b", "c"]), "region": ds.Hierarchy.flat(["N", "S"])}
    return ds.Table.from_cells(cells, by=by, value="value").assess()


def test_a_frozen_cell_that_would_have_to_be_withheld_stops_the_work_or_is_reported_or_reopened():
    table = frozen_table()
    with pytest.raises(ProtectionError, match=r"cells are frozen.*trade=a, region=N.*frozen='reopen'"):
        ds.coordinate(table, "region")
    reported = ds.coordinate(table, "region", frozen="report")
    assert any("trade=a, region=N" in name for name in reported.open)
    assert "stay exposed at the top" in reported.summary()
    reopened = ds.coordinate(table, "region", frozen="reopen")
    assert reopened.open == ()
    assert ("a", "S") in withheld(reopened.pattern)
    assert ("a", "S") in withheld(reopened.patterns["S"])
    assert reopened.found.met[:2] == ("PS1", "PS1*")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "federal"}, "no model 'federal'"),
        ({"frozen": "never"}, "no way with frozen cells 'never'"),
        ({"model": "weighted"}, "last="),
        ({"last": "x.csv"}, "last="),
        ({"model": "block"}, "alone="),
        ({"model": "block", "alone": ["R9"]}, "no office 'R9'"),
        ({"patterns": {"R9": "x.csv"}}, "no office 'R9'"),
        ({"model": "central", "patterns": {"R1": "x.csv"}}, "takes no patterns"),
    ],
)
def test_impossible_requests_are_refused(options, said):
    with pytest.raises(ParameterError, match=said):
        ds.coordinate(survey(), "region", **options)


def test_offices_are_the_codes_below_the_total_of_a_tree():
    with pytest.raises(ParameterError, match="no variable 'state'"):
        ds.coordinate(survey(), "state")
    table = survey()
    coast = table.spec.by["region"].with_grouping("coast", ["R1", "R2"])
    signed = ds.tabulate(table.source, by={**table.spec.by, "region": coast}, value="turnover").assess(ds.PPercent(10))
    with pytest.raises(NeedsError, match="not one tree"):
        ds.coordinate(signed, "region")
