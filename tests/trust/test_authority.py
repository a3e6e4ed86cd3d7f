"""An authority certifies what two people agreed on, and says truly what no longer counts."""

from __future__ import annotations

import json
import os
import stat
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from discreet.errors import InputError, OutputError, ParameterError
from discreet.trust.authority import Authority
from discreet.trust.certificate_index import NAME, read_index
from discreet.trust.holders import Holder
from tests.trust.house import ADA, LOCAL, House


@pytest.fixture
def house(tmp_path) -> House:
    return House(tmp_path)


def certificate_of(issued) -> x509.Certificate:
    return x509.load_pem_x509_certificates(issued.certificate)[0]


def value(certificate, kind):
    return certificate.extensions.get_extension_for_class(kind).value


def csr(key, digest=None, *, ca=False, name="somebody else") -> bytes:
    builder = x509.CertificateSigningRequestBuilder()
    builder = builder.subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
    if ca:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    digest = digest if digest is not None or isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, digest).public_bytes(serialization.Encoding.PEM)


def lists(house) -> dict[str, x509.CertificateRevocationList]:
    end = b"-----END X509 CRL-----"
    parts = (house.ca.folder / "public" / "revoked.pem").read_bytes().split(end)[:-1]
    found = [x509.load_pem_x509_crl(part + end) for part in parts]
    return {one.issuer.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value: one for one in found}


def issuing_list(house) -> x509.CertificateRevocationList:
    return lists(house)["Example Office Issuing CA 1"]


def test_two_levels_are_made_as_the_profile_says(house):
    index = house.ca.index
    root = x509.load_der_x509_certificate(index.root)
    issuing = x509.load_der_x509_certificate(index.issuing[0].der)
    assert root.public_key().curve.name == "secp384r1"
    assert issuing.public_key().curve.name == "secp256r1"
    assert value(root, x509.BasicConstraints) == x509.BasicConstraints(ca=True, path_length=1)
    assert value(issuing, x509.BasicConstraints) == x509.BasicConstraints(ca=True, path_length=0)
    assert 10 * 365 <= (root.not_valid_after_utc - house.clock()).days <= 20 * 365
    assert 3 * 365 <= (issuing.not_valid_after_utc - house.clock()).days + 1 <= 5 * 365
    issuing.verify_directly_issued_by(root)
    assert set(lists(house)) == {"Example Office Root CA", "Example Office Issuing CA 1"}


