"""Keys that never leave a token or hardware security module, by ``pkcs11:`` URI (RFC 7512).

The module of the token's maker is named by the variable ``DISCREET_PKCS11_MODULE``, the PIN by
``DISCREET_TOKEN_PIN``; neither belongs into a URI, which is kept in files and shown in lists of processes.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from discreet.errors import InputError, NeedsError, ParameterError, missing_extra

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

SCHEME = "pkcs11:"
MODULE, PIN = "DISCREET_PKCS11_MODULE", "DISCREET_TOKEN_PIN"
ALLOWED = ("token", "object", "id")


def token_uri(uri: str) -> dict[str, str]:
    """The parts of a URI that names a key on a token.

    Raises
    ------
    ParameterError
        When it is malformed, or holds more than names.

    Examples
    --------
    >>> token_uri("pkcs11:token=office;object=issuing%20key")
    {'token': 'office', 'object': 'issuing key'}
    """
    parts: dict[str, str] = {}
    for part in uri.removeprefix(SCHEME).split(";"):
        name, equals, value = part.partition("=")
        if name not in ALLOWED or not equals or not value or "?" in value or name in parts:
            raise ParameterError(
                "The URI of the key on a token is not allowed.",
                hint=f"Write pkcs11:token=NAME;object=LABEL; the module stands in {MODULE}, the PIN in {PIN}.",
            )
        parts[name] = unquote(value)
    if "token" not in parts or len(parts) < 2:
        raise ParameterError("The URI must name a token and an object or id.", hint="pkcs11:token=NAME;object=LABEL")
    return parts


def token_key(uri: str) -> EllipticCurvePrivateKey:
    """A key on a token, to sign certificates with.

    Raises
    ------
    InputError
        When the token or the key is not there, the PIN is wrong, or the key is on no curve that is taken.
    NeedsError
        When the package or the module of the token's maker is missing.
    """
    parts = token_uri(uri)
    try:
        import pkcs11
    except ModuleNotFoundError:
        raise missing_extra("python-pkcs11", "tokens", "A key on a token") from None
    module = os.environ.get(MODULE, "")
    if not module:
        raise NeedsError("No module for tokens is named.", hint=f"Set {MODULE} to the library of the token's maker.")
    try:
        session = _session(module, parts["token"])
        wanted = {"label": parts.get("object"), "id": bytes.fromhex(parts["id"]) if "id" in parts else None}
        private = session.get_key(object_class=pkcs11.ObjectClass.PRIVATE_KEY, **wanted)
        public = session.get_key(object_class=pkcs11.ObjectClass.PUBLIC_KEY, **wanted)
        return _made(private, public)
    except (pkcs11.PKCS11Error, RuntimeError, ValueError) as error:
        raise InputError(
            f"The key on the token cannot be used ({type(error).__name__}).",
            hint=f"Check token, object and the PIN in {PIN}; the key must be on the curve P-256 or P-384.",
        ) from None


@cache
def _session(module: str, token: str) -> Any:
    """The session with a token: one for the whole process, which signs in once."""
    import pkcs11

    return pkcs11.lib(module).get_token(token_label=token).open(user_pin=os.environ.get(PIN) or None)


def _made(private: Any, public: Any) -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from pkcs11.util.ec import encode_ec_public_key

    known = serialization.load_der_public_key(encode_ec_public_key(public))
    if not isinstance(known, ec.EllipticCurvePublicKey) or known.curve.name not in ("secp256r1", "secp384r1"):
        raise ValueError("another curve")
    made: EllipticCurvePrivateKey = _token_key_class()(private, known)
    return made


@cache
def _token_key_class() -> Any:
    """A private key as ``cryptography`` knows them, whose signatures the token makes."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    class TokenKey(ec.EllipticCurvePrivateKey):
        def __init__(self, private: Any, public: ec.EllipticCurvePublicKey) -> None:
            self._private, self._public = private, public

        def public_key(self) -> ec.EllipticCurvePublicKey:
            return self._public

        @property
        def curve(self) -> ec.EllipticCurve:
            return self._public.curve

        @property
        def key_size(self) -> int:
            return self._public.key_size

        def sign(self, data: Any, signature_algorithm: ec.EllipticCurveSignatureAlgorithm) -> bytes:
            import pkcs11

            digest = hashes.Hash(signature_algorithm.algorithm)  # type: ignore[arg-type]
            digest.update(data)
            raw = self._private.sign(digest.finalize(), mechanism=pkcs11.Mechanism.ECDSA)
            half = len(raw) // 2
            return encode_dss_signature(int.from_bytes(raw[:half], "big"), int.from_bytes(raw[half:], "big"))

        def exchange(self, algorithm: Any, peer_public_key: Any) -> bytes:
            raise _stays()

        def private_numbers(self) -> Any:
            raise _stays()

        def private_bytes(self, encoding: Any, format: Any, encryption_algorithm: Any) -> bytes:
            raise _stays()

        def __copy__(self) -> Any:
            return self

        def __deepcopy__(self, memo: Any) -> Any:
            return self

    return TokenKey


def _stays() -> NeedsError:
    return NeedsError("The key lies on a token and stays there.", hint="Use a key in a file for this.")
