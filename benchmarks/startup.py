"""What a user waits for first: the import, and the demonstration from a cold start."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks.registry import Measure, case, scratch

IMPORT_TARGET = 1.5
DEMO_LIMIT = 60.0
RUNS = 15


def cpu_of(program: str) -> float:
    """Least CPU seconds of several fresh interpreters that run a program."""
    times = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", program], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


@case("import")
def importing(_: float) -> Sequence[Measure]:
    """``import discreet`` against ``import numpy``, the bare interpreter taken off both."""
    bare, numpy, ours = (cpu_of(program) for program in ("pass", "import numpy", "import discreet"))
    settings = f"best of {RUNS} fresh interpreters; the bare interpreter's {bare:.3f} s are taken off"
    return [Measure("CPU s", ours - bare, numpy - bare, IMPORT_TARGET, settings)]


@case("demo")
def demonstration(_: float) -> Sequence[Measure]:
    """``make demo`` once installed, with nothing compiled before."""
    with scratch() as folder:
        command = [sys.executable, "-m", "discreet", "demo", "--directory", str(folder / "demo")]
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
        clock = []
        for _ in range(2):
            started = time.perf_counter()
            subprocess.run(command, check=True, env=environment, capture_output=True)
            clock.append(time.perf_counter() - started)
    settings = f"kernels compiled in the first run, {clock[1]:.1f} s in the second; the peer is the limit"
    return [Measure("seconds, cold", clock[0], DEMO_LIMIT, 1.0, settings)]
