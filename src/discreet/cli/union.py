"""The commands ``discreet union``: the union of two files whose holders do not show identifiers to each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from discreet.cli.group import SpokenCommand
from discreet.cli.options import JSON
from discreet.cli.party_options import (
    CREDENTIALS,
    FILE,
    FOLDERS,
    PATIENCE,
    TRANSCRIPT,
    credentials_of,
    folder_place,
    forget,
    say_port,
    with_options,
)
from discreet.cli.terminal import errors, progress, result
from discreet.errors import ParameterError

TERMS: tuple[Callable[[Any], Any], ...] = (
    click.argument("records", type=FILE),
    click.option("--me", required=True, help="This holder, as its certificate names it."),
    click.option("--other", required=True, help="The other holder."),
    click.option("--id", "id_columns", multiple=True, required=True, help="A column that identifies; may be repeated."),
    click.option("--data", "data_columns", multiple=True, help="A column with data; may be repeated."),
    click.option("--purpose", required=True, help="What for; both say the same words."),
    click.option("--log", type=FILE, required=True, help="List of unions begun: one a counterpart and purpose."),
    click.option("--min-records", type=click.IntRange(min=0), default=10, show_default=True, help="Of the other."),
    click.option("--sizes", is_flag=True, help="Learn sizes alone: both files, what they share, the union."),
    click.option("--sum", "sum_column", help="A column of the helper: tell both its total over shared records."),
    click.option("--min-shared", type=click.IntRange(min=1), default=10, show_default=True, help="For a total."),
    click.option("--pad-to", type=click.IntRange(min=0), default=0, help="Hide one's size: add made-up records."),
    click.option(
        "--dry-run", is_flag=True, help="Say what it would cost with as many records of the other; send none."
    ),
    TRANSCRIPT,
    PATIENCE,
)


class UnionCommands(click.Group):
    """Commands that say less or more as all others do."""

    command_class = SpokenCommand


@click.group(cls=UnionCommands)
def union() -> None:
    """Unite two files without showing identifiers: the one who joins gets the data, the one who serves sizes."""


@union.command()
@click.argument("log", type=FILE)
@JSON
def new_log(log: Path, as_json: bool) -> None:
    """Begin a holder's LOG of unions, once; serve and join take only one that is there."""
    from discreet.private.union.run_log import new_union_log

    with errors(as_json):
        new_union_log(log)
        result({"log": log.name}, f"A new log: {log.name}. No earlier union is in it.", as_json)


@union.command()
@with_options(TERMS, FOLDERS, CREDENTIALS)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8463, show_default=True, help="0 takes any.")
@JSON
def serve(host: str, port: int, as_json: bool, **given: Any) -> None:
    """Help another holder to the union with RECORDS; wait for it over mutual TLS, or meet by files."""
    from discreet.private.parties.meeting import AsHost

    with errors(as_json), progress(as_json):
        credentials = credentials_of(given)
        place = folder_place(given, credentials, given["patience"])
        place = place or AsHost(host, port, credentials, given["patience"], ready=say_port(as_json))
        _take_part((given["other"], given["me"]), place, None, as_json, given)


@union.command()
@with_options(TERMS, FOLDERS, CREDENTIALS)
@click.option("--address", help="host:port of the holder who serves.")
@click.option("--output", type=FILE, help="Write the data of the union to this file (csv, Parquet).")
@JSON
def join(address: str | None, output: Path | None, as_json: bool, **given: Any) -> None:
    """Get the data of the union of RECORDS and the file of another holder who serves.

    The result is for this holder alone: the other would see where its own values are missing.
    """
    from discreet.private.parties.files import require_new
    from discreet.private.parties.meeting import AtCoordinator

    with errors(as_json), progress(as_json):
        credentials = credentials_of(given)
        place = folder_place(given, credentials, given["patience"])
        if (place is None) == (address is None) and not given["dry_run"]:
            raise ParameterError("Say where to meet.", hint="Give --address, or --folder and --own.")
        if output is None and not given["sizes"] and not given["dry_run"]:
            raise ParameterError("The union needs a file to go to.", hint="Give --output, or --sizes.")
        require_new(output, ".csv", ".parquet")
        place = place or AtCoordinator(str(address), credentials, given["patience"])
        _take_part((given["me"], given["other"]), place, output, as_json, given)


def _take_part(parties: tuple[str, str], place: Any, output: Path | None, as_json: bool, given: dict[str, Any]) -> None:
    from discreet.private.parties.files import read_party_records, require_new, save_transcript, write_rows
    from discreet.private.retrieval.frames import Transcript
    from discreet.private.union.cost import union_cost
    from discreet.private.union.protocol import UnionTerms, union_task
    from discreet.private.union.run_log import entered
    from discreet.private.union.simulation import sizes_task

    me, other, purpose = given["me"], given["other"], given["purpose"]
    require_new(given["transcript"])
    data = read_party_records(given["records"], given["id_columns"])
    if given["dry_run"]:
        cost = union_cost(data, given["id_columns"], given["data_columns"])
        result(cost.to_dict(), cost.summary(), as_json)
        return
    record = Transcript()
    if given["sizes"]:
        sizes = sizes_task(parties, me, data, given["id_columns"], given["min_records"], purpose)
        found = place.meet(me, entered(sizes, given["log"], other, purpose), record)
        told, text = found, "; ".join(f"{name}: {count:,}" for name, count in found.items())
    else:
        terms = UnionTerms(
            given["id_columns"],
            given["data_columns"],
            **{name: given[name] for name in ("purpose", "min_records", "sum_column", "min_shared", "pad_to")},
        )
        done = place.meet(me, entered(union_task(parties, me, data, terms), given["log"], other, purpose), record)
        if output is not None:
            write_rows(output, done.rows or [], terms.data_columns)
        told, text = done.to_dict(), done.summary()
    if given["transcript"] is not None:
        save_transcript(record, given["transcript"])
    result(told, text, as_json)
    forget(place)
