"""How to repeat the work: the same steps as Python, and the versions at hand."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from discreet.errors import DiscreetError, counted
from discreet.methods.registry import method_from_record
from discreet.model.tableset import TableSet
from discreet.rules import rule_from_record

PACKAGES = ("discreet", "numpy", "scipy", "highspy", "pyarrow")


def python_steps(tables: TableSet, log: Mapping[str, Any]) -> str:
    """The assessment and the protection as Python statements; a step that is not known is shown as data."""
    names = {table.name: f"table{i}" if len(tables) > 1 else "table" for i, table in enumerate(tables, start=1)}
    lines = ["import discreet as ds", ""]
    for table in tables:
        lines.append(
            f"# {names[table.name]} is {table.name!r}: {' x '.join(map(repr, table.variables))}, "
            f"{counted(len(table), 'cell')}"
        )
    for entry in log.get("assess", ()):
        name = names.get(entry.get("table"), "table")
        rules = [_call(rule_from_record, record) for record in entry.get("rules", ())]
        options = {"profile": entry.get("profile", "handbook"), **entry.get("options", {})}
        arguments = [*rules, *(f"{key}={value!r}" for key, value in options.items())]
        lines.append(f"{name} = {name}.assess(\n    " + ",\n    ".join(arguments) + ",\n)")
    subject = "table"
    if len(tables) > 1:
        subject = "tables"
        equations = [str(equation) for equation in tables.equations]
        options = {"equations": equations, "one_pattern": tables.one_pattern}
        stated = "".join(f", {key}={value!r}" for key, value in options.items() if value)
        lines.append(f"tables = ds.TableSet([{', '.join(names.values())}]{stated})")
    methods = [_call(method_from_record, record) for record in log.get("protect", ())]
    if any(record.get("prefer") for record in log.get("protect", ())):
        lines.append("# Give prefer=, last period's pattern; its cells stand in the log.")
    if already := log.get("already_published"):
        lines += ["# already is a list of what is published already:", *(f"#   {text}" for text in already)]
        methods.append("already_published=already")
    given = log.get("pattern")
    if given is None:
        lines.append(f"release = ds.protect({', '.join([subject, *methods])})")
    else:
        lines.append(f"# pattern is {given['name']!r}, digest {given['digest']}")
        lines.append(f"release = ds.repair({', '.join([subject, 'pattern', *methods])}).release")
    return "\n".join([*lines, "print(release.verify())"])


def _call(make: Any, record: Mapping[str, Any]) -> str:
    try:
        return f"ds.{make(record)!r}"
    except DiscreetError:
        return repr(dict(record))


def log_text(log: Mapping[str, Any]) -> str:
    """The log as JSON, always in the same order."""
    return json.dumps(log, indent=2, ensure_ascii=False, sort_keys=True, default=str)


def versions() -> list[tuple[str, str]]:
    """Versions of what writes the report."""
    found = [("Python", platform.python_version())]
    for package in PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return found
