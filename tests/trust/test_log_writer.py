"""A log goes on after any crash with everything that was acknowledged, and never on top of what nobody signed."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import stat
from pathlib import Path

import pytest

from discreet.errors import InputError, OutputError, ParameterError
from discreet.trust import SigningKey, make_keys
from discreet.trust.log.lines import Receipt, SignedHead, chained
from discreet.trust.log.reader import LogReader
from discreet.trust.log.recovery import LogDamaged
from discreet.trust.log.writer import LogBusy, LogUnavailable, LogWriter, create_log
from discreet.trust.log_verify import check_log, check_proof
from tests.trust.log_making import entry, key_in, log_of, question

pytest.importorskip("cryptography")


@pytest.fixture
def key(tmp_path) -> SigningKey:
    return SigningKey.from_file(key_in(tmp_path))


def bodies(folder: Path) -> list[str]:
    """Kinds of all entries of a log that holds."""
    kinds: list[str] = []
    check_log(folder, each=lambda one: kinds.append(one.body["kind"])).require()
    return kinds


def test_a_new_log_is_closed_to_others_and_never_replaced(tmp_path, key):
    create_log(tmp_path / "log", key)
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "log").iterdir()} == {0o600}
    with pytest.raises(OutputError, match="a log is never replaced"):
        create_log(tmp_path / "log", key)
    (tmp_path / "empty").mkdir()
    create_log(tmp_path / "empty", key)
    assert bodies(tmp_path / "empty") == []
    assert not list(tmp_path.glob(".*"))


def test_receipts_are_true(tmp_path, key):
    create_log(tmp_path / "log", key)
    with LogWriter(tmp_path / "log", key) as writer:
        receipts = [receipt for size in (1, 4, 2) for receipt in writer.commit([entry(k) for k in range(size)])]
        assert writer.commit([]) == []
    reader = LogReader(tmp_path / "log")
    for receipt in receipts:
        proof = reader.inclusion(receipt.seq, receipt.head.head.size)
        assert (proof.leaf, proof.head) == (receipt.leaf, receipt.head)
        assert check_proof(proof.to_json(), tmp_path / "log.pem.pub").holds


def test_one_writer_at_a_time(tmp_path, key):
    create_log(tmp_path / "log", key)
    with LogWriter(tmp_path / "log", key) as writer:
        with pytest.raises(LogBusy, match="Another process writes the log"):
            LogWriter(tmp_path / "log", key)
        writer.commit([question(1)])
        assert check_log(tmp_path / "log").holds  # may be judged meanwhile
    with LogWriter(tmp_path / "log", key) as again:
        again.commit([question(2)])
    assert bodies(tmp_path / "log") == ["question", "question"]


def test_another_key_or_another_folder_is_refused(tmp_path, key):
    create_log(tmp_path / "log", key)
    make_keys(tmp_path / "other.pem")
    with pytest.raises(InputError, match="begun with another key"):
        LogWriter(tmp_path / "log", SigningKey.from_file(tmp_path / "other.pem"))
    with pytest.raises(InputError, match="There is no log"):
        LogWriter(tmp_path / "gone", key)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="There is no log"):
        LogWriter(tmp_path / "empty", key)
    LogWriter(tmp_path / "log", key).close()  # nothing holds the lock after a refusal


@pytest.mark.parametrize(("entries", "size"), [(3, 2**30), (10**6, 1500)])
def test_segments_end_by_entries_or_by_bytes_and_chain_and_tree_go_on(tmp_path, key, entries, size):
    create_log(tmp_path / "log", key)
    for _ in range(3):  # opened anew, it goes on in the last segment
        with LogWriter(tmp_path / "log", key, segment_entries=entries, segment_bytes=size) as writer:
            for number in range(4):
                writer.commit([entry(number)])
    verdict = check_log(tmp_path / "log")
    assert verdict.holds
    assert (verdict.entries, verdict.segments > 3) == (12, True)
    with LogWriter(tmp_path / "log", key) as writer:
        assert writer.head.head.size == 12


def crashed(source: Path, target: Path, name: str, content: bytes) -> None:
    """The log as a crash leaves it that wrote only so much of its last file."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    (target / name).write_bytes(content)


