"""Compiled kernels, kept from run to run in a folder that nobody else can write to.

Whoever writes to that folder has code run by us: what is loaded from it is machine code. So it lies below folders of
this user or of the system only, none of them open to everybody (but for folders such as ``/tmp``, where nobody can
move what another owns), and is itself closed to all others.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
MARK = b"discreet.jit import"
"""What every file with kernels holds."""
IMPORTED = re.compile(rb"^from discreet\.([\w.]+) import", re.MULTILINE)
UNUSED_DAYS = 30
"""Kernels of other versions of the source are removed when nobody has used them for so long."""


@cache
def cache_folder() -> Path:
    """Where compiled kernels are kept: the user's cache folder; one for the user in the folder for temporary files
    where there is no home that can be written to; and where that is taken, one for this process alone."""
    for folder in _candidates():
        if _made(folder):
            return folder
    private = Path(tempfile.mkdtemp(prefix="discreet-kernels-"))
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    return private


def _candidates() -> Iterator[Path]:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():
        yield base / "discreet" / "kernels"
    else:
        with contextlib.suppress(RuntimeError):  # nobody knows where home is
            yield Path.home() / ".cache" / "discreet" / "kernels"
    yield Path(tempfile.gettempdir()) / f"discreet-kernels-{os.getuid()}"


def _made(folder: Path) -> bool:
    """Make a folder, closed to others, and say whether nobody else can have put anything there."""
    missing = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]
    above = folder.parents[len(missing) - 1] if missing else folder.parent
    if not _safe(above):
        return False
    try:
        for path in reversed(missing):
            path.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return False
    return _safe(folder.parent) and _private(folder)


def _safe(folder: Path) -> bool:
    """Whether a folder and all above it, as named and as links lead, belong to this user or to the system."""
    try:
        paths = {*_upwards(folder.absolute()), *_upwards(folder.resolve(strict=True))}
        return all(_trusted(path.lstat()) for path in paths)
    except (OSError, RuntimeError):
        return False


def _upwards(path: Path) -> tuple[Path, ...]:
    return (path, *path.parents)


def _trusted(about: os.stat_result) -> bool:
    if about.st_uid not in (0, os.getuid()):
        return False
    if stat.S_ISLNK(about.st_mode):
        return True  # where it leads is looked at by itself
    return not about.st_mode & stat.S_IWOTH or bool(about.st_mode & stat.S_ISVTX)


def _private(folder: Path) -> bool:
    """Whether a folder is this user's own, can be written to, and is closed to all others' writing."""
    try:
        about = folder.lstat()
    except OSError:
        return False
    mine = stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid()
    return mine and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and os.access(folder, os.W_OK | os.X_OK)


@cache
def source_digest() -> str:
    """A digest of all files with kernels, and of those whose names they import: constants are compiled in.

    What is kept belongs to it: a kept kernel holds those that it calls, and numba looks at its own file only.
    """
    root = Path(__file__).parent
    texts = {path: path.read_bytes() for path in sorted(root.rglob("*.py"))}
    kernels = [path for path, text in texts.items() if MARK in text]
    named = {
        root / f"{name.decode().replace('.', '/')}.py" for path in kernels for name in IMPORTED.findall(texts[path])
    }
    found = hashlib.blake2b(digest_size=8)
    for path in sorted({*kernels, *(named & set(texts))}):
        found.update(texts[path])
    return found.hexdigest()


def _folder_of_this_source() -> Path:
    """Where kernels of this source are kept; those of others go when they have not been used for long."""
    folder = cache_folder() / source_digest()
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        os.utime(folder)
        oldest = time.time() - UNUSED_DAYS * 24 * 3600
        for other in cache_folder().iterdir():
            if other.stat().st_mtime < oldest:
                shutil.rmtree(other, ignore_errors=True)
    return folder


@cache
def _ready() -> None:
    """Say where kernels are kept, and give what is compiled in this process names that no other process gives.

    numba tells functions of one name apart by a counter that begins at 1 in every process. Kernels that were kept from
    two processes then hold different helpers under one name, whichever is loaded first serves both, and sorting ranks
    or ranking sorts: wrong numbers, or a crash. A counter that begins anywhere makes these names different.
    """
    import numba
    from numba.core.bytecode import FunctionIdentity

    FunctionIdentity._unique_ids = count(secrets.randbits(60))
    if not numba.config.CACHE_DIR:
        numba.config.CACHE_DIR = str(_folder_of_this_source())


def kernel(*signatures: str) -> Callable[[F], F]:
    """Compile a function for the given types, once for all runs."""
    import numba

    _ready()
    return numba.njit(list(signatures), cache=True, nogil=True)  # type: ignore[no-any-return]
