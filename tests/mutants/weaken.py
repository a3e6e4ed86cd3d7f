"""Weakenings of a source file: every way in which one condition, bound or refusal of it could quietly do less.

A weakening is made on the syntax tree. It is known by the function that it stands in and by its text before and
after, never by a line number, so that a list of them survives edits elsewhere.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CHECKS = ("refuse", "check", "name_cells", "rule_out", "mark")
"""Words in the names of functions that check or refuse something."""
NEXT_TO: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.NotEq: ast.Gt,
}
"""Comparisons, and one that differs at the border, or sees one side only."""
QUANTIFIERS = {"all": "any", "any": "all"}
EXTREMES = {"min", "max", "minimum", "maximum"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Weakening:
    """One weakening: where it stands, its text before and after, and whether it takes a refusal away.

    ``lines`` are those of its statement: a test that runs none of them cannot notice it.
    """

    file: str
    where: str
    line: int
    lines: range
    was: str
    now: str
    again: int
    refusal: bool
    _tree: ast.Module = field(repr=False, compare=False)
    _node: ast.AST = field(repr=False, compare=False)
    _other: ast.AST | None = field(repr=False, compare=False)

    def module(self) -> ast.Module:
        """The module that has it."""
        return _with(self._tree, self._node, self._other)

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What a list of survivors names it by."""
        return (self.file, self.where, self.was, self.now, self.again)

    def __str__(self) -> str:
        nth = f" (no. {self.again + 1})" if self.again else ""
        return f"{self.file}:{self.line} {self.where}{nth}\n    - {self.was}\n    + {self.now}"


def weakenings(path: Path, file: str) -> list[Weakening]:
    """All weakenings of the functions of a file."""
    return weakenings_of(path.read_text(encoding="utf-8"), file)


def weakenings_of(source: str, file: str = "") -> list[Weakening]:
    """All weakenings of the functions of a source text."""
    tree = ast.parse(source)
    found: list[Weakening] = []
    seen: Counter[tuple[str, str, str]] = Counter()
    for where, function in _functions(tree):
        for node, other, refusal, lines in _changes(function):
            was, now = _text(node), "pass" if other is None else _text(other)
            again = seen[where, was, now]
            seen[where, was, now] += 1
            found.append(Weakening(file, where, node.lineno, lines, was, now, again, refusal, tree, node, other))
    return found


def _functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Functions and methods by their names; inner functions belong to the one that they stand in."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{inner.name}", inner


def _text(node: ast.AST) -> str:
    """A node in one line."""
    if isinstance(node, ast.If):
        return f"if {ast.unparse(node.test)}: ..."
    return " ".join(ast.unparse(node).split())


def _with(tree: ast.Module, node: ast.AST, other: ast.AST | None) -> ast.Module:
    """The module with one node exchanged; all others are shared."""

    def rebuilt(at: ast.AST) -> ast.AST:
        if at is node:
            new = ast.Pass() if other is None else other
            return ast.copy_location(new, node)
        if getattr(at, "lineno", 0) > node.lineno or getattr(at, "end_lineno", 10**9) < node.lineno:
            return at
        result = copy.copy(at)
        for name, value in ast.iter_fields(at):
            if isinstance(value, ast.AST):
                setattr(result, name, rebuilt(value))
            elif isinstance(value, list):
                setattr(result, name, [rebuilt(v) if isinstance(v, ast.AST) else v for v in value])
        return result

    module = rebuilt(tree)
    assert isinstance(module, ast.Module)
    return ast.fix_missing_locations(module)


# ---- what can be weaker -------------------------------------------------------------------------------------


def _changes(function: Function) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST | None, bool, range]]:
    """Nodes of a function, what may stand there instead, whether a refusal goes, and the lines of the statement."""
    for statement in function.body:
        for node, lines in _below(statement, range(0)):
            if isinstance(node, ast.Expr):
                name = _called(node.value) if isinstance(node.value, ast.Call) else ""
                if any(word in name for word in CHECKS) and name != "checkpoint":
                    yield node, None, "refuse" in name or name == "name_cells", lines
            elif isinstance(node, ast.Raise):
                yield node, None, True, lines
            elif isinstance(node, ast.expr | ast.stmt):
                yield from ((at, other, False, lines) for at, other in _weaker(node))


