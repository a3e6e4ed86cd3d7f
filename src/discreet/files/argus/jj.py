"""JJ files: cells and relations of one problem, as solvers and collections of instances exchange them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InputError, counted
from discreet.files.argus.text import read_bytes, shortened, wrong, wrong_data
from discreet.model.arrays import Floats, Ints

STATUSES = "sumz"
"""Safe, unsafe, secondary, and fixed: cells that must be published as they are."""
FIELDS = 9
LARGEST_FILE = 4 * 10**9
LARGEST_WEIGHT = 20_000
BRACKETS = bytes.maketrans(b":()", b"   ")
PIECE = 2**24
LONGEST_FIELD = 40


@dataclass(frozen=True, eq=False)
class Instance:
    """A JJ file: values, weights, statuses, bounds and levels of cells, and relations that add up to ``rhs``.

    ``status`` holds positions in ``"sumz"``. Relation ``r`` has the cells ``cell[start[r]:start[r + 1]]`` with the
    coefficients beside them; the total has -1.
    """

    value: Floats
    weight: Floats
    status: Ints
    lower: Floats
    upper: Floats
    lower_level: Floats
    upper_level: Floats
    sliding_level: Floats
    rhs: Floats
    start: Ints
    cell: Ints
    coefficient: Ints

    def __len__(self) -> int:
        return len(self.value)

    def residual(self) -> Floats:
        """How far each relation is from adding up."""
        terms = self.value[self.cell] * self.coefficient
        sums = np.add.reduceat(terms, self.start[:-1]) if len(self.rhs) else np.zeros(0)
        result: Floats = np.asarray(sums - self.rhs, np.float64)
        return result


def read_jj(path: str | Path) -> Instance:
    """Read a JJ file.

    Raises
    ------
    InputError
        With file and line, where it ends too early, a field is no number or a relation names a cell that is not there.
    """
    path = Path(path)
    content = read_bytes(path, LARGEST_FILE)
    return _JjReader(path.name, content).read()


class _JjReader:
    """Takes a file apart in large pieces; where a piece is bad, its first bad line is looked for."""

    def __init__(self, file: str, content: bytes) -> None:
        self.file, self.content, self.place, self.line = file, content, 0, 0

    def read(self) -> Instance:
        head = self._number("0, or the kind of the file")
        if head not in (0, 1):
            raise wrong(self.file, self.line, str(head), "0 in the first line")
        cells = self._number("the number of cells")
        columns = self._cells(cells)
        relations = self._number("the number of relations")
        return Instance(*columns, *self._relations(relations, cells))

    def _take(self) -> bytes:
        """The next line that is not empty."""
        while self.place < len(self.content):
            end = self.content.find(b"\n", self.place)
            end = len(self.content) if end < 0 else end
            text, self.place = self.content[self.place : end].strip(), end + 1
            self.line += 1
            if text:
                return text
        raise wrong(self.file, self.line + 1, "the end of the file", "more lines")

    def _number(self, expected: str) -> int:
        text = self._take()
        if not text.isdigit() or len(text) > 10:
            raise wrong(self.file, self.line, text.decode("latin-1"), expected)
        number = int(text)
        if number > len(self.content):
            raise wrong(self.file, self.line, str(number), f"{expected}; the file is too short for so many")
        return number

    def _lines(self, count: int, what: str) -> list[bytes]:
        """So many lines that are not empty."""
        found: list[bytes] = []
        while len(found) < count:
            ends = self.content.find(b"\n", min(self.place + PIECE, len(self.content)))
            ends = len(self.content) if ends < 0 else ends
            piece = self.content[self.place : ends].split(b"\n")
            if self.place >= len(self.content):
                raise wrong(self.file, self.line + 1, "the end of the file", f"{count - len(found):,} more {what}")
            taken = 0
            for text in piece:
                if len(found) == count:
                    break
                taken += len(text) + 1
                self.line += 1
                if text.strip():
                    found.append(text)
            self.place += taken
        return found

    def _cells(self, count: int) -> tuple[Any, ...]:
        first = self.line + 1
        lines = self._lines(count, "lines of cells")
        tokens = b" ".join(lines).split()
        good = len(tokens) == FIELDS * count and _short(tokens)
        try:
            table = np.array(tokens, dtype=bytes).reshape(count, FIELDS) if good else None
            if table is not None:
                letters = table[:, 3]
                words, which = np.unique(letters, return_inverse=True)
                known = {letter.encode(): k for k, letter in enumerate(STATUSES)}
                status = np.array([known.get(bytes(word).lower(), -1) for word in words], np.int64)
                numbers = table[:, [0, 1, 2, 4, 5, 6, 7, 8]].astype(np.float64)
                statuses = status[which.ravel()]
                index_good = np.array_equal(numbers[:, 0], np.arange(count))
                if np.isfinite(numbers).all() and (statuses >= 0).all() and index_good:
                    value, weight, low, high, lpl, upl, spl = (np.ascontiguousarray(c) for c in numbers[:, 1:].T)
                    return value, weight, statuses.astype(np.int64), low, high, lpl, upl, spl
        except ValueError:
            pass
        raise self._bad_cell(lines, first)

    def _bad_cell(self, lines: list[bytes], first: int) -> InputError:
        expected = "index, value, weight, status (s, u, m or z), two bounds and three levels"
        for number, text in enumerate(lines):
            fields = text.decode("latin-1").split()
            if len(fields) != FIELDS:
                return wrong(self.file, self._line_of(first, number), counted(len(fields), "field"), expected)
            if fields[0] != str(number):
                found = f"cell {shortened(fields[0])}"
                return wrong(self.file, self._line_of(first, number), found, f"cell {number}, in order from 0")
            if fields[3].lower() not in STATUSES or len(fields[3]) != 1:
                return wrong(self.file, self._line_of(first, number), f"status {fields[3]}", expected)
            for k in (1, 2, 4, 5, 6, 7, 8):
                if not _is_number(fields[k]):
                    line = self._line_of(first, number)
                    return wrong_data(self.file, line, f"field {k + 1}", fields[k], "a number")
        return wrong(self.file, first, "lines that cannot be read", expected)

    def _line_of(self, first: int, number: int) -> int:
        """The line of the n-th line that is not empty."""
        line, seen = 0, -1
        for text in self.content.split(b"\n"):
            line += 1
            if line >= first and text.strip():
                seen += 1
                if seen == number:
                    return line
        return line

    def _relations(self, count: int, cells: int) -> tuple[Any, ...]:
        first = self.line + 1
        lines = self._lines(count, "relations")
        sizes = np.array([text.count(b"(") for text in lines], np.int64)
        tokens = b" ".join(lines).translate(BRACKETS).split()
        start = np.zeros(count + 1, np.int64)
        np.cumsum(sizes, out=start[1:])
        if len(tokens) == int(2 * count + 2 * sizes.sum()) and _short(tokens):
            try:
                numbers = np.array(tokens, dtype=bytes).astype(np.float64) if tokens else np.zeros(0)
            except ValueError:
                raise self._bad_relation(lines, first, cells) from None
            heads = 2 * np.arange(count) + 2 * start[:-1]
            body = np.ones(len(numbers), np.bool_)
            body[heads] = body[heads + 1] = False
            cell, coefficient = numbers[body][::2], numbers[body][1::2]
            whole = np.isfinite(numbers).all() and np.array_equal(cell, np.rint(cell))
            signs = np.isin(coefficient, (-1, 1)).all()
            inside = (cell >= 0).all() and (cell < cells).all()
            if whole and signs and inside and np.array_equal(numbers[heads + 1], sizes) and (sizes > 0).all():
                return numbers[heads], start, cell.astype(np.int64), coefficient.astype(np.int64)
        raise self._bad_relation(lines, first, cells)

    def _bad_relation(self, lines: list[bytes], first: int, cells: int) -> InputError:
        expected = "sum n : cell (coefficient) ..., coefficients 1 or -1"
        for number, text in enumerate(lines):
            fields = text.translate(BRACKETS).decode("latin-1").split()
            found, wanted = _relation_fault(fields, text.count(b"("), cells, expected)
            if wanted:
                return wrong(self.file, self._line_of(first, number), found or text.decode("latin-1").strip(), wanted)
        return wrong(self.file, first, "relations that cannot be read", expected)


def _relation_fault(fields: list[str], brackets: int, cells: int, expected: str) -> tuple[str, str]:
    """What is wrong with a relation, and what was expected; nothing where it is right."""
    if not all(_is_number(field) for field in fields) or len(fields) < 4 or len(fields) % 2:
        return "", expected
    terms = len(fields) // 2 - 1
    if fields[1] != str(terms) or brackets != terms:
        return f"{fields[1]} terms announced and {terms} given", expected
    places = [float(field) for field in fields[2::2]]
    if any(place != int(place) or not 0 <= place < cells for place in places):
        return "", f"cells from 0 to {cells - 1}"
    if any(float(field) not in (-1.0, 1.0) for field in fields[3::2]):
        return "", expected
    return "", ""


def _short(tokens: list[bytes]) -> bool:
    """Whether no field is too long to be a number; one such field would cost as much memory in every cell."""
    return max(map(len, tokens), default=0) <= LONGEST_FIELD


def _is_number(text: str) -> bool:
    try:
        return len(text) <= LONGEST_FIELD and bool(np.isfinite(float(text)))
    except ValueError:
        return False


def write_jj(instance: Instance, path: str | Path, decimals: int = 0) -> None:
    """Write a JJ file; values, bounds and levels have ``decimals``, weights are whole numbers."""
    number = f"%.{decimals}f"
    letters = np.array(list(STATUSES))[instance.status]
    columns = (
        np.arange(len(instance)).tolist(),
        instance.value.tolist(),
        instance.weight.tolist(),
        letters.tolist(),
        instance.lower.tolist(),
        instance.upper.tolist(),
        instance.lower_level.tolist(),
        instance.upper_level.tolist(),
        instance.sliding_level.tolist(),
    )
    cell = f"%d {number} %d %s {number} {number} {number} {number} {number}\n"
    terms = [f"{i} ({c})" for i, c in zip(instance.cell.tolist(), instance.coefficient.tolist(), strict=True)]
    start = instance.start.tolist()
    with Path(path).open("w", encoding="ascii") as stream:
        stream.write(f"0\n{len(instance)}\n")
        stream.writelines(cell % row for row in zip(*columns, strict=True))
        stream.write(f"{len(instance.rhs)}\n")
        for r, rhs in enumerate(instance.rhs.tolist()):
            stream.write(f"{number % rhs} {start[r + 1] - start[r]} : {' '.join(terms[start[r] : start[r + 1]])}\n")


def jj_weights(cost: Floats) -> Floats:
    """Costs as the whole numbers that JJ files hold: at most 20,000, at least 1."""
    largest = float(np.abs(cost).max(initial=0.0))
    if largest == 0:
        return np.ones(len(cost))
    scaled: Floats = np.maximum(np.rint(np.abs(cost) * (LARGEST_WEIGHT / largest)), 1)
    return scaled
