"""Compiled kernels, cached in the user's cache folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def cache_folder() -> Path:
    """Where compiled kernels are kept: the user's cache folder, or a private temporary one without a home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not base:
        try:
            base = str(Path.home() / ".cache")
        except RuntimeError:
            base = tempfile.gettempdir()
    folder = Path(base) / "discreet" / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not os.access(folder, os.W_OK) or folder.stat().st_uid != os.getuid():
            raise PermissionError
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="discreet-kernels-"))
    return folder


def kernel(*signatures: str) -> Callable[[F], F]:
    """Compile a function for the given types, once for all runs."""
    import numba

    if not numba.config.CACHE_DIR:
        numba.config.CACHE_DIR = str(cache_folder())
    return numba.njit(list(signatures), cache=True, nogil=True)  # type: ignore[no-any-return]
