"""The union of two files in nine steps: the initiator gets the data of the union, the helper sizes only.

Identifiers are hashed into the group and multiplied by a secret of each holder, data are encrypted by a secret of
each; the order of multiplications does not matter, and every list is shuffled. Where both have a record, the
initiator's counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from discreet.errors import InputError, ParameterError
from discreet.private.joint.design import plain_columns
from discreet.private.parties.conversation import Desk, plan_of
from discreet.private.parties.digests import digest_of
from discreet.private.parties.rounds import Heard, PartyTask, Talk, TalkRound, count_told
from discreet.private.parties.sealing import commitment
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.frames import Transcript
from discreet.private.union.group import (
    AGAIN,
    POINT,
    hash_to_group,
    inverse,
    points_of,
    random_points,
    secret_scalar,
    times,
)
from discreet.private.union.records import (
    MADE_UP,
    NORMALISER,
    UnionRecords,
    from_blocks,
    read_records,
    salts_for,
    to_blocks,
    unpacked,
)
from discreet.private.union.shared_sums import SumKey, encrypted, require_choices, shared_total, total_cipher
from discreet.progress import steps

MINIMUM = 10
"""Records that the other holder must bring, and that must be shared for a total."""
MOST_RECORDS = 10_000_000
MOST_BLOCKS = 1_000


class OpeningSizes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What both say first."""

    records: int
    blocks: int
    promise: str


@dataclass(frozen=True)
class UnionTerms:
    """What a holder wants.

    Parameters
    ----------
    id_columns, data_columns
        Columns that identify, and columns with data.
    purpose
        What the union is for.
    min_records
        Records that the other holder must bring, so that it cannot ask for single ones.
    sum_column
        A whole number from 0 on, which only the helper needs to have: both learn its total over shared records.
    min_shared
        Shared records below which no total is told.
    pad_to
        Hide the number of this holder's records: made-up ones are added up to so many, and dropped at the end.
    """

    id_columns: tuple[str, ...]
    data_columns: tuple[str, ...]
    purpose: str = ""
    min_records: int = MINIMUM
    sum_column: str | None = None
    min_shared: int = MINIMUM
    pad_to: int = 0

    def __post_init__(self) -> None:
        if self.min_records < 0 or self.min_shared < 1:
            raise ParameterError("Least sizes are not allowed.", hint="Use min_records from 0 and min_shared from 1.")
        if self.pad_to and self.sum_column is not None:
            raise ParameterError("Made-up records have no value to add up.", hint="Leave out pad_to or the total.")


