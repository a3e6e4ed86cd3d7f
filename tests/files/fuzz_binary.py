"""Damaged files of the binary formats that are read: sav, dta, sas7bdat, Parquet and xlsx, in a process each.

A process is forked for every file, so that a hundred thousand of them can be tried; what reads SPSS, Stata and SAS
files is what the library's own reading process runs. A child that works too long or takes too much memory is ended.
"""

from __future__ import annotations

import os
import random
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import openpyxl  # noqa: F401  # imported once, before processes are forked
import pyreadstat  # noqa: F401
import xlsxwriter

from discreet.errors import DiscreetError
from discreet.files import statistical_child
from discreet.files.foreign import read_published
from discreet.files.frames import read_columns

AIRLINE = Path(__file__).parent / "data" / "airline.sas7bdat"
READ, REFUSED, CRASHED = 0, 3, 4
MOST_WORK, MOST_SECONDS, MOST_MEMORY = 10, 300, 4 * 2**30
"""Seconds of processor and by the clock, and bytes."""
TOO_LONG = (-signal.SIGALRM, -signal.SIGXCPU, -signal.SIGKILL)
EXTREMES = (0, 1, 127, 128, 255)


class Damaged(NamedTuple):
    """A damaged file: its suffix and bytes."""

    suffix: str
    content: bytes


def seeds(folder: Path) -> dict[str, bytes]:
    """A small file of every format, from the same table."""
    import discreet as ds

    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    made = {".sas7bdat": AIRLINE.read_bytes()}
    for suffix in (".sav", ".dta", ".parquet"):
        made[suffix] = ds.write_public(release.public, folder / f"seed{suffix}").read_bytes()
    with xlsxwriter.Workbook(folder / "seed.xlsx") as book:
        page = book.add_worksheet("turnover")
        page.write_row(0, 0, ["trade", "region", "value"])
        for number, row in enumerate([("food", "North", 5.5), ("food", "South", 7), ("retail", "North", "x")], start=1):
            page.write_row(number, 0, row)
    return {**made, ".xlsx": (folder / "seed.xlsx").read_bytes()}


def damaged_files(made: dict[str, bytes], count: int, seed: int = 0) -> Iterator[Damaged]:
    """So many damaged files, one format after the other; the same for the same seed."""
    draw = random.Random(seed)
    names = sorted(made)
    for number in range(count):
        suffix = names[number % len(names)]
        yield Damaged(suffix, _damage(made[suffix], draw))


def _damage(content: bytes, draw: random.Random) -> bytes:
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        place = draw.randrange(len(content) + 1)
        kind = draw.randrange(6)
        if kind == 0:
            content = content[:place]
        elif kind == 1:
            content = content[:place] + draw.randbytes(draw.randrange(1, 9)) + content[place + draw.randrange(9) :]
        elif kind == 2:
            content = (
                content[:place] + bytes([draw.choice(EXTREMES)]) * draw.choice((1, 2, 4, 8)) + content[place + 1 :]
            )
        elif kind == 3:
            end = min(len(content), place + draw.randrange(1, 200))
            content = content[:place] + content[end:]
        elif kind == 4:
            content = content[:place] + content[place:] * draw.choice((2, 3))
        else:
            bit = 1 << draw.randrange(8)
            content = content[:place] + bytes(b ^ bit for b in content[place : place + 1]) + content[place + 1 :]
    return content


def _statistical(path: Path) -> None:
    names = statistical_child.metadata(path)["columns"]
    statistical_child.columns(path, names, names[:2])


def _parquet(path: Path) -> None:
    read_columns(path, ["trade", "region", "value"], text=["trade", "region"])


def _xlsx(path: Path) -> None:
    read_published(path, ["trade", "region"])


READERS: dict[str, Callable[[Path], None]] = {".parquet": _parquet, ".xlsx": _xlsx}


def outcome(path: Path) -> int:
    """How reading ends in a process of its own: ``READ``, ``REFUSED``, ``CRASHED``, or the number of a signal below 0.

    The library ends its process for SPSS, Stata and SAS files on any error, and says that they cannot be read; a signal
    is therefore no crash of theirs, but time and memory count.
    """
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_WORK, MOST_WORK + 1))
        signal.alarm(MOST_SECONDS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            READERS.get(path.suffix, _statistical)(path)
        except DiscreetError:
            os._exit(REFUSED)
        except BaseException:
            os._exit(CRASHED if path.suffix in READERS else REFUSED)
        os._exit(READ)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def is_fine(suffix: str, ended: int) -> bool:
    """Whether this is an end that users do not notice as a crash or as a hang."""
    if ended in TOO_LONG:
        return False
    return ended in (READ, REFUSED) or (suffix not in READERS and ended < 0)
