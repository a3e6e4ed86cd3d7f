"""Archives that somebody else sealed to a user's public key: nothing lands where it should not, and nothing stays."""

from __future__ import annotations

import hashlib
import io
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from discreet.errors import InputError
from discreet.server.extracts import package
from discreet.server.extracts.package import ABOUT, FORMAT, MANIFEST, SIGNATURE, PackageManifest, open_package
from discreet.trust import SigningKey, make_keys
from discreet.trust.sealed_file import RecipientSecret, SealedWriter

Change = Callable[[zipfile.ZipFile], None]


@pytest.fixture
def signer(tmp_path: Path) -> SigningKey:
    make_keys(tmp_path / "sign.key")
    return SigningKey.from_file(tmp_path / "sign.key")


def archive(signer: SigningKey, change: Change, files: dict[str, bytes] | None = None) -> bytes:
    """An archive with a signed manifest of its files, and whatever a change adds."""
    content, target = {"data.csv": b"age\n30\n"} if files is None else files, io.BytesIO()
    manifest = PackageManifest(
        **dict.fromkeys(("user", "project", "dataset", "edition", "definition", "source", "licence", "made"), "x"),
        format=FORMAT,
        extract=1,
        rows=1,
        files={name: hashlib.sha256(part).hexdigest() for name, part in content.items()},
    )
    text = msgspec.json.encode(manifest)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for name, part in content.items():
            made.writestr(name, part)
        made.writestr(MANIFEST, text)
        made.writestr(SIGNATURE, signer.signature(text))
        change(made)
    return target.getvalue()


def opened(folder: Path, content: bytes, signer: SigningKey) -> list[str]:
    """Names of the files that somebody has who opens it; all of a folder around it are looked at."""
    secret, place = RecipientSecret.new(), folder / "room" / "mine"
    place.parent.mkdir()
    with (folder / "x.sealed").open("wb") as stream:
        sealed = SealedWriter(stream, secret.public, ABOUT)
        sealed.write(content)
        sealed.close()
    try:
        open_package(folder / "x.sealed", place, secret, signer.public)
    finally:
        left = [path for path in folder.rglob("*") if path.is_file() and path.name not in KNOWN]
    return sorted(str(path.relative_to(place)) for path in left)


KNOWN = ("sign.key", "sign.key.pub", "x.sealed")


def test_what_the_server_made_is_opened(tmp_path: Path, signer: SigningKey) -> None:
    names = opened(tmp_path, archive(signer, lambda _: None), signer)
    assert names == ["data.csv", MANIFEST, SIGNATURE]


def link(made: zipfile.ZipFile) -> None:
    entry = zipfile.ZipInfo("codebook.txt")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    made.writestr(entry, "/etc/passwd")


@pytest.mark.parametrize(
    "name", ["../evil.txt", "/tmp/evil.txt", "a/../../evil", "C:\\evil", "con", "data.csv/", "x\0y"]
)
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, signer: SigningKey, name: str) -> None:
    content = archive(signer, lambda made: made.writestr(name, b"evil"))
    with pytest.raises(InputError, match="not as the server made it"):
        opened(tmp_path, content, signer)
    assert not (tmp_path / "room" / "mine").exists()
    assert [path.name for path in (tmp_path / "room").iterdir()] == []


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "change",
    [
        lambda made: made.writestr("data.csv", b"other"),  # twice
        lambda made: made.writestr("codebook.txt", b"not of the manifest"),
        link,
    ],
    ids=["twice", "more", "link"],
)
def test_what_the_manifest_does_not_say_is_refused(tmp_path: Path, signer: SigningKey, change: Change) -> None:
    with pytest.raises(InputError):
        opened(tmp_path, archive(signer, change), signer)
    assert not (tmp_path / "room" / "mine").exists()


def test_a_small_file_that_would_fill_the_disk_is_refused_unread(
    tmp_path: Path, signer: SigningKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package, "MOST_SMALL", 10_000)
    content = archive(signer, lambda _: None, {"data.csv": b"age\n", "codebook.txt": b" " * 20_000})
    assert len(content) < 3_000
    with pytest.raises(InputError, match="not as the server made it"):
        opened(tmp_path, content, signer)
    assert not (tmp_path / "room" / "mine").exists()


@pytest.mark.parametrize("place", ["flags", "method", "body", "end"])
def test_archives_that_are_bent_are_errors_in_words(tmp_path: Path, signer: SigningKey, place: str) -> None:
    content = bytearray(archive(signer, lambda _: None, {"data.csv": bytes(range(256)) * 40}))
    central = content.index(b"PK\x01\x02")
    if place == "flags":  # says that it is encrypted
        content[6] |= 1
        content[central + 8] |= 1
    elif place == "method":  # a way of compressing that nobody knows
        content[8] = content[central + 10] = 99
    elif place == "body":
        content[60:90] = b"\xff" * 30
    else:
        del content[-30:]
    with pytest.raises(InputError):
        opened(tmp_path, bytes(content), signer)
    assert not (tmp_path / "room" / "mine").exists()
