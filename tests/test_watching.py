"""Progress of scripts: on a terminal, and nowhere else, unless switched off."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as ds
from discreet import watching
from discreet.progress import checkpoint, listened_to, reporting
from discreet.watching import can_move, wanted, watched

SCRIPT = """
import time
from discreet import watching
from discreet.progress import checkpoint

watching.PATIENCE = 0.0

@watching.watched
def work():
    for done in range(3):
        checkpoint("tabulate", done, 3)
        deadline = time.monotonic() + 0.3
        while time.monotonic() < deadline:
            pass

work()
print("done")
"""


def in_a_terminal(script: str, **environment: str) -> str:
    """What a terminal shows of a script."""
    ours, theirs = pty.openpty()
    given = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(Path(ds.__file__).parent.parent), **environment}
    process = subprocess.Popen([sys.executable, "-c", script], stdout=theirs, stderr=theirs, env=given)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    process.wait()
    os.close(ours)
    return shown.decode()


def test_a_script_shows_its_progress_and_leaves_nothing_behind():
    shown = in_a_terminal(SCRIPT)
    assert "Building tables" in shown
    assert "of 3 tables" in shown
    assert shown.endswith("\r\x1b[2Kdone\r\n")


@pytest.mark.parametrize("environment", [{"DISCREET_PROGRESS": "off"}, {"TERM": "dumb"}])
def test_a_script_shows_nothing_where_it_is_switched_off_or_cannot(environment):
    assert in_a_terminal(SCRIPT, **environment) == "done\r\n"


def test_nothing_is_shown_where_nobody_sits(capfd):
    @watched
    def work() -> bool:
        checkpoint("tabulate", 1, 3)
        return listened_to()

    assert not work()
    assert capfd.readouterr() == ("", "")


def test_whoever_listens_already_hears_it_alone():
    heard = []

    @watched
    def work() -> None:
        checkpoint("tabulate", 1, 3)

    with reporting(heard.append):
        work()
    assert [step.stage for step in heard] == ["tabulate"]


def test_the_switch_counts_more_than_the_environment(monkeypatch):
    monkeypatch.setenv(watching.VARIABLE, "off")
    monkeypatch.setattr(watching, "_asked", [])
    assert not wanted()
    ds.show_progress()
    assert wanted()
    ds.show_progress(False)
    assert not wanted()


def test_a_stream_without_a_terminal_does_not_move(tmp_path):
    with (tmp_path / "log").open("w") as stream:
        assert not can_move(stream)
    assert not can_move(None)


def test_verbs_keep_their_signature_and_words():
    import inspect

    assert "already_published" in inspect.signature(ds.protect).parameters
    assert (ds.protect.__doc__ or "").startswith("Make tables or records safe to publish.")
