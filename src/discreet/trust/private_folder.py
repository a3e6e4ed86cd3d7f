"""A folder that only its owner may enter, and files that are replaced whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import InputError, OutputError
from discreet.stopping import uninterrupted, written

SECRET, OPEN = 0o600, 0o644
OTHERS = 0o077
"""What group and others may do: nothing, where secrets lie."""
PATIENCE = 30.0
"""Seconds to wait for somebody else who changes a file."""


def make_private_folder(folder: Path) -> None:
    """Make a folder of mode 0700; one that is there must be empty.

    Raises
    ------
    OutputError
        When something lies there, or it cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise OutputError(f"The folder {folder.name!r} is not empty.", hint="Choose a new folder.")
        folder.chmod(0o700)
    except OSError as error:
        raise OutputError(
            f"Cannot make the folder {folder.name!r}: {error.strerror}.", hint="Check its place."
        ) from None


def require_private_folder(folder: Path, what: str, hint: str) -> None:
    """Refuse a folder that is missing, that others may enter, or that is somebody else's.

    Raises
    ------
    InputError
        When it is one of these.
    """
    try:
        found = folder.stat()
    except OSError:
        raise InputError(f"There is no {what} in {folder.name!r}.", hint=hint) from None
    if not stat.S_ISDIR(found.st_mode):
        raise InputError(f"{folder.name!r} is no folder.", hint=hint)
    if found.st_mode & OTHERS:
        raise InputError(f"Others may enter the folder {folder.name!r}.", hint=f"Run: chmod 700 {folder.name}")
    if found.st_uid != os.geteuid():
        raise InputError(f"The folder {folder.name!r} belongs to another user.", hint="Work as the user who made it.")


def read_bounded(path: Path, what: str, most: int, *, secret: bool = False) -> bytes:
    """Read a file that may be anybody's work: a plain file, not too large, and a secret one for nobody else to read.

    Raises
    ------
    InputError
        When it is not there, no file, too large, or a secret that others may read.
    """
    try:
        # One look at the file that is read, and no waiting for a pipe that nobody fills.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise InputError(f"There is no {what} {path.name!r}.", hint="Check the name of the file.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"The {what} {path.name!r} cannot be opened ({type(error).__name__}).") from None
    with os.fdopen(handle, "rb") as stream:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{path.name!r} is no file.", hint=f"Give the file of the {what}.")
        if secret and found.st_mode & OTHERS:
            raise InputError(f"Others may read the {what} {path.name!r}.", hint=f"Run: chmod 600 {path.name}")
        data = stream.read(most + 1)
    if len(data) > most:
        raise InputError(
            f"The file {path.name!r} is too large to be a {what}.", hint=f"At most {most:,} bytes are read."
        )
    return data


def replace_file(path: Path, data: bytes, mode: int = SECRET) -> None:
    """Put a file in its place, over another one, in one step that survives a loss of power.

    Raises
    ------
    OutputError
        When it cannot be written; what was there is there still.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fchmod(handle, mode)
                os.fsync(handle)
            with uninterrupted():
                Path(name).replace(path)
                written(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _settle(path.parent)
    except OSError as error:
        raise OutputError(f"Cannot write {path.name!r}: {error.strerror or error}.", hint="Check the folder.") from None


def write_new_file(path: Path, data: bytes, mode: int = SECRET) -> None:
    """Write a file that is not there yet; it goes again when that fails.

    Raises
    ------
    OutputError
        When it is there already, or cannot be written.
    """
    try:
        with uninterrupted():
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(handle)
            with uninterrupted():
                written(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        _settle(path.parent)
    except FileExistsError:
        raise OutputError(f"The file {path.name!r} exists.", hint="Choose another name, or remove it.") from None
    except OSError as error:
        raise OutputError(f"Cannot write {path.name!r}: {error.strerror or error}.", hint="Check the folder.") from None


def remove_file(path: Path) -> None:
    """Remove a file, lastingly, where it is still there.

    Raises
    ------
    OutputError
        When it cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
        _settle(path.parent)
    except OSError as error:
        raise OutputError(f"Cannot remove {path.name!r}: {error.strerror or error}.", hint="Remove it.") from None


def _settle(folder: Path) -> None:
    """Let the folder's list of names reach the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder for oneself, so that two who change it do not overwrite each other's work.

    Raises
    ------
    OutputError
        When somebody else works in it.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise OutputError(
                    f"The folder {folder.name!r} cannot be locked: {error.strerror}.",
                    hint="Keep it on a local file system.",
                ) from None
            raise OutputError(
                f"Somebody else is at work in the folder {folder.name!r}.", hint="Try again in a moment."
            ) from None
        yield
    finally:
        os.close(handle)


@contextmanager
def alone_with(path: Path) -> Iterator[None]:
    """Hold a file for oneself while it is read and replaced, so that two who add to it both find what the other added.

    Raises
    ------
    OutputError
        When somebody else holds it for long, or it cannot be locked.
    """
    end = time.monotonic() + PATIENCE
    while True:
        handle = _file_locked(path)
        if handle is not None:
            break
        if time.monotonic() > end:
            raise OutputError(f"Somebody else is at work with {path.name!r}.", hint="Try again in a moment.")
        time.sleep(0.02)
    try:
        yield
    finally:
        os.close(handle)


def _file_locked(path: Path) -> int | None:
    """A handle with the lock of the file that has this name now; ``None`` while somebody else has it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise OutputError(f"Cannot open {path.name!r}: {error.strerror}.", hint="Check its place.") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), path.stat()):
            return handle  # not replaced between opening and locking
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.ENOENT):
            os.close(handle)
            raise OutputError(
                f"The file {path.name!r} cannot be locked: {error.strerror}.", hint="Keep it on a local file system."
            ) from None
    os.close(handle)
    return None
