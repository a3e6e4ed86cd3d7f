"""Public records as SPSS and Stata files, written a second time.

The library that knows these formats breaks on some damaged files. It never reads one here: it writes, and bytes are
compared.
"""

from __future__ import annotations

import datetime as dt
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.model.records import PublicColumn
from discreet.verify.formats.shown import Different
from discreet.verify.records.published import GivenRecords, same_bytes
from discreet.verify.records.words import code_of, is_unknown

WORDS = re.compile(
    r"(?i:ALL|AND|BY|EQ|GE|GT|LE|LT|NE|NOT|OR|TO|WITH|IF|IN|USING|DOUBLE|FLOAT|INT|LONG|BYTE|STRL|STR[0-9]+)"
    r"|(?i:_ALL|_B|_COEF|_CONS|_N|_PI|_PRED|_RC|_SKIP)"
)
"""Words of the two programs, which name no variable."""
PLAIN = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
STATA_LETTER = re.compile(r"\.([a-z])")
SPSS_LIKE = re.compile(r"([A-Z]+)([0-9]{1,2})(\.[0-9]{1,2})?")
SPSS_SHOWS_NUMBERS = re.compile("F|N|Z|COMMA|DOT|DOLLAR|E|PCT|CC[A-E]|WKDAY|MONTH|QYR|MOYR|WKYR|[DM]?TIME")
STATA_SHOWS_NUMBERS = re.compile(r"%-?[0-9]{0,3}(\.[0-9]{1,2})?[fge]c?|%t[mqwyhb]\S*|%21x")
SURE = 9_007_199_254_740_992
"""Whole numbers up to this are exact."""
SPSS_BEGINS, STATA_BEGINS = dt.datetime(1582, 10, 14), dt.datetime(1960, 1, 1)


@dataclass
class FileVariable:
    """A variable of a file."""

    kind: str
    values: list[Any]
    form: str = ""
    labels: dict[Any, str] = field(default_factory=dict)
    missing: list[Any] = field(default_factory=list)
    letters: list[str] = field(default_factory=list)


def check_sav(path: Path, published: GivenRecords) -> None:
    """An SPSS file is byte for byte what the release gives."""
    names = variable_names(published.names, stata=False)
    variables = {new: _variable(published, old, stata=False) for old, new in zip(published.names, names, strict=True)}
    made = _written(
        "sav",
        variables,
        file_label=_short(published.name, 60),
        column_labels=_labels(published, names, lambda text: _short(text, 256)),
        missing_ranges={name: v.missing for name, v in variables.items() if v.missing},
        variable_measure={
            new: published.info[old].measure
            for old, new in zip(published.names, names, strict=True)
            if published.info[old].measure
        },
    )
    same_bytes(made[:92] + b"01 Jan 8000:00:00" + made[109:], path.read_bytes())


def check_dta(path: Path, published: GivenRecords) -> None:
    """A Stata file is byte for byte what the release gives."""
    names = variable_names(published.names, stata=True)
    variables = {new: _variable(published, old, stata=True) for old, new in zip(published.names, names, strict=True)}
    labels = _labels(published, names, lambda text: text[:80])
    for old, new in zip(published.names, names, strict=True):
        known = published.info[old].value_labels
        if known and variables[new].kind == "text":
            beside = variable_names([*variables, f"{new}_label"], stata=True)[-1]
            said = {code: _short(known.get(code) or code, 2000).replace("\0", "") for code in published.distinct(old)}
            told = [None if code is None else said[code].rstrip(" ") for code in published.values(old)]
            variables[beside], labels[beside] = FileVariable("text", told), f"label of {old}"[:80]
    made = _written(
        "dta",
        variables,
        file_label=published.name[:80],
        column_labels=labels,
        version=14,
        missing_user_values={name: v.letters for name, v in variables.items() if v.letters},
    )
    stamp = b"<timestamp>\x1101 Jan 1980 00:00</timestamp>"
    same_bytes(re.sub(rb"<timestamp>\x11.{17}</timestamp>", stamp, made, count=1), path.read_bytes())


