"""The method ``RankSwap``: records exchange values with others of nearly the same rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.engine.draws import draws, fractions
from discreet.errors import InputError, ProtectionError, listed
from discreet.keys import Key
from discreet.methods.base import Keyed, RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Bools, Ints
from discreet.model.claims.rank_swap import rank_swapped_claim
from discreet.model.evidence import Evidence
from discreet.model.records import RecordSet
from discreet.parameters import Number
from discreet.progress import steps as in_steps
from discreet.records.value_columns import empty_rows, refuse_repeated, rows_by_kind, stratum_of, value_columns

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class RankSwap(Keyed, RecordMethod):
    """Let records exchange values with others whose rank is at most a share of the records away.

    Every column keeps its values, and so all its own statistics; what columns say together is blurred.

    Parameters
    ----------
    columns
        Columns of numbers, dates or times; those with the role ``numeric`` where left out.
    share
        How far apart ranks are at most, as a share of the records: 0.05 is 5 %.
    joint
        Exchange all columns together, with partners by the rank of the first: they then keep what they say together.
    version
        Version of the draws.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> firms = ds.Microdata(pa.table({"sales": [3, 8, 5, 9, 1, 7]}), numeric="sales")
    >>> release = ds.protect(firms, ds.RankSwap(share=0.4, insecure_seed=1))
    >>> sorted(release.public.records.shown()["sales"])
    [1, 3, 5, 7, 8, 9]
    """

    kind: ClassVar[str] = "rank_swap"
    secret: ClassVar[bool] = True
    columns: tuple[str, ...] = ()
    share: Annotated[float, Number(above=0, most=1)] = 0.05
    joint: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_repeated(self.columns)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that it takes numbers from."""
        return self.columns

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Exchange values."""
        assert key is not None
        names = value_columns(records, self.columns, "RankSwap")
        values = [_ranked(records, name) for name in names]
        gaps = [empty_rows(records, name) for name in names]
        if self.joint:
            self._refuse_gaps(names, gaps)
        kinds = rows_by_kind(stratum_of(records))
        partners: dict[str, Ints] = {}
        changed: dict[str, pa.ChunkedArray] = {}
        for place in in_steps("records", range(len(names))):
            name = names[place]
            if not self.joint or place == 0:
                partners[f"partner_{place}"] = self._partners(records, key, name, values[place], gaps[place], kinds)
            partner = partners["partner_0" if self.joint else f"partner_{place}"]
            changed[name] = _taken(records[name], partner)
        facts: dict[str, Any] = {"columns": list(names), "strata": list(records.strata), "insecure": key.insecure}
        facts["kept"] = [_unchanged(records[name], changed[name]) for name in names]
        if all(kept == len(records) for kept in facts["kept"]):
            raise ProtectionError(
                f"No value of {listed(names)} changed: no ranks were close enough to be exchanged.",
                hint="Raise share, or merge strata.",
            )
        plain = self.record()
        evidence = Evidence(plain, rank_swapped_claim(plain, facts), facts=facts, parts={"records": partners})
        return RecordOutcome(changed, evidence)

    def _refuse_gaps(self, names: Sequence[str], gaps: Sequence[Bools]) -> None:
        wrong = [name for name, empty in zip(names, gaps, strict=True) if empty.any()]
        if wrong:
            raise InputError(
                f"Empty fields stand in {listed(wrong)}, and columns are exchanged together.",
                hint="Fill them in first, or exchange each column by itself (joint=False).",
            )

    def _partners(
        self, records: RecordSet, key: Key, name: str, values: NDArray[Any], gaps: Bools, kinds: Sequence[Ints]
    ) -> Ints:
        """The row whose value each row takes."""
        from discreet.records.rank_swapping_kernels import paired_ranks

        assert records.identity is not None
        partner = np.arange(len(records))
        chance = fractions(draws(key.secret, self.purpose(f"rank swap/{name}"), self.version, records.identity))
        for rows in kinds:
            there = rows[~gaps[rows]]
            reach = int(Fraction(str(self.share)) * len(there))
            if reach:
                order = there[_order(values[there], records.identity[there])]
                partner[order] = order[paired_ranks(np.ascontiguousarray(chance[order]), reach)]
        return partner


def _order(values: NDArray[Any], identity: Ints) -> Ints:
    """Places of values from the smallest on; who they belong to decides among equal ones."""
    order = np.argsort(values)
    ordered = values[order]
    same = np.append(False, ordered[1:] == ordered[:-1])
    tied = order[same | np.append(same[1:], False)]
    order[same | np.append(same[1:], False)] = tied[np.lexsort((identity[tied], values[tied]))]
    return np.asarray(order, np.int64)


def _ranked(records: RecordSet, name: str) -> NDArray[Any]:
    """Numbers that stand in the order of a column's values, 0 for gaps."""
    import pyarrow as pa

    column = records[name]
    if pa.types.is_string(column.type) or pa.types.is_boolean(column.type):
        raise InputError(
            f"Column {name!r} holds {column.type}, which has no order.",
            hint=f"Columns of csv files are text unless they are called numbers: Microdata(numeric=[{name!r}]).",
        )
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
    return np.asarray(column.fill_null(0).to_numpy())


def _taken(column: pa.ChunkedArray, partner: Ints) -> pa.ChunkedArray:
    import pyarrow as pa

    return pa.chunked_array([column.combine_chunks().take(pa.array(partner))])


def _unchanged(old: pa.ChunkedArray, new: pa.ChunkedArray) -> int:
    """In how many records a column is as it was."""
    import pyarrow.compute as pc

    same = pc.sum(pc.fill_null(pc.equal(old, new), True)).as_py()
    return int(same or 0)
