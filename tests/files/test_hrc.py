"""Hierarchy files, code maps and label files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet import Hierarchy
from discreet.errors import InputError, ParameterError
from discreet.files.hrc import read_lines
from tests.model.random_hierarchies import trees


@pytest.fixture
def written(tmp_path: Path):
    def write(text: str | bytes, name: str = "codes.hrc") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def refusal(call) -> InputError:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.hint, "every refusal says what to do next"
    return caught.value


# ---- .hrc ----------------------------------------------------------------------------------------------------------


def test_depth_is_the_number_of_leading_signs(written):
    h = ds.read_hierarchy(written("North\n@N1\n@N2\n@@N21\nSouth\n"))
    assert [str(g) for g in h.groupings] == ["Total = North + South", "North = N1 + N2", "N2 = N21"]
    assert h.same("N2", "N21")


def test_trailing_blanks_are_dropped_and_leading_ones_kept(written):
    h = ds.read_hierarchy(written("North  \r\n@ 1\t \r\n@  2\r\n\r\n   \r\nSouth\r\n"))
    assert h.codes == ("Total", "North", " 1", "  2", "South")


def test_a_byte_order_mark_and_a_missing_last_line_end_do_not_matter(written):
    assert ds.read_hierarchy(written(b"\xef\xbb\xbfN\nS")).codes == ("Total", "N", "S")


def test_another_sign_and_another_total_can_be_named(written):
    h = ds.read_hierarchy(written("N\n..N1\n..N2\n....N21\n"), lead="..", total="Land", labels={"N": "North"})
    assert h.codes == ("Land", "N", "N1", "N2", "N21")
    assert h.label("N") == "North"


@settings(deadline=None, max_examples=50)
@given(trees(15), st.sampled_from(["@", "--"]))
def test_a_tree_survives_the_file(tmp_path_factory, tree: Hierarchy, lead: str):
    path = tmp_path_factory.mktemp("hrc") / "tree.hrc"
    ds.write_hierarchy(tree, path, lead=lead)
    again = ds.read_hierarchy(path, lead=lead)
    assert again.codes == tree.codes
    assert {g.parent: g.parts for g in again.groupings} == {g.parent: g.parts for g in tree.groupings}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("N\n@N1\n@@@N2\n", "codes.hrc, line 3: code 'N2' is 3 levels deep, but the code before it only 1."),
        ("@N\n", "codes.hrc, line 1: code 'N' is 1 level deep, but no code stands before it."),
        (
            "N\nS\n@N\n",
            "codes.hrc, line 3: code 'N' stands there a second time, and "
            "in line 1 it is a part of 'Total' and here of 'S'.",
        ),
        (
            "N\nTotal\n",
            "codes.hrc, line 2: code 'Total' stands there a second time, and it is the grand total, "
            "which is made of all the others.",
        ),
        (
            "N\n@a\n@b\nS\n@a\n@c\n",
            "codes.hrc, line 5: code 'a' stands there a second time, and "
            "in line 2 it is a part of 'N' and here of 'S'.",
        ),
        (
            "N\n@a\nS\nN\n@b\n",
            "codes.hrc, line 4: code 'N' stands there a second time, and in line 1 it is made of other codes than here "
            "('a', 'b').",
        ),
        (
            "N\n@N\n@N1\n",
            "codes.hrc, line 2: code 'N' stands there a second time, and "
            "in line 1 it is a part of 'Total' and here of 'N'.",
        ),
        ("N\n@\n", "codes.hrc, line 2: there is no code after '@'."),
        ("\n  \n", "The hierarchy file 'codes.hrc' has no codes."),
        ("", "The hierarchy file 'codes.hrc' has no codes."),
    ],
)
def test_mistakes_are_named_with_file_and_line(written, text, message):
    assert refusal(lambda: ds.read_hierarchy(written(text))).message == message


@pytest.mark.parametrize(
    "text",
    [
        "N\n@a\n@b\nS\n@S\n@@c\n@@d\n",
        "N\n@a\n@b\nS\n@S\n@@S\n@@@c\n@@@d\n",
        "N\n@a\n@b\n@a\nS\n@c\n@d\n@c\n",
        "N\n@a\n@b\nS\n@c\n@d\nN\n@b\n@a\n",
        "Total\n@N\n@@a\n@@b\n@S\n@@c\n@@d\n",
    ],
    ids=["its own only part", "three times", "listed again", "listed again with its parts", "with the total"],
)
def test_a_code_that_stands_twice_counts_once_where_it_means_the_same(written, text):
    plain, notes = ds.read_hierarchy(written("N\n@a\n@b\nS\n@c\n@d\n")), []
    again = ds.read_hierarchy(written(text), notes=notes)
    assert again.codes == plain.codes
    assert again.groupings == plain.groupings
    assert notes
    assert all("counts once" in note for note in notes)


def test_files_that_cannot_be_read_are_named(written, tmp_path):
    assert refusal(lambda: ds.read_hierarchy(tmp_path / "none.hrc")).message == "There is no file 'none.hrc'."
    assert "Is a directory" in refusal(lambda: read_lines(tmp_path)).message
    latin = written("Köln\n".encode("latin-1"))
    assert refusal(lambda: ds.read_hierarchy(latin)).message == "The file 'codes.hrc' is not UTF-8 text."


def test_depth_needs_a_sign(written):
    with pytest.raises(ParameterError, match=r"lead='' is not allowed. Give the string"):
        ds.read_hierarchy(written("N\n"), lead="")


@pytest.mark.parametrize(
    ("hierarchy", "words"),
    [
        (Hierarchy.flat(["a", "b"]).with_grouping("x", ["a"]), "'x = a' is a further or signed sum"),
        (Hierarchy.flat(["a", "b"]).with_grouping("x", ["Total"], minus=["b"]), "'x = Total - b' is a further"),
        (Hierarchy.flat(["a", "b"], total=None), "this hierarchy has none"),
        (Hierarchy.flat(["a ", "b"]), "cannot hold these codes: 'a '"),
        (Hierarchy.flat(["@a", "b"]), "cannot hold these codes: '@a'"),
        (Hierarchy.flat(["a\nb", "b"]), "cannot hold these codes"),
    ],
)
def test_what_an_hrc_file_cannot_hold_is_not_written(tmp_path, hierarchy, words):
    path = tmp_path / "out.hrc"
    assert words in refusal(lambda: ds.write_hierarchy(hierarchy, path)).message
    assert not path.exists()


# ---- code maps -----------------------------------------------------------------------------------------------------


def test_a_code_map_may_have_a_header_and_may_merge_codes(written):
    assert ds.read_code_map(written("old,new\n011,A1\n012,A1 \n\n 7,B\n")) == {"011": "A1", "012": "A1", " 7": "B"}
    assert ds.read_code_map(written("a;b\n"), delimiter=";") == {"a": "b"}


def test_codes_change_between_periods_by_a_map():
    frame = {"nace": ["011", "012", "020"], "turnover": [1, 2, 4]}
    import pyarrow as pa

    new = Hierarchy.flat(["A1", "020"])
    data = ds.Microdata(pa.table(frame), recode={"nace": {"011": "A1", "012": "A1"}})
    assert ds.tabulate(data, by={"nace": new}, value="turnover").view(nace="A1").values.tolist() == [3.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\na,c\n", "map.csv, line 2: code 'a' becomes both 'b' and 'c'."),
        ("a,b,c\n", "map.csv, line 1: 3 fields where an old and a new code are expected."),
        ("a;b\n", "map.csv, line 1: 1 field where an old and a new code are expected."),
        ("a,b\n,c\n", "map.csv, line 2: the old code is empty."),
        ("a,\n", "map.csv, line 1: the new code is empty."),
        ("old,new\n", "The code map 'map.csv' is empty."),
        ("", "The code map 'map.csv' is empty."),
    ],
)
def test_a_code_map_that_cannot_be_used_is_refused(written, text, message):
    assert refusal(lambda: ds.read_code_map(written(text, "map.csv"))).message == message


# ---- labels --------------------------------------------------------------------------------------------------------


def test_labels_may_hold_the_delimiter_quoted_or_not(written):
    path = written('A,"Agriculture, forestry"\nB,Mining, quarrying\n\nC ,  Manu "facturing"\nD,"open\nE,\n')
    assert ds.read_labels(path) == {
        "A": "Agriculture, forestry",
        "B": "Mining, quarrying",
        "C": 'Manu "facturing"',
        "D": "open",
        "E": "",
    }


def test_a_code_with_two_labels_is_refused(written):
    error = refusal(lambda: ds.read_labels(written("A,x\nA,x\nA,y\n", "labels.csv")))
    assert error.message == "labels.csv, line 3: code 'A' has a second label."
