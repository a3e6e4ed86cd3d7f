"""Sums of entries with secret weights, through Paillier's encryption: means and totals over a secret set of entries.

The server checks nothing of the weights, so that this is an unrestricted question: what it is asked of must be safe to
hand out in full.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.errors import ParameterError
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.damgard_jurik import DamgardJurik
from discreet.private.retrieval.frames import ANSWER, QUERY, Asked, joined, pack, require_length, split, unpack
from discreet.private.retrieval.moduli import BITS, big_integers, checked_bits, require_bits, require_unit


class WeightedSum:
    """The client of secret weighted sums.

    Parameters
    ----------
    entries
        How many values the server has.
    largest
        No value lies above it.
    bits
        Length of the modulus, from 2048.
    insecure_bits
        A shorter modulus, for tests.

    Examples
    --------
    >>> client = WeightedSum(3, 100, insecure_bits=128)
    >>> asked = client.query([1, 0, 1])
    >>> client.decode(asked, [answer_sum([10, 20, 30], asked.messages[0], insecure_bits=128)])
    40
    """

    name = "sum"
    servers = 1

    def __init__(self, entries: int, largest: int, *, bits: int = BITS, insecure_bits: int | None = None) -> None:
        self.entries, self.largest = entries, largest
        self.bits = checked_bits(bits, insecure_bits)
        self.key = DamgardJurik(self.bits)

    def query(self, weights: Sequence[int]) -> Asked:
        """Ask for a sum with whole weights from 0."""
        if len(weights) != self.entries or min(weights) < 0:
            raise ParameterError(
                f"{len(weights)} weights are given for {self.entries} values, or one is negative.",
                hint="Give a whole number from 0 for each value.",
            )
        most = sum(weights) * self.largest
        if most >= self.key.modulus:
            raise ParameterError(
                "The sum may be longer than the modulus and would wrap around.",
                hint="Use a longer modulus, smaller weights, or a tighter bound of the values.",
            )
        sealed = [self.key.encrypt(weight, 1) for weight in weights]
        body = joined([self.bits, self.entries], 4) + joined([self.key.modulus], self.bits // 8)
        return Asked((pack(self.name, QUERY, body + joined(sealed, self.bits // 4)),), most)

    def decode(self, asked: Asked, answers: Sequence[bytes]) -> int:
        """The sum; one that no values within the bound can have is refused."""
        body = unpack(answers[0], ANSWER, self.name).body
        require_length(body, self.bits // 4, "The answer")
        found = self.key.decrypt(int.from_bytes(body, "big"), 1)
        if found > asked.kept:
            raise ProtocolError(
                "damaged answer", "The sum is larger than the bound of the values allows.", hint="Check the bound."
            )
        return found


def answer_sum(
    values: Sequence[int] | npt.NDArray[np.int64], message: bytes, *, insecure_bits: int | None = None
) -> bytes:
    """The server's part: the product of the sealed weights raised to its values, which are whole numbers from 0."""
    body = unpack(message, QUERY, "sum").body
    bits, count = split(body[:8].ljust(8, b"\0"), 4)
    if count != len(values) or bits % 16 or bits < 16:
        raise ProtocolError("other database", f"The query is for {count:,} values; there are {len(values):,}.")
    require_length(body, 8 + bits // 8 + count * (bits // 4), "The query")
    modulus = int.from_bytes(body[8 : 8 + bits // 8], "big")
    require_bits(bits, modulus, insecure_bits)
    library, power, product = big_integers(), modulus**2, 1
    for sealed, value in zip(split(body[8 + bits // 8 :], bits // 4), values, strict=True):
        require_unit(sealed, power, modulus)
        product = product * int(library.powmod(sealed, int(value), power)) % power
    return pack("sum", ANSWER, joined([product], bits // 4))
