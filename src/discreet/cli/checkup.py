"""What is installed, which extras are missing, and whether this machine can do the work."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from discreet.cli.terminal import VERBOSE, asked_for, coloured
from discreet.errors import DiscreetError, counted

PURPOSES = {
    "sql": "records larger than memory",
    "report": "reports and plots",
    "yaml": "lists of accepted cells in YAML",
    "stat": "files of SPSS, Stata and SAS",
    "xlsx": "files of Excel",
    "scip": "optimal suppression in one search tree",
    "sign": "signed releases",
    "frames": "pandas and polars frames",
}
"""What an extra is for; those for developers are not listed."""
MARKS = {"ok": ("ok", "green"), "missing": ("missing", "yellow"), "wrong": ("WRONG", "red")}
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?\s*([^;]*)(?:;\s*(.*))?")
EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
FREE = 1e9
"""Bytes of disk that temporary files should find."""


@dataclass(frozen=True)
class Checkup:
    """One thing that was looked at: how it is, in words, and what to do about it."""

    about: str
    state: Literal["ok", "missing", "wrong"]
    text: str
    advice: str = ""


def findings() -> list[Checkup]:
    """Everything that was looked at, in the order in which one would."""
    return [*_packages(), *_extras(), *_machine(), _works()]


def shown(found: list[Checkup]) -> str:
    """The findings as a table; packages that are as they should be only where details are asked for."""
    plain = [one for one in found if one.about != "package"]
    packages = [one for one in found if one.about == "package"]
    wrong = [one for one in packages if one.state != "ok"]
    if not asked_for(VERBOSE) and not wrong:
        text = f"{counted(len(packages), 'required package', 'are')} installed (-v lists them)"
        packages = [Checkup("packages", "ok", text)]
    lines = [f"discreet {metadata.version('discreet')}, Python {platform.python_version()}, {platform.platform()}"]
    for one in [*packages, *plain]:
        word, colour = MARKS[one.state]
        lines.append(f"{coloured(f'{word:<7}', colour)}  {one.about:<10}  {one.text}")
        if one.advice:
            lines.append(f"{'':<21}{one.advice}")
    bad = [one for one in found if one.state == "wrong"]
    lines.append(f"{counted(len(bad), 'thing', 'are')} wrong." if bad else "This machine can do the work.")
    return "\n".join(lines)


def as_data(found: list[Checkup]) -> dict[str, object]:
    """The findings for machines."""
    return {
        "version": metadata.version("discreet"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "well": all(one.state != "wrong" for one in found),
        "findings": [asdict(one) for one in found],
    }


def _requirements() -> Iterator[tuple[str, str, str]]:
    """Packages that are required: name, versions, and the extra that asks for it; empty for all."""
    for line in metadata.requires("discreet") or ():
        found = REQUIREMENT.fullmatch(line.strip())
        if found is not None:
            extra = EXTRA.search(found[4] or "")
            yield found[1], found[3].strip(), extra[1] if extra else ""


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _too_old(version: str, wanted: str) -> bool:
    """Whether a version is below the least that is wanted."""
    least = re.search(r">=\s*([0-9.]+)", wanted)
    if least is None:
        return False
    asked = _numbers(least[1])
    return _numbers(version)[: len(asked)] < asked


def _packages() -> Iterator[Checkup]:
    for name, wanted, extra in _requirements():
        if extra:
            continue
        version = _installed(name)
        if version is None:
            yield Checkup("package", "wrong", f"{name} is not installed", f"pip install '{name}{wanted}'")
        elif _too_old(version, wanted):
            yield Checkup("package", "wrong", f"{name} {version}, needed {wanted}", f"pip install '{name}{wanted}'")
        else:
            yield Checkup("package", "ok", f"{name} {version}")


def _extras() -> Iterator[Checkup]:
    for extra, purpose in PURPOSES.items():
        asked = [(name, wanted) for name, wanted, mine in _requirements() if mine == extra]
        versions = {name: _installed(name) for name, _ in asked}
        missing = [name for name, version in versions.items() if version is None]
        old = [f"{name} {versions[name]}" for name, wanted in asked if _too_old(versions[name] or "9999", wanted)]
        install = f"pip install 'discreet[{extra}]'"
        if missing or old:
            what = f"not installed: {', '.join(missing)}" if missing else f"too old: {', '.join(old)}"
            yield Checkup("extra", "missing", f"{extra}, for {purpose} ({what})", install)
        else:
            have = ", ".join(f"{name} {version}" for name, version in versions.items())
            yield Checkup("extra", "ok", f"{extra}, for {purpose} ({have})")


def _machine() -> Iterator[Checkup]:
    from discreet.jit import cache_folder
    from discreet.room import available_bytes, in_words, require_to_start

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Checkup("processors", "ok", f"{counted(cores, 'processor')} for this process")
    room = available_bytes()
    text = "how much memory is free is not known" if room is None else f"{in_words(room)} are free"
    try:
        require_to_start()
        yield Checkup("memory", "ok", text)
    except DiscreetError as error:
        yield Checkup("memory", "wrong", error.message, error.hint)
    folder = cache_folder()
    kept = sum(1 for _ in folder.rglob("*.nbc"))
    if folder.name in ("kernels", f"discreet-kernels-{os.getuid()}"):
        text = f"{counted(kept, 'compiled kernel', 'are')} kept in {folder}"
        yield Checkup("kernels", "ok", text, "" if kept else "The first run compiles them, which may take a minute.")
    else:
        advice = "Set XDG_CACHE_HOME to a folder that only you can write to; otherwise every run compiles anew."
        yield Checkup("kernels", "missing", "compiled kernels cannot be kept from run to run", advice)
    yield from _disk()
    encoding = (sys.stdout.encoding or "").lower()
    if "utf" in encoding:
        yield Checkup("terminal", "ok", f"text is printed as {encoding}")
    else:
        advice = "Set LANG=C.UTF-8 or PYTHONIOENCODING=utf-8, or labels with accents cannot be printed."
        yield Checkup("terminal", "missing", f"text is printed as {encoding or 'unknown'}", advice)


def _disk() -> Iterator[Checkup]:
    from discreet.room import in_words

    for about, folder in (("temporary", Path(tempfile.gettempdir())), ("folder", Path.cwd())):
        free = shutil.disk_usage(folder).free
        where = "for temporary files" if about == "temporary" else "in this folder"
        if not os.access(folder, os.W_OK):
            yield Checkup("disk", "missing" if about == "folder" else "wrong", f"nothing can be written {where}")
        elif free < FREE:
            yield Checkup("disk", "wrong", f"only {in_words(free)} are free {where}", "Free some space.")
        else:
            yield Checkup("disk", "ok", f"{in_words(free)} are free {where}")


def _works() -> Checkup:
    """Protect a small table and have it checked: solver, kernels and checker at once."""
    return _tried(_small_release)


def _tried(work: Callable[[], str]) -> Checkup:
    try:
        return Checkup("works", "ok", work())
    except (DiscreetError, ImportError, MemoryError, OSError) as error:
        text = f"a small table could not be protected: {str(error) or type(error).__name__}"
        return Checkup("works", "wrong", text, "Install anew: pip install --force-reinstall discreet")


def _small_release() -> str:
    from discreet.generate.examples import small_table
    from discreet.rules import PPercent
    from discreet.tables.suppress import Suppress
    from discreet.verbs.assess import assess
    from discreet.verbs.protect import protect
    from discreet.verbs.verify import verify

    verify(protect(assess(small_table(), PPercent(10)), Suppress())).require()
    return "a small table was protected and its evidence checked"
