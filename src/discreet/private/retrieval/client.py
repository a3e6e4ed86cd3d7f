"""The client of private retrieval: looks up published cells without telling anybody which."""

from __future__ import annotations

import base64
import binascii
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from discreet.errors import ParameterError, VerificationError, listed, unknown_name
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.changes import apply_changes, read_changes
from discreet.private.retrieval.channels import Channel, OverHttp, SameProcess
from discreet.private.retrieval.cost import WORTH_HIDING
from discreet.private.retrieval.database import DatabaseManifest, ServedTable, hint_of, identity_of, read_manifest
from discreet.private.retrieval.frames import MOST_LOOKUPS, Transcript
from discreet.private.retrieval.lattice import LatticeScheme
from discreet.private.retrieval.lattice_noise import Numbers
from discreet.private.retrieval.lattice_parameters import parameters
from discreet.private.retrieval.merkle import BYTES, root_of_path
from discreet.private.retrieval.pages import hashed, root_of
from discreet.private.retrieval.public_tables import MARK, key_of
from discreet.private.retrieval.server import RetrievalServer
from discreet.private.retrieval.two_servers import TwoServerXor

SchemeName = Literal["auto", "simplepir", "xor", "download"]
Cells = Sequence[Sequence[str] | Mapping[str, str]]


@dataclass(frozen=True)
class PublishedCell:
    """A cell as it was published, checked against the root of the database.

    Examples
    --------
    >>> PublishedCell("turnover", ("food", "East"), "60", "V").value
    60
    """

    table: str
    codes: tuple[str, ...]
    text: str
    status: str
    lower: str = ""
    upper: str = ""

    @property
    def value(self) -> int | float | None:
        """The value as a number; ``None`` where it is withheld."""
        if not self.text:
            return None
        try:
            return int(self.text)
        except ValueError:
            return float(self.text)


