"""Hierarchies as ``.rda`` metadata describe them: files, digits of the codes, or plain codes under a total."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.files.argus.numbers import recoded
from discreet.files.argus.rda import RdaVariable
from discreet.files.hrc import read_hierarchy, read_labels
from discreet.model.hierarchy import Grouping, Hierarchy

if TYPE_CHECKING:
    import pyarrow as pa


def read_tree(variable: RdaVariable, find: Callable[[str], Path], notes: list[str]) -> Hierarchy | None:
    """The tree that a hierarchy file holds; nothing where the metadata name none."""
    if not variable.hierarchy:
        return None
    options = {"labels": read_labels(find(variable.labels), notes=notes)} if variable.labels else {}
    path = find(variable.hierarchy)
    tree = read_hierarchy(path, total=variable.total, lead=variable.lead, notes=notes, **options)
    return with_missing(tree, variable.missing)


def argus_hierarchy(
    variable: RdaVariable, codes: Iterable[str], find: Callable[[str], Path], notes: list[str]
) -> Hierarchy:
    """How the codes of a spanning variable add up.

    Missing codes stand under the total beside the other codes, whether records have them or not, as τ-ARGUS does.

    Parameters
    ----------
    variable
        The variable.
    codes
        Codes that the data have.
    find
        Gives the path of a file that the metadata name.
    notes
        Gets what the log should say.
    """
    tree = read_tree(variable, find, notes)
    if tree is not None:
        return tree
    options = {"labels": read_labels(find(variable.labels), notes=notes)} if variable.labels else {}
    found = [code for code in dict.fromkeys(codes) if code and code != variable.total]
    plain = sorted(set(found) - set(variable.missing)) or sorted(found)
    if variable.levels and plain != sorted(variable.missing):
        tree = Hierarchy.from_digits(plain, variable.levels, variable.total, **options)
    else:
        tree = Hierarchy.flat(plain, variable.total, **options)
    return with_missing(tree, variable.missing)


def codes_and_hierarchy(
    column: Any, variable: RdaVariable, find: Callable[[str], Path], notes: list[str], free: bool
) -> tuple[pa.Array, Hierarchy]:
    """A column of codes and how they add up; in free format blanks before codes do not count."""
    if free:
        tree = read_tree(variable, find, notes)
        known = (variable.total, *variable.missing) if tree is None else tree.codes
        column = aligned_codes(column, known)
    words = [str(code) for code in column.dictionary.to_pylist()]
    return column, argus_hierarchy(variable, words, find, notes)


def with_missing(tree: Hierarchy, missing: Iterable[str]) -> Hierarchy:
    """The tree with codes for "unknown" under its total."""
    codes = [code for code in missing if code != tree.total]
    new = [code for code in codes if code not in tree.index]
    groupings = tuple(
        Grouping(g.parent, (*g.parts, *((code, 1) for code in new))) if g.parent == tree.total else g
        for g in tree.groupings
    )
    return Hierarchy(groupings, tree.total, tree.codes, tree.labels, tree.missing | frozenset(codes))


def aligned_codes(column: Any, known: Iterable[str]) -> pa.Array:
    """Codes as a tree writes them: fields of free format may be padded with blanks.

    A code that the tree does not have stands for the one that it has with other blanks before it, if there is one
    such code only; among codes that nobody knows, the first form that occurs counts.
    """
    import pyarrow as pa

    exact = set(known)
    alike: dict[str, list[str]] = {}
    for code in sorted(exact):
        alike.setdefault(code.strip(), []).append(code)
    words = []
    for word in column.dictionary.to_pylist():
        same = alike.setdefault(word.strip(), [word])
        words.append(word if word in exact or len(same) != 1 else same[0])
    return recoded(column.indices, pa.array(words, pa.string()))