@pytest.mark.parametrize("groups", [(1, 2), (2, 1, 2)], ids=["in a segment", "at the turn to a new segment"])
def test_a_crash_at_any_byte_of_a_write_loses_nothing_that_was_acknowledged(tmp_path, key, groups, monkeypatch):
    """The last group is not acknowledged until all of it is there; all before it is."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # the crash is played, and disks are slow
    heads = log_of(tmp_path / "log", key, groups, segment_entries=3)
    names = sorted(path.name for path in (tmp_path / "log").glob("segment-*"))
    whole = (tmp_path / "log" / names[-1]).read_bytes()
    lines = whole.splitlines(keepends=True)
    turned = len(names) > 1
    begin = 0 if turned else len(whole) - sum(map(len, lines[-1 - groups[-1] :]))
    acknowledged, total = heads[-2].head.size, heads[-1].head.size
    ends = [sum(map(len, lines[:k])) for k in range(len(lines) + 1)]
    near = {end + step for end in ends for step in range(-2, 3)} | set(range(begin, len(whole), 7))
    for at in sorted(at for at in near if begin <= at <= len(whole)):
        crashed(tmp_path / "log", tmp_path / "crash", names[-1], whole[:at])
        with LogWriter(tmp_path / "crash", key, segment_entries=3) as writer:
            writer.commit([question(99)])
        kinds = bodies(tmp_path / "crash")
        kept = total if at >= len(whole) - 1 else acknowledged
        repairs = [] if at >= len(whole) - 1 or at == begin else ["repair"]
        assert len(kinds) == kept + len(repairs) + 1, at
        assert kinds[kept:] == [*repairs, "question"], at
        assert check_log(tmp_path / "crash", heads=[heads[-2].to_json()]).holds


def test_zeros_after_a_power_failure_are_cut_off(tmp_path, key):
    log_of(tmp_path / "log", key, (2,))
    with (tmp_path / "log" / "segment-00000001.log").open("ab") as stream:
        stream.write(b'{"body":{"act' + b"\0" * 500)
    assert check_log(tmp_path / "log").faults[0].fault == "unsigned"
    with LogWriter(tmp_path / "log", key):
        pass
    assert bodies(tmp_path / "log")[2:] == ["repair"]


def test_entries_that_nobody_signed_are_not_signed_by_the_next_writer(tmp_path, key):
    """Who may write to the folder appends an entry; it goes, and the log says that something went."""
    heads = log_of(tmp_path / "log", key, (2,))
    forged = chained(question(5), 3, "2026-01-01T00:00:00.000000Z", bytes.fromhex(heads[-1].head.chain))
    with (tmp_path / "log" / "segment-00000001.log").open("ab") as stream:
        stream.write(forged.line)
    repairs: list[dict[str, object]] = []
    with LogWriter(tmp_path / "log", key):
        pass
    check_log(tmp_path / "log", each=lambda one: repairs.append(one.body)).require()
    assert repairs[2]["kind"] == "repair"
    assert (repairs[2]["entries"], repairs[2]["bytes"]) == (1, len(forged.line))


def test_nothing_is_appended_to_a_damaged_log(tmp_path, key):
    """Every byte of the last segment, flipped: the writer refuses, or repairs what no acknowledged entry depends on."""
    log_of(tmp_path / "log", key, (1, 1), segment_entries=1)
    path = tmp_path / "log" / "segment-00000002.log"
    whole = path.read_bytes()
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        with pytest.raises(LogDamaged, match="Nothing was appended"):
            LogWriter(tmp_path / "log", key)
        assert path.read_bytes() == damaged
    path.write_bytes(whole)
    LogWriter(tmp_path / "log", key).close()


@pytest.mark.parametrize("name", ["segment-00000001.log", "segment-00000002.log", "log.json"])
def test_a_log_without_one_of_its_files_is_not_continued(tmp_path, key, name):
    log_of(tmp_path / "log", key, (1, 1, 1), segment_entries=1)
    (tmp_path / "log" / name).unlink()
    with pytest.raises(InputError):
        LogWriter(tmp_path / "log", key)


def test_a_kept_head_stops_a_writer_whose_log_was_cut_or_exchanged(tmp_path, key):
    heads = log_of(tmp_path / "log", key, (1, 1, 1), segment_entries=1)
    LogWriter(tmp_path / "log", key, kept=heads[-1]).close()
    (tmp_path / "log" / "segment-00000003.log").unlink()
    with pytest.raises(LogDamaged, match="1 of the entries that a kept head covers"):
        LogWriter(tmp_path / "log", key, kept=heads[-1])
    LogWriter(tmp_path / "log", key, kept=heads[2]).close()
    with LogWriter(tmp_path / "log", key) as writer:
        writer.commit([question(7)])
    with pytest.raises(LogDamaged, match="is not the one that a kept head"):
        LogWriter(tmp_path / "log", key, kept=heads[-1])
    other = log_of(tmp_path / "other", key, (1,))
    with pytest.raises(InputError, match="of another log"):
        LogWriter(tmp_path / "log", key, kept=other[-1])


@pytest.fixture
def file_limit():
    """Sets the largest size of a file, as a full disk does; taken back at the end."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_acknowledges_nothing_and_leaves_nothing(tmp_path, key, file_limit):
    create_log(tmp_path / "log", key)
    path = tmp_path / "log" / "segment-00000001.log"
    with LogWriter(tmp_path / "log", key) as writer:
        writer.commit([question(1)])
        size = path.stat().st_size
        for room in range(0, 700, 23):
            file_limit(size + room)
            with pytest.raises(LogUnavailable, match="the disk refused"):
                writer.commit([question(2)])
            assert path.stat().st_size == size
        file_limit(size + 5000)
        writer.commit([question(3)])  # room again: the log goes on
    assert len(bodies(tmp_path / "log")) == 2


