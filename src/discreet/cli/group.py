"""The command ``discreet`` before it has commands: signals, room to start, and how much every command says."""

from __future__ import annotations

from typing import Any

import click

from discreet.cli.terminal import QUIET, VERBOSE, errors, fail_stopped, patient
from discreet.errors import ParameterError
from discreet.room import require_to_start
from discreet.stopping import Stopped, forget_written, handled

LIGHT = ("schema", "doctor", "completion", "log")
"""Commands that load no compiled code."""


class SpokenCommand(click.Command):
    """A command that says less with ``--quiet`` and more with ``--verbose``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for words, key, text in (
            (["-q", "--quiet"], QUIET, "Print nothing but errors; the exit code tells how it went."),
            (["-v", "--verbose"], VERBOSE, "Print all details."),
        ):
            self.params.append(click.Option(words, is_flag=True, expose_value=False, callback=_noted(key), help=text))


def _noted(key: str) -> Any:
    def note(ctx: click.Context, _: click.Parameter, given: bool) -> None:
        ctx.meta[key] = given
        if given and all(ctx.meta.get(one) for one in (QUIET, VERBOSE)):
            raise ParameterError("--quiet and --verbose contradict each other.", hint="Give one of them.")

    return note


class Commands(click.Group):
    """The commands, stopped by signals alone and not by whoever closes the pipe that they print to."""

    command_class = SpokenCommand

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command."""
        forget_written()
        with handled(), patient():
            try:
                with errors(False):  # what goes wrong before a command has looked at its options
                    return super().main(*args, **options)
            except Stopped as stop:
                fail_stopped(stop)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; one that loads compiled code needs room for it, which is looked at before."""
        name, command, rest = super().resolve_command(ctx, args)
        if name not in LIGHT and not ctx.resilient_parsing and not {"-h", "--help"} & set(rest):
            require_to_start()
        return name, command, rest
