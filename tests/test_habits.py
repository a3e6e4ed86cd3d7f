"""What lies beside the code says the same as the code."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_citation_is_of_this_version():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load(text("CITATION.cff"))
    assert citation["version"] == VERSION
    assert citation["license"] == "Apache-2.0"
    assert {"cff-version", "message", "title", "authors"} <= set(citation)


def test_the_security_policy_supports_this_version():
    minor = ".".join(VERSION.split(".")[:2])
    assert f"| the latest minor version ({minor}) | yes |" in text("SECURITY.md")


def test_hooks_are_the_checks_of_make_lint_and_fetch_nothing():
    yaml = pytest.importorskip("yaml")
    (repository,) = yaml.safe_load(text(".pre-commit-config.yaml"))["repos"]
    assert repository["repo"] == "local"
    assert {hook["language"] for hook in repository["hooks"]} == {"system"}
    lint = re.search(r"^lint:\n((?:\t.*\n)+)", text("Makefile"), re.MULTILINE)
    assert lint is not None
    commands = [shlex.split(line) for line in re.findall(r"^\t\$\(PY\) (.*)$", lint[1], re.MULTILINE)]
    hooks = [shlex.split(hook["entry"]) for hook in repository["hooks"]]
    assert {hook[0] for hook in hooks} == {".venv/bin/python"}
    plain = [[word for word in hook[1:] if word != "--force-exclude"] for hook in hooks]
    assert plain == [[word for word in command if word != "."] for command in commands]


def test_every_target_of_make_has_a_line_of_help():
    makefile = text("Makefile")
    targets = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert targets is not None
    for target in set(targets[1].split()) - {"help"}:
        assert re.search(rf"^\t@echo 'make {target} ", makefile, re.MULTILINE), target
        assert re.search(rf"^{target}:$", makefile, re.MULTILINE), target


@cache
def definitions() -> list[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """All classes and functions of the source, with the file that each is in."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        (path.relative_to(ROOT).as_posix(), node)
        for path in sorted((ROOT / "src").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, kinds)
    ]


def test_a_class_name_stands_for_one_thing():
    homes: dict[str, list[str]] = defaultdict(list)
    for path, node in definitions():
        if isinstance(node, ast.ClassDef):
            homes[node.name].append(path)
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


MOST_LINES, MOST_LONG = 60, 6
"""Lines of a function beside its docstring, and how many functions have more: kernels that are one loop."""


def test_few_functions_are_long():
    long = []
    for path, node in definitions():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first, last = node.body[0], node.end_lineno or node.lineno
            said = (first.end_lineno or 0) - first.lineno + 1 if ast.get_docstring(node) is not None else 0
            if last - node.lineno + 1 - said > MOST_LINES:
                long.append(f"{path}: {node.name}")
    assert len(long) <= MOST_LONG, long


def test_kernels_sort_in_one_way():
    """A stable order: equal values come out as they went in, whatever numba's other sorts do with them."""
    wrong = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "@kernel" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef) or "kernel(" not in "".join(map(ast.unparse, node.decorator_list)):
                continue
            for call in ast.walk(node):
                if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                    continue
                mergesort = any(ast.unparse(word.value) == "'mergesort'" for word in call.keywords)
                plain = call.func.attr in ("sort", "median", "partition", "percentile", "quantile", "unique")
                if plain or (call.func.attr == "argsort" and not mergesort):
                    wrong.append(f"{path.relative_to(ROOT).as_posix()}: {node.name}")
    assert wrong == []
