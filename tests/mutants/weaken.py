"""Weakenings of a source file: every way in which one condition, bound or refusal of it could quietly do less.

A weakening is made on the syntax tree. It is known by the function that it stands in and by its text before and
after, never by a line number, so that a list of them survives edits elsewhere.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

REFUSALS = ("refuse", "refuse_where", "name_cells", "note", "_refuse_other_codes")
"""Functions that refuse something."""
CHECKS = ("check", "_wrong")
"""Words in the names of functions that have something checked."""
STRICTER: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.LtE: ast.Lt, ast.GtE: ast.Gt, ast.NotEq: ast.Gt}
"""Comparisons, and one that holds less often: not at the border, or on one side only."""
LAXER: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.Gt: ast.GtE}
"""Comparisons, and one that holds more often."""
QUANTIFIERS = {"all": "any", "any": "all"}
EXTREMES = {"min", "max", "minimum", "maximum"}
Function = ast.FunctionDef | ast.AsyncFunctionDef
Key = tuple[str, str, str, str, int]
"""File, function, text before and after, and which of several equal ones."""


@dataclass(frozen=True)
class Weakening:
    """One weakening: where it stands, its text before and after, and whether it takes a refusal away.

    ``lines`` are those of its statement: a test that runs none of them cannot notice it. ``mark`` changes where its
    function does.
    """

    file: str
    where: str
    line: int
    lines: range
    was: str
    now: str
    again: int
    refusal: bool
    mark: str
    _tree: ast.Module = field(repr=False, compare=False)
    _node: ast.AST = field(repr=False, compare=False)
    _other: ast.AST | None = field(repr=False, compare=False)

    def module(self) -> ast.Module:
        """The module that has it."""
        return _with(self._tree, self._node, self._other)

    @property
    def key(self) -> Key:
        """What a list of survivors names it by."""
        return (self.file, self.where, self.was, self.now, self.again)

    def __str__(self) -> str:
        nth = f" (no. {self.again + 1})" if self.again else ""
        return f"{self.file}:{self.line} {self.where}{nth}\n    - {self.was}\n    + {self.now}"


def weakenings(path: Path, file: str, either: bool = True) -> list[Weakening]:
    """All weakenings of the functions of a file; without ``either`` only those of functions that refuse something."""
    return weakenings_of(path.read_text(encoding="utf-8"), file, either)


def weakenings_of(source: str, file: str = "", either: bool = True) -> list[Weakening]:
    """All weakenings of the functions of a source text."""
    tree = ast.parse(source)
    found: list[Weakening] = []
    seen: Counter[tuple[str, str, str]] = Counter()
    for where, function in _functions(tree):
        mark = hashlib.sha256(ast.dump(function).encode()).hexdigest()[:12]
        for node, other, refusal, lines in _changes(function, either):
            was, now = _text(node), "pass" if other is None else _text(other)
            again = seen[where, was, now]
            seen[where, was, now] += 1
            found.append(Weakening(file, where, node.lineno, lines, was, now, again, refusal, mark, tree, node, other))
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

Change = tuple[ast.expr | ast.stmt, ast.AST | None, bool]
"""What is exchanged, for what (``None`` stands for nothing at all), and whether a refusal goes."""


def _changes(function: Function, either: bool) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST | None, bool, range]]:
    """The weakenings of a function, in the order of its text, with the lines of the statement that each is in.

    Where a function refuses something, its conditions are made to refuse less: their direction is known. In other
    functions, where it is not, all conditions are changed ``either`` way, or none.
    """
    lines: dict[int, range] = {}
    nodes = []
    for statement in function.body:
        for node, where in _below(statement, range(0)):
            lines.setdefault(id(node), where)
            nodes.append(node)
    refusing = [node for node in nodes if isinstance(node, ast.stmt) and _refuses(node)]
    found: list[Change] = [(node, None, True) for node in refusing]
    conditions = _conditions(function, refusing) if refusing else []
    for condition, refuses in conditions:
        found += [(at, other, False) for at, other in _loosened(condition, refuses)]
    if either and not refusing:
        for node in nodes:
            if isinstance(node, ast.expr | ast.stmt):
                found += [(at, other, False) for at, other in _changed(node)]
    told: set[tuple[int, str]] = set()
    for at, other, refusal in sorted(found, key=lambda change: (change[0].lineno, change[0].col_offset)):
        what = (id(at), "" if other is None else ast.dump(other))
        if what not in told and id(at) in lines:
            told.add(what)
            yield at, other, refusal, lines[id(at)]


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


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _refuses(node: ast.stmt) -> bool:
    """Whether a statement refuses something, or has it checked by somebody else."""
    if isinstance(node, ast.Raise):
        return True
    if isinstance(node, ast.Return):  # of functions that look for a reason, in words or not
        value = node.value.value if isinstance(node.value, ast.Constant) else None
        return value is True or (isinstance(value, str) and value != "")
    call = node.value if isinstance(node, ast.Expr | ast.Assign) else None
    name = _called(call) if call is not None else ""
    checks = any(word in name for word in CHECKS) and name != "checkpoint"
    return name in REFUSALS or (isinstance(node, ast.Expr) and checks)


# ---- conditions whose direction is known --------------------------------------------------------------------


def _conditions(function: Function, refusing: list[ast.stmt]) -> list[tuple[ast.expr, bool]]:
    """Conditions that decide on refusals, and whether they refuse where they hold, or spare."""
    found: list[tuple[ast.expr, bool]] = []
    marked = set(map(id, refusing))
    for node in ast.walk(function):
        if isinstance(node, ast.If):
            body, other = (_holds(part, marked) for part in (node.body, node.orelse))
            leaves = isinstance(node.body[-1], ast.Continue | ast.Return) and not body
            if body and not other:
                found.append((node.test, True))
            elif leaves or (other and not body):
                found.append((node.test, False))
        elif isinstance(node, ast.Call) and _called(node) in ("refuse_where", "name_cells", "flatnonzero"):
            masks = node.args if _called(node) != "name_cells" else node.args[2:3]
            found += [(argument, True) for argument in masks[:1]]
    names = {
        name.id: (value, refuses)
        for condition, refuses in found
        for name, refuses in _names(condition, refuses)
        for value in _assigned(function, name.id)
    }
    return [*found, *names.values()]


def _holds(body: list[ast.stmt], marked: set[int]) -> bool:
    return any(id(node) in marked for statement in body for node in ast.walk(statement))


def _names(condition: ast.expr, refuses: bool) -> Iterator[tuple[ast.Name, bool]]:
    """Names that a condition rests on, with their direction."""
    if isinstance(condition, ast.Name):
        yield condition, refuses
    for part, way in _parts(condition, refuses):
        yield from _names(part, way)


def _assigned(function: Function, name: str) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            yield node.value


def _parts(node: ast.expr, refuses: bool) -> Iterator[tuple[ast.expr, bool]]:
    """The conditions that a condition is made of."""
    if isinstance(node, ast.BoolOp):
        yield from ((value, refuses) for value in node.values)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        yield from ((node.left, refuses), (node.right, refuses))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        yield node.operand, not refuses
    elif _called(node) in ("any", "all", "asarray", "bool", "array", "flatnonzero") and isinstance(node, ast.Call):
        for argument in node.args[:1]:
            inner = argument.elt if isinstance(argument, ast.GeneratorExp | ast.ListComp) else argument
            yield inner, refuses
        if isinstance(node.func, ast.Attribute) and not node.args:
            yield node.func.value, refuses


def _loosened(node: ast.expr, refuses: bool) -> Iterator[tuple[ast.expr, ast.AST]]:
    """What may stand for a condition, or a part of it, so that less is refused."""
    is_any = ast.Or if refuses else ast.And
    if isinstance(node, ast.BoolOp) and isinstance(node.op, is_any):
        yield from ((node, _without(node, i)) for i in range(len(node.values)))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr if refuses else ast.BitAnd):
        yield node, node.left
        yield node, node.right
    elif isinstance(node, ast.Compare):
        yield from ((node, other) for other in _comparisons(node, refuses))
    elif _called(node) == ("any" if refuses else "all") and isinstance(node, ast.Call):
        yield node, _quantified(node)
    for part, way in _parts(node, refuses):
        yield from _loosened(part, way)


def _comparisons(node: ast.Compare, refuses: bool) -> Iterator[ast.Compare]:
    """Comparisons that hold less often, at the border or by a unit, or more often where they spare."""
    chained = len(node.ops) > 1
    for i, operator in enumerate(node.ops):
        kind = (STRICTER if refuses else LAXER).get(type(operator))
        if isinstance(operator, ast.NotEq) and not all(map(_may_be_number, (node.left, *node.comparators))):
            kind = None
        if kind is not None and not (chained and isinstance(operator, ast.NotEq)):
            yield ast.Compare(node.left, [*node.ops[:i], kind(), *node.ops[i + 1 :]], node.comparators)
        elif refuses and not chained and isinstance(operator, ast.Lt | ast.Gt) and not _is_mark(node.comparators[0]):
            beyond = ast.Sub() if isinstance(operator, ast.Lt) else ast.Add()
            yield ast.Compare(node.left, node.ops, [ast.BinOp(node.comparators[0], beyond, ast.Constant(1))])


def _is_mark(node: ast.expr) -> bool:
    """Whether a number stands for "none" (``NO_LOWER``): nothing is ever one unit beyond it."""
    return isinstance(node, ast.Name) and node.id.startswith("NO_")


# ---- conditions that may go either way ----------------------------------------------------------------------


def _changed(node: ast.expr | ast.stmt) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST]]:
    """A node, or the one of its parts that changes, and what may stand there instead."""
    if isinstance(node, ast.BoolOp):
        yield from ((node, _without(node, i)) for i in range(len(node.values)))
    elif isinstance(node, ast.BinOp):
        yield from ((node, other) for other in _operations(node))
    elif isinstance(node, ast.Compare):
        yield from ((node, other) for other in (*_comparisons(node, True), *_comparisons(node, False)))
    elif isinstance(node, ast.Call):
        yield from ((node, other) for other in _calls(node))
    else:
        values = node.iter if isinstance(node, ast.For) else node.value if isinstance(node, ast.Assign) else None
        if isinstance(values, ast.List) or (isinstance(node, ast.For) and isinstance(values, ast.Tuple)):
            several = range(len(values.elts) if len(values.elts) > 1 else 0)
            yield from ((values, _shorter(values, i)) for i in several)


def _without(node: ast.BoolOp, i: int) -> ast.expr:
    left = [*node.values[:i], *node.values[i + 1 :]]
    return left[0] if len(left) == 1 else ast.BoolOp(node.op, left)


def _operations(node: ast.BinOp) -> Iterator[ast.expr]:
    """Masks without one of their conditions."""
    if isinstance(node.op, ast.BitAnd | ast.BitOr):
        yield node.left
        yield node.right


def _may_be_number(node: ast.expr) -> bool:
    """Whether something may have an order: not words, and not a member of an enumeration or a dtype."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and not isinstance(node.value, bool)
    if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict | ast.JoinedStr | ast.Lambda | ast.ListComp):
        return False
    if isinstance(node, ast.Attribute):
        return not (node.attr.isupper() or node.attr in ("dtype", "kind", "name", "object_", "bool_"))
    return not (isinstance(node, ast.Name) and node.id.isupper())


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    name = _called(node)
    if name in QUANTIFIERS:
        yield _quantified(node)
    elif name in EXTREMES and len(node.args) == 2 and not any(isinstance(a, ast.Starred) for a in node.args):
        yield from node.args
    elif name == "abs" and len(node.args) == 1:
        yield node.args[0]


def _quantified(node: ast.Call) -> ast.expr:
    """All in place of any, and any in place of all."""
    function = copy.copy(node.func)
    if isinstance(function, ast.Attribute):
        function.attr = QUANTIFIERS[function.attr]
    elif isinstance(function, ast.Name):
        function.id = QUANTIFIERS[function.id]
    return ast.Call(function, node.args, node.keywords)


def _shorter(node: ast.Tuple | ast.List, i: int) -> ast.expr:
    return type(node)([*node.elts[:i], *node.elts[i + 1 :]], node.ctx)
