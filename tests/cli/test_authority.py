"""The commands ``discreet ca``: a whole life of certificates, and what goes wrong on the way."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.cli import main

pytest.importorskip("cryptography")
pytest.importorskip("shamir_mnemonic")


def ran(*words, code=0, **options):
    found = CliRunner().invoke(main, ["ca", *map(str, words)], **options)
    assert found.exit_code == code, found.output
    return found


def answer(*words):
    return json.loads(ran(*words, "--json").stdout)


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ran("init", "ca", "--name", "Example Office", "--by", "Otto")
    return tmp_path


def requested(*more) -> int:
    words = ("request", "ca", "--purpose", "user", "--name", "Ada", "--email", "ada@example.org")
    return answer(*words, "--approved-by", "Rosa", *more)["request"]


def issued(output="ada.pem", *more) -> dict:
    return answer("issue", "ca", requested(), "--by", "Otto", "--output", output, *more)


def states() -> list[str]:
    return [one["state"] for one in answer("list", "ca")["certificates"]]


def test_a_certificate_is_requested_issued_renewed_suspended_reactivated_and_revoked(place):
    first = issued()
    assert first["files"] == ["ada.pem", "ada.pem.key"]
    assert (place / "ada.pem.key").stat().st_mode & 0o777 == 0o600
    assert (place / "ada.pem").read_text().count("BEGIN CERTIFICATE") == 2
    ran("suspend", "ca", first["serial"], "--by", "Rosa")
    assert states() == ["suspended"]
    ran("reactivate", "ca", first["serial"], "--by", "Rosa")
    second = answer("renew", "ca", first["serial"], "--by", "Otto", "--output", "new.pem")
    ran("revoke", "ca", first["serial"], "--by", "Rosa", "--reason", "superseded")
    assert states() == ["revoked", "valid"]
    found = answer("list", "ca", "--state", "valid", "--expiring", "365")["certificates"]
    assert [one["serial"] for one in found] == [second["serial"]]
    assert answer("list", "ca", "--expiring", "30")["certificates"] == []
    events = answer("list", "ca")["certificates"][0]["events"]
    assert [one["what"] for one in events] == ["approved", "issued", "suspended", "reactivated", "renewed", "revoked"]


def test_a_list_for_people_names_what_waits_and_what_ends(place):
    issued()
    requested()
    text = ran("list", "ca").output
    assert "root key: in the folder" in text
    assert "Ada <ada@example.org>" in text
    assert "Request 2 waits: user, Ada, by Rosa" in text
    assert "Root list ends" in text


def test_who_approved_cannot_issue(place):
    found = ran("issue", "ca", requested(), "--by", "rosa", "--output", "ada.pem", code=2)
    assert "Let a second person issue it" in found.output
    assert not (place / "ada.pem").exists()


def test_the_root_key_goes_into_shares_and_comes_back(place):
    ran("split", "ca", "--needed", "2", "--by", "Otto", "one", "two", "three")
    assert not (place / "ca" / "root.key").exists()
    ran("crl", "ca", "--output", "given")
    assert sorted(path.name for path in (place / "given").iterdir()) == ["authorities.pem", "revoked.pem"]
    assert "2 are needed" in ran("crl", "ca", "--root", "--share", "one", code=3).output
    assert "--share FILE" in ran("crl", "ca", "--root", code=3).output
    ran("crl", "ca", "--root", "--share", "one", "--share", "three")
    assert answer("new-issuing", "ca", "--by", "Otto", "--share", "one", "--share", "two")["issuing"] == 2
    ran("revoke-issuing", "ca", "1", "--by", "Rosa", "--share", "one", "--share", "two")
    ran("join", "ca", "one", "two", "--by", "Otto")
    assert (place / "ca" / "root.key").exists()


def test_a_file_for_browsers_has_a_password_that_is_made_up_or_asked_for(place, monkeypatch):
    from cryptography.hazmat.primitives.serialization import pkcs12

    made = issued("ada.p12", "--generate-password")
    key, own, _ = pkcs12.load_key_and_certificates((place / "ada.p12").read_bytes(), made["password"].encode())
    assert key.public_key() == own.public_key()
    assert (place / "ada.p12").stat().st_mode & 0o777 == 0o600
    number = requested()
    words = ("issue", "ca", number, "--by", "Otto", "--output", "two.p12")
    assert "no terminal" in ran(*words, code=2).output
    terminal = type("Terminal", (), {"isatty": lambda self: True})
    monkeypatch.setattr("discreet.cli.authority.sys", type("System", (), {"stdin": terminal(), "exit": sys.exit}))
    assert "too short" in ran(*words, code=2, input="short\nshort\n").output
    assert not (place / "two.p12").exists()
    ran(*words, input="correct horse battery\ncorrect horse battery\n")
    assert pkcs12.load_key_and_certificates((place / "two.p12").read_bytes(), b"correct horse battery")


def test_nothing_is_issued_when_the_file_is_there_or_cannot_be_written(place):
    (place / "ada.pem.key").write_text("precious")
    number = requested()
    assert "exists" in ran("issue", "ca", number, "--by", "Otto", "--output", "ada.pem", code=6).output
    assert states() == []
    assert (place / "ada.pem.key").read_text() == "precious"
    found = ran("issue", "ca", number, "--by", "Otto", "--output", "nowhere/ada.pem", code=6).output
    assert "is no folder" in found
    assert states() == []


def test_a_csr_is_read_from_its_file_and_gets_a_certificate_only(place):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    (place / "ada.csr").write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    number = requested("--csr", "ada.csr")
    words = ("issue", "ca", number, "--by", "Otto", "--output")
    assert "made elsewhere" in ran(*words, "ada.p12", "--generate-password", code=2).output
    assert answer(*words, "ada.pem")["files"] == ["ada.pem"]
    assert "no certificate request" in ran(
        "request", "ca", "--purpose", "user", "--name", "Ada", "--email", "ada@example.org", "--approved-by", "Rosa",
        "--csr", "missing.csr", code=3,
    ).output  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("list", "nowhere"), 3, "no authority"),
        (("init", "ca", "--name", "X", "--by", "Otto"), 6, "not empty"),
        (("init", "new", "--name", "X", "--by", "Otto", "--root-years", "40"), 2, "10 to 20"),
        (("revoke", "ca", "12", "--by", "Rosa"), 3, "no certificate with this serial"),
        (("issue", "ca", "9", "--by", "Otto", "--output", "x.pem"), 3, "no request number 9"),
        (("request", "ca", "--purpose", "user", "--name", "A", "--approved-by", "R"), 2, "--email or --uri"),
        (("split", "ca", "--needed", "1", "--by", "Otto", "a", "b"), 2, "at least 2"),
    ],
)
def test_errors_say_what_to_do_next(place, words, code, text):
    assert text in ran(*words, code=code).output
