"""Hierarchies as ``.rda`` metadata describe them: files, digits of the codes, or plain codes under a total."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from discreet.files.argus.rda import Variable
from discreet.files.hrc import read_hierarchy, read_labels
from discreet.model.hierarchy import Grouping, Hierarchy


def argus_hierarchy(
    variable: Variable, codes: Iterable[str], find: Callable[[str], Path], notes: list[str]
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
    options = {}
    if variable.labels:
        options["labels"] = read_labels(find(variable.labels), notes=notes)
    found = [code for code in dict.fromkeys(codes) if code and code != variable.total]
    if variable.hierarchy:
        path = find(variable.hierarchy)
        tree = read_hierarchy(path, total=variable.total, lead=variable.lead, notes=notes, **options)
    else:
        plain = sorted(set(found) - set(variable.missing)) or sorted(found)
        if variable.levels and plain != sorted(variable.missing):
            tree = Hierarchy.from_digits(plain, variable.levels, variable.total, **options)
        else:
            tree = Hierarchy.flat(plain, variable.total, **options)
    return with_missing(tree, variable.missing)


def with_missing(tree: Hierarchy, missing: Iterable[str]) -> Hierarchy:
    """The tree with codes for "unknown" under its total."""
    codes = [code for code in missing if code != tree.total]
    new = [code for code in codes if code not in tree.index]
    groupings = tuple(
        Grouping(g.parent, (*g.parts, *((code, 1) for code in new))) if g.parent == tree.total else g
        for g in tree.groupings
    )
    return Hierarchy(groupings, tree.total, tree.codes, tree.labels, tree.missing | frozenset(codes))
