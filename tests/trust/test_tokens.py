"""A key on a token signs certificates and never leaves it: with SoftHSM, where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from discreet.errors import InputError, NeedsError, ParameterError
from discreet.trust.authority import Authority
from discreet.trust.tokens import MODULE, PIN, token_key, token_uri
from tests.trust.house import ADA

pytest.importorskip("cryptography")
pkcs11 = pytest.importorskip("pkcs11")

PLACES = [
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so",
    "/usr/lib64/softhsm/libsofthsm.so",
]
LIBRARY = next((place for place in [os.environ.get("SOFTHSM2_MODULE", ""), *PLACES] if Path(place).is_file()), None)
PROGRAM = os.environ.get("SOFTHSM2_UTIL") or shutil.which("softhsm2-util")
needs_token = pytest.mark.skipif(
    LIBRARY is None or PROGRAM is None, reason="SoftHSM is not installed (apt install softhsm2)"
)
URI = "pkcs11:token=office;object=issuing"


@pytest.fixture(scope="module")
def token(tmp_path_factory):
    """A token with a key on P-256; one for all tests, because the library keeps its first configuration."""
    place = tmp_path_factory.mktemp("token")
    (place / "tokens").mkdir()
    (place / "softhsm2.conf").write_text(f"directories.tokendir = {place}/tokens\nlog.level = ERROR\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOFTHSM2_CONF", str(place / "softhsm2.conf"))
        patch.setenv(MODULE, str(LIBRARY))
        patch.setenv(PIN, "1234")
        command = [str(PROGRAM), "--module", str(LIBRARY), "--init-token", "--free", "--label", "office"]
        command += ["--pin", "1234", "--so-pin", "5678"]
        subprocess.run(command, check=True, capture_output=True, timeout=20)
        from pkcs11.util.ec import encode_named_curve_parameters

        with pkcs11.lib(LIBRARY).get_token(token_label="office").open(rw=True, user_pin="1234") as session:
            curve = {pkcs11.Attribute.EC_PARAMS: encode_named_curve_parameters("secp256r1")}
            parameters = session.create_domain_parameters(pkcs11.KeyType.EC, curve, local=True)
            parameters.generate_keypair(store=True, label="issuing")
        yield patch


@needs_token
def test_an_issuing_authority_with_its_key_on_a_token_issues_and_revokes(token, tmp_path):
    from cryptography import x509

    ca = Authority.create(tmp_path / "ca", "Example Office", by="Otto", issuing_key=URI)
    issued = ca.issue(ca.request("user", ADA, approved_by="Rosa"), by="Otto")
    own, issuer = x509.load_pem_x509_certificates(issued.certificate)
    own.verify_directly_issued_by(issuer)
    ca.revoke(issued.serial, by="Rosa")
    text = (ca.folder / "crl-1.pem").read_bytes()
    revoked = x509.load_pem_x509_crl(text)
    assert revoked.is_signature_valid(issuer.public_key())
    assert revoked.get_revoked_certificate_by_serial_number(own.serial_number)
    assert not list(ca.folder.glob("issuing*"))
    assert ca.index.issuing[0].key == URI


@needs_token
def test_the_key_stays_on_the_token(token):
    key = token_key(URI)
    for taken in (
        key.private_numbers,
        lambda: key.exchange(None, None),
        lambda: key.private_bytes(None, None, None),
    ):
        with pytest.raises(NeedsError, match="stays there"):
            taken()


@needs_token
@pytest.mark.parametrize("uri", ["pkcs11:token=office;object=other", "pkcs11:token=nowhere;object=issuing"])
def test_a_key_or_token_that_is_not_there_is_named_so(token, uri):
    with pytest.raises(InputError, match="cannot be used"):
        token_key(uri)


def test_without_a_module_the_error_says_how_to_name_one(monkeypatch):
    monkeypatch.delenv(MODULE, raising=False)
    with pytest.raises(NeedsError, match=MODULE):
        token_key(URI)


@pytest.mark.parametrize(
    "uri",
    [
        "pkcs11:token=office",
        "pkcs11:object=key",
        "pkcs11:token=office;object=key?pin-value=1234",
        "pkcs11:token=office;object=key;pin-value=1234",
        "pkcs11:token=office;token=other;object=key",
        "pkcs11:",
    ],
)
def test_a_uri_names_a_token_and_a_key_and_never_holds_a_pin(uri):
    with pytest.raises(ParameterError) as found:
        token_uri(uri)
    assert "1234" not in str(found.value)
