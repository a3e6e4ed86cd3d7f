"""Archives of workbooks, forged part by part: before, in, of and behind their members."""

from __future__ import annotations

import io
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from discreet.verify.formats.shown import Different, ShownTable, same_lines
from discreet.verify.formats.stat import _frame, _names, _same
from discreet.verify.formats.xlsx import PACKED, same_workbook
from tests.verify.forging import made

TEXTS = {"a.xml": b"first " * 40, "b.xml": b"second " * 30}
Change = Callable[[bytes, bytes], tuple[bytes, bytes, bytes]]


def archive(texts: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in texts.items():
            book.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)
    return sink.getvalue()


def rebuilt(change: Change) -> bytes:
    """The archive with its second member changed: something before it, its head, how it is packed; lists follow."""
    given = archive(TEXTS)
    with zipfile.ZipFile(io.BytesIO(given)) as book:
        parts, listed = book.infolist(), book.start_dir
    made, entries = b"", b""
    for part in parts:
        long = 30 + len(part.filename)
        head = given[part.header_offset : part.header_offset + long]
        packed = given[part.header_offset + long :][: part.compress_size]
        before = b""
        if part.filename == "b.xml":
            before, head, packed = change(head, packed)
        size, at = len(packed).to_bytes(4, "little"), len(made + before).to_bytes(4, "little")
        made += before + head[:18] + size + head[22:] + packed
        entry = given[listed : listed + 46 + len(part.filename)]
        listed += len(entry)
        entries += entry[:20] + size + entry[24:42] + at + entry[46:]
    end = given[listed:]
    return made + entries + end[:16] + len(made).to_bytes(4, "little") + end[20:]


def packed_otherwise(text: bytes, level: int = 1, end: int = zlib.Z_FINISH) -> bytes:
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    return packer.compress(text) + packer.flush(end)


def said_of(found: bytes) -> str:
    with pytest.raises(Different) as caught:
        same_workbook(archive(TEXTS), found, "published cells give")
    return str(caught.value)


def test_the_true_archive_and_one_that_is_packed_otherwise():
    true = archive(TEXTS)
    assert rebuilt(lambda head, packed: (b"", head, packed)) == true
    assert same_workbook(true, true, "") is None
    other = rebuilt(lambda head, _: (b"", head, packed_otherwise(TEXTS["b.xml"], 0)))
    assert same_workbook(true, other, "") == PACKED


BEFORE = "something stands before the member 'b.xml'"
OTHER = "the member 'b.xml' is not what the published cells give"
CHANGES: dict[str, tuple[Change, str]] = {
    "a sign before": (lambda head, packed: (b"x", head, packed), BEFORE),
    "a lower sign at the head": (lambda head, packed: (b"", b"\0" + head[1:], packed), BEFORE),
    "a higher sign at the head": (lambda head, packed: (b"", b"\xff" + head[1:], packed), BEFORE),
    "a lower name at the head": (lambda head, packed: (b"", head.replace(b"b.xml", b"a.xml"), packed), BEFORE),
    "a higher name at the head": (lambda head, packed: (b"", head.replace(b"b.xml", b"c.xml"), packed), BEFORE),
    "another text": (lambda head, _: (b"", head, packed_otherwise(TEXTS["b.xml"].upper())), OTHER),
    "a longer text": (lambda head, _: (b"", head, packed_otherwise(TEXTS["b.xml"] + b"more" * 99)), OTHER),
    "a text without an end": (
        lambda head, _: (b"", head, packed_otherwise(TEXTS["b.xml"], end=zlib.Z_SYNC_FLUSH)),
        OTHER,
    ),
    "something behind the text": (lambda head, packed: (b"", head, packed + b"Ann"), OTHER),
    "no packed text": (lambda head, _: (b"", head, b"\xff\xff\xff"), "the member 'b.xml' cannot be unpacked"),
    "a lower version at the head": (
        lambda head, packed: (b"", head[:4] + b"\0" + head[5:], packed),
        "something is said of the member 'b.xml' that is not so",
    ),
    "another time at the head": (
        lambda head, packed: (b"", head[:10] + b"\x01" + head[11:], packed),
        "something is said of the member 'b.xml' that is not so",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_member_that_is_not_as_it_must_be(name):
    change, message = CHANGES[name]
    assert said_of(rebuilt(change)) == message


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"b.xml": TEXTS["b.xml"], "a.xml": TEXTS["a.xml"]}, "a member is missing, stands twice or stands elsewhere"),
        ({"a.xml": TEXTS["a.xml"]}, "a member is missing, stands twice or stands elsewhere"),
        ({**TEXTS, "c.xml": b""}, "the member 'c.xml' is not one that the release has"),
    ],
)
def test_other_members(texts, message):
    assert said_of(archive(texts)) == message


def test_something_behind_all_members_and_no_workbook():
    behind = "something stands behind the members, or is said of them"
    assert said_of(archive(TEXTS)[:-2] + b"\x03\x00Ann") == behind
    assert said_of(archive(TEXTS).replace(b"PK\x01\x02\x14", b"PK\x01\x02\x13", 1)) == behind
    assert said_of(b"Ann") == "the file is not a workbook"


# ---- lines and bytes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (b"a\n", "the file ends after line 1, where more must stand"),
        (b"a\nb", "the file ends after line 2, where more must stand"),
        (b"a\nb\nc\n", "line 3 is one too many"),
        (b"a\nc\n", "line 2 is not what the published cells give"),
        (b"", "the file ends after line 0, where more must stand"),
    ],
)
def test_lines_that_differ(found, message):
    same_lines(b"a\nb\n", b"a\nb\n")
    with pytest.raises(Different, match=message):
        same_lines(b"a\nb\n", found)


@pytest.mark.parametrize(
    ("found", "message"),
    [(b"abcd", "has 4 bytes, and"), (b"ab", "has 2 bytes, and"), (b"abx", "byte 3 is not"), (b"abb", "byte 3 is not")],
)
def test_bytes_that_differ(found, message):
    _same(b"abc", b"abc")
    with pytest.raises(Different, match=message):
        _same(b"abc", found)


def test_names_of_columns_as_statistical_packages_take_them():
    assert _names(["1st", "_a", "é", "by", "value"], ["value"])[:3] == ["v_1st", "v__a", "v"]
    assert _names(["value"], ["value"]) == ["value_2"]


def test_frames_where_polars_is_not_installed(monkeypatch):
    """Letters among the values need a column of objects; nothing else does."""
    monkeypatch.setitem(sys.modules, "polars", None)
    columns = {"code": ["a", "b"], "value": [1.5, 2.0], "lower": [1.0, 2.0]}
    signs, plain = _frame(columns, signs=True), _frame(columns)
    assert [signs[name].dtype.kind for name in ("value", "lower")] == ["O", "f"]
    assert [plain[name].dtype.kind for name in ("value", "lower")] == ["f", "f"]


def test_intervals_are_written_from_one_unit_on():
    table = made("intervals").public.tables[0]
    value = table.value
    shown = ShownTable(replace(table, decimals=0, lower=value, upper=value + np.arange(len(value)) % 3), None)
    expected = [(str(v), str(v + i % 3)) if i % 3 else ("", "") for i, v in enumerate(value.tolist())]
    assert shown.ends() == expected
