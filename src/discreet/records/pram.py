"""The method ``Pram``: draw codes anew with the chances of a transition matrix (post-randomisation)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from discreet.engine.draws import draws, fractions
from discreet.errors import (
    InputError,
    ParameterError,
    ProtectionError,
    counted,
    listed,
    unknown_codes,
    unknown_name,
)
from discreet.keys import Key
from discreet.measures.pram import pram_losses
from discreet.methods.base import Keyed, RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Floats, Ints
from discreet.model.claims.pram import pram_claim
from discreet.model.evidence import Evidence
from discreet.model.records import HOUSEHOLD, NEVER_PUBLIC, WEIGHT, RecordSet, code_text, stands_for_unknown
from discreet.model.transition import ILL_CONDITIONED, NEARLY_ONE, SINGULAR, TransitionMatrix, checked_chances
from discreet.model.transition_codes import coded, in_order
from discreet.model.transition_families import MatrixNotation, invariant_chances, read_notation
from discreet.progress import steps as in_steps
from discreet.records.pram_drawing import drawn_codes

if TYPE_CHECKING:
    import pyarrow as pa

NOT_DRAWN = (*NEVER_PUBLIC, HOUSEHOLD, WEIGHT)
"""Roles of columns that are no codes."""
MOST_CODES, MOST_ENTRIES = 1000, 1_000_000
"""Codes of a column, and entries of all matrices of a column, at most."""


class PramColumn(NamedTuple):
    """A column before it is drawn: codes, places (-1 for what stays empty), counts by stratum, codes for "unknown".

    ``empty`` says whether the code ``""`` is that of empty fields.
    """

    codes: list[str]
    place: Ints
    counts: Ints
    unknown: list[str]
    empty: bool


@dataclass(frozen=True)
class Pram(Keyed, RecordMethod):
    """Draw codes of columns anew, for every record and column by itself, with the chances of a transition matrix.

    Whoever finds a person by its codes cannot be sure of them, and whoever knows the matrix can correct counts
    (:func:`discreet.pram_estimates`).

    Parameters
    ----------
    matrices
        For every column its matrix: a family by its notation (``"2E(0.8)"``, ``"7B(0.6;3)"``, ``"7F(0.8)"``,
        ``"Block(2; 4E(0.8); 3E(0.6))"``, or ``"E(0.8)"`` for any number of codes); a mapping from original codes to
        published codes to chances; or rows of chances, with ``codes``.
    codes
        For a column the codes in their order. Where left out these are the codes that occur: numbers by size, text by
        the alphabet.
    invariant
        Move a second time, back by the chances of Bayes: the expected counts are then those before, and readers need
        no matrix to count.
    within
        Columns in whose codes matrices are made apart (those that depend on counts, or on which codes occur); the
        strata of the records where left out.
    missing
        Empty fields and codes that stand for "unknown" stay (``"stays"``), or are drawn like all others
        (``"category"``); the code of an empty field is then ``""``.
    publish
        Columns whose matrices are published with the records, for analysts.
    version
        Version of the draws.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Notes
    -----
    Source: de Wolf (2006).

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = ds.Microdata(pa.table({"sex": ["m", "f"] * 500, "job": ["a", "b", "c", "a"] * 250}))
    >>> release = ds.protect(people, ds.Pram({"sex": "2E(0.8)", "job": "E(0.9)"}, publish=["sex"], insecure_seed=1))
    >>> release.verify().holds, [matrix.column for matrix in release.public.records.matrices]
    (True, ['sex'])
    """

    kind: ClassVar[str] = "pram"
    secret: ClassVar[bool] = True
    matrices: Mapping[str, Any]
    codes: Mapping[str, Any] = field(default_factory=dict)
    invariant: bool = False
    within: tuple[str, ...] | None = None
    missing: Literal["stays", "category"] = "stays"
    publish: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.matrices:
            raise ParameterError("Pram has no matrix.", hint="For example ds.Pram({'sex': '2E(0.8)'}).")
        for option, names in (("codes", self.codes), ("publish", self.publish)):
            for name in names:
                if name not in self.matrices:
                    raise ParameterError(unknown_name("column", name, self.matrices, f"matrices ({option})"))
        object.__setattr__(self, "publish", tuple(dict.fromkeys(self.publish)))
        codes = {name: _names(name, given) for name, given in self.codes.items()}
        object.__setattr__(self, "codes", codes)
        made = {name: _plain_matrix(name, given, codes.get(name)) for name, given in self.matrices.items()}
        made = dict(sorted(made.items()))  # as files have them, so that all else follows in the same order
        object.__setattr__(self, "matrices", made)
        object.__setattr__(self, "codes", {name: given for name, given in codes.items() if isinstance(made[name], str)})
        for name in self.within or ():
            if name in made:
                raise ParameterError(
                    f"{name!r} is drawn anew and cannot be a stratum, too.",
                    hint="Take it out of within, or of matrices.",
                )

    # ---- on the records ------------------------------------------------------------------------------------

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Draw the codes."""
        assert key is not None
        assert records.identity is not None
        within = self._within(records)
        strata, stratum = _strata(records, within)
        changed: dict[str, pa.ChunkedArray] = {}
        facts: dict[str, Any] = {"columns": list(self.matrices), "changed": [], "rows": len(records)}
        entries, findings, notes = [], [], []
        for name in in_steps("records", list(self.matrices)):
            column = self._column(records, name, stratum, len(strata))
            matrices, of = self._matrices(name, column, within, strata)
            fraction = fractions(draws(key.secret, f"pram/{name}", self.version, records.identity))
            codes = list(dict.fromkeys([*column.codes, *(code for matrix in matrices for code in matrix.codes)]))
            drawn = drawn_codes(column.place, of[stratum], codes, matrices, fraction)
            changed[name] = _values(name, records[name], codes, drawn.place, empty=column.empty)
            facts["changed"].append(int((drawn.place != column.place).sum()))
            entries += [{**m.record(), "moves": moves.tolist()} for m, moves in zip(matrices, drawn.moves, strict=True)]
            said, amplified = _loss_words(name, matrices, drawn.moves)
            findings.append(said)
            if not self.invariant or name in self.publish:  # readers of the others need no inverse
                notes += [*_warned(name, matrices), *amplified]
        facts |= {"within": list(within), "matrices": entries, "insecure": key.insecure}
        plain = self.record()
        evidence = Evidence(plain, pram_claim(plain, facts), facts=facts, findings=tuple(findings))
        return RecordOutcome(changed, evidence, tuple(notes))

    def _within(self, records: RecordSet) -> tuple[str, ...]:
        """The columns of strata."""
        within = records.strata if self.within is None else self.within
        for name in within:
            records[name]  # refuses what is not there
            if name in self.matrices:
                raise ParameterError(
                    f"{name!r} is drawn anew and cannot be a stratum, too.",
                    hint="Give within=[] to make matrices for all records, or leave the column out of matrices.",
                )
            if self.publish and records.about(name).role in (*NEVER_PUBLIC, HOUSEHOLD):
                raise ParameterError(
                    f"Matrices within {name!r} are of no use to readers, who do not see it.",
                    hint="Leave publish out, or take other columns for within.",
                )
        return tuple(within)

    def _column(self, records: RecordSet, name: str, stratum: Ints, strata: int) -> PramColumn:
        """A column as codes and places; whatever cannot be drawn is refused."""
        role = records.about(name).role
        column = records[name]
        if role in NOT_DRAWN:
            raise ParameterError(f"Column {name!r} is the {role}, and holds no codes to draw.", hint="Leave it out.")
        if str(column.type) not in ("string", "int64", "double", "bool"):
            raise InputError(f"Column {name!r} holds {column.type}, not codes.", hint="Recode it to text first.")
        codes, place = coded(column)
        if column.null_count and "" in codes:
            raise InputError(
                f"Column {name!r} has empty fields and fields of empty text, which files do not tell apart.",
                hint="Recode one of them first.",
            )
        empty = self.missing == "category" and "" not in codes
        if empty and column.null_count:
            codes, place = [*codes, ""], np.where(place < 0, len(codes), place)
        counts = np.bincount(stratum[place >= 0] * len(codes) + place[place >= 0], minlength=strata * len(codes))
        stays = self.missing == "stays"
        unknown = [code for code in codes if stays and stands_for_unknown(code, records.about(name).missing)]
        if len(codes) == len(unknown):
            raise InputError(
                f"Column {name!r} has nothing to draw: every field is empty or stands for 'unknown'.",
                hint="Leave the column out, or give missing='category'.",
            )
        return PramColumn(codes, place, counts.reshape(strata, len(codes)), in_order(unknown), empty)

    # ---- matrices ------------------------------------------------------------------------------------------

    def _matrices(
        self, name: str, column: PramColumn, within: tuple[str, ...], strata: Sequence[tuple[str, ...]]
    ) -> tuple[list[TransitionMatrix], Ints]:
        """The matrices of a column, and the number of the one that is for each stratum."""
        notation = read_notation(self.matrices[name]) if isinstance(self.matrices[name], str) else None
        open_ended = notation is not None and notation.size is None and name not in self.codes
        apart = bool(within) and (self.invariant or (notation is not None and notation.looks_at_counts) or open_ended)
        listing = self._listing(name, column)
        if len(listing) > MOST_CODES or len(listing) ** 2 * (len(strata) if apart else 1) > MOST_ENTRIES:
            raise ParameterError(
                f"Column {name!r} has {counted(len(listing), 'code')}: its matrices would be too large.",
                hint=f"Recode it to at most {MOST_CODES} codes, or make matrices for fewer strata (within=).",
            )
        place = [column.codes.index(code) if code in column.codes else -1 for code in listing]
        counts = np.concatenate([column.counts, np.zeros((len(column.counts), 1), np.int64)], axis=1)[:, place]
        if not apart:
            found = [self._matrix(name, column, listing, counts.sum(axis=0), notation)]
            of = np.zeros(len(strata), np.int64)
        else:
            found, of = [], np.zeros(len(strata), np.int64)
            for number, (stratum, times) in enumerate(zip(strata, counts, strict=True)):
                some = [i for i, many in enumerate(times.tolist()) if many or not open_ended]
                if not some and not column.unknown:
                    continue  # nothing but empty fields, which stay
                of[number] = len(found)
                codes = [listing[i] for i in some]
                made = self._matrix(name, column, codes, times[some], notation)
                found.append(replace(made, within=within, stratum=stratum))
        self._refuse_standing_still(name, column, found, of, within)
        return found, of

    def _listing(self, name: str, column: PramColumn) -> list[str]:
        """The codes that the matrix is for: those that are named, or those that occur; never fewer than occur."""
        given = self.matrices[name]
        named = self.codes.get(name) if isinstance(given, str) else in_order(given)
        if named is None:
            return in_order(set(column.codes) - set(column.unknown))
        times = dict(zip(column.codes, column.counts.sum(axis=0).tolist(), strict=True))
        strange = {code: n for code, n in times.items() if code not in named and code not in column.unknown}
        if strange:
            raise unknown_codes(name, strange)
        return list(named)

    def _matrix(
        self, name: str, column: PramColumn, listing: Sequence[str], counts: Ints, notation: MatrixNotation | None
    ) -> TransitionMatrix:
        """The matrix of codes that occur so often; codes for "unknown" that are not among them stay."""
        times = counts.astype(np.float64)
        if notation is not None:
            chances = notation.chances(times) if listing else np.zeros((0, 0))
        else:
            rows = self.matrices[name]
            chances = np.array([[rows[code].get(to, 0.0) for to in listing] for code in listing])
        if self.invariant:
            chances = invariant_chances(chances, times)
        for at, code in enumerate(listing):
            if code in column.unknown and (chances[at, at] != 1 or chances[:, at].sum() != 1):
                raise ParameterError(
                    f"The matrix of {name!r} moves the code {code!r}, which stands for 'unknown'.",
                    hint="Give it a block of its own (1 in Block), leave it out of codes, or give missing='category'.",
                )
        besides = [code for code in column.unknown if code not in listing]
        whole = np.eye(len(listing) + len(besides))
        whole[: len(listing), : len(listing)] = chances
        return TransitionMatrix(name, (*listing, *besides), whole)

    def _refuse_standing_still(
        self, name: str, column: PramColumn, found: Sequence[TransitionMatrix], of: Ints, within: Sequence[str]
    ) -> None:
        """Refuse matrices that leave all records of a stratum as they are: it would pass for protected."""
        known = [i for i, code in enumerate(column.codes) if code not in column.unknown]
        still = judged = 0
        for number, matrix in enumerate(found):
            stays = dict(zip(matrix.codes, (np.diag(matrix.chances) > 1 - NEARLY_ONE).tolist(), strict=True))
            times = column.counts[of == number].sum(axis=0)
            there = [column.codes[i] for i in known if times[i]]
            judged += bool(there)
            still += bool(there) and all(stays[code] for code in there)
        if not still:
            return
        if len(found) == 1:
            raise ProtectionError(
                f"The matrix of {name!r} leaves every code that occurs as it is.",
                hint="A column of one code has nothing to move to. Leave it out, or give a matrix that moves codes.",
            )
        raise ProtectionError(
            f"In {still} of {judged} strata of {listed(within)}, the matrix of {name!r} leaves every code that occurs "
            "as it is: the strata are too small.",
            hint="Make broader strata (ds.Recode), or name other columns in within=.",
        )


