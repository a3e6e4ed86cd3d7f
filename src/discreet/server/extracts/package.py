"""An extract as it leaves: one archive of data, codebook, syntax, licence and signed manifest, sealed to its user.

It is written as it is made; nothing of it lies open on a disk besides the buckets, whose folder is the worker's own.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from discreet.errors import InputError, OutputError
from discreet.files.celltext import quoted, safe_code
from discreet.files.records.csv import number_text, record_text
from discreet.keys import Key
from discreet.server.extracts.codebook import CodebookVariable, codebook_text
from discreet.server.extracts.conditions import CONDITIONS
from discreet.server.extracts.file import ExtractFile
from discreet.server.extracts.syntax import syntax_files
from discreet.server.extracts.taking import ExtractOrder, Progress, taken
from discreet.trust import PublicKey, SigningKey
from discreet.trust.sealed_file import RecipientKey, RecipientSecret, SealedWriter, open_sealed

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "discreet extract package 1"
MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"
DATA = {"csv": "data.csv", "parquet": "data.parquet"}
SMALL = ("codebook.txt", "definition.json", "licence.txt", "citation.txt", "read.sps", "read.do", "read.sas", "read.R")
NAMES = frozenset([*DATA.values(), MANIFEST, SIGNATURE, *SMALL])
"""All names that an archive may have."""
LINES = 50_000
MOST_SMALL = 64 * 2**20
NOT_OURS = (
    *(zipfile.BadZipFile, zlib.error, msgspec.DecodeError, UnicodeDecodeError),
    *(KeyError, EOFError, NotImplementedError, RuntimeError),
)
"""What reading an archive raises that somebody else made; a part that is encrypted is a ``RuntimeError``."""
ABOUT = b"package 1"


class PackageManifest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What an archive holds, for whom; the server signs it."""

    format: str
    extract: int
    user: str
    project: str
    dataset: str
    edition: str
    definition: str
    source: str
    """Digest of the file that it was taken from."""
    licence: str
    rows: int
    made: str
    files: dict[str, str]


@dataclass(frozen=True)
class PackageOrder:
    """Who gets an extract, sealed to which key, signed by whom."""

    order: ExtractOrder
    user: str
    project: str
    recipient: RecipientKey
    signer: SigningKey
    made: str


@dataclass(frozen=True)
class SealedPackage:
    """What was written."""

    digest: str
    size: int
    rows: int


def write_package(
    target: IO[bytes], file: ExtractFile, order: PackageOrder, key: Key, work: Path, progress: Progress
) -> SealedPackage:
    """Write an extract, sealed.

    Raises
    ------
    Denied, ProtectionError
        When it may not leave; whoever calls throws away what was written.
    """
    wanted = order.order.definition
    chosen = [file.variables[name] for name in wanted.variables]
    sealed = SealedWriter(target, order.recipient, ABOUT)
    digests: dict[str, str] = {}
    with zipfile.ZipFile(sealed, "w", zipfile.ZIP_DEFLATED, allowZip64=True, compresslevel=1) as archive:
        tables = taken(file, order.order, key, work, progress)
        name = DATA[wanted.file]
        with archive.open(name, "w", force_zip64=True) as stream:
            counted = _Counted(stream)
            rows = (_write_csv if wanted.file == "csv" else _write_parquet)(counted, wanted.columns, chosen, tables)
        digests[name] = counted.digest
        small = {
            "codebook.txt": codebook_text(file.codebook, wanted.variables, wanted.digest, wanted.strata),
            "definition.json": wanted.text,
            "licence.txt": licence_text(file.codebook.licence),
            "citation.txt": file.codebook.citation + "\n",
            **(syntax_files(chosen, strata=wanted.strata) if wanted.file == "csv" else {}),
        }
        for name, text in small.items():
            archive.writestr(name, text.encode())
            digests[name] = hashlib.sha256(text.encode()).hexdigest()
        manifest = PackageManifest(
            format=FORMAT,
            extract=order.order.number,
            user=order.user,
            project=order.project,
            dataset=file.name,
            edition=file.edition,
            definition=wanted.digest,
            source=file.digest,
            licence=file.codebook.licence,
            rows=rows,
            made=order.made,
            files=digests,
        )
        content = msgspec.json.format(msgspec.json.encode(manifest, order="sorted"), indent=1)
        archive.writestr(MANIFEST, content)
        archive.writestr(SIGNATURE, order.signer.signature(content))
    sealed.close()
    return SealedPackage(sealed.digest, sealed.size, rows)


def licence_text(version: str) -> str:
    """The seven conditions."""
    lines = [f"Conditions, version {version}", ""]
    lines += [f"{number}. {words}" for number, words in enumerate(CONDITIONS.values(), 1)]
    return "\n".join(lines) + "\n"


