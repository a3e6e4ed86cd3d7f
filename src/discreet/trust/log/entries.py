"""What may stand in the log: typed entries with named fields, and nothing else.

An entry says who asked or did what, by digests, words and names. There is no field for a value, and free text is short
and without control characters, so that no confidential value gets into the log by accident.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from discreet.errors import ParameterError

INVISIBLE = (
    r"\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff\U000e0000-\U000e0fff"
)
"""Characters that change how a line is shown, or that nobody sees."""
Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=rf"\A[^{INVISIBLE}]*\Z")]
Text = Annotated[str, Meta(min_length=1, max_length=500, pattern=rf"\A[^{INVISIBLE}]*\Z")]
Word = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9_.-]{0,59}\Z")]
Label = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}\Z")]
Serial = Annotated[str, Meta(pattern=r"\A[0-9a-f]{1,40}\Z")]
Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Signed = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\Z", max_length=12_000)]
"""A signed request, as it came (JWS): it proves who asked what."""
Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Decision = Literal["granted", "denied"]


class LoggedAct(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind"):
    """What every entry may say: who did it, with which certificate, in which role, in which request."""

    subject: Name | None = None
    serial: Serial | None = None
    role: Word | None = None
    request: Label | None = None
    purpose: Text | None = None


class QuestionAsked(LoggedAct, frozen=True, kw_only=True, tag="question"):
    """A question, before anything is computed."""

    action: Word
    dataset: Label
    edition: Label
    question: Digest


class AnswerGiven(LoggedAct, frozen=True, kw_only=True, tag="answer"):
    """An answer that may leave once this entry is acknowledged."""

    action: Word
    dataset: Label
    edition: Label
    question: Digest
    answer: Digest
    method: Text
    budget_after: Count | None = None
    signed: Signed | None = None


class QuestionRefused(LoggedAct, frozen=True, kw_only=True, tag="refusal"):
    """A question that was not answered, and the rule that stood against it."""

    action: Word
    rule: Word
    dataset: Label | None = None
    edition: Label | None = None
    question: Digest | None = None
    budget_after: Count | None = None


class SignedIn(LoggedAct, frozen=True, kw_only=True, tag="sign_in"):
    """Somebody signed in, or tried to."""

    decision: Decision
    level: Annotated[int, Meta(ge=0, le=4)]
    rule: Word | None = None


class SignedOut(LoggedAct, frozen=True, kw_only=True, tag="sign_out"):
    """A session ended."""

    rule: Word | None = None


class DecisionTaken(LoggedAct, frozen=True, kw_only=True, tag="decision"):
    """Somebody decided about something: a project, an output, a rule; the second pair of eyes has its own name."""

    action: Word
    decision: Decision
    about: Label | None = None
    second: Name | None = None
    dataset: Label | None = None
    edition: Label | None = None
    rule: Word | None = None
    content: Digest | None = None
    signed: Signed | None = None


class ServerStarted(LoggedAct, frozen=True, kw_only=True, tag="start"):
    """A process of the server began."""

    action: Word
    version: Label
    content: Digest | None = None


class ServerStopped(LoggedAct, frozen=True, kw_only=True, tag="stop"):
    """A process of the server ended."""

    action: Word
    rule: Word | None = None


class KeyChanged(LoggedAct, frozen=True, kw_only=True, tag="key_change"):
    """A key was made, put in use or withdrawn; keys are named by their fingerprints only."""

    action: Word
    fingerprint: Serial
    dataset: Label | None = None
    edition: Label | None = None
    second: Name | None = None


class RoleChanged(LoggedAct, frozen=True, kw_only=True, tag="role_change"):
    """Somebody was given a role, or lost it."""

    action: Word
    about: Name
    given: Word
    second: Name | None = None


class CertificateChanged(LoggedAct, frozen=True, kw_only=True, tag="certificate_change"):
    """A certificate was issued, renewed, suspended or revoked."""

    action: Word
    about: Serial
    second: Name | None = None


class DatasetChanged(LoggedAct, frozen=True, kw_only=True, tag="dataset_change"):
    """An edition of a data set was opened or withdrawn."""

    action: Word
    dataset: Label
    edition: Label
    content: Digest | None = None


class LogRepaired(LoggedAct, frozen=True, kw_only=True, tag="repair"):
    """The writer cut off what nobody had been told was written. Only the writer makes this entry."""

    entries: Count
    bytes: Count
    content: Digest


LogEntry = (
    QuestionAsked
    | AnswerGiven
    | QuestionRefused
    | SignedIn
    | SignedOut
    | DecisionTaken
    | ServerStarted
    | ServerStopped
    | KeyChanged
    | RoleChanged
    | CertificateChanged
    | DatasetChanged
)
"""What clients may append."""
ENTRY_KINDS: dict[str, type[LoggedAct]] = {
    str(cls.__struct_config__.tag): cls for cls in (*get_args(LogEntry), LogRepaired)
}

UNKNOWN = re.compile(r"unknown field `(.{1,60}?)`")
PLACE = re.compile(r"at `\$?([^`]*)`")


class EntryRefused(ParameterError):
    """An entry has a field or a value that the log does not take; nothing was written."""


def refused_entry(error: msgspec.ValidationError) -> EntryRefused:
    """What is wrong with an entry, without the value that was given."""
    text = str(error)
    unknown, place = UNKNOWN.search(text), PLACE.search(text)
    where = f" at {place[1].lstrip('.')!r}" if place and place[1].strip(".") else ""
    if unknown is not None:
        what = f"has no field {unknown[1]!r}"
    elif text.startswith("Object missing"):
        what = f"lacks a field{where}: {text.partition('`')[2].partition('`')[0]!r}"
    else:
        what = f"has a value that is not allowed{where}"
    return EntryRefused(
        f"The log does not take this entry: it {what}.",
        hint="Entries hold names, words, digests and short text without control characters, and no values.",
    )
