"""The commands ``discreet pir``: look up published cells without telling which."""

from __future__ import annotations

import csv
import ssl
from pathlib import Path

import click

from discreet.cli.group import SpokenCommand
from discreet.cli.options import JSON
from discreet.cli.terminal import errors, progress, result
from discreet.errors import ParameterError


class PirCommands(click.Group):
    """Commands that say less or more as all others do."""

    command_class = SpokenCommand


@click.group(cls=PirCommands)
def pir() -> None:
    """Look up published cells without telling the server which (private retrieval)."""


@pir.command()
@click.argument("public", type=click.Path(path_type=Path))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--page-bytes", type=int, default=4096, show_default=True, help="Bytes that one look-up fetches.")
@click.option("--hint/--no-hint", default=True, help="Make the hint for one server; two servers need none.")
@click.option("--previous", type=click.Path(path_type=Path), help="The version before: clients update their hints.")
@click.option("--key", type=click.Path(path_type=Path), help="Sign the manifest with this key.")
@JSON
def build(
    public: Path, folder: Path, page_bytes: int, hint: bool, previous: Path | None, key: Path | None, as_json: bool
) -> None:
    """Make a database in FOLDER of the public tables of the saved release PUBLIC; only its public part is read."""
    from discreet.private.retrieval.database import about, build_database

    with errors(as_json):
        with progress(as_json):
            made = build_database(public, folder, page_bytes=page_bytes, hint=hint, previous=previous, signing_key=key)
        told = about(made)
        text = (
            f"{told['records']:,} cells of {len(made.manifest.tables)} tables in {told['pages']:,} pages, "
            f"{told['bytes']:,} bytes; hint {told['hint_bytes']:,} bytes.\nRoot: {told['root']}"
        )
        result(told, text, as_json)


@pir.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; beyond this machine with TLS.")
@click.option("--port", type=click.IntRange(1, 65_535), default=8461, show_default=True)
@click.option("--certificate", type=click.Path(path_type=Path), help="TLS: certificate chain (PEM).")
@click.option("--certificate-key", type=click.Path(path_type=Path), help="TLS: its private key (PEM).")
@click.option("--authorities", type=click.Path(path_type=Path), help="Mutual TLS: who comes needs their certificate.")
@click.option("--crls", type=click.Path(path_type=Path), help="Revoked certificates, where --authorities is a file.")
@JSON
def serve(
    folder: Path,
    host: str,
    port: int,
    certificate: Path | None,
    certificate_key: Path | None,
    authorities: Path | None,
    crls: Path | None,
    as_json: bool,
) -> None:
    """Answer questions about the database in FOLDER until a signal asks to stop. Questions are not logged."""
    from discreet.private.retrieval.server import RetrievalServer
    from discreet.private.retrieval.web import require_safe_address, serve_retrieval

    with errors(as_json):
        context = _context(certificate, certificate_key, authorities, crls)
        require_safe_address(host, context)
        server = RetrievalServer(folder)
        address = f"{'https' if context else 'http'}://{host}:{port}"
        result({"address": address, "identity": server.database.identity.hex()}, f"Serving on {address}", as_json)
        serve_retrieval(server, host=host, port=port, ssl_context=context)


def _context(
    certificate: Path | None, key: Path | None, authorities: Path | None, crls: Path | None
) -> ssl.SSLContext | None:
    from discreet.trust.tls import server_context

    if certificate is None and key is None and authorities is None and crls is None:
        return None
    if certificate is None or key is None:
        raise ParameterError("TLS needs --certificate and --certificate-key.", hint="Give both.")
    if authorities is not None:
        return server_context(certificate, key, authorities, crls)
    if crls is not None:
        raise ParameterError("Lists of revoked certificates belong to authorities.", hint="Give --authorities.")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    return context


