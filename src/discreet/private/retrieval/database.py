"""A database for private retrieval on disk: pages, their hashes, the hint, and a manifest that names them all.

``manifest.json`` says how to find records and what they are checked against, ``pages.bin`` has the pages,
``nodes.bin`` the hash of every column, ``hint.bin`` the hint of the scheme on lattices, and ``changes.bin`` what
changed since the version before. A folder is never changed; new data make a new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, OutputError
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.lattice import columns_of, make_hint
from discreet.private.retrieval.lattice_noise import SEED_BYTES, Numbers
from discreet.private.retrieval.lattice_parameters import LatticeParameters, parameters
from discreet.private.retrieval.pages import (
    PAGE_BYTES,
    Layout,
    choose_layout,
    fill_pages,
    hashed_all,
    root_of,
    seal_pages,
)
from discreet.private.retrieval.public_tables import FIELDS, PublishedTable, read_public_tables
from discreet.stopping import uninterrupted, written

FORMAT = "discreet-retrieval-1"
LONGEST_MANIFEST = 10_000_000


class ServedTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a manifest says of a table."""

    name: str
    variables: tuple[str, ...]
    fields: tuple[str, ...]
    cells: int


class DatabaseManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a client must know of a database; all of it is public."""

    format: str
    columns: int
    per_column: int
    page_bytes: int
    record_bytes: int
    records: int
    salt: str
    root: str
    lattice: str
    dimension: int
    seed: str
    hint_sha256: str
    before: str
    tables: tuple[ServedTable, ...]

    @property
    def layout(self) -> Layout:
        """Where records lie."""
        return Layout(self.columns, self.per_column, self.page_bytes, self.record_bytes, bytes.fromhex(self.salt))

    @property
    def parameters(self) -> LatticeParameters:
        """Those of the scheme on lattices."""
        usual = parameters(self.lattice)
        return usual if usual.dimension == self.dimension else parameters(self.lattice, self.dimension)


def read_manifest(text: bytes) -> DatabaseManifest:
    """A manifest from its text; one of another version, or that contradicts itself, is refused.

    Raises
    ------
    ProtocolError
        ``wrong version``.
    """
    try:
        found = msgspec.json.decode(text, type=DatabaseManifest)
    except (msgspec.DecodeError, ValueError):
        name = _format_in(text)
        raise ProtocolError(
            "wrong version",
            f"The manifest is of the format {name!r}; this side knows {FORMAT!r}.",
            hint="Build the database again, or use the version of discreet that made it.",
        ) from None
    good = found.format == FORMAT and _agrees(found)
    if not good:
        raise ProtocolError(
            "wrong version", f"The manifest contradicts itself or is not {FORMAT!r}.", hint="Build the database again."
        )
    return found


def _agrees(found: DatabaseManifest) -> bool:
    """Whether the numbers of a manifest can be those of a database."""
    try:
        layout, digests = found.layout, [bytes.fromhex(text) for text in (found.root, found.seed)]
    except ValueError:
        return False
    return (
        min(layout.columns, layout.per_column, layout.record_bytes) >= 1
        and layout.per_column & (layout.per_column - 1) == 0
        and layout.page_bytes % 64 == 0
        and layout.payload_bytes >= 1
        and layout.slots >= 1
        and layout.size < 2**44
        and all(len(digest) == SEED_BYTES for digest in digests)
        and all(_is_table(one) for one in found.tables)
    )


def _is_table(one: ServedTable) -> bool:
    fields = set(one.fields)
    return len(fields) == len(one.fields) and {"value", "status"} <= fields <= set(FIELDS) and bool(one.variables)


def _format_in(text: bytes) -> str:
    try:
        return str(json.loads(text).get("format"))[:40]
    except (ValueError, AttributeError):
        return "unknown"


@dataclass(frozen=True)
class Database:
    """A database for private retrieval, as it lies in a folder.

    Parameters
    ----------
    folder
        Where it lies.
    manifest_text
        Its manifest, byte for byte.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = release.save(f"{folder}/out")
    ...     database = ds.private.build_database(f"{folder}/out", f"{folder}/pir", page_bytes=256)
    ...     print(database.manifest.records, database.manifest.layout.slots)
    16 12
    """

    folder: Path
    manifest_text: bytes

    @cached_property
    def manifest(self) -> DatabaseManifest:
        """What clients are told."""
        return read_manifest(self.manifest_text)

    @property
    def identity(self) -> bytes:
        """Stands for this version of the database in every message."""
        return identity_of(self.manifest_text)

    @cached_property
    def pages(self) -> npt.NDArray[np.uint8]:
        """The pages, mapped from disk."""
        layout = self.manifest.layout
        # Copy on write: nothing is ever written, and compiled code takes no read-only arrays.
        return np.memmap(self.folder / "pages.bin", np.uint8, "c", shape=(layout.pages, layout.page_bytes))

    @property
    def column_view(self) -> npt.NDArray[np.uint8]:
        """The pages as columns of the matrix."""
        return columns_of(self.pages, self.manifest.per_column)

    def part(self, name: str) -> bytes:
        """A file of the database."""
        return (self.folder / name).read_bytes()


def identity_of(manifest_text: bytes) -> bytes:
    """What stands for a manifest in messages."""
    return hashlib.sha256(manifest_text).digest()[:16]


def load_database(folder: str | Path) -> Database:
    """A database from its folder; its pages must be those of its root.

    Examples
    --------
    >>> import discreet as ds
    >>> try:
    ...     ds.private.load_database("nowhere")
    ... except ds.DiscreetError as error:
    ...     print(error)
    The folder 'nowhere' has no database for private retrieval. Make one: discreet pir build PUBLIC nowhere
    """
    folder = Path(folder)
    file = folder / "manifest.json"
    if not file.is_file() or file.stat().st_size > LONGEST_MANIFEST:
        raise InputError(
            f"The folder {folder.name!r} has no database for private retrieval.",
            hint=f"Make one: discreet pir build PUBLIC {folder.name}",
        )
    database = Database(folder, file.read_bytes())
    layout = database.manifest.layout
    sizes = {"pages.bin": layout.size, "nodes.bin": 32 * layout.columns}
    for name, size in sizes.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != size:
            raise InputError(f"The database in {folder.name!r} is incomplete: {name}.", hint="Build it again.")
    if root_of(database.part("nodes.bin")).hex() != database.manifest.root:
        raise InputError(f"The hashes in {folder.name!r} are not those of its manifest.", hint="Build it again.")
    return database


def build_database(
    public: str | Path,
    folder: str | Path,
    *,
    page_bytes: int = PAGE_BYTES,
    hint: bool = True,
    previous: str | Path | None = None,
    signing_key: str | Path | None = None,
    insecure_dimension: int | None = None,
) -> Database:
    """Make a database for private retrieval of the public tables of a saved release.

    Parameters
    ----------
    public
        The saved release, or its folder ``public``; nothing else of it is read.
    folder
        Where the database goes; it must not exist.
    page_bytes
        Length of a page, which is what one look-up fetches; a multiple of 64.
    hint
        Whether to make the hint of the scheme on lattices; two servers and download need none.
    previous
        The folder of the version before: what did not change stays where it is, and clients update their hints.
    signing_key
        Signs the manifest, so that clients know whose numbers these are.
    insecure_dimension
        A shorter secret of the scheme on lattices, for tests.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = release.save(f"{folder}/out")
    ...     database = ds.private.build_database(f"{folder}/out", f"{folder}/pir", page_bytes=256)
    ...     print(sorted(path.name for path in database.folder.iterdir()))
    ['hint.bin', 'manifest.json', 'nodes.bin', 'pages.bin']
    """
    tables = read_public_tables(public)
    old = None if previous is None else load_database(previous)
    with _new_folder(Path(folder)) as into:
        text = _fill(into, tables, old, page_bytes, hint, parameters("lwe-1", insecure_dimension))
        (into / "manifest.json").write_bytes(text)
        if signing_key is not None:
            from discreet.trust import SigningKey

            (into / "manifest.sig").write_text(SigningKey.from_file(signing_key).signature(text))
    return load_database(folder)


def _fill(
    into: Path,
    tables: list[PublishedTable],
    old: Database | None,
    page_bytes: int,
    hint: bool,
    chosen: LatticeParameters,
) -> bytes:
    """Write the parts of a database; gives its manifest."""
    cells = [cell for table in tables for cell in table.cells()]
    if not cells:
        raise InputError("The public tables have no cells.", hint="Save a release with cells first.")
    records = [record for _, record in cells]
    longest = max(len(record) for record in records)
    salt = bytes.fromhex(old.manifest.salt) if old else secrets.token_bytes(16)
    places, tags = hashed_all((key for key, _ in cells), salt)
    layout, pages = None, None
    if old is not None and longest <= old.manifest.record_bytes and old.manifest.parameters == chosen:
        layout = old.manifest.layout
        pages = fill_pages(layout, places, tags, records)
    kept = pages is not None and old is not None
    if pages is None:
        layout = choose_layout(places, longest, page_bytes, salt)
        pages = fill_pages(layout, places, tags, records)
    assert layout is not None
    assert pages is not None
    if hint:
        chosen.require_columns(layout.columns, layout.page_bytes)
    nodes, root = seal_pages(layout, pages)
    seed = bytes.fromhex(old.manifest.seed) if kept and old else secrets.token_bytes(SEED_BYTES)
    pages.tofile(into / "pages.bin")
    (into / "nodes.bin").write_bytes(nodes)
    if kept and old:
        (into / "changes.bin").write_bytes(_changes(old, layout, pages, nodes))
    digest = _write_hint(into, layout, pages, seed, chosen, old if kept else None) if hint else ""
    return msgspec.json.encode(
        DatabaseManifest(
            FORMAT,
            layout.columns,
            layout.per_column,
            layout.page_bytes,
            layout.record_bytes,
            len(records),
            salt.hex(),
            root.hex(),
            chosen.name,
            chosen.dimension,
            seed.hex(),
            digest,
            old.identity.hex() if kept and old else "",
            tuple(ServedTable(t.name, t.variables, t.fields, len(t.columns["value"])) for t in tables),
        )
    )


def _write_hint(
    into: Path,
    layout: Layout,
    pages: npt.NDArray[np.uint8],
    seed: bytes,
    chosen: LatticeParameters,
    old: Database | None,
) -> str:
    """Make the hint, from that of the version before where there is one; gives its digest."""
    from discreet.private.retrieval.changes import apply_changes, read_changes

    columns = columns_of(pages, layout.per_column)
    if old is not None and old.manifest.hint_sha256:
        changed = read_changes((into / "changes.bin").read_bytes(), layout)
        found = apply_changes(read_hint(old), changed, seed, chosen)
    else:
        found = make_hint(columns, seed, chosen)
    data = found.astype("<u4").tobytes()
    (into / "hint.bin").write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def _changes(old: Database, layout: Layout, pages: npt.NDArray[np.uint8], nodes: bytes) -> bytes:
    from discreet.private.retrieval.changes import written_changes

    return written_changes(columns_of(old.pages, layout.per_column), columns_of(pages, layout.per_column), nodes)


def read_hint(database: Database) -> Numbers:
    """The hint of a database."""
    shape = (database.manifest.layout.per_column * database.manifest.page_bytes, database.manifest.dimension)
    return hint_of(database.part("hint.bin"), shape, database.manifest.hint_sha256)


def hint_of(data: bytes, shape: tuple[int, int], digest: str) -> Numbers:
    """A hint from its bytes, which must be those that the manifest names."""
    if len(data) != 4 * shape[0] * shape[1] or hashlib.sha256(data).hexdigest() != digest:
        raise ProtocolError("tampered", "The hint is not the one that the manifest names.", hint="Fetch it again.")
    return np.frombuffer(data, "<u4").reshape(shape).astype(np.uint32)


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """A folder that is there when it is whole, and not at all otherwise."""
    if os.path.lexists(folder):
        raise OutputError(f"{folder.name!r} exists.", hint="Choose another name: a database is never changed.")
    if not folder.absolute().parent.is_dir():
        raise OutputError(f"There is no folder to put {folder.name!r} into.", hint="Make it first.")
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.absolute().parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        with uninterrupted():
            temporary.rename(folder)
            written(folder)
    except OSError as error:
        raise OutputError(
            f"Cannot write {folder.name!r}: {error.strerror or error}.", hint="Free space, or choose another folder."
        ) from None
    finally:
        if temporary.exists():
            shutil.rmtree(temporary, ignore_errors=True)


def about(database: Database) -> dict[str, Any]:
    """A database in numbers, for people and machines."""
    manifest, layout = database.manifest, database.manifest.layout
    return {
        "identity": database.identity.hex(),
        "root": manifest.root,
        "records": manifest.records,
        "tables": [table.name for table in manifest.tables],
        "pages": layout.pages,
        "page_bytes": layout.page_bytes,
        "columns": layout.columns,
        "bytes": layout.size,
        "hint_bytes": 4 * layout.per_column * layout.page_bytes * manifest.dimension if manifest.hint_sha256 else 0,
        "updates": manifest.before or None,
    }
