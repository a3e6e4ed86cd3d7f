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

from discreet.errors import Cancelled, DiscreetError, OutputError, ResourceError, listed
from discreet.progress import reporting
from discreet.room import available_bytes, in_words
from discreet.stopping import Stopped, ignore, sentence, what_was_written
from discreet.watching import can_move, log_lines, moving_line, wanted

QUIET, VERBOSE = "discreet.quiet", "discreet.verbose"
"""Where the options of the running command are kept."""


def asked_for(key: str) -> bool:
    """Whether the running command was told to be quiet, or to tell everything."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(key))


def say(text: str, *, failed: bool = False) -> None:
    """Print a result, unless nobody wants to read it; what went wrong is always printed."""
    if failed or not asked_for(QUIET):
        click.echo(text)


def result(found: Any, text: str, as_json: bool, *, failed: bool = False) -> None:
    """Print a result, for machines or for people."""
    if as_json:
        click.echo(json.dumps(found))
    else:
        say(text, failed=failed)


def coloured(text: str, colour: str, bold: bool = False) -> str:
    """Text in a colour; a terminal shows it unless ``NO_COLOR`` is set, and pipes and files never get it."""
    return text if os.environ.get("NO_COLOR") else click.style(text, fg=colour, bold=bold or None)


@contextmanager
def progress(silent: bool) -> Iterator[None]:
    """Show the progress of the work in the block: a line that moves on a terminal, now and then a line elsewhere."""
    if silent or asked_for(QUIET) or not wanted():
        yield
    elif can_move(sys.stderr):
        with moving_line(sys.stderr):
            yield
    else:
        with reporting(log_lines(lambda text: click.echo(text, err=True))):
            yield


@contextmanager
def errors(as_json: bool) -> Iterator[None]:
    """Turn errors into a message and an exit code; a signal into a clean stop that says what was written."""
    try:
        # Somebody listens, so that verbs outside of ``progress`` do not show their own on the terminal.
        with reporting(lambda _: None):
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
    from discreet.cli.wording import advice  # after what can run out of memory has been imported, or not

    done, hint = what_was_written(), advice(error)
    if as_json:
        told = {"error": type(error).__name__, "message": error.message, "hint": hint}
        click.echo(json.dumps({**told, "written": done} if done else told))
    else:
        if isinstance(error, Cancelled):
            click.echo(str(error), err=True)
            sys.exit(error.exit_code)
        click.echo(f"{coloured('Error:', 'red', bold=True)} {error.message}", err=True)
        if hint:
            click.echo(f"  What to do: {hint}", err=True)
        if done:
            click.echo(f"  Written before that: {listed(Path(path).name for path in done)}", err=True)
        if error.details and sys.stderr.isatty():
            # Details may be confidential: they go to the operator's own terminal, never into a log or a pipe.
            click.echo(f"  For you only: {error.details}", err=True)
    sys.exit(error.exit_code)
