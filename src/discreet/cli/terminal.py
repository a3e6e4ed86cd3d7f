"""Progress and errors on a terminal, and plain lines elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from discreet.errors import Cancelled, DiscreetError
from discreet.progress import Step, reporting


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
    """Turn errors into a message and an exit code; an interrupt into a clean stop."""
    try:
        yield
    except DiscreetError as error:
        _fail(error, as_json)
    except KeyboardInterrupt:
        _fail(Cancelled(), as_json)


def _fail(error: DiscreetError, as_json: bool) -> NoReturn:
    if as_json:
        click.echo(json.dumps({"error": type(error).__name__, "message": error.message, "hint": error.hint}))
    else:
        click.echo(f"Error: {error.message}", err=True)
        if error.hint:
            click.echo(f"  What to do: {error.hint}", err=True)
        if error.details and sys.stderr.isatty():
            # Details may be confidential: they go to the operator's own terminal, never into a log or a pipe.
            click.echo(f"  For you only: {error.details}", err=True)
    sys.exit(error.exit_code)
