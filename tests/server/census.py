"""A small data set for tests, its true counts by code of their own, and a service that keeps what it logs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from discreet.keys import Key
from discreet.server.account import MemoryAccount
from discreet.server.answer import answered, shown
from discreet.server.dataset import Dataset, build_dataset
from discreet.server.gate import admitted
from discreet.server.identity import Identity
from discreet.server.question import QuestionBody
from discreet.server.roles import Role
from discreet.server.sample import CATALOGUE, write_sample

KEY = Key(bytes(range(32)))
PLOTS = {
    'unit = "EUR"': 'unit = "EUR"\nlimits = [0, 200000]\n\n[values.age]\nlimits = [0, 110]',
    "exact_share = 0.5": "exact_share = 0.5\nplot_account = 5.0",
}
"""Lines of the catalogue that open plots."""
PUBLIC = Identity(None, "", frozenset({Role.PUBLIC}), 0, "127.0.0.1")


def made(folder: Path, *, records: int = 20_000, areas: int = 40, change: dict[str, str] | None = None) -> Dataset:
    """The sample with some lines of its catalogue changed."""
    catalogue = write_sample(folder / "source", records=records, areas=areas, seed=5)
    text = CATALOGUE
    for old, new in (change or {}).items():
        assert old in text
        text = text.replace(old, new)
    catalogue.write_text(text, encoding="utf-8")
    return build_dataset(catalogue, folder / "census", key=KEY)


def people(folder: Path) -> list[dict[str, Any]]:
    """The records themselves."""
    return pq.read_table(folder / "source" / "records.parquet").to_pylist()


def cells(table: Any) -> dict[tuple[str, ...], float]:
    """Cells of a public table by their codes."""
    columns = table.columns()
    names = list(table.variables)
    rows = zip(*(columns[name] for name in names), strict=True)
    return dict(zip(rows, columns["value"], strict=True))


@dataclass
class Asker:
    """Asks a data set questions past HTTP."""

    dataset: Dataset
    account: MemoryAccount = field(default_factory=MemoryAccount)

    def __call__(self, *variables: str, **more: Any) -> dict[tuple[str, ...], float]:
        question, selection = admitted(self.dataset, QuestionBody(variables=list(variables), **more))
        return cells(shown(self.dataset, answered(self.dataset, question, self.account), selection))


@dataclass
class KeptLog:
    """A log that is a list."""

    entries: list[Any] = field(default_factory=list)
    broken: bool = False

    async def append(self, entry: Any) -> None:
        if self.broken:
            from discreet.trust.log.writer import LogUnavailable

            raise LogUnavailable("The log does not answer.")
        self.entries.append(entry)


@dataclass
class Budgets:
    """Cells per holder, without days."""

    used: Counter[str] = field(default_factory=Counter)

    def reserve(self, holder: str, cells: int, most: int) -> None:
        from discreet.server.denied import Denied

        if self.used[holder] + cells > most:
            raise Denied("budget", "The cells of today do not suffice.", status=429, retry_after=60)
        self.used[holder] += cells
