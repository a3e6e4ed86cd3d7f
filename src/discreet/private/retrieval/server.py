"""A server of private retrieval: bytes in, bytes out. It never gets an index, and it keeps and logs nothing of
questions."""

from __future__ import annotations

from pathlib import Path

from discreet.private.problems import ProtocolError
from discreet.private.retrieval.boxes import Entries
from discreet.private.retrieval.database import Database, load_database
from discreet.private.retrieval.frames import QUERY, unpack
from discreet.private.retrieval.lattice import answer_lattice
from discreet.private.retrieval.two_servers import answer_xor

PARTS = {
    "manifest": "manifest.json",
    "signature": "manifest.sig",
    "nodes": "nodes.bin",
    "hint": "hint.bin",
    "changes": "changes.bin",
    "pages": "pages.bin",
}
"""What anybody may fetch, and its file."""


def historic_answer(entries: Entries, message: bytes, insecure_bits: int | None) -> bytes:
    """The server's part of a scheme on factoring, by what the message says it is."""
    from discreet.private.retrieval.hidden_orders import answer_hidden
    from discreet.private.retrieval.residues import answer_residues
    from discreet.private.retrieval.selecting import answer_lipmaa, answer_stern

    answers = {"ko": answer_residues, "stern": answer_stern, "lipmaa": answer_lipmaa, "gr": answer_hidden}
    name = unpack(message, QUERY).scheme
    if name not in answers:
        raise ProtocolError("no such scheme", f"The scheme {name!r} is not served here.", hint="Use simplepir or xor.")
    return answers[name](entries, message, insecure_bits=insecure_bits)


class RetrievalServer:
    """A server of one database.

    Parameters
    ----------
    database
        The database, or its folder.
    insecure_bits
        Shortest modulus that is answered, for tests; 2048 otherwise.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = release.save(f"{folder}/out")
    ...     server = ds.private.RetrievalServer(ds.private.build_database(f"{folder}/out", f"{folder}/pir", hint=False))
    ...     print(server.database.manifest.tables[0].variables)
    ('trade', 'region')
    """

    def __init__(self, database: Database | str | Path, *, insecure_bits: int | None = None) -> None:
        self.database = database if isinstance(database, Database) else load_database(database)
        self._insecure_bits = insecure_bits

    def part(self, name: str) -> bytes:
        """A public part of the database: manifest, signature, nodes, hint, changes or pages.

        Raises
        ------
        ProtocolError
            When there is none.
        """
        if name not in PARTS or not (self.database.folder / PARTS[name]).is_file():
            raise ProtocolError("other database", f"The database has no part {name!r}.", hint="Ask for the manifest.")
        return self.database.part(PARTS[name])

    def answer(self, message: bytes) -> bytes:
        """Answer a question. Every byte of the database is read, whatever is asked.

        Raises
        ------
        ProtocolError
            When the message is none of this protocol, version or database.
        """
        frame = unpack(message, QUERY)
        if frame.scheme not in ("xor", "simplepir"):
            return historic_answer(self.database.pages, message, self._insecure_bits)
        identity = self.database.identity
        if frame.database != identity:
            raise ProtocolError(
                "other database",
                "The question is for another version of the database.",
                hint="Fetch the manifest again; hints are updated by what changed.",
            )
        if frame.scheme == "xor":
            return answer_xor(self.database.pages, message, database=identity)
        per_column = self.database.manifest.per_column
        return answer_lattice(self.database.pages, message, per_column=per_column, database=identity)

    def longest_question(self) -> int:
        """Bytes of the longest message that is worth reading."""
        layout = self.database.manifest.layout
        return 64 * max(4 * layout.columns, -(-layout.pages // 8)) + 64 * 1024 * 1024
