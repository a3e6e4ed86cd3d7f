"""Files that only one person can read."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from discreet.errors import InputError, OutputError
from discreet.trust.sealed_file import (
    MAGIC,
    PART,
    PREFIX,
    RecipientKey,
    RecipientSecret,
    SealedWriter,
    make_recipient_keys,
    open_sealed,
)


def sealed(content: bytes, key: RecipientKey, about: bytes = b"test") -> bytes:
    target = io.BytesIO()
    writer = SealedWriter(target, key, about)
    writer.write(content)
    writer.close()
    assert writer.size == len(target.getvalue())
    return target.getvalue()


def opened(content: bytes, secret: RecipientSecret, about: bytes = b"test") -> bytes:
    target = io.BytesIO()
    open_sealed(io.BytesIO(content), target, secret, about)
    return target.getvalue()


@pytest.mark.parametrize("length", [0, 1, PART - 1, PART, PART + 1, 2 * PART + 7])
def test_what_is_sealed_opens_again_and_is_nowhere_in_the_file(length: int) -> None:
    secret, content = RecipientSecret.new(), os.urandom(length)
    found = sealed(content, secret.public)
    assert opened(found, secret) == content
    assert length < 16 or content[:16] not in found


def test_another_key_another_purpose_and_every_change_are_refused() -> None:
    secret = RecipientSecret.new()
    good = sealed(os.urandom(2 * PART + 9), secret.public)
    with pytest.raises(InputError, match="not sealed to this key"):
        opened(good, RecipientSecret.new())
    with pytest.raises(InputError, match="not sealed to this key"):
        opened(good, secret, b"another")
    for place in range(0, len(good), len(good) // 23):
        bad = bytearray(good)
        bad[place] ^= 1
        with pytest.raises(InputError):
            opened(bytes(bad), secret)


def test_a_file_that_was_cut_longer_or_stirred_does_not_open() -> None:
    secret = RecipientSecret.new()
    good = sealed(os.urandom(3 * PART), secret.public)
    head = len(good) - 3 * (PART + 16)
    parts = [good[head + k * (PART + 16) :][: PART + 16] for k in range(3)]
    wrong = [good[:head] + b"".join(parts[:2]), good[:head], good + b"x", good + parts[2], good[:-1], good[:20], b""]
    wrong.append(good[:head] + parts[1] + parts[0] + parts[2])
    for bad in wrong:
        with pytest.raises(InputError):
            opened(bad, secret)


def test_keys_are_made_once_for_their_owner_alone(tmp_path: Path) -> None:
    public = make_recipient_keys(tmp_path / "mine.key")
    assert (tmp_path / "mine.key").stat().st_mode & 0o777 == 0o600
    assert RecipientKey.from_text((tmp_path / "mine.key.pub").read_text()) == public
    assert RecipientSecret.from_file(tmp_path / "mine.key").public == public
    with pytest.raises(OutputError, match="never replaced"):
        make_recipient_keys(tmp_path / "mine.key")
    (tmp_path / "mine.key").chmod(0o644)
    with pytest.raises(InputError, match="Others may read"):
        RecipientSecret.from_file(tmp_path / "mine.key")


@pytest.mark.parametrize("text", ["", "x", PREFIX, PREFIX + "AA==", PREFIX + "!" * 44, RecipientKey(bytes(32)).text])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no public key"):
        RecipientKey.from_text(text)
    assert MAGIC.endswith(b"\n")