@pytest.mark.parametrize(
    ("purpose", "holder", "usage", "commits"),
    [
        ("user", ADA, ExtendedKeyUsageOID.CLIENT_AUTH, False),
        ("server", LOCAL, ExtendedKeyUsageOID.SERVER_AUTH, False),
        ("signing", ADA, x509.ObjectIdentifier("1.3.6.1.5.5.7.3.36"), True),
    ],
)
def test_a_certificate_is_for_one_purpose_and_no_authority(house, purpose, holder, usage, commits):
    made = certificate_of(house.issued(purpose, holder))
    assert list(value(made, x509.ExtendedKeyUsage)) == [usage]
    assert not value(made, x509.BasicConstraints).ca
    used = value(made, x509.KeyUsage)
    assert (used.digital_signature, used.content_commitment, used.key_cert_sign) == (True, commits, False)
    assert (made.not_valid_after_utc - house.clock()).days <= 365
    names = value(made, x509.SubjectAlternativeName)
    if purpose == "server":
        assert names.get_values_for_type(x509.DNSName) == ["localhost"]
        assert [str(one) for one in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    else:
        assert names.get_values_for_type(x509.RFC822Name) == ["ada@example.org"]


def test_who_approved_cannot_issue_and_nobody_approves_for_themselves(house):
    number = house.ca.request("user", ADA, approved_by="Rosa Klein")
    with pytest.raises(ParameterError, match="Who approved a request cannot issue"):
        house.ca.issue(number, by="rosa  klein")
    assert house.ca.index.certificates == []
    for name in ("ada lovelace", "Ada@example.org"):
        with pytest.raises(ParameterError, match="for themselves"):
            house.ca.request("user", ADA, approved_by=name)
    issued = house.ca.issue(number, by="Otto")
    events = house.ca.index.certificate(issued.serial).events
    assert [(one.what, one.by) for one in events] == [("approved", "Rosa Klein"), ("issued", "Otto")]
    with pytest.raises(InputError, match="issued before"):
        house.ca.issue(number, by="Otto")


def test_nothing_of_a_csr_but_its_key_is_certified(house):
    key = ec.generate_private_key(ec.SECP256R1())
    made = house.issued(csr=csr(key))
    certificate = certificate_of(made)
    assert certificate.public_key() == key.public_key()
    assert "somebody else" not in certificate.subject.rfc4514_string()
    assert made.key is None
    with pytest.raises(InputError, match="made elsewhere"):
        made.pkcs12("a long password")


WEAK = rsa.generate_private_key(65537, 1024)
GOOD = ec.generate_private_key(ec.SECP256R1())


def broken(text: bytes) -> bytes:
    """The same request with another name under the old signature."""
    der = bytearray(x509.load_pem_x509_csr(text).public_bytes(serialization.Encoding.DER))
    place = der.index(b"somebody")
    der[place] = ord("S")
    return bytes(der)


# SHA-1 in requests can no longer be made with cryptography; this one was made with openssl req -sha1.
SHA1 = """-----BEGIN CERTIFICATE REQUEST-----
MIHHMHACAQAwDjEMMAoGA1UEAwwDb2xkMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD
QgAEtY4fkoviS2JvYADleFQ8o2p0CPfnJXPDus8uo0TPEZOlyXcVJJYkUf/FJ1MW
42xpJFJHuaesiXZpO4BrWOol9KAAMAkGByqGSM49BAEDSAAwRQIgKZQpReEnUz/o
mARMzTQzmDPrJOLk5QJxpDv2m1gTeVMCIQCWFkfbNxcW11/pnzhWjmUMEs53WBms
OMNzMUKJu7AfyA==
-----END CERTIFICATE REQUEST-----
"""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (csr(WEAK), "RSA key has 1024 bits"),
        (csr(ec.generate_private_key(ec.SECP192R1())), "Keys of this kind"),
        (SHA1.encode(), "sha1, which is too weak"),
        (csr(GOOD, ca=True), "asks to be an authority"),
        (broken(csr(GOOD)), "not signed with its own key"),
        (b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n", "cannot be read"),
        (b"", "cannot be read"),
        (b"\x30" * 70_000, "too large"),
    ],
    ids=["rsa-1024", "p-192", "sha-1", "authority", "altered", "damaged", "empty", "huge"],
)
def test_a_weak_or_damaged_csr_is_refused(house, given, words):
    with pytest.raises(InputError, match=words):
        house.ca.request("user", ADA, approved_by="Rosa", csr=given)
    assert house.ca.index.requests == []


def test_a_key_serves_one_holder_and_purpose_and_never_comes_back(house):
    first = house.issued(csr=csr(GOOD))
    for purpose, holder in (("signing", ADA), ("user", Holder("Eve", email="eve@example.org"))):
        with pytest.raises(InputError, match="another holder or purpose"):
            house.ca.request(purpose, holder, approved_by="Rosa", csr=csr(GOOD))
    again = house.ca.renew(first.serial, by="Otto", csr=csr(GOOD))
    assert certificate_of(again).public_key() == GOOD.public_key()
    house.ca.revoke(first.serial, by="Rosa", reason="keyCompromise")
    with pytest.raises(InputError, match="revoked certificate"):
        house.ca.request("user", ADA, approved_by="Rosa", csr=csr(GOOD))


def test_a_request_whose_key_was_compromised_meanwhile_is_not_issued(house):
    first = house.issued(csr=csr(GOOD))
    number = house.ca.request("user", ADA, approved_by="Rosa", csr=csr(GOOD))
    house.ca.revoke(first.serial, by="Rosa", reason="keyCompromise")
    with pytest.raises(InputError, match="revoked certificate"):
        house.ca.issue(number, by="Otto")


