"""The commands ``discreet joint``: models of the records of several owners that nobody sees together."""

from __future__ import annotations

import json
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


class JointCommands(click.Group):
    """Commands that say less or more as all others do."""

    command_class = SpokenCommand


@click.group(cls=JointCommands)
def joint() -> None:
    """Fit models to the records of several owners, of which nobody sees those of another."""


@joint.command()
@click.argument("plan", type=FILE)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8462, show_default=True, help="0 takes any.")
@PATIENCE
@TRANSCRIPT
@with_options(CREDENTIALS)
@JSON
def coordinate(
    plan: Path, host: str, port: int, patience: float, transcript: Path | None, as_json: bool, **given: Any
) -> None:
    """Carry one run of PLAN between the parties that it names; the coordinator cannot read what it carries."""
    from discreet.private.joint.plan_file import JointPlan
    from discreet.private.parties.files import require_new, save_transcript
    from discreet.private.parties.meeting import coordinate as carried
    from discreet.private.retrieval.frames import Transcript

    with errors(as_json):
        parties, record = JointPlan.read(plan).parties, Transcript()
        require_new(transcript)
        carried(
            parties,
            credentials_of(given),
            host=host,
            port=port,
            patience=patience,
            record=record if transcript is not None else None,
            ready=say_port(as_json),
        )
        if transcript is not None:
            save_transcript(record, transcript)
        result({"done": True, "parties": list(parties)}, "All parties have their results.", as_json)


@joint.command()
@click.argument("account", type=FILE)
@JSON
def new_account(account: Path, as_json: bool) -> None:
    """Begin an owner's ACCOUNT of its models, once; fit takes only one that is there."""
    from discreet.private.joint.account import new_account as begun

    with errors(as_json):
        begun(account)
        result({"account": account.name}, f"A new account: {account.name}. No earlier run is in it.", as_json)


@joint.command()
@click.argument("plan", type=FILE)
@click.argument("records", type=FILE, required=False)
@click.option("--me", required=True, help="This party, as its certificate and PLAN name it.")
@click.option("--coordinator", help="host:port of the coordinator.")
@click.option("--account", type=FILE, help="Account of this owner's models: refuses what two of them would show.")
@click.option("--output", type=FILE, help="Write the result to this file (JSON).")
@PATIENCE
@TRANSCRIPT
@with_options(FOLDERS, CREDENTIALS)
@JSON
def fit(
    plan: Path,
    records: Path | None,
    me: str,
    coordinator: str | None,
    account: Path | None,
    output: Path | None,
    patience: float,
    transcript: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Take part in PLAN with the file RECORDS (csv, Parquet), over mutual TLS or by files.

    The dealer of a plan for columns has no records. All owners get the same result, or none of them has one.
    """
    from discreet.files.new_file import new_file
    from discreet.private.joint.plan_file import JointPlan
    from discreet.private.joint.vertical import DEALER
    from discreet.private.parties.files import read_party_records, require_new, save_transcript
    from discreet.private.parties.meeting import AtCoordinator

    with errors(as_json), progress(as_json):
        agreed, credentials = JointPlan.read(plan), credentials_of(given)
        place = folder_place(given, credentials, patience)
        if (place is None) == (coordinator is None):
            raise ParameterError("Say where to meet.", hint="Give --coordinator, or --folder and --own.")
        if (records is None) != (me == DEALER):
            raise ParameterError("Owners have records, the dealer has none.", hint="Give RECORDS, or --me dealer.")
        if (account is not None) != (records is not None and agreed.accounts):
            raise ParameterError(
                "Owners keep an account of their models, unless the plan says accounts = false.",
                hint="Give --account FILE, always the same; the dealer has none.",
            )
        require_new(output, ".json")
        require_new(transcript)
        data = None if records is None else read_party_records(records, agreed.text_columns)
        found = agreed.run_as(me, data, place or AtCoordinator(str(coordinator), credentials, patience), account)
        if found is None:
            result({"done": True}, "Random numbers were dealt.", as_json)
            forget(place)
            return
        told = found.to_dict()
        if output is not None:
            with new_file(output) as stream:
                stream.write(json.dumps(told, indent=1).encode() + b"\n")
        if transcript is not None and found.transcript is not None:
            save_transcript(found.transcript, transcript)
        result(told, found.summary(), as_json)
        forget(place)
