"""A folder written beside its place and put there in one step; what dead savers left behind is removed."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Set
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from discreet.errors import OutputError
from discreet.folders import TRIES, locked, opened, stands_at
from discreet.stopping import uninterrupted, written

OWN_FOLDERS = frozenset({"public", "custodian", "restricted"})
PARTIAL, PREVIOUS = ".partial", ".previous"
"""Endings of folders that are being filled, and of those that hold the old folder for a moment."""
UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A private folder beside ``folder`` to be filled; it is gone afterwards, unless :func:`put_in_place` moved it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    sweep(folder)
    with _private(folder, PARTIAL) as staging:
        yield staging


@contextmanager
def _private(folder: Path, ending: str) -> Iterator[Path]:
    """A locked folder of our own beside ``folder``, removed with what then stands under its name."""
    own: tuple[Path, int] | None = None
    try:
        with uninterrupted():
            own = _made(folder, ending)
        yield own[0]
    finally:
        if own is not None:
            with uninterrupted():
                os.close(own[1])
                _remove(own[0])


def _made(folder: Path, ending: str) -> tuple[Path, int]:
    for _ in range(TRIES):
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=ending, dir=folder.parent))
        handle = opened(made)
        if handle is not None:
            # Another saver may have taken the new folder for a dead one before it was locked.
            if locked(handle, alone=False) is not False and stands_at(handle, made):
                return made, handle
            os.close(handle)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def _remove(path: Path, unlocked: bool = True) -> None:
    """Remove a folder of ours that nobody fills or reads; otherwise it stays until the next save.

    Where there are no locks, ``unlocked`` says whether it goes nevertheless.
    """
    handle = opened(path)
    if handle is None:
        return
    try:
        lock = locked(handle, alone=True)
        if lock or (lock is None and unlocked):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(handle)


def sweep(folder: Path) -> None:
    """Remove what savers of this folder left behind when they were killed; those at work are left alone.

    Where a saver died after it had moved the old folder aside and before the new one stood in its place, the old one
    is put back.
    """
    for path in list(folder.parent.iterdir()):
        name = path.name
        if not name.startswith(f".{folder.name}.") or not _own(path):
            continue
        if name.endswith(PREVIOUS) and _holds_only(path, {folder.name}):
            _put_back(path, folder)
            _remove(path, unlocked=False)
        elif name.endswith(PARTIAL) and _holds_only(path, OWN_FOLDERS):
            _remove(path, unlocked=False)


def _holds_only(folder: Path, names: Set[str]) -> bool:
    """Whether a folder is there, with nothing but these in it."""
    try:
        return {path.name for path in folder.iterdir()} <= names
    except FileNotFoundError:
        return False  # another saver has removed it


def _own(path: Path) -> bool:
    """Whether a path is a folder that this user made, for nobody else (or a release that was exchanged)."""
    try:
        about = path.lstat()
        return path.is_dir() and not path.is_symlink() and about.st_uid == os.geteuid()
    except OSError:
        return False


def _put_back(aside: Path, folder: Path) -> None:
    handle = opened(aside)
    if handle is None:
        return
    try:
        if locked(handle, alone=True) and not os.path.lexists(folder):
            with contextlib.suppress(FileNotFoundError):
                (aside / folder.name).rename(folder)
    finally:
        os.close(handle)


class Place(Enum):
    """What stands where a release is to go."""

    FREE = auto()
    OURS = auto()
    """A release of ours, or an empty folder."""
    TAKEN = auto()


def what_stands_at(folder: Path) -> Place:
    """What stands at a place that other savers may replace meanwhile: one folder is looked at, not first one and
    then its successor."""
    for _ in range(TRIES):
        try:
            if not S_ISDIR(folder.lstat().st_mode):
                return Place.TAKEN
        except FileNotFoundError:
            return Place.FREE
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            continue
        try:
            ours = _is_release(handle)
            if stands_at(handle, folder):
                return Place.OURS if ours else Place.TAKEN
        finally:
            os.close(handle)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def _holds_others(exchanged: Path) -> bool:
    """Whether what an exchange brought is not a folder of ours after all.

    Another saver may just be removing it as a release that was replaced: what is left then still has our names.
    """
    try:
        return not {path.name for path in exchanged.iterdir()} <= OWN_FOLDERS
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        return True


def _is_release(handle: int) -> bool:
    inside = set(os.listdir(handle))
    if not inside:
        return True
    try:
        about = os.stat("custodian/manifest.json", dir_fd=handle)
    except OSError:
        return False
    return S_ISREG(about.st_mode) and inside <= OWN_FOLDERS


def put_in_place(staging: Path, folder: Path) -> None:
    """Put the new folder in its place in one step, where the system can; never lose both, nor anybody else's."""
    for path in (*(staging / name for name in OWN_FOLDERS), staging):
        if path.is_dir():
            _sync(path)
    with uninterrupted():
        _replace(staging, folder)
        written(folder)
    with contextlib.suppress(OSError):  # the folder is in place, whether or not a crash of the machine would undo it
        _sync(folder.parent)


def _replace(staging: Path, folder: Path) -> None:
    for _ in range(TRIES):
        try:
            staging.rename(folder)  # nothing there, or an empty folder
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
        found = what_stands_at(folder)
        if found is Place.TAKEN:
            raise foreign(folder)
        if found is Place.FREE:
            continue
        try:
            if not _exchange(staging, folder):
                _move_aside(staging, folder)
            elif _holds_others(staging):
                _exchange(staging, folder)
                raise foreign(folder)
            return
        except FileNotFoundError:
            continue  # another saver was quicker: look again
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def foreign(folder: Path) -> OutputError:
    """Error for a place that somebody else's folder has taken meanwhile."""
    return OutputError(
        f"{folder.name!r} was made by somebody else meanwhile and is not a release of ours.",
        hint="Choose another output folder.",
    )


def _move_aside(staging: Path, folder: Path) -> None:
    """Replace a folder in two steps, for systems without an exchange; a reader may find none in between."""
    with _private(folder, PREVIOUS) as aside:
        folder.rename(aside / folder.name)
        try:
            staging.rename(folder)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                raise FileNotFoundError from error  # another saver put its own there, so that the old one may go
            (aside / folder.name).rename(folder)
            raise


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders atomically (Linux ``renameat2``); ``False`` where the system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    at_cwd, exchange = -100, 2
    if renameat2(at_cwd, os.fsencode(one), at_cwd, os.fsencode(other), exchange) == 0:
        return True
    number = ctypes.get_errno()
    if number in UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number))


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
