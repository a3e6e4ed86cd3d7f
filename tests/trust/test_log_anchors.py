"""A time-stamp of an outside authority shows when a head was there, and is kept only if all of it holds."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

pytest.importorskip("cryptography")
client = pytest.importorskip("rfc3161_client")

from cryptography.x509.oid import ExtendedKeyUsageOID  # noqa: E402

from discreet.errors import InputError, VerificationError  # noqa: E402
from discreet.trust import SigningKey  # noqa: E402
from discreet.trust.log_anchors import check_anchor, make_anchor, read_roots, stamp_request  # noqa: E402
from discreet.trust.log_verify import check_log  # noqa: E402
from tests.trust.log_making import key_in, log_of  # noqa: E402
from tests.trust.stamping import NOW, StampingAuthority  # noqa: E402


@pytest.fixture(scope="module")
def heads(tmp_path_factory) -> tuple[Path, list[bytes]]:
    folder = tmp_path_factory.mktemp("anchored")
    made = log_of(folder / "log", SigningKey.from_file(key_in(folder)), (1, 2))
    return folder, [head.to_json() for head in made]


def asked(request: bytes) -> tuple[bytes, int]:
    told = client._rust.parse_timestamp_request(request)
    return told.message_imprint.message, told.nonce


def test_a_stamp_is_kept_with_its_head_and_finds_what_was_cut_off(heads, tmp_path):
    folder, (_, _, head) = heads
    authority = StampingAuthority()
    (tmp_path / "root.pem").write_bytes(authority.pem)
    request = stamp_request(head)
    anchor, time = make_anchor(head, request, authority.answer(*asked(request)), read_roots(tmp_path / "root.pem"))
    assert time == NOW
    kept, again = check_anchor(anchor, [authority.root])
    assert (kept + b"\n", again) == (head, NOW)
    assert check_log(folder / "log", heads=[kept]).holds
    lines = (folder / "log" / "segment-00000001.log").read_bytes().splitlines(keepends=True)
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "log.json").write_bytes((folder / "log" / "log.json").read_bytes())
    (tmp_path / "log" / "segment-00000001.log").write_bytes(b"".join(lines[:4]))
    assert check_log(tmp_path / "log").holds
    assert [one.fault for one in check_log(tmp_path / "log", heads=[kept]).faults] == ["truncated"]


def refused(head: bytes, request: bytes, response: bytes, authority: StampingAuthority) -> str:
    with pytest.raises(VerificationError, match="The time-stamp does not hold") as error:
        make_anchor(head, request, response, [authority.root])
    return str(error.value)


def test_stamps_on_something_else_are_refused(heads):
    _, (first, _, head) = heads
    authority = StampingAuthority()
    request = stamp_request(head)
    imprint, nonce = asked(request)
    good = authority.answer(imprint, nonce)
    assert "another head" in refused(first, request, good, authority)
    assert "Nonce" in refused(head, request, authority.answer(imprint, nonce + 1), authority)
    other, _ = asked(stamp_request(first))
    assert "messages" in refused(head, request, authority.answer(other, nonce), authority)
    assert "GRANTED" in refused(head, request, authority.answer(imprint, nonce, status=2), authority)
    assert "GRANTED" in refused(head, request, authority.answer(imprint, nonce, status=1), authority)


def test_stamps_of_others_are_refused(heads):
    _, (_, _, head) = heads
    request = stamp_request(head)
    authority, stranger = StampingAuthority(), StampingAuthority()
    refused(head, request, stranger.answer(*asked(request)), authority)
    server = StampingAuthority(purpose=ExtendedKeyUsageOID.SERVER_AUTH)
    refused(head, request, server.answer(*asked(request)), server)
    late = StampingAuthority(time=NOW + timedelta(days=400))  # its certificate has ended by then
    refused(head, request, late.answer(*asked(request)), late)
    early = StampingAuthority(time=NOW - timedelta(days=400))
    refused(head, request, early.answer(*asked(request)), early)


def test_a_stamp_with_a_changed_time_or_digest_is_refused(heads):
    _, (_, _, head) = heads
    authority = StampingAuthority()
    request = stamp_request(head)
    imprint, nonce = asked(request)
    good = authority.answer(imprint, nonce)
    refused(head, request, good.replace(b"20261118060000Z", b"20251118060000Z"), authority)
    assert good.count(imprint) == 1
    refused(head, request, good.replace(imprint, bytes(32)), authority)
    refused(head, request, good[:-1], authority)
    refused(head, b"", good, authority)


@pytest.mark.parametrize("data", [b"", b"{}", b'{"head":1,"request":"","response":"?"}', b"x" * 1_000_001])
def test_what_is_no_anchor_is_said(data):
    with pytest.raises(InputError, match="no anchor"):
        check_anchor(data, [StampingAuthority().root])
    with pytest.raises(InputError, match="no signed head"):
        stamp_request(data)


def test_what_is_no_certificate_is_said(tmp_path):
    (tmp_path / "root.pem").write_text("hello")
    with pytest.raises(InputError, match="holds no certificates"):
        read_roots(tmp_path / "root.pem")
