"""Runs by files in a folder: the same results, taken up again where they were broken off, and never in another way."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cryptography")
pytest.importorskip("rbcl")

import discreet as ds
from discreet.private import ProtocolError, SharedFolder, UnionTerms
from discreet.private.parties.files import load_transcript, save_transcript
from discreet.private.retrieval.frames import Transcript
from discreet.private.union.protocol import union_task
from discreet.private.union.run_log import entered, new_union_log
from tests.private.joint.pooled import iterated, matrix, people, pooled
from tests.private.parties import listening
from tests.private.union.test_union import example

TERMS = UnionTerms(("id",), ("x",), "study", min_records=0)
NAMES = ("A", "B")


def kind_of(do) -> str:
    with pytest.raises(ProtocolError) as caught:
        do()
    return caught.value.kind


def step(tmp_path, offices, name, files=None, terms=TERMS, shared="exchange"):
    """One try of a holder, who goes when there is nothing to read; ``None`` then."""
    place = SharedFolder(tmp_path / shared, tmp_path / f"own {name}", offices.credentials(name), patience=0)
    try:
        return place.meet(name, union_task(NAMES, name, (files or example())[name], terms))
    except ProtocolError as error:
        if error.kind != "party unreachable":
            raise
        return None


def to_the_end(tmp_path, offices, found=None):
    found = found if found is not None else {}
    for _ in range(20):
        for name in NAMES:
            if name not in found:
                done = step(tmp_path, offices, name)
                if done is not None:
                    found[name] = done
        if len(found) == 2:
            return found
    raise AssertionError("the run does not come to its end")


def test_a_union_by_files_goes_on_from_try_to_try(tmp_path, offices):
    found = to_the_end(tmp_path, offices)
    assert (found["A"].union, found["B"].union) == (18, 18)
    assert len(found["A"].rows) == 18
    assert found["A"].seal == found["B"].seal
    for name in NAMES:
        assert [file.name for file in (tmp_path / f"own {name}").iterdir()] == ["finished"]
        assert kind_of(lambda name=name: step(tmp_path, offices, name)) == "replayed message"


def test_what_lies_in_the_folder_is_sealed(tmp_path, offices):
    to_the_end(tmp_path, offices)
    bodies = [
        file.read_bytes() for file in sorted((tmp_path / "exchange").iterdir()) if not file.name.startswith("000000")
    ]
    values = [str(v).encode() for one in example().values() for column in one.values() for v in column]
    assert listening.plain_values(bodies, values) == []
    assert listening.repeated([body[9:] for body in bodies]) == []


def test_three_owners_by_files_at_the_same_time(tmp_path, offices):
    found, names = {}, ("A", "B", "C")
    owners = people("ABC")

    def work(name):
        place = SharedFolder(tmp_path / "exchange", tmp_path / name, offices.credentials(name), patience=20)
        found[name] = ds.private.join_as(
            name, owners[name], names, place, levels={"g": list("abc")}, without_account=True
        ).logit("y ~ x + g")

    for name in names:
        offices.credentials(name)
    threads = [threading.Thread(target=work, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    beta, _ = iterated(matrix(owners), pooled(owners, "y"), "logit")
    for fit in found.values():
        assert np.abs(fit.coefficients - beta).max() < 1e-9
    assert len(found) == 3


def test_a_run_does_not_go_on_with_other_records(tmp_path, offices):
    """The same masks over other records would show the difference."""
    step(tmp_path, offices, "A")
    files = example()
    files["A"]["x"][0] = "another value"
    assert kind_of(lambda: step(tmp_path, offices, "A", files)) == "other records"
    assert kind_of(lambda: step(tmp_path, offices, "A", terms=UnionTerms(("id",), ("x",), "else"))) == "other records"


def test_a_message_that_was_read_once_counts_however_the_file_changes_later(tmp_path, offices):
    """Whoever changes what was answered would get a second answer under the same masks."""
    for name in "ABA":
        step(tmp_path, offices, name)
    greeting = tmp_path / "exchange" / "000000-1-0"
    kept = greeting.read_bytes()
    greeting.write_bytes(b"DPTY\1" + bytes(200))
    assert step(tmp_path, offices, "A") is None
    greeting.write_bytes(kept)
    assert to_the_end(tmp_path, offices)["A"].union == 18


def test_an_altered_file_ends_the_run_for_all(tmp_path, offices):
    step(tmp_path, offices, "A")
    step(tmp_path, offices, "B")
    step(tmp_path, offices, "A")
    sizes = next(file for file in sorted((tmp_path / "exchange").iterdir()) if file.name == "000001-0-1")
    sizes.write_bytes(sizes.read_bytes()[:-1] + b"?")
    assert kind_of(lambda: step(tmp_path, offices, "B")) == "tampered"
    assert kind_of(lambda: step(tmp_path, offices, "A")) in ("tampered", "refused by a party")


def test_what_one_said_itself_may_not_change(tmp_path, offices):
    step(tmp_path, offices, "A")
    own = tmp_path / "exchange" / "000000-0-1"
    own.write_bytes(own.read_bytes() + b" ")
    assert kind_of(lambda: step(tmp_path, offices, "A")) == "tampered"


def test_the_greeting_of_somebody_else_under_a_name_is_refused(tmp_path, offices):
    from discreet.private.parties.identity import PartyCredentials

    eve = offices.credentials("Eve")
    step(tmp_path, offices, "A")
    known = offices.known
    try:
        offices.known = {**known, "B": PartyCredentials(eve.certificate, eve.key, eve.authorities)}
        assert kind_of(lambda: step(tmp_path, offices, "B")) == "refused by a party"
    finally:
        offices.known = known


def test_a_second_run_with_a_counterpart_for_a_purpose_is_refused(tmp_path):
    log = tmp_path / "unions.jsonl"
    new_union_log(log)
    files = example()

    def run():
        from discreet.private.parties.conversation import conversation
        from discreet.private.parties.together import run_together

        record = Transcript()
        tasks = {name: union_task(NAMES, name, files[name], TERMS) for name in NAMES}
        tasks["B"] = entered(tasks["B"], log, "A", "study")
        talks = {name: conversation(name, task, record=record) for name, task in tasks.items()}
        return run_together(talks, record)["B"], record

    assert run()[0].union == 18
    assert log.stat().st_mode & 0o077 == 0
    assert kind_of(run) == "too many runs"
    assert len(log.read_text().splitlines()) == 1


def test_a_run_that_is_broken_off_counts(tmp_path):
    from discreet.private.parties.conversation import conversation
    from discreet.private.parties.together import run_together

    log, files, record = tmp_path / "unions.jsonl", example(), Transcript()
    new_union_log(log)
    tasks = {name: union_task(NAMES, name, files[name], TERMS) for name in NAMES}
    tasks["B"] = entered(tasks["B"], log, "A", "study")
    talks = {name: conversation(name, task, record=record) for name, task in tasks.items()}
    assert kind_of(lambda: run_together(talks, record, leaving={"A": 5})) == "party left"
    assert len(log.read_text().splitlines()) == 1


def test_a_transcript_can_be_kept_and_read_again(tmp_path):
    record = Transcript()
    record.passed("A", "B", "sizes", b"12")
    file = tmp_path / "transcript"
    save_transcript(record, file)
    assert load_transcript(file) == record
    assert file.stat().st_mode & 0o077 == 0
    file.write_text(file.read_text().replace('"bytes": 2', '"bytes": 3'))
    assert kind_of(lambda: load_transcript(file)) == "tampered"


def test_the_page_shows_the_statements():
    from discreet.private.parties.statements import party_statements_table

    page = Path(__file__).parents[3] / "docs" / "how-to" / "joint-models.md"
    assert party_statements_table() in page.read_text(encoding="utf-8")
    assert all(all(vars(one).values()) for one in ds.private.party_statements())