class RetrievalClient:
    """Looks up published cells without telling the server which.

    Parameters
    ----------
    servers
        Addresses of servers, or servers in this process: one, or two that do not talk to each other.
    scheme
        ``"simplepir"`` (one server), ``"xor"`` (two servers), ``"download"`` (everything, best below 50 MB), or
        ``"auto"``: download what is small, else two servers if there are two, else one.
    ssl_context
        TLS for addresses that begin with https.
    public_key
        Key of the office: the manifest must be signed with it.
    transcript
        Takes every message down, for tests and auditors.
    insecure_dimension
        Accept a database with so short secrets, for tests.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = release.save(f"{folder}/out")
    ...     database = ds.private.build_database(f"{folder}/out", f"{folder}/pir", page_bytes=256)
    ...     client = ds.private.RetrievalClient([ds.private.RetrievalServer(database)], scheme="simplepir")
    ...     print(client.get("turnover", trade="food", region="East").value)
    60
    """

    def __init__(
        self,
        servers: str | RetrievalServer | Sequence[str | RetrievalServer],
        *,
        scheme: SchemeName = "auto",
        ssl_context: ssl.SSLContext | None = None,
        public_key: str | Path | None = None,
        transcript: Transcript | None = None,
        insecure_dimension: int | None = None,
    ) -> None:
        given = [servers] if isinstance(servers, str | RetrievalServer) else list(servers)
        if not 1 <= len(given) <= 2:
            raise ParameterError(f"{len(given)} servers are given.", hint="Give one, or two that do not talk.")
        self._channels: list[Channel] = [
            SameProcess(one, f"server {number}")
            if isinstance(one, RetrievalServer)
            else OverHttp(one, f"server {number}", ssl_context=ssl_context)
            for number, one in enumerate(given, start=1)
        ]
        self.transcript = transcript
        self._public_key, self._insecure_dimension = public_key, insecure_dimension
        self._hint: Numbers | None = None
        self._pages = b""
        self._take_manifest(self._fetch(0, "manifest"))
        self.scheme = self._chosen(scheme)

    def _chosen(self, scheme: SchemeName) -> str:
        if scheme == "auto":
            if self.manifest.layout.size < WORTH_HIDING:
                return "download"
            return "xor" if len(self._channels) == 2 else "simplepir"
        if scheme == "xor" and len(self._channels) != 2:
            raise ParameterError("The scheme 'xor' needs two servers.", hint="Give two that do not talk to each other.")
        if scheme not in ("simplepir", "xor", "download"):
            raise ParameterError(unknown_name("scheme", scheme, ["auto", "simplepir", "xor", "download"]))
        return scheme

    def _fetch(self, number: int, part: str) -> bytes:
        channel = self._channels[number]
        data = channel.part(part)
        if self.transcript is not None:
            self.transcript.passed("client", channel.name, f"fetch {part}", part.encode())
            self.transcript.passed(channel.name, "client", part, data)
        return data

    def _take_manifest(self, text: bytes) -> None:
        """Look at a manifest and at the hashes that belong to it, and keep both."""
        manifest = read_manifest(text)
        usual = parameters(manifest.lattice)
        if manifest.dimension != usual.dimension and manifest.dimension != self._insecure_dimension:
            raise ProtocolError(
                "key too short",
                f"The database asks for secrets of length {manifest.dimension}; {manifest.lattice!r} has "
                f"{usual.dimension}.",
                hint="Do not ask this server.",
            )
        if self._public_key is not None:
            self._require_signature(text)
        nodes = self._fetch(0, "nodes")
        if len(nodes) != BYTES * manifest.columns or root_of(nodes).hex() != manifest.root:
            raise ProtocolError(
                "tampered", "The hashes of columns are not those of the root.", hint="Fetch them again."
            )
        self.manifest: DatabaseManifest = manifest
        self._nodes, self._identity, self._text = nodes, identity_of(text), text

    def _require_signature(self, text: bytes) -> None:
        from discreet.trust import PublicKey

        try:
            signature = base64.b64decode(self._fetch(0, "signature").strip(), validate=True)
        except (ProtocolError, binascii.Error):
            signature = b""
        if not PublicKey.from_file(str(self._public_key)).signed(text, signature):
            raise VerificationError(
                "The manifest of the database is not signed with this key.", hint="Ask the office for its key."
            )

    def refresh(self) -> bool:
        """Look whether there is a new version of the database; a hint that is there already is updated, not fetched."""
        text = self._fetch(0, "manifest")
        if text == self._text:
            return False
        before, hint = self._identity, self._hint
        self._take_manifest(text)
        self._hint, self._pages = None, b""
        if hint is not None and self.manifest.before == before.hex() and self.manifest.hint_sha256:
            changes = read_changes(self._fetch(0, "changes"), self.manifest.layout)
            seed = bytes.fromhex(self.manifest.seed)
            moved = apply_changes(hint, changes, seed, self.manifest.parameters)
            # A wrong list of changes is found here, and by the hashes of every page besides.
            self._hint = hint_of(moved.astype("<u4").tobytes(), self._hint_shape, self.manifest.hint_sha256)
        return True

    @property
    def _hint_shape(self) -> tuple[int, int]:
        return self.manifest.per_column * self.manifest.page_bytes, self.manifest.dimension

    def get(self, table: str | None = None, *codes: str, **by: str) -> PublishedCell:
        """One cell, by its table and its codes in order or by name.

        Raises
        ------
        ProtocolError
            When there is no such cell, or what came back is not what was published.
        """
        return self.get_many([by if by else codes], table=table)[0]

    def get_many(self, cells: Cells, *, table: str | None = None) -> list[PublishedCell]:
        """Several cells of a table in one question. How many is told; which is not."""
        served = self._table(table)
        keys = [self._codes(served.name, served.variables, one) for one in cells]
        wanted = [hashed(key_of(served.name, codes), bytes.fromhex(self.manifest.salt)) for codes in keys]
        pages = self._pages_at([place % self.manifest.layout.pages for place, _ in wanted])
        found: list[PublishedCell] = []
        for codes, (_, tag), page in zip(keys, wanted, pages, strict=True):
            record = self.manifest.layout.found(page, tag)
            if record is None:
                raise ProtocolError(
                    "no such cell",
                    f"The table {served.name!r} has no cell {', '.join(map(repr, codes))}.",
                    hint="Check the codes; totals have codes of their own. The server was told nothing.",
                )
            found.append(_cell(served, codes, record))
        return found

    def _table(self, name: str | None) -> ServedTable:
        tables = self.manifest.tables
        if name is None and len(tables) == 1:
            return tables[0]
        for one in tables:
            if one.name == name:
                return one
        names = [one.name for one in tables]
        if name is None:
            raise ParameterError("The database has several tables.", hint=f"Name one of {listed(names)}.")
        raise ParameterError(unknown_name("table", name, names))

    def _codes(self, table: str, variables: Sequence[str], given: Sequence[str] | Mapping[str, str]) -> tuple[str, ...]:
        if isinstance(given, Mapping):
            if set(given) != set(variables):
                raise ParameterError(
                    f"The table {table!r} is by {listed(variables)}, not by {listed(given)}.",
                    hint="Give one code for each.",
                )
            return tuple(str(given[name]) for name in variables)
        if isinstance(given, str) or len(given) != len(variables):
            raise ParameterError(
                f"The table {table!r} is by {listed(variables)}.", hint="Give one code for each, in that order."
            )
        return tuple(map(str, given))

    def _pages_at(self, numbers: Sequence[int]) -> list[bytes]:
        """Pages by number, each checked against the root."""
        if self.scheme == "download":
            pages = self._downloaded(numbers)
        else:
            pages = []
            for first in range(0, len(numbers), MOST_LOOKUPS):
                pages += self._asked(numbers[first : first + MOST_LOOKUPS])
        for number, page in zip(numbers, pages, strict=True):
            self._require_published(number, page)
        return pages

    def _downloaded(self, numbers: Sequence[int]) -> list[bytes]:
        if not self._pages:
            self._pages = self._fetch(0, "pages")
        size = self.manifest.page_bytes
        return [self._pages[number * size : (number + 1) * size] for number in numbers]

    def _require_published(self, number: int, page: bytes) -> None:
        payload, per_column = self.manifest.layout.payload_bytes, self.manifest.per_column
        column, place = divmod(number, per_column)
        node = self._nodes[BYTES * column : BYTES * (column + 1)]
        if root_of_path(page[:payload], place, page[payload:]) != node:
            raise ProtocolError(
                "tampered",
                "What came back is not what was published under this root.",
                hint="Do not complain to the server: that could tell it something. Ask another.",
            )

    def _asked(self, numbers: Sequence[int]) -> list[bytes]:
        client = self._two_servers() if self.scheme == "xor" else self._lattice()
        asked = client.query_many(numbers)
        answers = []
        for channel, message in zip(self._channels, asked.messages, strict=False):
            answer = channel.ask(message)
            if self.transcript is not None:
                self.transcript.passed("client", channel.name, f"question ({self.scheme})", message)
                self.transcript.passed(channel.name, "client", "answer", answer)
            answers.append(answer)
        return client.decode_many(asked, answers)

    def _two_servers(self) -> TwoServerXor:
        if self._fetch(1, "manifest") != self._text:
            raise ProtocolError("other database", "The two servers have different databases.", hint="Update one.")
        return TwoServerXor(self.manifest.layout.pages, self.manifest.page_bytes, database=self._identity)

    def _lattice(self) -> LatticeScheme:
        if not self.manifest.hint_sha256:
            raise ProtocolError(
                "no such scheme", "The database was built without a hint.", hint="Use two servers, or download it."
            )
        if self._hint is None:
            self._hint = hint_of(self._fetch(0, "hint"), self._hint_shape, self.manifest.hint_sha256)
        short = self.manifest.dimension != parameters(self.manifest.lattice).dimension
        return LatticeScheme(
            self.manifest.layout.pages,
            self.manifest.page_bytes,
            per_column=self.manifest.per_column,
            seed=bytes.fromhex(self.manifest.seed),
            hint=self._hint,
            version=self.manifest.lattice,
            database=self._identity,
            insecure_dimension=self.manifest.dimension if short else None,
        )


