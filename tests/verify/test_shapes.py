"""Shapes of plain data: each allows what it says and nothing beside, and an error names the place."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest

from discreet.errors import InputError
from discreet.verify.jsonfile import parse_json
from discreet.verify.rule_shapes import above_zero, rule
from discreet.verify.shapes import (
    Shape,
    by_name,
    either,
    flag,
    many,
    number,
    one_of,
    optional,
    plain,
    record,
    row,
    text,
    whole,
)

CASES: list[tuple[Callable[[], Shape], list[Any], list[Any], str]] = [
    (lambda: text(most=3), ["", "abc"], ["abcd", 1, None, [], ["a"]], "is not the text that must stand there"),
    (lambda: text("[ab]+"), ["ab"], ["", "abc"], "is not the text that must stand there"),
    (lambda: whole(1, 3), [1, 3], [0, 4, True, 1.0, "2", None], "is not a whole number from 1 to 3"),
    (lambda: number(0, 2), [0, 0.5, 2], [-1, 2.5, True, math.nan, "1", None], "is not a number that may stand there"),
    (lambda: number(), [-1.5, 10**30], [math.inf, -math.inf, None], "is not a number that may stand there"),
    (lambda: flag, [True, False], [0, 1, None, "true"], "is neither true nor false"),
    (lambda: one_of("a", 1), ["a", 1], ["b", 2, True, 1.0], "is not one of 'a', 1"),
    (lambda: optional(flag), [None, True], [0], "is neither true nor false"),
    (lambda: either(flag, whole()), [True, 0], [-1, "x"], "is not a whole number from 0"),
    (
        lambda: many(flag, least=2),
        [[True, False], (True, True)],
        [[True], True, {}, "ab"],
        "is not a list, or one that is too",
    ),
    (lambda: many(flag), [[]], [[True, 1]], "[1] is neither true nor false"),
    (lambda: row(flag, whole()), [[True, 1]], [[True], [True, 1, 1], (True, 1), "ab"], "is not a list of 2"),
    (lambda: row(flag, whole()), [], [[True, -1]], "[1] is not a whole number"),
    (lambda: by_name(flag), [{}, {"a": True}], [[], "a"], "is not an object"),
    (lambda: by_name(flag), [], [{"a": 1}], ".a is neither true nor false"),
    (lambda: by_name(flag, names=text("a")), [{"a": True}], [{"b": True}], "the key 'b' of here is not the text"),
    (lambda: record({"a": flag}, {"b": flag}), [{"a": True}, {"a": True, "b": False}], [[], "a"], "is not an object"),
    (lambda: record({"a": flag}, {"b": flag}), [], [{"b": True}], ".a is missing"),
    (lambda: record({"a": flag}, {"b": flag}), [], [{"a": True, "c": 1}], ".c is not known to this checker"),
    (lambda: record({"a": flag}, {"b": flag}), [], [{"a": True, "b": 1}], ".b is neither true nor false"),
    (lambda: above_zero(1), [0.5, 1], [0, 0.0], "is zero"),
    (lambda: above_zero(1), [], [-1, 2, True], "is not a number that may stand there"),
    (lambda: plain, [{}, [], "a", 1, 1.5, None, True], [object(), b"a"], "is not plain data"),
    (lambda: rule, [{"kind": "office.own", "p": [1.5, "x"][1]}], [[], {}, {"kind": 1}, "x"], "is not a rule"),
    (lambda: rule, [], [{"kind": "strange"}], "is a rule 'strange', which this checker does not know"),
]


@pytest.mark.parametrize(("shape", "allowed", "refused", "message"), CASES)
def test_a_shape_allows_what_it_says(shape, allowed, refused, message):
    look = shape()
    for value in allowed:
        look(value, "here")
    for value in refused:
        with pytest.raises(InputError, match=re.escape(message)) as error:
            look(value, "here")
        assert "here" in str(error.value)


# ---- JSON ---------------------------------------------------------------------------------------------------


def test_json_is_read():
    assert parse_json(b'{"a": [1, 2.5, null], "b": {"a": "x"}}') == {"a": [1, 2.5, None], "b": {"a": "x"}}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": 1, "b": 2, "a": 3}', "The file 'x.json' has the key 'a' twice."),
        (b'[{"a": 1, "a": 1}]', "The file 'x.json' has the key 'a' twice."),
        (b"{", "The file 'x.json' is not well formed (JSONDecodeError)."),
        (b'"\xff"', "The file 'x.json' is not well formed (UnicodeDecodeError)."),
        (b"[NaN]", "The file 'x.json' is not well formed (ValueError)."),
        (b"[-Infinity]", "The file 'x.json' is not well formed (ValueError)."),
        (b"[1e999]", "The file 'x.json' is not well formed (ValueError)."),
        (b'"\\ud800"', "The file 'x.json' is not well formed (UnicodeEncodeError)."),
        (b"[" * 41 + b"]" * 41, "The file 'x.json' is not well formed (it is nested too deeply)."),
        (b'{"a":' * 50 + b"1" + b"}" * 50, "The file 'x.json' is not well formed (it is nested too deeply)."),
    ],
)
def test_json_that_could_be_read_in_two_ways_or_break_its_reader_is_refused(data, message):
    with pytest.raises(InputError, match=re.escape(message)):
        parse_json(data, "x.json")


def test_json_may_be_nested_as_deep_as_files_of_a_release():
    assert parse_json(b"[" * 30 + b"]" * 30)
