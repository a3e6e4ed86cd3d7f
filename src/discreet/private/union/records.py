"""Records as a union needs them: identifiers in one spelling, data as blocks of one length."""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
from numpy.typing import NDArray

from discreet.errors import InputError, ParameterError
from discreet.private.joint.design import plain_columns
from discreet.private.parties.randomness import SecretDraws
from discreet.private.problems import ProtocolError
from discreet.private.union.group import AGAIN, PAYLOAD, SALT, from_point, to_point

NORMALISER = 2
"""Version of the spelling rule."""
MADE_UP = b""
"""Data of made-up records; those of real ones have at least a byte."""
KINDS = {"b": "truth", "i": "integer", "u": "integer", "f": "number"}
TYPES: dict[type, str] = {datetime.datetime: "moment", datetime.date: "date", Decimal: "decimal number"}
AGAIN_AS: dict[str, Callable[[str], Any]] = {
    "moment": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "decimal number": Decimal,
}
"""Kinds that go as text, and how they are made again."""
SPELT_ALIKE = {"integer": "number", "moment": "date"}
"""Kinds whose identifiers have one spelling with those of another kind."""


@dataclass(frozen=True)
class UnionRecords:
    """A holder's records.

    Parameters
    ----------
    identifiers
        Those of each record, in one spelling.
    data
        Data of each record, as bytes.
    kinds
        What each column holds.
    """

    identifiers: list[tuple[str, ...]]
    data: list[bytes]
    kinds: dict[str, str]

    def padded(self, draws: SecretDraws, size: int) -> UnionRecords:
        """With made-up records, up to a size: identifiers that nobody has, and data that only the initiator knows."""
        more = size - len(self.data)
        if more == 0 or not size:
            return self
        if more < 0:
            raise ParameterError(
                "This holder has more records than pad_to, which would hide nothing.",
                hint="Give a number that no file of yours exceeds.",
            )
        stream = draws.take(32 * more, "made up")
        made = [("", stream[k : k + 32].hex()) for k in range(0, len(stream), 32)]
        return UnionRecords([*self.identifiers, *made], [*self.data, *[MADE_UP] * more], self.kinds)

    @property
    def blocks(self) -> int:
        """Blocks that the longest record needs."""
        return max((blocks_for(len(one)) for one in self.data), default=1)


def normalised(value: Any) -> str:
    """One spelling of an identifier: NFKC, without outer blanks, blanks single, case folded; dates as ISO.

    Examples
    --------
    >>> normalised("  Ｍeier  STRASSE "), normalised(7.0)
    ('meier strasse', '7')
    """
    if isinstance(value, datetime.datetime) and value.time() == datetime.time() and value.tzinfo is None:
        value = value.date()
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = unicodedata.normalize("NFKC", str(value)).casefold()
    return " ".join(unicodedata.normalize("NFKC", text).split())


def read_records(data: Any, id_columns: Sequence[str], data_columns: Sequence[str]) -> UnionRecords:
    """Records of a holder.

    Raises
    ------
    ParameterError
        When a column identifies and is data at once.
    InputError
        When identifiers are missing.
    ProtocolError
        ``duplicate record`` when two have the same identifiers.
    """
    both = set(id_columns) & set(data_columns)
    if both or not id_columns:
        raise ParameterError(
            f"Columns that identify and data columns overlap in {len(both)} columns, or none identifies.",
            hint="Name at least one that identifies, and each on one side only.",
        )
    columns = plain_columns(data, [*id_columns, *data_columns])
    lists = {name: _values(values) for name, values in columns.items()}
    identifiers = _identifiers([lists[name] for name in id_columns])
    again = len(identifiers) - len(set(identifiers))
    if again:
        raise ProtocolError(
            "duplicate record",
            f"{again:,} records have the identifiers of another.",
            hint="Remove duplicates from the file first; spelling is made equal before.",
        )
    rows = zip(*(lists[name] for name in data_columns), strict=True) if data_columns else [()] * len(identifiers)
    kinds = {name: kind_of(columns[name], lists[name]) for name in columns}
    kinds |= {name: SPELT_ALIKE.get(kinds[name], kinds[name]) for name in id_columns}
    return UnionRecords(identifiers, [_packed(row) for row in rows], kinds)


