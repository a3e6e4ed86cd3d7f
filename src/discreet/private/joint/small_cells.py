"""Are there small cells? Asked before anything is opened, in a way that shows how many there are, and no count.

Two parties hold each count in two random parts. One hides its part under a secret key of the group, the other hides the
parts that would make a small count; under both keys they can be compared, in an order that only one of them knows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.private.parties.conversation import Desk
from discreet.private.parties.rounds import Talk, TalkRound
from discreet.private.problems import ProtocolError
from discreet.private.union.group import hash_to_group, points_of, secret_scalar, times

Parts = NDArray[np.uint64]
WORD = 64
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
    first, second = desk.parties[:2]
    if limit < 2 or not counts.size:
        return 0
    tests = counts.size * (1 + len(desk.parties))
    if tests > MOST_TESTS:
        raise ProtocolError(
            "too much work",
            f"{counts.size:,} cells are too many to look at before they are opened.",
            hint="Use fewer variables or codes, or sparse=True.",
        )
    capped = np.minimum(counts, limit).astype(np.uint64)
    one = np.frombuffer(desk.draws.take(8 * capped.size, what, "part"), "<u8").astype(np.uint64)
    parts = {first: one, second: capped - one}
    hears = frozenset(desk.others) if desk.me in (first, second) else frozenset()
    says = {name: part.astype("<u8").tobytes() for name, part in parts.items() if name != desk.me}
    heard = yield TalkRound(f"{what}: parts", says, hears)
    mine: Parts | None = None
    if desk.me in parts:
        got = {name: _numbers(body, capped.size, name) for name, body in heard.items()} | {desk.me: parts[desk.me]}
        total = np.sum([got[name] for name in desk.parties], axis=0, dtype=np.uint64)
        mine = np.concatenate([total, *(total - got[name] for name in desk.parties)])
    return (yield from small_counts(desk, mine, limit, what, tests))


def small_counts(desk: Desk, parts: Parts | None, limit: int, what: str, tests: int, bits: int = WORD) -> Talk[int]:
    """How many counts are from 1 to below the limit, where the first two parties hold two parts of each.

    Parameters
    ----------
    desk
        Of a party; all of them take part, and are told.
    parts
        Parts of one of the first two; ``None`` for others.
    limit
        What is not small.
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
        found = _matches(heard[second], key, tests, limit, second)
        yield TalkRound(f"{what}: how many", dict.fromkeys(desk.others, found.to_bytes(8, "big")))
    else:
        hears = frozenset([first])
        heard = yield TalkRound(f"{what}: hidden", {}, hears if desk.me == second else frozenset())
        says = {}
        if desk.me == second:
            assert parts is not None
            says = {first: _compared(desk, heard[first], key, parts, limit, (domain, what, bits))}
        yield TalkRound(f"{what}: compared", says)
        heard = yield TalkRound(f"{what}: how many", {}, hears)
        found = int.from_bytes(heard[first], "big")
    desk.opened.append((what, 1))
    return found


def _compared(desk: Desk, body: bytes, key: bytes, parts: Parts, limit: int, names: tuple[str, str, int]) -> bytes:
    """The other's points under this key too, each with those of a small count; in an order of this party's own."""
    domain, what, bits = names
    theirs = times(key, points_of(body, len(parts), desk.parties[0], what))
    rows = []
    for k, (point, part) in enumerate(zip(theirs, parts, strict=True)):
        small = times(key, (_point(domain, k, (v - int(part)) % 2**bits) for v in range(1, limit)))
        rows.append(point + b"".join(sorted(small)))
    order = desk.draws.order(len(rows), what, "order").tolist()
    return b"".join(rows[k] for k in order)


def _matches(body: bytes, key: bytes, tests: int, limit: int, sender: str) -> int:
    points = points_of(body, tests * limit, sender, "compared counts")
    found = 0
    for k in range(0, len(points), limit):
        found += points[k] in times(key, points[k + 1 : k + limit])
    return found


def _point(domain: str, number: int, part: int) -> bytes:
    return hash_to_group((str(number), str(part)), domain)


def _numbers(body: bytes, count: int, sender: str) -> Parts:
    if len(body) != 8 * count:
        raise ProtocolError("wrong length", f"{sender} sent parts of another number of cells.")
    return np.frombuffer(body, "<u8").astype(np.uint64)
