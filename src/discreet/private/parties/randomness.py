"""Secret numbers of one party in one run: drawn from a seed, each for a purpose of its own, none of them twice."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from discreet.errors import missing_extra
from discreet.private.problems import ProtocolError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEED_BYTES = 32


def require_cryptography(purpose: str = "A protocol between parties") -> None:
    """Say which extra is missing, before anything is sent."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise missing_extra("cryptography", "private", purpose) from None


def derived_key(secret: bytes, *info: bytes | str) -> bytes:
    """A key of 32 bytes for one use of a secret (HKDF-SHA256); the parts of ``info`` cannot run into each other."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    parts = [one.encode() if isinstance(one, str) else one for one in info]
    text = b"".join(len(one).to_bytes(4, "big") + one for one in (b"discreet parties 1", *parts))
    return HKDF(SHA256(), 32, None, text).derive(secret)


def key_stream(key: bytes, length: int) -> bytes:
    """The first bytes of the ChaCha20 stream of a key that has no other use."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

    return Cipher(ChaCha20(key, bytes(16)), None).encryptor().update(bytes(length))


class SecretDraws:
    """Randomness of one party in one run.

    Drawn from one seed, so that a run that goes by files can be taken up again. A purpose can be drawn for once only:
    a mask that is used twice cancels out of the difference of two messages.

    Parameters
    ----------
    seed
        32 secret bytes; drawn by the system when left out.
    """

    def __init__(self, seed: bytes | None = None) -> None:
        require_cryptography()
        self._seed = secrets.token_bytes(SEED_BYTES) if seed is None else seed
        self._used: set[tuple[str, ...]] = set()

    def bound(self, session: bytes) -> SecretDraws:
        """Other randomness from the same seed, for one session."""
        return SecretDraws(derived_key(self._seed, "session", session))

    def take(self, length: int, *purpose: str) -> bytes:
        """Random bytes for one purpose.

        Raises
        ------
        ProtocolError
            ``randomness used twice``.
        """
        if purpose in self._used:
            raise ProtocolError("randomness used twice", f"Randomness for {' '.join(purpose)!r} was drawn before.")
        self._used.add(purpose)
        return key_stream(derived_key(self._seed, *purpose), length)

    def order(self, count: int, *purpose: str) -> NDArray[np.int64]:
        """A random order of so many things: that of random numbers of 128 bits."""
        import numpy as np

        numbers = np.frombuffer(self.take(16 * count, *purpose), "<u8").reshape(count, 2)
        return np.lexsort((numbers[:, 0], numbers[:, 1])).astype(np.int64)
