"""Answers are what ``protect`` gives, whichever way a question is asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import discreet as ds
from discreet.server.account import MemoryAccount
from discreet.server.answer import answered, shown
from discreet.server.dataset import Dataset
from discreet.server.gate import admitted
from discreet.server.question import QuestionBody, QuestionRefusal
from tests.server.census import Asker, cells, made, people


def refusal(asker: Asker, *variables: str, **more: object) -> QuestionRefusal:
    with pytest.raises(QuestionRefusal) as found:
        asker(*variables, **more)
    return found.value


def test_an_answer_is_what_protect_gives_with_the_same_record_keys(census: Dataset) -> None:
    question, _ = admitted(census, QuestionBody(variables=["sex", "age_group"]))
    data, spec = census.asked(question)
    direct = ds.protect(data, census.method, tables=[spec]).public.tables[0]
    assert cells(answered(census, question, MemoryAccount()).table) == cells(direct)


def test_counts_are_near_the_truth_and_not_the_truth(census: Dataset, census_folder: Path) -> None:
    true = Counter((p["sex"], p["age_group"]) for p in people(census_folder))
    told = {k: v for k, v in Asker(census)("sex", "age_group").items() if k in true}
    assert len(told) > 30
    assert all(abs(told[cell] - true[cell]) <= 5 for cell in told)
    assert sum(told[cell] != true[cell] for cell in told) > len(told) / 2


def test_order_names_of_levels_and_repeats_give_one_answer(census: Dataset) -> None:
    asker = Asker(census)
    one = asker("sex", "age_group:1")
    assert {(a, s): v for (s, a), v in one.items()} == asker("age_group:1", "sex")
    assert one == Asker(census)("sex", "age_group:1")


def test_a_coarser_level_is_a_margin_of_a_finer_one(census: Dataset) -> None:
    asker = Asker(census)
    fine, coarse = asker("age_group:2"), asker("age_group:1")
    assert {cell: fine[cell] for cell in coarse} == coarse


def test_an_area_has_the_cells_that_the_table_of_all_areas_has(census: Dataset) -> None:
    asker = Asker(census)
    area = census.areas.codes[1]
    whole = asker("area:1", "sex")
    assert {(area, *cell): value for cell, value in asker("sex", area=area).items()} == {
        cell: value for cell, value in whole.items() if cell[0] == area
    }


def test_a_universe_counts_only_its_own(census: Dataset, census_folder: Path) -> None:
    adults = sum(p["age"] >= 18 for p in people(census_folder))
    assert abs(Asker(census)("sex", universe="adults")["Total",] - adults) <= 5


def test_groups_are_sums_of_published_cells(census: Dataset) -> None:
    asker = Asker(census)
    plain = asker("marital", "sex")
    grouped = asker("marital", "sex", groups={"marital": {"was married": ["W", "D"]}})
    assert grouped["was married", "F"] == plain["W", "F"] + plain["D", "F"]


def test_selections_show_less_and_change_nothing(census: Dataset) -> None:
    asker = Asker(census)
    plain = asker("marital", "sex")
    part = asker("marital", "sex", select={"marital": ["W"]}, totals=False)
    assert part == {cell: plain[cell] for cell in (("W", "F"), ("W", "M"))}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"variables": []}, "no-variables"),
        ({"variables": ["sexx"]}, "unknown-variable"),
        ({"variables": ["sex", "sex"]}, "twice"),
        ({"variables": ["sex:3"]}, "unknown-level"),
        ({"variables": ["sex:x"]}, "unknown-level"),
        ({"variables": ["sex"], "universe": "children"}, "unknown-universe"),
        ({"variables": ["sex"], "area": "nowhere"}, "unknown-area"),
        ({"variables": ["sex", "area"], "area": "G01"}, "area-twice"),
        ({"variables": ["sex"], "value": "wealth"}, "unknown-value"),
        ({"variables": ["sex"], "measure": "median"}, "unknown-measure"),
        ({"variables": ["sex"], "measure": "mean"}, "no-value"),
        ({"variables": ["sex", "marital", "education", "labour"]}, "too-many-variables"),
        ({"variables": ["area", "birth", "age_group", "labour"]}, "too-many-cells"),
        ({"variables": ["sex"], "select": {"age": ["1"]}}, "unknown-variable"),
        ({"variables": ["sex"], "select": {"sex": ["X"]}}, "unknown-code"),
        ({"variables": ["sex"], "select": {"sex": []}}, "no-codes"),
        ({"variables": ["sex"], "groups": {"sex": {"F": ["M"]}}}, "group-name"),
        ({"variables": ["sex"], "groups": {"sex": {"both": ["F", "Total"]}}}, "group-members"),
    ],
)
def test_the_gate_refuses_before_any_work(census: Dataset, body: dict[str, object], kind: str) -> None:
    with pytest.raises(QuestionRefusal) as found:
        admitted(census, QuestionBody(**body))  # type: ignore[arg-type]
    assert found.value.kind == kind
    assert found.value.hint or "Use" in found.value.message or "There" in found.value.message


def test_one_hypercube_answers_everything_as_sums_of_its_cells(tmp_path: Path) -> None:
    census = made(
        tmp_path,
        records=3_000,
        change={
            "most_variables = 3": 'most_variables = 3\nmode = "hypercube"\nhypercube = ["sex", "age_group", "marital"]'
        },
    )
    asker = Asker(census)
    fine = asker("sex", "age_group", "marital")
    hierarchy = census.hierarchies["age_group"]
    finest = {c for c, base in zip(hierarchy.codes, hierarchy.base.tolist(), strict=True) if base}
    by_sex: Counter[str] = Counter()
    for (sex, age, marital), value in fine.items():
        if sex != "Total" and age in finest and marital != "Total":
            by_sex[sex] += value
    assert {cell[0]: v for cell, v in asker("sex").items() if cell != ("Total",)} == dict(by_sex)
    assert asker("sex")["Total",] == sum(by_sex.values())
    assert refusal(asker, "labour").kind == "not-in-hypercube"


REFUSING = {"smallest = 20": "smallest = 480"}


def test_an_area_that_is_not_answered_is_not_in_the_table_and_does_not_read_as_zero(tmp_path: Path) -> None:
    census = made(tmp_path, records=20_000, change=REFUSING)
    gone = census.refused["all"]
    hierarchy = census.areas
    assert 0 < len(gone) < len(hierarchy.base_codes)
    question, _ = admitted(census, QuestionBody(variables=["area", "sex"]))
    table = answered(census, question, MemoryAccount()).table
    k = table.variables.index("area")
    assert not gone & set(table.code_lists[k])
    assert not gone & {cell[k] for cell in cells(table)}
    parents = {
        code: None if parent < 0 else table.code_lists[k][parent]
        for code, parent in zip(table.code_lists[k], table.parents[k], strict=True)
    }
    before = {
        code: None if parent < 0 else hierarchy.codes[parent]
        for code, parent in zip(hierarchy.codes, hierarchy.parents.tolist(), strict=True)
    }
    for code, parent in parents.items():
        above = before[code]
        while above in gone:
            above = before[above]
        assert parent == above


def test_a_selection_of_areas_has_those_that_are_answered(tmp_path: Path) -> None:
    census = made(tmp_path, records=20_000, change=REFUSING)
    gone = sorted(census.refused["all"])[0]
    there = next(code for code in census.areas.base_codes if code not in census.refused["all"])
    question, selection = admitted(census, QuestionBody(variables=["area", "sex"], select={"area": [gone, there]}))
    answer = answered(census, question, MemoryAccount())
    assert shown(census, answer, selection).code_lists[0] == ("Total", there)
    assert refusal(Asker(census), "area", "sex", select={"area": [gone]}, totals=False).kind == "small-area"


def test_sums_of_a_hypercube_leave_out_areas_that_are_not_answered(tmp_path: Path) -> None:
    cube = 'most_variables = 3\nmode = "hypercube"\nhypercube = ["sex", "area"]'
    census = made(tmp_path, records=20_000, change={**REFUSING, "most_variables = 3": cube})
    question, _ = admitted(census, QuestionBody(variables=["area", "sex"]))
    table = answered(census, question, MemoryAccount()).table
    assert census.refused["all"]
    assert set(table.code_lists[0]) == set(census.areas.codes) - census.refused["all"]
    assert {cell[0] for cell in cells(table)} <= set(table.code_lists[0])
