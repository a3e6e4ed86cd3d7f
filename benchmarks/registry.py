"""Cases, what they measure, and how it is shown.

A case is a function that takes the scale (1 is the size that the targets are for) and returns its measures. Both sides
run in processes of their own (:func:`apart`), warm times are the best of several runs after the first, and the first
(cold) one stands beside them.
"""

from __future__ import annotations

import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

Case = Callable[[float], Sequence["Measure"]]
CASES: dict[str, Case] = {}


@dataclass(frozen=True)
class Measure:
    """One figure of ours against one of somebody else's.

    Parameters
    ----------
    what
        What was measured, with its unit.
    ours, peer
        The two figures; less is better.
    target
        At most this share of the peer's.
    settings
        Everything that a reader needs to repeat it: sizes, threads, cold times.
    """

    what: str
    ours: float
    peer: float
    target: float
    settings: str = ""

    @property
    def ratio(self) -> float:
        """Ours as a share of the peer's."""
        return self.ours / self.peer

    @property
    def met(self) -> bool:
        """Whether the target is met."""
        return self.ratio <= self.target


class Timing(NamedTuple):
    """Seconds of the first run and of the best later one, by the clock and of all processors; peak memory in GiB."""

    cold: float
    warm: float
    cold_cpu: float
    warm_cpu: float
    peak: float
    answer: Any


def case(name: str) -> Callable[[Case], Case]:
    """Enter a function into the registry."""

    def enter(function: Case) -> Case:
        CASES[name] = function
        return function

    return enter


def timed(run: Callable[[], T], digest: Callable[[T], Any], repeats: int = 4) -> Timing:
    """Run something several times; ``digest`` of its first answer is kept, to compare the two sides."""
    clock: list[float] = []
    cpu: list[float] = []
    digested: Any = None
    for number in range(repeats + 1):
        started, started_cpu = time.perf_counter(), time.process_time()
        answer = run()
        cpu.append(time.process_time() - started_cpu)
        clock.append(time.perf_counter() - started)
        if number == 0:
            digested = digest(answer)
        del answer
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Timing(clock[0], min(clock[1:] or clock), cpu[0], min(cpu[1:] or cpu), peak, digested)


def apart(function: Callable[..., T], *arguments: Any) -> T:
    """What a function returns, from a fresh process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for the data of a case, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        yield Path(folder)


def run_cases(names: Sequence[str], scale: float) -> bool:
    """Run cases and print a table of each; says whether all targets are met."""
    print(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} processors; less is better.")
    good = True
    for name in names:
        print(f"\n{name}", flush=True)
        measures = CASES[name](scale)
        width = max(len(measure.what) for measure in measures)
        print(f"  {'':{width}}  {'ours':>9}  {'peer':>9}  {'ratio':>7}  {'target':>7}")
        for measure in measures:
            good &= measure.met
            print(
                f"  {measure.what:{width}}  {measure.ours:9.3f}  {measure.peer:9.3f}  {measure.ratio:7.3f}  "
                f"{measure.target:7.3f}  {'met' if measure.met else 'MISSED'}"
            )
        for settings in dict.fromkeys(measure.settings for measure in measures if measure.settings):
            print(f"  - {settings}")
        sys.stdout.flush()
    if scale != 1:
        print(f"\nAt scale {scale:g}; the targets are for scale 1.")
    return good
