"""Files that are written once: never over another, never by half."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from discreet.errors import OutputError
from discreet.stopping import uninterrupted, written

CONFIDENTIAL, OPEN = 0o600, 0o644


@contextmanager
def new_file(path: Path, mode: int = CONFIDENTIAL) -> Iterator[BinaryIO]:
    """A file to be written that is not there yet; it goes again when that fails or is interrupted.

    Raises
    ------
    OutputError
        When it exists or cannot be written.
    """
    try:
        with uninterrupted():
            stream = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb")
        try:
            with stream:
                yield stream
            with uninterrupted():
                written(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    except FileExistsError:
        raise OutputError(f"The file {path.name!r} exists.", hint="Choose another name, or remove it.") from None
    except OSError as error:
        raise OutputError(
            f"Cannot write {path.name!r}: {error.strerror or error}.", hint="Free space, or choose another folder."
        ) from None
