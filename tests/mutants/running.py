"""Run tests against weakened code, each weakening in a process of its own that is forked after all imports.

The code of a function is exchanged in place, so that nothing has to be imported again. Compiled kernels run as
plain Python where their file is weakened.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol

import discreet
from tests.mutants.store import KILLED, SURVIVED, UNREACHED, Store
from tests.mutants.weaken import Weakening

SOURCE = Path(discreet.__file__).parent
Lines = dict[str, set[int]]
Timed = tuple[pytest.Item, float, Lines]
NEARBY = 6
"""So many lines before and after a statement are near it."""


class TooSlow(Exception):
    """A test takes more processor time than a run over many weakenings can spend on it."""


class Runner:
    """A plugin of pytest: instead of running the tests once, runs them for each weakening.

    Parameters
    ----------
    weakenings
        What is tried, one after the other.
    store
        Takes the outcomes.
    warm
        Whether the parent process runs the tests itself before it forks.
    slowest, budget
        Seconds of processor time that one test, and all tests of one weakening, may take.
    jobs
        Processes at the same time.
    """

    def __init__(
        self,
        weakenings: Sequence[Weakening],
        store: Store,
        *,
        warm: bool,
        slowest: float,
        budget: float,
        jobs: int,
    ) -> None:
        self.weakenings, self.store = list(weakenings), store
        self.warm, self.slowest, self.budget, self.jobs = warm, slowest, budget, jobs
        self.files = sorted({w.file for w in self.weakenings})
        self.done = 0
        self.left_out: list[str] = []
        self.killers: dict[tuple[str, str], list[str]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Time the tests, see which lines each runs, then try the weakenings."""
        modules = {file: _module(file) for file in self.files}
        for module in modules.values():
            _interpret(module)
        timed = self._timed(session.items)
        print(
            f"{len(timed)} tests take {sum(t for _, t, _ in timed):.0f} s; "
            f"{len(self.left_out)} left out: {', '.join(self.left_out) or 'none'}",
            flush=True,
        )
        running: dict[int, Running] = {}
        for weakening in self.weakenings:
            while len(running) >= self.jobs:
                self._wait(running)
            tests, seconds = self._tests(weakening, timed)
            if not tests:
                self._note(weakening, UNREACHED)
                continue
            reading, writing = os.pipe()
            pid = self._fork(weakening, modules[weakening.file], tests, seconds, writing)
            os.close(writing)
            running[pid] = Running(weakening, time.monotonic() + 20 * seconds + 120, reading)
        while running:
            self._wait(running)
        return True

    # ---- which tests --------------------------------------------------------------------------------------

    def _timed(self, items: Sequence[pytest.Item]) -> list[Timed]:
        """Tests with their time and the lines of the weakened files that they run, quickest first."""
        found = []
        for item, following in zip(items, [*items[1:], None], strict=True):
            if self.warm:
                seconds, lines, good = self._watched(item, following)
            else:
                seconds, lines, good = _in_a_fork(lambda item=item: self._watched(item, None))
            if good:
                found.append((item, seconds, lines))
            else:
                self.left_out.append(f"{item.nodeid.rpartition('/')[2]} ({seconds:.0f} s)")
        return sorted(found, key=lambda one: one[1])

    def _watched(self, item: pytest.Item, following: pytest.Item | None) -> tuple[float, Lines, bool]:
        names = {str(SOURCE / file): file for file in self.files}
        lines: Lines = {}

        def inside(frame: FrameType, event: str, _: object) -> Any:
            lines[names[frame.f_code.co_filename]].add(frame.f_lineno)
            return inside

        def called(frame: FrameType, event: str, _: object) -> Any:
            file = names.get(frame.f_code.co_filename)
            if file is None:
                return None
            lines.setdefault(file, set()).add(frame.f_lineno)
            return inside

        late: list[bool] = []

        def stop(*_: object) -> None:
            late.append(True)
            raise TooSlow

        before = time.process_time()
        signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, self.slowest, 1)  # again, where something swallows the first
        sys.settrace(called)
        try:
            reports = runtestprotocol(item, log=False, nextitem=following)
        except Exception:
            if not late:
                raise
            # Whatever was stopped halfway, pytest's own hooks among it, must not hold up the tests that follow.
            with contextlib.suppress(Exception):
                item.session._setupstate.teardown_exact(following)
            return time.process_time() - before, lines, False
        finally:
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_PROF, 0)
        good = not late and not any(r.failed or r.skipped for r in reports)
        return time.process_time() - before, lines, good

    def _tests(self, weakening: Weakening, timed: Iterable[Timed]) -> tuple[list[pytest.Item], float]:
        """Tests that run the statement, as many as the budget allows; and their time.

        Those come first that have noticed something else in the same function, then those that run lines nearby which
        few others run, for the time that they take: they are about what stands there.
        """
        known = self.killers.get((weakening.file, weakening.where), [])
        near = range(weakening.lines.start - NEARBY, weakening.lines.stop + NEARBY)
        reaching = [one for one in timed if not one[2].get(weakening.file, set()).isdisjoint(weakening.lines)]
        often = Counter(line for one in reaching for line in one[2][weakening.file] if line in near)

        def order(one: Timed) -> tuple[bool, float]:
            rare = sum(1 / often[line] for line in one[2][weakening.file] if line in often)
            return one[0].nodeid not in known, -rare / (one[1] + 0.05)

        chosen, total = [], 0.0
        for item, seconds, _ in sorted(reaching, key=order):
            if total + seconds <= self.budget:
                chosen.append(item)
                total += seconds
        return chosen, total

    # ---- one weakening ------------------------------------------------------------------------------------

    def _fork(
        self, weakening: Weakening, module: ModuleType, tests: Sequence[pytest.Item], seconds: float, writing: int
    ) -> int:
        """A process that runs the tests, and writes the name of the one that fails."""
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            return pid
        try:
            os.setpgid(0, 0)
            limit = int(5 * seconds) + 30
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            weaken(module, weakening)
            for item, following in zip(tests, [*tests[1:], None], strict=True):
                if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
                    os.write(writing, item.nodeid.encode())
                    os._exit(1)
            os._exit(0)
        except BaseException:
            os._exit(2)

    def _wait(self, running: dict[int, Running]) -> None:
        """Until one process has ended; one that hangs is ended."""
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid in running:
                ended = running.pop(pid)
                with os.fdopen(ended.reading, "rb") as stream:
                    killer = stream.read().decode()
                weakening = ended.weakening
                if killer:
                    self.killers.setdefault((weakening.file, weakening.where), []).append(killer)
                self._note(weakening, SURVIVED if status == 0 else KILLED)
                return
            for late in [pid for pid, one in running.items() if time.monotonic() > one.until]:
                os.killpg(late, signal.SIGKILL)
            time.sleep(0.01)

    def _note(self, weakening: Weakening, outcome: str) -> None:
        self.store.note(weakening, outcome)
        self.done += 1
        if outcome != KILLED:
            print(f"{outcome}: {weakening}", flush=True)
        if self.done % 50 == 0:
            print(f"... {self.done} of {len(self.weakenings)}", flush=True)


