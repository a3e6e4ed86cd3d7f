"""The table server over HTTP: mutual TLS, log written and signed, real processes; CPU a request beside the clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from itertools import combinations
from math import prod
from pathlib import Path
from random import Random
from typing import NamedTuple

from benchmarks.columns import DISTRICTS, RECORDS, SIZES
from benchmarks.registry import Measure, apart, case, scratch
from benchmarks.server_office import Load, build, floor_served, furnish, served

TABLE = "/v1/datasets/census/latest/table?variables="
ASKED = ("sex", "age", "ethnic", "health", "tenure", "qualification", "household")
"""The seven variables of the study's questions."""
MOST_CELLS = 200_000
PEOPLE = [f"p{number}" for number in range(6)]
CACHED = 8_000
CROWD = 8
EACH = 8
"""Connections of each person, so that each worker has some of them."""
AT_ONCE = 200
SHARED = "the load generator shares the cores"


def questions(names: Sequence[str], seed: int, universe: str = "all") -> list[str]:
    """Addresses of all tables by two to four variables that are not too large, in a random order."""
    found = [
        (prod(SIZES[name] + 1 for name in some), TABLE + ",".join(some) + f"&universe={universe}")
        for many in (2, 3, 4)
        for some in combinations(names, many)
    ]
    paths = [path for cells, path in sorted(found) if cells <= MOST_CELLS]
    Random(seed).shuffle(paths)
    return paths


def largest(many: int) -> list[str]:
    """Addresses of the largest tables that are answered."""
    found = [
        (prod(SIZES[name] + 1 for name in some), TABLE + ",".join(some) + f"&universe={universe}")
        for some in combinations(SIZES, 4)
        for universe in ("all", "women")
    ]
    return [path for cells, path in sorted(found, reverse=True) if cells <= MOST_CELLS][:many]


class Figures(NamedTuple):
    """Quantiles in ms, CPU ms a request, requests, and what else was seen, of each load."""

    country: tuple[float, float, float, int]
    first_area: float
    area: tuple[float, float, float, float]
    cached: tuple[float, float, float, float]
    start: float
    sent_away: int
    answered: int
    without_retry: int
    small: tuple[float, float, int]
    memory: float
    split: tuple[str, str, str]
    """CPU of the loads by process: country, one area, kept."""
    floor: tuple[float, float]
    """CPU ms of nothing, and of as many bytes as a kept answer has, from a server that thinks about neither."""
    started_cpu: str


