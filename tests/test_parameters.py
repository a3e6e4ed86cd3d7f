"""Parameters are what their types say; messages name what was given and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.parameters import AtLeastOne, Declared, Number, Positive, Share


@dataclass(frozen=True)
class Example(Declared):
    word: str = "a"
    many: AtLeastOne = 1
    amount: Positive | None = None
    share: Share = 0.5
    angle: Annotated[float, Number(above=0, below=90)] = 45
    kind: Literal["low", "high"] | None = "low"
    flag: bool = False
    names: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    anything: Any = None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"word": ""}, "word='' is not allowed.*Give a name"),
        ({"word": 3}, "word=3 is not allowed"),
        ({"many": 0}, "many=0 is not allowed.*whole number of at least 1"),
        ({"many": True}, "many=True is not allowed"),
        ({"many": 1.5}, "many=1.5 is not allowed.*whole number"),
        ({"amount": 0}, "amount=0 is not allowed.*above 0, or leave it out"),
        ({"amount": float("nan")}, "amount=nan is not allowed"),
        ({"amount": float("inf")}, "amount=inf is not allowed"),
        ({"amount": "5"}, "amount='5' is not allowed"),
        ({"share": 1.5}, "share=1.5 is not allowed.*from 0 to 1"),
        ({"angle": 90}, "angle=90 is not allowed.*above 0 and below 90"),
        ({"kind": "lo"}, "There is no kind 'lo'.*Did you mean 'low'.*Available: 'low', 'high', 'None'"),
        ({"flag": 1}, "flag=1 is not allowed.*True or False"),
        ({"names": [1]}, "names=.1. is not allowed.*names in a list"),
        ({"names": 5}, "names=5 is not allowed"),
        ({"settings": [1]}, "settings= takes a mapping, not a list"),
    ],
)
def test_what_is_not_declared_is_refused(given, message):
    with pytest.raises(ParameterError, match=f"(?s){message}"):
        Example(**given)


def test_what_is_declared_is_kept():
    made = Example(word="b", many=7, amount=2.5, share=0, kind=None, flag=True, names="one", anything=object)
    assert made.names == ("one",)
    assert made.kind is None
    assert (made.many, made.amount, made.share, made.flag) == (7, 2.5, 0, True)


def test_numbers_of_arrays_become_plain():
    made = Example(many=np.int64(4), amount=np.float64(0.5), names=["x", "y"])
    assert type(made.many) is int
    assert type(made.amount) is float
    assert made.names == ("x", "y")


def test_mappings_are_copied():
    given = {"a": 1}
    made = Example(settings=given)
    given["b"] = 2
    assert made.settings == {"a": 1}
