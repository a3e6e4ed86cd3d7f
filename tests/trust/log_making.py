"""Small logs to look at, damage and attack."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.trust import SigningKey, make_keys
from discreet.trust.log.entries import AnswerGiven, QuestionAsked, SignedIn
from discreet.trust.log.lines import SignedHead
from discreet.trust.log.writer import LogWriter, create_log


def key_in(folder: Path) -> Path:
    """The file of a new signing key."""
    make_keys(folder / "log.pem")
    return folder / "log.pem"


def question(number: int) -> QuestionAsked:
    return QuestionAsked(
        subject=f"Zoë {number}", action="table", dataset="census", edition="2021.1", question=f"{number:064x}"
    )


def entry(number: int) -> QuestionAsked | AnswerGiven | SignedIn:
    """Entries of several kinds and lengths."""
    if number % 3 == 1:
        return SignedIn(subject='An "odd" \\ name', decision="granted", level=3, serial=f"{number:x}")
    if number % 3 == 2:
        return AnswerGiven(
            action="table",
            dataset="census",
            edition="2021.1",
            question="a" * 64,
            answer=f"{number:064x}",
            method="cell_key",
            budget_after=number,
        )
    return question(number)


def log_of(folder: Path, key: SigningKey, groups: Sequence[int], segment_entries: int = 4) -> list[SignedHead]:
    """Write a log of groups of so many entries; gives its heads."""
    create_log(folder, key)
    with LogWriter(folder, key, segment_entries=segment_entries) as writer:
        heads, number = [writer.head], 0
        for size in groups:
            receipts = writer.commit([entry(number + k) for k in range(size)])
            number += size
            assert [receipt.seq for receipt in receipts] == list(range(number - size + 1, number + 1))
            heads.append(writer.head)
    return heads
