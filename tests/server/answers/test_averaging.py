"""Attackers who average what they are told end below the owner's limit, alone and together, through HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.linalg import lsqr
from starlette.testclient import TestClient

from discreet.server.account import MemoryAccount
from discreet.server.app import TableApp
from discreet.server.dataset import Dataset, build_dataset
from discreet.server.identity import Identity
from discreet.server.roles import Role
from discreet.server.service import Service
from tests.server.census import KEY, Budgets, KeptLog

TARGET = ("region", "sex")
REGIONS = 60
YES_OR_NO = 10
SHARE = 0.5
CATALOGUE = """\
version = 1
name = "survey"
edition = "1"
title = "Persons and ten questions that are answered by yes or no"

[data]
file = "persons.csv"
identifier = ["person"]

[variables.region]
[variables.sex]
QUESTIONS
[policy]
method = { method = "cell_key", D = 5, V = 3.0, js = 2, modulus = 65536 }
most_variables = 4
exact_share = 0.5
"""


class Forgetful(MemoryAccount):
    """An account that refuses nobody."""

    def charge(self, *_: Any) -> None:
        return None


@contextmanager
def served(census: Dataset, account: MemoryAccount) -> Iterator[TestClient]:
    """A server of many users, who say who they are."""
    service = Service({(census.name, census.edition): census}, account, Budgets(), KeptLog())

    async def who(request: Any) -> Identity:
        number = int(request.headers["x-user"])
        return Identity(number, f"user {number}", frozenset({Role.REGISTERED}), 0)

    with TestClient(TableApp(service, who).application()) as client:
        yield client


def tables(census: Dataset, client: TestClient, users: int) -> list[dict[tuple[tuple[str, str], ...], int]]:
    """All tables that refine the target, asked in turn by the users: those answered, as their finest cells."""
    others = [name for name in census.levels if name not in TARGET]
    wanted = [(one,) for one in others] + list(combinations(others, 2))
    found = []
    for number, more in enumerate([(), *wanted]):
        words = ",".join([*TARGET, *more])
        reply = client.get(
            "/v1/datasets/survey/latest/table",
            params={"variables": words, "totals": "no"},
            headers={"x-user": str(1 + number % users)},
        )
        assert reply.status_code in (200, 403, 413), reply.text
        if reply.status_code == 200:
            found.append(dict(finest(reply.json())))
    return found


def finest(cube: dict[str, Any]) -> Iterator[tuple[Any, int]]:
    """The cells of a JSON-stat answer without its totals."""
    names = cube["id"]
    codes = [list(cube["dimension"][name]["category"]["index"]) for name in names]
    values = cube["value"]
    for place, value in values.items() if isinstance(values, dict) else enumerate(values):
        where = np.unravel_index(int(place), cube["size"])
        cell = tuple((n, listed[i]) for n, listed, i in zip(names, codes, where, strict=True))
        if all(code != "Total" for _, code in cell):
            yield cell, value


def share_known(told: list[dict[tuple[tuple[str, str], ...], int]], true: Counter[tuple[str, ...]]) -> float:
    """The best linear attacker: weighted least squares on all sums that read a target cell."""
    place = {cell: i for i, cell in enumerate(true)}
    rows: list[int] = []
    columns: list[int] = []
    entries: list[float] = []
    right: list[float] = []
    for table in told:
        sums: Counter[tuple[str, ...]] = Counter()
        parts: Counter[tuple[str, ...]] = Counter()
        for cell, value in table.items():
            codes = dict(cell)
            key = tuple(codes[name] for name in TARGET)
            sums[key] += value
            parts[key] += 1
        for key, total in sums.items():
            if key in place:
                weight = parts[key] ** -0.5
                rows.append(len(right))
                columns.append(place[key])
                entries.append(weight)
                right.append(weight * total)
    system = coo_array((entries, (rows, columns)), shape=(len(right), len(place))).tocsr()
    guess = lsqr(system, np.array(right))[0]
    return float(np.mean([round(g) == n for g, n in zip(guess.tolist(), true.values(), strict=True)]))


@pytest.fixture(scope="module")
def persons() -> list[dict[str, str]]:
    draw = np.random.default_rng(3)
    names = ["sex", *(f"q{number}" for number in range(YES_OR_NO))]
    rows = draw.integers(2, size=(6000, len(names)))
    regions = draw.integers(REGIONS, size=len(rows))
    return [
        {"person": f"{number}", "region": f"r{region}"}
        | {name: f"{answer}" for name, answer in zip(names, row, strict=True)}
        for number, (region, row) in enumerate(zip(regions.tolist(), rows.tolist(), strict=True))
    ]


@pytest.fixture(scope="module")
def survey(persons: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("survey")
    lines = [",".join(persons[0]), *(",".join(person.values()) for person in persons)]
    (folder / "persons.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    questions = "".join(f"[variables.q{number}]\n" for number in range(YES_OR_NO))
    (folder / "survey.toml").write_text(CATALOGUE.replace("QUESTIONS\n", questions), encoding="utf-8")
    return build_dataset(folder / "survey.toml", folder / "survey", key=KEY)


@pytest.fixture(scope="module")
def true(persons: list[dict[str, str]]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(person[name] for name in TARGET) for person in persons)


@pytest.mark.parametrize("users", [1, 10])
def test_averaging_refinements_ends_below_the_owners_limit(
    survey: Dataset, true: Counter[tuple[str, ...]], users: int
) -> None:
    with served(survey, MemoryAccount()) as client:
        told = tables(survey, client, users)
    assert len(told) > 3
    share = share_known(told, true)
    assert share <= SHARE + 0.09, (len(told), share)  # 120 cells: two standard errors


def test_without_the_account_averaging_succeeds(survey: Dataset, true: Counter[tuple[str, ...]]) -> None:
    with served(survey, Forgetful()) as client:
        told = tables(survey, client, 1)
    share = share_known(told, true)
    assert share > 0.7, (len(told), share)
