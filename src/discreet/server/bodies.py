"""Bodies of requests, up to a size."""

from __future__ import annotations

from typing import TypeVar

from starlette.requests import Request

from discreet.server.question import LARGEST, QuestionRefusal, decode_body

T = TypeVar("T")


async def limited_body(request: Request) -> bytes:
    """The body of a request.

    Raises
    ------
    QuestionRefusal
        When it is too large (413).
    """
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > LARGEST:
            raise QuestionRefusal(
                "too-large", f"The question has more than {LARGEST:,} bytes.", hint="Ask less.", status=413
            )
    return bytes(found)


async def json_content(request: Request) -> bytes:
    """The body of a request that says that it is JSON; a signature is compared with it.

    Raises
    ------
    QuestionRefusal
        When it says that it is something else (415), or is too large (413).
    """
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent != "application/json":
        raise QuestionRefusal(
            "not-json", "The question is not JSON.", hint="Send it with Content-Type: application/json.", status=415
        )
    found = await limited_body(request)
    request.state.body = found
    return found


async def json_body(request: Request, kind: type[T]) -> T:
    """The body of a request as one of our types.

    Raises
    ------
    QuestionRefusal
        When it is no JSON (400, 415), too large (413) or says what that type does not say (400).
    """
    return decode_body(await json_content(request), kind)
