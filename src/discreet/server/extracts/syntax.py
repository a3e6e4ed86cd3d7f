"""Programs that read an extract: SPSS, Stata, SAS and R, with labels of variables and codes.

Names of variables are checked where plans are read; labels are the owner's words and are written so that no program
takes them for its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from discreet.files.celltext import safe_code
from discreet.server.extracts.codebook import CodebookVariable

OWN = (
    CodebookVariable(name="serial", label="Household, number in this extract", kind="whole"),
    CodebookVariable(name="person", label="Person in the household", kind="whole"),
    CodebookVariable(name="weight", label="Persons that a record stands for", kind="number"),
    CodebookVariable(name="stratum", label="Stratum for variances", kind="whole"),
)
LONGEST = 80
SINGLE = "'"
"""Between double quotes SAS looks for & and %."""
DATA = "data.csv"


def syntax_files(variables: Sequence[CodebookVariable], *, strata: bool = False) -> dict[str, str]:
    """Files of syntax by their names."""
    every = [*(OWN if strata else OWN[:-1]), *variables]
    makers: dict[str, Callable[[Sequence[CodebookVariable]], str]] = {
        "read.sps": spss,
        "read.do": stata,
        "read.sas": sas,
        "read.R": r,
    }
    return {name: make(every) for name, make in makers.items()}


def _words(text: str) -> str:
    """Words that stand in one line between quotes of any program."""
    plain = "".join(" " if sign in "\"'`\\$%&;\r\n\t" or ord(sign) < 32 else sign for sign in text)
    return " ".join(plain.split())[:LONGEST]


def _code(code: object, quote: str = '"') -> str:
    """A code as the data have it, between quotes."""
    text = safe_code("".join(sign for sign in str(code) if ord(sign) >= 32))
    return quote + text.replace(quote, 2 * quote) + quote


def _width(one: CodebookVariable) -> int:
    return max([1, *(len(safe_code(str(value)).encode()) for value in one.values or ())])


def _labelled(variables: Sequence[CodebookVariable]) -> list[tuple[CodebookVariable, list[tuple[str, str]]]]:
    """Variables that have words for codes, with those of codes that they have."""
    found = []
    for one in variables:
        there = {str(value) for value in one.values or ()} or set(one.names)
        pairs = [(code, _words(words)) for code, words in one.names.items() if code in there and _words(words)]
        if pairs:
            found.append((one, pairs))
    return found


def spss(variables: Sequence[CodebookVariable]) -> str:
    """Syntax for SPSS."""
    kinds = {"whole": "F20.0", "number": "F20.6"}
    lines = ["* Reads the extract; set the folder first (CD).", f'GET DATA /TYPE=TXT /FILE="{DATA}" /ENCODING="UTF8"']
    lines += ['  /DELIMITERS="," /QUALIFIER=\'"\' /ARRANGEMENT=DELIMITED /FIRSTCASE=2 /VARIABLES=']
    lines += [f"  {one.name} {kinds.get(one.kind) or f'A{_width(one)}'}" for one in variables]
    lines[-1] += "."
    labels = [f'  {one.name} "{_words(one.label)}"' for one in variables if _words(one.label)]
    lines += ["VARIABLE LABELS", *labels]
    lines[-1] += "."
    for one, pairs in _labelled(variables):
        lines += [f"VALUE LABELS {one.name}"]
        lines += [f'  {_code(code) if one.kind == "text" else code} "{words}"' for code, words in pairs]
        lines[-1] += "."
    return "\n".join([*lines, "WEIGHT BY weight.", "EXECUTE.", ""])


def stata(variables: Sequence[CodebookVariable]) -> str:
    """Syntax for Stata; codes that are text get numbers with labels."""
    texts = [str(place) for place, one in enumerate(variables, 1) if one.kind == "text"]
    wide = [str(place) for place, one in enumerate(variables, 1) if one.kind != "text"]
    lines = ["* Reads the extract; set the folder first (cd).", "clear"]
    columns = f" stringcols({' '.join(texts)})" if texts else ""
    lines += [f'import delimited using "{DATA}", varnames(1) case(preserve) encoding("utf-8")' + columns]
    lines[-1] += f" numericcols({' '.join(wide)})" if wide else ""
    lines += [f'label variable {one.name} "{_words(one.label)}"' for one in variables if _words(one.label)]
    for one, pairs in _labelled(variables):
        if one.kind == "whole":
            lines += [f'label define {one.name}_ {code} "{words}", add' for code, words in pairs]
            lines += [f"label values {one.name} {one.name}_"]
        else:
            lines += [f"note {one.name}: {_words(code)} = {words}" for code, words in pairs]
    strata = ", strata(stratum)" if "stratum" in [one.name for one in variables] else ""
    return "\n".join([*lines, f"svyset serial [pweight = weight]{strata}", ""])


def sas(variables: Sequence[CodebookVariable]) -> str:
    """Syntax for SAS."""
    lines = ["/* Reads the extract; set the folder first. */"]
    formats = {one.name: f"{'$' if one.kind == 'text' else ''}v{place}_f" for place, one in enumerate(variables)}
    for one, pairs in _labelled(variables):
        lines += ["proc format;", f"  value {formats[one.name]}"]
        lines += [f'    {_code(code, SINGLE) if one.kind == "text" else code} = "{words}"' for code, words in pairs]
        lines += ["  ;", "run;"]
    lines += ["data extract;", f'  infile "{DATA}" dsd firstobs=2 lrecl=32767 encoding="utf-8" truncover;']
    lines += [f"  length {one.name} {f'${_width(one)}' if one.kind == 'text' else '8'};" for one in variables]
    lines += ["  input " + " ".join(f"{one.name}{' $' if one.kind == 'text' else ''}" for one in variables) + ";"]
    lines += [f'  label {one.name} = "{_words(one.label)}";' for one in variables if _words(one.label)]
    for one, _ in _labelled(variables):
        lines.append(f"  format {one.name} {formats[one.name]}.;")
    return "\n".join([*lines, "run;", ""])


def r(variables: Sequence[CodebookVariable]) -> str:
    """Syntax for R, without packages."""
    kinds = {"text": "character", "whole": "numeric", "number": "numeric"}
    classes = ", ".join(f"`{one.name}` = '{kinds[one.kind]}'" for one in variables)
    lines = ["# Reads the extract; set the folder first (setwd).", "extract <- read.csv("]
    lines += [f"  '{DATA}', colClasses = c({classes}),", "  fileEncoding = 'UTF-8', na.strings = '', quote = '\"'", ")"]
    for one in variables:
        if _words(one.label):
            lines.append(f"attr(extract[['{one.name}']], 'label') <- '{_words(one.label)}'")
    for one, pairs in _labelled(variables):
        listing = ", ".join(f"{_r_code(code, one.kind)} = '{words}'" for code, words in pairs)
        lines.append(f"attr(extract[['{one.name}']], 'labels') <- c({listing})")
    return "\n".join([*lines, ""])


def _r_code(code: str, kind: str) -> str:
    """A code as a name; only text is written in the data so that no spreadsheet takes it for a formula."""
    plain = "".join(sign for sign in code if ord(sign) >= 32)
    plain = safe_code(plain) if kind == "text" else plain
    return "`" + plain.replace("\\", "\\\\").replace("`", "\\`") + "`"
