"""Rules on records: what ``assess`` takes for them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import ParameterError

PEOPLE = ds.Microdata(pa.table({"age": ["20-29", "20-29", "30-39"]}), keys=["age"])


def test_the_method_and_the_function_say_the_same():
    by_method, by_function = PEOPLE.assess(ds.KAnonymity(2)), ds.assess(PEOPLE, ds.KAnonymity(2))
    assert by_method.assessment == by_function.assessment
    assert by_method.assessment is not None
    assert by_method.assessment.unsafe == (1,)


@pytest.mark.parametrize(
    "option", [{"profile": "argus"}, {"missing_safe": True}, {"manual_range": 10.0}, {"unrelated": ["age"]}]
)
def test_options_of_tables_are_refused_and_not_ignored(option: dict[str, Any]):
    (name,) = option
    with pytest.raises(ParameterError, match=f"assess takes {name}= for tables, not for records"):
        ds.assess(PEOPLE, ds.KAnonymity(2), **option)
    with pytest.raises(TypeError, match=name):
        PEOPLE.assess(ds.KAnonymity(2), **option)