@dataclass(frozen=True)
class UnionResult:
    """What a holder has at the end.

    Parameters
    ----------
    rows
        Data of the union in random order, for the initiator alone; ``None`` for the helper. Not to be shown to the
        helper, who would see where its own values are missing.
    own, other, union
        Records of this holder, of the other, and of the union.
    shared_sum
        Total of the helper's column over shared records, where both agreed to it.
    notes
        What to be careful with.
    seal
        Hash of all messages of this run: the same at both.
    commitment, opening
        Hash of this holder's records and a secret, which the other has got; and the secret, with which an auditor can
        check it.
    transcript
        Messages, where both were in one process.
    """

    rows: list[dict[str, Any]] | None = field(repr=False)
    own: int
    other: int
    union: int
    shared_sum: int | None = None
    notes: tuple[str, ...] = ()
    seal: str = ""
    commitment: str = ""
    opening: str = field(default="", repr=False)
    transcript: Transcript | None = field(default=None, repr=False, compare=False)

    @property
    def shared(self) -> int:
        """Records that both have."""
        return self.own + self.other - self.union

    @property
    def chance(self) -> float:
        """Chance that a given record of this holder is also the other's, as either side knows it now."""
        return self.shared / self.own if self.own else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Sizes and what audits need; no data."""
        found: dict[str, Any] = {"own": self.own, "other": self.other, "union": self.union, "shared": self.shared}
        if self.shared_sum is not None:
            found["shared_sum"] = self.shared_sum
        return {**found, "notes": list(self.notes), "seal": self.seal, "commitment": self.commitment}

    def summary(self) -> str:
        """Sizes, and nothing else."""
        told = f"own records {self.own:,}; the other's {self.other:,}; union {self.union:,}; shared {self.shared:,}"
        total = "" if self.shared_sum is None else f"; total over shared records {self.shared_sum:,}"
        return "\n".join([told + total, *self.notes])


def union_task(parties: Sequence[str], me: str, data: Any, terms: UnionTerms) -> PartyTask[UnionResult]:
    """What a holder agrees on with the other, and what it does then; the first party is the initiator."""
    initiator, helper = parties
    if me not in parties or initiator == helper:
        raise ParameterError(f"{me!r} is none of two holders.", hint="Name both, the initiator first.")
    records = read_records(data, terms.id_columns, terms.data_columns)
    values = _sum_values(data, terms) if terms.sum_column is not None and me == helper else None
    agreed = {
        "id columns": terms.id_columns,
        "data columns": terms.data_columns,
        "normaliser": NORMALISER,
        "purpose": terms.purpose,
        "sum column": terms.sum_column,
        **{f"kind of {name!r}": kind for name, kind in records.kinds.items()},
    }
    plan = plan_of("private union 1", parties, agreed)
    digest = digest_of([*("\0".join(one) for one in records.identifiers), *records.data, *(values or [])])
    if me == initiator:
        return PartyTask(plan, lambda desk: _initiate(desk, records, terms, helper, digest), digest)
    return PartyTask(plan, lambda desk: _help(desk, records, terms, initiator, (values, digest)), digest)


def _sum_values(data: Any, terms: UnionTerms) -> list[int]:
    values = plain_columns(data, [str(terms.sum_column)])[str(terms.sum_column)]
    if values.dtype.kind not in "iu" or (len(values) and (values.min() < 0 or int(values.max()) >= 2**32)):
        raise InputError(
            f"Column {terms.sum_column!r} cannot be added up in the group.",
            hint="Give whole numbers from 0 on whose total is below 2^32.",
        )
    return [int(value) for value in values]


class _Seal:
    """A hash of all that was said, for both logs."""

    def __init__(self, session: bytes) -> None:
        self._hash = hashlib.sha256(session)

    def note(self, what: str, body: bytes) -> bytes:
        self._hash.update(len(what).to_bytes(4, "big") + what.encode() + hashlib.sha256(body).digest())
        return body

    def text(self) -> str:
        return self._hash.hexdigest()


def _tell(seal: _Seal, what: str, to: str, body: bytes) -> Talk[None]:
    """A round in which this holder speaks alone."""
    yield TalkRound(what, {to: seal.note(what, body)}, frozenset())


def _listen(seal: _Seal, what: str, sender: str) -> Talk[bytes]:
    """A round in which the other speaks alone."""
    heard: Heard = yield TalkRound(what, {}, frozenset([sender]))
    return seal.note(what, heard[sender])


def _opened(
    desk: Desk, other: str, records: UnionRecords, terms: UnionTerms, digest: bytes
) -> Talk[tuple[_Run, UnionRecords]]:
    """Tell sizes and promise one's records; how many the other has, and blocks of a record."""
    padded = records.padded(desk.draws, terms.pad_to)
    nonce = desk.draws.take(32, "commitment")
    promise = commitment(nonce, digest)
    own = msgspec.json.encode(OpeningSizes(len(padded.data), records.blocks, promise.hex()))
    heard = yield TalkRound("sizes", {other: own}, frozenset([other]))
    try:
        told = msgspec.json.decode(heard[other], type=OpeningSizes)
    except msgspec.MsgspecError:
        raise ProtocolError("tampered", f"{other} did not tell its sizes.", hint=AGAIN) from None
    if not 0 <= told.records <= MOST_RECORDS or not 1 <= told.blocks <= MOST_BLOCKS:
        raise ProtocolError("too much work", f"{other} announces sizes beyond all limits.", hint=AGAIN)
    if told.records < terms.min_records:
        raise ProtocolError(
            "too small",
            f"{other} brings fewer than {terms.min_records} records.",
            hint="A holder that brings few records asks for single ones; nothing was sent to it.",
        )
    seal = _Seal(desk.session)
    for body in sorted([own, heard[other]]):
        seal.note("sizes", body)
    blocks = max(told.blocks, records.blocks)
    return _Run(seal, len(padded.data), told.records, blocks, (promise.hex(), nonce.hex())), padded


@dataclass(frozen=True)
class _Run:
    """What both know after the opening."""

    seal: _Seal
    own: int
    other: int
    blocks: int
    promise: tuple[str, str]


