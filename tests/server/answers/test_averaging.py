"""Attackers who average what they are told end below the owner's limit, alone and together, through HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.linalg import lsqr
from starlette.testclient import TestClient

from discreet.server.account import MemoryAccount
from discreet.server.app import TableApp
from discreet.server.dataset import Dataset
from discreet.server.identity import Identity
from discreet.server.roles import Role
from discreet.server.service import Service
from tests.server.census import Budgets, KeptLog, made, people

TARGET = ("sex", "age_group", "marital")
SHARE = 0.3


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
    levels = {n: len(found) for n, found in census.levels.items()}
    others = [(n, level) for n in levels if n not in TARGET for level in range(1, levels[n] + 1)]
    wanted = [(one,) for one in others] + [(a, b) for a, b in combinations(others, 2) if a[0] != b[0]]
    found = []
    for number, more in enumerate([(), *wanted]):
        words = ",".join([*TARGET, *(f"{name}:{level}" for name, level in more)])
        reply = client.get(
            "/v1/datasets/census/latest/table",
            params={"variables": words, "totals": "no"},
            headers={"x-user": str(1 + number % users)},
        )
        assert reply.status_code in (200, 403, 413), reply.text
        if reply.status_code == 200:
            found.append(dict(finest(census, reply.json(), dict(more))))
    return found


def finest(census: Dataset, cube: dict[str, Any], levels: dict[str, int]) -> Iterator[tuple[Any, int]]:
    """The finest cells of a JSON-stat answer."""
    names = cube["id"]
    codes = [cube["dimension"][name]["category"]["index"] for name in names]
    keep = []
    for name, listed in zip(names, codes, strict=True):
        level = census.levels[name][levels.get(name, 0) - 1]
        keep.append({c for c in listed if level.hierarchy.base[level.hierarchy.index[c]]})
    values = cube["value"]
    items = values.items() if isinstance(values, dict) else enumerate(values)
    for place, value in items:
        where = np.unravel_index(int(place), cube["size"])
        cell = tuple((n, listed[i]) for n, listed, i in zip(names, codes, where, strict=True))
        if all(code in fine for (_, code), fine in zip(cell, keep, strict=True)):
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
def strict(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, Path]:
    """A data set with a low limit and many variables together."""
    folder = tmp_path_factory.mktemp("strict")
    change = {"exact_share = 0.5": f"exact_share = {SHARE}", "most_variables = 3": "most_variables = 5"}
    return made(folder, change=change), folder


@pytest.fixture(scope="module")
def true(strict: tuple[Dataset, Path]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(p[name] for name in TARGET) for p in people(strict[1]))


@pytest.mark.parametrize("users", [1, 10])
def test_averaging_refinements_ends_below_the_owners_limit(
    strict: tuple[Dataset, Path], true: Counter[tuple[str, ...]], users: int
) -> None:
    with served(strict[0], MemoryAccount()) as client:
        told = tables(strict[0], client, users)
    share = share_known(told, true)
    assert len(told) > 1
    assert share <= SHARE + 0.08, (len(told), share)  # 140 cells: two standard errors


def test_without_the_account_averaging_succeeds(strict: tuple[Dataset, Path], true: Counter[tuple[str, ...]]) -> None:
    with served(strict[0], Forgetful()) as client:
        told = tables(strict[0], client, 1)
    share = share_known(told, true)
    assert share > SHARE + 0.12, (len(told), share)
