"""The method ``MaskResidual``: mask, mask what that took away, and add it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from discreet.engine.draws import draws, fractions
from discreet.errors import InputError, ParameterError, ProtectionError, counted, listed
from discreet.keys import Key
from discreet.methods.base import Keyed, RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.methods.registry import method_from_record
from discreet.model.arrays import Floats, Ints
from discreet.model.claims.residual import residual_claim
from discreet.model.evidence import Evidence
from discreet.model.records import RecordSet
from discreet.parameters import AtLeastOne, Number, Share
from discreet.records.exact_columns import FLOAT_LIMIT, WHOLE_LIMIT, ExactColumn
from discreet.records.residual_noise import local_moments, noise_of, repaired_covariance, split_cells
from discreet.records.value_columns import (
    exact_column,
    rows_by_kind,
    stratum_of,
    unknown_by_accident,
    value_columns,
    with_units,
)
from discreet.rules.linkage import MaxLinked

if TYPE_CHECKING:
    import pyarrow as pa

NOISE = ("gaussian", "local")
NEAR = 0.01
"""A record whose numbers all lie within this share of a standard deviation of the original ones is re-created."""


@dataclass(frozen=True)
class MaskResidual(Keyed, RecordMethod):
    """Mask numbers in two stages: a strong one, and a second one for what the first took away, which is added back.

    A first stage such as microaggregation along one score is hard to undo and shrinks the data. The second masks the
    residual and repairs the loss; the more exactly it does, the nearer it comes to the original. So the method measures
    how many records are found again, and refuses what lies above the limit.

    Parameters
    ----------
    first
        A method for values, such as ``ds.Microaggregate(["x", "y"], 3, "sum")``; or another ``MaskResidual``, for more
        than two stages.
    second
        A method that masks the residuals; or ``"gaussian"``, noise with the covariance that the first stage took away;
        or ``"local"``, noise with mean and covariance of the residuals nearby.
    sign
        ``"repair"`` adds back what the first stage took away (original minus masked). ``"reflect"`` adds what it added
        (masked minus original) again, which moves records to the other side of their group.
    partitions
        Number of cells of local noise.
    most_linked
        The largest share of records that may be found again by their nearest numbers.
    decimals
        Decimals of the values that are published; as many as both stages give where left out.
    nonnegative
        Let values below zero become zero. The release says how many did.
    version
        Version of the draws.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> firms = ds.Microdata(pa.table({"x": [3, 8, 5, 9, 1, 7, 2, 6, 4], "y": [1, 9, 4, 7, 3, 5, 2, 8, 6]}))
    >>> first = ds.Microaggregate(["x", "y"], 3, "sum")
    >>> method = ds.MaskResidual(first, "local", partitions=1, most_linked=0.5, insecure_seed=5)
    >>> ds.protect(firms, method).verify().holds
    True
    """

    kind: ClassVar[str] = "mask_residual"
    first: Any
    second: Any = "local"
    sign: Literal["repair", "reflect"] = "repair"
    partitions: AtLeastOne = 100
    most_linked: Share = 0.05
    decimals: Annotated[int, Number(least=0, most=9)] | None = None
    nonnegative: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for stage in ("first", "second"):
            given = getattr(self, stage)
            if isinstance(given, Mapping):
                given = method_from_record(given)
                object.__setattr__(self, stage, given)
            self._refuse_stage(stage, given)

    def _refuse_stage(self, stage: str, given: Any) -> None:
        if stage == "second" and isinstance(given, str) and given in NOISE:
            return
        about_values = isinstance(given, RecordMethod) and (
            isinstance(given, MaskResidual) or "columns" in given.__dataclass_fields__
        )
        if not about_values or (stage == "second" and isinstance(given, MaskResidual)):
            noise = ', "gaussian" or "local"' if stage == "second" else ""
            raise ParameterError(
                f"{stage}= is no method that masks columns of numbers.",
                hint=f"Give a method such as ds.Microaggregate([...], 3, 'sum') or ds.RankSwap([...]){noise}.",
            )
        if isinstance(given, Keyed) and (given.key_file is not None or given.insecure_seed is not None):
            raise ParameterError(
                f"The {stage} stage has a key of its own.", hint="Give key_file= or insecure_seed= to MaskResidual."
            )

    @property
    def secret(self) -> bool:
        """Whether one of the stages draws at random."""
        return isinstance(self.second, str) or bool(self.first.secret) or bool(self.second.secret)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that it takes numbers from."""
        return tuple(self.first.numbers)

    def record(self) -> dict[str, Any]:
        """The method as plain data."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        second = self.second if isinstance(self.second, str) else self.second.record()
        return {"method": self.kind, **plain, "first": self.first.record(), "second": second}

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Mask the columns, then the residuals."""
        names = value_columns(records, _innermost(self.first), "MaskResidual")
        old = [exact_column(records, name) for name in names]
        first = self.first if isinstance(self.first, MaskResidual) else replace(self.first, columns=names)
        outcome = first.run(records, key if first.secret else None)
        masked = _stage_columns(records, outcome, names, old, "first")
        sign = 1 if self.sign == "repair" else -1
        residual = [_difference(a, b, sign, name) for a, b, name in zip(old, masked, names, strict=True)]
        facts: dict[str, Any] = {"columns": list(names), "first": _plain(outcome.evidence), "cut": 0}
        parts = _prefixed("first", outcome.evidence) | _values("first", masked)
        notes = list(outcome.notes)
        if isinstance(self.second, str):
            assert key is not None
            back, facts["cut"], parts["cell"] = self._noise(records, key, names, old, masked, residual)
        else:
            back, second = self._masked_residual(records, key, names, residual)
            facts["second"] = _plain(second.evidence)
            parts |= _prefixed("second", second.evidence)
            notes += second.notes
        parts |= _values("second", back)
        changed = self._added(records, names, masked, back, facts)
        self._judge(records, changed, facts)
        facts["drawn"] = self.secret
        facts["insecure"] = bool(key is not None and key.insecure and self.secret)
        for stage, columns in (("first", masked), ("residual", residual), ("second", back)):
            facts[f"{stage}_decimals"] = [column.decimals for column in columns]
            facts[f"{stage}_whole"] = [column.whole for column in columns]
        plain = self.record()
        evidence = Evidence(plain, residual_claim(plain, facts), facts=facts, parts={"records": parts})
        if facts["cut"]:
            notes.append(f"{counted(facts['cut'], 'eigenvalue')} of the covariance of the noise lay below zero: cut.")
        return RecordOutcome(changed, evidence, tuple(notes))

    def _masked_residual(
        self, records: RecordSet, key: Key | None, names: Sequence[str], residual: Sequence[ExactColumn]
    ) -> tuple[list[ExactColumn], RecordOutcome]:
        """The residuals after the second stage. No residual stands for "unknown", whatever its number."""
        if self.second.columns and tuple(self.second.columns) != tuple(names):
            raise ParameterError(
                f"The stages are about different columns: {listed(names)}, and {listed(self.second.columns)}.",
                hint="Leave the columns of the second stage out.",
            )
        info = {**records.info, **{name: replace(records.about(name), missing=()) for name in names}}
        plain = replace(records, info=info)
        left = plain.with_columns({n: _column(one) for n, one in zip(names, residual, strict=True)})
        second = replace(self.second, columns=tuple(names))
        outcome = second.run(left, key if second.secret else None)
        return _stage_columns(left, outcome, names, residual, "second"), outcome

    def _noise(
        self,
        records: RecordSet,
        key: Key,
        names: Sequence[str],
        old: Sequence[ExactColumn],
        masked: Sequence[ExactColumn],
        residual: Sequence[ExactColumn],
    ) -> tuple[list[ExactColumn], int, Ints]:
        """Noise with the moments of the residuals, in their units; cells of records by their masked values."""
        from scipy.special import ndtri

        assert records.identity is not None
        empty = [name for name, column in zip(names, old, strict=True) if column.gaps.any()]
        if empty:
            raise InputError(
                f"Empty fields stand in {listed(empty)}, and noise is drawn for whole records.",
                hint='Fill them in first, or let second= be a method, such as ds.Microaggregate(k=3, missing="apart").',
            )
        told = self.first.record(), self.second, self.sign, self.partitions, list(names), list(records.strata)
        chance = [
            fractions(draws(key.secret, self.purpose(f"residual noise/{name}", *told), self.version, records.identity))
            for name in names
        ]
        normal = ndtri(np.stack(chance, axis=1) + 2.0**-54)
        before, after, left = (
            np.stack([column.units / 10.0**column.decimals for column in columns], axis=1)
            for columns in (old, masked, residual)
        )
        # Sums in another order differ in their last bits: rows stand in the order of who they are.
        ordered = np.argsort(records.identity, kind="stable")
        spread = before[ordered].std(axis=0)
        points = after / np.where(spread > 0, spread, 1.0)
        noise, cell, cut, next_cell = np.zeros_like(left), np.zeros(len(records), np.int64), 0, 0
        for places in rows_by_kind(stratum_of(records)[ordered]):
            rows = ordered[places]
            if self.second == "gaussian":
                covariance = repaired_covariance(before[rows], after[rows])
                moments = [(np.arange(len(rows)), np.zeros(len(names)), covariance)]
                own = np.zeros(len(rows), np.int64)
            else:
                share = max(1, round(self.partitions * len(rows) / len(records)))
                own = split_cells(points[rows], records.identity[rows], share)
                moments = local_moments(left[rows], own)
            noise[rows], negative = noise_of(normal[rows], moments)
            cell[rows], cut, next_cell = own + next_cell, cut + negative, next_cell + int(own.max()) + 1
        return [_with_noise(column, mine) for column, mine in zip(residual, noise.T, strict=True)], cut, cell

    def _added(
        self,
        records: RecordSet,
        names: Sequence[str],
        masked: Sequence[ExactColumn],
        back: Sequence[ExactColumn],
        facts: dict[str, Any],
    ) -> dict[str, pa.ChunkedArray]:
        """What is published: the first stage and what the second gives back, rounded where asked."""
        changed, facts["decimals"], facts["clipped"] = {}, [], []
        for name, one, two in zip(names, masked, back, strict=True):
            units, most = _summed(one, two, 1)
            decimals = most if self.decimals is None else self.decimals
            units = _rounded(units, most, decimals)
            below = (units < 0) & ~one.gaps if self.nonnegative else np.zeros(len(units), np.bool_)
            units[below] = 0
            whole = one.whole and two.whole and decimals == 0
            column = replace(one, units=_fitting(units, whole, decimals, name), decimals=decimals, whole=whole)
            changed[name] = with_units(records[name], column.units, column, decimals, name)
            if unknown_by_accident(changed[name], one.gaps, records.about(name).missing):
                raise InputError(
                    f'A value of column {name!r} came out as a code for "unknown".',
                    hint="Give other decimals= or another version=, or empty the fields that hold such codes first.",
                )
            facts["decimals"].append(decimals)
            facts["clipped"].append(int(below.sum()))
        return changed

    def _judge(self, records: RecordSet, changed: Mapping[str, pa.ChunkedArray], facts: dict[str, Any]) -> None:
        """Refuse what gives the original back, and what lies above the limit."""
        from discreet.rules.linkage import standardised_pair

        released = records.with_columns(changed)
        before, after = standardised_pair(records, released, facts["columns"])
        facts["recreated"] = int((np.abs(before - after).max(axis=1) < NEAR).sum())
        second = self.second if isinstance(self.second, str) else self.second.kind
        if 2 * facts["recreated"] > len(records):
            raise ProtectionError(
                f"The second stage ({second}) re-creates the original values of "
                f"{counted(facts['recreated'], 'record')} of {len(records):,}.",
                hint='Let it mask more, or use sign="reflect".',
            )
        facts["linked"] = MaxLinked(self.most_linked, facts["columns"]).links(records, released).share
        if facts["linked"] > self.most_linked:
            raise ProtectionError(
                f"After the second stage ({second}), {facts['linked']:.1%} of the records are found again by their "
                f"nearest numbers; at most {self.most_linked:.1%} are allowed.",
                hint='Let it mask more, use sign="reflect", or raise most_linked.',
            )


