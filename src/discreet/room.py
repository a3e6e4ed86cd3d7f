"""How much memory there is, said before work begins that would need more."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import ResourceError

SHARE = 0.9
"""Share of what is free that may be planned with."""
NO_LIMIT = 2**60
STARTING = 1.6e9
"""Bytes that libraries and compiled code may take before any data are read."""
RESERVED = 2.1e9
"""Bytes of address space that they reserve; with less, compilers and solvers end the process without a word of ours."""
GROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/memory")
"""Where a container states its limits, in the second and the first version."""


def available_bytes() -> int | None:
    """Bytes that this process may still take: of the machine, the container and its own limits; ``None`` unknown."""
    found = [room for room in (_machine(), _container(), _process()) if room is not None]
    return max(min(found), 0) if found else None


def require(needed: float, what: str, hint: str) -> None:
    """Refuse work that needs more memory than there is.

    Parameters
    ----------
    needed
        Bytes that it needs at least.
    what
        What needs them, as the subject of a sentence.
    hint
        What to do instead.

    Raises
    ------
    ResourceError
        With both figures.
    """
    _refuse(needed, available_bytes(), what, "memory", hint)


def require_to_start() -> None:
    """Refuse to load libraries and compiled code where memory or a limited address space has no room for them.

    Raises
    ------
    ResourceError
        With both figures.
    """
    hint = "Raise the limit of the address space: ulimit -v unlimited"
    require(STARTING, "Loading the program", hint)
    _refuse(RESERVED, _process(), "Loading the program", "address space", hint)


def _refuse(needed: float, room: int | None, what: str, kind: str, hint: str) -> None:
    if room is not None and needed > SHARE * room:
        raise ResourceError(
            f"{what} needs about {in_words(needed)} of {kind}, and {in_words(max(room, 0))} are free.", hint=hint
        )


def in_words(size: float) -> str:
    """Bytes for people.

    Examples
    --------
    >>> in_words(300), in_words(2.5e9), in_words(1e40)
    ('1 MB', '2.5 GB', 'more than 1,000,000 TB')
    """
    if size >= 1e18:
        return "more than 1,000,000 TB"
    for unit, step in (("TB", 1e12), ("GB", 1e9)):
        if size >= step:
            return f"{size / step:,.1f} {unit}"
    return f"{max(size / 1e6, 1):,.0f} MB"


def _fields(path: str) -> dict[str, int]:
    """Numbers of a file of the system, by the word that they stand behind."""
    try:
        lines = [line.replace(":", " ").split() for line in Path(path).read_text(encoding="ascii").splitlines()]
    except (OSError, ValueError, MemoryError):  # asked for also when nothing is left to read a file with
        return {}
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdigit()}


def _machine() -> int | None:
    found = _fields("/proc/meminfo").get("MemAvailable")
    return None if found is None else found * 1024


def _container() -> int | None:
    rooms = []
    for folder, most, now in zip(
        GROUPS,
        ("memory.max", "memory.limit_in_bytes"),
        ("memory.current", "memory.usage_in_bytes"),
        strict=True,
    ):
        limit, used = (_number(Path(folder) / name) for name in (most, now))
        if limit is not None and used is not None and limit < NO_LIMIT:
            # Pages of files count as used but make way.
            cached = _fields(f"{folder}/memory.stat").get("inactive_file", 0)
            rooms.append(limit - used + cached)
    return min(rooms) if rooms else None


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError, MemoryError):
        return None


def _process() -> int | None:
    """What the limit of the address space leaves."""
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, MemoryError):
        return None
    return limit - pages * os.sysconf("SC_PAGE_SIZE")
