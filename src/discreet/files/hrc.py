"""Hierarchy files: ``.hrc`` (indented codes) and code lists with labels, and maps of changed codes."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.errors import InputError, ParameterError, counted, listed
from discreet.files.argus.text import LONGEST_LINE, wrong
from discreet.files.csv_rows import csv_rows
from discreet.files.level_columns import LevelEntry, level_columns
from discreet.model.hierarchy import Hierarchy


def read_hierarchy(
    path: str | Path, *, total: str = "Total", lead: str = "@", notes: list[str] | None = None, **options: Any
) -> Hierarchy:
    """Read a hierarchy from an ``.hrc`` file: one code per line, its depth the number of leading ``@``.

    A csv file with columns ``levels`` (``@``, ``@@``, ...) and ``codes``, as sdcTable and GaussSuppression have it, is
    read too; its first code is the total.

    Parameters
    ----------
    path
        The file.
    total
        Code of the grand total, which the file does not list; a csv file with levels names its own.
    lead
        The string that stands for one level of depth.
    notes
        Where given, a file that is not UTF-8 is read as Latin-1, and a note is added here.
    **options
        ``labels`` and ``missing`` of :class:`~discreet.Hierarchy`.

    Raises
    ------
    InputError
        With file and line, when a level is skipped, or a code stands for two different things. A code that is its own
        only part, or is listed once more with the same parts at the same place, means the same and counts once.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "nace.hrc")
    ...     size = file.write_text("A\\n@A01\\n@A02\\nB\\n")
    ...     print(ds.read_hierarchy(file))
    Hierarchy(5 codes, 3 base codes, 3 levels, total 'Total')
    """
    path = Path(path)
    if not lead:
        raise ParameterError("lead='' is not allowed.", hint="Give the string that stands for one level, such as '@'.")
    lines = read_lines(path, notes)
    entries = level_columns(path.name, lines, lead)
    if entries is None:
        entries = _indented(path.name, lines, lead)
    elif [depth for _, depth, _ in entries].count(0) == 1:
        total, entries = entries[0][2], [(number, depth - 1, code) for number, depth, code in entries[1:]]
    root = _IndentedCode(total, 0)
    above = [root]
    for number, depth, text in entries:
        if depth >= len(above):
            before = f"the code before it only {len(above) - 2}" if root.parts else "no code stands before it"
            raise InputError(
                f"{path.name}, line {number}: code {text!r} is {counted(depth, 'level')} deep, but {before}.",
                hint="A code may be at most one level deeper than the code before it; the first has none.",
            )
        node = _IndentedCode(text, number)
        above[depth].parts.append(node)
        above[depth + 1 :] = [node]
    if not root.parts:
        raise InputError(f"The hierarchy file {path.name!r} has no codes.", hint="It needs one code per line.")
    parents = {total: None, **_parents(root, path.name, notes)}
    try:
        return Hierarchy.from_parents(parents, total, **options)
    except InputError as error:
        raise InputError(f"The hierarchy file {path.name!r}: {error.message}", hint=error.hint) from None


def _indented(file: str, lines: Sequence[str], lead: str) -> list[LevelEntry]:
    """Lines of an ``.hrc`` file."""
    entries = []
    for number, line in enumerate(lines, start=1):
        text = line.rstrip()
        if not text.strip():
            continue
        depth = 0
        while text.startswith(lead):
            text = text[len(lead) :]
            depth += 1
        if not text:
            raise InputError(
                f"{file}, line {number}: there is no code after {lead * depth!r}.", hint="Remove the line."
            )
        entries.append((number, depth, text))
    return entries


@dataclass(eq=False)
class _IndentedCode:
    """A code, the line that it stands in, and the codes below it."""

    code: str
    line: int
    parts: list[_IndentedCode] = field(default_factory=list)

    def says(self) -> tuple[str, frozenset[object]]:
        """The code with all that stands below it, in whatever order."""
        return self.code, frozenset(part.says() for part in self.parts)


def _parents(root: _IndentedCode, file: str, notes: list[str] | None) -> dict[str, str]:
    """Every code with the one above it; what is said twice counts once, and what contradicts itself is an error."""
    found: dict[str, tuple[_IndentedCode, _IndentedCode]] = {root.code: (root, root)}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        while [part.code for part in node.parts] == [node.code]:
            _note(notes, f"{file}, line {node.parts[0].line}: code {node.code!r} is its own only part and counts once.")
            node.parts = node.parts[0].parts
        for part in node.parts:
            before, parent = found.setdefault(part.code, (part, node))
            if before is part:
                waiting.append(part)
            elif parent is node and before is not root and before.says() == part.says():
                _note(notes, f"{file}, line {part.line}: code {part.code!r} stands there again and counts once.")
            else:
                first, second = sorted(((before, parent), (part, node)), key=lambda pair: pair[0].line)
                raise _twice(file, *first, *second, root)
    placed = sorted(found.values(), key=lambda pair: pair[0].line)
    return {node.code: parent.code for node, parent in placed if node is not root}


def _note(notes: list[str] | None, text: str) -> None:
    if notes is not None:
        notes.append(text)


def _twice(
    file: str,
    first: _IndentedCode,
    above_first: _IndentedCode,
    second: _IndentedCode,
    above_second: _IndentedCode,
    root: _IndentedCode,
) -> InputError:
    """Why a code that stands in two lines does not mean the same in both."""
    code = second.code
    if first is root:
        why, hint = "it is the grand total, which is made of all the others", "Leave the grand total out, or rename it."
    elif above_second is not above_first:
        where = [node.code for node in (above_first, above_second)]
        why = f"in line {first.line} it is a part of {where[0]!r} and here of {where[1]!r}"
        hint = "One code is one cell: give the two different codes, also in the data, or list it once."
    else:
        parts = [{part.code for part in node.parts} for node in (first, second)]
        other = sorted(parts[0] ^ parts[1])
        why = f"in line {first.line} it is made of other codes than here" + (f" ({listed(other)})" if other else "")
        hint = "List the code once, with all its parts."
    return InputError(f"{file}, line {second.line}: code {code!r} stands there a second time, and {why}.", hint=hint)


def write_hierarchy(hierarchy: Hierarchy, path: str | Path, *, lead: str = "@") -> None:
    """Write a tree as an ``.hrc`` file; a hierarchy that is not a tree cannot be written.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> from pathlib import Path
    >>> nace = ds.Hierarchy.from_parents({"A01": "A", "A02": "A", "A": "Total", "B": "Total"}, total="Total")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ds.write_hierarchy(nace, f"{folder}/nace.hrc")
    ...     print(Path(folder, "nace.hrc").read_text().split())
    ['A', '@A01', '@A02', 'B']
    """
    if hierarchy.total is None:
        raise InputError(
            "An .hrc file holds codes under a total; this hierarchy has none.", hint="Write its codes as a plain list."
        )
    parts: dict[str, list[str]] = {}
    placed = {hierarchy.total}
    for grouping in hierarchy.groupings:
        mine = [code for code, _ in grouping.parts]
        if grouping.parent in parts or placed & set(mine) or any(sign < 0 for _, sign in grouping.parts):
            raise InputError(
                f"An .hrc file holds trees only; '{grouping}' is a further or signed sum.",
                hint="Write the groupings as separate hierarchies.",
            )
        parts[grouping.parent] = mine
        placed.update(mine)
    strange = [code for code in hierarchy.codes if not code or code != code.rstrip() or code.startswith(lead)]
    strange += [code for code in hierarchy.codes if "\n" in code or "\r" in code]
    if strange:
        raise InputError(
            f"An .hrc file cannot hold these codes: {listed(strange)}.",
            hint=f"Codes may not be empty, end in a blank, begin with {lead!r} (choose another lead=) or span lines.",
        )
    lines: list[str] = []
    stack = [(code, 0) for code in reversed(parts.get(hierarchy.total, []))]
    while stack:
        code, depth = stack.pop()
        lines.append(lead * depth + code)
        stack.extend((below, depth + 1) for below in reversed(parts.get(code, [])))
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_code_map(path: str | Path, *, delimiter: str = ",") -> dict[str, str]:
    """Read a map of old codes to new ones from a file with two columns (a header ``old,new`` is optional).

    Several old codes may become one. A code that splits cannot be mapped record by record and is an error.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "2025.csv")
    ...     size = file.write_text("old,new\\nA1,A\\nA2,A\\n")
    ...     print(ds.read_code_map(file))
    {'A1': 'A', 'A2': 'A'}
    """
    path = Path(path)
    result: dict[str, str] = {}
    for number, row in enumerate(csv_rows(read_lines(path), path.name, delimiter), start=1):
        if not row or (number == 1 and [field.strip().lower() for field in row] == ["old", "new"]):
            continue
        if len(row) != 2:
            raise InputError(
                f"{path.name}, line {number}: {counted(len(row), 'field')} where an old and a new code are expected.",
                hint=f"Write: old{delimiter}new, one pair a line; give delimiter= where it is another.",
            )
        old, new = (field.rstrip() for field in row)
        if not old or not new:
            raise InputError(
                f"{path.name}, line {number}: the {'new' if old else 'old'} code is empty.",
                hint="Records without a code are counted under one by Microdata(missing=).",
            )
        if result.setdefault(old, new) != new:
            raise InputError(
                f"{path.name}, line {number}: code {old!r} becomes both {result[old]!r} and {new!r}.",
                hint="A code that splits needs the records re-coded at their source.",
            )
    if not result:
        raise InputError(f"The code map {path.name!r} is empty.", hint="It needs one pair of codes a line.")
    return result


def read_labels(path: str | Path, *, delimiter: str = ",", notes: list[str] | None = None) -> dict[str, str]:
    """Read words for codes from a file of ``code,label`` lines; a label may hold the delimiter, quoted or not.

    Where ``notes`` are given, a file that is not UTF-8 is read as Latin-1, and a note is added to them.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "nace.cdl")
    ...     size = file.write_text("A,Agriculture, forestry and fishing\\n")
    ...     print(ds.read_labels(file))
    {'A': 'Agriculture, forestry and fishing'}
    """
    path = Path(path)
    result: dict[str, str] = {}
    for number, line in enumerate(read_lines(path, notes), start=1):
        code, *rest = next(csv_rows([line], path.name, delimiter), []) or [""]
        code, label = code.rstrip(), delimiter.join(rest).strip()
        if code.strip() and result.setdefault(code, label) != label:
            raise InputError(
                f"{path.name}, line {number}: code {code!r} has a second label.", hint="Give each code one label."
            )
    return result


def write_labels(labels: Mapping[str, str], path: str | Path, *, delimiter: str = ",") -> None:
    """Write words for codes, one ``code,label`` a line, in UTF-8; what cannot be read back is refused.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ds.write_labels({"A": "Agriculture, forestry and fishing"}, f"{folder}/nace.cdl")
    ...     print(ds.read_labels(f"{folder}/nace.cdl"))
    {'A': 'Agriculture, forestry and fishing'}
    """
    for code, label in labels.items():
        strange = (
            not code.strip() or code != code.rstrip() or label != label.strip() or {"\n", "\r"} & set(code + label)
        )
        if strange:
            raise InputError(
                f"A file of labels cannot hold the code {code!r} with its label.",
                hint="Codes may not be empty or end in a blank, labels not begin or end in one; neither spans lines.",
            )
    with Path(path).open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerows(labels.items())


def read_lines(path: Path, notes: list[str] | None = None) -> list[str]:
    """Lines of a text file; errors name the file. With ``notes``, Latin-1 is taken where UTF-8 fails."""
    lines = _text(path, notes).split("\n")
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_LINE:
            raise wrong(path.name, number, counted(len(line), "character"), f"at most {LONGEST_LINE:,} in a line")
    return lines


def _text(path: Path, notes: list[str] | None) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(
            f"There is no file {path.name!r}.", hint=f"Check the name and the folder. Looked for: {path}"
        ) from None
    except OSError as error:
        raise InputError(
            f"The file {path.name!r} cannot be read ({error.strerror}).",
            hint=f"Check the name and the folder. Looked for: {path}",
        ) from None
    except UnicodeDecodeError:
        if notes is None:
            raise InputError(f"The file {path.name!r} is not UTF-8 text.", hint="Save it as UTF-8.") from None
        notes.append(f"{path.name} is not UTF-8 and was read as Latin-1.")
        return path.read_text(encoding="latin-1")
