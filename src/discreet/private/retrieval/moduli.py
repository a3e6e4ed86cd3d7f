"""Moduli of two secret primes: how long they must be, how they are drawn, what the other party may send."""

from __future__ import annotations

import secrets
from functools import cache
from typing import Any

from discreet.errors import ParameterError, missing_extra
from discreet.private.problems import ProtocolError

BITS = 3072
"""Length of a modulus unless another is asked for."""
LEAST_BITS = 2048
"""Shorter moduli are for tests and have to be asked for by name (``insecure_bits``)."""
SURE = 40
"""Rounds of the test for primes: an error has a chance below 4**-40."""


@cache
def big_integers() -> Any:
    """The package for big integers, which only the schemes of the source need."""
    try:
        import gmpy2
    except ImportError:
        raise missing_extra("gmpy2", "private", "Retrieval by a scheme on factoring") from None
    return gmpy2


def checked_bits(bits: int, insecure_bits: int | None) -> int:
    """The length of the modulus; a short one only where a test asks for it by name.

    Examples
    --------
    >>> checked_bits(3072, None), checked_bits(3072, 512)
    (3072, 512)
    """
    if insecure_bits is not None:
        if insecure_bits < 128 or insecure_bits % 16:
            raise ParameterError(
                f"insecure_bits={insecure_bits} is not allowed.", hint="Use a multiple of 16 from 128."
            )
        return insecure_bits
    if bits < LEAST_BITS or bits % 16 or bits > 32_768:
        raise ParameterError(
            f"A modulus of {bits} bits is not allowed.",
            hint=f"Use a multiple of 16 from {LEAST_BITS} to 32,768, best {BITS}. Tests may give insecure_bits=.",
        )
    return bits


def require_bits(bits: int, modulus: int, insecure_bits: int | None) -> None:
    """What a server asks of a modulus that a client sends."""
    least = insecure_bits or LEAST_BITS
    if bits < least or modulus.bit_length() < least:
        raise ProtocolError(
            "key too short",
            f"The modulus has {min(bits, modulus.bit_length())} bits; {least} are the least.",
            hint=f"Use {BITS} bits.",
        )
    if modulus.bit_length() != bits or modulus % 2 == 0:
        raise ProtocolError(
            "element outside the group", f"The modulus is not an odd number of {bits} bits.", hint="Make a new key."
        )


def require_unit(element: int, modulus: int, factors: int) -> None:
    """Refuse a number that is no invertible element of the group; ``factors`` has the modulus's prime factors."""
    if not 0 < element < modulus or big_integers().gcd(element, factors) != 1:
        raise ProtocolError(
            "element outside the group", "A number of the message is no element of the group.", hint="Ask anew."
        )


def random_unit(modulus: int) -> int:
    """A random element of the group, of the system's randomness."""
    gcd = big_integers().gcd
    while True:
        drawn = 1 + secrets.randbelow(modulus - 1)
        if gcd(drawn, modulus) == 1:
            return drawn


def random_prime(bits: int) -> int:
    """A random prime whose two highest bits are set, so that a product of two has exactly twice the length."""
    is_prime = big_integers().is_prime
    while True:
        drawn = secrets.randbits(bits) | (3 << (bits - 2)) | 1
        if is_prime(drawn, SURE):
            return drawn


def random_primes(bits: int) -> tuple[int, int]:
    """Two different primes for a modulus of so many bits, neither of which divides the other less one."""
    while True:
        p, q = random_prime(bits // 2), random_prime(bits // 2)
        if p != q and (p - 1) % q and (q - 1) % p:
            return p, q
