"""Gentry and Ramzan (2005): retrieval by groups whose order hides a prime power.

The server knows one number e that leaves each entry as its remainder modulo a prime power of its own. The client
makes a modulus whose group has an order that the wanted prime power divides, which nobody else can see, and reads the
entry from g**e as a discrete logarithm in a small group.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from discreet.errors import ParameterError
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.boxes import (
    Entries,
    boxed,
    checked_sides,
    cut,
    entry_of,
    glued,
    place,
    read_head,
    written_head,
)
from discreet.private.retrieval.frames import ANSWER, QUERY, Asked, joined, pack, require_length, split, unpack
from discreet.private.retrieval.moduli import BITS, SURE, big_integers, checked_bits, require_bits, require_unit

SIEVED = 1 << 18
"""Candidates with a factor below this are not tested."""
WINDOW = 1 << 15
"""Candidates that are sieved at once."""
MOST_EXPONENT_BITS = 20_000_000
"""Bits of the server's exponents for one question."""


def hidden_chunk(bits: int) -> int:
    """Bits of an entry in one answer: a fifth of the modulus, well below the quarter at which factoring becomes
    easy."""
    return bits // 5


def prime_powers(side: int, chunk: int) -> list[tuple[int, int]]:
    """For each place of a dimension an odd prime and the least exponent whose power is above all chunks."""
    found = []
    for prime in _odd_primes(side):
        exponent = math.ceil(chunk / math.log2(prime))
        while prime**exponent <= 1 << chunk:
            exponent += 1
        while prime ** (exponent - 1) > 1 << chunk:
            exponent -= 1
        found.append((prime, exponent))
    return found


@cache
def _odd_primes(count: int) -> tuple[int, ...]:
    limit = max(20, int((count + 1) * (math.log(count + 2) + math.log(math.log(count + 3)) + 2)))
    return tuple(small_primes(limit)[1 : count + 1].tolist())


