"""Ready-made tables, a-priori files, recodes and solver instances."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError
from discreet.files.argus.apriori import ACTIONS, Apriori, read_apriori, write_apriori
from discreet.files.argus.cells import read_argus_cells
from discreet.files.argus.hierarchies import argus_hierarchy
from discreet.files.argus.jj import Instance, jj_weights, read_jj, write_jj
from discreet.files.argus.rda import RdaVariable, read_metadata
from discreet.files.argus.recodes import Group, RecodeFile, closed_tree, code_map, nodes_at, read_recode, write_recode

RDA = """<SEPARATOR> ";"
<UNSAFE> "G"
Size "99"
  <RECODEABLE>
Region
  <RECODEABLE>
  <TOTCODE> "All"
Var2
  <NUMERIC> <DECIMALS> 2
Freq
  <FREQUENCY>
Top1
  <MAXSCORE>
Status
  <STATUS>
Low
  <NUMERIC> <LOWERPL>
"""


def cells_of(tmp_path: Path, text: str, rda: str = RDA) -> ds.Table:
    (tmp_path / "t.rda").write_text(rda)
    (tmp_path / "t.tab").write_text(text)
    return read_argus_cells(tmp_path / "t.tab", read_metadata(tmp_path / "t.rda", "cells"))


def test_decimal_commas_statuses_levels_and_empty_cells_are_read(tmp_path: Path) -> None:
    found = cells_of(tmp_path, '"Total";"All";16,84;3;5,00;S;0,01\n" 2";"";-;;;e;0\n" 4";"Nr";5,5;1;5;G;0,75\n')
    rows = found.frame.to_pylist()
    assert [row["Size"] for row in rows] == ["Total", " 2", " 4"]
    assert [row["value"] for row in rows] == [16.84, None, 5.5]
    assert [row["status"] for row in rows] == ["V", "E", "U"]
    assert [row["contributors"] for row in rows] == [3, 0, 1]
    assert rows[2]["lower_protection"] == 0.75
    assert found.decimals == 2


def test_a_response_without_a_frequency_has_one_contributor_and_the_log_says_so(tmp_path: Path) -> None:
    found = cells_of(tmp_path, "a;b;5;;5;S;0\n")
    assert found.frame["contributors"].to_pylist() == [1]
    assert found.notes == ("t.tab: 1 cell has a response and no frequency; it is taken to be 1.",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a;b;5;0;5;S;0\n",
            "t.tab, line 1: what stands in 'the frequency' cannot be read; expected a frequency above 0",
        ),
        ("a;b;5;1;5;S;0\na;c;-;3;;S;0\n", "t.tab, line 2: what stands in 'the frequency' cannot be read; expected no"),
        ("a;b;5;2;5;E;0\n", "t.tab, line 1: what stands in 'the status' cannot be read; expected no E beside a cell"),
        (
            "a;b;5;2;5;Q;0\n",
            "t.tab, line 1: found 'Q'; expected a status: S safe, G unsafe, P protected, M secondary, E",
        ),
        ("a;b;5;2;5;S\n", "t.tab, line 1: found '6 fields'; expected 7 fields separated by ';'"),
        ("a;b;x;2;5;S;0\n", "t.tab, line 1: what stands in 'Var2' cannot be read; expected a number"),
        ("a;b;5;2.5;5;S;0\n", "t.tab, line 1: what stands in 'the frequency' cannot be read; expected a whole number"),
        ("\n\na;b;5;0;5;S;0\n", "t.tab, line 3: what stands in 'the frequency' cannot be read"),
    ],
)
def test_bad_cells_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        cells_of(tmp_path, text)
    assert caught.value.message.startswith(message)


# ---- hierarchies ------------------------------------------------------------------------------------------------


def test_missing_codes_stand_under_the_total(tmp_path: Path) -> None:
    (tmp_path / "region.hrc").write_text("Nr\n@ 1\n@ 2\nOs \n@10\n")
    (tmp_path / "region.cdl").write_bytes("Nr,Nördlich\n".encode("latin-1"))
    notes: list[str] = []
    variable = RdaVariable("Region", recodeable=True, missing=("99",), hierarchy="region.hrc", labels="region.cdl")
    tree = argus_hierarchy(variable, ["Nr", " 1"], lambda name: tmp_path / name, notes)
    assert tree.codes == ("Total", "Nr", " 1", " 2", "Os", "10", "99")
    assert tree.missing == {"99"}
    assert tree.labels["Nr"] == "Nördlich"
    assert notes == ["region.cdl is not UTF-8 and was read as Latin-1."]


def test_digits_make_a_tree(tmp_path: Path) -> None:
    variable = RdaVariable("Code", length=3, recodeable=True, missing=("999",), hierarchical=True, levels=(2, 1, 0))
    tree = argus_hierarchy(variable, ["111", "112", "211", "999"], Path, [])
    assert tree.codes == ("Total", "11", "111", "112", "21", "211", "999")


# ---- recodes ----------------------------------------------------------------------------------------------------


def test_groups_and_ranges_are_read_as_right_justified_text(tmp_path: Path) -> None:
    (tmp_path / "a.grc").write_text("1:  2, 4-5\n2: -1\n3: 9-\n")
    codes = [" 1", " 2", " 3", " 4", " 5", " 9", "10"]
    assert code_map(read_recode(tmp_path / "a.grc"), codes) == {
        " 2": "1", " 4": "1", " 5": "1", " 1": "2", " 9": "3", "10": "3",
    }  # fmt: skip


def test_a_closed_node_swallows_what_is_below_it(tmp_path: Path) -> None:
    (tmp_path / "a.grc").write_text("<TREERECODE>\nNr\n")
    tree = ds.Hierarchy.from_nested({"Nr": {"N1": ["a", "b"], "N2": ["c"]}, "Os": ["d"]})
    nodes = [code for code, _ in read_recode(tmp_path / "a.grc").nodes]
    mapped, small = closed_tree(tree, nodes)
    assert mapped == {"a": "Nr", "b": "Nr", "c": "Nr"}
    assert small.codes == ("Total", "Nr", "Os", "d")
    assert nodes_at(tree, 1) == ["Nr", "Os"]
    assert closed_tree(tree, nodes_at(tree, 1))[1].codes == ("Total", "Nr", "Os")


def test_recodes_of_mu_argus_name_codes_for_unknown_and_a_file_of_labels(tmp_path: Path) -> None:
    text = '1: 2, 4-5\n<missing> "9" "x y"\n<CODELIST> "my codes.cdl"\n'
    (tmp_path / "a.grc").write_text(text)
    found = read_recode(tmp_path / "a.grc")
    assert (found.groups, found.missing, found.codelist) == (
        (Group("1", ("2", "4-5")),),
        ("9", "x y"),
        "my codes.cdl",
    )
    write_recode(found, tmp_path / "b.grc")
    assert read_recode(tmp_path / "b.grc") == found


def test_a_range_with_an_end_longer_than_all_codes_means_what_it_says() -> None:
    recode = RecodeFile((Group("low", ("-100",)),))
    assert code_map(recode, ["5", "50"]) == {"5": "low", "50": "low"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2, 3\n", "a.grc, line 1: found '1 2, 3'; expected new: old, old, from-to, -to or from-."),
        ("1: 2,, 3\n", "a.grc, line 1: found '1: 2,, 3'; expected codes between commas"),
        ("<TREERECODE>\n<TREE>\n", "a.grc, line 2: found '<TREE>'; expected a code of the tree."),
        ("// x\n", "a.grc, line 1: found 'nothing'; expected a line such as new: old, old."),
        (
            "1: 2\n<CODELIST> a.cdl b.cdl\n",
            "a.grc, line 2: found '<CODELIST> a.cdl b.cdl'; expected the name of one file",
        ),
        ("<CODELIST> a\n<CODELIST> b\n1: 2\n", "a.grc, line 2: found '<CODELIST> b'; expected the name of one file"),
        ("1: 2\n<LABELS> 9\n", "a.grc, line 2: found '<LABELS> 9'; expected new: old, old"),
        ("<", "a.grc, line 1: found '<'; expected new: old, old"),
    ],
)
def test_bad_recodes_name_file_line_found_and_expected(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.grc").write_text(text)
    with pytest.raises(InputError) as caught:
        read_recode(tmp_path / "a.grc")
    assert caught.value.message.startswith(message)


def test_a_code_in_two_groups_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.grc").write_text("x: 1\ny: 1-2\n")
    with pytest.raises(InputError, match="line 2: found 'code 1 in the group y'; expected each code in one group"):
        code_map(read_recode(tmp_path / "a.grc"), ["1", "2"])


plain = st.text("abc1é", min_size=1, max_size=3)


@given(st.dictionaries(plain, st.lists(plain | st.just("a-c"), min_size=1, max_size=3), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_recodes_survive_the_round_trip(tmp_path_factory: pytest.TempPathFactory, groups: dict[str, list[str]]) -> None:
    recode = RecodeFile(tuple(Group(new, tuple(old)) for new, old in groups.items()))
    path = tmp_path_factory.mktemp("grc") / "a.grc"
    write_recode(recode, path)
    assert read_recode(path) == recode


# ---- a-priori files ---------------------------------------------------------------------------------------------


@given(
    st.lists(
        st.sampled_from(sorted(ACTIONS)).flatmap(
            lambda action: st.builds(
                Apriori,
                st.tuples(plain | st.just(""), plain),
                st.just(action),
                st.lists(st.floats(0, 1e15, allow_nan=False), min_size=ACTIONS[action], max_size=ACTIONS[action]).map(
                    lambda values: tuple(sorted(values))
                ),
            )
        ),
        max_size=8,
    ),
    st.sampled_from([",", ";", " ", "\t"]),
)
@settings(max_examples=60, deadline=None)
def test_a_priori_files_survive_the_round_trip(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Apriori], separator: str
) -> None:
    path = tmp_path_factory.mktemp("hst") / "a.hst"
    write_apriori([*entries, Apriori(("x", "y"), "S")], path, separator)
    assert read_apriori(path, 2, separator) == (*entries, Apriori(("x", "y"), "S"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a,b", "a.hst, line 2: found '2 fields'; expected 2 codes and an action"),
        ("a,b,Z", "a.hst, line 2: found 'Z'; expected an action"),
        ("a,b,PL,1", "a.hst, line 2: found 'PL with 1 numbers'; expected PL with 2."),
        ("a,b,C,x", "a.hst, line 2: what stands in 'C' cannot be read; expected 1 numbers after it."),
        ("a,b,C,-1", "a.hst, line 2: what stands in 'C' cannot be read; expected numbers of at least 0"),
        ("a,b,AB,5,1", "a.hst, line 2: what stands in 'AB' cannot be read; expected a lower and a larger upper"),
    ],
)
def test_bad_a_priori_lines_are_errors_or_left_out_with_a_note(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "a.hst").write_text(f"a,b,u\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_apriori(tmp_path / "a.hst", 2)
    assert caught.value.message.startswith(message)
    notes: list[str] = []
    assert read_apriori(tmp_path / "a.hst", 2, ignore=True, notes=notes) == (Apriori(("a", "b"), "U"),)
    assert notes[0].startswith(f"left out: {message}")


# ---- solver instances -------------------------------------------------------------------------------------------

JJ = """0
3
0 12.5 20000 s 0 18.75 0 0 0
1 5 8000 u 0 18.75 1 1 0
2 7.5 12000 z 0 18.75 0 0 0
1
0 3 : 0 (-1) 1 (1) 2 (1)
"""


def test_an_instance_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.jj").write_text(JJ)
    found = read_jj(tmp_path / "a.jj")
    assert found.value.tolist() == [12.5, 5, 7.5]
    assert found.status.tolist() == [0, 1, 3]
    assert found.residual().tolist() == [0]
    assert jj_weights(found.value).tolist() == [20000, 8000, 12000]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0\n3", "0\nx", "a.jj, line 2: found 'x'; expected the number of cells."),
        ("0\n3", "0\n4", "a.jj, line 6: found '1 field'; expected index, value, weight"),
        ("0\n3", "0\n999999", "a.jj, line 2: found '999999'; expected the number of cells; the file is too short"),
        ("1 5 8000 u", "1 5 8000 q", "a.jj, line 4: found 'status q'; expected index, value"),
        ("1 5 8000 u", "7 5 8000 u", "a.jj, line 4: found \"cell '7'\"; expected cell 1, in order from 0."),
        ("1 5 8000 u", "1 nan 8000 u", "a.jj, line 4: what stands in 'field 2' cannot be read; expected a number."),
        ("1 5 8000 u", f"1 {'5' * 50} 8000 u", "a.jj, line 4: what stands in 'field 2' cannot be read"),
        ("2 (1)", "9 (1)", "a.jj, line 7: found '0 3 : 0 (-1) 1 (1) 9 (1)'; expected cells from 0 to 2."),
        ("2 (1)", "2 (7)", "a.jj, line 7: found '0 3 : 0 (-1) 1 (1) 2 (7)'; expected sum n : cell"),
        ("0 3 :", "0 4 :", "a.jj, line 7: found '4 terms announced and 3 given'; expected sum n"),
        ("0 3 : 0 (-1) 1 (1) 2 (1)\n", "", "a.jj, line 7: found 'the end of the file'; expected 1 more relations."),
    ],
)
def test_a_bad_instance_names_file_line_found_and_expected(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "a.jj").write_text(JJ.replace(old, new))
    with pytest.raises(InputError) as caught:
        read_jj(tmp_path / "a.jj")
    assert caught.value.message.startswith(message)


@given(st.integers(1, 30), st.integers(0, 10), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_instances_survive_the_round_trip(
    tmp_path_factory: pytest.TempPathFactory, cells: int, relations: int, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    amounts = [draw.integers(-(10**15), 10**15, cells) / 4 for _ in range(6)]
    sizes = draw.integers(1, 5, relations)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    instance = Instance(
        amounts[0],
        np.arange(1.0, cells + 1),
        draw.integers(0, 4, cells),
        *amounts[1:],
        draw.integers(0, 9, relations) / 2,
        start,
        draw.integers(0, cells, start[-1]),
        draw.choice([-1, 1], start[-1]),
    )
    path = tmp_path_factory.mktemp("jj") / "a.jj"
    write_jj(instance, path, decimals=2)
    again = read_jj(path)
    for name in Instance.__dataclass_fields__:
        assert np.array_equal(getattr(again, name), getattr(instance, name)), name
    assert Decimal(path.read_text().split()[3]) == Decimal(str(instance.value[0]))


# ---- labels -----------------------------------------------------------------------------------------------------

words = st.text("aé,\" '中", max_size=5).map(str.strip)


@given(st.dictionaries(words.map(lambda code: " " + code).filter(str.strip), words, min_size=1, max_size=5))
@settings(max_examples=50, deadline=None)
def test_labels_survive_the_round_trip(tmp_path_factory: pytest.TempPathFactory, labels: dict[str, str]) -> None:
    path = tmp_path_factory.mktemp("cdl") / "a.cdl"
    ds.write_labels(labels, path)
    assert ds.read_labels(path) == labels


def test_labels_that_cannot_be_read_back_are_refused(tmp_path: Path) -> None:
    for code, label in (("", "x"), ("a ", "x"), ("a", "x\ny")):
        with pytest.raises(InputError, match="cannot hold the code"):
            ds.write_labels({code: label}, tmp_path / "a.cdl")
