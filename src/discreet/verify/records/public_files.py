"""Public files of records, written a second time and compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.model.blanking import analyst_readme
from discreet.verify.formats import NEEDS
from discreet.verify.formats.parquet import as_stated
from discreet.verify.formats.shown import Different, field, inert
from discreet.verify.records.argus import DESCRIPTION, argus_files
from discreet.verify.records.published import GivenRecords, joined, same_bytes
from discreet.verify.records.stat import check_dta, check_sav, renamed
from discreet.verify.records.xlsx import check_xlsx
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

TOLD = {
    ".matrices.json": "transition matrices",
    ".blanking.json": "probabilities and variances",
    ".README.md": "words for analysts",
}
"""How files end that stand beside the records, and what they hold."""
LINES = 200_000
"""Lines of a public csv file that are compared at a time."""


def check_public_files(
    verdict: Verdict, folder: Path, files: frozenset[str], name: str, published: GivenRecords
) -> None:
    """Every public file is one that the release gives, and says nothing else."""
    shown = sorted(file.removeprefix("public/") for file in files if file.startswith("public/"))
    if f"{name}.csv" not in shown:
        verdict.refuse("public", "the public file is missing", f"{name}.csv")
    described = {
        **_described(verdict, shown, name, published),
        **_matrices(verdict, shown, name, published),
        **_blankings(verdict, shown, name, published),
    }
    for file in shown:
        path = folder / "public" / file
        if file in described:
            _compare(verdict, path, lambda path, _: same_bytes(described[path.name], path.read_bytes()), published)
            continue
        ending = next((suffix for suffix in CHECKS if file == f"{name}{suffix}"), None)
        if ending is None:
            verdict.refuse("public", "a public file is not one that the checker can read back", file)
        elif _can_be_written(verdict, file, ending):
            _compare(verdict, path, CHECKS[ending], published)
    for file in shown:
        others = renamed(published, Path(file).suffix)
        if others and verdict.holds:
            words = ", ".join(f"{old!r} is {new}" for old, new in others.items())
            verdict.asserted.append(f"{file} names columns as its format allows: {words}")


def _described(verdict: Verdict, shown: list[str], name: str, published: GivenRecords) -> dict[str, bytes]:
    """The data file, its description and code lists, which belong together; nothing where there are none."""
    if f"{name}.asc" not in shown and f"{name}{DESCRIPTION}" not in shown:
        return {}
    try:
        wanted = argus_files(name, published)
    except Different as error:
        verdict.refuse("public", str(error), f"{name}.asc")
        return {}
    for file in wanted:
        if file not in shown:
            verdict.refuse("public", "a file that belongs to the data file is missing", file)
    return wanted


def _matrices(verdict: Verdict, shown: list[str], name: str, published: GivenRecords) -> dict[str, bytes]:
    """The file of transition matrices, which is there where some are published."""
    if not published.matrices:
        return {}
    file = f"{name}.matrices.json"
    if file not in shown:
        verdict.refuse("public", "the published transition matrices are missing", file)
    found = {"transition_matrices": published.matrices}
    return {file: (json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()}


def _blankings(verdict: Verdict, shown: list[str], name: str, published: GivenRecords) -> dict[str, bytes]:
    """What analysts are told of blanked values and noise, as numbers and in words."""
    if not published.blankings:
        return {}
    try:
        words = analyst_readme(name, published.blankings).encode()
    except (AttributeError, LookupError, TypeError):
        words = b""  # evidence of which the check of its step says what is wrong
    numbers = json.dumps({"blankings": published.blankings}, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    wanted = {f"{name}.blanking.json": numbers.encode(), f"{name}.README.md": words}
    for file in wanted:
        if file not in shown:
            verdict.refuse("public", "what analysts are told of blanked values is missing", file)
    return wanted


def _can_be_written(verdict: Verdict, file: str, ending: str) -> bool:
    for packages, extra in NEEDS.get(ending, ()):
        if not any(find_spec(package) for package in packages):
            verdict.refuse("public", f"the file can be checked where discreet[{extra}] is installed only", file)
            return False
    return True


def _compare(
    verdict: Verdict, path: Path, check: Callable[[Path, GivenRecords], str | None], published: GivenRecords
) -> None:
    try:
        open_question = check(path, published)
    except Different as error:
        verdict.refuse("public", str(error), path.name)
    else:
        if open_question is None:
            what = next((words for ending, words in TOLD.items() if path.name.endswith(ending)), "records")
            verdict.proved.append(f"{path.name} holds the published {what}, byte for byte")
        else:
            verdict.proved.append(f"{path.name} holds the published records")
            verdict.asserted.append(f"of {path.name}, {open_question}")


def _check_csv(path: Path, published: GivenRecords) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    comma, end, nothing = (pa.scalar(sign, pa.large_string()) for sign in (",", "\n", ""))
    public = published.table
    columns = [_fields(published, name) for name in public.column_names]
    expected = (",".join(field(inert(name)) for name in public.column_names) + "\n").encode()
    with path.open("rb") as stream:
        if stream.read(len(expected)) != expected:
            raise Different("the names of the columns are not those of the release")
        for start in range(0, public.num_rows, LINES):
            parts = [column.slice(start, LINES) for column in columns]
            lines = pc.binary_join_element_wise(*parts, comma)
            expected = joined(pc.binary_join_element_wise(lines, end, nothing))
            if stream.read(len(expected)) != expected:
                raise Different(f"one of the lines from {start + 2:,} on is not what the release gives")
        if stream.read(1):
            raise Different("the file has more lines than there are records")


def _fields(published: GivenRecords, name: str) -> pa.Array:
    """Values as csv fields, by the distinct ones."""
    import pyarrow as pa

    values, places = published.encoded(name)
    return pa.array([_field(value) for value in values], pa.large_string()).take(places)


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return field(inert(value)) if value else '""'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value == int(value) and abs(value) < 1e16 else repr(value)
    if hasattr(value, "hour"):
        return str(value.isoformat(sep=" ", timespec="microseconds"))
    return str(value)


def _check_parquet(path: Path, published: GivenRecords) -> None:
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    public = published.table
    fields = [pa.field(f.name, f.type, metadata=_said(published, f.name) or None) for f in public.schema]
    expected = pa.table([public[f.name].combine_chunks() for f in public.schema], schema=pa.schema(fields))
    sink = io.BytesIO()
    pq.write_table(expected, sink, compression="zstd")
    if as_stated(sink.getvalue()) != path.read_bytes():
        raise Different("the file is not byte for byte what the release gives")


def _said(published: GivenRecords, name: str) -> dict[str, str]:
    """What a Parquet file says of a column."""
    about = published.info[name]
    labels = json.dumps(dict(about.value_labels), ensure_ascii=False, sort_keys=True) if about.value_labels else ""
    missing = json.dumps([list(ends) for ends in about.missing], ensure_ascii=False) if about.missing else ""
    words = {"label": about.label, "value_labels": labels, "missing": missing, "format": about.format}
    return {key: text for key, text in words.items() if text}


CHECKS: dict[str, Callable[[Path, GivenRecords], str | None]] = {
    ".csv": _check_csv,
    ".parquet": _check_parquet,
    ".sav": check_sav,
    ".dta": check_dta,
    ".xlsx": check_xlsx,
}
"""How public files of records end, and what compares them with what the release gives."""
