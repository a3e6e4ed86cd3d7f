"""Kushilevitz and Ostrovsky (1997): retrieval by quadratic residues, with recursion.

A column is asked for by a number that is no square but looks like one to whoever cannot factor the modulus. Each bit of
an entry costs a number in the answer; a further dimension treats the bits of those numbers as the next database.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from discreet.private.problems import ProtocolError
from discreet.private.retrieval.boxes import Entries, boxed, checked_sides, entry_of, place, read_head, written_head
from discreet.private.retrieval.frames import ANSWER, QUERY, Asked, joined, pack, require_length, split, unpack
from discreet.private.retrieval.moduli import (
    BITS,
    big_integers,
    checked_bits,
    random_primes,
    random_unit,
    require_bits,
    require_unit,
)

MOST_NUMBERS = 2_000_000
"""Numbers in an answer; recursion multiplies them by the bits of the modulus."""


class KushilevitzOstrovsky:
    """The client of retrieval by quadratic residues.

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
    >>> client = KushilevitzOstrovsky(6, 1, dimensions=1, insecure_bits=128)
    >>> asked = client.query(4)
    >>> answer = answer_residues(as_entries([b"a", b"b", b"c", b"d", b"e", b"f"]), asked.messages[0], insecure_bits=128)
    >>> client.decode(asked, [answer])
    b'e'
    """

    name = "ko"
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
        self._primes = random_primes(self.bits)
        self.modulus = self._primes[0] * self._primes[1]

    def query(self, index: int) -> Asked:
        """Ask for an entry: a square for every place of a dimension but the wanted one."""
        numbers = []
        for side, wanted in zip(self.sides, place(index, self.entries, self.sides), strict=True):
            numbers += [self._number(square=at != wanted) for at in range(side)]
        width = self.bits // 8
        head = written_head(self.bits, 0, self.entries, self.entry_bytes, self.sides)
        body = head + joined([self.modulus, *numbers], width)
        return Asked((pack(self.name, QUERY, body),))

    def _number(self, square: bool) -> int:
        p, q = self._primes
        legendre = big_integers().legendre
        while True:
            drawn = random_unit(self.modulus)
            if square:
                return drawn * drawn % self.modulus
            if legendre(drawn, p) == legendre(drawn, q) == -1:
                return drawn

    def decode(self, asked: Asked, answers: Sequence[bytes]) -> bytes:
        """The entry, from the answer: a number is a square where the bit is 0."""
        body = unpack(answers[0], ANSWER, self.name).body
        width = self.bits // 8
        numbers = 8 * self.entry_bytes * self.bits ** (len(self.sides) - 1)
        require_length(body, numbers * width, "The answer")
        found = split(body, width)
        for _ in self.sides[1:]:
            bits = self._read(found)
            found = [int("".join(bits[at : at + self.bits]), 2) for at in range(0, len(bits), self.bits)]
        return entry_of(int("".join(self._read(found)), 2), self.entry_bytes)

    def _read(self, numbers: Sequence[int]) -> list[str]:
        library, p = big_integers(), self._primes[0]
        for number in numbers:
            if not 0 < number < self.modulus or library.jacobi(number, self.modulus) != 1:
                raise ProtocolError("damaged answer", "A number of the answer is outside the group.", hint="Ask anew.")
        return ["0" if library.legendre(number, p) == 1 else "1" for number in numbers]


def answer_residues(entries: Entries, message: bytes, *, insecure_bits: int | None = None) -> bytes:
    """The server's part: it sees the message and the database, and nothing else.

    Raises
    ------
    ProtocolError
        When the message does not fit the database, or has numbers outside the group.
    """
    body = unpack(message, QUERY, "ko").body
    bits, _, sides, rest = read_head(entries, body)
    width = bits // 8
    require_length(rest, width * (1 + sum(sides)), "The query")
    modulus, *numbers = split(rest, width)
    require_bits(bits, modulus, insecure_bits)
    _check_numbers(numbers, modulus)
    planes = 8 * entries.shape[1]
    if planes * bits ** (len(sides) - 1) > MOST_NUMBERS:
        raise ProtocolError(
            "too much work",
            f"The answer would have more than {MOST_NUMBERS:,} numbers.",
            hint="Use fewer dimensions, or another scheme.",
        )
    cells, length = [[number] for number in boxed(entries, sides)], planes
    for side in sides:
        asked, numbers = numbers[:side], numbers[side:]
        cells = [_line(cells[at : at + side], asked, modulus, length) for at in range(0, len(cells), side)]
        length = bits
    return pack("ko", ANSWER, joined(cells[0], width))


def _check_numbers(numbers: Sequence[int], modulus: int) -> None:
    jacobi = big_integers().jacobi
    for number in numbers:
        require_unit(number, modulus, modulus)
        if jacobi(number, modulus) != 1:
            raise ProtocolError(
                "element outside the group", "A number of the query has the wrong Jacobi symbol.", hint="Ask anew."
            )


def _line(cells: Sequence[Sequence[int]], asked: Sequence[int], modulus: int, length: int) -> list[int]:
    """Products over one line, for each bit of each number of its cells, highest bit first."""
    products = []
    for numbers in zip(*cells, strict=True):
        for bit in range(length - 1, -1, -1):
            # A fresh square, so that a line of zeros is not the constant 1.
            product = pow(1 + secrets.randbelow(modulus - 1), 2, modulus)
            for number, factor in zip(numbers, asked, strict=True):
                if number >> bit & 1:
                    product = product * factor % modulus
            products.append(product)
    return products
