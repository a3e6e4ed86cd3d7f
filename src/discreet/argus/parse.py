"""Batch files in: the language as its parser takes it and as its manual says, with a note where the two differ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from discreet.argus.commands import (
    AprioriFile,
    Batch,
    Clear,
    Command,
    Open,
    Protect,
    Read,
    RecodeCommand,
    SafetyRule,
    Say,
    Specify,
    WithoutEffect,
    Write,
)
from discreet.errors import DiscreetError, InputError
from discreet.files.argus.outputs import KINDS, Options
from discreet.files.argus.text import TextLine, Token, number_of, token_lines, whole_of, wrong

MOST_COMMANDS = 100_000
MOST_VARIABLES = 10
FREQUENCY = "<freq>"
RULES = {
    "P": (1, 3),
    "NK": (2, 2),
    "FREQ": (2, 2),
    "ZERO": (1, 1),
    "REQ": (3, 4),
    "WGT": (1, 1),
    "MIS": (1, 1),
    "MAN": (1, 1),
}
"""Rules, and how many numbers they take at least and at most."""
METHODS = {"GH": 4, "MOD": 8, "OPT": 2, "NET": 1, "RND": 7, "CTA": 1, "CKM": 1}
"""Methods, and how many numbers they take at most."""
NOTHING_TO_DO = {
    "<COMMENT>": "it is a comment",
    "<JJ>": "JJ files are read with read_jj",
    "<GOINTERACTIVE>": "there is no window to go on in",
    "<SILENT>": "nothing asks questions here",
    "<ANCO>": "it is a command of the program's own",
    "<COVER>": "linked tables need no cover table here",
}
READS = ("0", "1", "1T", "2")


def read_batch(path: str | Path) -> Batch:
    """Read a batch file.

    Raises
    ------
    InputError
        With file, line, what was found and what was expected.
    """
    return _Parser(Path(path)).batch()


class _Parser:
    """Turns lines into commands, one after the other."""

    def __init__(self, path: Path) -> None:
        self.file, self.path = path.name, path
        self.notes: list[str] = []
        self.line = TextLine(1, "", ())
        self.rest: list[Token] = []

    def batch(self) -> Batch:
        """All commands, in an order that makes sense."""
        commands: list[Command] = []
        for line in token_lines(self.path, self.notes):
            self.line = line
            if not line.keyword:
                raise self._wrong(line.text, "a line that begins with a command such as <SUPPRESS>")
            if line.keyword not in COMMANDS:
                known = ", ".join(sorted(COMMANDS))
                raise self._wrong(line.tokens[0].text, "a command of batch files", f"Known are: {known}.")
            if len(commands) == MOST_COMMANDS:
                raise self._wrong("one more command", f"at most {MOST_COMMANDS:,}")
            self.rest = list(line.tokens[1:])
            commands.append(COMMANDS[line.keyword](self))
        if not commands:
            raise self._wrong("no command", "<OPENMICRODATA> or <OPENTABLEDATA>")
        return Batch(self.file, tuple(commands), tuple(self.notes))

    # ---- small pieces -------------------------------------------------------------------------------------

    def _wrong(self, found: str, expected: str, hint: str = "") -> InputError:
        return wrong(self.file, self.line.number, found, expected, hint)

    def _note(self, text: str) -> None:
        self.notes.append(f"{self.file}, line {self.line.number}: {text}")

    def _end(self) -> None:
        if self.rest:
            raise self._wrong(" ".join(token.text for token in self.rest), "nothing more on this line")

    def _take(self, expected: str) -> Token:
        if not self.rest:
            raise self._wrong("the end of the line", expected)
        return self.rest.pop(0)

    def _sign(self, sign: str, expected: str) -> None:
        token = self._take(expected)
        if not token.is_sign(sign):
            raise self._wrong(token.text, expected)

    def _at(self, sign: str) -> bool:
        """Whether a sign comes next; it is taken then."""
        if self.rest and self.rest[0].is_sign(sign):
            self.rest.pop(0)
            return True
        return False

    def _file(self) -> str:
        token = self._take("a file in quotation marks")
        text = token.text
        while not token.quoted and self.rest and not self.rest[0].quoted and self.rest[0].text not in ",|()":
            text += " " + self.rest.pop(0).text  # a name with blanks that nobody quoted
        if not text.strip() or (not token.quoted and token.text in ",|()"):
            raise self._wrong(token.text, "a file in quotation marks")
        return text

    def _whole(self, expected: str, least: int = 0, most: int = 10**6) -> int:
        token = self._take(expected)
        number = whole_of(token.text)
        if number is None or not least <= number <= most:
            raise self._wrong(token.text, f"{expected} from {least} to {most}")
        return number

    def _sections(self) -> list[list[Token]]:
        """What stands between the signs | of the rest of the line."""
        sections: list[list[Token]] = [[]]
        for token in self.rest:
            if token.is_sign("|"):
                sections.append([])
            else:
                sections[-1].append(token)
        self.rest = []
        return sections

    # ---- commands -----------------------------------------------------------------------------------------

    def open(self, kind: str) -> Command:
        file = self._file()
        self._end()
        return Open(self.line.number, kind, file)  # type: ignore[arg-type]

    def specify(self) -> Command:
        """``"v1""v2"|"response"|"shadow"|"cost",lambda``."""
        expected = '"variable""variable"|"response"|"shadow"|"cost",lambda'
        sections = self._sections()
        words = [[token.text for token in section if not token.is_sign(",")] for section in sections]
        while len(words) > 2 and not words[-1]:
            words.pop()
        if len(words) < 2 or not 1 <= len(words[0]) <= MOST_VARIABLES or len(words[1]) != 1 or len(words) > 5:
            raise self._wrong(self.line.text, expected)
        shadow, cost, extra = ([*words[2:], [], [], []])[:3]
        if len(words) == 5:
            self._note("lambda stands after a comma, as in the program; the form after | was accepted.")
            cost = [*cost[:1], *extra]
        if len(shadow) > 1 or len(cost) > 2:
            raise self._wrong(self.line.text, expected)
        exponent = 1.0
        if len(cost) == 2:
            found = number_of(cost[1])
            if found is None or not 0 <= found <= 10:
                raise self._wrong(cost[1], "a lambda from 0 to 10")
            exponent = found
        twice = [name for name in words[0] if words[0].count(name) > 1]
        if twice:
            raise self._wrong(twice[0], "each variable once")
        response = "" if words[1][0].lower() == FREQUENCY else words[1][0]
        return Specify(self.line.number, tuple(words[0]), response, "".join(shadow[:1]), "".join(cost[:1]), exponent)

    def safety_rule(self) -> Command:
        """``P(15,1)|FREQ(3,30)|...``; nothing at all takes the status column."""
        found = []
        for section in self._sections():
            if section:
                found.append(self._rule(section))
        return SafetyRule(self.line.number, tuple(found))

    def _rule(self, section: list[Token]) -> tuple[str, tuple[float, ...]]:
        name = section[0].text.upper()
        if name not in RULES:
            raise self._wrong(section[0].text, f"a rule: {', '.join(RULES)}")
        least, most = RULES[name]
        shown = "".join(token.text for token in section)
        words = [token.text for token in section[2:-1] if not token.is_sign(",")]
        closed = len(section) > 3 and section[1].is_sign("(") and section[-1].is_sign(")")
        numbers = [number_of(word) for word in words]
        if not closed or not least <= len(words) <= most or any(n is None or n < 0 for n in numbers):
            many = str(least) if least == most else f"{least} to {most}"
            raise self._wrong(shown, f"{name}(...) with {many} numbers of at least 0")
        if name == "REQ" and len(words) == 3:
            self._note("REQ has 3 numbers, as in the manual; the program takes 4, and the range is 20 % here.")
        if name == "P" and len(words) == 3:
            self._note("P(p,q,n) is not in the manual; it is taken as the prior-posterior rule.")
        return name, tuple(float(n or 0) for n in numbers)

    def read_records(self) -> Command:
        self._end()
        return Read(self.line.number, "records")

    def read_cells(self) -> Command:
        mode = self.rest.pop(0).text.upper() if self.rest else "0"
        if mode not in READS:
            raise self._wrong(mode, "nothing, 0, 1, 1T or 2")
        self._end()
        return Read(self.line.number, "cells", mode)

    def recode(self) -> Command:
        table = self._whole("the number of a table", 1)
        self._sign(",", "a comma and a variable")
        variable = self._take("a variable").text
        self._sign(",", "a comma and a file or level")
        if self.rest and not self.rest[0].quoted and whole_of(self.rest[0].text) is not None:
            how: str | int = self._whole("a level", 1, 9)
        else:
            how = self._file()
        self._end()
        return RecodeCommand(self.line.number, table, variable, how)

    def apriori(self) -> Command:
        file = self._file()
        self._sign(",", "a comma and the number of a table")
        table = self._whole("the number of a table", 1)
        self._sign(",", "a comma and a separator")
        token = self._take("a separator in quotation marks")
        separator = {"\\t": "\t", "TAB": "\t"}.get(token.text, token.text)
        if len(separator) != 1:
            raise self._wrong(token.text, "a separator of one character in quotation marks")
        flags = [False, False]
        for k, what in enumerate(("1 to leave bad lines out, or 0", "1 to mark trivial levels too, or 0")):
            if not self._at(","):
                break
            flags[k] = bool(self._whole(what, 0, 1))
        self._end()
        return AprioriFile(self.line.number, file, table, separator, *flags)

    def suppress(self) -> Command:
        """``MOD(1,5,1,1,1)``, ``CKM(1)"table"`` and so on; numbers that are left out are as usual."""
        name = self._take(f"a method: {', '.join(METHODS)}").text.upper()
        if name not in METHODS:
            raise self._wrong(name, f"a method: {', '.join(METHODS)}")
        self._sign("(", f"{name}(")
        table = self._whole("the number of a table, 0 for all", 0)
        numbers: list[float | None] = []
        while not self._at(")"):
            self._sign(",", "a comma or )")
            if self.rest and (self.rest[0].is_sign(",") or self.rest[0].is_sign(")")):
                numbers.append(None)
                continue
            token = self._take("a number")
            number = number_of(token.text)
            if number is None or number < 0:
                raise self._wrong(token.text, f"a number of at least 0 in {name}(...)")
            numbers.append(number)
        if len(numbers) >= METHODS[name]:
            raise self._wrong(self.line.text, f"at most {METHODS[name]} numbers in {name}(...)")
        if table == 0 and name not in ("GH", "MOD"):
            raise self._wrong(f"{name}(0...)", "linked tables (0) with GH or MOD only")
        sections = ["".join(t.text for t in section) for section in self._sections()]
        while sections and not sections[-1]:
            sections.pop()
        files = tuple(sections)
        if files and name != "CKM":
            raise self._wrong(files[0], "files after CKM only")
        return Protect(self.line.number, name, table, tuple(numbers), files)

    def write(self) -> Command:
        """``(1,2,AS+,"file")``."""
        self._sign("(", '(table,type,options,"file")')
        table = self._whole("the number of a table", 1)
        self._sign(",", "a comma and a type")
        kind = self._whole("a type of file", 1, max(KINDS))
        self._sign(",", "a comma and options")
        options = ""
        while self.rest and not self.rest[0].is_sign(","):
            options += self._take("options").text
        self._sign(",", "a comma and a file")
        file = self._file()
        self._sign(")", ")")
        self._end()
        if whole_of(options) is not None:
            self._note(f"the number {options} in place of options is of old versions; the usual options are taken.")
            options = ""
        try:
            Options.parse(options)
        except DiscreetError as error:
            raise self._wrong(options, "options such as AS+SE-", error.hint) from None
        return Write(self.line.number, table, kind, options, file)

    def solver(self) -> Command:
        text = " ".join(token.text for token in self.rest)
        self.rest = []
        return WithoutEffect(self.line.number, f"<SOLVER> {text}", "the solver is HiGHS, which needs no licence")

    def say(self, what: str) -> Command:
        file = self._file()
        self._end()
        return Say(self.line.number, what, file)  # type: ignore[arg-type]

    def clear(self) -> Command:
        self._end()
        return Clear(self.line.number)

    def nothing(self) -> Command:
        self.rest = []
        return WithoutEffect(self.line.number, self.line.keyword, NOTHING_TO_DO[self.line.keyword])


COMMANDS: dict[str, Callable[[_Parser], Command]] = {
    "<OPENMICRODATA>": lambda parser: parser.open("records"),
    "<OPENTABLEDATA>": lambda parser: parser.open("cells"),
    "<OPENMETADATA>": lambda parser: parser.open("metadata"),
    "<SPECIFYTABLE>": _Parser.specify,
    "<SAFETYRULE>": _Parser.safety_rule,
    "<READMICRODATA>": _Parser.read_records,
    "<READTABLE>": _Parser.read_cells,
    "<RECODE>": _Parser.recode,
    "<APRIORI>": _Parser.apriori,
    "<APRIORY>": _Parser.apriori,
    "<SUPPRESS>": _Parser.suppress,
    "<WRITETABLE>": _Parser.write,
    "<SOLVER>": _Parser.solver,
    "<LOGBOOK>": lambda parser: parser.say("logbook"),
    "<VERSIONINFO>": lambda parser: parser.say("version"),
    "<CLEAR>": _Parser.clear,
    **dict.fromkeys(NOTHING_TO_DO, _Parser.nothing),
}
