"""Questions: which table of a data set, in one canonical form whichever way it was asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from discreet.errors import ParameterError
from discreet.server.catalogue import EVERYBODY

T = TypeVar("T")
LARGEST = 256 * 1024
"""Bytes of a question."""
MOST_PAIRS = 200
"""Names with values in a query."""
DEEPEST = 8
"""How deep lists and objects of a question may stand in one another; the parser itself goes no deeper than it must."""


class QuestionRefusal(ParameterError):
    """A question that is not answered. ``kind`` is a short word for it, ``status`` what HTTP calls it."""

    def __init__(self, kind: str, message: str, *, hint: str = "", status: int = 403) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.status = status


class VariableAsked(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A variable of a table, and down to which level of its hierarchy."""

    name: str
    level: Annotated[int, msgspec.Meta(ge=1, le=999)] | None = None


class QuestionBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A question as it is sent."""

    variables: list[str | VariableAsked]
    universe: str = EVERYBODY
    area: str | None = None
    value: str | None = None
    measure: str = "sum"
    select: dict[str, list[str]] = {}
    groups: dict[str, dict[str, list[str]]] = {}
    totals: bool = True


@dataclass(frozen=True)
class Question:
    """A table of a data set: for whom, where, by which variables and levels, and of what.

    ``variables`` are in the order of their names: another order is the same question.
    """

    dataset: str
    edition: str
    universe: str
    area: str | None
    variables: tuple[tuple[str, int], ...]
    value: str | None = None
    kept: dict[str, Any] = field(init=False, default_factory=dict, compare=False, repr=False)
    """What was worked out of it, for who asked it: others have a question of their own."""

    @cached_property
    def canonical(self) -> str:
        """The question as text, the same for all ways of asking it."""
        plain = [self.dataset, self.edition, self.universe, self.area, self.variables, self.value]
        return json.dumps(plain, ensure_ascii=True, separators=(",", ":"))

    @cached_property
    def digest(self) -> str:
        """What stands for the question in logs and accounts."""
        return hashlib.sha256(b"discreet question 1\0" + self.canonical.encode()).hexdigest()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its variables."""
        return tuple(name for name, _ in self.variables)


@dataclass(frozen=True)
class Selection:
    """What is shown of a protected table: order of the variables, codes, groups of codes, totals.

    It is no part of the question. Groups are sums of published cells.
    """

    order: tuple[str, ...]
    select: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    totals: bool = True
    measure: str = "sum"

    @cached_property
    def words(self) -> str:
        """All of it, as text."""
        return repr(self)


def decode_question(raw: bytes) -> QuestionBody:
    """A question from the body of a request; see :func:`decode_body`."""
    return decode_body(raw, QuestionBody)


def decode_body(raw: bytes, kind: type[T]) -> T:
    """What the body of a request says, as one of our types.

    Raises
    ------
    QuestionRefusal
        When it is too large, too deep, no JSON, or says what a question does not say.
    """
    if len(raw) > LARGEST:
        raise QuestionRefusal(
            "too-large", f"The question has more than {LARGEST:,} bytes.", hint="Ask less.", status=413
        )
    if _depth(raw) > DEEPEST:
        raise QuestionRefusal(
            "too-deep", f"The question is nested deeper than {DEEPEST} levels.", hint="See /openapi.json.", status=400
        )
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        raise QuestionRefusal(
            "not-a-question", f"The question cannot be read: {error}.", hint="See /openapi.json.", status=400
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise QuestionRefusal("not-json", "The question is not JSON.", hint="Send JSON in UTF-8.", status=400) from None


def _depth(raw: bytes) -> int:
    """How deep brackets stand in one another; those in text count too, which no question needs."""
    deepest = now = 0
    for byte in raw:
        if byte in b"[{":
            now += 1
            deepest = max(deepest, now)
        elif byte in b"]}":
            now -= 1
    return deepest


def asked(variables: Sequence[str | VariableAsked]) -> list[VariableAsked]:
    """Variables with their levels; ``age:2`` is short for level 2 of age."""
    found = []
    for item in variables:
        if isinstance(item, str):
            name, colon, level = item.partition(":")
            if colon and not (level.isascii() and level.isdigit() and len(level) < 4):
                raise QuestionRefusal(
                    "unknown-level", f"{item[:80]!r} names no level.", hint="Write name:2 for level 2.", status=400
                )
            item = VariableAsked(name, int(level) if colon else None)
        found.append(item)
    return found


def plain(question: Question) -> dict[str, Any]:
    """A question as plain data, to be sent or kept."""
    return {
        "dataset": question.dataset,
        "edition": question.edition,
        "universe": question.universe,
        "area": question.area,
        "variables": [f"{name}:{level}" for name, level in question.variables],
        "value": question.value,
    }


def query_pairs(query: str) -> list[tuple[str, str]]:
    """Names and values of a query.

    Raises
    ------
    QuestionRefusal
        When there are too many.
    """
    try:
        return parse_qsl(query, keep_blank_values=True, max_num_fields=MOST_PAIRS)
    except ValueError:
        raise QuestionRefusal(
            "too-large",
            f"The query has more than {MOST_PAIRS} parts.",
            hint="Send the question by POST.",
            status=400,
        ) from None


def question_of_query(pairs: Sequence[tuple[str, str]]) -> QuestionBody:
    """A question from the query of an address: ``variables=sex,age:2&universe=adults&select.sex=F,M&totals=no``.

    Raises
    ------
    QuestionRefusal
        When it says what a question does not say, or something twice.
    """
    plain: dict[str, Any] = {}
    select: dict[str, list[str]] = {}
    for name, value in pairs:
        if name.startswith("select."):
            if name[7:] in select:
                raise QuestionRefusal("twice", f"{name[:80]!r} stands there twice.", hint="Give it once.", status=400)
            select[name[7:]] = value.split(",")
            continue
        if name in plain:
            raise QuestionRefusal("twice", f"{name[:80]!r} stands there twice.", hint="Give it once.", status=400)
        if name == "variables":
            plain[name] = [part for part in value.split(",") if part]
        elif name == "totals" and value in ("yes", "no"):
            plain[name] = value == "yes"
        elif name in ("universe", "area", "value", "measure"):
            plain[name] = value
        else:
            known = "variables, universe, area, value, measure, totals=yes or no, select.NAME, format"
            raise QuestionRefusal(
                "not-a-question", f"A question has no {name[:80]!r}.", hint=f"Give {known}.", status=400
            )
    if "variables" not in plain:
        raise QuestionRefusal(
            "no-variables", "The question names no variables.", hint="Give ?variables=sex,age.", status=400
        )
    return QuestionBody(**plain, select=select)
