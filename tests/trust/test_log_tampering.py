"""Whatever somebody changes in the files of a log is found, and the first place of it is named."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.trust import SigningKey, make_keys
from discreet.trust.log.lines import SignedHead, TreeHead, canonical, chained, sign_head
from discreet.trust.log.tree import Frontier, leaf_hash
from discreet.trust.log_verify import LogVerdict, check_log
from tests.trust.log_making import key_in, log_of, question

pytest.importorskip("cryptography")

GROUPS = (1, 3, 2, 2, 1)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, SigningKey, list[SignedHead]]:
    folder = tmp_path_factory.mktemp("log")
    key = SigningKey.from_file(key_in(folder))
    return folder / "log", key, log_of(folder / "log", key, GROUPS)


@pytest.fixture
def copy(made, tmp_path) -> Path:
    shutil.copytree(made[0], tmp_path / "copy")
    return tmp_path / "copy"


def fault(folder: Path, *heads: SignedHead) -> tuple[str, str]:
    """The first fault: its kind and its place."""
    verdict = check_log(folder, heads=[head.to_json() for head in heads])
    assert len(verdict.faults) == 1
    return verdict.faults[0].fault, verdict.faults[0].where


def lines_of(folder: Path, number: int) -> list[bytes]:
    return (folder / f"segment-{number:08d}.log").read_bytes().splitlines(keepends=True)


def put(folder: Path, number: int, lines: list[bytes]) -> None:
    (folder / f"segment-{number:08d}.log").write_bytes(b"".join(lines))


def place(lines: list[bytes], seq: int) -> int:
    return next(k for k, line in enumerate(lines) if b'"seq":%d,' % seq in line)


def test_an_untouched_log_holds_and_says_what_it_cannot_know(made):
    folder, _, heads = made
    public = folder.parent / "log.pem.pub"
    alone = check_log(folder)
    assert alone.holds
    assert (alone.entries, alone.heads, alone.segments) == (9, 6, 3)
    assert any("nothing was cut off at the end: only a head kept elsewhere" in text for text in alone.asserted)
    assert any("is the log's own: give --public-key" in text for text in alone.asserted)
    for head in heads:
        verdict = check_log(folder, public_key=public, heads=[head.to_json()])
        assert verdict.holds
        assert (
            f"nothing was cut off after entry {head.head.size:,}, the last that a kept head covers" in verdict.asserted
        )
        assert not any("public-key" in text for text in verdict.asserted)


@pytest.fixture
def small(made, tmp_path) -> tuple[Path, SignedHead]:
    """A log of three entries in two segments, of which every byte is tried."""
    return tmp_path / "small", log_of(tmp_path / "small", made[1], (1, 2), segment_entries=1)[-1]


def test_every_byte_counts(small):
    """Every byte of every file with one bit flipped is found, and its file is named."""
    folder, _ = small
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        for at in range(len(whole)):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << at % 8
            path.write_bytes(damaged)
            verdict = check_log(folder)
            assert not verdict.holds, (path.name, at)
            assert path.name in verdict.faults[0].where or path.name == "log.json"
        path.write_bytes(whole)
    assert check_log(folder).holds


def test_every_cut_of_every_file_is_found_by_itself_or_against_a_kept_head(small):
    folder, head = small
    clean = []
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        for at in range(len(whole)):
            path.write_bytes(whole[:at])
            verdict = check_log(folder)
            if verdict.holds:
                clean.append((path.name, whole[:at].splitlines()[-1][:8]))
                assert any("nothing was cut off at the end" in text for text in verdict.asserted)
                assert fault(folder, head)[0] == "truncated"
        path.write_bytes(whole)
    assert clean == []  # the last segment has one head: what is cut off with it is a whole segment


def test_a_clean_cut_at_a_signed_head_is_found_by_a_kept_head_alone(copy, made):
    lines = lines_of(copy, 2)
    (copy / "segment-00000003.log").unlink()
    put(copy, 2, lines[: place(lines, 6) + 2])
    assert check_log(copy).holds
    assert fault(copy, made[2][-1]) == ("truncated", "after entry 6")


def test_the_last_segment_is_missed_only_by_a_kept_head(made, copy):
    (copy / "segment-00000003.log").unlink()
    assert check_log(copy).holds
    assert fault(copy, made[2][-1]) == ("truncated", "after entry 8")
    assert check_log(copy, heads=[made[2][3].to_json()]).holds


@pytest.mark.parametrize("name", ["log.json", "segment-00000001.log", "segment-00000002.log"])
def test_a_missing_file_is_named(copy, name):
    (copy / name).unlink()
    assert fault(copy) == ("removed", name)


@pytest.mark.parametrize("what", [b'"seq":', b'"size":'], ids=["entry", "head"])
@pytest.mark.parametrize(
    ("old", "new"),
    [(b'":', b'": '), (b'"}', b'"}\r'), (b"e", b"\\u0065"), (b'{"', b'{"a":1,"'), (b',"', b',"time":0,"')],
    ids=["blank", "return", "escape", "further part", "part twice"],
)
def test_the_same_meaning_in_another_spelling_is_a_change(copy, what, old, new):
    """What is not spelt as the writer spells it could hide something from other readers."""
    lines = lines_of(copy, 1)
    at = next(k for k, line in enumerate(lines) if what in line and k > 2)
    assert old in lines[at]
    lines[at] = lines[at].replace(old, new, 1)
    put(copy, 1, lines)
    kind, where = fault(copy)
    assert kind == "changed"
    assert where.endswith(f"(segment-00000001.log, line {at + 1})")


def test_files_that_do_not_belong_there_are_named(copy):
    (copy / "note.txt").write_text("hello")
    assert fault(copy) == ("inserted", "file 'note.txt'")


def test_exchanged_segments_are_named(copy):
    one, two = (copy / f"segment-0000000{number}.log" for number in (1, 2))
    first = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(first)
    assert fault(copy) == ("reordered", "segment-00000001.log, line 1")


@pytest.mark.parametrize("seq", range(1, 10))
def test_a_removed_entry_is_named(copy, seq):
    number = 1 if seq <= 4 else 2 if seq <= 8 else 3
    lines = lines_of(copy, number)
    at = place(lines, seq)
    del lines[at]
    put(copy, number, lines)
    kind, where = fault(copy)
    assert kind == "removed"
    assert where.startswith(f"entry {seq} (")


@pytest.mark.parametrize("seq", range(1, 10))
def test_a_changed_entry_is_named_and_not_only_its_group(copy, seq):
    number = 1 if seq <= 4 else 2 if seq <= 8 else 3
    lines = lines_of(copy, number)
    at = place(lines, seq)
    lines[at] = lines[at].replace(b'"time":"20', b'"time":"19')
    put(copy, number, lines)
    assert fault(copy) == ("changed", f"entry {seq} (segment-0000000{number}.log, line {at + 1})")


def test_a_head_of_another_log_with_the_same_key_is_named(made, copy, tmp_path):
    log_of(tmp_path / "second", made[1], GROUPS)
    lines = lines_of(copy, 1)
    lines[-1] = lines_of(tmp_path / "second", 1)[-1]
    put(copy, 1, lines)
    assert fault(copy) == ("foreign", f"signed head 2 (segment-00000001.log, line {len(lines)})")


@pytest.mark.parametrize("seq", range(1, 10))
def test_an_entry_that_stands_twice_is_named(copy, seq):
    number = 1 if seq <= 4 else 2 if seq <= 8 else 3
    lines = lines_of(copy, number)
    at = place(lines, seq)
    lines.insert(at, lines[at])
    put(copy, number, lines)
    assert fault(copy) == ("inserted", f"entry {seq + 1} (segment-0000000{number}.log, line {at + 2})")


@pytest.mark.parametrize(("a", "b"), [(2, 3), (2, 4), (3, 4), (5, 6), (7, 8), (5, 8)])
def test_exchanged_entries_are_named(copy, a, b):
    number = 1 if b <= 4 else 2
    lines = lines_of(copy, number)
    i, j = place(lines, a), place(lines, b)
    lines[i], lines[j] = lines[j], lines[i]
    put(copy, number, lines)
    assert fault(copy) == ("reordered", f"entry {a} (segment-0000000{number}.log, line {i + 1})")


def test_every_line_removed_doubled_or_exchanged_with_any_other_is_found(copy):
    for number in (1, 2, 3):
        whole = lines_of(copy, number)
        for i in range(len(whole)):
            last = number == 3 and i == len(whole) - 1
            wrong = [whole[:i] + whole[i + 1 :], [*whole[: i + 1], *whole[i:]]]
            for j in range(i):
                moved = list(whole)
                moved[i], moved[j] = moved[j], moved[i]
                wrong.append(moved)
                wrong.append([*whole[:j], whole[i], *whole[j:i], *whole[i + 1 :]])
            for lines in wrong:
                put(copy, number, lines)
                assert not check_log(copy).holds, (number, i, last)
        put(copy, number, whole)


def forged(lines: list[bytes], at: int, seq: int) -> bytes:
    """An entry that follows line ``at - 1`` as if the writer had made it, but for the signature."""
    before = lines[at - 1]
    found = re.search(rb'"hash":"([0-9a-f]{64})"', before) or re.search(rb'"chain":"([0-9a-f]{64})"', before)
    assert found is not None
    previous = bytes.fromhex(found[1].decode())
    return chained(question(77), seq, "2026-01-01T00:00:00.000000Z", previous).line


def test_a_forged_entry_in_the_chain_is_found_by_what_follows(copy):
    lines = lines_of(copy, 1)
    at = place(lines, 3)
    put(copy, 1, [*lines[:at], forged(lines, at, 3), *lines[at:]])
    assert fault(copy) == ("inserted", f"entry 4 (segment-00000001.log, line {at + 2})")
    changed = list(lines)
    changed[at] = forged(lines, at, 3)
    put(copy, 1, changed)
    assert fault(copy)[0] == "changed"
    assert fault(copy)[1].startswith("entry 3 (")


def test_a_forged_entry_before_a_head_is_found_by_the_head(copy):
    lines = lines_of(copy, 1)
    at = place(lines, 4) + 1
    assert b'"head"' in lines[at]
    put(copy, 1, [*lines[:at], forged(lines, at, 5), *lines[at:]])
    assert fault(copy) == ("inserted", f"entry 5 (before segment-00000001.log, line {at + 2})")


def test_a_history_written_anew_without_the_key_is_found_by_the_signatures(copy):
    """All hashes fit each other; only the heads are old."""
    lines = lines_of(copy, 1)
    for seq in (2, 3, 4):
        at = place(lines, seq)
        lines[at] = forged(lines, at, seq)
    put(copy, 1, lines)
    assert fault(copy)[0] == "changed"
    assert fault(copy)[1].startswith("entries 2 to 4 (")


def rewritten(folder: Path, key: SigningKey, head: SignedHead) -> SignedHead:
    """A head of the same size for another history, with the true key."""
    frontier = Frontier()
    for number in range(head.head.size):
        frontier.append(leaf_hash(b"%d" % number))
    parts = {name: getattr(head.head, name) for name in TreeHead.__struct_fields__}
    return sign_head(TreeHead(**{**parts, "root": frontier.root().hex()}), key)


def test_a_fork_is_named_though_the_key_signed_both(made):
    folder, key, heads = made
    for head in heads[1:]:
        other = rewritten(folder, key, head)
        assert fault(folder, other)[0] == "fork"
        assert fault(folder, head, other)[0] == "fork"


def test_heads_of_others_are_refused(made, tmp_path):
    folder, key, heads = made
    make_keys(tmp_path / "other.pem")
    other = sign_head(heads[-1].head, SigningKey.from_file(tmp_path / "other.pem"))
    assert fault(folder, other) == ("foreign", "a head kept elsewhere")
    second = log_of(tmp_path / "second", key, (2,))
    assert fault(folder, second[-1])[0] == "foreign"
    release_like = SignedHead(head=heads[-1].head, signature=key.key.sign(canonical(heads[-1].head)).hex())
    assert fault(folder, release_like) == ("foreign", "a head kept elsewhere")  # signed for another purpose
    verdict = check_log(folder, public_key=tmp_path / "other.pem.pub")
    assert [one.fault for one in verdict.faults] == ["foreign"]


def test_a_log_of_another_key_does_not_pass_for_this_one(made, tmp_path):
    """Exchanged as a whole, the log is known by the key or by a kept head alone."""
    make_keys(tmp_path / "other.pem")
    log_of(tmp_path / "log", SigningKey.from_file(tmp_path / "other.pem"), GROUPS)
    assert check_log(tmp_path / "log").holds
    assert not check_log(tmp_path / "log", public_key=made[0].parent / "log.pem.pub").holds
    assert not check_log(tmp_path / "log", heads=[made[2][-1].to_json()]).holds


def test_what_is_no_log_is_said(tmp_path):
    with pytest.raises(InputError, match="There is no log in"):
        check_log(tmp_path)
    with pytest.raises(InputError, match="There is no log in"):
        check_log(tmp_path / "gone")


def edits(data: bytes, draw: Callable) -> bytes:
    """One random edit of a file: bytes changed, removed, inserted, moved."""
    kind = draw(st.sampled_from(["change", "remove", "insert", "move", "double"]))
    at = draw(st.integers(0, len(data) - 1))
    length = draw(st.integers(1, 400))
    if kind == "change":
        return data[:at] + draw(st.binary(min_size=1, max_size=8)) + data[at + length :]
    if kind == "remove":
        return data[:at] + data[at + length :]
    if kind == "insert":
        return data[:at] + draw(st.binary(min_size=1, max_size=40)) + data[at:]
    part, rest = data[at : at + length], data[:at] + data[at + length :]
    other = draw(st.integers(0, len(rest)))
    return rest[:other] + part + rest[other:] if kind == "move" else data[:other] + part + data[other:]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_edit_of_any_file_is_found_or_changed_nothing(made, copy, data):
    path = data.draw(st.sampled_from(sorted(copy.iterdir())))
    whole = path.read_bytes()
    edited = edits(whole, data.draw)
    path.write_bytes(edited)
    verdict: LogVerdict = check_log(copy, heads=[made[2][-1].to_json()])
    path.write_bytes(whole)
    assert verdict.holds == (edited == whole)