def _innermost(first: RecordMethod) -> tuple[str, ...]:
    """Columns of the first of all stages."""
    return _innermost(first.first) if isinstance(first, MaskResidual) else tuple(getattr(first, "columns", ()))


def _plain(evidence: Evidence) -> dict[str, Any]:
    """The evidence of a stage as plain data, without what it says of every row."""
    claim = evidence.claim
    said = {
        "statement": claim.statement,
        "attackers": list(claim.attackers),
        "not_considered": list(claim.not_considered),
    }
    return {"method": dict(evidence.method), "claim": said, "facts": dict(evidence.facts)}


def _prefixed(stage: str, evidence: Evidence) -> dict[str, Ints]:
    return {f"{stage}_{name}": rows for name, rows in evidence.parts.get("records", {}).items()}


def _values(stage: str, columns: Sequence[ExactColumn]) -> dict[str, Ints]:
    return {f"{stage}_value_{place}": column.units for place, column in enumerate(columns)}


def _stage_columns(
    records: RecordSet, outcome: RecordOutcome, names: Sequence[str], old: Sequence[ExactColumn], stage: str
) -> list[ExactColumn]:
    """What a stage made of the columns, in units; refused where it changed others, or emptied fields."""
    after = records.with_columns(outcome.changed)
    found = [exact_column(after, name) for name in names]
    other = set(outcome.changed) ^ set(names)
    if other or any(np.any(a.gaps != b.gaps) for a, b in zip(old, found, strict=True)):
        raise ParameterError(
            f"The {stage} stage ({outcome.evidence.claim.method}) does not just change the values of {listed(names)}.",
            hint="Give a method that masks numbers and leaves everything else as it is.",
        )
    return found


