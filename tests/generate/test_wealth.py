"""The made-up wealth survey: what adds up, what is skewed, and that it is the same everywhere."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.generate import wealth_survey


def test_totals_add_up_in_every_record():
    table = wealth_survey(1_000, seed=5).records
    value = {name: table[name].to_numpy() for name in table.column_names}
    assert np.array_equal(value["income"], value["wage"] + value["business"] + value["rent"])
    assert np.array_equal(value["assets"], value["house"] + value["financial"])
    assert np.array_equal(value["networth"], value["assets"] - value["debts"])
    for name in ("wage", "rent", "house", "financial", "debts", "accounts", "acres"):
        assert value[name].min() >= 0, name
    assert value["business"].min() < 0
    assert 18 <= value["age"].min() <= value["age"].max() <= 99


def test_net_worth_is_skewed_and_the_rich_weigh_little():
    table = wealth_survey().records
    worth, weight = table["networth"].to_numpy(), table["weight"].to_numpy()
    assert worth.mean() > 8 * np.median(worth)
    assert 0.17 < (worth <= 0).mean() < 0.23
    assert np.median(weight[worth > 10**7]) < 0.1 * np.median(weight)


def test_the_same_arguments_give_the_same_survey():
    assert wealth_survey(300).records.equals(wealth_survey(300).records)
    assert not wealth_survey(300, seed=2).records.equals(wealth_survey(300).records)
    text = ",".join(map(str, wealth_survey(300).records["networth"].to_pylist()))
    assert sha256(text.encode()).hexdigest()[:12] == "51ba1f0a5bc9"


def test_bad_sizes_are_refused():
    with pytest.raises(InputError, match="records must be a whole number"):
        wealth_survey(0)
