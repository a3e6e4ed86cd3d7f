"""A sample of forged releases of records; ``python -m tests.attack.forged_records`` tries ten thousand of each kind."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

import discreet as ds
from tests.attack.forged_blanks import truly_blanked
from tests.attack.forged_groups import truly_averaged, truly_exchanged
from tests.attack.forged_moves import Lie, truly_multiplied, truly_swapped
from tests.attack.forged_randomised import truly_randomised
from tests.attack.forged_records import FORGERS, forge_bytes, forge_meaning
from tests.attack.forged_tails import truly_coded
from tests.attack.forging import reseal
from tests.attack.record_folders import RELEASES, Folder


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    @cache
    def made(kind: str) -> Folder:
        folder: Path = tmp_path_factory.mktemp("forged") / kind
        return Folder(folder, kind)

    return made


@pytest.mark.parametrize(("kind", "forger"), [(kind, forger) for kind in RELEASES for forger in FORGERS[kind]])
def test_every_kind_of_forgery_is_refused(release, kind, forger):
    folder = release(kind)
    refused = tried = 0
    for seed in range(8):
        if tried >= 5 and refused >= 3:
            break
        try:
            wrong = FORGERS[kind][forger](folder.folder, random.Random(seed))
            if wrong is None:
                continue
            reseal(folder.folder)
            holds = ds.check_folder(folder.folder).holds
            assert not (holds and wrong), seed
            tried, refused = tried + 1, refused + (not holds)
        finally:
            folder.restore()
    assert tried >= 4
    assert refused >= 3


@pytest.mark.parametrize("kind", RELEASES)
def test_random_forgeries_are_refused(release, kind):
    found = [forge(release(kind), seed) for seed in range(15) for forge in (forge_meaning, forge_bytes)]
    assert [one for one in found if one] == []


@pytest.mark.parametrize("kind", RELEASES)
def test_the_true_release_holds_again(release, kind):
    assert ds.check_folder(release(kind).folder).holds


@pytest.mark.parametrize(
    ("kind", "true"),
    [
        ("swap", truly_swapped),
        ("noise", truly_multiplied),
        ("blanks", truly_blanked),
        ("pairs", truly_blanked),
        ("tails", truly_coded),
        ("pram", truly_randomised),
        ("groups", truly_averaged),
        ("ranks", truly_exchanged),
    ],
)
def test_a_release_told_anew_without_a_lie_holds(release, kind, true):
    """What finds lies out is the lie, not how it is written."""
    folder = release(kind)
    try:
        truth = Lie.about(kind)
        truth.write(folder.folder)
        reseal(folder.folder)
        assert true(truth)
        assert ds.check_folder(folder.folder).refused == []
    finally:
        folder.restore()
