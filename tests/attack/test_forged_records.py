"""A sample of forged releases of records; ``python -m tests.attack.forged_records`` tries ten thousand."""

from __future__ import annotations

import random

import pytest

import discreet as ds
from tests.attack.forged_records import FORGERS, Folder, forge_bytes, forge_meaning
from tests.attack.forging import reseal


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Folder:
    return Folder(tmp_path_factory.mktemp("forged") / "out")


@pytest.mark.parametrize("forger", FORGERS)
def test_every_kind_of_forgery_is_refused(release, forger):
    refused = tried = 0
    for seed in range(12):
        try:
            wrong = FORGERS[forger](release.folder, random.Random(seed))
            if wrong is None:
                continue
            reseal(release.folder)
            holds = ds.check_folder(release.folder).holds
            assert not (holds and wrong), seed
            tried, refused = tried + 1, refused + (not holds)
        finally:
            release.restore()
    assert tried >= 5
    assert refused >= 3


def test_random_forgeries_are_refused(release):
    assert [
        found for seed in range(60) for found in (forge_meaning(release, seed), forge_bytes(release, seed)) if found
    ] == []


def test_the_true_release_holds_again(release):
    assert ds.check_folder(release.folder).holds
