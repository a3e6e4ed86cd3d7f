"""Metadata of records and of tables: ``.rda``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from discreet.errors import InputError, ParameterError, counted, listed, unknown_column
from discreet.files.argus.text import TextLine, Token, number_of, token_lines, whole_of, wrong
from discreet.model.records import MissingRange, code_text

MOST_WIDTH = 100
MOST_LEVELS = 10
MOST_DISTANCES = 5
SHOWN_IN_FULL = 1e15
Kind = Literal["records", "cells"]


@dataclass(frozen=True)
class RdaVariable:
    """One variable of an ``.rda`` file: where it stands, and its roles.

    ``start`` counts from 1 and is 0 in free format. ``role`` is what a column of a table holds: ``shadow``, ``cost``,
    ``lower``, ``upper``, ``frequency``, ``top``, ``status`` or nothing of these. Of μ-ARGUS are the level of
    identification (0 where nobody is identified), the number of the household, variables of the household, the weight
    that local suppression goes by (the variable with the lowest goes first), whether digits may be dropped from the
    right, and a variable that is blanked together with this one. ``label``, ``format``, ``unknown`` (ranges of codes
    for "unknown" beyond the two that ARGUS has) and ``empty`` (the missing code that stands for an empty field) are of
    this package; μ-ARGUS passes over keywords that it does not know.
    """

    name: str
    start: int = 0
    length: int = 0
    missing: tuple[str, ...] = ()
    recodeable: bool = False
    total: str = "Total"
    labels: str = ""
    hierarchical: bool = False
    levels: tuple[int, ...] = ()
    hierarchy: str = ""
    lead: str = "@"
    distance: tuple[int, ...] = ()
    numeric: bool = False
    decimals: int | None = None
    weight: bool = False
    holding: bool = False
    request: tuple[str, ...] = ()
    record_key: bool = False
    noise_files: tuple[tuple[str, str], ...] = ()
    cell_key: tuple[tuple[str, str], ...] = ()
    role: str = ""
    identification: int | None = None
    household: bool = False
    of_household: bool = False
    suppression_weight: int | None = None
    truncable: bool = False
    related: str = ""
    label: str = ""
    format: str = ""
    unknown: tuple[MissingRange, ...] = ()
    empty: str = ""
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class ArgusMetadata:
    """What an ``.rda`` file says of a file of records or cells.

    With ``names_in_front`` the first line of a separated file has the names of its columns.
    """

    variables: tuple[RdaVariable, ...]
    kind: Kind = "records"
    separator: str = ""
    spss: bool = False
    letters: tuple[str, str, str] = ("S", "U", "P")
    names_in_front: bool = False
    name: str = field(default="", compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def of_mu_argus(self) -> bool:
        """Whether the metadata are those of μ-ARGUS: they say who can be identified by what, or who lives together."""
        return any(
            v.identification is not None or v.household or v.of_household or v.suppression_weight is not None or v.empty
            for v in self.variables
        )

    def __getitem__(self, name: str) -> RdaVariable:
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise unknown_column(name, [v.name for v in self.variables], f"the metadata {self.name!r}")

    def named(self, name: str) -> RdaVariable:
        """A variable, capitals aside where no name is exactly the same."""
        alike = [v for v in self.variables if v.name.lower() == name.lower()]
        return alike[0] if len(alike) == 1 else self[name]

    def the(self, role: str) -> RdaVariable | None:
        """The variable that is the weight, the holding, the request or the record key, or has a role in a table."""
        for variable in self.variables:
            if variable.role == role or getattr(variable, role, False):
                return variable
        return None


def read_metadata(path: str | Path, kind: Kind = "records") -> ArgusMetadata:
    """Read an ``.rda`` file.

    Parameters
    ----------
    path
        The file.
    kind
        ``"records"`` for microdata, ``"cells"`` for a ready-made table (``.tab``).

    Raises
    ------
    InputError
        With file, line, what was found and what was expected.
    """
    if kind not in ("records", "cells"):
        raise ParameterError(f"kind={kind!r} is not allowed.", hint="Use 'records' or 'cells'.")
    return _RdaReader(Path(path), kind).read()


class _RdaReader:
    """Reads one file; a keyword belongs to the variable above it."""

    def __init__(self, path: Path, kind: Kind) -> None:
        self.path, self.kind = path, kind
        self.notes: list[str] = []
        self.separator, self.spss, self.names_in_front = "", False, False
        self.letters = {"<SAFE>": "S", "<UNSAFE>": "U", "<PROTECT>": "P"}
        self.variables: list[RdaVariable] = []
        self.line = TextLine(1, "", ())

    def read(self) -> ArgusMetadata:
        for line in token_lines(self.path, self.notes):
            self.line = line
            if line.keyword:
                self._keywords(list(self.line.tokens))
            else:
                self._open(list(self.line.tokens))
        if not self.variables:
            raise wrong(self.path.name, self.line.number, "no variable", "a line with a variable's name")
        self._check()
        return ArgusMetadata(
            tuple(self.variables),
            self.kind,
            self.separator,
            self.spss,
            (self.letters["<SAFE>"], self.letters["<UNSAFE>"], self.letters["<PROTECT>"]),
            self.names_in_front,
            self.path.name,
            tuple(self.notes),
        )

    def _wrong(self, found: str, expected: str, hint: str = "") -> InputError:
        return wrong(self.path.name, self.line.number, found, expected, hint)

    def _open(self, tokens: list[Token]) -> None:
        """A line that opens a variable."""
        name, *rest = tokens
        numbers = 0 if self.kind == "cells" else 1 if self.separator else 2
        placed = [token for token in rest[:2] if whole_of(token.text) is not None and not token.quoted]
        if self.spss and len(placed) < 2:
            numbers = 0  # places of fields say nothing of an SPSS file, and may be left out
        words = "name, start, length" if numbers == 2 else "name, length" if numbers else "name"
        if len(rest) < numbers or len(rest) > numbers + 2:
            raise self._wrong(self.line.text, f"{words} and up to two missing codes")
        if any(v.name == name.text for v in self.variables):
            raise self._wrong(name.text, "each variable once")
        found = [whole_of(token.text) for token in rest[:numbers]]
        if any(n is None or n < 1 for n in found):
            raise self._wrong(self.line.text, f"{words} with whole numbers from 1 on")
        start, length = ([0, 0, *(int(n or 0) for n in found)])[-2:]
        if length > MOST_WIDTH and numbers:
            raise self._wrong(f"a length of {length}", f"at most {MOST_WIDTH}")
        codes = tuple(dict.fromkeys(token.text.rstrip() for token in rest[numbers:] if token.text.strip()))
        self.variables.append(RdaVariable(name.text, start, length, codes, line=self.line.number))

    def _keywords(self, tokens: list[Token]) -> None:
        """One or several keywords on a line, each with its arguments."""
        while tokens:
            word = tokens.pop(0)
            keyword = word.text.upper()
            arguments = []
            while tokens and (tokens[0].quoted or not tokens[0].text.startswith("<")):
                arguments.append(tokens.pop(0))
            self._keyword(keyword, arguments)

    def _keyword(self, keyword: str, arguments: list[Token]) -> None:
        if keyword == "<SEPARATOR>" and not self.variables:
            self.separator = self._one(keyword, arguments, "a separator in quotation marks").replace("\\t", "\t")
            if len(self.separator) != 1 or self.separator in '"\n':
                raise self._wrong(self.separator, "a separator of one character")
        elif keyword == "<SPSS>" and not self.variables and self.kind == "records":
            self.spss = True
        elif keyword == "<NAMESINFRONT>" and not self.variables and self.kind == "records":
            self._names_in_front(keyword, arguments)
        elif keyword in self.letters and self.kind == "cells":
            self.letters[keyword] = self._one(keyword, arguments, "a status letter").strip().upper()
        elif not self.variables:
            raise self._wrong(keyword, "<SEPARATOR>, or a variable's name before its keywords")
        elif keyword not in KEYWORDS:
            raise self._wrong(keyword, "a keyword of an .rda file", _what_to_do(keyword))
        else:
            changes = KEYWORDS[keyword](self, keyword, arguments)
            self.variables[-1] = replace(self.variables[-1], **changes)

    def _names_in_front(self, keyword: str, arguments: list[Token]) -> None:
        """The data begin with a line of names: free format, with semicolons unless another separator is stated."""
        self._flag("names_in_front")(keyword, arguments)
        self.names_in_front = True
        if not self.separator:
            self.separator = ";"
            self.notes.append(f"{self.path.name} has {keyword} and no <SEPARATOR> above it; a semicolon is taken.")

    def _one(self, keyword: str, arguments: list[Token], expected: str) -> str:
        if len(arguments) != 1:
            raise self._wrong(f"{keyword} with {len(arguments)} arguments", expected)
        return arguments[0].text

    def _flag(self, name: str) -> Callable[[str, list[Token]], dict[str, Any]]:
        def read(keyword: str, arguments: list[Token]) -> dict[str, Any]:
            if arguments:
                raise self._wrong(f"{keyword} {arguments[0].text}", f"{keyword} without arguments")
            return {name: True}

        return read

    def _text(self, name: str, keyword: str, arguments: list[Token]) -> dict[str, Any]:
        return {name: self._one(keyword, arguments, f"{keyword} with one argument").rstrip()}

    def _whole(self, keyword: str, arguments: list[Token], least: int, most: int) -> int:
        text = self._one(keyword, arguments, f"{keyword} with a whole number")
        number = whole_of(text)
        if number is None or not least <= number <= most:
            raise self._wrong(f"{keyword} {text}", f"a whole number from {least} to {most}")
        return number

    def _wholes(self, keyword: str, arguments: list[Token], most: int) -> tuple[int, ...]:
        found = [whole_of(token.text) for token in arguments if not token.is_sign(",")]
        if not found or len(found) > most or any(n is None or not 0 <= n <= 10**6 for n in found):
            raise self._wrong(self.line.text, f"{keyword} with 1 to {most} whole numbers")
        return tuple(int(n or 0) for n in found)

    def _role(self, role: str) -> dict[str, Any]:
        return {"role": role}

    def _noise_file(self, part: str, keyword: str, arguments: list[Token]) -> dict[str, Any]:
        file = self._one(keyword, arguments, f"{keyword} with a file")
        return {"noise_files": (*self.variables[-1].noise_files, (part, file))}

    def _cell_key(self, keyword: str, arguments: list[Token]) -> dict[str, Any]:
        text = "".join(token.text for token in arguments)
        name = keyword.strip("<>").lower()
        known = {"includezeros", "parity", "separation"}
        first = text[:1].upper()
        if (name in known and text.upper() not in ("Y", "N")) or (name == "ckm" and first not in "NMDVT") or not text:
            expected = "Y or N" if name in known else "N, M, D, V or T(k)" if name == "ckm" else "F(...) or N(...)"
            raise self._wrong(f"{keyword} {text}", f"{keyword} with {expected}")
        return {"cell_key": (*self.variables[-1].cell_key, (name, text))}

    def _note_overlaps(self) -> None:
        """Fields of fixed width that share characters: allowed, for digits of a code may be a variable, but telling."""
        placed = sorted((v for v in self.variables if v.start and v.length), key=lambda v: v.start)
        for number, other in enumerate(placed):
            one = max(placed[:number], key=lambda v: v.start + v.length, default=None)
            if one is not None and other.start < one.start + one.length:
                self.notes.append(
                    f"{self.path.name}, line {other.line}: the field of {other.name} (from character {other.start}) "
                    f"overlaps that of {one.name} ({one.start} to {one.start + one.length - 1})."
                )

    def _check(self) -> None:
        for role in ("weight", "holding", "record_key", "household"):
            several = [v for v in self.variables if getattr(v, role)]
            if len(several) > 1:
                self.line = TextLine(several[1].line, "", ())
                raise self._wrong(f"<{role.upper().replace('_', '')}> for {several[1].name}", "one such variable")
        if self.kind == "cells" and not self.separator:
            self.separator = ","
            self.notes.append(f"{self.path.name} names no <SEPARATOR>; a comma is taken.")
        self._note_overlaps()
        for variable in self.variables:
            self.line = TextLine(variable.line, variable.name, ())
            self._check_codes(variable)
            if variable.hierarchical and not (variable.levels or variable.hierarchy):
                raise self._wrong(f"{variable.name} with <HIERARCHICAL>", "<HIERLEVELS> or <HIERCODELIST> below it")
            if variable.levels and variable.hierarchy:
                raise self._wrong(f"{variable.name} with both", "either <HIERLEVELS> or <HIERCODELIST>")
            if variable.levels and variable.length and sum(variable.levels) != variable.length:
                raise self._wrong(
                    f"<HIERLEVELS> of {variable.name} that add up to {sum(variable.levels)}",
                    f"levels that add up to its length, {variable.length}",
                )
            if variable.hierarchical and not variable.lead:
                raise self._wrong("an empty <HIERLEADSTRING>", "the string that stands for one level, such as @")

    def _check_codes(self, variable: RdaVariable) -> None:
        """A missing code must fit into its field, and a related variable must be there: neither would ever count."""
        long = [code for code in variable.missing if variable.length and len(code) > variable.length]
        if long and not self.spss:
            most = f"at most {counted(variable.length, 'character')}, the length of its field"
            if ArgusMetadata(tuple(self.variables)).of_mu_argus:
                raise self._wrong(f"the missing code {long[0]!r} of {variable.name}", most)
            self.notes.append(
                f"{self.path.name}: the missing code {long[0]!r} of {variable.name} is longer than its field."
            )
        if variable.empty and variable.empty not in variable.missing:
            raise self._wrong(f"<EMPTY> {variable.empty} of {variable.name}", "one of its missing codes")
        if variable.related and variable.related.lower() not in [
            v.name.lower() for v in self.variables if v != variable
        ]:
            raise self._wrong(
                f"<RELATED> {variable.related} of {variable.name}",
                "the name of another variable",
                f"There are: {listed([v.name for v in self.variables if v != variable])}.",
            )


def _flagged(name: str) -> Callable[[_RdaReader, str, list[Token]], dict[str, Any]]:
    return lambda reader, keyword, arguments: reader._flag(name)(keyword, arguments)


def _texted(name: str) -> Callable[[_RdaReader, str, list[Token]], dict[str, Any]]:
    return lambda reader, keyword, arguments: reader._text(name, keyword, arguments)


def _in_role(role: str) -> Callable[[_RdaReader, str, list[Token]], dict[str, Any]]:
    def read(reader: _RdaReader, keyword: str, arguments: list[Token]) -> dict[str, Any]:
        if arguments:
            raise reader._wrong(f"{keyword} {arguments[0].text}", f"{keyword} without arguments")
        if reader.kind != "cells":
            raise reader._wrong(keyword, "a keyword of records; this one is for tables")
        return reader._role(role)

    return read


def _what_to_do(keyword: str) -> str:
    """What to do about a keyword that nobody knows."""
    near = get_close_matches(keyword, KEYWORDS, n=1)
    meant = f"Did you mean {near[0]}? Otherwise take" if near else "Take"
    return f"{meant} the line out if it says nothing of the data. Known are: {', '.join(sorted(KEYWORDS))}."


def _request(reader: _RdaReader, keyword: str, arguments: list[Token]) -> dict[str, Any]:
    codes = tuple(token.text.strip() for token in arguments if not token.is_sign(","))
    if not 1 <= len(codes) <= 2:
        raise reader._wrong(reader.line.text, f"{keyword} with one or two codes")
    return {"request": codes}


def _unknown(reader: _RdaReader, keyword: str, arguments: list[Token]) -> dict[str, Any]:
    """Pairs of ends: text in quotation marks, numbers without."""
    ends: list[Any] = []
    for token in arguments:
        number = None if token.quoted else number_of(token.text)
        if number is None and not token.quoted:
            raise reader._wrong(token.text, f"{keyword} with numbers, or text in quotation marks")
        ends.append(token.text if number is None else number)
    pairs = tuple(zip(ends[::2], ends[1::2], strict=False))
    if not pairs or len(ends) % 2 or any(isinstance(low, str) != isinstance(high, str) for low, high in pairs):
        raise reader._wrong(reader.line.text, f"{keyword} with pairs of ends")
    return {"unknown": pairs}


def _noise(part: str) -> Callable[[_RdaReader, str, list[Token]], dict[str, Any]]:
    return lambda reader, keyword, arguments: reader._noise_file(part, keyword, arguments)


KEYWORDS: dict[str, Callable[[_RdaReader, str, list[Token]], dict[str, Any]]] = {
    "<RECODEABLE>": _flagged("recodeable"),
    "<RECODABLE>": _flagged("recodeable"),
    "<NUMERIC>": _flagged("numeric"),
    "<WEIGHT>": _flagged("weight"),
    "<HOLDING>": _flagged("holding"),
    "<RECORDKEY>": _flagged("record_key"),
    "<HIERARCHICAL>": _flagged("hierarchical"),
    "<TRUNCABLE>": _flagged("truncable"),
    "<TOTCODE>": _texted("total"),
    "<CODELIST>": _texted("labels"),
    "<HIERCODELIST>": _texted("hierarchy"),
    "<HIERLEADSTRING>": _texted("lead"),
    "<HIERLEVELS>": lambda r, k, a: {"levels": r._wholes(k, a, MOST_LEVELS)},
    "<DISTANCE>": lambda r, k, a: {"distance": r._wholes(k, a, MOST_DISTANCES)},
    "<DECIMALS>": lambda r, k, a: {"decimals": r._whole(k, a, 0, 15)},
    "<REQUEST>": _request,
    "<IDLEVEL>": lambda r, k, a: {"identification": r._whole(k, a, 0, 99)},
    "<SUPPRESSWEIGHT>": lambda r, k, a: {"suppression_weight": r._whole(k, a, 0, 10**6)},
    "<SUPPRESSPRIORITY>": lambda r, k, a: {"suppression_weight": r._whole(k, a, 0, 10**6)},
    "<HOUSE_ID>": _flagged("household"),
    "<HOUSEHOLD>": _flagged("of_household"),
    "<RELATED>": _texted("related"),
    "<LABEL>": _texted("label"),
    "<FORMAT>": _texted("format"),
    "<UNKNOWN>": _unknown,
    "<EMPTY>": _texted("empty"),
    "<PFILE>": _noise("freq"),
    "<PFILE_FREQ>": _noise("freq"),
    "<PFILE_CONT>": _noise("cont"),
    "<PFILE_SEP>": _noise("sep"),
    "<CKM>": _RdaReader._cell_key,
    "<INCLUDEZEROS>": _RdaReader._cell_key,
    "<PARITY>": _RdaReader._cell_key,
    "<SEPARATION>": _RdaReader._cell_key,
    "<SCALING>": _RdaReader._cell_key,
    "<SHADOW>": _in_role("shadow"),
    "<COST>": _in_role("cost"),
    "<COSTVAR>": _in_role("cost"),
    "<LOWERPL>": _in_role("lower"),
    "<UPPERPL>": _in_role("upper"),
    "<FREQUENCY>": _in_role("frequency"),
    "<MAXSCORE>": _in_role("top"),
    "<STATUS>": _in_role("status"),
}
ROLE_LINES = {
    "shadow": "<NUMERIC> <SHADOW>",
    "cost": "<NUMERIC> <COSTVAR>",
    "lower": "<NUMERIC> <LOWERPL>",
    "upper": "<NUMERIC> <UPPERPL>",
    "frequency": "<FREQUENCY>",
    "top": "<MAXSCORE>",
    "status": "<STATUS>",
}
NOISE_LINES = {"freq": "<PFILE>", "cont": "<PFILE_CONT>", "sep": "<PFILE_SEP>"}


def metadata_text(metadata: ArgusMetadata) -> str:
    """The ``.rda`` file of some metadata."""
    lines = [f'<SEPARATOR> "{metadata.separator}"'] if metadata.separator else []
    if metadata.spss:
        lines.append("<SPSS>")
    if metadata.names_in_front:
        lines.append("<NAMESINFRONT>")
    for keyword, letter, usual in zip(("SAFE", "UNSAFE", "PROTECT"), metadata.letters, "SUP", strict=True):
        if letter != usual:
            lines.append(f'<{keyword}> "{letter}"')
    for variable in metadata.variables:
        place = [str(n) for n in (variable.start, variable.length) if n and metadata.kind == "records"]
        missing = [f'"{code}"' for code in variable.missing]
        lines.append(" ".join([_name(variable.name), *place, *missing]))
        lines += [f"  {line}" for line in _variable_lines(variable)]
    return "\n".join(lines) + "\n"


def write_metadata(metadata: ArgusMetadata, path: str | Path) -> None:
    """Write metadata as an ``.rda`` file, in UTF-8."""
    Path(path).write_text(metadata_text(metadata), encoding="utf-8")


def _name(name: str) -> str:
    if '"' in name or "\n" in name:
        raise InputError(f"An .rda file cannot hold the name {name!r}.", hint="Rename the variable.")
    plain = name and not set(name) & set(" ,|()\t") and not name.startswith(("<", "//"))
    return name if plain else f'"{name}"'


def _variable_lines(variable: RdaVariable) -> list[str]:
    lines = []
    if variable.recodeable:
        lines.append("<RECODEABLE>")
        if variable.total != "Total":
            lines.append(f'<TOTCODE> "{variable.total}"')
    if variable.labels:
        lines.append(f'<CODELIST> "{variable.labels}"')
    if variable.hierarchical:
        lines.append("<HIERARCHICAL>")
    if variable.levels:
        lines.append(f"<HIERLEVELS> {' '.join(str(n) for n in variable.levels)}")
    if variable.hierarchy:
        lines += [f'<HIERCODELIST> "{variable.hierarchy}"', f'<HIERLEADSTRING> "{variable.lead}"']
    if variable.distance:
        lines.append(f"<DISTANCE> {' '.join(str(n) for n in variable.distance)}")
    if variable.role:
        lines.append(ROLE_LINES[variable.role])
    elif variable.numeric:
        lines.append("<NUMERIC>")
    for flag, keyword in (("weight", "<WEIGHT>"), ("holding", "<HOLDING>"), ("record_key", "<RECORDKEY>")):
        if getattr(variable, flag):
            lines.append(keyword)
    if variable.decimals is not None:
        lines.append(f"<DECIMALS> {variable.decimals}")
    lines += _lines_of_mu_argus(variable)
    if variable.request:
        lines.append("<REQUEST> " + " ".join(f'"{code}"' for code in variable.request))
    lines += [f'{NOISE_LINES[part]} "{file}"' for part, file in variable.noise_files]
    lines += [f"<{name.upper()}> {text}" for name, text in variable.cell_key]
    return lines


def _lines_of_mu_argus(variable: RdaVariable) -> list[str]:
    """What only μ-ARGUS knows, and what it passes over."""
    lines = []
    if variable.household:
        lines.append("<HOUSE_ID>")
    if variable.of_household:
        lines.append("<HOUSEHOLD>")
    if variable.truncable:
        lines.append("<TRUNCABLE>")
    if variable.identification is not None:
        lines.append(f"<IDLEVEL> {variable.identification}")
    if variable.suppression_weight is not None:
        lines.append(f"<SUPPRESSWEIGHT> {variable.suppression_weight}")
    words = (("RELATED", variable.related), ("LABEL", variable.label), ("FORMAT", variable.format))
    lines += [f'<{keyword}> "{text}"' for keyword, text in words if text]
    if variable.unknown:
        ends = [end for pair in variable.unknown for end in pair]
        lines.append("<UNKNOWN> " + " ".join(_end(end) for end in ends))
    if variable.empty:
        lines.append(f'<EMPTY> "{variable.empty}"')
    return lines


def _end(end: Any) -> str:
    if isinstance(end, str):
        return f'"{end}"'
    return code_text(end) if abs(end) < SHOWN_IN_FULL else repr(float(end))
