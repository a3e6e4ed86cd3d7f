"""Uniques that stand in the released file as well, and values that it gives away for sure: RepU and DiSCO.

The measures are those of Raab, Nowok and Dibben (2025), as synthpop 1.9 computes them; see ``docs/sources.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.attack.record_attack import RecordAttack
from discreet.attack.synthetic.asked import checked_attempts, named_columns, refuse_empty
from discreet.attack.synthetic.compared_files import ComparedFiles, FileColumns, compared_files
from discreet.attack.synthetic.controlled_attack import ControlledAttack, one_in_sample
from discreet.attack.synthetic.key_cells import SecretCells, SecretExclusions, key_cells
from discreet.attack.synthetic.plain_relations import plain_relations
from discreet.errors import ParameterError
from discreet.model.arrays import Bools, Floats, Ints

NUMBERS = (
    "unique_original",
    "unique_released",
    "unique_found",
    "replicated_uniques",
    "disclosive_original",
    "disclosive_released",
    "found",
    "disclosive",
    "disclosive_correct",
    "disclosive_both",
    "attributed",
    "attributed_at_random",
    "certain_correct",
)


@dataclass(frozen=True, eq=False, repr=False)
class AttributeDisclosure:
    """What keys give away, with a released file and with the original; shares from 0 to 1. For the custodian.

    Names that synthpop has for them stand in brackets. Shares are of all original records, those of
    ``unique_released`` and ``disclosive_released`` of all released ones, whatever was excluded.

    Parameters
    ----------
    unique_original, unique_released
        Records whose keys occur once in their file (UiO, UiS).
    unique_found
        Original uniques whose keys occur in the released file (UiOiS).
    replicated_uniques
        Original uniques whose keys occur once in the released file, too (RepU).
    disclosive_original, disclosive_released
        Records whose keys go with one value of the secret in their file (Dorig, Dsyn).
    found
        Original records whose keys occur in the released file (iS).
    disclosive
        Those whose keys go with one value there (DiS).
    disclosive_correct
        Those for whom this value is the true one (DiSCO).
    disclosive_both
        Those whose keys go with one value in the original, too (DiSDiO).
    attributed
        Mean share of the true value among released records with the keys (DCAPd).
    attributed_at_random
        The same for any two original records, whatever their keys (baseCAPd).
    certain_correct
        ``disclosive_correct`` of ``disclosive``, after exclusions (TCAP); NaN where nothing is disclosive.
    largest, mean
        Original records in the combinations of keys and secret that make up ``disclosive_correct``; many of them in one
        say that everybody could have known (max_denom, mean_denom).
    identity
        Replicated uniques as an attack.
    attribute
        Values that are given away for sure, as an attack.

    Examples
    --------
    See :func:`attribute_disclosure`.
    """

    unique_original: float
    unique_released: float
    unique_found: float
    replicated_uniques: float
    disclosive_original: float
    disclosive_released: float
    found: float
    disclosive: float
    disclosive_correct: float
    disclosive_both: float
    attributed: float
    attributed_at_random: float
    certain_correct: float
    largest: int
    mean: float
    identity: ControlledAttack
    attribute: ControlledAttack

    def to_dict(self) -> dict[str, float]:
        """The shares by name."""
        return {name: float(getattr(self, name)) for name in NUMBERS}

    def summary(self) -> str:
        """The numbers in lines."""
        lines = [
            f"unique by the keys: {self.unique_original:.1%} of the original; in the released file as well "
            f"{self.replicated_uniques:.1%}",
            f"secret known for sure by the keys: {self.disclosive_original:.1%} with the original; with the released "
            f"file {self.disclosive_correct:.1%} rightly, {self.disclosive - self.disclosive_correct:.1%} wrongly",
        ]
        return "\n".join([*lines, *(f"note: {note}" for note in self.attribute.notes)])

    __repr__ = summary


def attribute_disclosure(
    original: Any,
    released: Any,
    holdout: Any = None,
    *,
    keys: Sequence[str] | str,
    secret: str,
    exclude_values: Sequence[Any] = (),
    exclude_gaps: Sequence[str] = (),
    exclude_pairs: Sequence[tuple[str, Any, Any]] = (),
    largest: int | None = None,
    groups: Mapping[str, int] | None = None,
) -> AttributeDisclosure:
    """What somebody learns of a person's secret who looks their keys up in a released file, and believes it.

    Gaps are values like any other, and so are numbers unless they are grouped. Exclusions take records out of what is
    counted and never out of what it is a share of.

    Parameters
    ----------
    original, released, holdout
        Records the file was made from, the file, and records that were not used.
    keys
        Columns that the intruder knows.
    secret
        The column that is looked up.
    exclude_values
        Values of the secret that tell nothing, such as the most common one.
    exclude_gaps
        Columns whose gaps are not counted: the secret, or keys.
    exclude_pairs
        A key, its value and a value of the secret that everybody knows to go together; any number of them.
    largest
        Combinations of keys and secret with more records are not counted.
    groups
        For columns of numbers how many groups of about equal size are made of them, by the original.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"town": ["a", "a", "b", "c"], "job": ["x", "x", "y", "z"]})
    >>> made = pa.table({"town": ["a", "b", "c", "c"], "job": ["x", "z", "z", "y"]})
    >>> found = ds.attack.attribute_disclosure(people, made, keys="town", secret="job")
    >>> found.replicated_uniques, found.disclosive, found.disclosive_correct
    (0.25, 0.75, 0.5)
    """
    known = named_columns("keys", keys)
    if secret in known:
        raise ParameterError(f"secret={secret!r} is one of the keys.", hint="Name another column, or fewer keys.")
    files = compared_files(original, released, holdout, [*known, secret])
    excluded = SecretExclusions(
        tuple(exclude_values), tuple(exclude_gaps), tuple(tuple(pair) for pair in exclude_pairs),
        None if largest is None else checked_attempts(largest, "largest"),
    )  # fmt: skip
    return disclose(files, known, secret, excluded, groups or {})


def disclose(
    files: ComparedFiles, keys: Sequence[str], secret: str, excluded: SecretExclusions, groups: Mapping[str, int]
) -> AttributeDisclosure:
    """The measures on files that were read."""
    files = files.of([*keys, secret])
    refuse_empty(files, [*keys, secret])
    grouped_files = grouped(files, groups)
    cells = key_cells(grouped_files, secret, excluded, files)
    size, made = len(files.original), len(files.released)
    d, s = cells.kept_original, cells.kept_released
    by_key, by_key_released = cells.by_key(d), cells.by_key(s)
    once = by_key == 1
    replicated = once & (by_key_released == 1)
    share = cells.released_share(s, by_key_released)
    certain = (share == 1).astype(np.float64)
    in_certain = float(d[certain == 1].sum())
    sure = cells.kept(cells.original * cells.sure_released)
    there = cells.kept(cells.original * (cells.by_key(cells.released) > 0)[cells.key])
    pointed = cells.kept(cells.original * cells.any_sure[cells.key])
    both = cells.kept(cells.original * (cells.sure_released & cells.sure_original))
    asked = float((by_key * (np.bincount(cells.key, certain, cells.keys) > 0)).sum())
    notes = (*files.notes, *plain_relations(grouped_files, cells, sure))
    return AttributeDisclosure(
        unique_original=float(once.sum()) / size,
        unique_released=float((by_key_released == 1).sum()) / made,
        unique_found=float((once & (cells.by_key(cells.released) > 0)).sum()) / size,
        replicated_uniques=float(replicated.sum()) / size,
        disclosive_original=float(cells.kept(cells.original * cells.sure_original).sum()) / size,
        disclosive_released=float(cells.kept(cells.released * cells.sure_released).sum()) / made,
        found=float(there.sum()) / size,
        disclosive=float(pointed.sum()) / size,
        disclosive_correct=float(sure.sum()) / size,
        disclosive_both=float(both.sum()) / size,
        attributed=float((share * d).sum()) / size,
        attributed_at_random=float((cells.marginal**2).sum()),
        certain_correct=in_certain / asked if asked else float("nan"),
        largest=int(sure.max(initial=0)),
        mean=float(sure[sure > 0].mean()) if sure.any() else 0.0,
        identity=_identity(files, cells, replicated, tuple(keys)),
        attribute=replace(_attribute(files, cells, tuple(keys), secret), notes=notes),
    )


def _identity(files: ComparedFiles, cells: SecretCells, replicated: Bools, keys: tuple[str, ...]) -> ControlledAttack:
    """Replicated uniques as an attack: who finds one record in the released file takes it for the person."""
    mine = cells.cell_of_original
    chance = (replicated[cells.key[mine]] & (cells.kept_original[mine] > 0)).astype(np.float64)
    words, control, scale = "are unique and stand alone in the released file", None, 1.0
    if files.holdout is not None:
        size, held_size = len(files.original), len(files.holdout)
        smaller = min(size, held_size)
        alone = cells.by_key(cells.kept_released) == 1
        # The smaller a file, the more of its records are unique: both are compared at the size of the smaller one.
        held = cells.by_key(cells.kept_holdout)
        once = np.where(alone, one_in_sample(held, held_size, smaller), 0.0) / np.maximum(held, 1)
        theirs = cells.cell_of_holdout
        right = np.where(cells.kept_holdout[theirs] > 0, once[cells.key[theirs]], 0.0) * held_size / smaller
        thinned = one_in_sample(cells.by_key(cells.kept_original), size, smaller)[alone].sum() / smaller
        scale = float(chance.mean() / thinned) if thinned > 0 else 1.0
        control = RecordAttack("replicated uniques", words, "records", np.arange(held_size), right, 0.0, keys)
    return ControlledAttack(
        "replicated uniques", words, "records", np.arange(len(mine)), chance, 0.0, keys, notes=files.notes,
        control=control,
        scale=scale,
    )  # fmt: skip


def _attribute(files: ComparedFiles, cells: SecretCells, keys: tuple[str, ...], secret: str) -> ControlledAttack:
    """Values that are given away for sure, as an attack; the baseline guesses for the same people, at random."""
    words = f"find their true {secret!r} and no other beside their keys"

    def tried(cell: Ints, counts: Floats) -> tuple[Floats, float]:
        right = cells.kept(counts * cells.sure_released) > 0
        asked = cells.kept(counts * cells.any_sure[cells.key]) > 0
        return right[cell].astype(np.float64), float(asked[cell] @ cells.marginal[cells.secret[cell]]) / len(cell)

    chance, baseline = tried(cells.cell_of_original, cells.original)
    control = None
    if cells.holdout is not None:
        right, other = tried(cells.cell_of_holdout, cells.holdout)
        control = RecordAttack("attribute", words, "records", np.arange(len(right)), right, other, keys)
    return ControlledAttack(
        "attribute",
        words,
        "records",
        np.arange(len(chance)),
        chance,
        baseline,
        keys,
        notes=files.notes,
        control=control,
    )


def grouped(files: ComparedFiles, groups: Mapping[str, int]) -> ComparedFiles:
    """The same with groups of about equal size in place of some numbers."""
    for name, many in groups.items():
        place = files.place(name)
        if not files.number[place]:
            raise ParameterError(f"groups: column {name!r} holds no numbers.", hint="Name columns of numbers.")
        if isinstance(many, bool) or not isinstance(many, int) or many < 2:
            raise ParameterError(f"groups: {name!r} has {many!r} groups.", hint="Give a whole number of at least 2.")
        known = files.original.values[place][~np.isnan(files.original.values[place])]
        limits = np.unique(np.quantile(known, np.arange(1, many) / many))

        def cut(file: FileColumns, place: int = place, limits: Floats = limits) -> FileColumns:
            values = file.values.copy()
            there = ~np.isnan(values[place])
            values[place, there] = np.searchsorted(limits, values[place, there], "left")
            return replace(file, values=values)

        files = replace(
            files,
            original=cut(files.original),
            released=cut(files.released),
            holdout=None if files.holdout is None else cut(files.holdout),
        )
    return files