def _cell(served: ServedTable, codes: tuple[str, ...], record: bytes) -> PublishedCell:
    """A cell from its record, which must have the fields that the manifest names."""
    texts = record.decode(errors="replace").split(MARK)
    if len(texts) != len(served.fields):
        raise ProtocolError("tampered", "A record has other fields than the manifest names.", hint="Ask another.")
    fields = dict(zip(served.fields, texts, strict=True))
    return PublishedCell(served.name, codes, fields.pop("value"), **fields)


def retrieve(
    servers: str | RetrievalServer | Sequence[str | RetrievalServer],
    table: str,
    *cells: Sequence[str] | Mapping[str, str],
    scheme: SchemeName = "auto",
    ssl_context: ssl.SSLContext | None = None,
    public_key: str | Path | None = None,
) -> list[PublishedCell]:
    """Published cells, without telling the server which.

    Parameters
    ----------
    servers
        Addresses of servers, or servers in this process: one, or two that do not talk to each other.
    table
        The table.
    cells
        Codes of each cell, in the order of the table's variables or by name.
    scheme
        See :class:`RetrievalClient`.
    ssl_context
        TLS for addresses that begin with https.
    public_key
        Key of the office: the manifest must be signed with it.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = release.save(f"{folder}/out")
    ...     server = ds.private.RetrievalServer(ds.private.build_database(f"{folder}/out", f"{folder}/pir", hint=False))
    ...     both = [server, server]  # two that do not talk to each other, in earnest
    ...     cells = ds.private.retrieve(both, "turnover", ("food", "East"), ("retail", "North"), scheme="xor")
    ...     print([(cell.value, cell.status) for cell in cells])
    [(60, 'V'), (None, 'X')]
    """
    client = RetrievalClient(servers, scheme=scheme, ssl_context=ssl_context, public_key=public_key)
    return client.get_many(list(cells), table=table)
