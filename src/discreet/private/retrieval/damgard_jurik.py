"""Damgård and Jurik (2001): encryption of numbers modulo N**t that can be added and multiplied by known numbers.

With t = 1 it is Paillier's. The same key serves every t, which is what lets one ciphertext be the plaintext of the
next.
"""

from __future__ import annotations

from functools import cached_property
from math import factorial

from discreet.private.problems import ProtocolError
from discreet.private.retrieval.moduli import big_integers, random_primes, random_unit


class DamgardJurik:
    """A key pair; the public part is ``modulus``.

    Parameters
    ----------
    bits
        Length of the modulus.

    Examples
    --------
    >>> key = DamgardJurik(128)
    >>> sealed = key.encrypt(5, 2) * key.encrypt(7, 2) % key.modulus**3
    >>> key.decrypt(sealed, 2)
    12
    """

    def __init__(self, bits: int) -> None:
        self._primes = random_primes(bits)
        self.modulus = self._primes[0] * self._primes[1]
        self.bits = bits

    @cached_property
    def _order(self) -> int:
        p, q = self._primes
        return int(big_integers().lcm(p - 1, q - 1))

    def encrypt(self, number: int, t: int) -> int:
        """A fresh ciphertext of a number below N**t, of t + 1 times the length of the modulus."""
        modulus = self.modulus ** (t + 1)
        return int(_power_of_next(self.modulus, number, t) * self._mask(t) % modulus)

    def _mask(self, t: int) -> int:
        """A random N**t-th power modulo N**(t+1), by way of the two primes: four times as fast."""
        library, (p, q) = big_integers(), self._primes
        drawn = random_unit(self.modulus)
        one, other = p ** (t + 1), q ** (t + 1)
        # Modulo p**(t+1) the exponent N**t counts modulo p**t (p - 1).
        a = library.powmod_sec(drawn, self.modulus**t % (p**t * (p - 1)), one)
        b = library.powmod_sec(drawn, self.modulus**t % (q**t * (q - 1)), other)
        return int(a + one * ((b - a) * library.invert(one, other) % other))

    def decrypt(self, sealed: int, t: int) -> int:
        """The number in a ciphertext.

        Raises
        ------
        ProtocolError
            When the ciphertext is none of this key.
        """
        library = big_integers()
        modulus, plain = self.modulus ** (t + 1), self.modulus**t
        if not 0 < sealed < modulus or library.gcd(sealed, self.modulus) != 1:
            raise ProtocolError("damaged answer", "A number of the answer is outside the group.", hint="Ask anew.")
        secret = self._order * int(library.invert(self._order, plain))
        raised = int(library.powmod_sec(sealed, secret, modulus))
        if raised % self.modulus != 1:
            raise ProtocolError("damaged answer", "A number of the answer is no ciphertext.", hint="Ask anew.")
        return _exponent_of_next(raised, self.modulus, t)


def _power_of_next(modulus: int, number: int, t: int) -> int:
    """(1 + N)**number modulo N**(t+1)."""
    if number in (0, 1):
        return 1 + number * modulus
    return int(big_integers().powmod(1 + modulus, number, modulus ** (t + 1)))


def _exponent_of_next(raised: int, modulus: int, t: int) -> int:
    """The exponent of 1 + N, digit by digit: the binomial terms of what is known so far are taken off."""
    found = 0
    for j in range(1, t + 1):
        power = modulus**j
        rest = (raised % (power * modulus) - 1) // modulus
        term = found
        for k in range(2, j + 1):
            found -= 1
            term = term * found % power
            inverse = int(big_integers().invert(factorial(k), power))
            rest = (rest - term * modulus ** (k - 1) * inverse) % power
        found = rest % power
    return found
