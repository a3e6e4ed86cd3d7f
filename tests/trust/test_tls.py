"""Only a certificate of our own authority that counts now opens the door, over real sockets."""

from __future__ import annotations

import pickle
import shutil
import ssl
from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("cryptography")

from discreet.errors import InputError, ParameterError
from discreet.trust.holders import Holder
from discreet.trust.peer import PeerCertificate
from discreet.trust.refusals import TrustRefusal, WhyRefused
from discreet.trust.tls import client_context, server_context
from discreet.trust.trusted import TrustedAuthorities
from tests.trust.house import ADA, LOCAL, House
from tests.trust.wire import meet

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def house(tmp_path) -> House:
    return House(tmp_path)


@pytest.fixture
def doorkeeper(house) -> ssl.SSLContext:
    return server_context(*house.files(house.issued("server", LOCAL)), house.public)


def plain_client(house, files=None) -> ssl.SSLContext:
    """A client that shows whatever it likes, made without the code under test."""
    context = ssl.create_default_context(cafile=house.public / "authorities.pem")
    if files:
        context.load_cert_chain(*files)
    return context


def visits(house, issued, doorkeeper):
    return meet(doorkeeper, plain_client(house, issued and house.files(issued)))


def test_a_valid_certificate_opens_the_door(house, doorkeeper):
    found = visits(house, house.issued(), doorkeeper)
    assert (found.answered, found.server) == (True, None)


def test_none_does_not(house, doorkeeper):
    found = visits(house, None, doorkeeper)
    assert (found.answered, found.server) == (False, WhyRefused.NO_CERTIFICATE)


def test_one_that_expired_does_not(house, doorkeeper):
    old = house.at(-10 * DAY, lambda: house.issued(days=5))
    found = visits(house, old, doorkeeper)
    assert (found.answered, found.server) == (False, WhyRefused.EXPIRED)


def test_one_of_the_future_does_not(house, doorkeeper):
    found = visits(house, house.at(DAY, house.issued), doorkeeper)
    assert (found.answered, found.server) == (False, WhyRefused.NOT_YET_VALID)


@pytest.mark.parametrize(("purpose", "holder"), [("signing", ADA), ("server", LOCAL)])
def test_one_for_another_purpose_does_not(house, doorkeeper, purpose, holder):
    found = visits(house, house.issued(purpose, holder), doorkeeper)
    assert (found.answered, found.server) == (False, WhyRefused.WRONG_PURPOSE)


def test_one_of_another_authority_does_not_even_of_the_same_name(house, doorkeeper, tmp_path):
    for name in ("Other Office", "Example Office"):
        other = House(tmp_path / name, name)
        client = plain_client(house, other.files(other.issued()))
        found = meet(doorkeeper, client)
        assert not found.answered
        assert found.server in (WhyRefused.UNKNOWN_AUTHORITY, WhyRefused.OTHER)


def test_revoking_suspending_and_reactivating_reach_a_running_server(house, doorkeeper):
    one = house.issued()
    files = house.files(one)
    peer = PeerCertificate.from_der(ssl.PEM_cert_to_DER_cert(files[0].read_text().split("-----END")[0] + END))

    def outcome():
        house.give()
        assert doorkeeper.reload()
        assert not doorkeeper.reload()  # nothing new
        found = meet(doorkeeper, plain_client(house, files))
        return found.answered, found.server, doorkeeper.refusal(peer)

    house.ca.publish_lists()
    assert outcome() == (True, None, None)
    house.ca.suspend(one.serial, by="Rosa")
    assert outcome() == (False, WhyRefused.REVOKED, WhyRefused.SUSPENDED)
    house.ca.reactivate(one.serial, by="Rosa")
    assert outcome() == (True, None, None)
    house.ca.revoke(one.serial, by="Rosa")
    assert outcome() == (False, WhyRefused.REVOKED, WhyRefused.REVOKED)


END = "-----END CERTIFICATE-----\n"