def _summed(one: ExactColumn, two: ExactColumn, sign: int) -> tuple[Any, int]:
    """Sum or difference of two columns, exact, and its decimals."""
    most = max(one.decimals, two.decimals)
    first = one.units.astype(object) * 10 ** (most - one.decimals)
    return first + sign * (two.units.astype(object) * 10 ** (most - two.decimals)), most


def _difference(old: ExactColumn, masked: ExactColumn, sign: int, name: str) -> ExactColumn:
    units, most = _summed(old, masked, -1)
    whole = old.whole and masked.whole
    units = np.where(old.gaps, 0, sign * units)
    return ExactColumn(_fitting(units, whole, most, name), old.gaps, most, whole)


def _rounded(units: Any, most: int, decimals: int) -> Any:
    """Units with other decimals; halves are rounded up."""
    if decimals >= most:
        return units * 10 ** (decimals - most)
    step = 10 ** (most - decimals)
    return (2 * units + step) // (2 * step)


def _fitting(units: Any, whole: bool, decimals: int, name: str) -> Ints:
    limit = WHOLE_LIMIT if whole else FLOAT_LIMIT
    if len(units) and max(abs(int(units.max())), abs(int(units.min()))) >= limit:
        raise InputError(
            f"Column {name!r} holds numbers too large for {counted(decimals, 'decimal')}.",
            hint="Give decimals= to the stages, or express the column in a larger unit.",
        )
    return np.asarray(units, np.int64)


def _with_noise(residual: ExactColumn, noise: Floats) -> ExactColumn:
    units = np.floor(noise * 10.0**residual.decimals + 0.5)
    return replace(residual, units=np.asarray(units, np.int64))


def _column(column: ExactColumn) -> pa.ChunkedArray:
    import pyarrow as pa

    values = column.units if column.whole and column.decimals == 0 else column.units / 10.0**column.decimals
    return pa.chunked_array([pa.array(values, mask=column.gaps)])
