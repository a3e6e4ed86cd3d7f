"""Commands about this machine and its shell."""

from __future__ import annotations

import sys

import click

from discreet.cli.group import SpokenCommand
from discreet.cli.terminal import errors, result

SHELLS = ("bash", "zsh", "fish")


@click.command(cls=SpokenCommand)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for machines.")
def doctor(as_json: bool) -> None:
    """Say what is installed, which extras are missing, and whether this machine can do the work.

    The exit code is 1 where something that is needed is wrong; missing extras are not.
    """
    from discreet.cli.checkup import as_data, findings, shown

    with errors(as_json):
        found = findings()
        wrong = any(one.state == "wrong" for one in found)
        result(as_data(found), shown(found), as_json, failed=wrong)
        if wrong:
            sys.exit(1)


@click.command(cls=SpokenCommand)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script that lets SHELL complete commands, options and files.

    \b
    bash:  discreet completion bash > ~/.local/share/bash-completion/completions/discreet
    zsh:   discreet completion zsh > "${fpath[1]}/_discreet"
    fish:  discreet completion fish > ~/.config/fish/completions/discreet.fish
    """
    from click.shell_completion import get_completion_class

    from discreet.cli.main import main

    with errors(False):
        kind = get_completion_class(shell)
        assert kind is not None, "click knows the shells that it is asked for"
        click.echo(kind(main, {}, "discreet", "_DISCREET_COMPLETE").source())