def renamed(published: GivenRecords, suffix: str) -> dict[str, str]:
    """Columns that a file of some kind calls by other names."""
    if suffix not in (".sav", ".dta"):
        return {}
    names = variable_names(published.names, stata=suffix == ".dta")
    return {old: new for old, new in zip(published.names, names, strict=True) if old != new}


def _written(kind: str, variables: dict[str, FileVariable], **options: Any) -> bytes:
    import pyreadstat

    library: Any = pyreadstat
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"again.{kind}"
        try:
            getattr(library, f"write_{kind}")(
                _frame(variables),
                str(path),
                variable_value_labels={name: v.labels for name, v in variables.items() if v.labels},
                variable_format={name: v.form for name, v in variables.items() if v.form},
                **options,
            )
        except (library.ReadstatError, library.PyreadstatError):
            raise Different("the format cannot hold what the release gives") from None
        return path.read_bytes()


def _frame(variables: dict[str, FileVariable]) -> Any:
    """A data frame of what is installed."""
    try:
        import polars
    except ModuleNotFoundError:
        import pandas

        kinds: Any = {"text": object, "number": "float64", "mixed": object}
        return pandas.DataFrame({n: pandas.Series(v.values, dtype=kinds[v.kind]) for n, v in variables.items()})
    types: Any = {"text": polars.String, "number": polars.Float64, "mixed": polars.Object}
    return polars.DataFrame({n: polars.Series(n, v.values, dtype=types[v.kind]) for n, v in variables.items()})


def _short(text: str, most: int) -> str:
    return text.encode()[:most].decode(errors="ignore")


def _labels(published: GivenRecords, names: Sequence[str], shortened: Any) -> dict[str, str]:
    """Labels of variables; a name that is not the column's own is said there."""
    found = {}
    for old, new in zip(published.names, names, strict=True):
        words = [published.info[old].label] if published.info[old].label else []
        if old != new:
            words.append(f"[{old}]" if words else old)
        if words:
            found[new] = shortened(" ".join(words))
    return found


def variable_names(names: Sequence[str], stata: bool) -> list[str]:
    """Names that Stata, or SPSS, takes for some columns."""
    found: list[str] = []
    for name in names:
        made = ""
        for sign in name:
            allowed = sign.isalpha() or sign in "0123456789_" or (not stata and sign in ".@#$")
            made += sign if allowed else "_"
        if WORDS.fullmatch(made) or not (made and made[0].isalpha()):
            made = "v_" + made
        if made[-1] == ".":
            made = made.rstrip(".") + "_"
        ends = ["", *(f"_{number}" for number in range(2, len(names) + 2))]
        tries = (made[: 28 - len(end)] + end if stata else _short(made, 64 - len(end)) + end for end in ends)
        lower = [other.lower() for other in found]
        found.append(next(one for one in tries if one.lower() not in lower))
    return found


# ---- one variable -----------------------------------------------------------------------------------------------


def _variable(published: GivenRecords, name: str, stata: bool) -> FileVariable:
    kind, values, about = published.kind(name), published.values(name), published.info[name]
    if kind == "bool":
        known = about.value_labels or {"false": "false", "true": "true"}
        labels = {float(i): known[code] for i, code in enumerate(("false", "true")) if code in known}
        return FileVariable(
            "number", [None if v is None else float(v) for v in values], "" if stata else "F1.0", labels
        )
    if kind in ("date32[day]", "timestamp[us]"):
        return _moments(values, about.format, stata, dates=kind.startswith("date"))
    if kind == "int64" and any(abs(value) > SURE for value in published.distinct(name)):
        raise Different("the format cannot hold what the release gives")
    if kind in ("int64", "double"):
        return _numbers([None if v is None else float(v) for v in values], about, about.format, stata, {})
    distinct = published.distinct(name)
    width = _zeros(distinct, about, stata)
    if width is None:
        return _texts(values, distinct, about, stata)
    letters = {code: code[1] for code in distinct if stata and STATA_LETTER.fullmatch(code)}
    numbers = [None if code is None or code in letters else float(code) for code in values]
    form = about.format if _shows_numbers(about.format) else f"%0{width}.0f" if width else ""
    made = _numbers(numbers, about, form, stata, letters)
    if letters:
        pairs = zip(values, made.values, strict=True)
        made.values = [letters.get(code, number) for code, number in pairs]
    return made


