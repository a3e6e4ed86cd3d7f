"""Roles, labels and codes for "unknown" that metadata of μ-ARGUS state, as those of records."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError
from discreet.files.argus.hierarchies import with_missing
from discreet.files.argus.rda import RdaVariable
from discreet.files.hrc import read_labels
from discreet.files.statistical import statistical_metadata
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import ROLES, Microdata

if TYPE_CHECKING:
    import pyarrow as pa

USUAL, LEAST = 50, 0.01
"""What μ-ARGUS takes a variable to be worth where its metadata do not say it, and what stands for nothing here."""


def as_records(
    microdata: Microdata,
    variables: Sequence[RdaVariable],
    taken: Collection[str],
    hierarchies: Mapping[str, Hierarchy],
    find: Callable[[str], Path],
    notes: list[str],
) -> Microdata:
    """The records with what the metadata say of their variables.

    Parameters
    ----------
    microdata
        The records with the roles that tables need.
    variables
        The variables that were read.
    taken
        Variables that have a role already.
    hierarchies
        Hierarchies of the spanning variables.
    find
        Gives the path of a file that the metadata name.
    notes
        Gets what the log should say.
    """
    frame: pa.Table = microdata.source
    household = next((v.name for v in variables if v.household), None)
    for v in variables:
        if v.household and v.name in taken:
            raise InputError(f"{v.name!r} is the household and has another role.", hint="Correct the metadata.")
    free = [v for v in variables if v.name not in taken and not v.household]
    keys = [v.name for v in free if v.identification]
    shared = [v.name for v in variables if v.of_household]
    if shared and household is None:
        notes.append(
            f"<HOUSEHOLD> (of {', '.join(shared[:5])}) changes nothing without a variable with <HOUSE_ID>: nobody "
            "knows who lives together."
        )
    hierarchies = {**_by_digits(frame, free), **hierarchies}
    frame = _with_words(frame, variables)
    codes = {v.name: _codes(frame, v.name) for v in variables}
    labels = {v.name: read_labels(find(v.labels), notes=notes) for v in variables if v.labels}
    labels = {
        name: {as_written(code, codes[name]): text for code, text in words.items()} for name, words in labels.items()
    }
    return microdata.with_(
        source=frame,
        household=household,
        keys=keys,
        numeric=[v.name for v in free if v.numeric and not v.recodeable and v.name not in keys],
        hierarchies={
            v.name: hierarchies[v.name] for v in variables if (v.hierarchical or v.truncable) and v.name in hierarchies
        },
        value_labels={name: words for name, words in labels.items() if words},
        missing_codes={
            v.name: [as_written(code, codes[v.name]) for code in _missing(v)]
            for v in variables
            if not v.unknown and _missing(v)
        },
        labels={v.name: v.label for v in variables if v.label},
    )


def _codes(frame: pa.Table, name: str) -> dict[str, str]:
    """The codes of a column by what they are without blanks, where one code only is that; nothing of numbers."""
    import pyarrow as pa

    found: dict[str, str | None] = {}
    if pa.types.is_string(frame.schema.field(name).type):
        for code in frame[name].unique().to_pylist():
            if code is not None:
                found[code.strip()] = None if code.strip() in found else code
    return {plain: code for plain, code in found.items() if code is not None}


def as_written(code: str, codes: Mapping[str, str]) -> str:
    """A code of a list or of the metadata as the records write it: blanks at the beginning of fields do not count."""
    return codes.get(code.strip(), code)


def _missing(variable: RdaVariable) -> tuple[str, ...]:
    """Codes for "unknown"; the one that stands for empty fields is none of them."""
    return tuple(code for code in variable.missing if code != variable.empty)


def _by_digits(frame: pa.Table, variables: Sequence[RdaVariable]) -> dict[str, Hierarchy]:
    """Hierarchies of variables whose digits may be dropped from the right: a level for each digit."""
    import pyarrow as pa

    found = {}
    for v in variables:
        if not v.truncable or v.hierarchical:
            continue
        words = {str(code) for code in frame[v.name].cast(pa.string()).unique().to_pylist() if code}
        codes = sorted(words - set(v.missing))
        widths = {len(code.strip()) for code in codes}
        if len(widths) == 1 and widths != {1} and len(codes[0]) in widths:
            tree = Hierarchy.from_digits(codes, [1] * len(codes[0]), v.total)
            found[v.name] = with_missing(tree, [code for code in v.missing if code in words])
    return found


def identification_levels(microdata: Microdata, variables: Sequence[RdaVariable]) -> dict[str, int]:
    """The level of every key, 1 for those that identify most."""
    return {v.name: v.identification for v in variables if v.identification and v.name in microdata.keys}


def suppression_importance(microdata: Microdata, variables: Sequence[RdaVariable]) -> dict[str, float]:
    """What local suppression should take the keys to be worth: their weights, or nothing where all are the same.

    μ-ARGUS empties the variable with the lowest weight first, and takes 50 where none is stated. One of 0, which would
    cost nothing, becomes the least that counts.
    """
    keys = [v for v in variables if v.name in microdata.keys]
    weights = {v.name: USUAL if v.suppression_weight is None else v.suppression_weight for v in keys}
    if len(set(weights.values())) < 2:
        return {}
    return {name: float(weight or LEAST) for name, weight in weights.items()}


def related_columns(microdata: Microdata, variables: Sequence[RdaVariable]) -> dict[str, list[str]]:
    """Columns that are emptied with a key (``<RELATED>``), for ``LocalSuppress(together=)``."""
    names = {v.name.lower(): v.name for v in variables}
    found = {v.name: [names[v.related.lower()]] for v in variables if v.related and v.related.lower() in names}
    reached = [name for name in microdata.keys if name in found]
    for name in reached:  # what a key takes along may take something along itself
        reached += [other for other in found[name] if other in found and other not in reached]
    return {name: found[name] for name in reached}


def household_keys(microdata: Microdata, variables: Sequence[RdaVariable]) -> list[str]:
    """Keys that say something of a household (``<HOUSEHOLD>``), for ``LocalSuppress(of_household=)``."""
    known = microdata.household is not None
    return [v.name for v in variables if known and v.of_household and v.name in microdata.keys]


def _with_words(frame: pa.Table, variables: Sequence[RdaVariable]) -> pa.Table:
    """The frame with gaps where codes are empty; formats and ranges of codes for "unknown" stand with the columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns, fields = [], []
    for v in variables:
        column = frame[v.name].combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.cast(pa.string())
            if v.numeric and not v.hierarchical:
                column = pc.utf8_trim_whitespace(column)  # numbers stand at the right of their field
            gaps = pa.array({"", v.empty}, pa.string())
            column = pc.if_else(pc.is_in(column, gaps), pa.scalar(None, pa.string()), column)
        said = {"format": v.format, "missing": json.dumps([list(ends) for ends in v.unknown]) if v.unknown else ""}
        fields.append(pa.field(v.name, column.type, metadata={key: text for key, text in said.items() if text}))
        columns.append(column)
    return pa.table(columns, schema=pa.schema(fields))


