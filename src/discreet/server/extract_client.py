"""Extracts from Python: what may be had, a definition, its size and risk, the queue, and the sealed file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from discreet.errors import InputError, OutputError, ParameterError
from discreet.files.new_file import new_file

BASE = "/v1/extracts"
ANY_EDITION = "extracts"
"""What a signed request names as its data where it is about no edition: a key."""


class Server(Protocol):
    """As much of a connection as extracts need."""

    def answer_of(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, about: str = ""
    ) -> dict[str, Any]:
        """The answer to a request, as JSON."""

    def parts_of(self, path: str, take: Callable[[bytes], object], *, about: str = "") -> None:
        """Give the parts of a large answer to ``take``, one after the other."""


class ServerExtracts:
    """Extracts of a table server, as ``ds.connect(url, ...).extracts`` gives them.

    They are for members of approved projects who show their certificate.

    Examples
    --------
    >>> import discreet as ds
    >>> extracts = ds.connect("http://127.0.0.1:9").extracts
    >>> cart = extracts.definition("sample", "1990.1", ["age", "sex"], where=["age >= 18"])
    >>> try:
    ...     extracts.estimate(1, cart)
    ... except ds.DiscreetError as error:
    ...     print(error.message)
    No server answers at 127.0.0.1:9.
    """

    def __init__(self, server: Server) -> None:
        self._server = server

    def files(self) -> list[dict[str, Any]]:
        """Files that extracts are taken from: name, edition, title, records and households of each."""
        return list(self._server.answer_of("GET", f"{BASE}/files")["files"])

    def describe(self, dataset: str, edition: str) -> dict[str, Any]:
        """Variables of a file, what was done to them, and how much of it goes out.

        Parameters
        ----------
        dataset, edition
            Its name, and which edition.
        """
        return self._server.answer_of("GET", f"{BASE}/files/{quote(dataset, safe='')}/{quote(edition, safe='')}")

    def projects(self) -> list[dict[str, Any]]:
        """One's own projects: number, state, data set, and the variables that they may ask for."""
        return list(self._server.answer_of("GET", f"{BASE}/projects")["projects"])

    def use_key(self, key: str | Path) -> str:
        """Give the public key that one's extracts are sealed to from now on; its fingerprint.

        Parameters
        ----------
        key
            The file ``mine.key.pub`` that ``discreet extracts key mine.key`` writes, or the line in it.
        """
        line = str(key) if str(key).startswith("discreet-recipient") else Path(key).read_text("utf-8")
        return str(
            self._server.answer_of("PUT", f"{BASE}/key", {"key": line.strip()}, about=ANY_EDITION)["fingerprint"]
        )

    def definition(
        self,
        dataset: str,
        edition: str,
        variables: Sequence[str],
        *,
        where: Sequence[str] = (),
        households: bool = False,
        share: float = 1.0,
        strata: bool = False,
        file: str = "csv",
    ) -> dict[str, Any]:
        """A cart: what an extract shall hold. Nothing is sent; it may be saved as JSON, shared and sent again.

        Parameters
        ----------
        dataset, edition
            The file.
        variables
            Its variables.
        where
            Conditions that records meet, all of them: ``"age >= 18"``.
        households
            Whether all members of a household come along when one of them meets the conditions.
        share
            Share of the households that is wanted.
        strata
            Whether strata for variances are wanted.
        file
            ``"csv"`` with syntax for SPSS, Stata, SAS and R, or ``"parquet"``.
        """
        names = [variables] if isinstance(variables, str) else list(variables)
        lines = [where] if isinstance(where, str) else list(where)
        return {
            "format": "discreet extract 1",
            "dataset": dataset,
            "edition": edition,
            "variables": names,
            "where": lines,
            "households": households,
            "share": share,
            "strata": strata,
            "file": file,
        }

    def estimate(self, project: int, definition: Mapping[str, Any] | str | Path) -> dict[str, Any]:
        """About how many rows and bytes an extract would have, and which share of its records would be alone.

        Parameters
        ----------
        project
            The number of a project.
        definition
            What :meth:`definition` gives, or a file of it.
        """
        return self._server.answer_of("POST", f"{BASE}/projects/{project:d}/estimate", _plain(definition))

    def request(self, project: int, definition: Mapping[str, Any] | str | Path) -> int:
        """Ask for an extract; its number. It waits until a worker has made it.

        Parameters
        ----------
        project, definition
            See :meth:`estimate`.
        """
        cart = _plain(definition)
        made = self._server.answer_of("POST", f"{BASE}/projects/{project:d}/extracts", cart, about=_about(cart))
        return int(made["number"])

    def all(self) -> list[dict[str, Any]]:
        """Extracts of one's own projects, the last first."""
        return list(self._server.answer_of("GET", BASE)["extracts"])

    def state(self, number: int) -> dict[str, Any]:
        """Where an extract is: state, progress, and once it is ready size, digest, and until when it can be fetched.

        Parameters
        ----------
        number
            Of the extract.
        """
        return self._server.answer_of("GET", f"{BASE}/{number:d}")

    def definition_of(self, number: int) -> dict[str, Any]:
        """The definition that an extract was asked for by: to be changed and sent again.

        Parameters
        ----------
        number
            Of the extract.
        """
        return self._server.answer_of("GET", f"{BASE}/{number:d}/definition")

    def fetch(self, number: int, path: str | Path) -> Path:
        """Write the sealed file of an extract to a path; ``discreet extracts open`` reads it.

        Parameters
        ----------
        number
            Of the extract.
        path
            A new file.

        Raises
        ------
        ParameterError
            When it is not ready, over, or not one's own.
        InputError
            When what came is not what the server has logged; nothing is kept then.
        """
        row = self.state(number)
        expected = row["sha256"]
        found, place = hashlib.sha256(), Path(path)
        with new_file(place) as target:

            def take(part: bytes) -> None:
                found.update(part)
                try:
                    target.write(part)
                except OSError as error:
                    reason = error.strerror or "refused"
                    raise OutputError(
                        f"{place.name!r} cannot be written: {reason}.", hint="Is the disk full?"
                    ) from None

            self._server.parts_of(f"{BASE}/{number:d}/file", take, about=_about(row))
            if found.hexdigest() != expected:
                raise InputError(
                    "The file is not the one that the server logged.", hint="Fetch it again; tell the office."
                )
        return place

    def withdraw(self, number: int) -> dict[str, Any]:
        """Give an extract up; its state.

        Parameters
        ----------
        number
            Of the extract.
        """
        return self._server.answer_of("POST", f"{BASE}/{number:d}/withdraw", {}, about=_about(self.state(number)))

    def destroyed(self, number: int) -> dict[str, Any]:
        """State that all copies of an extract were destroyed; its state.

        Parameters
        ----------
        number
            Of the extract.
        """
        about = _about(self.state(number))
        return self._server.answer_of("POST", f"{BASE}/{number:d}/destroyed", {"all_copies": True}, about=about)


def _about(row: Mapping[str, Any]) -> str:
    """Data set and edition, as signatures name them."""
    return f"{row.get('dataset', '')}/{row.get('edition', '')}"


def _plain(definition: Mapping[str, Any] | str | Path) -> dict[str, Any]:
    """A definition, or what its file holds."""
    if isinstance(definition, Mapping):
        return dict(definition)
    try:
        found = json.loads(Path(definition).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ParameterError(
            f"{Path(definition).name!r} holds no definition of an extract.", hint="Save one, or give a dictionary."
        )
    return found