def _below(node: ast.AST, lines: range) -> Iterator[tuple[ast.AST, range]]:
    """The nodes that do something, in the order of the text: no annotations, messages, assertions or imports."""
    if isinstance(node, ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.stmt):
        inner = [child.lineno for name in ("body", "orelse") for child in getattr(node, name, [])]
        lines = range(node.lineno, max(min(inner, default=(node.end_lineno or 0) + 1), node.lineno + 1))
    yield node, lines
    if isinstance(node, ast.Raise):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _below(child, lines)


def _weaker(node: ast.expr | ast.stmt) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST]]:
    """A node, or the one of its parts that changes, and what may stand there instead."""
    if isinstance(node, ast.If):
        never = copy.copy(node)
        never.test = ast.copy_location(ast.Constant(False), node.test)
        yield node, never
    elif isinstance(node, ast.BoolOp):
        yield from ((node, _without(node, i)) for i in range(len(node.values)))
    elif isinstance(node, ast.BinOp):
        yield from ((node, other) for other in _operations(node))
    elif isinstance(node, ast.Compare):
        yield from ((node, other) for other in _comparisons(node))
    elif isinstance(node, ast.Call):
        yield from ((node, other) for other in _calls(node))
    else:
        values = node.iter if isinstance(node, ast.For) else node.value if isinstance(node, ast.Assign) else None
        if isinstance(values, ast.List) or (isinstance(node, ast.For) and isinstance(values, ast.Tuple)):
            several = range(len(values.elts) if len(values.elts) > 1 else 0)
            yield from ((values, _shorter(values, i)) for i in several)


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _without(node: ast.BoolOp, i: int) -> ast.expr:
    left = [*node.values[:i], *node.values[i + 1 :]]
    return left[0] if len(left) == 1 else ast.BoolOp(node.op, left)


def _operations(node: ast.BinOp) -> Iterator[ast.expr]:
    """Masks without one of their conditions; sums and differences without the one unit."""
    if isinstance(node.op, ast.BitAnd | ast.BitOr):
        yield node.left
        yield node.right
    elif isinstance(node.op, ast.Add | ast.Sub) and isinstance(node.right, ast.Constant) and node.right.value == 1:
        yield node.left


def _comparisons(node: ast.Compare) -> Iterator[ast.Compare]:
    for i, operator in enumerate(node.ops):
        kind = NEXT_TO.get(type(operator))
        one_sided = isinstance(operator, ast.NotEq)
        if kind is None or (one_sided and not all(_may_be_number(c) for c in (node.left, *node.comparators))):
            continue
        yield ast.Compare(node.left, [*node.ops[:i], kind(), *node.ops[i + 1 :]], node.comparators)


def _may_be_number(node: ast.expr) -> bool:
    """Whether something may have an order: not words, and not a member of an enumeration or a dtype."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and not isinstance(node.value, bool)
    if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict | ast.JoinedStr | ast.Lambda):
        return False
    if isinstance(node, ast.Attribute):
        return not (node.attr.isupper() or node.attr in ("dtype", "kind", "name", "object_", "bool_"))
    return not (isinstance(node, ast.Name) and node.id.isupper())


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    name = _called(node)
    if name in QUANTIFIERS:
        function = copy.copy(node.func)
        if isinstance(function, ast.Attribute):
            function.attr = QUANTIFIERS[name]
        elif isinstance(function, ast.Name):
            function.id = QUANTIFIERS[name]
        yield ast.Call(function, node.args, node.keywords)
    elif name in EXTREMES and len(node.args) == 2 and not any(isinstance(a, ast.Starred) for a in node.args):
        yield from node.args
    elif name == "abs" and len(node.args) == 1:
        yield node.args[0]


def _shorter(node: ast.Tuple | ast.List, i: int) -> ast.expr:
    return type(node)([*node.elts[:i], *node.elts[i + 1 :]], node.ctx)
