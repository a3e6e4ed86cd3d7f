"""The folder of compiled kernels cannot be prepared by anybody else, and what is kept there belongs together."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from discreet import jit

NOBODY = 65534
root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give folders to others")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A home and a folder for temporary files of our own, with nothing remembered."""
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir(mode=0o700)
    temporary.mkdir(mode=0o700)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(temporary))
    monkeypatch.setattr(jit.tempfile, "tempdir", str(temporary))
    jit.cache_folder.cache_clear()
    yield tmp_path
    jit.cache_folder.cache_clear()


def found() -> Path:
    jit.cache_folder.cache_clear()
    return jit.cache_folder()


def own(place: Path) -> Path:
    return place / "tmp" / f"discreet-kernels-{os.getuid()}"


def test_kernels_lie_below_home_closed_to_others_whatever_the_umask(place):
    before = os.umask(0)
    try:
        folder = found()
    finally:
        os.umask(before)
    assert folder == place / "home" / ".cache" / "discreet" / "kernels"
    for path in (folder, folder.parent, folder.parent.parent):
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("opened", ["home", "home/.cache", "home/.cache/discreet", "home/.cache/discreet/kernels"])
def test_a_folder_that_everybody_can_write_to_is_not_used(place, opened):
    found()
    (place / opened).chmod(0o777)
    assert found() == own(place)


@root
@pytest.mark.parametrize("given", ["home", "home/.cache", "home/.cache/discreet", "home/.cache/discreet/kernels"])
def test_a_folder_below_one_of_another_user_is_not_used(place, given):
    found()
    os.chown(place / given, NOBODY, -1)
    assert found() == own(place)


@root
def test_a_link_of_another_user_is_not_followed(place):
    (place / "theirs").mkdir(mode=0o700)
    (place / "home" / ".cache").symlink_to(place / "theirs")
    os.chown(place / "theirs", NOBODY, -1)
    assert found() == own(place)
    assert not list((place / "theirs").iterdir())


def test_without_a_home_to_write_to_it_is_one_folder_for_all_runs(place, monkeypatch):
    (place / "home" / ".cache").write_text("a file where the folder should be")
    assert found() == found() == own(place)
    assert own(place).stat().st_mode & 0o077 == 0
    assert [path.name for path in (place / "tmp").iterdir()] == [own(place).name]


@root
def test_a_folder_that_another_user_prepared_is_not_used_and_nothing_stays_behind(place, monkeypatch):
    (place / "home" / ".cache").write_text("a file where the folder should be")
    own(place).mkdir(mode=0o777)
    os.chown(own(place), NOBODY, -1)
    ended = []
    monkeypatch.setattr(jit.atexit, "register", lambda *words, **_: ended.append(words))
    private = found()
    assert private.parent == place / "tmp"
    assert private != own(place)
    assert private.stat().st_mode & 0o077 == 0
    assert ended[0][1] == private, "a folder for one process is removed when the process ends"


def test_a_relative_cache_home_is_ignored(place, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    assert found().is_relative_to(place / "home")


SORTING = """
from discreet.jit import kernel
@kernel("void(int64[::1])")
def sort_them(values):
    values.sort()
"""
RANKING = """
import numpy as np
from discreet.jit import kernel
@kernel("int64[::1](int64[::1])")
def rank_them(values):
    return np.argsort(values)
"""
BOTH = """
import numpy as np
from ranking import rank_them
from sorting import sort_them
numbers = np.array([3, 1, 2])
order, placed = rank_them(numbers), numbers.copy()
sort_them(placed)
print(order.tolist(), placed.tolist())
"""


def test_kernels_kept_from_several_processes_do_not_take_each_others_helpers(tmp_path):
    """numba names helpers by a counter per process: kept apart and loaded together, sorting used to rank."""
    (tmp_path / "sorting.py").write_text(SORTING)
    (tmp_path / "ranking.py").write_text(RANKING)
    (tmp_path / "cache").mkdir(mode=0o700)
    beside = os.pathsep.join([str(tmp_path), *sys.path])
    known = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": beside}
    known.pop("NUMBA_CACHE_DIR", None)

    def run(code: str) -> str:
        done = subprocess.run([sys.executable, "-c", code], env=known, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    run("import sorting")
    run("import ranking")
    assert run(BOTH) == "[1, 2, 0] [1, 2, 3]"


def test_kept_kernels_belong_to_the_source_of_all_kernels(place, monkeypatch):
    package = place / "package"
    package.mkdir()
    (package / "loops.py").write_text("from discreet.jit import kernel\nfrom discreet.limits import MOST")
    (package / "words.py").write_text("one = 1")
    (package / "limits.py").write_text("MOST = 1")
    monkeypatch.setattr(jit, "__file__", str(package / "jit.py"))

    def digest() -> str:
        jit.source_digest.cache_clear()
        return jit.source_digest()

    before = digest()
    (package / "words.py").write_text("one = 2")
    assert digest() == before
    (package / "limits.py").write_text("MOST = 2")
    constants = digest()
    assert constants != before
    (package / "loops.py").write_text("from discreet.jit import kernel  # other")
    assert digest() not in (before, constants)
    jit.source_digest.cache_clear()


def test_kernels_of_a_source_that_nobody_uses_any_more_are_removed(place):
    old, recent = found() / "old", found() / "recent"
    old.mkdir()
    recent.mkdir()
    os.utime(old, (0, 0))
    assert jit._folder_of_this_source().is_dir()
    assert not old.exists()
    assert recent.exists()
