"""The total of the helper's column over shared records: values encrypted in the group, added up while encrypted."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from discreet.private.parties.conversation import Desk
from discreet.private.parties.randomness import SecretDraws
from discreet.private.problems import ProtocolError
from discreet.private.union.group import (
    AGAIN,
    IDENTITY,
    added,
    base_times,
    library,
    points_of,
    secret_scalar,
    times,
)

SMALL = 2**16
"""Steps of the search for a total, small ones and large ones."""
TOTAL_BITS = 32
SPARE = 16
"""Bits of choices that a total must leave open."""


@dataclass(frozen=True)
class SumKey:
    """The helper's key for values (ElGamal in the exponent)."""

    secret: bytes = field(repr=False)
    public: bytes

    @classmethod
    def drawn(cls, draws: SecretDraws) -> SumKey:
        """A new key."""
        secret = secret_scalar(draws, "key", "values")
        return cls(secret, base_times(secret))


def require_choices(shared: int, records: int) -> None:
    """Refuse a total that could tell the helper which of its records are shared: it knows all values.

    Raises
    ------
    ProtocolError
        ``too small`` when there are few ways to choose so many of its records.
    """
    ways = math.lgamma(records + 1) - math.lgamma(shared + 1) - math.lgamma(records - shared + 1)
    if 0 < shared < records and ways / math.log(2) < TOTAL_BITS + SPARE:
        raise ProtocolError(
            "too small",
            "So few sets of the helper's records can be the shared ones that their total could tell which.",
            hint="Run the union without a total.",
        )


def number_point(value: int) -> bytes:
    """The base point, so many times."""
    return base_times(value.to_bytes(32, "little"))


def encrypted(draws: SecretDraws, key: SumKey, values: list[int]) -> list[bytes]:
    """Each value as two points."""
    found = []
    for number, value in enumerate(values):
        r = secret_scalar(draws, "value", str(number))
        (mask,) = times(r, [key.public])
        found.append(base_times(r) + added(mask, number_point(value)))
    return found


def total_cipher(desk: Desk, body: bytes, chosen: list[bool], helper: str) -> bytes:
    """The encrypted total of the chosen values: a new encryption, in which the helper does not see which were chosen.

    ``body`` begins with the helper's public key.
    """
    (public, *points) = points_of(body, 1 + 2 * len(chosen), helper, "step 3")
    r = secret_scalar(desk.draws, "total")
    first, second = base_times(r), times(r, [public])[0]
    for k, taken in enumerate(chosen):
        if taken:
            first, second = added(first, points[2 * k]), added(second, points[2 * k + 1])
    return first + second


def shared_total(key: SumKey, body: bytes, sender: str) -> int:
    """Decrypt a total.

    Raises
    ------
    ProtocolError
        ``tampered`` when it is none.
    """
    first, second = points_of(body, 2, sender, "step 5")
    (mask,) = times(key.secret, [first])
    target = library().crypto_core_ristretto255_sub(second, mask)
    return _logarithm(target, sender)


def _logarithm(target: bytes, sender: str) -> int:
    """How many times the base point: small steps kept, then large ones."""
    one, known, here = number_point(1), {}, IDENTITY
    for k in range(SMALL):
        known[here] = k
        here = added(here, one)
    back = library().crypto_core_ristretto255_scalar_negate(SMALL.to_bytes(32, "little"))
    stride = base_times(back)
    for k in range(SMALL):
        if target in known:
            return k * SMALL + known[target]
        target = added(target, stride)
    raise ProtocolError("tampered", f"{sender} sent no total, or one of 2^32 or more.", hint=AGAIN)
