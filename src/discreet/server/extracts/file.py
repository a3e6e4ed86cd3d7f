"""The file that extracts are taken from, as a folder: groups of records, codebook, limits, digests, signature."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from discreet.errors import InputError, ProtectionError
from discreet.keys import Key
from discreet.model.custodian import RecordCustodian
from discreet.model.release import Release
from discreet.server.extracts.codebook import Codebook, CodebookVariable, missing_words, recode_words
from discreet.server.extracts.plan import ExtractPlan, LimitsPart
from discreet.trust import PublicKey, SigningKey, read_signature
from discreet.trust.private_folder import read_bounded, write_new_file

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.server.extracts.drawing import DrawnSample

FORMAT = "discreet extract file 1"
RECORDS, BOOK, LIMITS, MANIFEST, SIGNATURE = "records.parquet", "codebook.json", "limits.json", "file.json", "file.sig"
HIDDEN = ("_household", "_person", "_stratum")
GROUP = 65_536
"""Rows that are read at once, about."""
MOST_VALUES = 32_767
"""Values of a variable that is kept as places in a list."""
MOST_BOOK = 64 * 2**20


class FileManifest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Digests of a folder's files, and the fingerprint of the key that it was drawn with."""

    format: str
    name: str
    edition: str
    key: str
    approval_months: int
    files: dict[str, str]