def test_a_revoked_issuing_authority_takes_its_certificates_with_it(house, doorkeeper):
    one = house.issued()
    files = house.files(one)
    house.ca.new_issuing(by="Otto")
    house.ca.revoke_issuing(1, by="Rosa", reason="cACompromise")
    house.give()
    doorkeeper.reload()
    found = meet(doorkeeper, plain_client(house, files))
    assert (found.answered, found.server) == (False, WhyRefused.REVOKED)
    peer = PeerCertificate.from_der(ssl.PEM_cert_to_DER_cert(files[0].read_text().split("-----END")[0] + END))
    assert doorkeeper.refusal(peer) is WhyRefused.REVOKED


def test_certificates_of_a_new_issuing_authority_are_taken_after_a_reload(house, doorkeeper):
    house.ca.new_issuing(by="Otto")
    files = house.files(house.issued())
    assert meet(doorkeeper, plain_client(house, files)).server is not None
    house.give()
    assert doorkeeper.reload()
    client = plain_client(house, files)
    assert meet(doorkeeper, client).answered


@pytest.mark.parametrize("tickets", [0, 2])
def test_a_session_is_never_resumed_past_a_revocation(house, doorkeeper, tickets):
    """A server that resumes looks at no list: with tickets, which ours never gives, the revoked client gets in."""
    assert doorkeeper.num_tickets == 0
    one = house.issued()
    client = plain_client(house, house.files(one))
    if tickets:
        doorkeeper.num_tickets = tickets
        doorkeeper.options &= ~ssl.OP_NO_TICKET
    first = meet(doorkeeper, client)
    house.ca.revoke(one.serial, by="Rosa")
    house.give()
    doorkeeper.reload()
    assert meet(doorkeeper, client).server is WhyRefused.REVOKED
    assert meet(doorkeeper, client, session=first.session).answered == bool(tickets)


def test_protocols_before_tls_1_3_are_refused(house, doorkeeper):
    client = plain_client(house, house.files(house.issued()))
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    found = meet(doorkeeper, client)
    assert (found.answered, found.server) == (False, WhyRefused.OLD_PROTOCOL)


def test_where_certificates_are_optional_none_is_let_in_and_a_bad_one_is_not(house):
    files = house.files(house.issued("server", LOCAL))
    open_door = server_context(*files, house.public, clients="optional")
    assert meet(open_door, plain_client(house)).answered
    bad = house.issued()
    house.ca.revoke(bad.serial, by="Rosa")
    house.give()
    open_door.reload()
    assert visits(house, bad, open_door).server is WhyRefused.REVOKED
    with pytest.raises(ParameterError, match="clients='never'"):
        server_context(*files, house.public, clients="never")


def test_a_client_takes_only_a_server_that_counts(house, doorkeeper, tmp_path):
    user = house.files(house.issued())
    client = client_context(house.public, certificate=user[0], key=user[1])
    assert meet(doorkeeper, client).answered
    assert meet(doorkeeper, client, host="other.example.org").client is WhyRefused.WRONG_HOST
    served = house.issued("server", LOCAL)
    bad = server_context(*house.files(served), house.public)
    house.ca.revoke(served.serial, by="Rosa")
    house.give()
    client.reload()
    assert meet(bad, client).client is WhyRefused.REVOKED
    with pytest.raises(ParameterError, match="belong together"):
        client_context(house.public, certificate=user[0])


def refusal(*arguments, **options) -> WhyRefused:
    with pytest.raises(TrustRefusal) as found:
        server_context(*arguments, **options)
    again = pickle.loads(pickle.dumps(found.value))
    assert (again.refusal, str(again)) == (found.value.refusal, str(found.value))
    return found.value.refusal