class Running(NamedTuple):
    """A process at work: on what, until when at most, and where it tells which test failed."""

    weakening: Weakening
    until: float
    reading: int


def _in_a_fork(work: Any) -> Any:
    """What some work gives back, in a process of its own, so that it leaves nothing in memory."""
    import pickle

    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        with os.fdopen(writing, "wb") as stream:
            pickle.dump(work(), stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        text = stream.read()
    os.waitpid(pid, 0)
    return pickle.loads(text) if text else (0.0, {}, False)


# ---- code in place ------------------------------------------------------------------------------------------


def _module(file: str) -> ModuleType:
    return importlib.import_module("discreet." + file.removesuffix(".py").replace("/", "."))


class Interpreted:
    """A compiled kernel that runs as plain Python."""

    def __init__(self, function: FunctionType) -> None:
        self.py_func = function

    def __call__(self, *arguments: Any) -> Any:
        """Run it, with integers as wide as Python's."""
        return self.py_func(*arguments)


def _interpret(module: ModuleType) -> None:
    """Exchange the compiled kernels of a module for plain Python, wherever they are known."""
    from numba.core.dispatcher import Dispatcher

    compiled = {id(v): Interpreted(v.py_func) for v in vars(module).values() if isinstance(v, Dispatcher)}
    for other in [m for name, m in sys.modules.items() if name.startswith("discreet")] if compiled else []:
        for name, value in list(vars(other).items()):
            if id(value) in compiled:
                setattr(other, name, compiled[id(value)])


def weaken(module: ModuleType, weakening: Weakening) -> None:
    """Give the function of a weakening its weaker code."""
    code = compile(weakening.module(), str(SOURCE / weakening.file), "exec")
    *outer, name = weakening.where.split(".")
    for part in outer:
        code = next(c for c in _inner(code) if c.co_name == part)
    held: Any = module
    for part in outer:
        held = vars(held)[part]
    target = _function(vars(held)[name])
    target.__code__ = next(
        c for c in _inner(code) if c.co_name == name and c.co_firstlineno == target.__code__.co_firstlineno
    )


def _inner(code: CodeType) -> Iterator[CodeType]:
    return (c for c in code.co_consts if isinstance(c, CodeType))


def _function(found: Any) -> FunctionType:
    """The plain function behind a property, a class method, a cache or a kernel."""
    if isinstance(found, property):
        found = found.fget
    elif isinstance(found, cached_property):
        found = found.func
    elif isinstance(found, classmethod | staticmethod):
        found = found.__func__
    found = getattr(found, "py_func", getattr(found, "__wrapped__", found))
    assert isinstance(found, FunctionType), found
    return found
