"""What all comparisons share: how a try ended, and images that are written once."""

from __future__ import annotations

import re
from pathlib import Path

from discreet.errors import Cancelled, DiscreetError, NeedsError
from discreet.files.new_file import new_file

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
    plain = re.sub(r"var\(--\w+, (#[0-9a-f]{6})\)", r"\1", str(drawing))  # not every viewer knows variables
    return plain.replace("<svg ", f"<svg {spaces} ", 1).encode()


def write_new(path: Path, content: bytes) -> None:
    """Write a confidential file that is not there yet, readable by its owner only."""
    with new_file(path) as stream:
        stream.write(content)