class _Counted:
    """A stream that keeps the digest of what went through."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._hash = stream, hashlib.sha256()
        self.closed = False

    def write(self, data: Any) -> int:
        self._hash.update(data)
        return self._stream.write(data)

    def flush(self) -> None:
        self._stream.flush()

    def tell(self) -> int:
        return self._stream.tell()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


def _write_csv(stream: _Counted, names: list[str], chosen: list[CodebookVariable], tables: Iterator[pa.Table]) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    lists = {one.name: _fields(one) for one in chosen if one.values is not None}
    stream.write((",".join(names) + "\n").encode())
    rows = 0
    for table in tables:
        for begin in range(0, len(table), LINES):
            part = table.slice(begin, LINES)
            columns = []
            for name in part.column_names:
                found = lists.get(name)
                if found is None:
                    columns.append(record_text(part[name]))
                else:
                    places = pa.chunked_array(part[name]).combine_chunks()
                    columns.append(found.take(pc.if_else(pc.less(places, 0), len(found) - 1, places)))
            lines = pc.binary_join_element_wise(*columns, ",")
            stream.write("\n".join([*lines.to_pylist(), ""]).encode())
        rows += len(table)
    return rows


def _fields(one: CodebookVariable) -> pa.Array:
    """Values as fields of csv, a gap last."""
    import pyarrow as pa

    def text(value: Any) -> str:
        if isinstance(value, str):
            return quoted(safe_code(value)) or '""'
        return number_text(float(value)) if one.kind == "number" else str(value)

    return pa.array([*(text(value) for value in one.values or ()), ""], pa.string())


def _write_parquet(
    stream: _Counted, names: list[str], chosen: list[CodebookVariable], tables: Iterator[pa.Table]
) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    kinds = {"text": pa.string(), "whole": pa.int64(), "number": pa.float64()}
    own = [("serial", pa.int64()), ("person", pa.int64()), ("weight", pa.float64()), ("stratum", pa.int64())]
    fields = [*own, *((one.name, kinds[one.kind]) for one in chosen)]
    schema = pa.schema([one for one in fields if one[0] in names])
    lists = {one.name: pa.array([*one.values, None], kinds[one.kind]) for one in chosen if one.values is not None}
    rows = 0
    with pq.ParquetWriter(pa.PythonFile(stream, "w"), schema) as writer:
        for table in tables:
            columns = []
            for name in table.column_names:
                column = table[name].combine_chunks()
                if name in lists:
                    column = lists[name].take(pc.if_else(pc.less(column, 0), len(lists[name]) - 1, column))
                columns.append(column)
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            rows += len(table)
    return rows


# ---- opening -----------------------------------------------------------------------------------------------


def open_package(
    source: Path, folder: Path, secret: RecipientSecret, signed_by: PublicKey | None = None
) -> PackageManifest:
    """Open an extract into a new folder; where anything is not as it was signed, nothing stays there.

    Parameters
    ----------
    source
        The file as it was downloaded.
    folder
        Where its files go; it must not exist.
    secret
        The key that it was sealed to.
    signed_by
        The server's public key.

    Raises
    ------
    InputError
        When it was not sealed to this key, or something in it was changed.
    OutputError
        When the folder exists.
    """
    import shutil
    import tempfile

    if folder.exists():
        raise OutputError(f"{folder.name!r} exists.", hint="Choose a new folder.")
    folder.mkdir(mode=0o700)
    try:
        with tempfile.TemporaryFile(dir=folder) as archive:
            with source.open("rb") as stream:
                open_sealed(stream, archive, secret, ABOUT)
            archive.seek(0)
            return _unpacked(archive, folder, signed_by)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _unpacked(stream: IO[bytes], folder: Path, signed_by: PublicKey | None) -> PackageManifest:
    wrong = InputError("The extract is not as the server made it.", hint="Fetch it again.")
    try:
        with zipfile.ZipFile(stream) as archive:
            names = archive.namelist()
            if len(set(names)) < len(names) or not set(names) <= NAMES:
                raise wrong
            if any(one.file_size > MOST_SMALL for one in archive.infolist() if one.filename not in DATA.values()):
                raise wrong
            content = archive.read(MANIFEST)
            manifest = msgspec.json.decode(content, type=PackageManifest)
            signature = archive.read(SIGNATURE)
            if signed_by is not None and not signed_by.signed(content, _decoded(signature)):
                raise InputError("The manifest is not signed by that key.", hint="Give the server's public key.")
            if set(manifest.files) != set(names) - {MANIFEST, SIGNATURE} or manifest.format != FORMAT:
                raise wrong
            digests = {name: _extracted(archive, name, folder) for name in names}
    except NOT_OURS:
        raise wrong from None
    _require_digests(manifest.files, digests)
    return manifest


def _decoded(signature: bytes) -> bytes:
    import base64
    import binascii

    try:
        return base64.b64decode(signature.strip(), validate=True)
    except binascii.Error:
        return b""


def _extracted(archive: zipfile.ZipFile, name: str, folder: Path) -> str:
    digest = hashlib.sha256()
    with archive.open(name) as source, (folder / name).open("xb") as target:
        while part := source.read(2**20):
            digest.update(part)
            target.write(part)
    return digest.hexdigest()


def _require_digests(stated: Mapping[str, str], found: Mapping[str, str]) -> None:
    if any(found[name] != digest for name, digest in stated.items()):
        raise InputError("A file of the extract was changed.", hint="Fetch it again.")
