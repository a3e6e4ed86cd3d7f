"""One authority for all tests of parties."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def offices(tmp_path_factory):
    pytest.importorskip("cryptography")
    from tests.private.parties.offices import Offices

    return Offices(tmp_path_factory.mktemp("offices"))
