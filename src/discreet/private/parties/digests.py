"""A digest of what a party brings into a run, so that a run that was broken off goes on with nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np


def digest_of(parts: Iterable[Any]) -> bytes:
    """The digest of arrays, bytes and texts, in their order; parts cannot run into each other."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            head, data = f"{part.dtype.str} {part.shape}", np.ascontiguousarray(part).tobytes()
        elif isinstance(part, bytes):
            head, data = "bytes", part
        else:
            head, data = "text", str(part).encode()
        found.update(f"{head} {len(data)} ".encode() + data)
    return found.digest()
