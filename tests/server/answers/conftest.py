"""One data set for all tests of the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.server.dataset import Dataset
from tests.server.census import made


@pytest.fixture(scope="session")
def census_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("census")


@pytest.fixture(scope="session")
def census(census_folder: Path) -> Dataset:
    return made(census_folder)
