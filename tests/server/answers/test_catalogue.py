"""Mistakes in a catalogue: each is found when it is read, and the error names the file and what is wrong in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import DiscreetError, InputError, ParameterError
from discreet.server import catalogue as home
from discreet.server.catalogue import read_catalogue
from discreet.server.sample import CATALOGUE

METHOD = 'method = { method = "cell_key", D = 5, V = 3.0, js = 2, modulus = 65536, magnitudes = { small = 0.3 } }'
POLICY = "most_variables = 3"


def read(folder: Path, text: str | bytes) -> DiscreetError:
    """The error that a catalogue is refused with."""
    path = folder / "census.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DiscreetError) as found:
        read_catalogue(path)
    assert str(folder) not in str(found.value)
    return found.value


def test_the_sample_has_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "census.toml"
    path.write_text(CATALOGUE, encoding="utf-8")
    assert read_catalogue(path).name == "census"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "census"', 'name = "../census"', "name = '../census'"),
        ('name = "census"', 'name = "a/b"', "name = 'a/b'"),
        ('name = "census"', 'name = ""', "name = ''"),
        ('edition = "2021.1"', 'edition = ".."', "edition = '..'"),
        ('edition = "2021.1"', 'edition = "1"\nagency = "a b"', "agency = 'a b'"),
        ('title = "A made-up census"', "title = 1", "title"),
        ('title = "A made-up census"', 'heading = "A"', "heading"),
        ("version = 1", "version = 2", "version"),
        ("[variables.sex]", '[variables."se x"]', "'se x'"),
        ("[variables.sex]", '[variables."../sex"]', "'../sex'"),
        ("[values.income]", "[values.sex]", "'sex'"),
        ('variable = "area"', 'variable = "region"', "'region'"),
        ("smallest = 20", "smallest = 0", "smallest"),
        ("smallest = 20", 'smallest = "many"', "smallest"),
        ('name = "adults"', 'name = "all"', "'all'"),
        ('name = "adults"', 'name = "a b"', "'a b'"),
        ('where = ["age >= 18"]', "where = []", "'adults' has no conditions"),
        ('where = ["age >= 18"]', 'where = ["age >="]', "age >="),
        (POLICY, "most_variables = 0", "most_variables"),
        (POLICY, f"{POLICY}\nmost_cells = 0", "most_cells"),
        (POLICY, f"{POLICY}\nbudget_cells = -1", "budget_cells"),
        (POLICY, f"{POLICY}\nsmallest_difference = 0", "smallest_difference"),
        (POLICY, f"{POLICY}\nmost_sparse = 1.5", "most_sparse"),
        (POLICY, f"{POLICY}\nrefinements = -1", "refinements"),
        (POLICY, f'{POLICY}\ncombinations = [["sex", "wealth"]]', "'wealth'"),
        (POLICY, f'{POLICY}\nrefused = [["wealth"]]', "'wealth'"),
        (POLICY, f'{POLICY}\nmode = "hypercube"', "hypercube"),
        (POLICY, f'{POLICY}\nmode = "cube"', "mode"),
        (POLICY, f'{POLICY}\nmode = "hypercube"\nhypercube = ["wealth"]', "'wealth'"),
        ("exact_share = 0.5", "exact_share = 0", "exact_share"),
        (METHOD, METHOD.replace("V = 3.0", "V = 1.5"), "V=1.5 is impossible: the row for 1 allows 2 to 5"),
        (METHOD, 'method = { method = "suppress" }', "withholds"),
        (METHOD, 'method = { method = "magic" }', "magic"),
        (METHOD, 'method = { method = "cell_key", D = 5, V = 3.0 }', "no noise for values"),
        (METHOD, 'method = { method = "drop_add" }', "drop_add"),
        ("version = 1", "version = = 1", "not valid TOML"),
    ],
)
def test_every_mistake_is_named_with_its_file(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in CATALOGUE
    error = read(tmp_path, CATALOGUE.replace(old, new, 1))
    assert isinstance(error, ParameterError)
    assert error.message.startswith("census.toml: ")
    assert words in error.message
    assert error.hint or "Available" in error.message


def test_two_universes_of_one_name(tmp_path: Path) -> None:
    again = '[[universes]]\nname = "adults"\nwhere = ["age >= 65"]\n\n[geography]'
    assert "Two universes are called 'adults'" in read(tmp_path, CATALOGUE.replace("[geography]", again)).message


def test_no_variables(tmp_path: Path) -> None:
    head, _, tail = CATALOGUE.partition("[variables.area]")
    _, _, tail = tail.partition("[values.income]")
    text = head + "[variables]\n[values.income]" + tail
    assert "no variables" in read(tmp_path, text).message


def test_files_that_are_no_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = read(tmp_path, b"version = 1\nname = '\xff'\n")
    assert isinstance(error, InputError)
    assert "byte 21" in error.message
    monkeypatch.setattr(home, "LARGEST", 100)
    assert "larger than a catalogue may be" in read(tmp_path, CATALOGUE).message
    with pytest.raises(InputError, match=r"no catalogue 'nothing\.toml'"):
        read_catalogue(tmp_path / "nothing.toml")
