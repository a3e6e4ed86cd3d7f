"""A clock that jumps, for the processes of a server: imported first, it reads from a file how far the clock is off.

What goes by the time since the start (``time.monotonic``) goes on as it does on a machine whose clock is set. The clock
is exchanged in the modules of the server and of the log alone: compiled packages know the real class of times by its
layout, and by a clock of years ahead the compiled kernels of everybody would be old enough to be removed.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Sequence
from datetime import datetime, tzinfo
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

FILE = os.open(os.environ["SOAK_CLOCK"], os.O_RDONLY)
OURS = ("discreet.server.", "discreet.trust.")


def jumped() -> float:
    """Seconds since 1970, by the clock that jumps."""
    return time.time() + float(struct.unpack("<d", os.pread(FILE, 8, 0))[0])


class AnyTime(type):
    """Times that others made are times too."""

    def __instancecheck__(cls, thing: Any) -> bool:
        return isinstance(thing, datetime)


class Jumping(datetime, metaclass=AnyTime):
    """The class of times, whose now is that of the clock that jumps."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Any:
        """The time by the clock that jumps."""
        return datetime.fromtimestamp(jumped(), tz)


class JumpingLoader(SourceFileLoader):
    """Loads one of our modules, and gives it that clock."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module."""
        super().exec_module(module)
        if getattr(module, "datetime", None) is datetime:
            module.datetime = Jumping  # type: ignore[attr-defined]
        if getattr(module, "time", None) is time.time:
            module.time = jumped  # type: ignore[attr-defined]


class OurModules:
    """Finds our modules for that loader."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """How to load one of our modules; nothing for others."""
        found = PathFinder.find_spec(name, path, target) if name.startswith(OURS) else None
        if found is not None and isinstance(found.loader, SourceFileLoader):
            found.loader = JumpingLoader(found.loader.name, found.loader.path)
        return found


sys.meta_path.insert(0, OurModules)
