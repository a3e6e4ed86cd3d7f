"""The method ``RankSwap``: records exchange values with others of nearly the same rank."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.engine.draws import draws, fractions
from discreet.errors import InputError, ProtectionError, listed
from discreet.keys import Key
from discreet.methods.base import Keyed, RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.claims.rank_swap import rank_swapped_claim
from discreet.model.evidence import Evidence
from discreet.model.records import RecordSet
from discreet.parallel import shared
from discreet.parameters import Number
from discreet.progress import steps as in_steps
from discreet.records.ordered_values import order_of, ordered_numbers, rows_by_identity, taken, unchanged
from discreet.records.value_columns import empty_rows, refuse_repeated, value_columns

if TYPE_CHECKING:
    import pyarrow as pa


class _Stratum(NamedTuple):
    """Values of a stratum in the order of who the records are, the draw of each, and how far ranks may go."""

    values: NDArray[Any]
    chance: Floats
    reach: int


def _exchanged(stratum: _Stratum) -> Ints:
    """For every record of a stratum the place of the one whose value it takes."""
    from discreet.records.rank_swapping_kernels import paired_ranks

    order = order_of(stratum.values)
    partner = np.empty(len(order), np.int64)
    partner[order] = order[paired_ranks(stratum.chance[order], stratum.reach)]
    return partner


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
        values = [ordered_numbers(records, name) for name in names]
        gaps = [empty_rows(records, name) for name in names]
        if self.joint:
            self._refuse_gaps(names, gaps)
        kinds = rows_by_identity(records)
        partners: dict[str, Ints] = {}
        changed: dict[str, pa.ChunkedArray] = {}
        for place in in_steps("records", range(len(names))):
            name = names[place]
            if not self.joint or place == 0:
                partners[f"partner_{place}"] = self._partners(records, key, name, values[place], gaps[place], kinds)
            partner = partners["partner_0" if self.joint else f"partner_{place}"]
            changed[name] = taken(records[name], partner)
        facts: dict[str, Any] = {"columns": list(names), "strata": list(records.strata), "insecure": key.insecure}
        facts["kept"] = [unchanged(records[name], changed[name]) for name in names]
        still = [name for name, kept in zip(names, facts["kept"], strict=True) if kept == len(records)]
        if still:
            raise ProtectionError(
                f"No value of {listed(still)} changed: no ranks were close enough to be exchanged, or all values are "
                "equal.",
                hint="Raise share, merge strata, or leave the column out.",
            )
        plain = self.record()
        evidence = Evidence(plain, rank_swapped_claim(plain, facts), facts=facts, parts={"records": partners})
        return RecordOutcome(changed, evidence, self._small_strata(kinds, gaps))

    def _small_strata(self, kinds: Sequence[Ints], gaps: Sequence[Bools]) -> tuple[str, ...]:
        """What to say of strata in which no rank is in reach of another."""
        looked_at = gaps[:1] if self.joint else gaps
        still = sum(any(self._reach(int((~empty[rows]).sum())) == 0 for empty in looked_at) for rows in kinds)
        if not still:
            return ()
        return (
            f"In {still} of {len(kinds)} strata no rank of some column is within reach of another, and its values "
            "stayed: raise share, or merge strata.",
        )

    def _reach(self, many: int) -> int:
        """How many ranks a value may go, among so many."""
        return int(Fraction(str(self.share)) * many)

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
        """The row whose value each row takes; among equal values, who a row is decides on its rank."""
        assert records.identity is not None
        partner = np.arange(len(records))
        purpose = self.purpose(f"rank swap/{name}", float(self.share), self.joint, list(records.strata))
        chance = fractions(draws(key.secret, purpose, self.version, records.identity))
        filled = [rows[~gaps[rows]] for rows in kinds] if gaps.any() else kinds
        moving = [there for there in filled if self._reach(len(there))]

        def stratum(there: Ints) -> _Stratum:
            return _Stratum(values[there], chance[there], self._reach(len(there)))

        with closing(shared(_exchanged, stratum, moving, "strata", threads=False)) as results:
            for there, found in zip(moving, results, strict=True):
                partner[there] = there[found]
        return partner
