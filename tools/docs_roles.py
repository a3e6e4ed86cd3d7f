"""Docstrings of the package in the documentation: names in them become links where the reference has them."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|func|meth|mod|data):`~?([\w.]+)`")


def without_roles(text: str) -> str:
    """A docstring with ``:class:`Table``` written as Markdown."""
    return ROLE.sub(lambda found: f"`{found[1].removeprefix('discreet.')}`", text)


class Roles(griffe.Extension):
    """Writes roles of docstrings as Markdown."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = without_roles(obj.docstring.value)
