"""Secrets, errors and the public matrix of retrieval on lattices.

Secrets and errors come from the system's randomness, the public matrix from a seed by AES in counter mode under a key
that SHAKE-256 makes of it, so that both sides can make any of its rows.
"""

from __future__ import annotations

import hashlib
import secrets
from decimal import Decimal, localcontext
from functools import cache

import numpy as np
import numpy.typing as npt

from discreet.errors import missing_extra

Numbers = npt.NDArray[np.uint32]
TAILS = 10
"""Errors beyond so many deviations have a chance below 2**-72 and are left out."""
BLOCK = 16
SEED_BYTES = 32


def draw_secret(dimension: int) -> Numbers:
    """A secret, uniform modulo 2**32."""
    return np.frombuffer(secrets.token_bytes(4 * dimension), np.uint32)


def draw_errors(count: int, deviation: float) -> Numbers:
    """Errors of the discrete normal distribution, modulo 2**32.

    Each takes 64 random bits: one for the sign, 63 that are compared with all thresholds, whatever they are.
    """
    drawn = np.frombuffer(secrets.token_bytes(8 * count), np.uint64)
    sizes = drawn >> np.uint64(1)
    found = np.zeros(count, np.int64)
    for threshold in thresholds(deviation).tolist():
        found += sizes >= np.uint64(threshold)
    signs = 1 - 2 * (drawn & np.uint64(1)).astype(np.int64)
    return (found * signs).astype(np.uint32)


@cache
def thresholds(deviation: float) -> npt.NDArray[np.uint64]:
    """Where the sizes 1, 2, ... of errors begin among numbers of 63 bits."""
    with localcontext() as context:
        context.prec = 60
        spread = 2 * Decimal(deviation) ** 2
        most = int(TAILS * deviation)
        weights = [Decimal(1)] + [2 * (-Decimal(k * k) / spread).exp() for k in range(1, most + 1)]
        total, running, found = sum(weights), Decimal(0), []
        for weight in weights[:-1]:
            running += weight
            found.append(int(running / total * 2**63))
    return np.array(found, np.uint64)


def matrix_rows(seed: bytes, dimension: int, first: int, count: int) -> Numbers:
    """Rows of the public matrix: one a column of the database, each as long as the secret.

    Examples
    --------
    >>> whole = matrix_rows(bytes(32), 16, 0, 4)
    >>> bool((matrix_rows(bytes(32), 16, 2, 1) == whole[2:3]).all())
    True
    """
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        raise missing_extra("cryptography", "private", "Retrieval on lattices") from None
    key = hashlib.shake_256(b"discreet retrieval matrix 1" + dimension.to_bytes(4, "big") + seed).digest(32)
    blocks = 4 * dimension // BLOCK
    counter = (first * blocks).to_bytes(BLOCK, "big")
    stream = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
    return np.frombuffer(stream.update(bytes(4 * dimension * count)), "<u4").reshape(count, dimension)
