"""The command ``discreet server``: the database of the table server."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.extracts import jobs
from discreet.cli.group import SpokenCommand
from discreet.cli.options import JSON
from discreet.cli.people import COMMANDS, DATABASE
from discreet.cli.role_commands import role
from discreet.cli.terminal import errors, result
from discreet.errors import counted

FILE = click.argument("file", type=click.Path(path_type=Path))
COMPLETE = click.option("--complete", is_flag=True, help="Nothing was answered after the copy was made.")


class ServerCommands(click.Group):
    """Commands of the table server."""

    command_class = SpokenCommand


@click.group("server", cls=ServerCommands)
def server() -> None:
    """The database of a table server: make, upgrade, copy, restore it; enter people; make extracts (jobs)."""


for _command in (*COMMANDS, role, jobs):
    server.add_command(_command)


@server.command()
@DATABASE
@JSON
def migrate(database: str, as_json: bool) -> None:
    """Make the tables of the database, or bring them to the newest schema. Make a backup first."""
    with errors(as_json):
        from discreet.server.store.schema import migrate as bring_up

        before, after = bring_up(database)
        said = f"Made, with schema {after}." if before is None else f"Brought from schema {before} to {after}."
        result({"before": before, "after": after}, f"Schema {after} was there." if before == after else said, as_json)


@server.command("backup")
@DATABASE
@FILE
@JSON
def back_up(database: str, file: Path, as_json: bool) -> None:
    """Copy an SQLite database to a new FILE while the server runs. The copy is confidential."""
    with errors(as_json):
        from discreet.server.store.backup import backup

        backup(database, file)
        result({"file": str(file)}, f"Copied to {file.name}.", as_json)


@server.command("restore")
@DATABASE
@FILE
@COMPLETE
@JSON
def put_back(database: str, file: Path, complete: bool, as_json: bool) -> None:
    """Make an SQLite database from the copy in FILE.

    Sessions end. Editions are held unless --complete says that nothing was answered since: an account that forgets
    answers lets attackers average them.
    """
    with errors(as_json):
        from discreet.server.store.backup import restore

        done = restore(file, database, complete=complete)
        _say(done.sessions_ended, done.editions_held, as_json)


@server.command("after-restore")
@DATABASE
@COMPLETE
@JSON
def after(database: str, complete: bool, as_json: bool) -> None:
    """Make a PostgreSQL database safe to use that pg_restore has put back."""
    with errors(as_json):
        from discreet.server.store.backup import after_restore

        done = after_restore(database, complete=complete)
        _say(done.sessions_ended, done.editions_held, as_json)


@server.command()
@DATABASE
@click.argument("dataset")
@click.argument("edition")
@JSON
def reopen(database: str, dataset: str, edition: str, as_json: bool) -> None:
    """Let an EDITION of a DATASET answer that is held since a restore, once its account is known to be complete."""
    with errors(as_json):
        from discreet.server.store.store import Store

        with Store.open(database) as store:
            store.editions.reopen(dataset, edition)
        result({"dataset": dataset, "edition": edition}, f"Edition {edition} of {dataset} answers.", as_json)


def _say(sessions: int, editions: int, as_json: bool) -> None:
    found = {"sessions_ended": sessions, "editions_held": editions}
    text = f"Restored. {counted(sessions, 'session')} ended; {counted(editions, 'edition', 'are')} held."
    if editions:
        text += "\nWhen the accounts are known to be complete: discreet server reopen DATASET EDITION"
    result(found, text, as_json)
