"""A signature or a seal kept elsewhere shows what a seal in the folder cannot: that nobody sealed it anew."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

import discreet as ds
from discreet.cli import main
from discreet.errors import InputError, OutputError, VerificationError
from discreet.trust import PublicKey, SigningKey, make_keys
from tests.attack.forging import reseal

pytest.importorskip("cryptography")


@pytest.fixture(scope="module")
def release() -> ds.Release:
    return ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())


@pytest.fixture
def key(tmp_path) -> Path:
    make_keys(tmp_path / "office.pem")
    return tmp_path / "office.pem"


def public(key: Path) -> Path:
    return key.with_name(f"{key.name}.pub")


def relabelled(folder: Path) -> None:
    """A change that no checker can find fault with: other words, everywhere alike."""
    path = folder / "custodian" / "log.json"
    path.write_text(path.read_text().replace('"notes": []', '"notes": ["South: 7391"]'))
    assert "7391" in path.read_text()
    reseal(folder)


def test_a_signed_release_is_known_as_such(release, key, tmp_path):
    release.save(tmp_path / "out", sign=key)
    verdict = ds.check_folder(tmp_path / "out", public_key=public(key))
    assert verdict.holds
    fingerprint = PublicKey.from_file(public(key)).fingerprint
    assert f"the release was signed with the key whose fingerprint is {fingerprint}" in verdict.proved
    assert not any("changed files and digests alike" in text for text in verdict.asserted)
    assert ds.check_folder(tmp_path / "out").holds  # nobody must ask for the signature


def test_without_signature_or_seal_the_verdict_says_what_it_cannot_know(release, tmp_path):
    release.save(tmp_path / "out")
    assert any("nobody changed files and digests alike" in text for text in ds.check_folder(tmp_path / "out").asserted)


def test_a_change_with_a_new_seal_breaks_the_signature(release, key, tmp_path):
    release.save(tmp_path / "out", sign=key)
    relabelled(tmp_path / "out")
    assert ds.check_folder(tmp_path / "out").holds
    verdict = ds.check_folder(tmp_path / "out", public_key=public(key))
    assert [refusal.check for refusal in verdict.refused] == ["signature"]
    assert "was changed afterwards" in verdict.refused[0].message


def test_a_change_with_a_new_seal_does_not_fit_the_seal_that_was_kept(release, tmp_path):
    seal = release.save(tmp_path / "out")
    assert "the release is the one that the given seal is of" in ds.check_folder(tmp_path / "out", seal=seal).proved
    relabelled(tmp_path / "out")
    verdict = ds.check_folder(tmp_path / "out", seal=seal.upper() + "\n")
    assert [refusal.check for refusal in verdict.refused] == ["seal"]
    with pytest.raises(InputError, match="64 hexadecimal digits; 5 characters"):
        ds.check_folder(tmp_path / "out", seal="12345")


@pytest.mark.parametrize("text", ["", "AAAA", "not base64!", "A" * 10_000])
def test_what_is_no_signature_signs_nothing(release, key, tmp_path, text):
    release.save(tmp_path / "out", sign=key)
    (tmp_path / "out" / "custodian" / "manifest.sig").write_text(text)
    assert not ds.check_folder(tmp_path / "out", public_key=public(key)).holds
    (tmp_path / "out" / "custodian" / "manifest.sig").unlink()
    assert "the release is not signed" in str(ds.check_folder(tmp_path / "out", public_key=public(key)))


def test_the_signature_of_another_key_or_release_is_refused(release, key, tmp_path):
    make_keys(tmp_path / "other.pem")
    release.save(tmp_path / "out", sign=tmp_path / "other.pem")
    assert not ds.check_folder(tmp_path / "out", public_key=public(key)).holds
    release.save(tmp_path / "first", sign=key)
    release.save(tmp_path / "second", formats=["px"])
    theirs, mine = (tmp_path / name / "custodian" / "manifest.sig" for name in ("first", "second"))
    mine.write_bytes(theirs.read_bytes())
    assert not ds.check_folder(tmp_path / "second", public_key=public(key)).holds


def test_a_key_is_written_for_its_owner_alone_and_never_replaced(key):
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    with pytest.raises(OutputError, match="keys are never replaced"):
        make_keys(key)
    assert key.read_bytes() == before
    key.chmod(0o644)
    with pytest.raises(InputError, match="Others may read the signing key"):
        SigningKey.from_file(key)
    assert "Ed25519PrivateKey" not in repr(SigningKey.from_file(_closed(key)))


def _closed(key: Path) -> Path:
    key.chmod(0o600)
    return key


def test_other_files_are_no_keys(key, tmp_path):
    for name, text in (("empty", ""), ("words", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
        with pytest.raises(InputError, match="no Ed25519 public key"):
            PublicKey.from_file(tmp_path / name)
        with pytest.raises(InputError, match="no Ed25519 signing key"):
            SigningKey.from_file(tmp_path / name)
    with pytest.raises(InputError, match="no Ed25519 public key"):
        PublicKey.from_file(key)
    with pytest.raises(InputError, match="There is no public key 'gone'"):
        PublicKey.from_file(tmp_path / "gone")


def test_only_what_verifies_is_signed(release, key, tmp_path):
    release.save(tmp_path / "out")
    ds.sign(tmp_path / "out", key)
    assert ds.check_folder(tmp_path / "out", public_key=public(key)).holds
    path = tmp_path / "out" / "public" / "turnover.csv"
    path.write_text(path.read_text() + "\n")
    with pytest.raises(VerificationError, match="was changed after the release was sealed"):
        ds.sign(tmp_path / "out", key)


def test_the_command_line_makes_keys_signs_and_verifies(release, tmp_path):
    seal = release.save(tmp_path / "out")
    out, key = str(tmp_path / "out"), str(tmp_path / "k.pem")

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, words)
        return done.exit_code, done.output

    assert run("signing-key", key)[0] == 0
    assert run("verify", out, "--public-key", f"{key}.pub")[0] == 5
    assert run("sign", out, "--key", key) == (0, f"Signed: {out}/custodian/manifest.sig\n")
    code, text = run("verify", out, "--public-key", f"{key}.pub", "--seal", seal, "-v")
    assert code == 0
    assert "signed with the key" in text
    assert run("verify", out, "--seal", "0" * 64)[0] == 5
