"""Files that pages need: ours and vendored ones, looked up by name, never by path."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from discreet.errors import InputError

MEDIA = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
OURS = ("icon.svg", "server.css", "page.js", "builder.js", "charts.js", "account.js")
FOREVER = "public, max-age=31536000, immutable"
"""Addresses hold the digest of what they give, so that it never changes."""


class StaticFile(NamedTuple):
    """A file that browsers load."""

    name: str
    content: bytes
    media_type: str

    @property
    def digest(self) -> bytes:
        """SHA-256 of its content."""
        return hashlib.sha256(self.content).digest()

    @property
    def address(self) -> str:
        """Where it is served; another content has another address."""
        return f"/static/{self.digest.hex()[:16]}/{self.name}"

    @property
    def integrity(self) -> str:
        """What a browser compares it with before it runs it."""
        return "sha256-" + base64.b64encode(self.digest).decode()


def _file(name: str, place: Traversable) -> StaticFile:
    return StaticFile(name, place.read_bytes(), MEDIA[name[name.rindex(".") :]])


@cache
def static_files() -> dict[str, StaticFile]:
    """All files by their names.

    Raises
    ------
    InputError
        When a vendored file is not the one that the manifest names: it is not served then, and nothing else is.
    """
    here = files("discreet.server").joinpath("static")
    style = files("discreet.report").joinpath("templates", "style.css")
    found = {"style.css": _file("style.css", style), **{name: _file(name, here.joinpath(name)) for name in OURS}}
    manifest = json.loads(here.joinpath("vendor", "manifest.json").read_bytes())
    for name, row in manifest.items():
        found[name] = _file(name, here.joinpath("vendor", name))
        if found[name].digest.hex() != row["sha256"]:
            raise InputError(
                f"{name} is not the file that the manifest of vendored files names.", hint="Install discreet again."
            )
    return found
