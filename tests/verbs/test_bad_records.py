"""Bad input of methods for categorical keys: each is refused, or noted, in words that say what to do."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError

TABLE = pa.table(
    {
        "age": ["1", "1", "2", "2"],
        "sex": ["f"] * 4,
        "gap": pa.array([None] * 4, pa.string()),
        "w": [1.0, 0.0, 2.0, 3.0],
        "home": [1, 1, 2, 2],
        "region": ["n", "s", "n", "n"],
    }
)
MANY = pa.table({f"k{i}": [str(j % 3) for j in range(9)] for i in range(20)})


def people(**roles: Any) -> ds.Microdata:
    return ds.Microdata(TABLE, **{"keys": ["age", "sex"], **roles})


def many() -> ds.Microdata:
    return ds.Microdata(MANY, keys=MANY.column_names)


LACKING = {"hierarchies": {"age": ds.Hierarchy.flat(["1"])}}
LACKS = "Variable 'age' has 1 code that its hierarchy does not have as base codes: '2' (2 records)."
NOT_SUMS = {"age": [[0.5, 0.4], [0.5, 0.5]]}
NO_WEIGHT = "1 record has no weight above 0 in 'w'."


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        (lambda: ds.LocalSuppress(1), ParameterError, "k=1 is not allowed. Give a whole number of at least 2"),
        (lambda: ds.KAnonymity(1), ParameterError, "k=1 is not allowed. Give a whole number of at least 2"),
        (lambda: ds.KMap(1, population=TABLE), ParameterError, "k=1 is not allowed."),
        (lambda: ds.Generalise(1), ParameterError, "k=1 is not allowed."),
        (lambda: ds.protect(people(), ds.LocalSuppress(5)), ProtectionError, "is to occur 5 times, in 4 records."),
        (
            lambda: ds.protect(people(), ds.Generalise(5, algorithm="local")),
            ProtectionError,
            "is to occur 5 times, in 4 records. Give more records or a smaller k.",
        ),
        (
            lambda: ds.protect(people(), [ds.Recode("age", map={"1": "x", "2": "x"}), ds.LocalSuppress(5)]),
            ProtectionError,
            "Every combination of keys is to occur 5 times, in 4 records.",
        ),
        (lambda: ds.protect(people(keys=()), ds.LocalSuppress(2)), NeedsError, "Give Microdata(keys=[...])"),
        (lambda: people(keys=()).assess(ds.KAnonymity(2)), NeedsError, "by which columns somebody may be recognised"),
        (lambda: ds.protect(people(keys=()), ds.Generalise(2)), NeedsError, "Give Microdata(keys=[...])"),
        (lambda: ds.risk(people(keys=())), NeedsError, "Give Microdata(keys=[...])"),
        (
            lambda: many().assess(ds.KAnonymity(2, size=10)),
            ParameterError,
            "20 keys have 184,756 subsets of 10; at most 20,000 are counted. Give fewer keys or a smaller size.",
        ),
        (
            lambda: ds.protect(many(), ds.LocalSuppress(2, size=10)),
            ParameterError,
            "20 keys have 184,756 subsets of 10",
        ),
        (
            lambda: ds.protect(many(), ds.LocalSuppress(2)),
            ParameterError,
            "20 keys have 1,048,576 sets of columns to empty. Give at most 12 keys, or size=",
        ),
        (lambda: ds.protect(people(**LACKING), ds.Generalise(2)), InputError, LACKS),
        (lambda: ds.protect(people(**LACKING), ds.Recode("age", level=0)), InputError, LACKS),
        (
            lambda: ds.protect(people(), ds.Recode("age", groups={"a": ["1-2"], "b": ["2"]})),
            InputError,
            "Groups of 'age' give 1 code two new codes: '2' ('a' and 'b'). Name each code in one group.",
        ),
        (
            lambda: ds.Pram(NOT_SUMS, codes={"age": ["1", "2"]}),
            ParameterError,
            "Rows of the matrix of 'age' do not sum to 1: '1' to 0.9. Rows are the original codes",
        ),
        (lambda: people(weight="w").assess(ds.KAnonymity(2, weight="w")), InputError, NO_WEIGHT),
        (lambda: ds.protect(people(weight="w"), ds.LocalSuppress(2, weight="w")), InputError, NO_WEIGHT),
        (lambda: ds.protect(people(weight="w"), ds.LocalSuppress(risk=0.4)), InputError, NO_WEIGHT),
        (lambda: ds.risk(people(weight="w")), InputError, NO_WEIGHT),
        (
            lambda: ds.protect(people(keys=["age", "gap"]), ds.Generalise(2, algorithm="local")),
            InputError,
            "Key 'gap' is empty in every record. Take it out of the keys.",
        ),
        (lambda: ds.risk(people(keys=["age", "gap"])), InputError, "Key 'gap' is empty in every record."),
        (lambda: ds.protect(people(), ds.Pram({"gap": "2E(.8)"})), InputError, "Column 'gap' has nothing to draw"),
        (
            lambda: ds.protect(people(household="home"), ds.Swap("region", "home")),
            InputError,
            "The members of a household live in different areas. Check 'home'.",
        ),
        (
            lambda: ds.protect(people(keys=["region"], household="home"), ds.LocalSuppress(2, of_household=["region"])),
            InputError,
            "1 household has members with different codes of 'region', which of_household= calls one of the household.",
        ),
    ],
)
def test_bad_input_is_refused_in_words(work, error, message):
    with pytest.raises(error) as caught:
        work()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "note"),
    [
        (["age", "sex"], "Key 'sex' has the same value in all records: it tells nobody apart."),
        (["age", "gap"], "Key 'gap' is empty in all records: it tells nobody apart."),
    ],
)
def test_keys_that_tell_nobody_apart_are_noted(keys, note):
    assert note in ds.protect(people(keys=keys), ds.LocalSuppress(2)).custodian.log["notes"]


def test_a_singular_matrix_is_warned_of():
    method = ds.Pram({"age": [[0.5, 0.5], [0.5, 0.5]]}, codes={"age": ["1", "2"]})
    with pytest.warns(UserWarning, match="The matrix of 'age' is singular: counts before cannot be estimated"):
        ds.protect(people(), method)
