"""What makes thousands of tests quick, and changes nothing that they see."""

from __future__ import annotations

import gc
import os

import pytest

from tests.kernels import compile_kernels


def pytest_configure() -> None:
    """Do not wait for the disk thousands of times: what tests write need not outlast a power cut."""
    os.fsync = os.fstat  # refuses what is no open file, as the true one does


def pytest_sessionstart(session: pytest.Session) -> None:
    """In the process that starts workers (pytest -n 2), before they start."""
    workers = getattr(session.config.option, "numprocesses", None)
    if workers and not hasattr(session.config, "workerinput"):
        compile_kernels(workers)


def pytest_collection_finish() -> None:
    """Tests themselves are no garbage, and need not be looked through again and again."""
    gc.collect()
    gc.freeze()
