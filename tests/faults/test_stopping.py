"""Signals, closed pipes and full disks on the command line: one code, and a true sentence about what was written."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading

import pytest
from click.testing import CliRunner

import discreet as ds
from discreet import stopping
from discreet.cli import main
from discreet.files import whole_folder
from discreet.files.new_file import new_file
from discreet.recipe import run as recipe_module
from tests.faults.making import python, recipe_in

SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.fixture(autouse=True)
def handlers():
    """Whatever happens, the next test finds the handlers as they were."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        assert signal.getsignal(number) == handler, "handlers are given back"


def sending(number: int, function):
    """The function, with a signal to this process before it and after it has done its work."""

    def before(*words, **options):
        os.kill(os.getpid(), number)
        return function(*words, **options)

    def after(*words, **options):
        done = function(*words, **options)
        os.kill(os.getpid(), number)
        return done

    return before, after


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("as_json", [True, False])
def test_a_signal_before_the_release_is_in_place_says_that_nothing_was_written(tmp_path, monkeypatch, number, as_json):
    recipe = recipe_in(tmp_path)
    early, _ = sending(number, recipe_module.verify)
    monkeypatch.setattr("discreet.recipe.run.verify", early)
    done = CliRunner().invoke(main, ["run", str(recipe), *(["--json"] if as_json else [])])
    assert done.exit_code == 128 + number
    told = json.loads(done.stdout) if as_json else {"message": done.stderr, "hint": done.stderr}
    assert signal.Signals(number).name in told["message"]
    assert "Nothing was written" in told["hint"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("when", ["while it is put in place", "after that"])
def test_a_signal_after_the_release_is_in_place_says_so(tmp_path, monkeypatch, number, when):
    recipe = recipe_in(tmp_path)
    if when == "after that":
        early, _ = sending(number, ds.check_folder)
        monkeypatch.setattr("discreet.recipe.run.check_folder", early)
    else:
        _, late = sending(number, whole_folder._replace)
        monkeypatch.setattr(whole_folder, "_replace", late)
    done = CliRunner().invoke(main, ["run", str(recipe)])
    assert done.exit_code == 128 + number
    assert "after 'out' had been written" in done.stderr
    assert "Nothing was written" not in done.output
    assert ds.check_folder(tmp_path / "out").holds
    assert not list(tmp_path.glob(".out*"))


def test_in_python_an_interrupt_waits_until_the_release_is_in_place(tmp_path, monkeypatch):
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    early, _ = sending(signal.SIGINT, whole_folder._replace)
    monkeypatch.setattr(whole_folder, "_replace", early)
    with pytest.raises(KeyboardInterrupt):
        release.save(tmp_path / "out")
    assert ds.check_folder(tmp_path / "out").holds
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_signals_that_the_parent_had_us_ignore_stay_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stopping.handled(), stopping.uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_threads_other_than_the_first_work_without_handlers():
    worked = []

    def work() -> None:
        with stopping.handled(), stopping.uninterrupted():
            worked.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert worked


@pytest.mark.parametrize("number", SIGNALS)
def test_a_process_that_is_stopped_anywhere_ends_with_its_code_and_one_sentence(number):
    program = (
        "import sys, os, signal\n"
        "from discreet.__main__ import start\n"
        "from discreet.cli import main\n"
        f"main.callback = lambda: os.kill(os.getpid(), {int(number)})\n"
        "sys.argv = ['discreet', 'schema']\n"
        "start()\n"
    )
    process = python("-c", program)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert said.strip() == f"Stopped by {number.name}. Nothing was written; what was there before is unchanged."


def test_compiled_code_that_does_not_end_is_ended_with_the_same_sentence():
    program = (
        "import os, signal, discreet.stopping as stopping\n"
        "stopping.PATIENCE = 0.2\n"
        "stopping.install()\n"
        "import ctypes, threading\n"
        "compiled = ctypes.CDLL(None).sleep\n"
        "threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGTERM]).start()\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, stopping.SIGNALS)\n"  # another thread gets the signal
        "compiled(50)\n"
    )
    process = python("-c", program)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 143
    assert said.startswith("Stopped by SIGTERM. Nothing was written")


def test_a_file_that_was_begun_and_interrupted_is_gone(tmp_path):
    def interrupted() -> None:
        with new_file(tmp_path / "cells.csv") as stream:
            stream.write(b"secret")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not list(tmp_path.iterdir())
    with new_file(tmp_path / "cells.csv") as stream:
        stream.write(b"secret")
    assert (tmp_path / "cells.csv").stat().st_mode & 0o077 == 0


def test_a_closed_pipe_does_not_keep_a_run_from_saving(tmp_path, monkeypatch):
    recipe = recipe_in(tmp_path)
    for name in ("stdout", "stderr"):
        read, write = os.pipe()
        os.close(read)
        monkeypatch.setattr(sys, name, os.fdopen(write, "w"))
    with pytest.raises(SystemExit) as ended:
        main(["run", str(recipe)])
    monkeypatch.undo()
    assert ended.value.code == 0
    assert ds.check_folder(tmp_path / "out").holds


def test_output_that_cannot_be_written_is_an_error_that_says_what_was_saved(tmp_path, monkeypatch):
    recipe = recipe_in(tmp_path)
    said = io.StringIO()
    monkeypatch.setattr(sys, "stdout", os.fdopen(os.open("/dev/full", os.O_WRONLY), "w"))
    monkeypatch.setattr(sys, "stderr", said)
    with pytest.raises(SystemExit) as ended:
        main(["run", str(recipe)])
    monkeypatch.undo()
    assert ended.value.code == 6
    assert "Written before that: 'out'" in said.getvalue()
    assert ds.check_folder(tmp_path / "out").holds


@pytest.mark.parametrize("error", [MemoryError(), ImportError("x.so: failed to map segment from shared object")])
def test_memory_that_runs_out_is_an_error_of_ours(tmp_path, monkeypatch, error):
    recipe = recipe_in(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("discreet.recipe.run.protect_tables", fail)
    done = CliRunner().invoke(main, ["run", str(recipe)])
    assert done.exit_code == 8
    assert "Memory did not suffice" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_fault_of_the_program_is_not_hidden(tmp_path, monkeypatch):
    recipe = recipe_in(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise ImportError("cannot import name 'x'")

    monkeypatch.setattr("discreet.recipe.run.protect_tables", fail)
    assert isinstance(CliRunner().invoke(main, ["run", str(recipe)]).exception, ImportError)


def test_a_closed_public_folder_is_said_on_the_command_line(tmp_path):
    recipe = recipe_in(tmp_path)
    before = os.umask(0o077)
    try:
        done = CliRunner().invoke(main, ["run", str(recipe)])
    finally:
        os.umask(before)
    assert "chmod a+rx out/public" in done.stdout
    assert (tmp_path / "out" / "public").stat().st_mode & 0o077 == 0