# ---- parameters ---------------------------------------------------------------------------------------------


def _names(name: str, given: Any) -> list[str]:
    """Codes of a column as text, each once."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(code, str) for code in given):
        raise ParameterError(f"codes[{name!r}] takes codes in a list.", hint="Write codes in quotes: ['1', '2'].")
    if not given or len(set(given)) < len(given):
        raise ParameterError(f"codes[{name!r}] must name every code once.", hint="Correct the list.")
    return list(given)


def _plain_matrix(name: str, given: Any, codes: list[str] | None) -> str | dict[str, dict[str, float]]:
    """A matrix as plain data: a notation, or original codes to published codes to chances above 0."""
    if isinstance(given, str):
        notation = read_notation(given)
        if codes is not None and notation.size not in (None, len(codes)):
            raise ParameterError(
                f"{given!r} is for {counted(notation.size or 0, 'code')}, and codes[{name!r}] names {len(codes)}.",
                hint="Correct one of them.",
            )
        return given
    if isinstance(given, TransitionMatrix):
        matrix = given
    elif isinstance(given, Mapping):
        if not all(isinstance(row, Mapping) for row in given.values()):
            raise ParameterError(
                f"The matrix of {name!r} must give a row for each code.",
                hint="For example {'m': {'m': 0.8, 'f': 0.2}, 'f': {'f': 1}}.",
            )
        matrix = TransitionMatrix.from_mapping(name, given)
    else:
        if codes is None:
            raise ParameterError(
                f"The matrix of {name!r} does not say which codes it is for.", hint=f"Give codes={{{name!r}: [...]}}."
            )
        return _mapped(codes, checked_chances(name, codes, given))
    if codes is not None:
        raise ParameterError(f"The matrix of {name!r} names its codes already.", hint=f"Take {name!r} out of codes.")
    if matrix.within or not all(isinstance(code, str) for code in matrix.codes):
        raise ParameterError(
            f"The matrix of {name!r} must be for all records, with codes as text.", hint="Write codes in quotes."
        )
    return _mapped(matrix.codes, matrix.chances)


def _mapped(codes: Sequence[str], chances: Floats) -> dict[str, dict[str, float]]:
    rows = zip(codes, chances.tolist(), strict=True)
    return {code: {to: chance for to, chance in zip(codes, row, strict=True) if chance} for code, row in rows}


# ---- records ------------------------------------------------------------------------------------------------


def _strata(records: RecordSet, within: Sequence[str]) -> tuple[list[tuple[str, ...]], Ints]:
    """The strata, in the order of their codes, and the number of every record's stratum; empty fields are ``""``."""
    if not within:
        return [()], np.zeros(len(records), np.int64)
    columns = [coded(records[name]) for name in within]
    kinds, number = np.unique(np.stack([place for _, place in columns], axis=1), axis=0, return_inverse=True)
    named = [
        tuple("" if at < 0 else texts[at] for at, (texts, _) in zip(kind, columns, strict=True))
        for kind in kinds.tolist()
    ]
    strata = sorted(set(named))
    where = {stratum: i for i, stratum in enumerate(strata)}
    return strata, np.array([where[stratum] for stratum in named], np.int64)[number.ravel()]