def _hashed(desk: Desk, records: UnionRecords, key: bytes) -> list[bytes]:
    domain = f"discreet union {NORMALISER} {desk.session.hex()}"
    return times(key, (hash_to_group(one, domain) for one in steps("points", records.identifiers)))


def _encrypted(desk: Desk, records: UnionRecords, blocks: int, key: bytes) -> list[bytes]:
    """Data of each record under this holder's key, all blocks joined."""
    salts = salts_for(desk.draws, len(records.data), blocks)
    rows = list(zip(records.data, salts, strict=True))
    return [b"".join(times(key, to_blocks(data, blocks, salt))) for data, salt in steps("points", rows)]


def _shuffled(desk: Desk, what: str, *lists: list[bytes]) -> list[list[bytes]]:
    """Lists in a new order, the same for all."""
    order = desk.draws.order(len(lists[0]), "order", what).tolist()
    return [[one[k] for k in order] for one in lists]


def _require_distinct(points: list[bytes], sender: str, what: str) -> list[bytes]:
    if len(set(points)) < len(points):
        raise ProtocolError("duplicate record", f"{sender} sent a point twice in {what}.", hint=AGAIN)
    return points


def _again(key: bytes, fields: list[bytes]) -> list[bytes]:
    """Multiply all blocks of all fields."""
    return [b"".join(times(key, _blocks(one))) for one in steps("points", fields)]


def _blocks(one: bytes) -> list[bytes]:
    return [one[k : k + POINT] for k in range(0, len(one), POINT)]


def _fields(body: bytes, count: int, blocks: int, sender: str, what: str) -> list[bytes]:
    """Data fields that somebody sent: points, no two alike."""
    points = _require_distinct(points_of(body, count * blocks, sender, what), sender, what)
    return [b"".join(points[k * blocks : (k + 1) * blocks]) for k in range(count)]


def _initiate(desk: Desk, records: UnionRecords, terms: UnionTerms, helper: str, digest: bytes) -> Talk[UnionResult]:
    notes = _notes(records)
    run, records = yield from _opened(desk, helper, records, terms, digest)
    seal, own, other, blocks = run.seal, run.own, run.other, run.blocks
    h, k = (secret_scalar(desk.draws, "key", name) for name in ("identifiers", "data"))
    hashed, fields = _shuffled(desk, "1", _hashed(desk, records, h), _encrypted(desk, records, blocks, k))
    yield from _tell(seal, "1: own records", helper, b"".join(hashed) + b"".join(fields))
    body = yield from _listen(seal, "2: own identifiers", helper)
    mine = _require_distinct(points_of(body, own, helper, "step 2"), helper, "step 2")
    body = yield from _listen(seal, "3: records of the other", helper)
    size, more = POINT * other, 0 if terms.sum_column is None else POINT * (1 + 2 * other)
    end = size * (1 + blocks)
    if len(body) != end + more:
        raise ProtocolError("wrong row count", f"{helper} sent other than {other} rows in step 3.", hint=AGAIN)
    hidden = _require_distinct(points_of(body[:size], other, helper, "step 3"), helper, "step 3")
    theirs = times(h, steps("points", hidden))
    data = _again(k, _fields(body[size:end], other, blocks, helper, "step 3"))
    rows = dict(zip(theirs, data, strict=True))
    extra = [one for one in mine if one not in rows]
    fillers = random_points(desk.draws, len(extra) * blocks, "fillers")
    rows |= {one: b"".join(fillers[j * blocks : (j + 1) * blocks]) for j, one in enumerate(extra)}
    total = b""
    if terms.sum_column is not None:
        known = set(mine)
        _require_shared(own + other - len(rows), other, terms)
        total = total_cipher(desk, body[end:], [one in known for one in theirs], helper)
    names, fields = _shuffled(desk, "5", list(rows), list(rows.values()))
    yield from _tell(seal, "5: union", helper, total + b"".join(names) + b"".join(fields))
    body = yield from _listen(seal, "8: data", helper)
    shared_sum = None
    if terms.sum_column is not None:
        shared_sum, body = count_told(body[:8], helper), body[8:]
    back = inverse(k)
    found = _fields(body, len(rows), blocks, helper, "step 8")
    plain = [from_blocks(times(back, _blocks(one))) for one in steps("points", found)]
    kinds = {name: records.kinds[name] for name in terms.data_columns}
    told = [unpacked(one, kinds) for one in plain if one != MADE_UP]
    return UnionResult(told, own, other, len(rows), shared_sum, notes, seal.text(), *run.promise)


