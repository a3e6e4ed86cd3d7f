"""What somebody works out who listens in, or who takes part and looks closely. Shares no code with the protocols.

Each function gives the findings against a protocol, and nothing where all is well.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.stats import chi2, norm


def said(transcript, what: str = "", *, to: str = "", sender: str = "") -> list:
    """Messages whose kind begins with something, as their receivers read them."""
    return [
        one
        for one in transcript.messages
        if one.what.startswith(what)
        and (not to or one.receiver == to)
        and (not sender or one.sender == sender)
        and one.receiver != "coordinator"
    ]


def carried(transcript) -> list:
    """What whoever carries messages sees."""
    return [one for one in transcript.messages if one.receiver == "coordinator"]


def uneven(bodies: Sequence[bytes], chance: float = 1e-7) -> list[str]:
    """Chi-square over bytes, at every place of a number of 16 bytes apart: small numbers have zeros in front."""
    joined = np.frombuffer(b"".join(bodies), np.uint8)
    assert joined.size >= 256 * 20, "too few bytes for the test"
    found = []
    for place, part in [("all", joined), *((str(k), joined[k::16]) for k in range(16) if joined.size >= 256 * 320)]:
        counts, expected = np.bincount(part, minlength=256), part.size / 256
        statistic = float(((counts - expected) ** 2 / expected).sum())
        if statistic > chi2.isf(chance, 255):
            found.append(f"bytes at {place} are uneven ({statistic:.0f})")
    return found


def repeated(bodies: Iterable[bytes], block: int = 16) -> list[str]:
    """Blocks that occur twice: something was used twice, or equal things look equal."""
    seen: set[bytes] = set()
    for body in bodies:
        for k in range(0, len(body) - block + 1, block):
            piece = body[k : k + block]
            if piece in seen:
                return ["a block occurs twice"]
            seen.add(piece)
    return []


def plain_values(bodies: Iterable[bytes], values: Iterable[bytes]) -> list[str]:
    """Values of somebody's records as they stand, anywhere in messages."""
    wanted = [value for value in values if len(value) >= 4]
    assert wanted, "nothing to look for"
    return [f"{value!r} is there" for value in wanted for body in bodies if value in body]


def spellings(number: float, scale_bits: int = 40) -> list[bytes]:
    """How a number may stand in a message: floating point, fixed point, text."""
    fixed = round(number * 2**scale_bits) % 2**128
    return [
        np.float64(number).tobytes(),
        np.float64(number).astype(">f8").tobytes(),
        fixed.to_bytes(16, "little"),
        fixed.to_bytes(16, "big"),
        str(number).encode(),
    ]


def small_differences(bodies: Sequence[bytes]) -> list[str]:
    """Take messages off each other: where the same masks served two, what is left are small numbers."""
    whole = [_numbers(body) for body in bodies]
    for one, other in itertools.combinations(whole, 2):
        if len(one) != len(other):
            continue
        apart = [min((a - b) % 2**128, (b - a) % 2**128) for a, b in zip(one, other, strict=True)]
        if sum(value < 2**100 for value in apart) > len(apart) / 10:
            return ["two messages differ by small numbers"]
    return []


def _numbers(body: bytes) -> list[int]:
    return [int.from_bytes(body[k : k + 16], "little") for k in range(0, len(body) - 15, 16)]


def same_order(before: Sequence[int], after: Sequence[int], chance: float = 1e-6) -> list[str]:
    """Rank correlation of two orders of the same things."""
    one, other = np.argsort(np.argsort(before)), np.argsort(np.argsort(after))
    n = len(one)
    assert n >= 30, "too few for the test"
    correlation = float(np.corrcoef(one, other)[0, 1])
    return [f"orders go together ({correlation:.2f})"] if abs(correlation) * np.sqrt(n - 1) > norm.isf(chance) else []


def guessed_identifiers(points: Iterable[bytes], guesses: Iterable[bytes]) -> list[str]:
    """Hash guesses without a key and look for them: a dictionary attack."""
    return ["identifiers were guessed"] if set(points) & set(guesses) else []


def in_pieces(body: bytes, size: int = 32) -> list[bytes]:
    return [body[k : k + size] for k in range(0, len(body), size)]