def test_no_context_is_made_without_a_list_of_each_level(house):
    files = house.files(house.issued("server", LOCAL))
    both = (house.public / "revoked.pem").read_bytes()
    end = b"-----END X509 CRL-----\n"
    root, issuing, _ = both.split(end)
    for part in (b"", root + end, issuing + end):
        (house.public / "revoked.pem").write_bytes(part)
        assert refusal(*files, house.public) is WhyRefused.NO_CRL
    (house.public / "revoked.pem").unlink()
    assert refusal(*files, house.public) is WhyRefused.NO_CRL
    assert refusal(*files, house.public / "authorities.pem") is WhyRefused.NO_CRL
    (house.public / "revoked.pem").write_bytes(b"-----BEGIN X509 CRL-----\nAAAA\n" + end)
    assert refusal(*files, house.public) is WhyRefused.NO_CRL
    (house.place / "lists.pem").write_bytes(both)
    assert server_context(*files, house.public / "authorities.pem", house.place / "lists.pem")


def test_no_context_is_made_with_an_expired_list_of_either_level(house, tmp_path):
    old = House(tmp_path / "old", clock=house.clock.__class__(-2 * DAY))
    old.clock.shift = timedelta()
    files = old.files(old.issued("server", LOCAL))
    assert refusal(*files, old.public) is WhyRefused.CRL_EXPIRED
    old.ca.publish_lists()
    old.give()
    assert server_context(*files, old.public)
    ancient = House(tmp_path / "ancient", clock=house.clock.__class__(-100 * DAY))
    ancient.clock.shift = timedelta()
    ancient.ca.publish_lists()
    ancient.give()
    assert refusal(*ancient.files(ancient.issued("server", LOCAL)), ancient.public) is WhyRefused.CRL_EXPIRED
    with pytest.raises(TrustRefusal, match=r"Root CA.* expired"):
        TrustedAuthorities.read(ancient.public)


def test_a_list_that_expires_while_the_server_runs_closes_the_door(house, doorkeeper):
    """The server's clock cannot be moved, so the list is one that ended: given to OpenSSL past our own check."""
    files = house.files(house.issued())
    peer = PeerCertificate.from_der(ssl.PEM_cert_to_DER_cert(files[0].read_text().split("-----END")[0] + END))
    assert doorkeeper.refusal(peer, datetime.now(UTC) + 25 * HOUR) is WhyRefused.CRL_EXPIRED
    old = House(house.place / "old", clock=house.clock.__class__(-2 * DAY))
    old.clock.shift = timedelta()
    fresh = old.files(old.issued())
    bare = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    bare.verify_mode = ssl.CERT_REQUIRED
    bare.verify_flags |= ssl.VERIFY_CRL_CHECK_CHAIN | ssl.VERIFY_X509_STRICT
    bare.load_cert_chain(*old.files(old.issued("server", LOCAL)))
    for name, why in (("authorities.pem", WhyRefused.NO_CRL), ("revoked.pem", WhyRefused.CRL_EXPIRED)):
        bare.load_verify_locations(cafile=old.public / name)
        found = meet(bare, plain_client(old, fresh))
        assert (found.answered, found.server) == (False, why)


def test_a_forged_list_is_refused(house, tmp_path):
    files = house.files(house.issued("server", LOCAL))
    twin = House(tmp_path / "twin")
    shutil.copy(twin.public / "revoked.pem", house.public / "revoked.pem")
    assert refusal(*files, house.public) is WhyRefused.CRL_FORGED


def test_a_bundle_that_cannot_be_trusted_is_refused(house, tmp_path):
    files = house.files(house.issued("server", LOCAL))
    bundle = house.public / "authorities.pem"
    good = bundle.read_bytes()
    root, issuing, _ = (part + END.encode() for part in good.split(END.encode()))
    twin = House(tmp_path / "twin", "Other Office")
    for text in (
        b"",
        b"no certificate",
        issuing,
        root + files[0].read_bytes(),
        root + (twin.public / "authorities.pem").read_bytes().split(END.encode())[1] + END.encode(),
        good + files[1].read_bytes(),
        good + issuing,
    ):
        bundle.write_bytes(text)
        assert refusal(*files, house.public) is WhyRefused.BAD_AUTHORITIES


