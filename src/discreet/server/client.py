"""Asking a table server from Python: data sets, what may be asked of them, and protected tables."""

from __future__ import annotations

import hashlib
import http.client
import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from discreet.errors import DiscreetError, InputError, NeedsError, ParameterError, ResourceError
from discreet.model.public import PublicTable
from discreet.server.extract_client import ServerExtracts
from discreet.server.received import table_of_jsonstat

if TYPE_CHECKING:
    from discreet.server.request_signer import RequestSigner

LOOPBACK = ("127.0.0.1", "::1", "localhost")
MOST_BYTES = 2**30
"""Bytes of an answer."""
PART = 2**18
"""Bytes that are read at once."""
MOST_REFUSAL = 2**20
GOOD = (200, 201)
MOST_WORDS = 1_000
"""Characters that are taken over from the error of a server."""
JSON, ARROW, BYTES = "application/json", "application/vnd.apache.arrow.stream", "application/octet-stream"


def connect(
    url: str,
    *,
    authorities: str | Path | None = None,
    crls: str | Path | None = None,
    certificate: str | Path | None = None,
    key: str | Path | None = None,
    signing_certificate: str | Path | None = None,
    signing_key: str | Path | None = None,
    purpose: str = "",
    timeout: float = 60.0,
) -> TableConnection:
    """A table server to ask.

    Nothing is sent before the first question.

    Parameters
    ----------
    url
        Where it answers: ``https://tables.example.org``. Plain ``http`` is for this machine alone.
    authorities
        The folder ``public`` of the office's authority, or a file of certificates; those of the system when left out.
    crls
        Lists of revoked certificates, where they do not lie in ``authorities``.
    certificate, key
        Files with one's own certificate and its key, where the server wants to know who asks. They need
        ``authorities``.
    signing_certificate, signing_key
        Files with one's certificate for signing and its key: questions are signed, as some servers want.
    purpose
        With them, what the questions are for: the project.
    timeout
        Seconds to wait for an answer.

    Raises
    ------
    ParameterError
        When the address is none, or questions would travel in the open.
    InputError
        When a certificate cannot be used.

    Examples
    --------
    >>> import discreet as ds
    >>> server = ds.connect("http://127.0.0.1:9")
    >>> try:
    ...     server.table("census", ["sex", "age_group:1"])
    ... except ds.DiscreetError as error:
    ...     print(error.message)
    No server answers at 127.0.0.1:9.
    """
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
        raise ParameterError(f"{url[:80]!r} is not the address of a server.", hint="Write https://tables.example.org.")
    if parts.username is not None or parts.query or parts.fragment:
        raise ParameterError(
            "The address of a server has no user, query or fragment.", hint="Write https://tables.example.org."
        )
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise ParameterError(
            f"Questions to {parts.hostname!r} would travel in the open.", hint="Write https:// instead of http://."
        )
    context = _context(authorities, crls, certificate, key) if parts.scheme == "https" else None
    if context is None and (authorities, crls, certificate, key) != (None,) * 4:
        raise ParameterError("Certificates are for https.", hint="Write https://, or leave them out.")
    signer = _signer(signing_certificate, signing_key, purpose)
    return TableConnection(parts.hostname, port, parts.path.rstrip("/"), context, timeout, signer)


def _signer(certificate: str | Path | None, key: str | Path | None, purpose: str) -> RequestSigner | None:
    if certificate is not None and key is not None:
        from discreet.server.request_signer import RequestSigner

        return RequestSigner.from_files(certificate, key, purpose)
    if (certificate, key, purpose) != (None, None, ""):
        raise ParameterError(
            "Signing takes a certificate, its key and a purpose.",
            hint="Give signing_certificate=, signing_key= and purpose=, or none of them.",
        )
    return None


def _context(
    authorities: str | Path | None, crls: str | Path | None, certificate: str | Path | None, key: str | Path | None
) -> ssl.SSLContext:
    if authorities is not None:
        from discreet.trust.tls import client_context

        return client_context(authorities, crls, certificate=certificate, key=key)
    if (crls, certificate, key) != (None,) * 3:
        raise ParameterError(
            "Lists and certificates are those of an authority, and authorities is not given.",
            hint="Give authorities=, the folder public of the office's authority.",
        )
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


