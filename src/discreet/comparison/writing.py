"""What all comparisons share: how a try ended, and files that are written once."""

from __future__ import annotations

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


def write_new(path: Path, content: bytes) -> None:
    """Write a confidential file that is not there yet, readable by its owner only."""
    with new_file(path) as stream:
        stream.write(content)
