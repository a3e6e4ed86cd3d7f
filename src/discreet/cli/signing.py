"""Commands about keys and signatures."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.group import SpokenCommand
from discreet.cli.terminal import errors, result


@click.command("signing-key", cls=SpokenCommand)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for machines.")
def signing_key(file: Path, as_json: bool) -> None:
    """Make a key to sign releases with in FILE, and its public key in FILE.pub."""
    from discreet.trust import make_keys

    with errors(as_json):
        public = make_keys(file)
        text = (
            f"{file} signs; keep it secret. {file}.pub checks signatures; give it to anybody.\n"
            f"Fingerprint of the public key: {public.fingerprint}"
        )
        result({"file": str(file), "public": f"{file}.pub", "fingerprint": public.fingerprint}, text, as_json)


@click.command(cls=SpokenCommand)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--key", type=click.Path(path_type=Path), required=True, help="The signing key.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for machines.")
def sign(folder: Path, key: Path, as_json: bool) -> None:
    """Sign the saved release in FOLDER, once it is verified."""
    from discreet.verbs.save import sign as sign_saved

    with errors(as_json):
        sign_saved(folder, key)
        signature = f"{folder}/custodian/manifest.sig"
        result({"signature": signature}, f"Signed: {signature}", as_json)
