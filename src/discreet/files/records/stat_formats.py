"""What SPSS and Stata allow: names of variables, formats, and how a format of one is said in the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

SPSS_DATES = frozenset({"DATE", "ADATE", "EDATE", "SDATE", "JDATE"})
SPSS_TIMES = frozenset({"DATETIME", "YMDHMS"})
SPSS_NUMBERS = re.compile("[FNZE]|COMMA|DOT|DOLLAR|PCT|CC[A-E]|WKDAY|MONTH|QYR|MOYR|WKYR|D?TIME|MTIME")
SPSS_FORMAT = re.compile(r"([A-Z]+)(\d{1,2})(?:\.(\d{1,2}))?", re.ASCII)
STATA_FIXED = re.compile(r"%(\d{1,3})\.(\d{1,2})f", re.ASCII)
STATA_PADDED = re.compile(r"%0(\d{1,2})\.0f", re.ASCII)
STATA_NUMBER = re.compile(r"%-?\d{0,3}(\.\d{1,2})?[fge]c?|%t[mqwyhb]\S*|%21x", re.ASCII)
WIDEST, MOST_DECIMALS = 40, 16
RESERVED = re.compile(
    r"ALL|AND|BY|EQ|GE|GT|LE|LT|NE|NOT|OR|TO|WITH|IF|IN|USING|DOUBLE|FLOAT|INT|LONG|BYTE|STRL|STR[0-9]+|_ALL|_B|_COEF"
    "|_CONS|_N|_PI|_PRED|_RC|_SKIP",
    re.IGNORECASE,
)
"""Words of the two programs, which name no variable."""


class Program(NamedTuple):
    """What a statistical program allows."""

    suffix: str
    signs: str
    longest_name: int
    names_in_bytes: bool
    longest_label: int
    labels_in_bytes: bool
    longest_value_label: int
    longest_text: int


SPSS = Program(".sav", "_.@#$", 64, True, 256, True, 120, 32_767)
STATA = Program(".dta", "_", 28, False, 80, False, 32_000, 2_000)
"""Stata has 32 characters for a name; the library needs some for the number of a set of labels."""


def legal_names(names: Sequence[str], program: Program) -> list[str]:
    """Names that a program accepts: as they are where it does, never two that differ by capitals only."""
    used: set[str] = set()
    found = []
    for name in names:
        plain = "".join(sign if _fits(sign, program) else "_" for sign in name)
        if not plain[:1].isalpha() or RESERVED.fullmatch(plain):
            plain = f"v_{plain}"
        if plain.endswith("."):
            plain = f"{plain.rstrip('.')}_"
        made, number = _cut_name(plain, program, ""), 1
        while made.lower() in used:
            number += 1
            made = _cut_name(plain, program, f"_{number}")
        used.add(made.lower())
        found.append(made)
    return found


def _fits(sign: str, program: Program) -> bool:
    return sign.isalpha() or sign in "0123456789" or sign in program.signs


def _cut_name(name: str, program: Program, end: str) -> str:
    """A name that ends in some way and is not too long."""
    if program.names_in_bytes:
        return name.encode()[: program.longest_name - len(end)].decode(errors="ignore") + end
    return name[: program.longest_name - len(end)] + end


def cut_label(text: str, program: Program) -> str:
    """A label of a variable that is not too long."""
    if program.labels_in_bytes:
        return text.encode()[: program.longest_label].decode(errors="ignore")
    return text[: program.longest_label]


def zero_padded(format: str) -> int:
    """To how many digits a format fills numbers with zeros; 0 where it does not."""
    found = SPSS_FORMAT.fullmatch(format)
    if found and found[1] in ("N", "Z"):
        return int(found[2])
    padded = STATA_PADDED.fullmatch(format)
    return int(padded[1]) if padded else 0


def is_of_numbers(format: str) -> bool:
    """Whether a format of either program shows numbers, and neither text nor dates."""
    found = SPSS_FORMAT.fullmatch(format)
    return bool(found and SPSS_NUMBERS.fullmatch(found[1])) or bool(STATA_NUMBER.fullmatch(format))


def number_format(format: str, program: Program) -> str:
    """How a program says a format of numbers; nothing where it cannot."""
    if not is_of_numbers(format) or format.startswith("%") == (program is STATA):
        return format if is_of_numbers(format) else ""
    width = zero_padded(format)
    if program is STATA:
        found = SPSS_FORMAT.fullmatch(format)
        assert found is not None
        if width:
            return f"%0{width}.0f"
        whole, part = int(found[2]), int(found[3] or 0)
        return f"%{whole}.{part}f" if found[1] == "F" and part < whole else ""
    if width:
        return f"N{width}"
    fixed = STATA_FIXED.fullmatch(format)
    if fixed is None or int(fixed[1]) > WIDEST or int(fixed[2]) > MOST_DECIMALS:
        return ""
    return f"F{fixed[1]}.{fixed[2]}"


def moment_format(format: str, program: Program, dates: bool) -> str:
    """A program's own format of dates, or of times; nothing where the format is another one."""
    if program is STATA:
        kinds = ("%td", "%d") if dates else ("%tc",)
        return format if format in kinds else ""
    found = SPSS_FORMAT.fullmatch(format)
    return format if found and found[1] in (SPSS_DATES if dates else SPSS_TIMES) else ""
