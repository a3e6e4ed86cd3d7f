"""What somebody sees who reads questions on their way: lengths, counts of bytes, repetitions, plain numbers.

Shares no code with the schemes. Each function gives the findings against them, and nothing where all is well.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from scipy.stats import chi2


def bodies(messages: Sequence[bytes], head: int = 24) -> list[bytes]:
    return [message[head:] for message in messages]


def lengths(messages: Sequence[bytes]) -> list[str]:
    """Questions of different length tell entries apart."""
    return [] if len({len(message) for message in messages}) == 1 else ["lengths differ"]


def bytes_look_uneven(messages: Sequence[bytes], chance: float = 1e-6) -> list[str]:
    """Chi-square over all bytes of questions; a false alarm has the given chance."""
    joined = np.frombuffer(b"".join(bodies(messages)), np.uint8)
    assert joined.size >= 256 * 20, "too few bytes for the test"
    counts = np.bincount(joined, minlength=256)
    expected = joined.size / 256
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return [f"bytes are uneven ({statistic:.0f})"] if statistic > chi2.isf(chance, 255) else []


def repeats(messages: Sequence[bytes], block: int = 16) -> list[str]:
    """Blocks that occur in two questions: something was used twice."""
    seen: set[bytes] = set()
    for body in bodies(messages):
        own = {body[at : at + block] for at in range(0, len(body) - block + 1, block)}
        if own & seen:
            return ["blocks are repeated"]
        seen |= own
    return []


def close_pairs(messages: Sequence[bytes]) -> list[str]:
    """Two questions that differ in few bits: the same mask served both."""
    whole = [np.unpackbits(np.frombuffer(body, np.uint8)) for body in bodies(messages)]
    for one, other in itertools.combinations(whole, 2):
        if abs((one != other).mean() - 0.5) > 0.2:
            return ["two questions are alike"]
    return []


def differences_are_small(messages: Sequence[bytes]) -> list[str]:
    """Numbers of two questions that differ by little: the same secret served both."""
    whole = [np.frombuffer(body, "<u4") for body in bodies(messages)]
    for one, other in itertools.combinations(whole, 2):
        apart = np.abs((one - other).view(np.int32))
        if np.median(apart) < 2**24:
            return ["one secret served two questions"]
    return []


def solved_without_error(message: bytes, matrix: np.ndarray) -> list[str]:
    """Solve the question as linear equations modulo 2**32; one without errors gives a solution that fits the rest.

    Three sets of equations are tried: the one with the wanted column has no solution that fits.
    """
    right, n = np.frombuffer(message[24:], "<u4").astype(np.uint32), matrix.shape[1]
    for first in (0, 2 * n, 4 * n):
        chosen = slice(first, first + 2 * n)
        secret = _solution(np.column_stack([matrix[chosen], right[chosen]]).astype(np.uint32))
        if secret is not None and ((matrix @ secret).astype(np.uint32) == right).mean() > 0.9:
            return ["the secret was solved for"]
    return []


def _solution(work: np.ndarray) -> np.ndarray | None:
    n = work.shape[1] - 1
    for column in range(n):
        odd = np.flatnonzero(work[column:, column] & 1)
        if not odd.size:
            return None
        work[[column, column + odd[0]]] = work[[column + odd[0], column]]
        work[column] *= np.uint32(pow(int(work[column, column]), -1, 2**32))
        factors = work[:, column].copy()
        factors[column] = 0
        work -= factors[:, None] * work[column]
    return work[:n, n]


def heads(messages: Sequence[bytes], head: int = 24) -> list[str]:
    """Heads that differ from question to question tell entries apart."""
    return [] if len({message[:head] for message in messages}) == 1 else ["heads differ"]
