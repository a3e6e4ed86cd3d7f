"""Progress and errors on a terminal, and plain lines elsewhere."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

import click

from discreet.errors import DiscreetError, OutputError, ResourceError, listed
from discreet.progress import Step, reporting
from discreet.room import available_bytes, in_words
from discreet.stopping import Stopped, ignore, sentence, what_was_written


@contextmanager
def progress(quiet: bool) -> Iterator[None]:
    """Show the progress of the work inside the block: a bar on a terminal, a line a stage elsewhere."""
    if quiet:
        yield
    elif sys.stderr.isatty():
        with _bar():
            yield
    else:
        with reporting(_lines()):
            yield


@contextmanager
def _bar() -> Iterator[None]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def listen(step: Step) -> None:
            if step.stage not in tasks:
                tasks[step.stage] = bar.add_task(step.stage, total=step.total or None)
            bar.update(tasks[step.stage], completed=step.done, total=step.total or None)

        with reporting(listen):
            yield


def _lines() -> Any:
    """A line when a stage begins and at each quarter of it."""
    shown: dict[str, int] = {}

    def listen(step: Step) -> None:
        quarter = 4 * step.done // step.total if step.total else 0
        if shown.get(step.stage, -1) < quarter and step.total > 1:
            shown[step.stage] = quarter
            click.echo(f"{step.stage}: {step.done} of {step.total}", err=True)

    return listen


@contextmanager
def errors(as_json: bool) -> Iterator[None]:
    """Turn errors into a message and an exit code; a signal into a clean stop that says what was written."""
    try:
        yield
        sys.stdout.flush()
    except DiscreetError as error:
        _fail(error, as_json)
    except KeyboardInterrupt:
        fail_stopped(Stopped(signal.SIGINT), as_json)
    except Stopped as stop:
        fail_stopped(stop, as_json)
    except MemoryError:
        _fail(out_of_memory(), as_json)
    except ImportError as error:
        if not any(words in str(error) for words in NO_ROOM):
            raise
        _fail(out_of_memory(), as_json)
    except OSError as error:
        _fail(_of_the_system(error), as_json)


NO_ROOM = ("failed to map segment", "cannot allocate memory", "Cannot allocate memory")
"""What the loader says of a library that memory has no room for."""


def out_of_memory() -> ResourceError:
    """Error for memory that ran out in the middle of the work."""
    room = available_bytes()
    left = "" if room is None else f" About {in_words(room)} are free."
    return ResourceError(
        f"Memory did not suffice.{left}",
        hint='Raise the limit (ulimit -v, container), end other programs, use engine = "duckdb", or make the table '
        "smaller.",
    )


def _of_the_system(error: OSError) -> DiscreetError:
    """What the system refused that no reader or writer has put into words."""
    if error.errno == errno.ENOMEM:
        return out_of_memory()
    name = f" ({Path(str(error.filename)).name!r})" if error.filename else ""
    return OutputError(
        f"The system refused to read or write{name}: {error.strerror or error}.",
        hint="Check free space, permissions and where the output goes.",
    )


def fail_stopped(stop: Stopped, as_json: bool = False) -> NoReturn:
    """End after a signal, with a true sentence about what was written."""
    ignore()  # a second signal must not cut the sentence off
    if as_json:
        message, _, hint = sentence(stop).partition(". ")
        told = {"error": "Stopped", "message": f"{message}.", "hint": hint, "written": what_was_written()}
        click.echo(json.dumps(told))
    else:
        click.echo(sentence(stop), err=True)
    sys.exit(stop.exit_code)


class Patient:
    """A stream that others may close: what nobody reads any more goes nowhere, and the work goes on."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: Any) -> int:
        """Write, or pretend to."""
        try:
            return int(self._stream.write(text))
        except BrokenPipeError:
            self._give_up()
            return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._give_up()

    def let_go(self) -> None:
        """Empty the buffers for the last time; that they cannot be emptied was said before."""
        try:
            self.flush()
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        """Send what is still in buffers nowhere, so that nothing complains when they are emptied at the end."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def patient() -> Iterator[None]:
    """Let a closed pipe (``discreet run recipe.toml | head``) not end the work inside the block."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (stream and cast(TextIO, Patient(stream)) for stream in before)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, Patient):
                stream.let_go()
        sys.stdout, sys.stderr = before


def _fail(error: DiscreetError, as_json: bool) -> NoReturn:
    done = what_was_written()
    if as_json:
        told = {"error": type(error).__name__, "message": error.message, "hint": error.hint}
        click.echo(json.dumps({**told, "written": done} if done else told))
    else:
        click.echo(f"Error: {error.message}", err=True)
        if error.hint:
            click.echo(f"  What to do: {error.hint}", err=True)
        if done:
            click.echo(f"  Written before that: {listed(Path(path).name for path in done)}", err=True)
        if error.details and sys.stderr.isatty():
            # Details may be confidential: they go to the operator's own terminal, never into a log or a pipe.
            click.echo(f"  For you only: {error.details}", err=True)
    sys.exit(error.exit_code)
