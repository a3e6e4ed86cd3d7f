"""An attacker with a clock: does the time of an answer tell that somebody is there, or that others asked before?

Pairs of answers in random order, their CPU times compared by Mann and Whitney's test. The clock runs inside the
process, nearer than anybody on the network gets. Two copies of the same data set are compared besides: what they differ
by is the machine, not the person. And an answer that its user had before must be told apart, or the attacker is blind.

python -m tests.attack.answer_clocks [--count 2000] [--seed 0]
"""

from __future__ import annotations

import gc
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from scipy.stats import mannwhitneyu

from discreet.server.account import Account, MarginReading, MemoryAccount
from discreet.server.answer import answered
from discreet.server.dataset import Dataset, build_dataset
from discreet.server.gate import admitted
from discreet.server.question import QuestionBody
from discreet.server.store.schema import migrate
from discreet.server.store.store import Store
from tests.attack.running import asked
from tests.server.census import KEY, made

VARIABLES = ["sex", "marital", "education"]
CHANCE = 0.001
"""What is less likely by chance than this is no chance ..."""
REACH = 0.05
"""... and counts where the later of two answers is the one that was meant in 55 % of all pairs, or 45 %."""


class OfEdition:
    """An account that enters everything under an edition of its own."""

    def __init__(self, account: Account, edition: str) -> None:
        self.account, self.edition = account, edition

    def has(self, dataset: str, _edition: str, table: str) -> bool:
        return self.account.has(dataset, self.edition, table)

    def charge(
        self, dataset: str, _edition: str, table: str, readings: Sequence[MarginReading], room: Mapping[str, float]
    ) -> None:
        self.account.charge(dataset, self.edition, table, readings, room)


class Told(NamedTuple):
    """What the times of pairs tell."""

    about: str
    chance: float
    share: float
    """Share of pairs of any two in which the first kind took longer; a half where nothing is told."""
    microseconds: tuple[float, float]

    @property
    def found(self) -> bool:
        return self.chance < CHANCE and abs(self.share - 0.5) > REACH

    def __str__(self) -> str:
        first, second = self.microseconds
        return f"{self.about}: p = {self.chance:.3g}, share {self.share:.3f}, medians {first:.0f} and {second:.0f} us"


def timed(work: Callable[[], Any]) -> float:
    began = time.thread_time_ns()
    work()
    return (time.thread_time_ns() - began) / 1000


def compared(about: str, pairs: int, draw: random.Random, kinds: Callable[[int], tuple[Any, Any]]) -> Told:
    """Times of two kinds of work, in pairs, each pair in random order."""
    times: tuple[list[float], list[float]] = ([], [])
    gc.disable()  # it comes when it likes
    try:
        for number in range(-20, pairs):  # the first ones warm up
            works = kinds(number)
            for kind in draw.sample((0, 1), 2):
                took = timed(works[kind])
                if number >= 0:
                    times[kind].append(took)
            if number % 100 == 0:
                gc.collect()
    finally:
        gc.enable()
    test = mannwhitneyu(*times)
    middle = [sorted(one)[len(one) // 2] for one in times]
    return Told(about, float(test.pvalue), float(test.statistic) / pairs**2, (middle[0], middle[1]))


def without_the_first(folder: Path, other: Path) -> Dataset:
    """The data set without its first person."""
    (other / "source").mkdir(parents=True)
    for path in (folder / "source").iterdir():
        (other / "source" / path.name).write_bytes(path.read_bytes())
    whole = pq.read_table(folder / "source" / "records.parquet")
    pq.write_table(whole.slice(1), other / "source" / "records.parquet")
    return build_dataset(other / "source" / "census.toml", other / "census", key=KEY)


def attack(pairs: int, seed: int, folder: Path) -> list[Told]:
    """All comparisons; the last two are of the attacker, not of the server."""
    draw = random.Random(seed)
    there = made(folder / "there", records=3_000, areas=4)
    again = made(folder / "again", records=3_000, areas=4)
    gone = without_the_first(folder / "there", folder / "gone")
    migrate(folder / "server.db")
    question, _ = admitted(there, QuestionBody(variables=VARIABLES))

    def ask(dataset: Dataset, account: Account, charged: bool = False) -> Callable[[], Any]:
        return lambda: answered(dataset, question, account, charged=charged)

    def first_and_second(number: int) -> tuple[Any, Any]:
        """Nobody has asked; somebody else has."""
        accounts = []
        for place in (f"new.{number + 20}", f"old.{number + 20}"):
            store.editions.register(there.name, place, key_fingerprint=there.manifest.key, key_version=1)
            accounts.append(OfEdition(store.account, place))
        ask(there, accounts[1])()
        return ask(there, accounts[0]), ask(there, accounts[1])

    def unknown_and_own(number: int) -> tuple[Any, Any]:
        account = OfEdition(store.account, f"old.{number + 20}")
        return ask(there, account), ask(there, account, charged=True)

    with Store.open(folder / "server.db") as store:
        return [
            compared("somebody is there, or not", pairs, draw, lambda _: _both(ask, there, gone)),
            compared("nobody asked before, or somebody else", pairs, draw, first_and_second),
            compared("control: two copies of one data set", pairs, draw, lambda _: _both(ask, there, again)),
            compared("control: asked by others before, or by oneself", pairs, draw, unknown_and_own),
        ]


def _both(ask: Callable[..., Any], one: Dataset, other: Dataset) -> tuple[Any, Any]:
    return ask(one, MemoryAccount()), ask(other, MemoryAccount())


def main() -> int:
    """Print what the clock tells; 1 where it tells what it must not, or where the attacker is blind."""
    given = asked(__doc__, 2_000)
    with tempfile.TemporaryDirectory(prefix="clocks-") as folder:
        found = attack(given.count, given.seed, Path(folder))
    for one in found:
        print(one, "FOUND" if one.found else "", flush=True)
    present, before, copies, own = found
    if not own.found:
        print("The attacker sees nothing, not even what takes less work: take more pairs.")
        return 1
    # Where two copies of the same records differ as much, it is the machine that is seen.
    told = before.found or (present.found and abs(present.share - 0.5) > 2 * abs(copies.share - 0.5))
    return 1 if told else 0


if __name__ == "__main__":
    raise SystemExit(main())