def with_spss_words(microdata: Microdata, path: Path) -> Microdata:
    """The records with labels, formats and codes for "unknown" of their SPSS file, where the metadata state none."""
    import pyarrow as pa

    about = statistical_metadata(path)
    there = {name.lower(): name for name in about.columns}
    frame: pa.Table = microdata.source
    own = {name: there[name.lower()] for name in frame.column_names if name.lower() in there}
    labels = {name: about.labels[old] for name, old in own.items() if about.labels.get(old)}
    words = {name: about.value_labels[old] for name, old in own.items() if about.value_labels.get(old)}
    missing: dict[str, Sequence[str]] = {}
    fields = []
    for name in frame.column_names:
        old, said = own.get(name, name), dict(frame.schema.field(name).metadata or {})
        if about.formats.get(old) and b"format" not in said:
            said[b"format"] = about.formats[old].encode()
        fields.append(frame.schema.field(name).with_metadata(said or None))
        if about.missing.get(old) and b"missing" not in said and pa.types.is_string(frame.schema.field(name).type):
            missing[name] = about.missing_codes(old, [code for code in frame[name].unique().to_pylist() if code])
    return microdata.with_(
        source=frame.cast(pa.schema(fields)),
        labels={**labels, **microdata.labels},
        value_labels={**words, **microdata.value_labels},
        missing_codes={**{name: codes for name, codes in missing.items() if codes}, **microdata.missing_codes},
    )


def with_stated_roles(microdata: Microdata, stated: Any) -> Microdata:
    """The records with the roles that a recipe states; what it says of a column counts more than the metadata."""
    given = {role: getattr(stated, role) for role in ROLES if getattr(stated, role)}
    named = {name for names in given.values() for name in ([names] if isinstance(names, str) else names)}
    kept: dict[str, Any] = {}
    for role in ROLES:
        found = getattr(microdata, role)
        if isinstance(found, tuple):
            kept[role] = [name for name in found if name not in named]
        else:
            kept[role] = None if found in named else found
    codes = {**microdata.missing_codes, **stated.missing_codes}
    return microdata.with_(**{**kept, **given}, strata=stated.strata, missing_codes=codes)
