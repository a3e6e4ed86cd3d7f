"""Passkeys as a second factor: a key in the browser or a token signs a challenge of ours (WebAuthn).

With a sign-in at an identity provider this is level 2 of the ladder, one-time code with challenge. It does not stand in
for a certificate: confidential functions need level 3.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.errors import missing_extra
from discreet.server.denied import Denied, who_are_you
from discreet.server.identity import Identity

if TYPE_CHECKING:
    from discreet.server.store.store import Store

LEVEL = 2
LARGEST = 65_536
"""Characters of an answer of a browser."""


def _refused(kind: str) -> Denied:
    return Denied(kind, "The passkey was not accepted.", hint="Begin again from our own page.", status=401)


def _required() -> None:
    try:
        import webauthn  # noqa: F401
    except ImportError:
        raise missing_extra("webauthn", "server", "Passkeys") from None


@dataclass(frozen=True)
class Passkeys:
    """Passkeys for this server.

    Parameters
    ----------
    host
        Its name, for which browsers keep them: ``tables.example.org``.
    origin
        Its address as browsers see it: ``https://tables.example.org``.
    title
        What browsers show.
    """

    host: str
    origin: str
    title: str = "discreet"

    def registration_options(self, store: Store, identity: Identity) -> str:
        """What a browser needs to make a passkey (JSON).

        Raises
        ------
        Denied
            When nobody is known, or somebody has passkeys and has not shown one: a first factor alone adds none.
        """
        _required()
        from webauthn import generate_registration_options, options_to_json
        from webauthn.helpers import base64url_to_bytes
        from webauthn.helpers.structs import PublicKeyCredentialDescriptor

        number = self._may_add(store, identity)
        there = [PublicKeyCredentialDescriptor(base64url_to_bytes(row.credential)) for row in store.passkeys.of(number)]
        options = generate_registration_options(
            rp_id=self.host,
            rp_name=self.title,
            user_id=f"discreet {number}".encode(),
            user_name=identity.name,
            challenge=store.one_times.make("passkey registration", str(number)).encode(),
            exclude_credentials=there,
        )
        return options_to_json(options)

    def register(self, store: Store, identity: Identity, answer: str) -> None:
        """Enter the passkey that a browser made.

        Raises
        ------
        Denied
            When it does not answer a challenge of this person, for this page.
        """
        _required()
        from webauthn import verify_registration_response
        from webauthn.helpers import bytes_to_base64url
        from webauthn.helpers.exceptions import WebAuthnException

        number = self._may_add(store, identity)
        challenge = _challenge(store, "passkey registration", answer, number)
        try:
            made = verify_registration_response(
                credential=answer,
                expected_challenge=challenge,
                expected_rp_id=self.host,
                expected_origin=self.origin,
            )
        except (WebAuthnException, ValueError, TypeError, KeyError):
            raise _refused("passkey-registration") from None
        name = bytes_to_base64url(made.credential_id)
        store.passkeys.add(name, number, made.credential_public_key, made.sign_count)

    def sign_in_options(self, store: Store, identity: Identity) -> str:
        """What a browser needs to show a passkey (JSON).

        Raises
        ------
        Denied
            When nobody is known, or they have none.
        """
        _required()
        from webauthn import generate_authentication_options, options_to_json
        from webauthn.helpers import base64url_to_bytes
        from webauthn.helpers.structs import PublicKeyCredentialDescriptor

        number = _number(identity)
        rows = store.passkeys.of(number)
        if not rows:
            raise Denied("no-passkey", "You have no passkey here.", hint="Make one first.", status=404)
        options = generate_authentication_options(
            rp_id=self.host,
            challenge=store.one_times.make("passkey", str(number)).encode(),
            allow_credentials=[PublicKeyCredentialDescriptor(base64url_to_bytes(row.credential)) for row in rows],
        )
        return options_to_json(options)

    def confirm(self, store: Store, identity: Identity, answer: str) -> Identity:
        """The same person, now at level 2 at least; ``start_session`` gives them a new session.

        Raises
        ------
        Denied
            When the answer is not of a passkey of theirs, to a challenge of theirs, or the passkey counts backwards.
        """
        _required()
        from webauthn import verify_authentication_response
        from webauthn.helpers.exceptions import WebAuthnException

        number = _number(identity)
        challenge = _challenge(store, "passkey", answer, number)
        row = next((row for row in store.passkeys.of(number) if row.credential == json.loads(answer).get("id")), None)
        if row is None:
            raise _refused("passkey-unknown")
        try:
            shown = verify_authentication_response(
                credential=answer,
                expected_challenge=challenge,
                expected_rp_id=self.host,
                expected_origin=self.origin,
                credential_public_key=row.public_key,
                credential_current_sign_count=row.uses,
            )
        except (WebAuthnException, ValueError, TypeError, KeyError):
            raise _refused("passkey-wrong") from None
        if not store.passkeys.note_use(row, shown.new_sign_count):
            raise _refused("passkey-twice")
        return replace(identity, auth_level=max(identity.auth_level, LEVEL))

    def _may_add(self, store: Store, identity: Identity) -> int:
        number = _number(identity)
        if identity.auth_level < LEVEL and store.passkeys.of(number):
            raise Denied("passkey-first", "Show one of your passkeys first.", hint="Then you may add another.")
        return number


def _number(identity: Identity) -> int:
    if identity.principal_id is None:
        raise who_are_you("nobody")
    return identity.principal_id


def _challenge(store: Store, purpose: str, answer: str, number: int) -> bytes:
    """The challenge that an answer names, where it was this person's and is used for the first time."""
    from webauthn.helpers import base64url_to_bytes

    if len(answer) > LARGEST:
        raise _refused("passkey-large")
    try:
        data = json.loads(base64url_to_bytes(json.loads(answer)["response"]["clientDataJSON"]))
        challenge = base64url_to_bytes(data["challenge"])
        secret = challenge.decode("ascii")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _refused("passkey-answer") from None
    if store.one_times.use(purpose, secret) != str(number):
        raise _refused("passkey-challenge")
    return challenge
