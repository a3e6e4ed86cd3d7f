"""Questions that somebody asks again, word for word: answered from what is kept for them, past everything but checks.

Nothing is decided here. Who asks is found as always, in the lists and in the store, at this request; the answer is one
that this person was given before for the same words; it is logged before it leaves, with the same bytes and headers.
Whatever is not so goes the way of all questions, which finds out itself why.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.errors import DiscreetError
from discreet.server.identity import Identity
from discreet.trust.requests import HEADER

if TYPE_CHECKING:
    from discreet.server.question import Question
    from discreet.server.service import Reply, Service

MOST = 16_384
"""Questions whose words are kept; those that nobody asked for longest go first."""
LONGEST = 2_048
"""Bytes of a question up to which its words are kept."""
OTHER_WAY = frozenset({b"cookie", HEADER.lower().encode()})
"""Headers with which a request is looked at whole: sessions and signatures."""

Words = tuple[str, bytes, bytes, bytes]
"""Who asks, the path, the query, and which formats they accept."""
WhoNow = Callable[[Mapping[str, Any]], Identity | None]
"""Who sent a request, from its ASGI scope and at once; ``None`` where that takes more."""


class KnownQuestion(NamedTuple):
    """What a question was found to be."""

    place: tuple[str, str]
    """Name and edition of the data set, as they stand in the address."""
    question: Question
    kept_as: tuple[str, ...]
    headers: list[tuple[bytes, bytes]]
    """What every answer to it is sent with; the number of the request is to be added."""


class AskedAgain:
    """Knows the words of questions that were answered, per person.

    Parameters
    ----------
    service
        What keeps the answers.
    who_now
        Who sent a request.
    """

    def __init__(self, service: Service, who_now: WhoNow) -> None:
        self._service = service
        self._who_now = who_now
        self._asked: OrderedDict[Words, KnownQuestion] = OrderedDict()

    def remember(
        self,
        scope: Mapping[str, Any],
        who: Identity,
        place: tuple[str, str],
        reply: Reply,
        headers: list[tuple[bytes, bytes]],
    ) -> None:
        """Keep the words of a question that was answered; what is logged with a signature is not."""
        if scope["method"] != "GET" or who.signed is not None:
            return
        words = self._words(scope, who)
        if words is not None and sum(map(len, words)) <= LONGEST:
            self._asked[words] = KnownQuestion(place, reply.question, reply.kept_as, headers)
            if len(self._asked) > MOST:
                self._asked.popitem(last=False)

    def who(self, scope: Mapping[str, Any]) -> Identity | None:
        """Who sends a request that shows nothing but a certificate, or nothing; ``None`` where more is to be looked at.

        A proof of identity that does not hold is ``None`` too, and refused where it is explained and logged.
        """
        if scope["method"] != "GET" or any(name in OTHER_WAY for name, _ in scope["headers"]):
            return None
        try:
            return self._who_now(scope)
        except DiscreetError:
            return None

    def find(self, scope: Mapping[str, Any], who: Identity) -> tuple[Reply, list[tuple[bytes, bytes]]] | None:
        """What somebody is answered who asks again, and with which headers; ``None`` for all other requests.

        A role that is gone, an edition that was withdrawn: all that is ``None`` too, and refused where it is explained
        and logged.
        """
        words = self._words(scope, who)
        asked = None if words is None else self._asked.get(words)
        if words is None or asked is None:
            return None
        try:
            reply = self._service.kept(who, asked.place, asked.question, asked.kept_as)
        except DiscreetError:
            return None
        if reply is None:
            del self._asked[words]
            return None
        self._asked.move_to_end(words)
        return reply, asked.headers

    @staticmethod
    def _words(scope: Mapping[str, Any], who: Identity) -> Words | None:
        accept: bytes | None = None
        path = scope.get("raw_path")
        if path is None:  # servers need not give it
            return None
        for name, value in scope["headers"]:
            if name in OTHER_WAY or (name == b"accept" and accept is not None):
                return None
            if name == b"accept":
                accept = value
        return who.holder, path, scope["query_string"], b"*/*" if accept is None else accept
