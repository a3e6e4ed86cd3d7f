"""Docstrings in the API reference: roles such as ``:class:`Table``` are written as Markdown knows them."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|func|meth|mod|data):`~?([\w.]+)`")


def without_roles(text: str) -> str:
    """A docstring with plain names in the place of roles."""
    return ROLE.sub(lambda found: f"`{found[1].removeprefix('discreet.')}`", text)


class Roles(griffe.Extension):
    """Writes roles of docstrings as Markdown."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = without_roles(obj.docstring.value)
