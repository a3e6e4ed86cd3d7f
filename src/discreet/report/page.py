"""One HTML page from a template: everything escaped, nothing fetched from anywhere, no script but our own."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from discreet.errors import counted, missing_extra
from discreet.report import words

if TYPE_CHECKING:
    from jinja2 import Environment

PURPOSE = "A report"


def render(template: str, **context: Any) -> str:
    """The page that a template makes of its context; names it does not find are errors."""
    own = {"page_script": trusted(script("page.js")), "page_hash": script_hash("page.js")}
    return _environment().get_template(template).render(own | context)


def script(name: str) -> str:
    """One of our scripts."""
    return files("discreet.report").joinpath("templates", name).read_text(encoding="utf-8")


def script_hash(name: str) -> str:
    """What the policy of a page must allow: this script and no other."""
    return base64.b64encode(hashlib.sha256(script(name).encode()).digest()).decode()


def trusted(markup: str) -> str:
    """Markup that was made here (an image) and goes onto a page as it is."""
    from markupsafe import Markup

    return Markup(markup)


def standing_alone(drawing: str) -> bytes:
    """An image of a page as a file of its own."""
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    plain = re.sub(r"var\(--\w+, (#[0-9a-f]{6})\)", r"\1", str(drawing))  # not every viewer knows variables
    return plain.replace("<svg ", f"<svg {spaces} ", 1).encode()


def _environment() -> Environment:
    try:
        import jinja2
    except ImportError:
        raise missing_extra("jinja2", "report", PURPOSE) from None
    return _with_templates(jinja2.Environment)


@cache
def _with_templates(kind: type[Environment]) -> Environment:
    """Made once, because it keeps the templates that it has read, which take longer than most pages."""
    from jinja2 import PackageLoader, StrictUndefined

    environment = kind(
        loader=PackageLoader("discreet.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": words.count, "cells": words.cells, "counted": counted}
    environment.globals |= {"percent": words.percent, "number": words.number, "parameters": words.parameters}
    return environment
