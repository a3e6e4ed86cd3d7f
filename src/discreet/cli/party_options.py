"""Options of commands that take part in runs between parties, and what they stand for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from discreet.errors import ParameterError

FILE = click.Path(path_type=Path)
CREDENTIALS: tuple[Callable[[Any], Any], ...] = (
    click.option("--certificate", type=FILE, required=True, help="Certificate with this party's name (PEM)."),
    click.option("--key", type=FILE, required=True, help="Its key (PEM)."),
    click.option("--authorities", type=FILE, required=True, help="The folder 'public' of the authority, or a bundle."),
    click.option("--crls", type=FILE, help="Lists of revoked certificates, where --authorities is a file."),
)
FOLDERS: tuple[Callable[[Any], Any], ...] = (
    click.option("--folder", type=FILE, help="Meet in this folder of files in place of a connection."),
    click.option("--own", type=FILE, help="With --folder: a folder of this party's own, to take a run up again."),
)
PATIENCE = click.option(
    "--patience", type=click.FloatRange(min=1), default=600.0, show_default=True, help="Seconds to wait for others."
)
TRANSCRIPT = click.option("--transcript", type=FILE, help="Write every message to this file (confidential).")


def with_options(*groups: tuple[Callable[[Any], Any], ...]) -> Callable[[Any], Any]:
    """A decorator that adds groups of options."""

    def add(command: Any) -> Any:
        for group in reversed(groups):
            for one in reversed(group):
                command = one(command)
        return command

    return add


def credentials_of(given: dict[str, Any]) -> Any:
    """Take the certificate and whom to trust out of the options."""
    from discreet.private.parties.identity import PartyCredentials

    return PartyCredentials(*(given.pop(name) for name in ("certificate", "key", "authorities", "crls")))


def folder_place(given: dict[str, Any], credentials: Any, patience: float) -> Any:
    """The folder to meet in, where one was named; ``None`` otherwise."""
    from discreet.private.parties.shared_folder import SharedFolder

    folder, own = given.pop("folder"), given.pop("own")
    if (folder is None) != (own is None):
        raise ParameterError("--folder and --own belong together.", hint="Give both, or neither.")
    return None if folder is None else SharedFolder(folder, own, credentials, patience, keep=True)


def forget(place: Any) -> None:
    """End a run by files once its result has been written and told; until then the same command gives it again."""
    from discreet.private.parties.shared_folder import SharedFolder

    if isinstance(place, SharedFolder):
        place.forget()


def say_port(as_json: bool) -> Callable[[int], None]:
    """Tell where others can come, at once."""
    from discreet.cli.terminal import result

    def ready(port: int) -> None:
        result({"port": port}, f"Waiting for the others on port {port}", as_json)
        sys.stdout.flush()

    return ready
