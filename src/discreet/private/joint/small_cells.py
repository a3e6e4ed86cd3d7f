"""Are there small cells? Asked before anything is opened, in a way that shows how many there are, and no count.

Two parties hold each count in two random parts. One hides its part under a secret key of the group, the other hides the
parts that would make a small count; under both keys they can be compared, in an order that only one of them knows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.private.parties.conversation import Desk
from discreet.private.parties.rounds import Talk, TalkRound, count_told
from discreet.private.problems import ProtocolError
from discreet.private.union.group import hash_to_group, points_of, secret_scalar, times

Parts = NDArray[np.uint64]
WORD = 64
PAIR_BITS = 32
"""Between two numbers that are looked at together."""
ENOUGH_BESIDE = 2
"""Fifths of a square that hide it: a tenth of the largest one at that distance."""
MOST_TESTS = 400_000
"""Counts that are looked at in one run: some minutes of work."""


def small_cells(desk: Desk, counts: NDArray[np.float64], limit: int, what: str) -> Talk[int]:
    """How many cells have fewer persons than the limit but not none: over all owners, or over all but one of them.

    The second is what an owner sees that takes its own part off. The first two owners together could learn the counts
    of an owner up to the limit; one of them alone, or any of the others, learns only how many cells are small.

    Parameters
    ----------
    desk
        Of this owner.
    counts
        Persons of this owner by cell.
    limit
        What is not small.
    what
        A name that no other test of the run has.
    """
    return (yield from _added(desk, np.minimum(counts, limit).astype(np.uint64), range(1, limit), what))


def few_and_alone(
    desk: Desk, persons: NDArray[np.float64], squares: NDArray[np.float64], limit: int, what: str
) -> Talk[int]:
    """How often few persons are so far out that the squares of all others are small beside theirs.

    Counted over all owners, and over all but one of them.

    Parameters
    ----------
    desk, limit, what
        As for :func:`small_cells`.
    persons, squares
        Persons of this owner that are so far out, and the squares of its others; see
        :func:`discreet.private.joint.values.far_out`.
    """
    beside = np.minimum(squares, ENOUGH_BESIDE).astype(np.uint64)
    both = (np.minimum(persons, limit).astype(np.uint64) << np.uint64(PAIR_BITS)) + beside
    small = [(count << PAIR_BITS) + rest for count in range(1, limit) for rest in range(ENOUGH_BESIDE)]
    return (yield from _added(desk, both.ravel(), small, what))


def _added(desk: Desk, own: Parts, small: Sequence[int], what: str) -> Talk[int]:
    """How many sums of the owners' numbers, of all or of all but one, are among the small ones."""
    first, second = desk.parties[:2]
    if not small or not own.size:
        return 0
    tests = own.size * (1 + len(desk.parties))
    if tests > MOST_TESTS:
        raise ProtocolError(
            "too much work",
            f"{own.size:,} cells are too many to look at before they are opened.",
            hint="Use fewer variables or codes, or sparse=True.",
        )
    one = np.frombuffer(desk.draws.take(8 * own.size, what, "part"), "<u8").astype(np.uint64)
    parts = {first: one, second: own - one}
    hears = frozenset(desk.others) if desk.me in (first, second) else frozenset()
    says = {name: part.astype("<u8").tobytes() for name, part in parts.items() if name != desk.me}
    heard = yield TalkRound(f"{what}: parts", says, hears)
    mine: Parts | None = None
    if desk.me in parts:
        got = {name: _numbers(body, own.size, name) for name, body in heard.items()} | {desk.me: parts[desk.me]}
        total = np.sum([got[name] for name in desk.parties], axis=0, dtype=np.uint64)
        mine = np.concatenate([total, *(total - got[name] for name in desk.parties)])
    return (yield from small_counts(desk, mine, small, what, tests))


def small_counts(
    desk: Desk, parts: Parts | None, small: Sequence[int], what: str, tests: int, bits: int = WORD
) -> Talk[int]:
    """How many counts are small ones, where the first two parties hold two parts of each.

    Parameters
    ----------
    desk
        Of a party; all of them take part, and are told.
    parts
        Parts of one of the first two; ``None`` for others.
    small
        What is small.
    what
        A name.
    tests
        How many counts there are.
    bits
        Parts add up modulo so many bits.
    """
    first, second = desk.parties[:2]
    domain = f"discreet small cells {desk.session.hex()} {what}"
    key = secret_scalar(desk.draws, what, "key") if desk.me in (first, second) else b""
    if desk.me == first:
        assert parts is not None
        own = times(key, (_point(domain, k, int(part)) for k, part in enumerate(parts)))
        yield TalkRound(f"{what}: hidden", {second: b"".join(own)})
        heard = yield TalkRound(f"{what}: compared", {}, frozenset([second]))
        found = _matches(heard[second], key, tests, 1 + len(small), second)
        yield TalkRound(f"{what}: how many", dict.fromkeys(desk.others, found.to_bytes(8, "big")))
    else:
        hears = frozenset([first])
        heard = yield TalkRound(f"{what}: hidden", {}, hears if desk.me == second else frozenset())
        says = {}
        if desk.me == second:
            assert parts is not None
            says = {first: _compared(desk, heard[first], key, parts, small, (domain, what, bits))}
        yield TalkRound(f"{what}: compared", says)
        heard = yield TalkRound(f"{what}: how many", {}, hears)
        found = count_told(heard[first], first)
    desk.opened.append((what, 1))
    return found


def _compared(
    desk: Desk, body: bytes, key: bytes, parts: Parts, small: Sequence[int], names: tuple[str, str, int]
) -> bytes:
    """The other's points under this key too, each with those of a small count; in an order of this party's own."""
    domain, what, bits = names
    theirs = times(key, points_of(body, len(parts), desk.parties[0], what))
    rows = []
    for k, (point, part) in enumerate(zip(theirs, parts, strict=True)):
        hidden = times(key, (_point(domain, k, (v - int(part)) % 2**bits) for v in small))
        rows.append(point + b"".join(sorted(hidden)))
    order = desk.draws.order(len(rows), what, "order").tolist()
    return b"".join(rows[k] for k in order)


def _matches(body: bytes, key: bytes, tests: int, width: int, sender: str) -> int:
    points = points_of(body, tests * width, sender, "compared counts")
    found = 0
    for k in range(0, len(points), width):
        found += points[k] in times(key, points[k + 1 : k + width])
    return found


def _point(domain: str, number: int, part: int) -> bytes:
    return hash_to_group((str(number), str(part)), domain)


def _numbers(body: bytes, count: int, sender: str) -> Parts:
    if len(body) != 8 * count:
        raise ProtocolError("wrong length", f"{sender} sent parts of another number of cells.")
    return np.frombuffer(body, "<u8").astype(np.uint64)