@dataclass(frozen=True, eq=False)
class ExtractFile:
    """An opened folder.

    Parameters
    ----------
    folder
        Where it lies.
    manifest
        Digests.
    codebook
        What users are told.
    limits
        How much goes out.
    """

    folder: Path
    manifest: FileManifest
    codebook: Codebook
    limits: LimitsPart

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.manifest.name

    @property
    def edition(self) -> str:
        """Which version of it."""
        return self.manifest.edition

    @property
    def digest(self) -> str:
        """What stands for the whole file."""
        return hashlib.sha256(msgspec.json.encode(self.manifest, order="sorted")).hexdigest()

    @cached_property
    def variables(self) -> dict[str, CodebookVariable]:
        """Variables by name."""
        return {one.name: one for one in self.codebook.variables}

    def groups(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Groups of rows, whole households in each, with the columns that every extract needs and some variables."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(self.folder / RECORDS, memory_map=False) as file:
            for number in range(file.num_row_groups):
                yield file.read_row_group(number, [*HIDDEN, *names], use_threads=False)

    def require_unchanged(self) -> None:
        """Refuse records that are not those that were verified.

        Raises
        ------
        InputError
            When they were changed.
        """
        if _digest(self.folder / RECORDS) != self.manifest.files[RECORDS]:
            raise InputError(f"{RECORDS} of {self.folder.name!r} has been changed.", hint="Build the edition again.")


def write_file(
    folder: Path,
    plan: ExtractPlan,
    table: pa.Table,
    release: Release[RecordCustodian],
    drawn: DrawnSample,
    key: Key,
    signer: SigningKey | None,
) -> None:
    """Write a folder from a release that was verified."""
    import pyarrow.parquet as pq

    variables, columns = [], {name: table[name] for name in HIDDEN}
    for name in table.column_names[len(HIDDEN) :]:
        about, columns[name] = _described(name, table[name], plan, release, drawn)
        variables.append(about)
    import pyarrow as pa

    kept = pa.table(columns)
    edges = _edges(np.asarray(kept["_household"]))
    with pq.ParquetWriter(folder / RECORDS, kept.schema, compression="zstd") as writer:
        for begin, end in pairwise(edges):
            writer.write_table(kept.slice(begin, end - begin), row_group_size=end - begin)
    book = Codebook(
        name=plan.name,
        edition=plan.edition,
        title=plan.title,
        citation=plan.citation or f"{plan.title or plan.name}, edition {plan.edition}.",
        licence=plan.licence,
        year=plan.year,
        rows=len(kept),
        strata=int(np.asarray(kept["_stratum"]).max()),
        households=int(np.asarray(kept["_household"]).max()),
        density=plan.sample.density,
        threshold=None if plan.geography.suppress else plan.geography.threshold,
        variables=variables,
        notes=_notes(plan, drawn),
    )
    write_new_file(folder / BOOK, msgspec.json.encode(book))
    write_new_file(folder / LIMITS, msgspec.json.encode(plan.limits))
    manifest = FileManifest(
        format=FORMAT,
        name=plan.name,
        edition=plan.edition,
        key=key.fingerprint,
        approval_months=plan.approval_months,
        files={name: _digest(folder / name) for name in (RECORDS, BOOK, LIMITS)},
    )
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    write_new_file(folder / MANIFEST, text)
    if signer is not None:
        write_new_file(folder / SIGNATURE, signer.signature(text).encode())


def _notes(plan: ExtractPlan, drawn: DrawnSample) -> list[str]:
    found = ["Order and numbers of households were drawn at random; no name or address is in the file."]
    if plan.geography.suppress or not drawn.levels:
        found.append("No area is shown.")
    else:
        found.append(
            f"Every area that is shown has at least {plan.geography.threshold:,} persons; smaller ones merged."
        )
    if plan.swap is not None and drawn.levels:
        found.append("Some households exchanged their areas.")
    return found


def _described(
    name: str, column: pa.ChunkedArray, plan: ExtractPlan, release: Release[RecordCustodian], drawn: DrawnSample
) -> tuple[CodebookVariable, Any]:
    """What is said of a variable, and its values as they are kept."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = "text" if pa.types.is_string(column.type) else "whole" if pa.types.is_integer(column.type) else "number"
    if kind == "number" and not pa.types.is_floating(column.type):
        raise ProtectionError(f"Variable {name!r} holds neither text nor numbers.", hint="Recode it: dates to years.")
    distinct = column.drop_null().unique()
    values, kept = None, column
    if len(distinct) <= MOST_VALUES:
        ordered = distinct.take(pc.sort_indices(distinct))
        values = ordered.to_pylist()
        kept = pc.fill_null(pc.index_in(column, value_set=ordered), -1).cast(pa.int16())
    elif kind == "text":
        raise ProtectionError(f"Variable {name!r} has too many codes to be let out.", hint="Recode it.")
    assert release.public.records is not None
    about = release.public.records.info.get(name)
    ends = None if kind == "text" or not len(distinct) else pc.min_max(distinct).as_py()
    level = plan.geography.levels.index(name) + 1 if name in plan.geography.levels else 0
    names = dict(plan.variables[name].names) if about is None else dict(about.value_labels)
    names |= _merged_words(name, drawn)
    found = CodebookVariable(
        name=name,
        label=plan.variables[name].label,
        kind=kind,
        values=values,
        names=names,
        missing=[] if about is None else missing_words(about),
        lowest=None if ends is None else float(ends["min"]),
        highest=None if ends is None else float(ends["max"]),
        key=name in plan.data.keys or level > 0,
        level=level,
        altered=_altered(name, plan, release),
    )
    return found, kept


def _merged_words(name: str, drawn: DrawnSample) -> dict[str, str]:
    """What merged codes stand for."""
    if name in drawn.levels and drawn.areas is not None:
        merged = drawn.areas.merged[drawn.levels.index(name)]
    else:
        found = drawn.guarded.get(name)
        merged = found.merged[0] if found is not None and found.merged else {}
    return {code: "together: " + ", ".join(parts[:50]) for code, parts in merged.items()}


def _altered(name: str, plan: ExtractPlan, release: Release[RecordCustodian]) -> str:
    """How the owner's steps changed a variable; merged areas and exchanges are told in the notes."""
    said = []
    for step in release.custodian.steps:
        method = step.evidence.method
        if name in step.changed.column_names and method in [one.record() for one in plan.methods]:
            said.append(recode_words(method))
    return "; ".join(said)


def _edges(household: Any) -> list[int]:
    """Where groups of rows begin and end: between households."""
    starts = np.flatnonzero(np.diff(household, prepend=-1))
    edges, last = [0], 0
    for start in starts.tolist():
        if start - last >= GROUP:
            edges.append(start)
            last = start
    return [*edges, len(household)]


def open_file(folder: str | Path, *, signed_by: str | Path | None = None, hashes: bool = False) -> ExtractFile:
    """Open a folder.

    Parameters
    ----------
    folder
        What :func:`~discreet.server.extracts.building.build_file` made.
    signed_by
        File of the public key that must have signed it.
    hashes
        Whether to read all records and compare their digest.

    Raises
    ------
    InputError
        When a file is missing, changed or not signed by that key.
    """
    path = Path(folder)
    wrong = InputError(f"{path.name!r} is no file for extracts.", hint="Make one: discreet extracts build")
    try:
        text = read_bounded(path / MANIFEST, "manifest", MOST_BOOK)
        manifest = msgspec.json.decode(text, type=FileManifest)
        contents = {name: read_bounded(path / name, name, MOST_BOOK) for name in (BOOK, LIMITS)}
    except (msgspec.DecodeError, UnicodeDecodeError, InputError):
        raise wrong from None
    if manifest.format != FORMAT or set(manifest.files) != {RECORDS, BOOK, LIMITS} or not (path / RECORDS).is_file():
        raise wrong
    if signed_by is not None:
        signature = path / SIGNATURE
        if not signature.is_file() or not PublicKey.from_file(signed_by).signed(text, read_signature(signature)):
            raise InputError(f"{path.name!r} is not signed by that key.", hint="Build it with --sign.")
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != manifest.files[name]:
            raise InputError(f"{name} of {path.name!r} has been changed.", hint="Build the edition again.")
    book = msgspec.json.decode(contents[BOOK], type=Codebook)
    found = ExtractFile(path, manifest, book, msgspec.json.decode(contents[LIMITS], type=LimitsPart))
    if hashes:
        found.require_unchanged()
    return found


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