def test_where_the_root_key_lies_no_server_starts(house):
    files = house.files(house.issued("server", LOCAL))
    for place in (house.ca.folder, house.ca.folder / "public", house.ca.folder / "public" / "authorities.pem"):
        assert refusal(*files, place) is WhyRefused.ROOT_KEY_PRESENT
    (house.public / "root.key").touch()
    assert refusal(*files, house.public) is WhyRefused.ROOT_KEY_PRESENT
    house.ca.split(2, [house.place / "one", house.place / "two"], by="Otto")
    assert server_context(*files, house.ca.folder)
    assert server_context(*files, house.ca.folder / "public")


def test_a_server_whose_own_certificate_does_not_count_does_not_start(house, tmp_path):
    def own(issued):
        return refusal(*house.files(issued), house.public)

    assert own(house.issued()) is WhyRefused.WRONG_PURPOSE
    assert own(house.at(-10 * DAY, lambda: house.issued("server", LOCAL, days=5))) is WhyRefused.EXPIRED
    gone = house.issued("server", LOCAL)
    house.ca.revoke(gone.serial, by="Rosa")
    house.give()
    assert own(gone) is WhyRefused.REVOKED
    other = House(tmp_path / "other")
    assert own(other.issued("server", LOCAL)) is WhyRefused.UNKNOWN_AUTHORITY
    first, second = (house.files(house.issued("server", LOCAL)) for _ in range(2))
    with pytest.raises(InputError, match="cannot be used together"):
        server_context(first[0], second[1], house.public)
    first[1].chmod(0o644)
    with pytest.raises(InputError, match="Others may read the key"):
        server_context(*first, house.public)


def test_a_reload_that_cannot_be_trusted_changes_nothing(house, doorkeeper):
    one = house.issued()
    files = house.files(one)
    before = (house.public / "revoked.pem").read_bytes()
    house.ca.revoke(one.serial, by="Rosa")
    house.give()
    doorkeeper.reload()
    in_use = doorkeeper.trusted
    (house.public / "revoked.pem").write_bytes(before)  # somebody puts the old list back
    with pytest.raises(TrustRefusal) as found:
        doorkeeper.reload()
    assert found.value.refusal is WhyRefused.CRL_NOT_LATER
    (house.public / "revoked.pem").unlink()
    with pytest.raises(TrustRefusal, match="no list of revoked"):
        doorkeeper.reload()
    assert doorkeeper.trusted is in_use
    assert meet(doorkeeper, plain_client(house, files)).server is WhyRefused.REVOKED


def list_of(house, revoked, begin, end) -> bytes:
    """A list of the issuing level with dates of one's choice, which the authority itself would not make."""
    from cryptography.hazmat.primitives.serialization import Encoding

    from discreet.trust.authority_folder import load_certificate
    from discreet.trust.certificates import RevokedEntry, revocation_list

    level = house.ca.index.issuing[0]
    entries = [RevokedEntry(int(one.serial, 16), begin, "keyCompromise") for one in revoked]
    made = revocation_list(house.ca.issuing_key(level), load_certificate(level.der), entries, 9, begin, end)
    return made.public_bytes(Encoding.PEM)


def given_lists(house, *issuing: bytes) -> None:
    """Put lists of the issuing level beside that of the root."""
    end = b"-----END X509 CRL-----\n"
    root = (house.public / "revoked.pem").read_bytes().split(end)[0] + end
    (house.public / "revoked.pem").write_bytes(root + b"".join(issuing))


@pytest.mark.parametrize(
    ("begins", "ends"), [(0, 0), (9, -1), (-1, 0)], ids=["equally dated", "ends before the one in use", "older"]
)
def test_a_list_that_openssl_would_not_use_is_refused(house, doorkeeper, begins, ends):
    one = house.issued()
    used = next(found for name, found in doorkeeper.trusted.lists.items() if "Issuing" in name)
    begin, end = used.this_update + timedelta(seconds=begins), used.next_update + timedelta(seconds=ends)
    given_lists(house, list_of(house, [one], begin, end))
    with pytest.raises(TrustRefusal) as found:
        doorkeeper.reload()
    assert found.value.refusal is WhyRefused.CRL_NOT_LATER


