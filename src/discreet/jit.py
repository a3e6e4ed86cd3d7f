"""Compiled kernels, kept from run to run in a folder that nobody else can write to.

Whoever writes to that folder has code run by us: what is loaded from it is machine code. So it lies below folders of
this user or of the system only, none of them open to everybody (but for folders such as ``/tmp``, where nobody can
move what another owns), and is itself closed to all others.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


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


def kernel(*signatures: str) -> Callable[[F], F]:
    """Compile a function for the given types, once for all runs.

    Kernels sort by ``np.argsort(..., kind="mergesort")`` only. The helpers that numba compiles for its quicksort have
    one name for sorting and for ranking, told apart by a counter that begins anew in every process; kernels that were
    kept from several processes may then call each other's. That is taken for the cause of a crash, and not proved.
    """
    import numba

    if not numba.config.CACHE_DIR:
        numba.config.CACHE_DIR = str(cache_folder())
    return numba.njit(list(signatures), cache=True, nogil=True)  # type: ignore[no-any-return]