@cache
def small_primes(limit: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """All primes below a limit."""
    sieve = np.ones(limit, bool)
    sieve[:2] = False
    for at in range(2, math.isqrt(limit - 1) + 1):
        if sieve[at]:
            sieve[at * at :: at] = False
    return np.flatnonzero(sieve)


class _HiddenGroup(NamedTuple):
    """A modulus whose order the prime power divides; all but ``modulus`` and ``element`` stay with the client."""

    modulus: int
    element: int
    factor: int
    prime: int
    exponent: int


class GentryRamzan:
    """The client of retrieval by hidden orders.

    Parameters
    ----------
    entries, entry_bytes
        Size of the database.
    dimensions
        Depth of recursion plus one.
    bits
        Length of the modulus, from 2048.
    sides
        Sides of the box, in place of ``dimensions``.
    insecure_bits
        A shorter modulus, for tests.

    Examples
    --------
    >>> from discreet.private.retrieval.boxes import as_entries
    >>> client = GentryRamzan(4, 2, insecure_bits=256)
    >>> asked = client.query(1)
    >>> answer = answer_hidden(as_entries([b"ab", b"cd", b"ef", b"gh"]), asked.messages[0], insecure_bits=256)
    >>> client.decode(asked, [answer])
    b'cd'
    """

    name = "gr"
    servers = 1

    def __init__(
        self,
        entries: int,
        entry_bytes: int,
        *,
        dimensions: int = 1,
        bits: int = BITS,
        sides: Sequence[int] | None = None,
        insecure_bits: int | None = None,
    ) -> None:
        self.entries, self.entry_bytes = entries, entry_bytes
        self.sides = checked_sides(entries, dimensions, sides)
        self.bits = checked_bits(bits, insecure_bits)
        chunk = hidden_chunk(self.bits)
        self._powers = [prime_powers(side, chunk) for side in self.sides]
        if any(math.log2(prime) > self.bits / 40 for powers in self._powers for prime, _ in powers):
            raise ParameterError(
                f"{max(self.sides):,} places in a dimension are too many for a modulus of {self.bits} bits.",
                hint="Use a longer modulus, or more dimensions.",
            )

    def query(self, index: int) -> Asked:
        """Ask for an entry: a new modulus and an element for each dimension."""
        wanted = place(index, self.entries, self.sides)
        groups = [self._group(*powers[at]) for powers, at in zip(self._powers, wanted, strict=True)]
        sent = [number for group in groups for number in (group.modulus, group.element)]
        head = written_head(self.bits, 0, self.entries, self.entry_bytes, self.sides)
        return Asked((pack(self.name, QUERY, head + joined(sent, self.bits // 8)),), groups)

    def _group(self, prime: int, exponent: int) -> _HiddenGroup:
        half, power = self.bits // 2, prime**exponent
        hiding = _structured_prime(half, power, 1)
        while (other := _structured_prime(half, 1, prime)) == hiding:
            continue
        library, order, modulus = big_integers(), (hiding - 1) * (other - 1), hiding * other
        while True:
            element = 2 + secrets.randbelow(modulus - 3)
            if library.gcd(element, modulus) == 1 and library.powmod_sec(element, order // prime, modulus) != 1:
                return _HiddenGroup(modulus, element, hiding, prime, exponent)

    def decode(self, asked: Asked, answers: Sequence[bytes]) -> bytes:
        """The entry, from discrete logarithms in the small groups."""
        body = unpack(answers[0], ANSWER, self.name).body
        width, chunk = self.bits // 8, hidden_chunk(self.bits)
        first, each = -(-8 * self.entry_bytes // chunk), -(-self.bits // chunk)
        require_length(body, width * first * each ** (len(self.sides) - 1), "The answer")
        found = split(body, width)
        for level, group in reversed(list(enumerate(asked.kept))):
            chunks = [_logarithm(group, one, chunk) for one in found]
            if level:
                found = [glued(chunks[at : at + each], chunk) for at in range(0, len(chunks), each)]
            else:
                found = [glued(chunks, chunk)]
        return entry_of(found[0], self.entry_bytes)


def _structured_prime(bits: int, power: int, avoided: int) -> int:
    """A random prime 2 q power + 1 of so many bits, its two highest set, with q a prime that ``avoided`` is not."""
    library, primes = big_integers(), small_primes(min(SIEVED, 128 * bits))[1:]
    step = 2 * power
    low, high = -(-(3 << (bits - 2)) // step), ((1 << bits) - 1) // step
    while True:
        start = (low + secrets.randbelow(max(1, high - low - 2 * WINDOW))) | 1
        good = np.ones(WINDOW, bool)
        for prime in primes.tolist():
            if prime * prime > high:
                break
            inverse = pow(2, -1, prime)
            good[-start * inverse % prime :: prime] = False  # start + 2 j is a multiple
            slope = 2 * step % prime
            if slope:
                good[-(start * step + 1) * pow(slope, -1, prime) % prime :: prime] = False
        for at in np.flatnonzero(good).tolist():
            q = start + 2 * at
            if q > high:
                break
            candidate = q * step + 1
            if (
                q != avoided
                and library.is_prime(q, 1)
                and library.is_prime(candidate, SURE)
                and library.is_prime(q, SURE)
            ):
                return candidate


def _logarithm(group: _HiddenGroup, answer: int, chunk: int) -> int:
    """The exponent by Pohlig and Hellman: digit by digit in base of the prime, modulo the factor that hides it."""
    if not 0 < answer < group.modulus:
        raise ProtocolError("damaged answer", "A number of the answer is outside the group.", hint="Ask anew.")
    library, factor, prime = big_integers(), group.factor, group.prime
    power = prime**group.exponent
    rest = (factor - 1) // power
    base = library.powmod_sec(group.element, rest, factor)
    target = library.powmod_sec(answer % factor, rest, factor) if answer % factor else 0
    smallest = library.powmod(base, power // prime, factor)
    digits = {}
    running = library.mpz(1)
    for digit in range(prime):
        digits[running] = digit
        running = running * smallest % factor
    inverse, found = library.invert(base, factor), 0
    for at in range(group.exponent):
        reduced = target * library.powmod(inverse, found, factor) % factor
        known = digits.get(library.powmod(reduced, power // prime ** (at + 1), factor))
        if known is None:
            raise ProtocolError(
                "damaged answer", "A number of the answer is outside the small group.", hint="Ask anew."
            )
        found += known * prime**at
    if found >> chunk:
        raise ProtocolError("damaged answer", "The answer is longer than a chunk.", hint="Ask anew.")
    return int(found)


def answer_hidden(entries: Entries, message: bytes, *, insecure_bits: int | None = None) -> bytes:
    """The server's part: it sees the message and the database, and nothing else."""
    bits, _, sides, rest = read_head(entries, unpack(message, QUERY, "gr").body)
    width, chunk = bits // 8, hidden_chunk(bits)
    require_length(rest, 2 * width * len(sides), "The query")
    numbers = split(rest, width)
    first, each = -(-8 * entries.shape[1] // chunk), -(-bits // chunk)
    if math.prod(sides) * first * chunk > MOST_EXPONENT_BITS:
        raise ProtocolError(
            "too much work", "The exponents would be too long.", hint="Use 'simplepir', or download the database."
        )
    cells = [cut(number, chunk, first) for number in boxed(entries, sides)]
    for level, side in enumerate(sides):
        modulus, element = numbers[2 * level], numbers[2 * level + 1]
        require_bits(bits, modulus, insecure_bits)
        require_unit(element, modulus, modulus)
        if element in (1, modulus - 1):
            raise ProtocolError("element outside the group", "The element of the query has order 1 or 2.")
        if level:
            cells = [[piece for number in cell for piece in cut(number, chunk, each)] for cell in cells]
        cells = _raised(cells, prime_powers(side, chunk), element, modulus)
    return pack("gr", ANSWER, joined(cells[0], width))


def _raised(
    cells: Sequence[Sequence[int]], powers: Sequence[tuple[int, int]], element: int, modulus: int
) -> list[list[int]]:
    """For each line and piece the element to the power of the number with the cells' values as remainders."""
    library = big_integers()
    moduli = [prime**exponent for prime, exponent in powers]
    product = math.prod(moduli)
    basis = [product // one * int(library.invert(product // one, one)) for one in moduli]
    found = []
    for at in range(0, len(cells), len(moduli)):
        line = []
        for values in zip(*cells[at : at + len(moduli)], strict=True):
            exponent = sum(value * part for value, part in zip(values, basis, strict=True)) % product
            line.append(int(library.powmod(element, exponent, modulus)))
        found.append(line)
    return found
