"""Files, projects and extracts as programs read them: what their users are told, and nothing else."""

from __future__ import annotations

from typing import Literal

import msgspec

from discreet.server.extracts.file import ExtractFile
from discreet.server.extracts.taking import SizeEstimate
from discreet.server.store.applications import ApplicationRow
from discreet.server.store.extracts import ExtractRow

ExtractState = Literal["queued", "running", "ready", "expired", "failed", "refused", "withdrawn"]


class FileShown(msgspec.Struct, kw_only=True):
    """A file that extracts are taken from, in a list."""

    name: str
    edition: str
    title: str
    year: int
    rows: int
    households: int


class FileVariableShown(msgspec.Struct, kw_only=True):
    """A variable of a file."""

    name: str
    label: str
    kind: Literal["text", "whole", "number"]
    names: dict[str, str]
    """Words of codes."""
    missing: list[str]
    """Codes that stand for "unknown"."""
    identifying: bool
    level: int
    """Of areas: 1 is the coarsest; 0 for others."""
    altered: str
    """How it was changed, in words."""


class FileDescribed(FileShown, kw_only=True):
    """All that is said of a file."""

    citation: str
    licence: str
    notes: list[str]
    variables: list[FileVariableShown]
    not_together: list[list[str]]
    """Variables that no project has together, in one extract or in several."""
    most_rows: int
    """Rows of one extract."""
    project_rows: int
    """Rows of all extracts of a project."""
    most_unique: float | None
    """Largest share of records that may be alone with their keys."""
    link_hours: int
    """How long an extract can be fetched."""


class FileList(msgspec.Struct, kw_only=True):
    """All files."""

    files: list[FileShown]


class ProjectShown(msgspec.Struct, kw_only=True):
    """A project of one's own, and what it may have."""

    project: int
    title: str
    state: str
    """Of its application: extracts are for those that are active or renewed."""
    dataset: str
    edition: str
    variables: list[str]
    finest_geography: int
    expires: int
    """Seconds since 1970 (UTC); 0 before it was approved."""


class ProjectList(msgspec.Struct, kw_only=True):
    """All projects of one's own."""

    projects: list[ProjectShown]


class ExtractEstimate(msgspec.Struct, kw_only=True):
    """How large an extract would be, and how many records would be alone."""

    rows: int
    """About: to two digits."""
    bytes: int
    identifying: list[str]
    """Variables of it that readers are taken to know of others."""
    unique: float
    """Share of records that are alone with these."""
    most_unique: float | None
    """Largest share that may be."""


class ExtractShown(msgspec.Struct, kw_only=True):
    """Where an extract is."""

    number: int
    project: int
    dataset: str
    edition: str
    edition_withdrawn: bool
    state: ExtractState
    progress: float
    reason: str
    """Why there is none, where it failed or was refused."""
    mine: bool
    """Whether one asked for it oneself: only those who did can fetch it."""
    requested: int
    """Seconds since 1970 (UTC), like all times."""
    rows: int | None
    """Once it was made."""
    bytes: int | None
    sha256: str | None
    """Of the sealed file."""
    until: int | None
    """When it cannot be fetched any more."""
    destroyed: int | None
    """When it was stated that all copies are destroyed."""


class ExtractList(msgspec.Struct, kw_only=True):
    """Extracts of one's own projects, the last first."""

    extracts: list[ExtractShown]


class KeyBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The public key that extracts are sealed to, as a program gives it."""

    key: str


class KeyShown(msgspec.Struct, kw_only=True):
    """The public key that one's extracts are sealed to."""

    fingerprint: str | None
    """None where no key was given."""


class DestroyedBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The statement that an extract was destroyed."""

    all_copies: Literal[True]


def file_shown(file: ExtractFile) -> FileShown:
    """A file in a list."""
    book = file.codebook
    return FileShown(
        name=file.name,
        edition=file.edition,
        title=book.title,
        year=book.year,
        rows=book.rows,
        households=book.households,
    )


def file_described(file: ExtractFile) -> FileDescribed:
    """All that is said of a file."""
    book, limits = file.codebook, file.limits
    return FileDescribed(
        **msgspec.structs.asdict(file_shown(file)),
        citation=book.citation,
        licence=book.licence,
        notes=book.notes,
        variables=[
            FileVariableShown(
                name=one.name,
                label=one.label,
                kind=one.kind,  # type: ignore[arg-type]  # one of KINDS, as codebooks have them
                names=one.names,
                missing=one.missing,
                identifying=one.key,
                level=one.level,
                altered=one.altered,
            )
            for one in book.variables
        ],
        not_together=limits.refused,
        most_rows=limits.most_rows,
        project_rows=limits.project_rows,
        most_unique=limits.most_unique,
        link_hours=limits.link_hours,
    )


def project_shown(row: ApplicationRow) -> ProjectShown:
    """A project of one's own."""
    return ProjectShown(
        project=row.project.id,
        title=row.form.title,
        state=row.state,
        dataset=row.dataset,
        edition=row.edition,
        variables=row.form.variables,
        finest_geography=row.form.finest_geography,
        expires=row.project.expires,
    )


def estimate_shown(file: ExtractFile, found: SizeEstimate) -> ExtractEstimate:
    """An estimate as users are told it."""
    return ExtractEstimate(
        rows=found.about,
        bytes=int(float(f"{found.bytes:.1e}")),
        identifying=found.keys,
        unique=round(found.unique, 2),
        most_unique=file.limits.most_unique,
    )


def extract_shown(row: ExtractRow, principal: int) -> ExtractShown:
    """Where an extract is; how many rows it has is told once it was made, of those that are in it."""
    made = row.content is not None
    return ExtractShown(
        number=row.id,
        project=row.project_id,
        dataset=row.dataset,
        edition=row.edition,
        edition_withdrawn=row.edition_state == "withdrawn",
        state=row.state,  # type: ignore[arg-type]  # one of ExtractState, as the store has them
        progress=row.progress,
        reason=row.reason,
        mine=row.requested_by == principal,
        requested=row.requested,
        rows=row.rows if made else None,
        bytes=row.size,
        sha256=row.content,
        until=row.link_expires,
        destroyed=row.destroyed,
    )
