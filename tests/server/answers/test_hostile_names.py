"""Names as attackers write them: in questions, in paths of a catalogue, and in labels that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import pytest

from discreet.errors import DiscreetError
from discreet.server.dataset import Dataset, build_dataset
from tests.server.answers.test_http import TABLE, Server
from tests.server.census import KEY, made

HOSTILE = [
    "s\u0435x",  # the second letter is Cyrillic
    "\uff53\uff45\uff58",  # of full width
    "sex\u200b",
    "\u202exes",
    "sex\u0301",
    " sex",
    "sex\n",
    "SEX",
    "sex\x00",
    'sex"',
    "sex'--",
    "sex; drop table question",
    "${jndi:ldap://x}",
    "{{7*7}}",
    "../sex",
    "/dev/zero",
    "CON",
    "\U0001f600",
    "__class__",
]
FORMULAS = ("=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0")
BEGINS = ("=", "@", "+", "-", "\t", "\r")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_only_looks_like_one_is_unknown_in_every_place(census: Dataset, name: str) -> None:
    with Server(census) as server:
        for body in (
            {"variables": [name]},
            {"variables": [{"name": name, "level": 1}]},
            {"variables": ["marital"], "universe": name},
            {"variables": ["marital"], "area": name},
            {"variables": ["marital"], "value": name},
            {"variables": ["marital"], "measure": name},
            {"variables": ["marital"], "select": {"marital": [name]}},
            {"variables": ["marital"], "select": {name: ["S"]}},
            {"variables": ["marital"], "groups": {name: {"mine": ["S"]}}},
            {"variables": ["marital"], "groups": {"marital": {"mine": [name]}}},
        ):
            reply = server.client.post(TABLE, json=body)
            assert reply.status_code in (400, 404), body
            assert reply.headers["content-type"] == "application/problem+json"
        for path in (f"/v1/datasets/{name}/latest", f"/v1/datasets/census/latest/variables/{name}"):
            reply = server.client.get(server.client.base_url.join("/").copy_with(raw_path=quoted(path)))
            assert reply.status_code == 404, path
        assert {type(entry).__name__ for entry in server.log.entries} == {"QuestionRefused"}


def quoted(path: str) -> bytes:
    """A path with every odd byte as its number."""
    return "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "/._") else "".join(f"%{b:02X}" for b in raw)
        for letter in path
        for raw in [letter.encode()]
    ).encode()


@pytest.fixture(scope="module")
def formulas(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A data set whose labels are formulas."""
    names = 'names = { F = "Women", M = "Men" }'
    return made(
        tmp_path_factory.mktemp("formulas"),
        records=2_000,
        areas=4,
        change={
            names: f'names = {{ F = "{FORMULAS[0]}", M = "{FORMULAS[1]}" }}',
            'label = "Sex"': f'label = "{FORMULAS[2]}"',
            'title = "A made-up census"': f'title = "{FORMULAS[0]}"',
        },
    )


def test_no_cell_of_a_download_is_a_formula(formulas: Dataset) -> None:
    with Server(formulas) as server:
        for format in ("csv", "sdmx-csv"):
            reply = server.client.get(TABLE, params={"variables": "sex,marital", "format": format})
            rows = list(csv.reader(io.StringIO(reply.content.decode("utf-8-sig"))))
            assert len(rows) > 5
            assert not [cell for row in rows for cell in row if cell.startswith(BEGINS)]
        reply = server.client.get(TABLE, params={"variables": "sex,marital", "format": "xlsx"})
        with zipfile.ZipFile(io.BytesIO(reply.content)) as book:
            sheets = [book.read(name).decode() for name in book.namelist() if name.startswith("xl/worksheets/sheet")]
            assert not any(Path(name).is_absolute() or ".." in name for name in book.namelist())
    assert sheets
    assert not any("<f>" in sheet or "<f " in sheet for sheet in sheets)


@pytest.mark.parametrize("name", ["../records.parquet", "{outside}", "link.parquet", "/dev/zero", "/dev/stdin"])
def test_a_catalogue_reads_no_file_outside_of_its_folder(tmp_path: Path, name: str) -> None:
    made(tmp_path, records=500, areas=2)
    outside = tmp_path / "records.parquet"
    outside.write_bytes((tmp_path / "source" / "records.parquet").read_bytes())
    (tmp_path / "source" / "link.parquet").symlink_to(outside)
    path = tmp_path / "source" / "census.toml"
    given = name.format(outside=outside)
    path.write_text(path.read_text().replace('file = "records.parquet"', f'file = "{given}"'))
    with pytest.raises(DiscreetError, match="outside") as found:
        build_dataset(path, tmp_path / "other", key=KEY)
    assert str(tmp_path) not in found.value.message.replace(given, "")
    assert not (tmp_path / "other").exists()