@dataclass(frozen=True)
class TableConnection:
    """A table server, as :func:`connect` gives it. Every question is a request of its own; threads may share it."""

    host: str
    port: int | None
    path: str = ""
    context: ssl.SSLContext | None = field(default=None, repr=False)
    timeout: float = 60.0
    signer: RequestSigner | None = None

    def datasets(self) -> list[dict[str, Any]]:
        """Data sets and editions of the server: name, edition, title and period of each."""
        found: list[dict[str, Any]] = self.answer_of("GET", "/v1/datasets")["datasets"]
        return found

    def describe(self, dataset: str, *, edition: str = "latest") -> dict[str, Any]:
        """What may be asked of a data set: variables and their levels, values, universes, limits.

        Parameters
        ----------
        dataset
            Its name.
        edition
            Which edition of it.
        """
        return self.answer_of("GET", _place(dataset, edition))

    def codes(self, dataset: str, variable: str, *, edition: str = "latest") -> list[dict[str, Any]]:
        """Codes of a variable: code, label, parent and level of each.

        Parameters
        ----------
        dataset, edition
            See :meth:`describe`.
        variable
            Name of the variable.
        """
        page = self.answer_of("GET", f"{_place(dataset, edition)}/variables/{quote(variable, safe='')}")
        found: list[dict[str, Any]] = page["codes"]
        return found

    def table(
        self,
        dataset: str,
        variables: Sequence[str],
        *,
        edition: str = "latest",
        universe: str = "all",
        area: str | None = None,
        value: str | None = None,
        measure: str = "sum",
        select: Mapping[str, Sequence[str]] | None = None,
        groups: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
        totals: bool = True,
    ) -> PublicTable:
        """A protected table.

        Parameters
        ----------
        dataset, edition
            See :meth:`describe`.
        variables
            Names of variables; ``"age:2"`` is level 2 of age.
        universe
            Who is counted.
        area
            Only this area.
        value
            What is summed; persons are counted when left out.
        measure
            ``"sum"``, ``"mean"``, ``"percent"`` of the published total, or ``"rse"``, the relative standard error of a
            weighted count in percent.
        select
            Codes to show of a variable.
        groups
            Codes to add up: ``{"marital": {"was married": ["W", "D"]}}``.
        totals
            Whether totals are shown.

        Raises
        ------
        ParameterError
            When the server refuses the question; text and hint are its own.
        ResourceError
            When it cannot answer now, or not today.
        InputError
            When there is no server, or it answers something else.
        """
        asked = _question(variables, universe, area, value, measure, select, groups, totals)
        return table_of_jsonstat(self._answer(dataset, edition, asked, JSON))

    def arrow(
        self,
        dataset: str,
        variables: Sequence[str],
        *,
        edition: str = "latest",
        universe: str = "all",
        area: str | None = None,
        value: str | None = None,
        measure: str = "sum",
        select: Mapping[str, Sequence[str]] | None = None,
        groups: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
        totals: bool = True,
    ) -> Any:
        """A protected table as an Arrow table (codes, value, status), for large ones; arguments as of :meth:`table`."""
        import pyarrow as pa

        asked = _question(variables, universe, area, value, measure, select, groups, totals)
        content = self._answer(dataset, edition, asked, ARROW)
        try:
            return pa.ipc.open_stream(content).read_all()
        except pa.ArrowInvalid:
            raise _not_ours() from None

    def estimate(self, dataset: str, variables: Sequence[str], *, edition: str = "latest") -> int:
        """How many cells a table can have at most; nothing is computed, and a refusal is told.

        Parameters
        ----------
        dataset, variables, edition
            See :meth:`table`.
        """
        page = self.answer_of("POST", f"{_place(dataset, edition)}/estimate", {"variables": _names(variables)})
        return int(page["cells"])

    @property
    def extracts(self) -> ServerExtracts:
        """Extracts of protected records, for members of approved projects."""
        return ServerExtracts(self)

    # ---- requests --------------------------------------------------------------------------------------------

    def _answer(self, dataset: str, edition: str, asked: Mapping[str, Any], kind: str) -> bytes:
        if self.signer is not None and edition == "latest":
            edition = str(self.describe(dataset)["edition"])  # what is signed names the edition
        path = f"{_place(dataset, edition)}/table"
        content, headers = self._asked("POST", path, asked, kind, f"{dataset}/{edition}")
        if headers.get("x-content-digest") != hashlib.sha256(content).hexdigest():
            raise InputError("The answer is not the one that the server logged.", hint="Ask again; tell the office.")
        return content

    def answer_of(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, about: str = ""
    ) -> dict[str, Any]:
        """The answer to a request of the program interface, as JSON, for what has no method of its own.

        Parameters
        ----------
        method, path, body
            The request.
        about
            Data set and edition that it is about, where it is to be signed by whoever signs.
        """
        content, _ = self._asked(method, path, body, JSON, about)
        try:
            found: Any = json.loads(content)
        except (ValueError, RecursionError):
            raise _not_ours() from None
        if not isinstance(found, dict):
            raise _not_ours()
        return found

    def parts_of(self, path: str, take: Callable[[bytes], object], *, about: str = "") -> None:
        """Give the parts of a large answer to ``take``, one after the other.

        Parameters
        ----------
        path
            What is asked for.
        take
            Called with each part.
        about
            See :meth:`answer_of`.
        """
        self._read("GET", path, None, BYTES, take, about=about)

    def _asked(
        self, method: str, path: str, body: Mapping[str, Any] | None, accept: str, about: str = ""
    ) -> tuple[bytes, Mapping[str, str]]:
        """Send a request; the body and headers of its answer."""
        parts: list[bytes] = []
        headers = self._read(method, path, body, accept, parts.append, MOST_BYTES, about)
        return b"".join(parts), headers

    def _read(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        accept: str,
        take: Callable[[bytes], object],
        most: int | None = None,
        about: str = "",
    ) -> Mapping[str, str]:
        """Send a request, and give what comes to ``take``; the headers of the answer."""
        where = f"{self.host}:{self.port}" if self.port else self.host
        opened = self._opened()
        headers = {"accept": f"{accept}, application/problem+json;q=0.5"}
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            headers["content-type"] = JSON
        if self.signer is not None and about:
            headers |= self.signer.header(method, self.path + path, content or b"", about)
        try:
            opened.request(method, self.path + path, content, headers)
            reply = opened.getresponse()
            if reply.status not in GOOD:
                raise refusal_of(reply.status, reply.read(MOST_REFUSAL), reply.headers.get("retry-after"))
            had = 0
            while part := reply.read(PART):
                had += len(part)
                if most is not None and had > most:
                    raise ResourceError("The answer is larger than 1 GiB.", hint="Ask for fewer cells.")
                take(part)
            if reply.length:
                raise http.client.IncompleteRead(b"", reply.length)
        except TimeoutError:
            raise ResourceError(
                f"{where} did not answer within {self.timeout:g} seconds.", hint="Ask again, or give a longer timeout."
            ) from None
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", "") or (error.reason or "TLS").replace("_", " ").lower()
            raise InputError(
                f"{where} and this side do not trust each other: {reason}.", hint="Check authorities and certificate."
            ) from None
        except (OSError, http.client.HTTPException):
            raise InputError(f"No server answers at {where}.", hint="Check the address, and that it runs.") from None
        finally:
            opened.close()
        return {name.lower(): value for name, value in reply.headers.items()}

    def _opened(self) -> http.client.HTTPConnection:
        if self.context is None:
            return http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
        return http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout, context=self.context)


