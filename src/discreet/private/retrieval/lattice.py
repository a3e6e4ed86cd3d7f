"""Retrieval from one server on lattices, after SimplePIR (Henzinger and others 2023).

The database is a matrix of centred bytes; entries lie below each other in its columns. A question is a noisy vector
that nobody can tell from chance (learning with errors) with a step added at the wanted column; the answer is the
matrix times it. A hint, the matrix times the public one, is fetched once a version and lets the client take the noise
away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.errors import ParameterError
from discreet.private.retrieval.boxes import Entries, require_index
from discreet.private.retrieval.frames import ANSWER, NO_DATABASE, QUERY, Asked, pack, require_length, unpack
from discreet.private.retrieval.lattice_noise import Numbers, draw_errors, draw_secret, matrix_rows
from discreet.private.retrieval.lattice_parameters import STEP, LatticeParameters, parameters
from discreet.progress import steps

ROWS_AT_ONCE = 4096
"""Rows of the public matrix that are made at once."""
EXACT_COLUMNS = 4096
"""Columns in one product of the hint: 128 * 2**31 * 4096 = 2**50 is exact in floating point."""
HINT_ROWS = 2048


class _KeptLattice(NamedTuple):
    """What the client keeps of a question."""

    indices: tuple[int, ...]
    secrets: tuple[Numbers, ...]


def columns_of(entries: Entries, per_column: int) -> npt.NDArray[np.uint8]:
    """The database with one row a column of the matrix, padded with zero entries to whole columns."""
    missing = -len(entries) % per_column
    whole = np.vstack([entries, np.zeros((missing, entries.shape[1]), np.uint8)]) if missing else entries
    return np.ascontiguousarray(whole).reshape(-1, per_column * entries.shape[1])


def make_hint(columns: npt.NDArray[np.uint8], seed: bytes, chosen: LatticeParameters) -> Numbers:
    """The hint of a database: a row of numbers for each row of the matrix, by exact products in floating point."""
    found = np.zeros((columns.shape[1], chosen.dimension), np.uint32)
    for first in steps("hint", range(0, len(columns), EXACT_COLUMNS)):
        part = columns[first : first + EXACT_COLUMNS]
        rows = matrix_rows(seed, chosen.dimension, first, len(part)).view(np.int32).astype(np.float64)
        for start in range(0, columns.shape[1], HINT_ROWS):
            centred = part[:, start : start + HINT_ROWS].T.astype(np.float64) - 128.0
            found[start : start + HINT_ROWS] += (centred @ rows).astype(np.int64).astype(np.uint32)
    return found


def changed_hint(
    hint: Numbers,
    numbers: npt.NDArray[np.int64],
    changes: npt.NDArray[np.int16],
    seed: bytes,
    chosen: LatticeParameters,
) -> Numbers:
    """The hint after some columns changed: ``changes`` has new less old bytes, a row for each of those columns."""
    found = hint.copy()
    for first in range(0, len(numbers), EXACT_COLUMNS // 2):
        part = numbers[first : first + EXACT_COLUMNS // 2]
        rows = np.vstack([matrix_rows(seed, chosen.dimension, int(number), 1) for number in part])
        moved = changes[first : first + EXACT_COLUMNS // 2].astype(np.float64).T
        found += (moved @ rows.view(np.int32).astype(np.float64)).astype(np.int64).astype(np.uint32)
    return found


class LatticeScheme:
    """The client of retrieval on lattices.

    Parameters
    ----------
    entries, entry_bytes
        Size of the database.
    per_column
        Entries below each other in a column.
    seed
        Of the public matrix.
    hint
        Of this version of the database.
    version
        Name of the parameters.
    database
        Identity of the database, which the server compares with its own.
    insecure_dimension
        A shorter secret, for tests.

    Examples
    --------
    >>> from discreet.private.retrieval.boxes import as_entries
    >>> entries, seed = as_entries([b"ab", b"cd", b"ef"]), bytes(32)
    >>> chosen = parameters("lwe-1", insecure_dimension=16)
    >>> hint = make_hint(columns_of(entries, 1), seed, chosen)
    >>> client = LatticeScheme(3, 2, per_column=1, seed=seed, hint=hint, insecure_dimension=16)
    >>> asked = client.query(2)
    >>> client.decode(asked, [answer_lattice(entries, asked.messages[0], per_column=1)])
    b'ef'
    """

    name = "simplepir"
    servers = 1

    def __init__(
        self,
        entries: int,
        entry_bytes: int,
        *,
        per_column: int,
        seed: bytes,
        hint: Numbers,
        version: str = "lwe-1",
        database: bytes = NO_DATABASE,
        insecure_dimension: int | None = None,
    ) -> None:
        self.entries, self.entry_bytes, self.per_column = entries, entry_bytes, per_column
        self.seed, self.hint, self.database = seed, hint, database
        self.parameters = parameters(version, insecure_dimension)
        self.columns = -(-entries // per_column)
        self.parameters.require_columns(self.columns, entry_bytes)
        if hint.shape != (per_column * entry_bytes, self.parameters.dimension):
            raise ParameterError("The hint is not one of this database.", hint="Fetch it anew.")

    def query(self, index: int) -> Asked:
        """Ask for one entry."""
        return self.query_many([index])

    def query_many(self, indices: Sequence[int]) -> Asked:
        """Ask for several entries in one message, each with a secret of its own."""
        from discreet.private.retrieval.lattice_kernels import times_vector

        for index in indices:
            require_index(index, self.entries)
        drawn = tuple(draw_secret(self.parameters.dimension).copy() for _ in indices)
        asked = np.vstack([draw_errors(self.columns, self.parameters.deviation) for _ in indices])
        part = np.empty(ROWS_AT_ONCE, np.uint32)
        for first in range(0, self.columns, ROWS_AT_ONCE):
            count = min(ROWS_AT_ONCE, self.columns - first)
            rows = matrix_rows(self.seed, self.parameters.dimension, first, count).copy()
            for secret, row in zip(drawn, asked, strict=True):
                times_vector(rows, secret, part[:count])
                row[first : first + count] += part[:count]
        for row, index in zip(asked, indices, strict=True):
            column = index // self.per_column
            row[column : column + 1] += np.uint32(STEP)
        message = pack(self.name, QUERY, asked.tobytes(), len(indices), self.database)
        return Asked((message,), _KeptLattice(tuple(indices), drawn))

    def decode(self, asked: Asked, answers: Sequence[bytes]) -> bytes:
        """The entry, from the answer."""
        return self.decode_many(asked, answers)[0]

    def decode_many(self, asked: Asked, answers: Sequence[bytes]) -> list[bytes]:
        """The entries, from the answer: the noise of the hint is taken off, the rest is rounded to bytes."""
        from discreet.private.retrieval.lattice_kernels import times_vector

        kept: _KeptLattice = asked.kept
        body = unpack(answers[0], ANSWER, self.name).body
        height = self.per_column * self.entry_bytes
        require_length(body, 4 * height * len(kept.indices), "The answer")
        noise, found = np.empty(self.entry_bytes, np.uint32), []
        for index, secret, row in zip(
            kept.indices, kept.secrets, np.frombuffer(body, "<u4").reshape(-1, height), strict=True
        ):
            rows = slice(index % self.per_column * self.entry_bytes, (index % self.per_column + 1) * self.entry_bytes)
            times_vector(np.ascontiguousarray(self.hint[rows]), secret, noise)
            digits = (row[rows] - noise + np.uint32(STEP // 2)) // np.uint32(STEP)
            found.append((digits + np.uint32(128)).astype(np.uint8).tobytes())
        return found


def answer_lattice(entries: Entries, message: bytes, *, per_column: int, database: bytes = NO_DATABASE) -> bytes:
    """The server's part: it multiplies its whole database, whatever is asked, four questions a pass."""
    from discreet.private.retrieval.lattice_kernels import weighted_four, weighted_one

    frame = unpack(message, QUERY, "simplepir")
    columns = columns_of(entries, per_column)
    require_length(frame.body, 4 * len(columns) * frame.lookups, "The query")
    weights = np.frombuffer(frame.body, "<u4").reshape(frame.lookups, len(columns))
    padded = np.zeros((-(-frame.lookups // 4) * 4, len(columns)), np.uint32)
    padded[: frame.lookups] = weights
    found = np.zeros((len(padded), columns.shape[1]), np.uint32)
    if not columns.flags.writeable:
        columns = columns.copy()
    for first in range(0, frame.lookups, 4):
        if frame.lookups - first == 1:
            weighted_one(columns, padded[first], found[first])
        else:
            weighted_four(columns, padded[first : first + 4], found[first : first + 4])
    found = found[: frame.lookups]
    found -= np.uint32(128) * weights.sum(axis=1, dtype=np.uint32)[:, None]
    return pack("simplepir", ANSWER, found.tobytes(), frame.lookups, database)