@pytest.mark.parametrize(
    ("purpose", "holder"),
    [
        ("user", Holder("Ada")),
        ("user", Holder("Ada", email="no address")),
        ("user", Holder("Ada", email="a@b\n.org")),
        ("user", Holder("", email="ada@example.org")),
        ("user", Holder("Ada\x00", email="ada@example.org")),
        ("user", Holder("A" * 65, email="ada@example.org")),
        ("user", Holder("Ada", email="ada@example.org", hosts=("localhost",))),
        ("user", Holder("Ada", uris=("no uri",))),
        ("server", Holder("tables")),
        ("server", Holder("tables", hosts=("*.example.org",))),
        ("server", Holder("tables", hosts=("-x.example.org",))),
        ("server", Holder("tables", hosts=("localhost",), email="a@example.org")),
        ("spy", ADA),
    ],
)
def test_names_that_a_certificate_may_not_carry_are_refused(house, purpose, holder):
    with pytest.raises(ParameterError):
        house.ca.request(purpose, holder, approved_by="Rosa")


@pytest.mark.parametrize("days", [0, -1, 366])
def test_no_certificate_lasts_longer_than_a_year(house, days):
    with pytest.raises(ParameterError, match="days="):
        house.ca.request("user", ADA, approved_by="Rosa", days=days)


def test_states_go_their_way_and_each_change_is_on_the_list_at_once(house):
    one = house.issued()
    serial, numbers = int(one.serial, 16), []

    def entry():
        found = issuing_list(house)
        numbers.append(value(found, x509.CRLNumber).crl_number)
        line = found.get_revoked_certificate_by_serial_number(serial)
        return line and line.extensions.get_extension_for_class(x509.CRLReason).value.reason.value

    assert entry() is None
    house.ca.suspend(one.serial, by="Rosa")
    assert entry() == "certificateHold"
    house.ca.reactivate(one.serial, by="Rosa")
    assert entry() is None
    house.ca.revoke(one.serial, by="Rosa", reason="keyCompromise")
    assert entry() == "keyCompromise"
    assert numbers == [1, 2, 3, 4]
    for change in (house.ca.reactivate, house.ca.suspend, house.ca.revoke):
        with pytest.raises(InputError, match="is revoked"):
            change(one.serial, by="Rosa")
    with pytest.raises(InputError, match="only a valid one is renewed"):
        house.ca.renew(one.serial, by="Otto")
    with pytest.raises(ParameterError, match="Did you mean 'keyCompromise'"):
        house.ca.revoke(one.serial, by="Rosa", reason="keycompromise")
    with pytest.raises(InputError, match="no certificate with this serial"):
        house.ca.suspend("abc", by="Rosa")


def test_every_list_is_dated_later_and_ends_no_earlier_even_within_a_second(house):
    dates = []
    for _ in range(5):
        house.ca.publish_lists(root=True)
        dates.append([(one.last_update_utc, one.next_update_utc) for one in lists(house).values()])
    now = house.clock()
    for before, after in pairwise(dates):
        for (begin, end), (later, new_end) in zip(before, after, strict=True):
            assert begin < later <= now
            assert end <= new_end
    assert issuing_list(house).next_update_utc - now <= timedelta(hours=24)


def test_no_list_ends_before_the_one_before_it(house):
    """A server that has both would go back to the older one, which knows less."""
    house.at(timedelta(minutes=2), lambda: house.ca.publish_lists(root=True, root_days=365))
    before = lists(house)
    house.ca.publish_lists(root=True, root_days=1)
    for name, after in lists(house).items():
        assert after.last_update_utc > before[name].last_update_utc
        assert after.next_update_utc >= before[name].next_update_utc


def test_no_certificate_outlives_its_issuer(house):
    issuer = x509.load_der_x509_certificate(house.ca.index.issuing[0].der)
    late = issuer.not_valid_after_utc - house.clock() - timedelta(days=30)
    assert house.at(late, house.issued).not_after == issuer.not_valid_after_utc


def test_no_list_is_made_while_the_clock_stands_before_the_last_one(house):
    house.at(timedelta(hours=2), house.ca.publish_lists)
    before = issuing_list(house)
    with pytest.raises(InputError, match="clock stands before"):
        house.ca.publish_lists()
    assert issuing_list(house) == before


