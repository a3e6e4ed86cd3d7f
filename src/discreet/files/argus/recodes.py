"""Recodes of one variable: ``.grc`` files of groups, and of branches of a tree to be closed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from discreet.errors import InputError, listed
from discreet.files.argus.text import read_text_lines, wrong
from discreet.model.hierarchy import Hierarchy

TREE, MISSING, CODELIST = "<TREERECODE>", "<MISSING>", "<CODELIST>"
MOST_MISSING = 2
"""A variable of ARGUS has so many codes for "unknown"."""
QUOTED_OR_PLAIN = re.compile(r'"([^"]*)"|([^\s,"]+)')


@dataclass(frozen=True)
class Group:
    """A new code and the old ones that it stands for: single codes, and ranges with open or closed ends."""

    code: str
    parts: tuple[str, ...]
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class RecodeFile:
    """What a ``.grc`` file says: groups of codes, or nodes of a tree below which nothing is shown.

    ``missing`` are new codes that stand for "unknown", ``codelist`` names the file of labels of the new codes.
    """

    groups: tuple[Group, ...] = ()
    nodes: tuple[tuple[str, int], ...] = ()
    missing: tuple[str, ...] = ()
    codelist: str = ""
    name: str = field(default="", compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)


def read_recode(path: str | Path) -> RecodeFile:
    """Read a ``.grc`` file.

    A flat variable has lines ``new: old, old, from-to, -to, from-``; codes that no line names stay. A tree begins with
    ``<TREERECODE>`` and names one node per line. μ-ARGUS adds a line ``<MISSING>`` with one or two new codes that stand
    for "unknown", quoted or not, and a line ``<CODELIST>`` with the file of labels of the new codes.
    """
    path = Path(path)
    notes: list[str] = []
    lines = [(n, text) for n, text in enumerate(read_text_lines(path, notes), start=1) if text.strip()]
    lines = [(n, text) for n, text in lines if not text.lstrip().startswith("//")]
    if not lines:
        raise wrong(path.name, 1, "nothing", "a line such as new: old, old")
    lines, missing, codelist = _without_keywords(path.name, lines)
    groups, nodes = tuple[Group, ...](), tuple[tuple[str, int], ...]()
    if lines and lines[0][1].strip().upper() == TREE:
        nodes = tuple(_node(path.name, n, text) for n, text in lines[1:])
    else:
        groups = tuple(_group(path.name, n, text) for n, text in lines)
    return RecodeFile(groups, nodes, missing, codelist, path.name, tuple(notes))


def _without_keywords(file: str, lines: list[tuple[int, str]]) -> tuple[list[tuple[int, str]], tuple[str, ...], str]:
    """The lines of groups or nodes, the new codes that stand for "unknown", and the file of labels."""
    left: list[tuple[int, str]] = []
    missing: list[str] = []
    codelist = ""
    for number, text in lines:
        keyword, end, said = text.strip().partition(">")
        words = [quoted or plain for quoted, plain in QUOTED_OR_PLAIN.findall(said)]
        if (keyword + end).upper() == MISSING:
            if missing or not 1 <= len(words) <= MOST_MISSING:
                raise wrong(file, number, text.strip(), f"{MISSING} with one or two codes, in one line")
            missing += words
        elif (keyword + end).upper() == CODELIST:
            if len(words) != 1 or codelist:
                raise wrong(file, number, text.strip(), "the name of one file, in one line")
            codelist = words[0]
        else:
            left.append((number, text))
    return left, tuple(dict.fromkeys(missing)), codelist


def _node(file: str, line: int, text: str) -> tuple[str, int]:
    if text.strip().startswith("<"):
        raise wrong(file, line, text.strip(), "a code of the tree")
    return text.rstrip(), line


def _group(file: str, line: int, text: str) -> Group:
    new, colon, old = text.partition(":")
    if not colon or not new.strip() or new.strip().startswith("<"):
        raise wrong(file, line, text.strip(), "new: old, old, from-to, -to or from-")
    parts = [part.strip().strip('"') for part in old.split(",")]
    if not all(parts):
        raise wrong(file, line, text.strip(), "codes between commas, none of them empty")
    return Group(new.rstrip().strip('"'), tuple(parts), line)


def recode_text(recode: RecodeFile) -> str:
    """The ``.grc`` file of a recode."""
    about = [f"{MISSING} {' '.join(map(_quoted, recode.missing))}"] if recode.missing else []
    about += [f"{CODELIST} {_quoted(recode.codelist)}"] if recode.codelist else []
    if recode.nodes:
        return "\n".join([TREE, *(code for code, _ in recode.nodes), *about]) + "\n"
    return "".join(f"{line}\n" for line in (*(f"{g.code}: {', '.join(g.parts)}" for g in recode.groups), *about))


def _quoted(code: str) -> str:
    return f'"{code}"'


def write_recode(recode: RecodeFile, path: str | Path) -> None:
    """Write a ``.grc`` file, in UTF-8."""
    Path(path).write_text(recode_text(recode), encoding="utf-8")


def code_map(recode: RecodeFile, codes: Iterable[str]) -> dict[str, str]:
    """Old codes to new ones, for the codes that groups name; ranges compare codes as right-justified text."""
    found, twice = grouped_codes(recode.groups, codes)
    if twice:
        code, one, other = twice[0]
        lines = {group.code: group.line for group in reversed(recode.groups)}
        raise wrong(
            recode.name, lines[other], f"code {code} in the group {other}",
            f"each code in one group; line {lines[one]} has it in {one}",
        )  # fmt: skip
    return found


def grouped_codes(
    groups: Sequence[Group], codes: Iterable[str], *, ranges: bool = True
) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    """Old codes to new ones, and codes that two groups name, with both of their new codes.

    Parameters
    ----------
    groups
        New codes with their parts.
    codes
        The codes that there are.
    ranges
        Let parts such as ``from-to`` stand for ranges; only for codes of that spelling otherwise.

    Examples
    --------
    >>> grouped_codes([Group("a", ("1-3",)), Group("b", ("3", "10"))], ["1", "3", "10"])
    ({'1': 'a', '3': 'a', '10': 'b'}, [('3', 'a', 'b')])
    """
    known = list(codes)
    ends = (end.strip() for group in groups for part in group.parts for end in part.split("-", 1))
    width = max(map(len, (*known, *ends)), default=0)
    padded = {code: code.strip().rjust(width) for code in known}
    result: dict[str, str] = {}
    twice: list[tuple[str, str, str]] = []
    for group in groups:
        for part in group.parts:
            for code in _meant(part, known, padded, width, ranges):
                before = result.setdefault(code, group.code)
                if before != group.code:
                    twice.append((code, before, group.code))
    return result, list(dict.fromkeys(twice))


def _meant(part: str, known: list[str], padded: dict[str, str], width: int, ranges: bool) -> list[str]:
    exact = [code for code in known if code == part or code.strip() == part.strip()]
    if exact or "-" not in part or not ranges:
        return exact
    low, high = (end.strip() for end in part.split("-", 1))
    return [
        code
        for code in known
        if (not low or padded[code] >= low.rjust(width)) and (not high or padded[code] <= high.rjust(width))
    ]


def closed_tree(hierarchy: Hierarchy, nodes: Iterable[str]) -> tuple[dict[str, str], Hierarchy]:
    """A tree with some nodes closed: the map of the codes below them, and the smaller tree."""
    children = {g.parent: [code for code, _ in g.parts] for g in hierarchy.groupings}
    if len(children) != len(hierarchy.groupings) or hierarchy.total is None:
        raise InputError("Only trees can be recoded by nodes or levels.", hint="Merge codes by a map instead.")
    closed = list(nodes)
    unknown = [code for code in closed if code not in hierarchy.index]
    if unknown:
        raise InputError(
            f"The tree has no node {listed(unknown)}.", hint=f"It has {listed(hierarchy.codes)}; leading blanks count."
        )
    mapped: dict[str, str] = {}
    gone: set[str] = set()
    for node in closed:
        below = list(children.get(node, []))
        while below:
            code = below.pop()
            gone.add(code)
            mapped[code] = node
            below += children.get(code, [])
    kept = [g for g in hierarchy.groupings if g.parent not in gone and g.parent not in set(closed)]
    if not kept:
        raise InputError("The recode closes the whole tree.", hint="Close nodes below the total.")
    codes = tuple(code for code in hierarchy.codes if code not in gone)
    base = {code: _top(mapped, code) for code in hierarchy.base_codes if code in mapped}
    labels = {code: text for code, text in hierarchy.labels.items() if code not in gone}
    return base, Hierarchy(tuple(kept), hierarchy.total, codes, labels, frozenset(hierarchy.missing) - gone)


def _top(mapped: dict[str, str], code: str) -> str:
    while code in mapped:
        code = mapped[code]
    return code


def nodes_at(hierarchy: Hierarchy, level: int) -> list[str]:
    """The nodes that are closed when a tree is cut at a level; the total is level 0."""
    parents = {grouping.parent for grouping in hierarchy.groupings}
    depth = hierarchy.depth
    return [code for code in hierarchy.codes if code in parents and int(depth[hierarchy.index[code]]) == level]
