"""Trust: who says so. Signatures that nobody can renew who has not the key; certificates, TLS, signed requests."""

from discreet.trust.signature import PublicKey, SigningKey, make_keys, read_signature

__all__ = ["PublicKey", "SigningKey", "make_keys", "read_signature"]
