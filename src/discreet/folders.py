"""Folders that are replaced as a whole while others read them.

A saver fills a folder of its own and exchanges it with the old one in one step. A reader must not begin in the old
folder and end in the new one, and the old one must not be removed under a reader's hands. Both follow from locks
(``flock``) on the folders themselves, which the system lets go of when a process ends, however it ends:

* whoever fills or reads a folder holds a shared lock on it;
* whoever removes one needs the lock for itself, and leaves the folder alone when it is not to be had.

A reader works through the handle of the folder that it locked, not through its name. Where the system has no such
path, or no locks (some network file systems), it looks afterwards whether the name still stands for the same folder
and reads again if not.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from discreet.errors import InputError

T = TypeVar("T")
TRIES = 20
"""How often a folder is read again that is replaced meanwhile."""
BUSY = (errno.EWOULDBLOCK, errno.EACCES)


def opened(folder: Path) -> int | None:
    """A handle on a folder; ``None`` where there is none."""
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None


def locked(handle: int, alone: bool) -> bool | None:
    """Lock a folder without waiting: whether it worked, and ``None`` where the file system has no locks."""
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in BUSY else None
    return True


def stands_at(handle: int, folder: Path) -> bool:
    """Whether the name still stands for the folder that was opened.

    The handle keeps the folder's number from being used again.
    """
    try:
        return os.path.samestat(os.fstat(handle), folder.stat())
    except OSError:
        return False


def as_one(folder: Path, read: Callable[[Path], T]) -> T:
    """Read a folder as it stood at one moment, whatever is put in its place meanwhile.

    Parameters
    ----------
    folder
        The folder.
    read
        What reads it: gets the path to read from, whose name is not the folder's, and may be called more than once.

    Raises
    ------
    InputError
        When the folder is replaced again and again.
    """
    for _ in range(TRIES):
        handle = opened(folder)
        if handle is None:
            return read(folder)  # says what is wrong with it
        try:
            lock = locked(handle, alone=False)
            if lock is False or not stands_at(handle, folder):
                continue  # replaced since it was opened
            fixed = Path(f"/proc/{os.getpid()}/fd/{handle}")  # by number, because readers start readers of their own
            if lock and stands_at(handle, fixed):
                return read(fixed)
            try:
                found = read(folder)
            except Exception:
                if stands_at(handle, folder):
                    raise
                continue
            if stands_at(handle, folder):
                return found
        finally:
            os.close(handle)
    raise InputError(
        f"The folder {folder.name!r} is replaced again and again while it is read.",
        hint="Read it when nobody saves there.",
    )
