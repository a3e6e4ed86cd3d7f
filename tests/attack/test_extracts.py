"""Attackers of extracts: several of one person, those of two, and packages that were made to do harm."""

from __future__ import annotations

import csv
import io
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.server.extracts.file import ExtractFile
from discreet.server.extracts.package import ABOUT, open_package
from discreet.trust.sealed_file import RecipientSecret, SealedWriter
from tests.server.extracts.made import build, census, packed, wanted

pytest.importorskip("cryptography")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> ExtractFile:
    folder = tmp_path_factory.mktemp("source")
    census(folder)
    return build(folder)


@pytest.fixture(scope="module")
def extracts(file: ExtractFile, tmp_path_factory: pytest.TempPathFactory) -> list[list[dict[str, str]]]:
    """Six extracts of one user and two of another, with everything in them."""
    folder = tmp_path_factory.mktemp("extracts")
    found = []
    for number in range(1, 9):
        user = 7 if number < 7 else 8
        out = packed(folder, file, wanted(file, "age", "income", "education", "district"), number, user)
        found.append(list(csv.DictReader(io.StringIO((out / "data.csv").read_text()))))
    return found


def test_repeated_extracts_have_nothing_to_average(extracts: list[list[dict[str, str]]]) -> None:
    """The multiset of records is the same every time: no value, area or weight is drawn anew."""
    names = ("age", "income", "education", "district", "person", "weight")
    first = Counter(tuple(row[name] for name in names) for row in extracts[0])
    for rows in extracts[1:6]:
        assert Counter(tuple(row[name] for name in names) for row in rows) == first


def test_serials_are_no_order_and_no_counter(extracts: list[list[dict[str, str]]]) -> None:
    """Ranks, low and high bits and differences of serials go with nothing that an extract shows."""
    rows = extracts[0]
    serial = np.array([int(row["serial"]) for row in rows])
    homes, first = np.unique(serial, return_index=True)
    limit = 4 / np.sqrt(len(homes))
    for name in ("age", "income"):
        values = np.array([float(rows[place][name]) for place in first])
        for view in (homes, homes & 0xFFFF, homes >> 26):
            ranks = np.argsort(np.argsort(view))
            assert abs(np.corrcoef(ranks, values)[0, 1]) < limit
    gaps = np.diff(np.sort(homes)).astype(float)
    assert 0.8 < gaps.std() / gaps.mean() < 1.2  # as of numbers by chance
    bits = (homes[:, None] >> np.arange(52)) & 1
    assert abs(bits.mean(axis=0) - 0.5).max() < 4 * 0.5 / np.sqrt(len(homes))


def test_xor_and_differences_of_serials_do_not_match_households(extracts: list[list[dict[str, str]]]) -> None:
    """A key that was added or xored would show when records that are unique by value are laid beside each other."""

    def unique(rows: list[dict[str, str]]) -> dict[tuple[str, ...], int]:
        found: dict[tuple[str, ...], list[int]] = {}
        for row in rows:
            values = (row["age"], row["income"], row["education"], row["district"])
            found.setdefault(values, []).append(int(row["serial"]))
        return {values: serials[0] for values, serials in found.items() if len(serials) == 1}

    one, two = unique(extracts[0]), unique(extracts[6])
    both = sorted(set(one) & set(two))
    assert len(both) > 1_000
    pairs = {(one[values], two[values]) for values in both}
    assert max(Counter(a ^ b for a, b in pairs).values()) <= 2
    assert max(Counter(a - b for a, b in pairs).values()) <= 2


def test_two_users_do_not_lack_the_same_households(extracts: list[list[dict[str, str]]]) -> None:
    rows = [Counter((row["age"], row["income"], row["district"]) for row in one) for one in (extracts[0], extracts[7])]
    assert sum((rows[0] - rows[1]).values()) > 20
    assert sum((rows[1] - rows[0]).values()) > 20


def sealed_zip(folder: Path, secret: RecipientSecret, files: dict[str, bytes]) -> Path:
    path = folder / "harm.sealed"
    with path.open("wb") as stream:
        writer = SealedWriter(stream, secret.public, ABOUT)
        with zipfile.ZipFile(writer, "w") as archive:  # type: ignore[call-overload]
            for name, content in files.items():
                archive.writestr(name, content)
        writer.close()
    return path


@pytest.mark.parametrize(
    "name", ["../evil", "/tmp/evil", "a/b", "data.csv/../../evil", "..\\evil", "evil.exe", "data.csv\x00"]
)
def test_names_in_a_package_lead_nowhere(tmp_path: Path, name: str) -> None:
    secret = RecipientSecret.new()
    path = sealed_zip(tmp_path, secret, {name: b"x", "manifest.json": b"{}", "manifest.sig": b""})
    with pytest.raises(InputError, match="not as the server made it"):
        open_package(path, tmp_path / "out", secret)
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "evil").exists()


def test_what_is_sealed_and_no_package_is_refused(tmp_path: Path) -> None:
    secret = RecipientSecret.new()
    for files in ({}, {"manifest.json": b"[]", "manifest.sig": b""}, {"data.csv": b"x"}):
        with pytest.raises(InputError, match="not as the server made it"):
            open_package(sealed_zip(tmp_path, secret, files), tmp_path / "out", secret)
    path = tmp_path / "plain.sealed"
    with path.open("wb") as stream:
        writer = SealedWriter(stream, secret.public, ABOUT)
        writer.write(b"no zip at all")
        writer.close()
    with pytest.raises(InputError, match="not as the server made it"):
        open_package(path, tmp_path / "out", secret)
