"""What all ARGUS text files share: encoding, lines, tokens, numbers, and errors that name file and line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf, isfinite
from pathlib import Path
from typing import NamedTuple

from discreet.errors import InputError, counted

LARGEST_TEXT = 100_000_000
"""Bytes of the largest metadata, batch, recode or a-priori file that is read."""
LONGEST_LINE = 32_000
"""Characters of the longest record, as in the manual."""
SHOWN = 60
TOKEN = re.compile(r'"([^"]*)"|([,|()])|([^\s,|()"]+)|(")')
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d{1,3})?")


class Token(NamedTuple):
    """A word of a line; a quoted one is never taken for a sign or a keyword."""

    text: str
    quoted: bool = False

    def is_sign(self, sign: str) -> bool:
        """Whether it is one of the signs ``, | ( )``."""
        return self.text == sign and not self.quoted


class TextLine(NamedTuple):
    """A line that says something, with its number."""

    number: int
    text: str
    tokens: tuple[Token, ...]

    @property
    def keyword(self) -> str:
        """The keyword that the line begins with, in capitals; empty where it begins with none."""
        first = self.tokens[0]
        return "" if first.quoted or not first.text.startswith("<") else first.text.upper()


def wrong(file: str, line: int, found: str, expected: str, hint: str = "") -> InputError:
    """Error that names the file, the line, what was found and what was expected."""
    return InputError(f"{file}, line {line}: found {shortened(found)}; expected {expected}.", hint=hint)


def wrong_data(file: str, line: int, column: str, found: str, expected: str, hint: str = "") -> InputError:
    """The same for confidential data: what was found stays in the details."""
    return InputError(
        f"{file}, line {line}: what stands in {column!r} cannot be read; expected {expected}.",
        hint=hint or "Correct the file, or its metadata.",
        details=f"Found {shortened(found)}.",
    )


def shortened(text: str) -> str:
    """A text as it is shown in a message."""
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")


def read_bytes(path: Path, most: int | None = LARGEST_TEXT) -> bytes:
    """The bytes of a file; a missing, empty or too large one is an error."""
    if not path.is_file():
        raise InputError(f"There is no file {path.name!r}.", hint=f"Check the name and the folder. Looked for: {path}")
    size = path.stat().st_size
    if most is not None and size > most:
        raise InputError(
            f"The file {path.name!r} has {size:,} bytes; at most {most:,} are read.",
            hint="Check that it is the right file.",
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"The file {path.name!r} cannot be read ({error.strerror}).",
            hint=f"Check the name and the folder. Looked for: {path}",
        ) from None
    if not content.strip():
        raise InputError(f"{path.name}, line 1: the file is empty.", hint="Check that it was written completely.")
    nul = content.find(b"\0")
    if nul >= 0:
        raise wrong(path.name, content.count(b"\n", 0, nul) + 1, "a zero byte", "text", "This is not a text file.")
    return content


def decode(content: bytes, name: str, notes: list[str]) -> str:
    """Bytes as text: UTF-8, or Latin-1 where that fails, which the notes then say."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        notes.append(f"{name} is not UTF-8 (line {line}) and was read as Latin-1.")
        return content.decode("latin-1")


def read_text_lines(path: Path, notes: list[str]) -> list[str]:
    """Lines of a text file without their ends; trailing blanks stay."""
    text = decode(read_bytes(path), path.name, notes)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_LINE:
            raise wrong(path.name, number, counted(len(line), "character"), f"at most {LONGEST_LINE:,} in a line")
    return lines


def token_lines(path: Path, notes: list[str]) -> Iterator[TextLine]:
    """Lines in tokens; empty ones and comments (``//`` or two backslashes) are left out."""
    for number, raw in enumerate(read_text_lines(path, notes), start=1):
        text = raw.replace("\t", " ").strip()
        if text and not text.startswith(("//", "\\\\")):
            yield TextLine(number, text, tuple(tokens_of(path.name, number, text)))


def tokens_of(file: str, number: int, text: str) -> Iterator[Token]:
    """The tokens of one line: quoted text, a sign ``, | ( )``, or text up to the next blank or sign."""
    for match in TOKEN.finditer(text):
        quoted, sign, word, stray = match.groups()
        if stray:
            raise wrong(file, number, text[match.start() :], 'a closing quotation mark (")')
        yield Token(quoted, True) if quoted is not None else Token(sign or word)


def number_of(text: str) -> float | None:
    """A finite number with a decimal point or comma; ``None`` where it is none."""
    text = text.strip()
    number = float(text.replace(",", ".")) if NUMBER.fullmatch(text) else inf
    return number if isfinite(number) else None


def whole_of(text: str) -> int | None:
    """A whole number; ``None`` where it is none."""
    text = text.strip()
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None


def find_file(name: str, folders: list[Path], notes: list[str]) -> Path:
    """A file that an ARGUS file names, in the first folder that has it.

    Names come from Windows: backslashes are slashes, and capitals do not count where no name is exactly the same. Where
    there is no such path, the file is looked for by its name alone, as a batch moves with its files.
    """
    plain = name.strip().replace("\\", "/")
    found = _look_for(plain, folders)
    if found is None and "/" in plain and is_windows_path(name):
        found = _look_for(plain.rsplit("/", 1)[1], folders)
        if found is not None:
            notes.append(f"{name!r} is no path here; the file {found.name!r} beside the batch was taken.")
            return found
    if found is None:
        hint = f"Looked in: {', '.join(str(folder) for folder in folders)}"
        raise InputError(f"There is no file {plain!r}.", hint=hint)
    if found.name != Path(plain).name:
        notes.append(f"{name!r} was taken to be the file {found.name!r}.")
    return found


def is_windows_path(name: str) -> bool:
    """Whether a name has folders the way Windows writes them, with backslashes or a drive."""
    return "\\" in name or re.match(r"\s*[A-Za-z]:/", name) is not None


def _look_for(plain: str, folders: list[Path]) -> Path | None:
    """The file of a name, in the first folder that has it; capitals do not count where no name is exactly the same."""
    if not plain:
        return None
    for folder in folders:
        path = folder / plain
        if path.is_file():
            return path
    for folder in folders:
        parent = (folder / plain).parent
        if parent.is_dir():
            alike = sorted(p for p in parent.iterdir() if p.name.lower() == Path(plain).name.lower() and p.is_file())
            if alike:
                return alike[0]
    return None