def test_renewing_keeps_the_holder_and_takes_a_new_key(house):
    old = house.issued(days=30)
    new = house.at(timedelta(days=20), lambda: house.ca.renew(old.serial, by="Otto"))
    assert new.serial != old.serial
    assert certificate_of(new).subject == certificate_of(old).subject
    assert certificate_of(new).public_key() != certificate_of(old).public_key()
    assert new.not_after > old.not_after
    with pytest.raises(InputError, match="has expired"):
        house.at(timedelta(days=40), lambda: house.ca.renew(old.serial, by="Otto"))


def test_what_expires_is_reported_the_next_first(house):
    soon, later, far = (house.issued(days=days).serial for days in (10, 20, 300))
    house.ca.revoke(house.issued(days=5).serial, by="Rosa")
    assert [one.serial for one in house.ca.expiring(30)] == [soon, later]
    assert far in [one.serial for one in house.ca.expiring(365)]


def test_pkcs12_opens_with_its_password_only(house):
    issued = house.issued()
    packed = issued.pkcs12("correct horse battery")
    key, own, others = pkcs12.load_key_and_certificates(packed, b"correct horse battery")
    assert own == certificate_of(issued)
    assert key.public_key() == own.public_key()
    assert len(others) == 1
    with pytest.raises(ValueError):
        pkcs12.load_key_and_certificates(packed, b"wrong horse battery")
    with pytest.raises(ParameterError, match="too short"):
        issued.pkcs12("short")


def test_only_the_owner_may_enter_the_folder_and_no_key_of_a_holder_lies_there(house):
    issued = house.issued()
    folder = house.ca.folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    secret = [path for path in folder.iterdir() if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in secret} == {0o600}
    assert {path.name for path in (folder / "public").iterdir()} == {"authorities.pem", "revoked.pem"}
    number = issued.key.private_numbers().private_value
    for path in folder.rglob("*"):
        if path.is_file():
            assert issued.key_pem.splitlines()[1] not in path.read_bytes()
            assert str(number).encode() not in path.read_bytes()
    assert "PRIVATE" not in repr(issued)
    assert not any(b"PRIVATE" in path.read_bytes() for path in house.public.iterdir())


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o777])
def test_a_folder_that_others_may_enter_is_refused(house, mode):
    house.ca.folder.chmod(mode)
    with pytest.raises(InputError, match="Others may enter"):
        Authority(house.ca.folder)


@pytest.mark.parametrize("name", ["root.key", "issuing-1.key", NAME])
def test_a_secret_that_others_may_read_is_refused(house, name):
    (house.ca.folder / name).chmod(0o640)
    with pytest.raises(InputError, match="Others may read"):
        house.ca.publish_lists(root=True)


def test_a_folder_that_is_not_empty_and_one_that_is_none_are_refused(house, tmp_path):
    with pytest.raises(OutputError, match="not empty"):
        Authority.create(house.ca.folder, "Another", by="Otto")
    with pytest.raises(InputError, match="no authority"):
        Authority(tmp_path / "nowhere")
    with pytest.raises(OutputError, match="Cannot make the folder"):
        Authority.create(house.ca.folder / NAME, "Another", by="Otto")


