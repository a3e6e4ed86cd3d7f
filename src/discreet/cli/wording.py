"""Messages in the words of whoever came by the command line: keys of recipes instead of arguments of Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from discreet.errors import DiscreetError, ResourceError
from discreet.methods.registry import METHODS
from discreet.rules.base import REGISTRY
from discreet.rules.records import RECORD_RULES

TEXT = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\""""
VALUE = rf"{TEXT}|\[[^\]\n]*\]|\{{[^}}\n]*\}}|[+-]?[0-9][0-9_.]*[0-9]|[0-9]|True|False|None"
ARGUMENT = re.compile(rf"\b([a-z]\w*)=({VALUE})")
BARE = re.compile(r"\b([a-z]\w*)=(?=[\s,.;:)\u2026]|$)")
CALL = re.compile(r"\b(?:ds\.)?([A-Z]\w*)\(([^()\n]*)\)")
CLASS = re.compile(r"\bds\.([A-Z]\w*)\b")
WORDS = {"True": "true", "False": "false", "None": '"none"'}


def advice(error: DiscreetError) -> str:
    """What to do next about an error, for somebody at the command line."""
    if isinstance(error, ResourceError):
        return error.hint  # where memory ran out nothing more is loaded
    return error.recipe_hint or in_recipe_words(error.hint)


def in_recipe_words(text: str) -> str:
    """A hint with arguments of Python as keys of a recipe.

    Examples
    --------
    >>> in_recipe_words("Use insiders='nonzero' or insiders=None, or state slack=.")
    'Use insiders = "nonzero" or insiders = "none", or state slack.'
    >>> in_recipe_words("Use ds.Suppress(), or call for ds.PPercent(10).")
    'Use method = "suppress", or call for kind = "p_percent", p = 10.'
    >>> in_recipe_words("Give Microdata(missing={'region': code}) or filter them out.")
    'Give [data] missing = { "region" = code } or filter them out.'
    """
    text = CALL.sub(_call, text)
    text = CLASS.sub(lambda found: _kind(found[1]) or found[0], text)
    text = ARGUMENT.sub(lambda found: f"{found[1]} = {_toml(found[2])}", text)
    return BARE.sub(r"\1", text)


def _call(found: re.Match[str]) -> str:
    name, inside = found[1], found[2].strip()
    if name == "Microdata":
        return f"[data] {inside.removesuffix(', ...')}"
    kind = _kind(name)
    if not kind:
        return found[0]
    try:
        call = ast.parse(f"f({inside.replace('...', '')})", mode="eval").body
    except SyntaxError:
        return kind
    assert isinstance(call, ast.Call)
    names = [one.name for one in fields(_classes()[name])]
    given = {names[number]: ast.unparse(value) for number, value in enumerate(call.args)}
    given |= {str(word.arg): ast.unparse(word.value) for word in call.keywords}
    return ", ".join([kind, *(f"{key} = {_toml(value)}" for key, value in given.items())])


def _kind(name: str) -> str:
    """The key that chooses a rule or method in a recipe; empty for other classes."""
    cls = _classes().get(name)
    if cls is None:
        return ""
    return f'{"method" if cls.kind in METHODS and name in _named(METHODS) else "kind"} = "{cls.kind}"'


def _named(kinds: Mapping[str, type]) -> dict[str, Any]:
    return {cls.__name__: cls for cls in kinds.values()}


def _classes() -> dict[str, Any]:
    return {**_named(REGISTRY), **_named(RECORD_RULES), **_named(METHODS)}


def _toml(value: str) -> str:
    """A value of Python as TOML writes it; what is none of either stays as it is."""
    if value in WORDS:
        return WORDS[value]
    value = re.sub(r"'((?:[^'\\\"]|\\.)*)'", r'"\1"', value)
    for python, toml in WORDS.items():
        value = re.sub(rf"\b{python}\b", toml, value)
    if value.startswith("{") and value.endswith("}"):
        return "{ " + re.sub(r"(\"[^\"]*\"|\w+)\s*:\s*", r"\1 = ", value[1:-1].strip()) + " }"
    return value
