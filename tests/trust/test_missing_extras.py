"""Without an extra, every door says which one it needs and how to install it."""

from __future__ import annotations

import sys

import pytest

from discreet.errors import NeedsError
from discreet.trust.authority import Authority
from discreet.trust.peer import PeerCertificate
from discreet.trust.tls import server_context
from discreet.trust.tokens import token_key
from discreet.trust.uvicorn_tls import certificate_protocol
from tests.trust.house import House


@pytest.mark.parametrize(
    "door",
    [
        lambda place: Authority.create(place / "ca", "Example Office", by="Otto"),
        lambda place: Authority(place),
        lambda place: server_context(place / "a", place / "b", place),
        lambda place: PeerCertificate.from_der(b""),
    ],
    ids=["create", "open", "context", "peer"],
)
def test_without_cryptography(door, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(NeedsError, match=r"'cryptography'.*discreet\[server\]"):
        door(tmp_path)
    assert not list(tmp_path.iterdir())


def test_without_the_package_for_shares_the_key_stays(tmp_path, monkeypatch):
    pytest.importorskip("cryptography")
    house = House(tmp_path)
    monkeypatch.setitem(sys.modules, "shamir_mnemonic", None)
    with pytest.raises(NeedsError, match=r"'shamir-mnemonic'.*discreet\[server\]"):
        house.ca.split(2, [tmp_path / "one", tmp_path / "two"], by="Otto")
    assert (house.ca.folder / "root.key").exists()


def test_without_the_package_for_tokens(monkeypatch):
    monkeypatch.setitem(sys.modules, "pkcs11", None)
    with pytest.raises(NeedsError, match=r"'python-pkcs11'.*discreet\[tokens\]"):
        token_key("pkcs11:token=a;object=b")


def test_without_uvicorn(monkeypatch):
    certificate_protocol.cache_clear()
    monkeypatch.setitem(sys.modules, "uvicorn.protocols.http.httptools_impl", None)
    with pytest.raises(NeedsError, match=r"'uvicorn'.*discreet\[server\]"):
        certificate_protocol()