def _moments(values: list[Any], form: str, stata: bool, dates: bool) -> FileVariable:
    """Dates and times as what has passed since the program's first day."""
    since = STATA_BEGINS if stata else SPSS_BEGINS
    found: list[float | None] = []
    for value in values:
        if value is None:
            found.append(None)
            continue
        passed = (dt.datetime.combine(value, dt.time()) if dates else value) - since
        if passed.microseconds % 1000:
            raise Different("the format cannot hold what the release gives")
        milliseconds = passed // dt.timedelta(milliseconds=1)
        found.append(float(passed.days) if stata and dates else milliseconds / (1 if stata else 1000))
    parts = SPSS_LIKE.fullmatch(form)
    if stata:
        own = form in (("%td", "%d") if dates else ("%tc",))
        usual = "%td" if dates else "%tc"
    else:
        own = parts is not None and bool(re.fullmatch("[AESJ]?DATE" if dates else "DATETIME|YMDHMS", parts[1]))
        even = all(value is None or value == int(value) for value in found)
        usual = "DATE11" if dates else "DATETIME20" if even else "DATETIME23.3"
    return FileVariable("number", found, form if own else usual)


def _shows_numbers(form: str) -> bool:
    parts = SPSS_LIKE.fullmatch(form)
    if parts and SPSS_SHOWS_NUMBERS.fullmatch(parts[1]):
        return True
    return STATA_SHOWS_NUMBERS.fullmatch(form) is not None


def _padded(form: str) -> int:
    found = re.fullmatch(r"[NZ]([0-9]{1,2})(?:\.[0-9]{1,2})?|%0([0-9]{1,2})\.0f", form)
    return int(found[1] or found[2]) if found else 0


def _zeros(distinct: set[str], about: PublicColumn, stata: bool) -> int | None:
    """Digits to which text that stands for numbers is filled with zeros; nothing where it is text."""
    by_format = _shows_numbers(about.format)
    if not distinct or not (by_format or (stata and about.value_labels)):
        return None
    codes = {c for c in distinct | set(about.value_labels) if not (stata and STATA_LETTER.fullmatch(c))}
    width = _padded(about.format)
    if not by_format:
        alike = len({len(code) for code in codes}) == 1
        width = len(next(iter(codes))) if alike and any(c[:1] == "0" and c != "0" for c in codes) else 0
    for code in codes:
        if not PLAIN.fullmatch(code) or abs(float(code)) > SURE:
            return None
        number = float(code)
        if code != (str(int(number)).zfill(width) if number.is_integer() else code_of(number)):
            return None
    return width


def _texts(values: list[Any], distinct: set[str], about: PublicColumn, stata: bool) -> FileVariable:
    longest = 2000 if stata else 32_767
    for text in distinct:
        if text.endswith(" ") or "\0" in text or len(text.encode()) > longest or (not text and None in values):
            raise Different("the format cannot hold what the release gives")
    if stata:
        return FileVariable("text", values, about.format if re.fullmatch("%-?[0-9]+s", about.format) else "")
    widest = max([0, *(len(text.encode()) for text in distinct)])
    held = [code for code in sorted(about.value_labels) if code.isascii() or len(code.encode()) <= widest]
    labels = {code: _short(about.value_labels[code], 120) for code in held}
    codes = [low for low, _ in about.missing if isinstance(low, str)]
    if len(codes) != len(about.missing) or not _three_short(codes):
        codes = sorted(code for code in distinct if is_unknown(code, about.missing))
    if not _three_short(codes):
        raise Different("the format cannot hold what the release gives")
    return FileVariable("text", values, "", {code: text for code, text in labels.items() if code and text}, codes)


def _three_short(codes: Sequence[str]) -> bool:
    return len(codes) < 4 and all(1 <= len(code.encode()) <= 8 for code in codes)