def loads(folder: Path, port: int) -> Figures:
    """Start the server and put all loads on it, one after the other."""
    with served(folder, port):
        pass  # whoever starts it for the second time finds modules and kernels compiled
    began = time.perf_counter()
    with served(folder, port) as server:
        first = server.connection(PEOPLE[5])
        first.request("GET", TABLE + "sex,health")
        assert first.getresponse().status == 200
        start = time.perf_counter() - began
        first.close()
        started_cpu = ", ".join(f"{kind} {seconds:.1f}" for kind, seconds in server.cpu().items())
        country = Load(server).ask([(name, questions(ASKED, seed)) for seed, name in enumerate(PEOPLE[:2])])
        areas = [f"{TABLE}sex,age,ethnic&area=D{number:03}" for number in range(DISTRICTS)]
        opening = Load(server).ask([(PEOPLE[2], areas[:1]), (PEOPLE[3], areas[:1])])
        Load(server).ask([(name, areas[:1]) for name in PEOPLE[2:4]] * EACH)  # both workers charge it for both
        one_area = Load(server).ask([(PEOPLE[2], areas[1:]), (PEOPLE[3], areas[1:])])
        Load(server).ask([(PEOPLE[2], areas[:1])] * 16)  # each worker has it
        cached = Load(server).ask([(PEOPLE[2], [areas[0]] * (CACHED // CROWD))] * CROWD)
        calm = server.own_memory()
        small, crowd, threads = Load(server), Load(server), []
        threads.append(threading.Thread(target=small.ask, args=([(PEOPLE[4], questions(ASKED[3:], 7))],)))
        large = [(name, [path]) for name in PEOPLE[4:6] for path in largest(AT_ONCE)][:AT_ONCE]
        threads.append(threading.Thread(target=crowd.ask, args=(large,)))
        peak = 0.0
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            peak = max(peak, server.own_memory())
            time.sleep(0.05)
        said = [country, opening, one_area, cached]
        wrong = [wait.status for load in said for wait in load.waits if wait.status != 200]
        if wrong:
            raise ValueError(f"The server answered {wrong[0]} where it should have answered.")
    floor = (floor_of(folder, port, 0), floor_of(folder, port, cached.waits[0].size))
    return Figures(
        (country.quantile(0.5), country.quantile(0.99), country.each, len(country.waits)),
        opening.each,
        (one_area.quantile(0.5), one_area.quantile(0.99), one_area.each, len(one_area.waits) / one_area.clock),
        (cached.quantile(0.5), cached.quantile(0.99), cached.each, len(cached.waits) / cached.clock),
        start,
        crowd.count(503),
        crowd.count(200),
        sum(wait.status == 503 and not wait.retry for wait in crowd.waits),
        (small.quantile(0.5), small.quantile(0.99), small.count(503)),
        max(peak - calm, 0.001),
        (country.split, one_area.split, cached.split),
        floor,
        started_cpu,
    )


def floor_of(folder: Path, port: int, size: int) -> float:
    """CPU ms of an answer of so many bytes that nobody thinks about, under the load of kept answers."""
    with floor_served(folder, port, size) as server:
        Load(server).ask([(PEOPLE[2], ["/"] * (CACHED // CROWD // 4))] * CROWD)  # warm
        return Load(server).ask([(PEOPLE[2], ["/"] * (CACHED // CROWD))] * CROWD).each


@case("server")
def server_answers(scale: float) -> Sequence[Measure]:
    """10 million records, tables of two to four variables; the peers are the targets."""
    records = int(RECORDS * scale)
    with scratch() as folder:
        apart(build, folder, records)
        port = apart(furnish, folder, 2, PEOPLE)
        found = apart(loads, folder, port)
    settings = (
        f"{records:,} records, 2 workers, mutual TLS, every answer logged, signed and on disk before it leaves; CPU "
        f"of supervisor, logger and workers together, not of who asks; {SHARED}"
    )
    country = (
        f"{found.country[3]} tables of 2 to 4 of 7 variables, each the first of its user: counted, charged, encoded; "
        f"{found.split[0]}"
    )
    area = (
        f"sex, age, ethnic of {DISTRICTS - 1} districts, about 6,000 cells and 59 kB each, of which the table of all "
        f"districts was charged before; {found.area[3]:,.0f} a second; {found.split[1]}"
    )
    cached = f"{CACHED:,} requests on {CROWD} connections, {found.cached[3]:,.0f} a second; {found.split[2]}"
    bare = "the same TLS and protocol class, no log, no checks, no routes: what a kept answer cannot go below"
    crowd = (
        f"{AT_ONCE} large tables at once: {found.answered} answered, {found.sent_away} sent away with 503, "
        f"{found.without_retry} of them without Retry-After; small tables beside them: {found.small[2]} sent away"
    )
    return [
        Measure("whole country, p50 ms", found.country[0], 40.0, 1.0, settings),
        Measure("whole country, p99 ms", found.country[1], 150.0, 1.0, country),
        Measure("whole country, CPU ms", found.country[2], 15.0, 1.0, country),
        Measure("one area, p50 ms", found.area[0], 5.0, 1.0, area),
        Measure("one area, CPU ms", found.area[2], 1.0, 1.0, area),
        Measure("first area of a user, CPU ms", found.first_area, 1000.0, 1.0, "charges the table of all districts"),
        Measure("kept answer, p99 ms", found.cached[1], 10.0, 1.0, cached),
        Measure("kept answer, CPU ms", found.cached[2], 0.15, 1.0, cached),
        Measure("floor: empty answer, CPU ms", found.floor[0], 0.15, 1.0, bare),
        Measure("floor: as many bytes, CPU ms", found.floor[1], 0.15, 1.0, bare),
        Measure(
            "start to first answer, s",
            found.start,
            5.0,
            1.0,
            f"modules and kernels compiled before; CPU s {found.started_cpu}",
        ),
        Measure("small beside 200 large, p99 ms", found.small[1], 2000.0, 1.0, crowd),
        Measure("memory of 200 large, GiB", found.memory, 2.0, 1.0, "beyond what the processes had before"),
    ]
