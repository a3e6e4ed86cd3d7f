"""Secret keys, and draws that depend on nothing but the key and what is drawn for.

A method that draws at random takes a key of 256 bits from a file or from the environment, or makes one that is kept
with the custodian. Each draw is a keyed hash of what the cell is and holds: the same content gets the same draw in
every table, run and order of categories.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, ParameterError

VARIABLE = "DISCREET_KEY"
"""Environment variable that holds a key: 64 hexadecimal digits, or the path of a key file."""
BYTES = 32
LONGEST_FILE = 4096
"""Bytes that are read of a key file at most."""
VERSION = b"1"
"""Goes into every draw, so that draws can be made another way later without repeating old ones."""


@dataclass(frozen=True)
class Key:
    """A secret key. What is shown of it is its fingerprint.

    Parameters
    ----------
    secret
        The key itself, 32 bytes.
    made
        Whether it was made for this release, so that the release must keep it.
    insecure
        Whether it came from a number anybody could guess; for tests and simulations.

    Examples
    --------
    >>> import discreet as ds
    >>> ds.Key(bytes(32)).fingerprint
    '821bb4b763f6279d'
    """

    secret: bytes = field(repr=False)
    made: bool = False
    insecure: bool = False

    def __post_init__(self) -> None:
        if len(self.secret) != BYTES:
            raise ParameterError(f"A key has {BYTES} bytes, this one {len(self.secret)}.", hint="Make it: Key.new().")

    @classmethod
    def new(cls) -> Key:
        """A key of the system's best randomness."""
        return cls(secrets.token_bytes(BYTES), made=True)

    @classmethod
    def from_text(cls, text: str, where: str) -> Key:
        """A key written as 64 hexadecimal digits."""
        try:
            secret = bytes.fromhex(text.strip())
        except ValueError:
            secret = b""
        if len(secret) != BYTES:
            raise InputError(
                f"{where} does not hold a key.", hint=f"Write {2 * BYTES} hexadecimal digits: openssl rand -hex {BYTES}"
            )
        return cls(secret)

    @classmethod
    def from_file(cls, path: str | Path) -> Key:
        """A key from a file; one that others may read is refused."""
        return cls._from_file(Path(path), f"The key file {_shown(Path(path).name)}")

    @classmethod
    def _from_file(cls, path: Path, where: str) -> Key:
        """A key from a file that errors call ``where``: its path may be the key itself, pasted or cut short."""
        make = f"Make one: openssl rand -hex {BYTES} > key.txt && chmod 600 key.txt"
        try:
            # One look at the file that is read, so that nobody can put another in its place in between.
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(f"{where} does not exist.", hint=make) from None
        except (OSError, ValueError) as error:
            raise InputError(f"{where} cannot be opened ({type(error).__name__}).", hint=make) from None
        try:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                raise InputError(f"{where} is not a file.", hint=make)
            if mode & 0o077:
                raise InputError(f"{where} may be read by others.", hint="Run: chmod 600 on it.")
            text = os.read(handle, LONGEST_FILE)
        finally:
            os.close(handle)
        return cls.from_text(text.decode("ascii", errors="replace"), where)

    @classmethod
    def from_seed(cls, seed: int) -> Key:
        """A key that is no secret, for tests and simulations."""
        digest = hashlib.blake2b(repr(seed).encode(), digest_size=BYTES, person=b"insecure seed")
        return cls(digest.digest(), insecure=True)

    @property
    def text(self) -> str:
        """The key as it is written to a file."""
        return self.secret.hex()

    @property
    def fingerprint(self) -> str:
        """What may be told of the key: enough to see whether two are the same."""
        return hashlib.blake2b(key=self.secret, digest_size=8, person=b"fingerprint").hexdigest()

    def uniform(self, purpose: str, rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
        """A number from 0 up to 1 for every row of bytes, the same for the same row.

        Examples
        --------
        >>> key = Key.from_seed(1)
        >>> rows = np.array([[1, 2], [3, 4], [1, 2]], np.uint8)
        >>> drawn = key.uniform("example", rows)
        >>> bool(drawn[0] == drawn[2] != drawn[1])
        True
        """
        start = hashlib.blake2b(VERSION + purpose.encode() + b"\0", key=self.secret, digest_size=8)
        width, data = rows.shape[1], np.ascontiguousarray(rows).tobytes()
        digests = bytearray(8 * len(rows))
        for i in range(len(rows)):
            one = start.copy()
            one.update(data[i * width : (i + 1) * width])
            digests[8 * i : 8 * i + 8] = one.digest()
        whole = np.frombuffer(bytes(digests), ">u8")
        return (whole >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def generator(self, purpose: str, rows: npt.NDArray[np.uint8]) -> np.random.Generator:
        """A stream of draws that depends on all rows together, whatever their order."""
        digest = hashlib.blake2b(VERSION + purpose.encode() + b"\0", key=self.secret, digest_size=BYTES)
        order = np.lexsort(rows.T[::-1]) if rows.size else np.zeros(0, np.int64)
        digest.update(np.ascontiguousarray(rows[order]).tobytes())
        return np.random.default_rng(np.frombuffer(digest.digest(), np.uint32))


def find_key(file: str | None, seed: int | None) -> Key:
    """The key of a method: of a seed for simulations, from a file, from the environment, or a new one."""
    if seed is not None:
        if file is not None:
            raise ParameterError("Both key_file and insecure_seed are given.", hint="Give one of them.")
        return Key.from_seed(seed)
    if file is not None:
        return Key.from_file(file)
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        return Key.new()
    if len(given) == 2 * BYTES:
        return Key.from_text(given, VARIABLE)
    if _like_a_key(given):
        # Digits that are too few or too many are a key that was cut or pasted twice: none of them may be shown.
        raise InputError(
            f"{VARIABLE} holds {len(given)} characters, and a key has {2 * BYTES} hexadecimal digits.",
            hint=f"Set it to the {2 * BYTES} digits of the key, or to the path of a key file.",
        )
    return Key._from_file(Path(given), f"The key file that {VARIABLE} names")


def _like_a_key(text: str) -> bool:
    """Whether a text may hold (part of) a key rather than a name."""
    return re.search(rf"[0-9a-fA-F]{{{BYTES // 2},}}", text) is not None


def _shown(name: str) -> str:
    """A file name for a message, unless it may be a key."""
    return "(its name looks like a key and is not shown)" if _like_a_key(name) else repr(name)
