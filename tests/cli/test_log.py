"""``discreet log``: verify, head, prove, anchor, show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from discreet.cli import main
from discreet.trust import SigningKey
from discreet.trust.log.writer import LogWriter
from tests.trust.log_making import key_in, log_of, question

pytest.importorskip("cryptography")


def discreet(*words: object) -> Result:
    return CliRunner().invoke(main, ["log", *map(str, words)])


@pytest.fixture
def place(tmp_path) -> Path:
    log_of(tmp_path / "log", SigningKey.from_file(key_in(tmp_path)), (2, 3, 1))
    return tmp_path


def kept(place: Path, name: str, *words: object) -> Path:
    done = discreet(*words)
    assert done.exit_code == 0, done.output
    (place / name).write_text(done.stdout)
    return place / name


def cut(place: Path) -> None:
    """Take the last group off."""
    path = place / "log" / "segment-00000002.log"
    path.unlink()


def test_verify_tells_what_holds_and_what_nobody_can_tell(place):
    head = kept(place, "head.json", "head", place / "log")
    done = discreet("verify", place / "log")
    assert done.exit_code == 0
    assert "The log holds: 6 entries, 4 signed heads, 2 segments." in done.stdout
    assert "nothing was cut off at the end: only a head kept elsewhere can show it" in done.stdout
    full = discreet("verify", place / "log", "--head", head, "--public-key", place / "log.pem.pub", "-v")
    assert "nothing is missing up to entry 6" in full.stdout
    cut(place)
    assert discreet("verify", place / "log").exit_code == 0
    found = discreet("verify", place / "log", "--head", head, "--json")
    assert found.exit_code == 5
    (fault,) = json.loads(found.stdout)["faults"]
    assert (fault["fault"], fault["where"]) == ("truncated", "after entry 5")


def test_verify_names_the_entry(place):
    path = place / "log" / "segment-00000001.log"
    path.write_bytes(path.read_bytes().replace(b"Zo\xc3\xab 3", b"Zo\xc3\xab 4"))
    done = discreet("verify", place / "log", "-q")
    assert done.exit_code == 5
    assert "changed: entry 4 (segment-00000001.log, line 7): its hash is not that of its content" in done.output


def test_proofs_are_checked_by_those_who_have_no_log(place):
    old = kept(place, "old.json", "head", place / "log")
    with LogWriter(place / "log", SigningKey.from_file(place / "log.pem")) as writer:
        (receipt,) = writer.commit([question(9)])
        writer.commit([question(10)])
    (place / "receipt.json").write_bytes(receipt.to_json())
    public = place / "log.pem.pub"
    entry = kept(place, "entry.json", "prove", place / "log", "--entry", 3)
    mine = kept(place, "mine.json", "prove", place / "log", "--receipt", place / "receipt.json")
    grown = kept(place, "grown.json", "prove", place / "log", "--from", old)
    for proof, text in (
        (entry, "entry 3 is in the log of 8"),
        (mine, "entry 7 is in the log of 7"),
        (grown, "8 entries"),
    ):
        done = discreet("verify", proof, "--public-key", public, "-v")
        assert done.exit_code == 0, done.output
        assert text in done.stdout
        assert discreet("verify", proof, "--public-key", public).stdout == "The proof holds.\n"
    assert discreet("verify", grown, "--public-key", public, "--head", old).exit_code == 0
    assert discreet("verify", entry).exit_code == 2
    entry.write_text(entry.read_text().replace('"seq":3', '"seq":4'))
    assert discreet("verify", entry, "--public-key", public).exit_code == 5


def test_there_is_no_proof_of_what_is_not_so(place):
    head = kept(place, "head.json", "head", place / "log")
    with LogWriter(place / "log", SigningKey.from_file(place / "log.pem")) as writer:
        (receipt,) = writer.commit([question(9)])
    (place / "receipt.json").write_bytes(receipt.to_json())
    cut(place)
    gone = discreet("prove", place / "log", "--receipt", place / "receipt.json")
    assert gone.exit_code == 5
    assert "does not reach to the entry" in gone.output
    assert discreet("prove", place / "log", "--from", head).exit_code == 5
    with LogWriter(place / "log", SigningKey.from_file(place / "log.pem")) as writer:
        writer.commit([question(7)])  # another history, signed with the true key
        writer.commit([question(8)])
    fork = discreet("prove", place / "log", "--from", head)
    assert fork.exit_code == 5
    assert "fork" in fork.output
    other = discreet("prove", place / "log", "--receipt", place / "receipt.json")
    assert other.exit_code == 5
    assert "another one than the receipt's" in other.output
    assert discreet("prove", place / "log").exit_code == 2
    assert discreet("prove", place / "log", "--entry", 1, "--from", head).exit_code == 2
    assert discreet("prove", place / "log", "--entry", 99).exit_code == 2


def test_show_filters_and_refuses_what_does_not_verify(place):
    lines = discreet("show", place / "log").stdout.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3, 4, 5, 6]
    some = discreet("show", place / "log", "--kind", "question", "--subject", "Zoë 3", "--json")
    assert [one["seq"] for one in json.loads(some.stdout)["entries"]] == [4]
    assert discreet("show", place / "log", "--since", "2999-01-01").stdout == ""
    assert len(discreet("show", place / "log", "--until", "2999-01-01").stdout.splitlines()) == 6
    assert discreet("show", place / "log", "--since", "tomorrow").exit_code == 2
    unknown = discreet("show", place / "log", "--kind", "questions")
    assert unknown.exit_code == 2
    assert "Did you mean 'question'?" in unknown.output
    path = place / "log" / "segment-00000001.log"
    path.write_bytes(path.read_bytes().replace(b"cell_key", b"cell_kex"))
    refused = discreet("show", place / "log")
    assert refused.exit_code == 5
    assert "census" not in refused.output


def test_anchor_in_two_steps(place):
    client = pytest.importorskip("rfc3161_client")
    from tests.trust.stamping import StampingAuthority

    head = kept(place, "head.json", "head", place / "log")
    request, answer, root, output = (place / name for name in ("a.tsq", "a.tsr", "root.pem", "anchor.json"))
    assert discreet("anchor", head, "--request", request).exit_code == 0
    asked = client._rust.parse_timestamp_request(request.read_bytes())
    authority = StampingAuthority()
    answer.write_bytes(authority.answer(asked.message_imprint.message, asked.nonce))
    root.write_bytes(authority.pem)
    words = ("anchor", head, "--request", request, "--response", answer)
    assert discreet(*words).exit_code == 2
    done = discreet(*words, "--authority", root, "--output", output)
    assert done.exit_code == 0, done.output
    assert "stamped at 2026-11-18T06:00:00+00:00" in done.stdout
    assert discreet(*words, "--authority", root, "--output", output).exit_code == 6
    verified = discreet("verify", place / "log", "--anchor", output, "--authority", root, "-v")
    assert "an authority stamped a kept head at 2026-11-18T06:00:00+00:00" in verified.stdout
    assert "the authority's certificate was not revoked" in verified.stdout
    assert discreet("verify", place / "log", "--anchor", output).exit_code == 2
    cut(place)
    assert discreet("verify", place / "log", "--anchor", output, "--authority", root).exit_code == 5
    root.write_bytes(StampingAuthority().pem)
    assert discreet("verify", place / "log", "--anchor", output, "--authority", root).exit_code == 5


@pytest.mark.parametrize(
    "words", [("verify", "gone"), ("head", "gone"), ("show", "gone"), ("prove", "gone", "--entry", 1)]
)
def test_what_is_no_log_is_said(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = discreet(*words)
    assert done.exit_code == 3
    assert "There is no log in 'gone'" in done.output