def refusal_of(status: int, content: bytes, retry_after: str | None = None) -> DiscreetError:
    """The error that a server's problem stands for: its own sentence and hint, as plain text."""
    try:
        problem = json.loads(content)
        title, detail = _plain(problem["title"]), _plain(problem.get("detail", ""))
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        title, detail = f"The server answered with status {status} and nothing that says why.", ""
    if status in (429, 503):
        seconds = f" It says: in {retry_after} seconds." if retry_after and retry_after.isdigit() else ""
        return ResourceError(title, hint=(detail or "Ask again later.") + seconds)
    if status == 401:
        return NeedsError(title, hint=detail or "Give certificate= and key=.")
    if 400 <= status < 500:
        return ParameterError(title, hint=detail)
    return InputError(title, hint=detail or "Tell the office.")


def _plain(text: Any) -> str:
    """Words of a server without anything that a terminal would obey."""
    if not isinstance(text, str):
        raise TypeError("no text")
    return "".join(sign if sign.isprintable() else " " for sign in text[:MOST_WORDS])


def _not_ours() -> InputError:
    return InputError("What the server sent is not what discreet sends.", hint="Check the address, and its version.")


def _place(dataset: str, edition: str) -> str:
    return f"/v1/datasets/{quote(dataset, safe='')}/{quote(edition, safe='')}"


def _names(variables: Sequence[str]) -> list[str]:
    return [variables] if isinstance(variables, str) else list(variables)


def _question(
    variables: Sequence[str],
    universe: str,
    area: str | None,
    value: str | None,
    measure: str,
    select: Mapping[str, Sequence[str]] | None,
    groups: Mapping[str, Mapping[str, Sequence[str]]] | None,
    totals: bool,
) -> dict[str, Any]:
    return {
        "variables": _names(variables),
        "universe": universe,
        "area": area,
        "value": value,
        "measure": measure,
        "select": {name: list(codes) for name, codes in (select or {}).items()},
        "groups": {name: {g: list(m) for g, m in parts.items()} for name, parts in (groups or {}).items()},
        "totals": totals,
    }
