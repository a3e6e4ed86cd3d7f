"""A data set with plots, people with roles, and a project that is active."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from discreet.server.account import MemoryAccount
from discreet.server.app import TableApp
from discreet.server.dataset import Dataset
from discreet.server.extracts.file import ExtractFile
from discreet.server.identity import Identity
from discreet.server.plots import PlotAddresses, PlotDesk
from discreet.server.roles import Role
from discreet.server.service import Service
from discreet.server.store.people import Founder
from discreet.server.store.store import Store
from tests.server.census import KEY, PLOTS, PUBLIC, Budgets, KeptLog, made
from tests.server.extracts.made import build
from tests.server.extracts.made import census as census_of_households


@pytest.fixture(scope="session")
def census(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return made(tmp_path_factory.mktemp("census"), records=4_000, areas=20, change=PLOTS)


class House:
    """An application with its store, its log, and people who may ask."""

    def __init__(self, census: Dataset, store: Store) -> None:
        self.store, self.log, self.census = store, KeptLog(), census
        self.who = PUBLIC
        datasets = {(census.name, census.edition): census}
        store.editions.register(census.name, census.edition, key_fingerprint=census.manifest.key, key_version=1)
        roles = [Role.DATA_OWNER, Role.OFFICER, Role.REVIEWER, Role.REGISTRATION_OFFICER]
        ids = store.people.found([Founder(role, f"{role[:4]}@example.org", role) for role in roles])
        self.ids = dict(zip(("owner", "officer", "reviewer", "registrar"), ids, strict=True))
        for name in ("ada", "bob", "eve", "second"):
            self.ids[name] = store.people.add(name, f"{name}@example.org")
        self.service = Service(datasets, MemoryAccount(), Budgets(), self.log, KEY)

        async def who(_request: Any) -> Identity:
            return self.who

        self.ask = who
        self.client = TestClient(
            TableApp(self.service, who, beside=self.beside()).application(), raise_server_exceptions=False
        )

    def beside(self) -> list[Any]:
        return [PlotAddresses(PlotDesk(self.service, self.store), self.ask)]

    def become(self, name: str, role: Role = Role.RESEARCHER, level: int = 3) -> None:
        self.who = Identity(self.ids[name], name, frozenset({role}), auth_level=level)

    def project(self, *members: str, variables: tuple[str, ...] = ("income", "age"), expires: int | None = None) -> int:
        later = self.store.projects.now() + 86_400 if expires is None else expires
        number = self.store.projects.request(
            f"project of {' and '.join(members)}", self.ids[members[0]], licence="1", expires=later
        )
        for member in members[1:]:
            self.store.projects.add_member(number, self.ids[member])
        self.store.projects.set_state(number, "active")
        self.store.projects.grant(number, self.census.name, self.census.edition, variables, None)
        return number


@pytest.fixture
def house(census: Dataset, store: Store) -> Iterator[House]:
    made_house = House(census, store)
    with made_house.client:
        yield made_house


@pytest.fixture(scope="session")
def extract_file(tmp_path_factory: pytest.TempPathFactory) -> ExtractFile:
    folder = tmp_path_factory.mktemp("source")
    census_of_households(folder)
    return build(folder)
