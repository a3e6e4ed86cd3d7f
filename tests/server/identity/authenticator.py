"""A passkey in software: makes a key, and signs what a browser shows it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec


def text_of(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def bytes_of(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Authenticator:
    """One passkey."""

    def __init__(self, host: str, origin: str) -> None:
        self.host, self.origin = host, origin
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.credential = os.urandom(32)
        self.uses = 0

    def _client_data(self, kind: str, options: dict[str, Any]) -> bytes:
        said = {"type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": False}
        return json.dumps(said).encode()

    def _head(self, flags: int) -> bytes:
        return hashlib.sha256(self.host.encode()).digest() + bytes([flags]) + self.uses.to_bytes(4, "big")

    def make(self, options: str) -> str:
        """Answer to options of a registration."""
        asked = json.loads(options)
        numbers = self.key.public_key().public_numbers()
        public = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        name = len(self.credential).to_bytes(2, "big") + self.credential
        data = self._head(0x41) + bytes(16) + name + cbor2.dumps(public)
        whole = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        return self._answer(
            {
                "clientDataJSON": text_of(self._client_data("webauthn.create", asked)),
                "attestationObject": text_of(whole),
            }
        )

    def sign(self, options: str, *, flags: int = 0x01) -> str:
        """Answer to options of a sign-in."""
        said = self._client_data("webauthn.get", json.loads(options))
        self.uses += 1
        head = self._head(flags)
        signature = self.key.sign(head + hashlib.sha256(said).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer(
            {
                "clientDataJSON": text_of(said),
                "authenticatorData": text_of(head),
                "signature": text_of(signature),
                "userHandle": None,
            }
        )

    def _answer(self, response: dict[str, Any]) -> str:
        name = text_of(self.credential)
        return json.dumps({"id": name, "rawId": name, "type": "public-key", "response": response})
