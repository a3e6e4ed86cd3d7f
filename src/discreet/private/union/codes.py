"""Lists of several parties that all get joined, without telling who brought what; and sizes of joined lists.

Experimental: every list passes the keys of all parties and is shuffled by each. Semi-honest parties are assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import msgspec

from discreet.private.parties.conversation import Desk
from discreet.private.parties.rounds import Talk, TalkRound, count_told
from discreet.private.problems import ProtocolError
from discreet.private.union.group import (
    AGAIN,
    PAYLOAD,
    POINT,
    SALT,
    from_point,
    hash_to_group,
    inverse,
    points_of,
    secret_scalar,
    times,
    to_point,
)
from discreet.progress import steps


def union_of_codes(desk: Desk, codes: Sequence[str], what: str) -> Talk[set[str]]:
    """All codes that any party brings, told to all; nobody learns who brought which.

    Codes have at most 20 bytes. The first party sees how many codes each set of parties shares, but not which codes.
    """
    plain = [_code_block(one) for one in dict.fromkeys(codes)]
    key = secret_scalar(desk.draws, what, "key")
    mine = yield from _through_all(desk, key, [to_point(one, bytes(SALT)) for one in plain], what)
    first, last = desk.parties[0], desk.parties[-1]
    heard = yield _to_one(desk, first, b"".join(mine), f"{what}: hidden")
    joined: list[bytes] = []
    if desk.me == first:
        lists = [mine, *(_points(body, sender) for sender, body in heard.items())]
        joined = sorted({one for points in lists for one in points})
    back = inverse(key)
    for place, name in enumerate(desk.parties):
        if desk.me == name:
            order = desk.draws.order(len(joined), what, "back")
            joined = times(back, [joined[k] for k in order.tolist()])
        receiver = desk.parties[(place + 1) % len(desk.parties)]
        says = {receiver: b"".join(joined)} if desk.me == name and name != last else {}
        hears = desk.me == receiver and name != last
        heard = yield TalkRound(f"{what}: back {place + 1}", says, frozenset([name] if hears else []))
        if hears:
            joined = _points(heard[name], name)
    found = sorted(_code_text(from_point(one)) for one in joined) if desk.me == last else []
    says = dict.fromkeys(desk.others, msgspec.json.encode(found)) if desk.me == last else {}
    heard = yield TalkRound(f"{what}: codes", says, frozenset([last] if desk.me != last else []))
    if desk.me != last:
        found = _codes_told(heard[last], last)
    if not set(codes) <= set(found):
        raise ProtocolError("wrong sum", f"Codes that this party brought are missing from {what!r}.", hint=AGAIN)
    desk.opened.append((what, len(found)))
    return set(found)


def joined_sizes(
    desk: Desk, identifiers: Sequence[tuple[str, ...]], min_records: int, what: str = "sizes"
) -> Talk[dict[str, int]]:
    """Records of each party, of what each two share, and of the union; all learn these, and nobody more.

    Returns
    -------
    dict
        By names joined with ``&``; ``"union"`` for the union of all.
    """
    told = yield TalkRound(
        f"{what}: records", dict.fromkeys(desk.others, len(identifiers).to_bytes(8, "big")), frozenset(desk.others)
    )
    announced = {name: count_told(body, name) for name, body in told.items()}
    for name, count in announced.items():
        if count < min_records:
            raise ProtocolError(
                "too small",
                f"{name} brings fewer than {min_records} records.",
                hint="A holder that brings few records asks for single ones; nothing was sent to it.",
            )
    key = secret_scalar(desk.draws, what, "key")
    domain = f"discreet sizes {desk.session.hex()}"
    mine = yield from _through_all(desk, key, [hash_to_group(one, domain) for one in identifiers], what)
    names = desk.parties
    origin = names[(names.index(desk.me) + 1) % len(names)]
    heard = yield TalkRound(f"{what}: hidden", dict.fromkeys(desk.others, b"".join(mine)), frozenset(desk.others))
    lists = {origin: set(mine)}
    for sender, body in heard.items():
        lists[names[(names.index(sender) + 1) % len(names)]] = set(_points(body, sender))
    found = {name: len(lists[name]) for name in names}
    for name, count in {**announced, desk.me: len(identifiers)}.items():
        if found[name] != count:
            raise ProtocolError("wrong row count", f"{name} has another number of records than it said.", hint=AGAIN)
    found |= {f"{one}&{other}": len(lists[one] & lists[other]) for one, other in combinations(names, 2)}
    found["union"] = len(set().union(*lists.values()))
    return found


def _through_all(desk: Desk, key: bytes, points: list[bytes], what: str) -> Talk[list[bytes]]:
    """Let all lists go round: what a party holds at the end is the list of the next one, under all keys."""
    names = desk.parties
    place, count = names.index(desk.me), len(names)
    after, before = names[(place + 1) % count], names[(place - 1) % count]
    held = points
    for step in range(count):
        order = desk.draws.order(len(held), what, "order", str(step))
        held = times(key, steps("points", [held[k] for k in order.tolist()]))
        if step + 1 < count:
            heard = yield TalkRound(f"{what}: hop {step + 1}", {after: b"".join(held)}, frozenset([before]))
            held = _points(heard[before], before)
    return held


def _to_one(desk: Desk, to: str, body: bytes, what: str) -> TalkRound:
    return TalkRound(what, {} if desk.me == to else {to: body}, frozenset(desk.others if desk.me == to else []))


def _points(body: bytes, sender: str) -> list[bytes]:
    if len(body) % POINT:
        raise ProtocolError("wrong row count", f"{sender} sent no whole number of points.", hint=AGAIN)
    found = points_of(body, len(body) // POINT, sender, "a list")
    if len(set(found)) < len(found):
        raise ProtocolError("duplicate record", f"{sender} sent a point twice.", hint=AGAIN)
    return found


def _code_block(code: str) -> bytes:
    plain = code.encode()
    if len(plain) >= PAYLOAD:
        raise ProtocolError("wrong length", "A code is too long.", hint=f"At most {PAYLOAD - 1} bytes.")
    return bytes([len(plain)]) + plain.ljust(PAYLOAD - 1, b"\0")


def _codes_told(body: bytes, sender: str) -> list[str]:
    try:
        return msgspec.json.decode(body, type=list[str])
    except msgspec.MsgspecError:
        raise ProtocolError("tampered", f"{sender} sent no list of codes.", hint=AGAIN) from None


def _code_text(block: bytes) -> str:
    if block[0] >= PAYLOAD or block[1 + block[0] :].strip(b"\0"):
        raise ProtocolError("tampered", "A code cannot be read.", hint=AGAIN)
    try:
        return block[1 : 1 + block[0]].decode()
    except UnicodeDecodeError:
        raise ProtocolError("tampered", "A code cannot be read.", hint=AGAIN) from None