def _help(
    desk: Desk, records: UnionRecords, terms: UnionTerms, initiator: str, more: tuple[list[int] | None, bytes]
) -> Talk[UnionResult]:
    values, digest = more
    notes = _notes(records)
    run, records = yield from _opened(desk, initiator, records, terms, digest)
    seal, own, other, blocks = run.seal, run.own, run.other, run.blocks
    h, k = (secret_scalar(desk.draws, "key", name) for name in ("identifiers", "data"))
    body = yield from _listen(seal, "1: own records", initiator)
    size = POINT * other
    if len(body) != size * (1 + blocks):
        raise ProtocolError("wrong row count", f"{initiator} sent other than {other} rows in step 1.", hint=AGAIN)
    hashed = _require_distinct(points_of(body[:size], other, initiator, "step 1"), initiator, "step 1")
    fields = _fields(body[size:], other, blocks, initiator, "step 1")
    escrow = dict(zip(times(h, steps("points", hashed)), fields, strict=True))
    (again,) = _shuffled(desk, "2", list(escrow))
    yield from _tell(seal, "2: own identifiers", initiator, b"".join(again))
    lists = [_hashed(desk, records, h), _encrypted(desk, records, blocks, k)]
    key = SumKey.drawn(desk.draws) if values is not None else None
    if key is not None and values is not None:
        lists.append(encrypted(desk.draws, key, values))
    parts = _shuffled(desk, "3", *lists)
    if key is not None:
        parts.insert(2, [key.public])
    yield from _tell(seal, "3: records of the other", initiator, b"".join(b"".join(one) for one in parts))
    body = yield from _listen(seal, "5: union", initiator)
    cipher, body = (b"", body) if key is None else (body[: 2 * POINT], body[2 * POINT :])
    rows = _union_rows(body, blocks, own, other, initiator)
    if not escrow.keys() <= rows.keys():
        raise ProtocolError("wrong row count", f"{initiator} left out records of its own in step 5.", hint=AGAIN)
    shared_sum = None
    if key is not None:
        _require_shared(own + other - len(rows), own, terms)
        shared_sum = shared_total(key, cipher, initiator)
    fields = _stripped(inverse(k), rows, escrow)
    (fields,) = _shuffled(desk, "8", fields)
    told = b"" if shared_sum is None else shared_sum.to_bytes(8, "big")
    yield from _tell(seal, "8: data", initiator, told + b"".join(fields))
    return UnionResult(None, own, other, len(rows), shared_sum, notes, seal.text(), *run.promise)


def _stripped(back: bytes, rows: dict[bytes, bytes], escrow: dict[bytes, bytes]) -> list[bytes]:
    """Steps 6 and 7: this holder's key off every field, then the initiator's own fields in their places.

    The key is taken off fillers, too: the time does not tell how many rows are shared.
    """
    return [escrow.get(name) or one for name, one in zip(rows, _again(back, list(rows.values())), strict=True)]


def _union_rows(body: bytes, blocks: int, own: int, other: int, initiator: str) -> dict[bytes, bytes]:
    """The rows of step 5; as many as a union of these two can have."""
    count, rest = divmod(len(body), POINT * (1 + blocks))
    if rest or not max(own, other) <= count <= own + other:
        raise ProtocolError("wrong row count", f"{initiator} sent a union of an impossible size.", hint=AGAIN)
    names = _require_distinct(points_of(body[: POINT * count], count, initiator, "step 5"), initiator, "step 5")
    return dict(zip(names, _fields(body[POINT * count :], count, blocks, initiator, "step 5"), strict=True))


def _require_shared(shared: int, of_helper: int, terms: UnionTerms) -> None:
    if shared < terms.min_shared:
        raise ProtocolError(
            "too small",
            f"Fewer than {terms.min_shared} records are shared; their total is not told.",
            hint="Run the union without a total.",
        )
    require_choices(shared, of_helper)


def _notes(records: UnionRecords) -> tuple[str, ...]:
    distinct = len(set(records.data))
    if len(records.data) > 1 and distinct == len(records.data):
        return ("Data differ from record to record: they may identify by themselves. Protect them before use.",)
    return ()
