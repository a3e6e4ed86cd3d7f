"""One HTML page from a template: everything escaped, nothing fetched from anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.errors import counted, missing_extra
from discreet.report import words

if TYPE_CHECKING:
    from jinja2 import Environment

PURPOSE = "A report"


def render(template: str, **context: Any) -> str:
    """The page that a template makes of its context; names it does not find are errors."""
    return _environment().get_template(template).render(context)


def trusted(markup: str) -> str:
    """Markup that was made here (an image) and goes onto a page as it is."""
    from markupsafe import Markup

    return Markup(markup)


def standing_alone(drawing: str) -> bytes:
    """An image of a page as a file of its own."""
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return str(drawing).replace("<svg ", f"<svg {spaces} ", 1).encode()


def _environment() -> Environment:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise missing_extra("jinja2", "report", PURPOSE) from None
    environment = Environment(
        loader=PackageLoader("discreet.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": words.count, "cells": words.cells, "counted": counted}
    environment.globals |= {"percent": words.percent, "number": words.number, "parameters": words.parameters}
    return environment
