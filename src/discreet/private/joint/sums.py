"""Secure sums: all owners learn the total of a vector, and nobody learns more than that of the part of another.

``shares``: every owner cuts its vector into random parts, one for each owner, and shows the sum of the parts that it
got. ``masks``: every pair of owners adds and takes away the same random numbers. ``ring``: each adds its own to what it
got from the owner before. In the first two, what is shown is committed to before anybody shows it.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.private.joint.fixed_point import (
    SCALE_BITS,
    Halves,
    from_bytes,
    from_halves,
    minus,
    plus,
    to_bytes,
    to_halves,
)
from discreet.private.parties.conversation import Desk
from discreet.private.parties.randomness import key_stream
from discreet.private.parties.rounds import Talk, TalkRound
from discreet.private.parties.sealing import commitment
from discreet.private.problems import ProtocolError

SumWay = Literal["shares", "masks", "ring"]
WAYS: tuple[SumWay, ...] = get_args(SumWay)
FEWEST = 3
"""Owners: of two, each takes its own part off the total and has the other's."""
NONCE = 32


def require_owners(count: int, two_owners: bool = False) -> None:
    """Refuse sums of so few owners that each sees the other's part.

    Raises
    ------
    ProtocolError
        ``too few parties``.
    """
    if count < (2 if two_owners else FEWEST):
        raise ProtocolError(
            "too few parties",
            f"{count} owners want to add up; of two, each would see the other's part.",
            hint=f"At least {FEWEST} owners are needed.",
        )


def require_way(way: str) -> None:
    """Refuse a way to add up that there is not."""
    if way not in WAYS:
        raise ParameterError(f"sums={way!r} is not allowed.", hint=f"Use one of {', '.join(WAYS)}.")


def secure_sum(
    desk: Desk, values: NDArray[np.float64], what: str, way: SumWay = "shares", scale_bits: int = SCALE_BITS
) -> Talk[NDArray[np.float64]]:
    """The total over all owners of a vector of each.

    A constant 1 is added up along with it, and must come out as the number of owners.

    Parameters
    ----------
    desk
        Of this owner.
    values
        Its vector.
    what
        A name that no other sum of the run has.
    way
        How.
    scale_bits
        Bits behind the point.

    Raises
    ------
    ProtocolError
        ``wrong sum`` when somebody did not add its part, ``tampered`` when somebody shows what it did not commit to.
    """
    own = to_halves(values, len(desk.parties), scale_bits)
    return from_halves((yield from _total(desk, own, what, way)), scale_bits)


def all_say_yes(desk: Desk, answers: NDArray[np.bool_], what: str, way: SumWay = "shares") -> Talk[NDArray[np.bool_]]:
    """To which questions all owners say yes; nobody learns who, or how many, said no to the others.

    Who says no adds a random number modulo 2^128: the total is 0 where nobody did.
    """
    no = _random(desk, answers.size, what, "no")
    own = np.where(answers.ravel()[:, None], np.zeros_like(no), no)
    total = yield from _total(desk, own, what, way)
    return np.asarray((total == 0).all(axis=1))


def _total(desk: Desk, values: Halves, what: str, way: SumWay) -> Talk[Halves]:
    """The total modulo 2^128, with the constant that shows that all owners are in it."""
    one = np.array([[1, 0]], dtype=np.uint64)
    own = np.concatenate([values, one])
    if way == "shares":
        total = yield from _by_shares(desk, own, what)
    elif way == "masks":
        total = yield from _by_masks(desk, own, what)
    else:
        total = yield from _by_ring(desk, own, what)
    if not np.array_equal(total[-1:], one * np.uint64(len(desk.parties))):
        raise ProtocolError(
            "wrong sum",
            f"In the sum {what!r} the ones of {len(desk.parties)} owners do not add up.",
            hint="An owner is missing or did something else; nothing of this sum is used.",
        )
    desk.opened.append((what, len(values)))
    return total[:-1]


def _by_shares(desk: Desk, own: Halves, what: str) -> Talk[Halves]:
    parts = {to: _random(desk, len(own), what, "share", to) for to in desk.others}
    for part in parts.values():
        own = minus(own, part)
    heard = yield _said(f"{what}: shares", desk, {to: to_bytes(part) for to, part in parts.items()})
    for sender, body in heard.items():
        own = plus(own, from_bytes(body, len(own), sender))
    return (yield from _shown(desk, own, what))


def _by_masks(desk: Desk, own: Halves, what: str) -> Talk[Halves]:
    for other in desk.others:
        key = desk.envelopes.pair_key(other, "mask", what)
        mask = np.frombuffer(key_stream(key, 16 * len(own)), "<u8").reshape(-1, 2).astype(np.uint64)
        own = plus(own, mask) if desk.parties.index(desk.me) < desk.parties.index(other) else minus(own, mask)
    desk.draws.take(1, what, "mask")  # refuses a second use of the name, and so of the masks
    return (yield from _shown(desk, own, what))


def _by_ring(desk: Desk, own: Halves, what: str) -> Talk[Halves]:
    owners = desk.parties
    place, size = owners.index(desk.me), len(own)
    start = _random(desk, size, what, "ring")
    carried = plus(own, start) if place == 0 else own
    for step in range(len(owners)):
        sends, hears = step == place, step == (place - 1) % len(owners)
        says = {owners[(place + 1) % len(owners)]: to_bytes(carried)} if sends else {}
        source = owners[(place - 1) % len(owners)]
        heard = yield TalkRound(f"{what}: step {step + 1}", says, frozenset([source] if hears else []))
        if hears:
            got = from_bytes(heard[source], size, source)
            carried = minus(got, start) if place == 0 else plus(own, got)
    first = owners[0]
    says = dict.fromkeys(desk.others, to_bytes(carried)) if place == 0 else {}
    heard = yield TalkRound(f"{what}: total", says, frozenset([first] if place else []))
    return carried if place == 0 else from_bytes(heard[first], size, first)


def _shown(desk: Desk, own: Halves, what: str) -> Talk[Halves]:
    """The sum of what all show, which each has committed to before."""
    body = to_bytes(own)
    nonce = desk.draws.take(NONCE, what, "nonce")
    promises = yield _said(f"{what}: promises", desk, dict.fromkeys(desk.others, commitment(nonce, body)))
    heard = yield _said(f"{what}: parts", desk, dict.fromkeys(desk.others, nonce + body))
    total = own
    for sender, shown in heard.items():
        if commitment(shown[:NONCE], shown[NONCE:]) != promises[sender]:
            raise ProtocolError("tampered", f"{sender} shows another part of {what!r} than it had committed to.")
        total = plus(total, from_bytes(shown[NONCE:], len(own), sender))
    return total


def _random(desk: Desk, count: int, *purpose: str) -> Halves:
    return np.frombuffer(desk.draws.take(16 * count, *purpose), "<u8").reshape(count, 2).astype(np.uint64)


def _said(what: str, desk: Desk, says: dict[str, bytes]) -> TalkRound:
    return TalkRound(what, says, frozenset(desk.others))