def test_openssl_alone_goes_by_the_wrong_one_of_two_lists(house):
    """Why a reload refuses: of two with one date the first counts, and after the end of the later one the older."""
    one, now = house.issued(), datetime.now(UTC).replace(microsecond=0)
    second = timedelta(seconds=1)
    clean = list_of(house, [], now - 100 * second, now + HOUR)
    same_date = list_of(house, [one], now - 100 * second, now + HOUR)
    ended = list_of(house, [one], now - 50 * second, now - 10 * second)
    later = list_of(house, [one], now - 50 * second, now + HOUR)
    files, own = house.files(one), house.files(house.issued("server", LOCAL))
    for new, let_in in ((same_date, True), (ended, True), (later, False)):
        naive = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        naive.verify_mode = ssl.CERT_REQUIRED
        naive.verify_flags |= ssl.VERIFY_CRL_CHECK_CHAIN
        naive.load_cert_chain(*own)
        naive.load_verify_locations(cafile=house.public / "authorities.pem")
        for part in (clean, new):
            given_lists(house, part)
            naive.load_verify_locations(cafile=house.public / "revoked.pem")
        assert meet(naive, plain_client(house, files)).answered == let_in


def test_of_several_lists_in_a_file_the_latest_counts(house):
    one, now = house.issued(), datetime.now(UTC).replace(microsecond=0)
    old = list_of(house, [], now - HOUR, now + HOUR)
    new = list_of(house, [one], now - HOUR / 2, now + 2 * HOUR)
    own = house.files(house.issued("server", LOCAL))
    for both in ((old, new), (new, old)):
        given_lists(house, *both)
        assert visits(house, one, server_context(*own, house.public)).server is WhyRefused.REVOKED
    given_lists(house, list_of(house, [], now + HOUR, now + 2 * HOUR))
    assert refusal(*own, house.public) is WhyRefused.CRL_NOT_YET_VALID


def test_two_roots_are_trusted_side_by_side_while_one_takes_over(house, tmp_path):
    new = House(tmp_path / "new", "New Office")
    for name in ("authorities.pem", "revoked.pem"):
        (house.public / name).write_bytes((house.public / name).read_bytes() + (new.public / name).read_bytes())
    door = server_context(*house.files(house.issued("server", LOCAL)), house.public)
    for each in (house, new):
        assert meet(door, plain_client(house, each.files(each.issued()))).answered


def test_an_authority_that_was_taken_out_needs_a_restart(house, doorkeeper):
    house.ca.new_issuing(by="Otto")
    house.give()
    doorkeeper.reload()
    bundle = house.public / "authorities.pem"
    bundle.write_bytes(b"".join(part + END.encode() for part in bundle.read_bytes().split(END.encode())[:2]))
    with pytest.raises(TrustRefusal, match="after a restart"):
        doorkeeper.reload()


def test_a_peer_is_described_as_its_certificate_says(house):
    issued = house.issued("user", Holder("Ada Lovelace", email="ada@example.org", uris=("urn:office:17",)))
    pem = issued.certificate.decode().split("-----END")[0] + END
    peer = PeerCertificate.from_der(ssl.PEM_cert_to_DER_cert(pem))
    assert (peer.serial, peer.name, peer.email) == (issued.serial, "Ada Lovelace", "ada@example.org")
    assert peer.uris == ("urn:office:17",)
    assert peer.purposes == frozenset({"user"})
    assert peer.not_after == issued.not_after
    assert peer.fingerprint == house.ca.index.certificate(issued.serial).fingerprint
    assert "Ada Lovelace" in peer.subject
    for der in (b"", b"\x30\x00", b"\x30" * 70_000):
        with pytest.raises(InputError):
            PeerCertificate.from_der(der)
