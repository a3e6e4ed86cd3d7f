"""What all comparisons share: how a try ended, and images that are written once."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import Cancelled, DiscreetError, NeedsError, OutputError

DONE = "done"


def ended(error: Exception) -> str:
    """How a try ended that did not come to its end; whoever cancels stops all tries."""
    if isinstance(error, Cancelled):
        raise error
    if isinstance(error, NeedsError):
        return f"not applicable: {error.message}"
    if isinstance(error, DiscreetError):
        return f"failed: {error.message}"
    return f"failed: {type(error).__name__}, which is a fault of the program; please report it"


def standing_alone(drawing: str) -> bytes:
    """An image of a page as a file of its own."""
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return str(drawing).replace("<svg ", f"<svg {spaces} ", 1).encode()


def write_new(path: Path, content: bytes) -> None:
    """Write a confidential file that is not there yet, readable by its owner only."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
    except OSError as error:
        raise OutputError(
            f"Cannot write {path.name!r}: {error.strerror}.", hint="Choose another name, or remove what is there."
        ) from None
