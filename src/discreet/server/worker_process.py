"""A worker as a process of its own; started by the supervisor: ``python -m discreet.server.worker_process``.

While it loads, nothing that it makes is for nothing, and searches for such things take a fifth of the time.
"""

from __future__ import annotations

import gc
from importlib import import_module

if __name__ == "__main__":
    gc.disable()  # until the worker is ready
    raise SystemExit(import_module("discreet.server.worker").main())
