"""Commands about the audit log of the table server."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.group import SpokenCommand
from discreet.cli.options import FOLDER, JSON
from discreet.cli.terminal import VERBOSE as TOLD_IN_FULL
from discreet.cli.terminal import asked_for, errors, result, say

if TYPE_CHECKING:
    from discreet.trust.log_verify import LogVerdict
    from discreet.trust.log_verify.lines import ReadEntry

FILE = click.Path(path_type=Path)
PUBLIC = click.option("--public-key", type=FILE, help="The log's public key, from elsewhere than the folder.")
LARGEST = 1_000_000


class LogCommands(click.Group):
    """The commands about the log."""

    command_class = SpokenCommand


@click.group("log", cls=LogCommands)
def log() -> None:
    """Verify, prove, anchor and show the audit log of a table server."""


@log.command("verify")
@click.argument("place", type=FILE)
@PUBLIC
@click.option("--head", "heads", type=FILE, multiple=True, help="A head that was kept elsewhere; may be repeated.")
@click.option("--anchor", "anchors", type=FILE, multiple=True, help="An anchor that was kept elsewhere.")
@click.option("--authority", type=FILE, help="Root certificates (PEM) of the authority that stamped the anchors.")
@JSON
def verify_log(
    place: Path,
    public_key: Path | None,
    heads: tuple[Path, ...],
    anchors: tuple[Path, ...],
    authority: Path | None,
    as_json: bool,
) -> None:
    """Check the log in the folder PLACE again, or the proof in the file PLACE.

    Names the first entry or head that was changed, removed, inserted or moved, and its place. That the end was cut off
    shows only against heads or anchors that were kept elsewhere. The exit code is 5 where something does not hold.
    """
    from discreet.errors import ParameterError
    from discreet.trust.log_verify import check_log, check_proof

    with errors(as_json):
        kept = [_bytes_of(path) for path in heads]
        stamped = list(_anchored(anchors, authority))
        kept += [head for head, _ in stamped]
        if place.is_file():
            if public_key is None:
                raise ParameterError("A proof is checked with the log's public key.", hint="Give --public-key FILE.")
            verdict = check_proof(_bytes_of(place), public_key, heads=kept)
        else:
            verdict = check_log(place, public_key=public_key, heads=kept)
        if verdict.holds:
            verdict.proved += [f"an authority stamped a kept head at {time}" for _, time in stamped]
            if stamped:
                verdict.asserted.append("the authority's certificate was not revoked")
        _end(verdict, as_json)


@log.command("head")
@FOLDER
def print_head(folder: Path) -> None:
    """Print the last signed head of the log in FOLDER; keep it elsewhere (discreet log head FOLDER > head.json)."""
    from discreet.trust.log.reader import LogReader

    with errors(False):
        click.echo(LogReader(folder).head().to_json().decode(), nl=False)


@log.command("prove")
@FOLDER
@click.option("--entry", type=click.IntRange(min=1), help="Prove that this entry is in the log.")
@click.option("--receipt", type=FILE, help="Prove that the entry of this receipt is in the log.")
@click.option("--from", "first", type=FILE, help="Prove that the log continues this head.")
@click.option("--to", "second", type=FILE, help="Up to this head, instead of the last one.")
def prove(folder: Path, entry: int | None, receipt: Path | None, first: Path | None, second: Path | None) -> None:
    """Print a proof about the log in FOLDER that others can check without it (discreet log verify PROOF).

    The proof is checked before it is printed; the exit code is 5 where there is none.
    """
    from discreet.errors import ParameterError

    with errors(False):
        given = [one for one in (entry, receipt, first) if one is not None]
        if len(given) != 1 or (second is not None and first is None):
            raise ParameterError(
                f"{len(given)} things to prove were given.", hint="Give --entry, --receipt, or --from (and --to)."
            )
        click.echo(_proof(folder, entry, receipt, first, second).decode(), nl=False)


@log.command("anchor")
@click.argument("head", type=FILE)
@click.option("--request", type=FILE, required=True, help="The request: written, or read where --response is given.")
@click.option("--response", type=FILE, help="The authority's answer to the request.")
@click.option("--authority", type=FILE, help="Root certificates (PEM) of the authority.")
@click.option("--output", type=FILE, help="Write the anchor to this new file; keep it elsewhere than the log.")
@JSON
def anchor(
    head: Path, request: Path, response: Path | None, authority: Path | None, output: Path | None, as_json: bool
) -> None:
    """Have an outside authority stamp the signed head in the file HEAD (RFC 3161), in two steps.

    First --request writes the request; send it to the authority yourself (application/timestamp-query). Then
    --response and --authority check its answer, and --output keeps head, request and answer in one file.
    """
    from discreet.errors import ParameterError
    from discreet.trust.log_anchors import CHECKED, make_anchor, read_roots, stamp_request

    with errors(as_json):
        if response is None:
            _write_new(request, stamp_request(_bytes_of(head)))
            result({"request": str(request)}, f"Written: {request.name}. Send it to the authority.", as_json)
            return
        if authority is None or output is None:
            raise ParameterError("An answer is checked and kept.", hint="Give --authority FILE and --output FILE.")
        made, time = make_anchor(_bytes_of(head), _bytes_of(request), _bytes_of(response), read_roots(authority))
        _write_new(output, made)
        told = {"anchor": str(output), "time": time.isoformat(), "checked": list(CHECKED)}
        text = "\n".join(
            [f"Written: {output.name}, stamped at {time.isoformat()}", *(f"  checked  {c}" for c in CHECKED)]
        )
        result(told, text, as_json)


@log.command("show")
@FOLDER
@PUBLIC
@click.option("--subject", help="Only entries of this subject.")
@click.option("--kind", help="Only entries of this kind: question, answer, refusal, sign_in, ...")
@click.option("--since", help="Only entries from this time on (UTC, 2026-11-18 or 2026-11-18T09:30).")
@click.option("--until", help="Only entries before this time (UTC).")
@JSON
def show(
    folder: Path,
    public_key: Path | None,
    subject: str | None,
    kind: str | None,
    since: str | None,
    until: str | None,
    as_json: bool,
) -> None:
    """Show entries of the log in FOLDER, once it is verified: one JSON object a line."""
    from discreet.trust.log_verify import check_log

    with errors(as_json):
        _check_choice(kind, since, until)
        found: list[str] = []

        def look(entry: ReadEntry) -> None:
            wanted = subject in (None, entry.body.get("subject")) and kind in (None, entry.body["kind"])
            if wanted and (since or "") <= entry.time and (until is None or entry.time < until):
                found.append(json.dumps({"seq": entry.seq, "time": entry.time, **entry.body}, ensure_ascii=False))

        verdict = check_log(folder, public_key=public_key, each=look)
        if not verdict.holds:
            _end(verdict, as_json)
        if as_json:
            click.echo(f'{{"entries": [{", ".join(found)}]}}')
        else:
            for line in found:
                say(line)


def _end(verdict: LogVerdict, as_json: bool) -> None:
    text = str(verdict)
    if not asked_for(TOLD_IN_FULL):
        text = "\n".join(line for line in text.splitlines() if not line.startswith("  proved"))
        text = text or "The proof holds."
    result(verdict.to_dict(), text, as_json, failed=not verdict.holds)
    if not verdict.holds:
        sys.exit(5)


def _check_choice(kind: str | None, since: str | None, until: str | None) -> None:
    from datetime import datetime

    from discreet.errors import ParameterError, unknown_name
    from discreet.trust.log.entries import ENTRY_KINDS

    if kind is not None and kind not in ENTRY_KINDS:
        raise ParameterError(unknown_name("kind of entry", kind, ENTRY_KINDS))
    for option, text in (("--since", since), ("--until", until)):
        try:
            good = text is None or datetime.fromisoformat(text).tzinfo is None
        except ValueError:
            good = False
        if not good:
            raise ParameterError(f"{option} {text!r} is no time.", hint="Write 2026-11-18 or 2026-11-18T09:30, in UTC.")


def _bytes_of(path: Path) -> bytes:
    from discreet.errors import InputError

    if not path.is_file():
        raise InputError(f"There is no file {path.name!r}.", hint="Check the name of the file.")
    if path.stat().st_size > LARGEST:
        raise InputError(
            f"The file {path.name!r} is too large.", hint="Give a head, proof, receipt or anchor of a log."
        )
    return path.read_bytes()


def _write_new(path: Path, data: bytes) -> None:
    from discreet.errors import OutputError

    try:
        with path.open("xb") as stream:
            stream.write(data)
    except FileExistsError:
        raise OutputError(f"{path.name!r} exists.", hint="Choose another name.") from None


def _anchored(anchors: tuple[Path, ...], authority: Path | None) -> Iterator[tuple[bytes, str]]:
    from discreet.errors import ParameterError

    if not anchors:
        return
    if authority is None:
        raise ParameterError("Anchors are checked against an authority.", hint="Give --authority FILE.")
    from discreet.trust.log_anchors import check_anchor, read_roots

    roots = read_roots(authority)
    for path in anchors:
        head, time = check_anchor(_bytes_of(path), roots)
        yield head, time.isoformat()


def _proof(folder: Path, entry: int | None, receipt: Path | None, first: Path | None, second: Path | None) -> bytes:
    """A proof that its judge takes."""
    import msgspec

    from discreet.errors import InputError, VerificationError
    from discreet.trust.log.lines import UNREADABLE, Receipt, SignedHead
    from discreet.trust.log.reader import LogConsistency, LogReader

    def read(path: Path, kind: type[Any]) -> Any:
        try:
            return msgspec.json.decode(_bytes_of(path), type=kind)
        except UNREADABLE:
            raise InputError(f"{path.name!r} cannot be read.", hint="Give a file that the log has given out.") from None

    def missing(why: str) -> VerificationError:
        return VerificationError(f"There is no such proof: {why}.", hint="Run: discreet log verify FOLDER --head FILE")

    reader = LogReader(folder)
    last = reader.head()
    if entry is not None:
        proof = reader.inclusion(entry).to_json()
    elif receipt is not None:
        told: Receipt = read(receipt, Receipt)
        if told.head.head.size > last.head.size or not 1 <= told.seq <= told.head.head.size:
            raise missing("the log does not reach to the entry of the receipt")
        if reader.leaf(told.seq) != told.leaf:
            raise missing(f"entry {told.seq:,} of the log is another one than the receipt's")
        path = reader.inclusion(told.seq, told.head.head.size)
        proof = msgspec.structs.replace(path, head=told.head).to_json()
    else:
        assert first is not None
        earlier: SignedHead = read(first, SignedHead)
        later: SignedHead = last if second is None else read(second, SignedHead)
        sizes = earlier.head.size, later.head.size
        if max(sizes) > last.head.size or sizes[0] > sizes[1]:
            raise missing("the log does not reach from the first head to the second")
        proof = LogConsistency(first=earlier, second=later, path=reader.path_between(*sizes)).to_json()
    _judged(folder, proof)
    return proof


def _judged(folder: Path, proof: bytes) -> None:
    """Refuse a proof that does not hold under the log's own key."""
    from discreet.trust.log_verify.check import log_key
    from discreet.trust.log_verify.proofs import judge_proof

    _, key = log_key((folder / "log.json").read_bytes())
    judge_proof(proof, key).require()
