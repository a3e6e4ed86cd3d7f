"""A signed request counts once, as it was signed, for who signed it; everything else is refused by its name."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, ParameterError, ResourceError
from discreet.trust.holders import Holder
from discreet.trust.refusals import TrustRefusal, WhyRefused
from discreet.trust.requests import (
    MemoryNonces,
    RequestToSign,
    body_digest,
    canonical,
    check_request,
    new_request,
    sign_request,
)
from discreet.trust.trusted import TrustedAuthorities
from tests.trust.house import ADA, House

pytest.importorskip("cryptography")

BODY = b'{"by": ["sex", "age"]}'
CAME = {"method": "POST", "path": "/tables?format=json", "body": BODY, "dataset": "census-3"}


@pytest.fixture(scope="module")
def house(tmp_path_factory) -> House:
    return House(tmp_path_factory.mktemp("house"))


@pytest.fixture(scope="module")
def signer(house):
    return house.issued("signing")


@pytest.fixture(scope="module")
def trusted(house, signer) -> TrustedAuthorities:
    return TrustedAuthorities.read(house.public)


def asked(user="ada@example.org", now=None) -> RequestToSign:
    return new_request("POST", CAME["path"], BODY, user=user, dataset="census-3", purpose="project 7", now=now)


def signed(issued, request=None) -> str:
    return sign_request(request or asked(), issued.key, issued.certificate)


def why(text, trusted, nonces=None, now=None, **came) -> WhyRefused:
    with pytest.raises(TrustRefusal) as found:
        check_request(text, **CAME | came, trusted=trusted, nonces=nonces or MemoryNonces(), now=now)
    assert found.value.refusal.value in str(found.value)
    return found.value.refusal


def test_a_signed_request_says_who_asked_what(signer, trusted):
    request = asked()
    found = check_request(signed(signer, request), **CAME, trusted=trusted, nonces=MemoryNonces())
    assert found.request == request
    assert (found.signer.email, found.signer.serial) == ("ada@example.org", signer.serial)


def test_any_implementation_of_jws_reads_it(signer):
    jws, jwk = pytest.importorskip("joserfc.jws"), pytest.importorskip("joserfc.jwk")
    text = signed(signer)
    key = jwk.ECKey.import_key(signer.key_pem)
    registry = jws.JWSRegistry(algorithms=["ES256"])
    registry.max_header_length = 8192  # the certificate is in it
    found = jws.deserialize_compact(text, key, registry=registry)
    assert json.loads(found.payload)["user"] == "ada@example.org"
    assert body_digest(BODY) in found.payload.decode()


@pytest.mark.parametrize(
    ("came", "name"),
    [
        ({"body": BODY + b" "}, WhyRefused.OTHER_BODY),
        ({"body": b""}, WhyRefused.OTHER_BODY),
        ({"method": "PUT"}, WhyRefused.OTHER_ADDRESS),
        ({"path": "/tables?format=csv"}, WhyRefused.OTHER_ADDRESS),
        ({"path": "/tables"}, WhyRefused.OTHER_ADDRESS),
        ({"dataset": "census-2"}, WhyRefused.OTHER_DATA),
    ],
)
def test_what_was_altered_on_the_way_is_refused(signer, trusted, came, name):
    assert why(signed(signer), trusted, **came) is name


def test_a_request_counts_once(signer, trusted):
    nonces, text = MemoryNonces(), signed(signer)
    check_request(text, **CAME, trusted=trusted, nonces=nonces)
    assert why(text, trusted, nonces) is WhyRefused.REPLAYED


def test_a_request_that_is_refused_does_not_use_up_its_nonce(signer, trusted):
    nonces, text = MemoryNonces(), signed(signer)
    assert why(text, trusted, nonces, body=b"other") is WhyRefused.OTHER_BODY
    assert check_request(text, **CAME, trusted=trusted, nonces=nonces)


def test_one_user_cannot_use_up_the_nonce_of_another(house, signer, trusted):
    eve, nonces = house.issued("signing", Holder("Eve", email="eve@example.org")), MemoryNonces()
    mine = asked()
    theirs = RequestToSign(
        **{name: getattr(mine, name) for name in mine.__struct_fields__} | {"user": "eve@example.org"}
    )
    check_request(signed(eve, theirs), **CAME, trusted=trusted, nonces=nonces)
    assert check_request(signed(signer, mine), **CAME, trusted=trusted, nonces=nonces)


@pytest.mark.parametrize(("seconds", "counts"), [(-299, True), (299, True), (-302, False), (302, False), (-9e6, False)])
def test_clocks_may_lie_five_minutes_apart(signer, trusted, seconds, counts):
    now = datetime.now(UTC).replace(microsecond=0)
    text = signed(signer, asked(now=now + timedelta(seconds=seconds)))
    if counts:
        assert check_request(text, **CAME, trusted=trusted, nonces=MemoryNonces(), now=now)
    else:
        assert why(text, trusted, now=now) is WhyRefused.TOO_OLD


def test_a_nonce_is_remembered_for_as_long_as_its_request_could_count(signer, trusted):
    kept = []

    class Watching(MemoryNonces):
        def first_seen(self, nonce, until):
            kept.append(until)
            return super().first_seen(nonce, until)

    request = asked()
    check_request(signed(signer, request), **CAME, trusted=trusted, nonces=Watching())
    assert kept[0] > datetime.fromtimestamp(request.time, UTC) + timedelta(minutes=5)


@pytest.mark.parametrize("purpose", ["user", "server"])
def test_a_certificate_for_another_purpose_does_not_sign(house, trusted, purpose):
    holder = ADA if purpose == "user" else Holder("ada", hosts=("localhost",))
    assert why(signed(house.issued(purpose, holder)), trusted) is WhyRefused.WRONG_PURPOSE


def test_a_certificate_of_another_user_or_house_does_not_sign_for_me(house, trusted, tmp_path):
    eve = house.issued("signing", Holder("Eve", email="eve@example.org"))
    assert why(signed(eve), trusted) is WhyRefused.OTHER_USER
    assert why(signed(house.issued("signing"), asked(user="nobody")), trusted) is WhyRefused.OTHER_USER
    for name in ("Example Office", "Other Office"):
        twin = House(tmp_path / name, name)
        assert why(signed(twin.issued("signing")), trusted) is WhyRefused.UNKNOWN_AUTHORITY


def test_a_certificate_that_expired_or_was_revoked_or_suspended_does_not_sign(house):
    old = house.at(timedelta(days=-10), lambda: house.issued("signing", days=5))
    gone, held = house.issued("signing"), house.issued("signing")
    house.ca.revoke(gone.serial, by="Rosa")
    house.ca.suspend(held.serial, by="Rosa")
    house.give()
    trusted = TrustedAuthorities.read(house.public)
    assert why(signed(old), trusted) is WhyRefused.EXPIRED
    assert why(signed(gone), trusted) is WhyRefused.REVOKED
    assert why(signed(held), trusted) is WhyRefused.SUSPENDED
    house.ca.reactivate(held.serial, by="Rosa")
    house.give()
    trusted = TrustedAuthorities.read(house.public)
    assert check_request(signed(held), **CAME, trusted=trusted, nonces=MemoryNonces())
    late = datetime.now(UTC) + timedelta(hours=25)
    assert why(signed(held, asked(now=late)), trusted, now=late) is WhyRefused.CRL_EXPIRED


def parts(text):
    return [base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in text.split(".")]


def joined(*raw: bytes) -> str:
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in raw)


def test_every_flipped_byte_is_refused(signer, trusted):
    raw = parts(signed(signer))
    for which in range(3):
        for place in range(0, len(raw[which]), max(1, len(raw[which]) // 40)):
            flipped = bytearray(raw[which])
            flipped[place] ^= 1
            given = [bytes(flipped) if number == which else part for number, part in enumerate(raw)]
            assert why(joined(*given), trusted) in WhyRefused


def test_other_ways_to_sign_are_refused(signer, trusted):
    head, payload, signature = parts(signed(signer))
    for name in ("none", "HS256", "EdDSA", ""):
        other = json.dumps({**json.loads(head), "alg": name}).encode()
        assert why(joined(other, payload, signature), trusted) is WhyRefused.BAD_SIGNATURE
        assert why(joined(other, payload, b""), trusted) is WhyRefused.BAD_SIGNATURE


@pytest.mark.parametrize("name", ["EdDSA", "ES384", "none"])
def test_a_right_signature_under_another_name_is_refused(signer, trusted, name):
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, utils

    head, payload, _ = parts(signed(signer))
    for alg, counts in (("ES256", True), (name, False)):
        front = joined(json.dumps({**json.loads(head), "alg": alg}).encode(), payload)
        r, s = utils.decode_dss_signature(signer.key.sign(front.encode(), ec.ECDSA(hashes.SHA256())))
        text = f"{front}.{joined(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
        if counts:
            assert check_request(text, **CAME, trusted=trusted, nonces=MemoryNonces())
        else:
            assert why(text, trusted) is WhyRefused.BAD_SIGNATURE


def test_other_spellings_are_refused(signer, trusted):
    head, payload, signature = parts(signed(signer))
    spaced = json.dumps(json.loads(payload)).encode()
    twice = payload[:-1] + b',"user":"eve@example.org"}'
    more = payload[:-1] + b',"zeal":1}'
    texts = [joined(head, one, signature) for one in (spaced, twice, more, b"[]", b"", b"[" * 9000)]
    text = signed(signer)
    texts += ["", "..", "a.b", text + ".x", text + "=", text + "\n", text[:-1] + "é", "A" * 20_000]
    texts.append(joined(json.dumps({**json.loads(head), "typ": "JWT"}).encode(), payload, signature))
    texts.append(joined(json.dumps({**json.loads(head), "x5c": ["!!"]}).encode(), payload, signature))
    texts.append(joined(json.dumps({**json.loads(head), "x5c": []}).encode(), payload, signature))
    for one in texts:
        assert why(one, trusted) is WhyRefused.MALFORMED


def test_ed25519_signs_too_and_other_keys_do_not(house, trusted):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519
    from cryptography.hazmat.primitives.serialization import Encoding

    def certified(key, digest):
        request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, digest)
        return house.issued("signing", csr=request.public_bytes(Encoding.DER)).certificate

    key = ed25519.Ed25519PrivateKey.generate()
    text = sign_request(asked(), key, certified(key, None))
    assert check_request(text, **CAME, trusted=trusted, nonces=MemoryNonces())
    large = ec.generate_private_key(ec.SECP384R1())
    with pytest.raises(InputError, match="do not sign requests"):
        sign_request(asked(), large, certified(large, hashes.SHA384()))
    with pytest.raises(InputError, match="not the one of the certificate"):
        sign_request(asked(), key, house.issued("signing").certificate)


@pytest.mark.parametrize("change", [{"method": "get"}, {"path": "tables"}, {"purpose": ""}, {"user": "a\nb"}])
def test_what_could_not_be_checked_is_not_signed(change):
    given = {"method": "GET", "path": "/", "user": "a@example.org", "dataset": "d", "purpose": "p"} | change
    with pytest.raises(ParameterError, match="cannot be signed"):
        new_request(given.pop("method"), given.pop("path"), b"", **given)


def test_full_memory_refuses_and_forgets_only_what_is_over():
    now = [datetime(2030, 1, 1, tzinfo=UTC)]
    nonces = MemoryNonces(lambda: now[0], most=2)
    end = now[0] + timedelta(minutes=10)
    assert nonces.first_seen("a", end)
    assert nonces.first_seen("b", end + timedelta(minutes=10))
    with pytest.raises(ResourceError, match="Too many requests"):
        nonces.first_seen("c", end)
    now[0] = end + timedelta(seconds=1)
    assert nonces.first_seen("c", end)
    assert not nonces.first_seen("b", end)


TEXTS = st.text(max_size=30)
REQUESTS = st.builds(
    RequestToSign, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, st.integers(min_value=0, max_value=2**40)
)


@given(REQUESTS, REQUESTS)
@settings(max_examples=150, deadline=None)
def test_requests_that_differ_are_spelt_differently(one, other):
    assert (canonical(one) == canonical(other)) == (one == other)
    assert json.loads(canonical(one)) == {name: getattr(one, name) for name in one.__struct_fields__}


@given(st.lists(TEXTS, min_size=2, max_size=2), st.integers(min_value=0, max_value=5), TEXTS)
@settings(max_examples=200, deadline=None)
def test_moving_letters_between_fields_changes_the_spelling(halves, place, rest):
    """Fields cannot run into each other: a + b in one pair of fields is never a' + b' in the same pair."""
    first, second = halves
    texts = [rest] * 7
    moved = list(texts)
    texts[place], texts[place + 1] = first, second
    moved[place], moved[place + 1] = first + second[:1], second[1:]
    spelt = [canonical(RequestToSign(*one, 5)) for one in (texts, moved)]
    assert (spelt[0] == spelt[1]) == (texts == moved)