def edited(path: Path, change) -> None:
    """Change the index with a digest that fits, as an intruder would."""
    import hashlib

    head, _, body = path.read_bytes().partition(b"\n")
    found = json.loads(body)
    change(found)
    body = json.dumps(found).encode()
    path.write_bytes(head[:-64] + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def test_any_change_of_the_index_is_noticed(house):
    house.issued()
    path = house.ca.folder / NAME
    good = path.read_bytes()
    for place in range(0, len(good), max(1, len(good) // 60)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        with pytest.raises(InputError, match="damaged"):
            read_index(house.ca.folder)
    for cut in (0, 10, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:cut])
        with pytest.raises(InputError, match="damaged"):
            read_index(house.ca.folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.update(version=2),
        lambda found: found.update(more="fields"),
        lambda found: found["certificates"].append(found["certificates"][0]),
        lambda found: found["certificates"].clear(),
        lambda found: found["certificates"][0].update(state="gone"),
        lambda found: found["certificates"][0].update(state="revoked"),
        lambda found: found["certificates"][0].update(fingerprint="0" * 64),
        lambda found: found["certificates"][0].update(issuer=7),
        lambda found: found["issuing"].append(found["issuing"][0]),
        lambda found: found["requests"].append(found["requests"][0]),
    ],
)
def test_an_index_that_does_not_agree_with_itself_is_refused(house, change):
    house.issued()
    edited(house.ca.folder / NAME, change)
    with pytest.raises(InputError, match="damaged"):
        house.ca.request("user", ADA, approved_by="Rosa")


def test_a_foreign_key_is_not_used(house, tmp_path):
    other = House(tmp_path / "other", "Other Office")
    (house.ca.folder / "issuing-1.key").write_bytes((other.ca.folder / "issuing-1.key").read_bytes())
    with pytest.raises(InputError, match="not the one of its certificate"):
        house.issued()
    (house.ca.folder / "issuing-1.key").write_text("no key")
    with pytest.raises(InputError, match="holds no key"):
        house.ca.publish_lists()


def test_nothing_is_half_done_when_the_disk_refuses(house, monkeypatch):
    before = (house.ca.folder / NAME).read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        house.ca.request("user", ADA, approved_by="Rosa")
    assert (house.ca.folder / NAME).read_bytes() == before
    assert not [path for path in house.ca.folder.iterdir() if path.name.startswith(".new")]


def test_a_revocation_that_did_not_reach_the_list_is_on_the_next_one(house, monkeypatch):
    one = house.issued()
    monkeypatch.setattr("discreet.trust.authority_folder.replace_file", _refused)
    with pytest.raises(OutputError):
        house.ca.revoke(one.serial, by="Rosa")
    assert house.ca.index.certificate(one.serial).state == "revoked"
    assert issuing_list(house).get_revoked_certificate_by_serial_number(int(one.serial, 16)) is None
    monkeypatch.undo()
    house.ca.publish_lists()
    assert issuing_list(house).get_revoked_certificate_by_serial_number(int(one.serial, 16)) is not None


def _refused(path, *_):
    raise OutputError(f"Cannot write {path.name!r}.")


def test_a_new_issuing_authority_that_failed_can_be_made_again(house, monkeypatch):
    monkeypatch.setattr("discreet.trust.root_level.issuing_certificate", _refused_certificate)
    with pytest.raises(InputError, match="no certificate today"):
        house.ca.new_issuing(by="Otto")
    monkeypatch.undo()
    monkeypatch.setattr(type(house.ca), "add_list", _refused_certificate)
    with pytest.raises(InputError, match="no certificate today"):
        house.ca.new_issuing(by="Otto")
    monkeypatch.undo()
    assert house.ca.new_issuing(by="Otto") == 2
    house.issued()


def _refused_certificate(*_):
    raise InputError("There is no certificate today.")


def test_two_who_work_at_once_do_not_overwrite_each_other(house):
    with house.ca.changing(), pytest.raises(OutputError, match="Somebody else is at work"):
        house.ca.request("user", ADA, approved_by="Rosa")


def test_a_new_issuing_authority_takes_over_and_the_old_one_goes_on_with_its_list(house):
    old = house.issued()
    assert house.ca.new_issuing(by="Otto") == 2
    new = house.issued()
    assert certificate_of(new).issuer != certificate_of(old).issuer
    house.ca.revoke(old.serial, by="Rosa")
    found = lists(house)
    assert len(found) == 3
    assert found["Example Office Issuing CA 1"].get_revoked_certificate_by_serial_number(int(old.serial, 16))
    assert not list(found["Example Office Issuing CA 2"])
    house.ca.revoke_issuing(1, by="Rosa", reason="cACompromise")
    assert len(list(lists(house)["Example Office Root CA"])) == 1
    with pytest.raises(InputError, match="no valid issuing authority number 1"):
        house.ca.revoke_issuing(1, by="Rosa")
    house.ca.revoke_issuing(2, by="Rosa")
    with pytest.raises(InputError, match="Every issuing authority was revoked"):
        house.issued()