def _values(name: str, column: pa.ChunkedArray, codes: Sequence[str], place: Ints, *, empty: bool) -> pa.ChunkedArray:
    """The column with other codes, of the same type; with ``empty`` the code ``""`` is an empty field."""
    import pyarrow as pa

    given = pa.array([None if code == "" and empty else code for code in codes], pa.string())
    try:
        words = given.cast(column.type)
    except pa.ArrowException:
        words = given.slice(0, 0)
    if [code_text("" if value is None else value) for value in words.to_pylist()] != list(codes):
        raise ParameterError(
            f"The matrix of {name!r} has codes that a column of {column.type} cannot hold.",
            hint="Write them as the records have them.",
        )
    return pa.chunked_array([words.take(pa.array(place, mask=place < 0))])


def _loss_words(name: str, matrices: Sequence[TransitionMatrix], moves: Sequence[Ints]) -> tuple[str, list[str]]:
    """What the draws cost, and where the inverse makes more noise than there is to see."""
    losses = [pram_losses(matrix, drawn) for matrix, drawn in zip(matrices, moves, strict=True)]
    information, expected = sum(one.information for one in losses), sum(one.expected_information for one in losses)
    text = f"{name}: information lost {information:,.1f}, expected {expected:,.1f} (base-10 logarithms)"
    varied = [one for one in losses if one.largest_variation >= 0]
    if not varied:
        return text, []
    middle, top = np.median([one.variation for one in varied]), max(one.largest_variation for one in varied)
    amplified = f"Corrected counts of {name!r} have a standard error above the count itself for some codes."
    text += f"; corrected counts vary by {middle:.2%} (median) and at most {top:.2%}"
    return text, [amplified] if top > 1 else []


def _warned(name: str, matrices: Sequence[TransitionMatrix]) -> list[str]:
    """Warn of matrices that analysts cannot invert."""
    worst = max(matrix.condition for matrix in matrices)
    if worst <= ILL_CONDITIONED:
        return []
    kind = "singular" if worst > SINGULAR else f"nearly singular (condition number {worst:.2g})"
    note = f"The matrix of {name!r} is {kind}: counts before cannot be estimated from the published records."
    warnings.warn(note, stacklevel=3)
    return [note]