@pir.command()
@click.argument("codes", nargs=-1, required=True)
@click.option("--server", "servers", multiple=True, required=True, help="Address of a server; twice for two servers.")
@click.option("--table", help="Which table, where there are several.")
@click.option(
    "--scheme",
    type=click.Choice(["auto", "simplepir", "xor", "download"]),
    default="auto",
    show_default=True,
    help="How to ask.",
)
@click.option("--public-key", type=click.Path(path_type=Path), help="The manifest must be signed with this key.")
@click.option("--ca", type=click.Path(path_type=Path), help="TLS: certificates of authorities to trust (PEM).")
@click.option(
    "--authorities", type=click.Path(path_type=Path), help="Mutual TLS: the folder 'public' of the authority."
)
@click.option("--crls", type=click.Path(path_type=Path), help="Revoked certificates, where --authorities is a file.")
@click.option("--certificate", type=click.Path(path_type=Path), help="Mutual TLS: one's own certificate (PEM).")
@click.option("--certificate-key", type=click.Path(path_type=Path), help="Mutual TLS: its key (PEM).")
@JSON
def get(
    codes: tuple[str, ...],
    servers: tuple[str, ...],
    table: str | None,
    scheme: str,
    public_key: Path | None,
    ca: Path | None,
    authorities: Path | None,
    crls: Path | None,
    certificate: Path | None,
    certificate_key: Path | None,
    as_json: bool,
) -> None:
    """Fetch cells: CODES are the codes of one cell separated by commas, once for each cell.

    A code that has a comma stands in double quotes, as in csv.
    """
    from discreet.private.retrieval.client import RetrievalClient

    with errors(as_json):
        context = _trusting(ca, authorities, crls, (certificate, certificate_key))
        client = RetrievalClient(servers, scheme=scheme, ssl_context=context, public_key=public_key)  # type: ignore[arg-type]
        cells = client.get_many([next(csv.reader([one])) for one in codes], table=table)
        told = [
            {"table": one.table, "codes": list(one.codes), "value": one.text, "status": one.status} for one in cells
        ]
        lines = [f"{','.join(cell.codes)}: {cell.text or 'withheld'} ({cell.status})" for cell in cells]
        result({"scheme": client.scheme, "root": client.manifest.root, "cells": told}, "\n".join(lines), as_json)


def _trusting(
    ca: Path | None, authorities: Path | None, crls: Path | None, own: tuple[Path | None, Path | None]
) -> ssl.SSLContext | None:
    """TLS of a client that trusts any authority, or ours, and shows a certificate where it has one."""
    from discreet.trust.tls import client_context

    if authorities is not None and ca is None:
        return client_context(authorities, crls, certificate=own[0], key=own[1])
    if authorities is not None or crls is not None or own != (None, None):
        raise ParameterError("A certificate is shown with --authorities.", hint="Give --authorities, and no --ca.")
    return None if ca is None else ssl.create_default_context(cafile=str(ca))


@pir.command()
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--entries", type=click.IntRange(min=1), help="How many entries, in place of FOLDER.")
@click.option("--entry-bytes", type=click.IntRange(min=1), help="Bytes of an entry.")
@click.option("--queries", type=click.IntRange(min=1), default=1, show_default=True, help="Look-ups of one version.")
@click.option("--servers", type=click.IntRange(1, 2), default=1, show_default=True, help="Servers that do not talk.")
@JSON
def advise(
    folder: Path | None, entries: int | None, entry_bytes: int | None, queries: int, servers: int, as_json: bool
) -> None:
    """Say what look-ups cost and which scheme fits: of the database in FOLDER, or of any size."""
    from discreet.private.retrieval.cost import advise as advised
    from discreet.private.retrieval.database import load_database

    with errors(as_json):
        if folder is not None:
            layout = load_database(folder).manifest.layout
            entries, entry_bytes = layout.pages, layout.page_bytes
        if entries is None or entry_bytes is None:
            raise ParameterError("No database is named.", hint="Give FOLDER, or --entries and --entry-bytes.")
        found = advised(entries, entry_bytes, queries=queries, servers=servers)
        result(found.to_dict(), found.summary(), as_json)