def _numbers(values: list[Any], about: PublicColumn, form: str, stata: bool, letters: dict[str, str]) -> FileVariable:
    most = 32_000 if stata else 120
    said = {code: _short(about.value_labels[code], most) for code in sorted(about.value_labels)}
    said = {code: text for code, text in said.items() if about.value_labels[code]}
    labels: dict[Any, str] = {}
    for code, text in said.items():
        if PLAIN.fullmatch(code):
            labels[float(code)] = text
    labels = {number: labels[number] for number in sorted(labels)}
    distinct = set(values) - {None}
    if stata:
        lettered = {code[1]: text for code, text in said.items() if STATA_LETTER.fullmatch(code)}
        return _stata_numbers(values, distinct, about, form, labels, lettered, set(letters.values()))
    ranges = []
    for low, high in about.missing:
        if not isinstance(low, str):
            ranges.append((float(low), float(high)))
        elif PLAIN.fullmatch(low):
            ranges.append((float(low), float(low)))
    if not _held_by_spss(ranges):
        ranges = [(number, number) for number in sorted(distinct) if is_unknown(number, about.missing)]
    if not _held_by_spss(ranges):
        raise Different("the format cannot hold what the release gives")
    infinite = float("inf")
    ends = [
        {"lo": -infinite if low <= -1.7e308 else low, "hi": infinite if high >= 1.7e308 else high}
        for low, high in ranges
    ]
    return FileVariable("number", values, _spss_format(form, distinct), labels, ends)


def _held_by_spss(ranges: Sequence[tuple[float, float]]) -> bool:
    wide = [ends for ends in ranges if ends[0] < ends[1]]
    return len(ranges) <= 3 if not wide else len(wide) == 1 and len(ranges) <= 2


def _spss_format(form: str, distinct: set[float]) -> str:
    parts = SPSS_LIKE.fullmatch(form)
    if parts and SPSS_SHOWS_NUMBERS.fullmatch(parts[1]):
        return form
    if _padded(form):
        return f"N{_padded(form)}"
    fixed = re.fullmatch(r"%([0-9]{1,3})\.([0-9]{1,2})f", form)
    if fixed and int(fixed[1]) <= 40 and int(fixed[2]) <= 16:
        return f"F{fixed[1]}.{fixed[2]}"
    texts = [code_of(number) for number in distinct]
    if any("e" in text for text in texts):
        return "F36.16"
    decimals = max([min(16, len(text.split(".")[1])) for text in texts if "." in text], default=0)
    if decimals:
        return f"F{20 + decimals}.{decimals}"
    return f"F{min(40, max([8, *map(len, texts)]))}.0"


def _stata_format(form: str) -> str:
    if STATA_SHOWS_NUMBERS.fullmatch(form):
        return form
    if _padded(form):
        return f"%0{_padded(form)}.0f"
    fixed = re.fullmatch(r"F([0-9]{1,2})(?:\.([0-9]{1,2}))?", form)
    if fixed and int(fixed[2] or 0) < int(fixed[1]):
        return f"%{int(fixed[1])}.{int(fixed[2] or 0)}f"
    return ""


def _stata_numbers(
    values: list[Any],
    distinct: set[float],
    about: PublicColumn,
    form: str,
    labels: dict[Any, str],
    lettered: dict[str, str],
    used: set[str],
) -> FileVariable:
    """Numbers of a Stata file: codes for "unknown" are letters."""
    codes = sorted(number for number in distinct | set(labels) if is_unknown(number, about.missing))
    free = [chr(sign) for sign in range(ord("a"), ord("z") + 1) if chr(sign) not in {*lettered, *used}]
    if len(codes) > len(free):
        raise Different("the format cannot hold what the release gives")
    new = {code: free[i] for i, code in enumerate(codes)}
    for code, letter in new.items():
        lettered = {**lettered, letter: labels.get(code, code_of(code))}
    held = {
        int(code): text
        for code, text in labels.items()
        if code not in new and code == int(code) and -(2**31) < code < 2**31 - 27
    }
    letters = sorted({*lettered, *used})
    found = [new.get(value, value) for value in values]
    ordered = {letter: lettered[letter] for letter in sorted(lettered)}
    return FileVariable("mixed" if letters else "number", found, _stata_format(form), {**held, **ordered}, [], letters)
