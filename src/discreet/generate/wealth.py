"""A wealth survey: households with incomes, assets and debts, the rich sampled more often than others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.generate import classifications
from discreet.generate.codes import CodeTree
from discreet.generate.draws import Draws, Floats, Integers, choose, heavy_tail, lognormal
from discreet.generate.generated import Generated, code_column
from discreet.generate.parameters import MOST_RECORDS, whole_number

_REGIONS = {f"R{i}": f"Region {i}" for i in range(1, 10)}
_EDUCATION = {"1": "Lower secondary or less", "2": "Upper secondary", "3": "Some college", "4": "University degree"}
_EDUCATION_WEIGHTS = (12, 30, 25, 33)
_MEDIAN_WORTH = 95_000.0
_LISTED = 0.3
"""Share of the sample that comes from a list of the rich."""


def wealth_survey(records: int = 4_500, *, seed: int = 1) -> Generated:
    """Generate a survey of what households earn, own and owe.

    Net worth is lognormal with a heavy tail, and a fifth of the households have none or less than none. Three in ten
    come from a list of the rich and have small weights. Amounts are as round as people say them.

    Parameters
    ----------
    records
        The number of households.
    seed
        A whole number; the same arguments give the same survey on every machine.

    Returns
    -------
    Generated
        One record per household, with the columns

        - ``household``: its number, from 1;
        - ``region``, ``education``, ``occupation``: codes;
        - ``age``: of the respondent, 18 to 99;
        - ``accounts``: number of checking accounts; ``acres``: of land;
        - ``wage``, ``business``, ``rent``, ``income``: in a year, with ``wage + business + rent = income``; a business
          may lose money;
        - ``house``, ``financial``, ``assets``, with ``house + financial = assets``; ``debts``; ``networth``, with
          ``assets - debts = networth``;
        - ``weight``: sampling weight with two decimals.

    Raises
    ------
    InputError
        If a parameter is impossible.

    Examples
    --------
    >>> from discreet.generate import wealth_survey
    >>> wealth_survey(300, seed=7)
    Generated(300 records; base codes: region 9, education 4, occupation 41)
    """
    count = whole_number("records", records, 1, MOST_RECORDS)
    draws = Draws(whole_number("seed", seed, 0), "wealth")
    listed = draws.uniform("listed", count) < _LISTED
    education = choose(draws.uniform("education", count), _EDUCATION_WEIGHTS)
    age = np.floor(18.0 + 82.0 * draws.uniform("age", count) * (0.45 + 0.55 * draws.uniform("older", count)))
    worth = _worth(draws, age, education, listed)
    debts = _debts(draws, worth)
    house, financial = _assets(draws, worth + debts)
    wage, business, rent = _incomes(draws, age, education, worth)
    trees = {
        "region": CodeTree.flat(_REGIONS),
        "education": CodeTree.flat(_EDUCATION),
        "occupation": classifications.OCCUPATION,
    }
    columns = {
        "household": np.arange(1, count + 1, dtype=np.int32),
        "region": code_column(trees["region"], choose(draws.uniform("region", count), (9, 8, 7, 6, 5, 4, 3, 2, 1))),
        "education": code_column(trees["education"], education),
        "occupation": code_column(trees["occupation"], _occupations(draws, wage, business)),
        "age": age.astype(np.int16),
        "accounts": _accounts(draws, worth),
        "acres": np.rint(
            (draws.uniform("land", count) < 0.1) * 6.0 * lognormal(draws.uniform("acres", count), 1.6)
        ).astype(np.int32),
        "wage": wage,
        "business": business,
        "rent": rent,
        "income": wage + business + rent,
        "house": house,
        "financial": financial,
        "assets": house + financial,
        "debts": debts,
        "networth": house + financial - debts,
        "weight": _weights(draws, listed, worth),
    }
    return Generated(
        records=pa.table(columns),
        parents={name: tree.parents for name, tree in trees.items()},
        labels={name: tree.labels for name, tree in trees.items()},
    )


def _worth(draws: Draws, age: Floats, education: Integers, listed: NDArray[np.bool_]) -> Floats:
    """What is left when all debts are paid; a fifth have nothing, or owe more than they have."""
    count = len(age)
    worth = _MEDIAN_WORTH * (0.2 + age / 60.0) * np.array([0.4, 0.7, 1.0, 2.0])[education]
    worth *= lognormal(draws.uniform("worth", count), 1.4)
    worth *= heavy_tail(draws.uniform("tail", count), 0.05, cap=500.0)
    worth *= np.where(listed, 12.0 * heavy_tail(draws.uniform("rich", count), 0.3, cap=100.0), 1.0)
    none = choose(draws.uniform("no worth", count), (80, 5, 15))
    owed = -9_000.0 * lognormal(draws.uniform("owed", count), 1.0)
    return np.where(none == 0, worth, np.where(none == 1, 0.0, owed))


def _debts(draws: Draws, worth: Floats) -> Integers:
    some = draws.uniform("owes", len(worth)) < 0.75
    usual = some * 60_000.0 * lognormal(draws.uniform("debts", len(worth)), 1.2)
    return _as_said(usual + np.maximum(-worth, 0.0))


def _assets(draws: Draws, assets: Floats) -> tuple[Integers, Integers]:
    assets = np.maximum(assets, 0.0)
    owner = draws.uniform("owner", len(assets)) < 0.65
    share = np.where(owner, 0.2 + 0.7 * draws.uniform("house", len(assets)), 0.0)
    share = share * np.minimum(1.0, 900_000.0 / np.maximum(assets, 1.0))
    return _as_said(assets * share), _as_said(assets * (1.0 - share))


def _incomes(draws: Draws, age: Floats, education: Integers, worth: Floats) -> tuple[Integers, Integers, Integers]:
    count = len(age)
    works = draws.uniform("works", count) < np.where(age < 65, 0.85, 0.15)
    wage = works * np.array([22_000.0, 33_000.0, 41_000.0, 68_000.0])[education]
    wage *= lognormal(draws.uniform("wage", count), 0.6)
    owns = draws.uniform("business", count) < 0.12
    profit = 0.03 * np.abs(worth) * lognormal(draws.uniform("profit", count), 1.0) + 5_000.0
    profit *= np.where(draws.uniform("loss", count) < 0.15, -0.4, 1.0) * owns
    lets = draws.uniform("lets", count) < 0.1
    return _as_said(wage), _as_said(profit), _as_said(lets * (0.01 * np.abs(worth) + 3_000.0))


def _occupations(draws: Draws, wage: Integers, business: Integers) -> Integers:
    codes = classifications.OCCUPATION.leaves
    nobody = codes.index("X")
    weights = [0 if code == "X" else 60 // int(code[1]) for code in codes]
    working = (wage > 0) | (business != 0)
    return np.where(working, choose(draws.uniform("occupation", len(wage)), weights), nobody)


def _accounts(draws: Draws, worth: Floats) -> NDArray[np.int16]:
    number = 1.0 + 1.2 * lognormal(draws.uniform("accounts", len(worth)), 0.7) * (1.0 + (worth > 1_000_000))
    has = draws.uniform("has account", len(worth)) < 0.9
    return np.floor(has * number).astype(np.int16)


def _weights(draws: Draws, listed: NDArray[np.bool_], worth: Floats) -> Floats:
    usual = 20_000.0 * (0.7 + 0.6 * draws.uniform("weight", len(worth)))
    rich = usual / (4.0 + np.maximum(worth, 0.0) / 500_000.0)
    weight: Floats = np.maximum(np.floor(100.0 * np.where(listed, rich, usual)), 100.0) / 100.0
    return weight


def _as_said(amounts: Floats) -> Integers:
    """Amounts with two or three digits that count, as people say them."""
    size = np.abs(amounts)
    step = np.ones(len(amounts), np.int64)
    for power in range(3, 14):
        step[size >= 10.0**power] = 10 ** (power - 2)
    said: Integers = np.rint(amounts / step).astype(np.int64) * step
    return said