def _values(column: NDArray[Any]) -> list[Any]:
    """The values of a column as those of Python; moments are not left as numbers of nanoseconds."""
    found: list[Any] = (column.astype("datetime64[us]") if column.dtype.kind == "M" else column).tolist()
    return found


def _missing(value: Any) -> bool:
    return value is None or value != value or not str(value).strip()


def _identifiers(columns: Sequence[Sequence[Any]]) -> list[tuple[str, ...]]:
    """Identifiers of all records in one spelling; none may be missing."""
    rows = list(zip(*columns, strict=True))
    missing = sum(any(_missing(value) for value in row) for row in rows)
    if missing:
        raise InputError(f"{missing:,} records lack an identifier.", hint="Leave them out, or fill it in.")
    found = [tuple(normalised(value) for value in row) for row in rows]
    try:
        "".join(part for one in found for part in one).encode()
    except UnicodeEncodeError:
        raise InputError("An identifier is no text of Unicode.", hint="Read the file with its encoding.") from None
    return found


def kind_of(column: NDArray[Any], values: Sequence[Any]) -> str:
    """What a column holds, by name: the same at both holders, or codes like 007 and 7 would never meet."""
    if column.dtype.kind in KINDS:
        return KINDS[column.dtype.kind]
    types = {type(one) for one in values if one is not None}
    return next((name for kind, name in TYPES.items() if types == {kind}), "text or mixed")


def _packed(row: tuple[Any, ...]) -> bytes:
    """Data of a record; what has no place in MessagePack is refused."""
    try:
        return msgspec.msgpack.encode(row)
    except (TypeError, OverflowError):
        raise InputError(
            "A data column holds something else than text, numbers, truth values or dates.", hint="Convert it."
        ) from None


def unpacked(data: bytes, kinds: Mapping[str, str]) -> dict[str, Any]:
    """A record again, from the kinds of its data columns."""
    try:
        values = msgspec.msgpack.decode(data, type=list[Any])
    except msgspec.MsgspecError:
        raise ProtocolError("tampered", "A data field cannot be read.", hint=AGAIN) from None
    if len(values) != len(kinds):
        raise ProtocolError("tampered", "A data field has another number of columns.", hint=AGAIN)
    try:
        return {
            name: AGAIN_AS[kind](one) if kind in AGAIN_AS and one is not None else one
            for (name, kind), one in zip(kinds.items(), values, strict=True)
        }
    except (ValueError, TypeError, ArithmeticError):
        raise ProtocolError("tampered", "A data field is of another kind than agreed.", hint=AGAIN) from None


def blocks_for(length: int) -> int:
    """Blocks for so many bytes and their length."""
    return -(-(length + 4) // PAYLOAD)


def to_blocks(data: bytes, blocks: int, salts: bytes) -> list[bytes]:
    """A record as so many points; the salt makes equal data look different.

    Raises
    ------
    ProtocolError
        ``wrong length`` when it does not fit.
    """
    if blocks_for(len(data)) > blocks:
        raise ProtocolError("wrong length", f"A record needs more than {blocks} blocks.", hint="Agree on more.")
    text = (len(data).to_bytes(4, "big") + data).ljust(blocks * PAYLOAD, b"\0")
    return [to_point(text[k * PAYLOAD : (k + 1) * PAYLOAD], salts[k * SALT : (k + 1) * SALT]) for k in range(blocks)]


def from_blocks(points: Sequence[bytes]) -> bytes:
    """A record from its points."""
    text = b"".join(from_point(point) for point in points)
    length = int.from_bytes(text[:4], "big")
    if length > len(text) - 4 or text[4 + length :].strip(b"\0"):
        raise ProtocolError("tampered", "A data field has a wrong length.", hint=AGAIN)
    return text[4 : 4 + length]


def salts_for(draws: SecretDraws, records: int, blocks: int) -> list[bytes]:
    """Salt of every block of every record."""
    stream = draws.take(SALT * records * blocks, "salt")
    size = SALT * blocks
    return [stream[k * size : (k + 1) * size] for k in range(records)]
