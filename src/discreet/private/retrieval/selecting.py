"""Stern (1998) and Lipmaa (2005): encrypted selectors of zeros and one, raised to the entries and multiplied.

Each dimension has a vector of ciphertexts, one of which holds 1. Stern cuts the ciphertexts of one dimension into
plaintexts of the next, so that answers grow by a factor a dimension; Lipmaa makes the plaintexts longer instead, so
that they grow by a term.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import ParameterError
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.boxes import (
    Entries,
    boxed,
    checked_sides,
    cut,
    cut_in_base,
    entry_of,
    glued,
    glued_in_base,
    place,
    read_head,
    written_head,
)
from discreet.private.retrieval.damgard_jurik import DamgardJurik
from discreet.private.retrieval.frames import ANSWER, QUERY, Asked, joined, pack, require_length, split, unpack
from discreet.private.retrieval.moduli import BITS, big_integers, checked_bits, require_bits, require_unit

MOST_POWERS = 200_000
"""Powers of full length that a server computes for one question: about half an hour."""


def chunk_bits(bits: int, s: int) -> int:
    """Bits of an entry that one plaintext takes: below N**s for every N of so many bits."""
    return s * (bits - 1)


def pieces_of(entry_bytes: int, bits: int, s: int) -> int:
    """Plaintexts that an entry takes."""
    return -(-8 * entry_bytes // chunk_bits(bits, s))


class _Selecting:
    """What both clients have in common."""

    name: str
    servers = 1

    def __init__(
        self,
        entries: int,
        entry_bytes: int,
        *,
        s: int = 1,
        dimensions: int = 2,
        bits: int = BITS,
        sides: Sequence[int] | None = None,
        insecure_bits: int | None = None,
    ) -> None:
        if not 1 <= s <= 16:
            raise ParameterError(f"s={s} is not allowed.", hint="Use 1 to 16; 1 is the default.")
        self.entries, self.entry_bytes, self.s = entries, entry_bytes, s
        self.sides = checked_sides(entries, dimensions, sides)
        self.bits = checked_bits(bits, insecure_bits)
        self.key = DamgardJurik(self.bits)

    def _body(self, numbers: bytes) -> bytes:
        head = written_head(self.bits, self.s, self.entries, self.entry_bytes, self.sides)
        return head + joined([self.key.modulus], self.bits // 8) + numbers

    def _entry(self, pieces: Sequence[int]) -> bytes:
        return entry_of(glued(pieces, chunk_bits(self.bits, self.s)), self.entry_bytes)


class LipmaaScheme(_Selecting):
    """The client of Lipmaa's scheme: dimension j has plaintexts of s + j - 1 lengths of the modulus.

    Parameters
    ----------
    entries, entry_bytes
        Size of the database.
    s
        Length of the first plaintexts, in moduli.
    dimensions
        How many.
    bits
        Length of the modulus, from 2048.
    sides
        Sides of the box, in place of ``dimensions``.
    insecure_bits
        A shorter modulus, for tests.

    Examples
    --------
    >>> from discreet.private.retrieval.boxes import as_entries
    >>> client = LipmaaScheme(4, 2, insecure_bits=128)
    >>> asked = client.query(2)
    >>> answer = answer_lipmaa(as_entries([b"ab", b"cd", b"ef", b"gh"]), asked.messages[0], insecure_bits=128)
    >>> client.decode(asked, [answer])
    b'ef'
    """

    name = "lipmaa"

    def query(self, index: int) -> Asked:
        """Ask for an entry: selectors for all places of a dimension but the last, which the server works out."""
        numbers = b""
        for j, (side, wanted) in enumerate(zip(self.sides, place(index, self.entries, self.sides), strict=True)):
            t = self.s + j
            sealed = [self.key.encrypt(int(at == wanted), t) for at in range(side - 1)]
            numbers += joined(sealed, (t + 1) * self.bits // 8)
        return Asked((pack(self.name, QUERY, self._body(numbers)),))

    def decode(self, asked: Asked, answers: Sequence[bytes]) -> bytes:
        """The entry: what one level holds is a ciphertext of the level below."""
        body = unpack(answers[0], ANSWER, self.name).body
        last = self.s + len(self.sides)
        width = last * self.bits // 8
        require_length(body, width * pieces_of(self.entry_bytes, self.bits, self.s), "The answer")
        found = split(body, width)
        for t in range(last - 1, self.s - 1, -1):
            found = [self.key.decrypt(one, t) for one in found]
        return self._entry(found)


class SternScheme(_Selecting):
    """The client of Stern's scheme: plaintexts of s lengths of the modulus in every dimension.

    Parameters
    ----------
    entries, entry_bytes
        Size of the database.
    s
        Length of plaintexts, in moduli.
    dimensions
        How many.
    bits
        Length of the modulus, from 2048.
    sides
        Sides of the box, in place of ``dimensions``.
    insecure_bits
        A shorter modulus, for tests.

    Examples
    --------
    >>> from discreet.private.retrieval.boxes import as_entries
    >>> client = SternScheme(4, 2, insecure_bits=128)
    >>> asked = client.query(3)
    >>> answer = answer_stern(as_entries([b"ab", b"cd", b"ef", b"gh"]), asked.messages[0], insecure_bits=128)
    >>> client.decode(asked, [answer])
    b'gh'
    """

    name = "stern"

    def query(self, index: int) -> Asked:
        """Ask for an entry: a selector for every place of every dimension."""
        sealed = []
        for side, wanted in zip(self.sides, place(index, self.entries, self.sides), strict=True):
            sealed += [self.key.encrypt(int(at == wanted), self.s) for at in range(side)]
        return Asked((pack(self.name, QUERY, self._body(joined(sealed, (self.s + 1) * self.bits // 8))),))

    def decode(self, asked: Asked, answers: Sequence[bytes]) -> bytes:
        """The entry: plaintexts are glued to the ciphertexts of the level below."""
        body = unpack(answers[0], ANSWER, self.name).body
        counts = stern_pieces(pieces_of(self.entry_bytes, self.bits, self.s), self.s, len(self.sides))
        width = (self.s + 1) * self.bits // 8
        require_length(body, width * counts[-1], "The answer")
        found = split(body, width)
        plain, sealed = self.key.modulus**self.s, self.key.modulus ** (self.s + 1)
        for below in reversed(counts[:-1]):
            whole = glued_in_base([self.key.decrypt(one, self.s) for one in found], plain)
            if whole >= sealed**below:
                raise ProtocolError("damaged answer", "The answer is no chain of ciphertexts.", hint="Ask anew.")
            found = cut_in_base(whole, sealed, below)
        return self._entry([self.key.decrypt(one, self.s) for one in found])


def stern_pieces(first: int, s: int, dimensions: int) -> list[int]:
    """Plaintexts a cell before each dimension: a block of ciphertexts is cut as one number in base N**s.

    Examples
    --------
    >>> stern_pieces(1, 1, 2), stern_pieces(1, 2, 3), stern_pieces(4, 2, 2)
    ([1, 2], [1, 2, 3], [4, 6])
    """
    counts = [first]
    for _ in range(dimensions - 1):
        counts.append(-(-counts[-1] * (s + 1) // s))
    return counts


def answer_lipmaa(entries: Entries, message: bytes, *, insecure_bits: int | None = None) -> bytes:
    """The server's part of Lipmaa's scheme: it sees the message and the database, and nothing else."""
    bits, s, sides, rest = read_head(entries, unpack(message, QUERY, "lipmaa").body)
    modulus, rest = _modulus(rest, bits, s, insecure_bits)
    lengths = [(s + j + 1) * bits // 8 * (side - 1) for j, side in enumerate(sides)]
    require_length(rest, sum(lengths), "The query")
    cells = _cells(entries, sides, bits, s)
    for j in range(len(sides)):
        power = modulus ** (s + j + 1)
        selectors = split(rest[: lengths[j]], (s + j + 1) * bits // 8)
        rest = rest[lengths[j] :]
        for one in selectors:
            require_unit(one, power, modulus)
        product = 1
        for one in selectors:
            product = product * one % power
        selectors.append(int((1 + modulus) * big_integers().invert(product, power) % power))
        cells = _folded(cells, selectors, power)
    return pack("lipmaa", ANSWER, joined(cells[0], (s + len(sides)) * bits // 8))


def answer_stern(entries: Entries, message: bytes, *, insecure_bits: int | None = None) -> bytes:
    """The server's part of Stern's scheme: it sees the message and the database, and nothing else."""
    bits, s, sides, rest = read_head(entries, unpack(message, QUERY, "stern").body)
    modulus, rest = _modulus(rest, bits, s, insecure_bits)
    width = (s + 1) * bits // 8
    require_length(rest, width * sum(sides), "The query")
    selectors = split(rest, width)
    plain, power = modulus**s, modulus ** (s + 1)
    for one in selectors:
        require_unit(one, power, modulus)
    cells = _cells(entries, sides, bits, s)
    for j, side in enumerate(sides):
        if j:
            pieces = -(-len(cells[0]) * (s + 1) // s)
            cells = [cut_in_base(glued_in_base(cell, power), plain, pieces) for cell in cells]
        cells = _folded(cells, selectors[:side], power)
        selectors = selectors[side:]
    return pack("stern", ANSWER, joined(cells[0], width))


def _modulus(rest: bytes, bits: int, s: int, insecure_bits: int | None) -> tuple[int, bytes]:
    width = bits // 8
    modulus = int.from_bytes(rest[:width], "big")
    require_bits(bits, modulus, insecure_bits)
    if not 1 <= s <= 16:
        raise ProtocolError("wrong version", f"The length parameter is {s}; 1 to 16 are known.", hint="Use 1.")
    return modulus, rest[width:]


def _cells(entries: Entries, sides: Sequence[int], bits: int, s: int) -> list[list[int]]:
    pieces = pieces_of(entries.shape[1], bits, s)
    if pieces * len(entries) > MOST_POWERS:
        raise ProtocolError(
            "too much work",
            f"The answer would take more than {MOST_POWERS:,} powers.",
            hint="Use the scheme 'simplepir', or download the database.",
        )
    return [cut(number, chunk_bits(bits, s), pieces) for number in boxed(entries, sides)]


def _folded(cells: Sequence[Sequence[int]], selectors: Sequence[int], power: int) -> list[list[int]]:
    """One dimension less: for each line the product of selectors raised to what the cells hold."""
    library, side = big_integers(), len(selectors)
    folded = []
    for at in range(0, len(cells), side):
        line = []
        for values in zip(*cells[at : at + side], strict=True):
            product = library.mpz(1)
            for selector, value in zip(selectors, values, strict=True):
                product = product * library.powmod(selector, value, power) % power
            line.append(int(product))
        folded.append(line)
    return folded
