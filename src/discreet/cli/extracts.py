"""Commands about extracts: make the file that they are taken from, keys, opening what was fetched, tracing a leak."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.group import SpokenCommand
from discreet.cli.options import JSON, OUTSIDE
from discreet.cli.people import DATABASE
from discreet.cli.terminal import errors, progress, result
from discreet.errors import counted

PLACE = click.Path(path_type=Path)


class ExtractCommands(click.Group):
    """The commands."""

    command_class = SpokenCommand


@click.group("extracts", cls=ExtractCommands)
def extracts() -> None:
    """Extracts of protected records: build their file, make keys, open what was fetched, trace a leak."""


@extracts.command("build")
@click.argument("plan", type=PLACE)
@click.argument("folder", type=PLACE)
@click.option("--key", type=PLACE, required=True, help="The secret of the edition, in a key file.")
@click.option("--sign", type=PLACE, help="The signing key of the owner.")
@click.option("--custodian", type=PLACE, help="Where the whole release is kept with its evidence.")
@OUTSIDE
@JSON
def build(
    plan: Path, folder: Path, key: Path, sign: Path | None, custodian: Path | None, allow_outside: bool, as_json: bool
) -> None:
    """Sample, guard, swap and recode the records of PLAN, verify it, and write FOLDER, which never changes."""
    from discreet.keys import Key
    from discreet.server.extracts.building import build_file

    with errors(as_json):
        with progress(as_json):
            made = build_file(
                plan, folder, key=Key.from_file(key), sign=sign, custodian=custodian, allow_outside=allow_outside
            )
        book = made.codebook
        text = f"{made.name}, edition {made.edition}: {book.rows:,} records of {book.households:,} households."
        plain = {"name": made.name, "edition": made.edition, "rows": book.rows, "households": book.households}
        result(plain, f"{text} Its claims were verified.", as_json)


@extracts.command("key")
@click.argument("file", type=PLACE)
@JSON
def key(file: Path, as_json: bool) -> None:
    """Make a key in FILE that your extracts are sealed to; the line in FILE.pub is for the server."""
    from discreet.trust.sealed_file import make_recipient_keys

    with errors(as_json):
        public = make_recipient_keys(file)
        text = f"{file} opens your extracts; keep it secret. Paste this line on the page of extracts:\n{public.text}"
        result({"file": str(file), "public": public.text, "fingerprint": public.fingerprint}, text, as_json)


@extracts.command("open")
@click.argument("sealed", type=PLACE)
@click.argument("folder", type=PLACE)
@click.option("--key", type=PLACE, required=True, help="The key that it was sealed to.")
@click.option("--signed-by", type=PLACE, help="The server's public key: refuse what it did not sign.")
@JSON
def open_(sealed: Path, folder: Path, key: Path, signed_by: Path | None, as_json: bool) -> None:
    """Open the SEALED extract into a new FOLDER; where anything was changed, nothing is left there."""
    from discreet.errors import InputError
    from discreet.server.extracts.package import open_package
    from discreet.trust import PublicKey
    from discreet.trust.sealed_file import RecipientSecret

    with errors(as_json):
        if not sealed.is_file():
            raise InputError(f"There is no file {sealed.name!r}.", hint="Give the file as it was fetched.")
        office = None if signed_by is None else PublicKey.from_file(signed_by)
        found = open_package(sealed, folder, RecipientSecret.from_file(key), office)
        trust = "Its signature was checked." if office else "Its signature was not checked: give --signed-by."
        text = f"{found.rows:,} rows of {found.dataset}, edition {found.edition}, are in {folder}. {trust}"
        result({"rows": found.rows, "extract": found.extract, "folder": str(folder)}, text, as_json)


@extracts.command("trace")
@click.argument("leak", type=PLACE)
@click.option("--file", "folder", type=PLACE, required=True, help="The folder that extracts were taken from.")
@click.option("--key", type=PLACE, required=True, help="The secret of the edition.")
@DATABASE
@JSON
def trace(leak: Path, folder: Path, key: Path, database: str, as_json: bool) -> None:
    """Say whose extract the csv file LEAK is: by serial numbers, or by the households that it lacks."""
    import numpy as np

    from discreet.files.frames import column_names, read_columns
    from discreet.keys import Key
    from discreet.server.extracts.file import open_file
    from discreet.server.extracts.tracing import by_marks, by_serials
    from discreet.server.store.store import Store

    with errors(as_json):
        file, secret = open_file(folder), Key.from_file(key)
        names = column_names(leak, ",")
        table = read_columns(leak, names, text=names)
        with Store.open(database) as store:
            rows = store.extracts.all_of(file.name, file.edition)
            people = {row.requested_by: store.people.find(row.requested_by) for row in rows}
        extracts_of = {row.id: row.requested_by for row in rows}
        if "serial" in names and all(text and text.isdigit() for text in table["serial"].to_pylist()):
            serials = np.array([int(text) for text in table["serial"].to_pylist()], np.int64)
            found = by_serials(file, secret, serials, extracts_of)
        else:
            found = by_marks(file, secret, table, sorted(set(extracts_of.values())))
        plain, lines = [], []
        for one in found[:5]:
            person = people.get(one.principal)
            name = "somebody" if person is None else person.name
            which = "" if one.extract is None else f", extract {one.extract}"
            lines.append(f"{name}{which}: {one.fitting:,} of {counted(one.rows, 'row')} fit ({one.share:.1%})")
            plain.append({"name": name, "extract": one.extract, "rows": one.rows, "fitting": one.fitting})
        result({"suspects": plain}, "\n".join(lines) or "Nobody has an extract of this edition.", as_json)


@click.command("jobs", cls=SpokenCommand)
@click.option("--config", type=PLACE, required=True, help="The settings of the server.")
@click.option("--once", is_flag=True, help="Do what waits, and end.")
def jobs(config: Path, once: bool) -> None:
    """Make the extracts that wait in the queue, until Ctrl-C or SIGTERM; several may run beside each other."""
    import signal
    import threading

    from discreet.server.extracts.serving import worker_of

    with errors(False):
        stopping = threading.Event()
        both = (signal.SIGTERM, signal.SIGINT)
        before = {number: signal.signal(number, lambda *_: stopping.set()) for number in both}
        try:
            with worker_of(config, say=lambda text: click.echo(text, err=True)) as worker:
                if not once:
                    worker.run(stopping)
                while once and not stopping.is_set() and worker.run_once():
                    continue
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