def test_a_full_disk_at_the_turn_to_a_new_segment_leaves_no_segment(tmp_path, key, file_limit):
    create_log(tmp_path / "log", key)
    with LogWriter(tmp_path / "log", key, segment_entries=1) as writer:
        writer.commit([question(1)])
        file_limit(100)
        with pytest.raises(LogUnavailable):
            writer.commit([question(2)])
        assert not (tmp_path / "log" / "segment-00000002.log").exists()
        file_limit(10**6)
        writer.commit([question(3)])
    assert (len(bodies(tmp_path / "log")), check_log(tmp_path / "log").segments) == (2, 2)


def test_after_a_failed_fsync_nothing_is_acknowledged_any_more(tmp_path, key, monkeypatch):
    create_log(tmp_path / "log", key)
    writer = LogWriter(tmp_path / "log", key)
    done: list[Receipt] = writer.commit([question(1)])

    def failing(handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        with pytest.raises(LogUnavailable, match="the disk failed"):
            writer.commit([question(2)])
    assert not writer.usable
    with pytest.raises(LogUnavailable, match="stopped after a failure"):
        writer.commit([question(3)])  # though fsync would work again
    writer.close()
    with LogWriter(tmp_path / "log", key) as again:
        again.commit([question(4)])
    assert check_log(tmp_path / "log", heads=[done[0].head.to_json()]).holds


def test_nothing_is_acknowledged_before_it_is_synced(tmp_path, key, monkeypatch):
    create_log(tmp_path / "log", key)
    path = tmp_path / "log" / "segment-00000001.log"
    synced: list[bytes] = []
    real = os.fsync

    def watched(handle: int) -> None:
        real(handle)
        synced.append(path.read_bytes())

    with LogWriter(tmp_path / "log", key) as writer:
        monkeypatch.setattr(os, "fsync", watched)
        receipts = writer.commit([question(1), question(2)])
        assert len(synced) == 1  # one for the group
        assert all(receipt.head.signature.encode() in synced[0] for receipt in receipts)


def test_a_reader_sees_only_whole_groups_and_reads_on(tmp_path, key):
    heads = log_of(tmp_path / "log", key, (2, 2, 1), segment_entries=3)
    reader = LogReader(tmp_path / "log")
    assert reader.head() == heads[-1]
    assert [reader.head(size) for size in (0, 2, 4, 5)] == heads
    with pytest.raises(ParameterError, match="no signed head of 3 entries"):
        reader.head(3)
    with pytest.raises(ParameterError, match="has no entry 6"):
        reader.inclusion(6)
    with pytest.raises(ParameterError, match="later one"):
        reader.consistency(4, 2)
    with LogWriter(tmp_path / "log", key, segment_entries=3) as writer:
        writer.commit([question(6)])
        last: SignedHead = writer.head
        with (tmp_path / "log" / "segment-00000002.log").open("ab") as stream:
            stream.write(chained(question(7), 7, "2026-01-01T00:00:00.000000Z", bytes(32)).line)
        assert reader.head() == last
        proof = reader.consistency(2)
    assert check_proof(proof.to_json(), tmp_path / "log.pem.pub", heads=[heads[1].to_json()]).holds


def test_proofs_that_were_changed_or_are_about_other_heads_are_refused(tmp_path, key):
    heads = log_of(tmp_path / "log", key, (1, 3, 2))
    public = tmp_path / "log.pem.pub"
    reader = LogReader(tmp_path / "log")
    for proof in (reader.inclusion(2).to_json(), reader.consistency(1).to_json(), reader.consistency(4).to_json()):
        assert check_proof(proof, public, heads=[heads[-1].to_json()]).holds
        for at in range(len(proof) - 1):
            damaged = bytearray(proof)
            damaged[at] ^= 1 << at % 7
            with contextlib.suppress(InputError):  # no proof at all
                assert not check_proof(bytes(damaged), public).holds, at
    verdict = check_proof(reader.consistency(1, 4).to_json(), public, heads=[heads[-1].to_json()])
    assert [one.fault for one in verdict.faults] == ["foreign"]
