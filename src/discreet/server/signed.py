"""Signed requests: who sends one is who signed it, nothing was altered on the way, and it counts once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from starlette.requests import Request

from discreet.server.denied import Denied, who_are_you
from discreet.server.identity import Identity, signed_by
from discreet.trust.refusals import TrustRefusal
from discreet.trust.requests import HEADER, TOLERANCE, check_request

if TYPE_CHECKING:
    from discreet.server.store.store import Store
    from discreet.trust.tls import CheckedContext

LONGEST = 12_000
"""Characters of a signed request that the log takes."""


def _refused(kind: str) -> Denied:
    return Denied(
        kind, "The signature of the request does not count.", hint="Sign it anew: time, nonce, edition.", status=401
    )


@dataclass(frozen=True)
class NoncesOfAll:
    """The nonces that all workers of a server have seen, as :func:`check_request` asks for them."""

    store: Store

    def first_seen(self, nonce: str, until: datetime) -> bool:
        """Note a nonce and say whether it is new."""
        signer, _, own = nonce.partition(":")
        try:
            self.store.nonces.use(signer, own, round((until - 2 * TOLERANCE).timestamp()))
        except Denied as error:
            if error.kind != "replay":
                raise
            return False
        return True


@dataclass(frozen=True)
class SignedRequests:
    """Checks signatures of questions.

    Parameters
    ----------
    store
        Whose certificates they are, and which nonces were seen.
    context
        Authorities and lists of revoked certificates.
    signed
        Whether a question without a signature is refused.
    """

    store: Store
    context: CheckedContext
    signed: Literal["required", "optional"] = "optional"

    async def __call__(self, request: Request, who: Identity, dataset: str) -> Identity:
        """Who asks, with the purpose that they signed.

        Raises
        ------
        Denied
            When the signature is missing and needed, or does not hold.
        """
        given = request.headers.getlist(HEADER)
        if not given:
            if self.signed == "required":
                raise _refused("not-signed")
            return who
        if len(given) > 1 or len(given[0]) > LONGEST:
            raise _refused("malformed-request")
        body: bytes = getattr(request.state, "body", b"")
        return await asyncio.to_thread(self._checked, given[0], request, body, who, dataset)

    def _checked(self, text: str, request: Request, body: bytes, who: Identity, dataset: str) -> Identity:
        query = request.scope["query_string"]
        path = request.scope["raw_path"] + (b"?" + query if query else b"")
        if who.principal_id is None:
            raise who_are_you("nobody")
        try:
            found = check_request(
                text,
                method=request.method,
                path=path.decode("ascii", "replace"),
                body=body,
                dataset=dataset,
                trusted=self.context.trusted,
                nonces=NoncesOfAll(self.store),
            )
        except TrustRefusal as error:
            raise _refused(error.refusal.value.replace(" ", "-")) from None
        signed_by(self.store, found.signer, who)
        return replace(who, purpose=found.request.purpose[:500], signed=text)
