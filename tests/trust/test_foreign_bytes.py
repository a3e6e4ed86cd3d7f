"""Whatever bytes somebody sends, the answer is an error of ours, and nothing altered is taken for true."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.trust.certificates import key_of_request
from discreet.trust.peer import PeerCertificate
from discreet.trust.refusals import TrustRefusal, WhyRefused
from discreet.trust.requests import MemoryNonces, check_request
from discreet.trust.trusted import TrustedAuthorities
from tests.trust.house import House
from tests.trust.test_authority import certificate_of, csr

pytest.importorskip("cryptography")

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

MANY = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
CHANGES = st.tuples(st.floats(min_value=0, max_value=1, exclude_max=True), st.integers(min_value=1, max_value=255))


@pytest.fixture(scope="module")
def house(tmp_path_factory) -> House:
    return House(tmp_path_factory.mktemp("house"))


@pytest.fixture(scope="module")
def der(house) -> bytes:
    return certificate_of(house.issued()).public_bytes(Encoding.DER)


@pytest.fixture(scope="module")
def request_der() -> bytes:
    text = csr(ec.generate_private_key(ec.SECP256R1()))
    return x509.load_pem_x509_csr(text).public_bytes(Encoding.DER)


def changed(data: bytes, change) -> bytes:
    place = int(change[0] * len(data))
    return data[:place] + bytes([data[place] ^ change[1]]) + data[place + 1 :]


@given(change=CHANGES)
@MANY
def test_an_altered_certificate_is_never_trusted(house, der, change):
    trusted, other = TrustedAuthorities.read(house.public), changed(der, change)
    try:
        PeerCertificate.from_der(other)
        certificate = x509.load_der_x509_certificate(other)
    except (InputError, ValueError):
        return
    assert trusted.refusal(certificate, "user") is not None


@given(change=CHANGES)
@MANY
def test_an_altered_certificate_request_is_never_taken(request_der, change):
    key_of_request(request_der)
    with pytest.raises(InputError):
        key_of_request(changed(request_der, change))


@given(change=CHANGES, name=st.sampled_from(["authorities.pem", "revoked.pem"]))
@MANY
def test_altered_authorities_and_lists_are_refused_or_say_less(house, tmp_path, change, name):
    """A block whose title is misspelt is no certificate; what is signed does not become anything else."""
    true = TrustedAuthorities.read(house.public)
    for path in house.public.iterdir():
        data = path.read_bytes()
        (tmp_path / path.name).write_bytes(changed(data, change) if path.name == name else data)
    try:
        found = TrustedAuthorities.read(tmp_path)
    except TrustRefusal:
        return
    for subject, authority in found.authorities.items():
        assert authority == true.authorities[subject]
        assert found.lists[subject].crl == true.lists[subject].crl


@given(
    st.one_of(st.text(max_size=200), st.from_regex(r"[A-Za-z0-9_-]{0,40}\.[A-Za-z0-9_-]{0,40}\.[A-Za-z0-9_-]{0,40}"))
)
@MANY
def test_no_text_is_a_signed_request_by_chance(house, text):
    with pytest.raises(TrustRefusal) as found:
        check_request(
            text, method="GET", path="/", body=b"", dataset="d",
            trusted=TrustedAuthorities.read(house.public), nonces=MemoryNonces(),
        )  # fmt: skip
    assert found.value.refusal is WhyRefused.MALFORMED
