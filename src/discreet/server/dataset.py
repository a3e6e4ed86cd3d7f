"""A data set as the server has it: an immutable folder, made once from a catalogue and its records."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from discreet.engine.column_files import Columns, open_columns
from discreet.engine.record_keys import MadeKeys
from discreet.errors import NeedsError, OutputError, ParameterError
from discreet.keys import Key
from discreet.methods.base import TablePublisher
from discreet.model.condition import Condition
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.public import PublicTable
from discreet.model.spec import TableSpec
from discreet.recipe.schema import OutputPart, Recipe
from discreet.server.catalogue import EVERYBODY, Catalogue, PolicyPart, catalogue_of, read_catalogue
from discreet.server.dataset_folder import (
    COLUMNS,
    FILES,
    FORMAT,
    MANIFEST,
    SIGNATURE,
    DatasetManifest,
    checked_manifest,
    digest_of_file,
)
from discreet.server.levels import VariableLevel, levels_of
from discreet.server.quality import ErrorCurve, error_curve
from discreet.server.question import Question
from discreet.server.refinement import largest_precision, noise_variance
from discreet.server.shortcut import Shortcut
from discreet.server.universes import count_atoms, refused_areas
from discreet.trust import SigningKey
from discreet.verbs.protect import protect


class Facts(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What was worked out of the records when the data set was made; no count of anybody is in it."""

    refused: dict[str, list[str]]
    most_precision: float
    variance: float
    errors: ErrorCurve | None = None
    """Of weighted counts, where the catalogue says what they can be worked out of."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """An opened data set.

    Parameters
    ----------
    folder
        Where it lies.
    catalogue
        What may be asked of it.
    facts
        What is refused, and how much may be told.
    manifest
        Digests and fingerprints.
    hierarchies
        Hierarchies of all variables.
    data
        Its records.
    """

    folder: Path
    catalogue: Catalogue
    facts: Facts
    manifest: DatasetManifest
    hierarchies: Mapping[str, Hierarchy]
    data: Microdata
    _hypercubes: dict[tuple[str, str | None], PublicTable] = field(default_factory=dict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.catalogue.name

    @property
    def edition(self) -> str:
        """Which version of it."""
        return self.catalogue.edition

    @property
    def policy(self) -> PolicyPart:
        """How it is protected."""
        return self.catalogue.policy

    @cached_property
    def method(self) -> TablePublisher:
        """The method of its answers."""
        return self.catalogue.method.with_files_read()

    @cached_property
    def levels(self) -> dict[str, tuple[VariableLevel, ...]]:
        """Levels of each variable."""
        return {name: levels_of(name, hierarchy) for name, hierarchy in self.hierarchies.items()}

    @cached_property
    def conditions(self) -> dict[str, tuple[Condition, ...]]:
        """Conditions of each universe."""
        return self.catalogue.conditions

    @cached_property
    def shortcut(self) -> Shortcut:
        """The short way to plain counts."""
        return Shortcut(self)

    @property
    def geography(self) -> str | None:
        """The variable of areas."""
        return None if self.catalogue.geography is None else self.catalogue.geography.variable

    @property
    def areas(self) -> Hierarchy | None:
        """The hierarchy of areas."""
        return None if self.geography is None else self.hierarchies[self.geography]

    @cached_property
    def refused(self) -> dict[str, frozenset[str]]:
        """Areas that each universe is not answered for."""
        return {name: frozenset(areas) for name, areas in self.facts.refused.items()}

    def where(self, question: Question) -> tuple[Condition, ...]:
        """Which records a question is about."""
        where = self.conditions[question.universe]
        if question.area is None or self.areas is None or question.area == self.areas.total:
            return where
        return (*where, self.larger_areas.get(question.area) or _lying_in(str(self.geography), [question.area]))

    @cached_property
    def larger_areas(self) -> dict[str, Condition]:
        """What records of each area with others in it meet: made for all at once, whoever asks for which."""
        if self.areas is None:
            return {}
        found = {}
        for code, base in zip(self.areas.codes, self.areas.base.tolist(), strict=True):
            if not base and code != self.areas.total:
                found[code] = _lying_in(str(self.geography), self.areas.covered(code))
                found[code].canonical()  # kept with it
        return found

    def without_area(self, question: Question) -> Question:
        """The table that the table of one area is a part of: that of all areas of its kind."""
        if question.area is None or self.areas is None:
            return question
        if "whole" not in question.kept:
            question.kept["whole"] = self._without_area(question)
        found: Question = question.kept["whole"]
        return found

    def _without_area(self, question: Question) -> Question:
        assert question.area is not None
        assert self.areas is not None
        depth = int(self.areas.depth[self.areas.index[question.area]])
        if depth == 0:
            return replace(question, area=None)
        depth = min(depth, len(self.levels[str(self.geography)]))
        variables = tuple(sorted((*question.variables, (str(self.geography), depth))))
        return replace(question, area=None, variables=variables)

    def hypercube(self, universe: str, value: str | None, key: Key | None) -> PublicTable:
        """The one protected table of a universe that answers are sums of; it is made once."""
        with self._lock:
            if (universe, value) not in self._hypercubes:
                finest = tuple((name, len(self.levels[name])) for name in sorted(self.policy.hypercube))
                data, spec = self.asked(Question(self.name, self.edition, universe, None, finest, value))
                release = protect(data, self.method, tables=[spec], key=key)
                self._hypercubes[universe, value] = release.public.tables[0]
            return self._hypercubes[universe, value]

    def asked(self, question: Question) -> tuple[Microdata, TableSpec]:
        """The records and the table of a question, as :func:`discreet.protect` takes them."""
        chosen = {name: self.levels[name][level - 1] for name, level in question.variables}
        recode = {name: level.recode for name, level in chosen.items() if level.recode}
        data = self.data.with_(recode=recode) if recode else self.data
        by = {name: level.hierarchy for name, level in chosen.items()}
        return data, TableSpec(
            by=by, value=question.value, where=self.where(question), period=self.catalogue.period, holders=False
        )


def _lying_in(variable: str, codes: Collection[str]) -> Condition:
    return Condition(variable, "==" if len(codes) == 1 else "in", tuple(codes))


# ---- making -------------------------------------------------------------------------------------------------


def build_dataset(
    catalogue: str | Path,
    folder: str | Path,
    *,
    key: Key,
    sign: str | Path | None = None,
    allow_outside: bool = False,
) -> Dataset:
    """Make the folder of a data set, which never changes afterwards.

    Parameters
    ----------
    catalogue
        The file that describes it; paths in it are relative to its folder.
    folder
        Where it is to lie; it must not exist.
    key
        The secret that record keys are made with. A correction of the same records takes the same key.
    sign
        File of the signing key of the office.
    allow_outside
        Whether the catalogue may name files outside of its own folder.

    Raises
    ------
    InputError, ParameterError
        When the catalogue or the records are not as they should be.
    ProtectionError
        When a universe is too small, or too near to another one.
    OutputError
        When the folder exists.
    """
    from discreet.engine.column_writer import write_columns
    from discreet.recipe.job import RecipeJob

    found = read_catalogue(catalogue)
    path = Path(folder)
    if os.path.lexists(path):
        raise OutputError(
            f"{path.name!r} exists, and a data set never changes.",
            hint="A correction is a new edition: another folder.",
        )
    signer = None if sign is None else SigningKey.from_file(sign)
    job = RecipeJob(_as_recipe(found), Path(catalogue).parent, allow_outside)
    source = job.source()
    hierarchies = {
        name: _labelled(job.hierarchy(name, source), found.variables[name].names) for name in found.variables
    }
    for name, hierarchy in hierarchies.items():
        levels_of(name, hierarchy)
    data = job.microdata()
    part = path.with_name(f".{path.name}.partial-{os.getpid()}")
    part.mkdir(mode=0o750)
    try:
        keys = _made_keys(found, data, key)
        write_columns(
            data,
            part / COLUMNS,
            variables=hierarchies,
            numbers=list(found.values),
            weight=data.weight,
            geography=None if found.geography is None else found.geography.variable,
            keys=keys,
            universes={name: where for name, where in found.conditions.items() if where},
        )
        _write(part / "catalogue.json", msgspec.json.format(msgspec.json.encode(found), indent=1))
        facts = _facts(found, open_columns(part / COLUMNS), hierarchies, data)
        _write(part / "facts.json", msgspec.json.format(msgspec.json.encode(facts), indent=1))
        _write_manifest(part, found, key, keys, signer)
        part.rename(path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return open_dataset(path)


def _write_manifest(
    part: Path, catalogue: Catalogue, key: Key, keys: MadeKeys | None, signer: SigningKey | None
) -> None:
    """Write what the folder holds, and sign it."""
    manifest = DatasetManifest(
        format=FORMAT,
        name=catalogue.name,
        edition=catalogue.edition,
        key=key.fingerprint if keys is not None else _brought_keys(open_columns(part / COLUMNS)),
        key_version=1 if keys is None else keys.version,
        files={name: digest_of_file(part / name) for name in (*FILES, f"{COLUMNS}/manifest.json")},
    )
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    _write(part / MANIFEST, text)
    if signer is not None:
        _write(part / SIGNATURE, signer.signature(text).encode())


def _as_recipe(catalogue: Catalogue) -> Recipe:
    """What a recipe would say of the same records."""
    parts = {name: part.hierarchy for name, part in catalogue.variables.items() if part.hierarchy is not None}
    return Recipe(version=1, data=catalogue.data, hierarchies=parts, protect=[], output=OutputPart(directory="."))


def _labelled(hierarchy: Hierarchy, names: Mapping[str, str]) -> Hierarchy:
    return hierarchy.labelled({**hierarchy.labels, **names}) if names else hierarchy


def _made_keys(catalogue: Catalogue, data: Microdata, key: Key) -> MadeKeys | None:
    """How record keys are made, where the method needs some and the records bring none."""
    method = catalogue.method
    if method.kind != "cell_key" or data.record_key is not None:
        return None
    identifier = getattr(method, "identifier", None)
    if identifier is not None:
        raise ParameterError(
            "identifier of the method is that of [data] in a catalogue.",
            hint=f'Write identifier = ["{identifier}"] in [data] and leave it out of method.',
        )
    if len(data.identifier) != 1:
        raise NeedsError(
            "Record keys are made of one column of identifiers, and [data] of the catalogue names "
            + ("none." if not data.identifier else "several."),
            hint='Write identifier = ["person"] in [data], or record_key = "..." where the records bring keys.',
        )
    modulus, version = getattr(method, "modulus", None), getattr(method, "version", 1)
    return MadeKeys(data.identifier[0], key.secret, int(version), modulus)


def _brought_keys(columns: Columns) -> str:
    """What stands for record keys that the records brought: the digest of all of them; empty where there are none."""
    kept = columns.manifest.keys
    return "" if kept is None else f"records:{columns.manifest.files[kept.column.file].sha256}"


def _facts(catalogue: Catalogue, columns: Columns, hierarchies: Mapping[str, Hierarchy], data: Microdata) -> Facts:
    areas = None if catalogue.geography is None else hierarchies[catalogue.geography.variable]
    atoms = count_atoms(columns, catalogue.conditions.values(), areas)
    policy = catalogue.policy
    if policy.mode == "hypercube":
        variance, most = 1.0, float("inf")
    else:
        variance = noise_variance(catalogue.method)
        most = largest_precision(policy.exact_share, variance)
    errors = None
    if catalogue.quality is not None:
        geography = None if catalogue.geography is None else catalogue.geography.variable
        errors = error_curve(catalogue.quality, data, [name for name in hierarchies if name != geography])
    return Facts(
        refused=refused_areas(catalogue, areas, atoms),
        most_precision=min(most, 1e9),
        variance=variance,
        errors=errors,
    )


# ---- opening ------------------------------------------------------------------------------------------------


def open_dataset(folder: str | Path, *, signed_by: str | Path | None = None, check: str = "sizes") -> Dataset:
    """Open the folder of a data set.

    Parameters
    ----------
    folder
        What :func:`build_dataset` made.
    signed_by
        File of the public key that must have signed it.
    check
        ``"sizes"``, or ``"hashes"`` to read all columns and compare their digests.

    Raises
    ------
    InputError
        When a file is missing, changed or not signed by that key.
    """
    path = Path(folder)
    manifest = checked_manifest(path, signed_by=signed_by)
    catalogue = catalogue_of(json.loads((path / "catalogue.json").read_bytes()))
    facts = msgspec.json.decode((path / "facts.json").read_bytes(), type=Facts)
    columns = open_columns(path / COLUMNS, check)  # type: ignore[arg-type]
    hierarchies = {name: columns.hierarchy(name) for name in catalogue.variables}
    data = Microdata(path / COLUMNS, engine="columns", **_roles(columns.manifest))
    return Dataset(path, catalogue, facts, manifest, hierarchies, data)


def _roles(manifest: Any) -> dict[str, Any]:
    """Roles that tables look at, from the columns themselves."""
    found: dict[str, Any] = {"weight": manifest.weight}
    if manifest.keys is not None:
        found["record_key"] = manifest.keys.name
    if manifest.contributor is not None:
        found["contributor"] = manifest.contributor.name
    return found


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o440), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


__all__ = ["EVERYBODY", "Dataset", "build_dataset", "open_dataset"]
