from __future__ import annotations

import pytest

from tests.kernels import compile_kernels


def pytest_sessionstart(session: pytest.Session) -> None:
    """In the process that starts workers (pytest -n 2), before they start."""
    workers = getattr(session.config.option, "numprocesses", None)
    if workers and not hasattr(session.config, "workerinput"):
        compile_kernels(workers)
