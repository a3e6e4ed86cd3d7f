"""The method ``AddNoise``: random numbers are added to columns of records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from math import fsum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from discreet.engine.draws import draws, fractions
from discreet.errors import InputError, ParameterError, ProtectionError, counted, listed
from discreet.keys import Key
from discreet.methods.base import Keyed, RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Floats, Ints
from discreet.model.claims.added_noise import added_noise_claim
from discreet.model.evidence import Evidence
from discreet.model.records import RecordSet
from discreet.parallel import shared
from discreet.parameters import Number
from discreet.progress import checkpoint
from discreet.records.exact_columns import FLOAT_LIMIT, WHOLE_LIMIT, ExactColumn
from discreet.records.together import RowsTogether, rows_with_gaps, short_number, where_rows
from discreet.records.value_columns import (
    exact_column,
    refuse_repeated,
    rows_by_kind,
    stratum_of,
    value_columns,
    with_units,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.records.additive.landing import Landed, Landing
    from discreet.records.additive.parts import PartToMove

EACH = ("independent", "proportional")
"""Ways that look at each column by itself."""
KEEPS = ("exact", "restricted", "romm")
"""Ways that keep sums exactly, and means and covariances, or those of the noise, to the rounding."""
FREE = {"independent": 0, "correlated": 1, "exact": 2, "restricted": 3, "outliers": 1, "latin_hypercube": 3}
"""How many times as many records as columns there must be, and two more: in fewer, what must be kept leaves noise no
choice but one or two, and readers would try them."""
FEWEST_TURNED = 6
MOST_TURN = 2.0


@dataclass(frozen=True)
class AddNoise(Keyed, RecordMethod):
    """Add random numbers to columns, drawn with a secret key for every record.

    Parameters
    ----------
    columns
        Columns of numbers; those with the role ``numeric`` where left out.
    amount
        Variance of the noise as a share of the variance of each column: 0.01 is noise with a tenth of its standard
        deviation. With ``how="proportional"``, as a share of the squared value: 0.01 is a tenth of each value.
    how
        ``"independent"``: each column by itself. ``"correlated"``: with the correlations of the columns. ``"exact"``:
        the same, with means of exactly 0 and covariances of exactly ``amount`` times those of the columns.
        ``"restricted"``: means and covariances of the columns stay as they were. ``"romm"``: they stay, too; records
        are mixed by random orthogonal matrices. ``"outliers"``: only records that lie far out, more the farther.
        ``"proportional"``: in proportion to each value. ``"latin_hypercube"``: ranks get noise, and each rank a value
        of its column's distribution.
    flag
        For ``how="outliers"``, what makes a record one: its robust Mahalanobis ``"distance"``, its ``"influence"`` on
        the first two eigenvalues, or ``"limits"`` of each column by itself.
    beyond
        For ``how="outliers"``: the share of normal records that are none.
    decimals
        Decimals of the values that are published; those that each column has where left out. Whole numbers stay whole.
    nonnegative
        Values that fall below zero become zero, and are counted.
    zeros
        ``"move"`` like all others, or ``"keep"``: zeros stay zeros, where they say that there is nothing.
    missing
        Of ways that look at several columns at once: records with gaps are refused (``"refuse"``), or get noise with
        those that have the same gaps (``"apart"``); of ``how="correlated"`` also ``"together"``, by the covariances of
        the records without a gap, where gaps are many and lie anyhow. Gaps themselves always stay.
    version
        Version of the draws.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> firms = ds.Microdata(pa.table({"sales": [310, 820, 510, 930, 140, 720]}), numeric="sales")
    >>> release = ds.protect(firms, ds.AddNoise(amount=0.1, how="restricted", insecure_seed=1))
    >>> sum(release.public.records.shown()["sales"]), release.verify().holds
    (3430, True)
    """

    kind: ClassVar[str] = "add_noise"
    secret: ClassVar[bool] = True
    columns: tuple[str, ...] = ()
    amount: Annotated[float, Number(above=0)] = 0.1
    how: Literal[
        "independent", "correlated", "exact", "restricted", "romm", "outliers", "proportional", "latin_hypercube"
    ] = "correlated"
    flag: Literal["distance", "influence", "limits"] = "distance"
    beyond: Annotated[float, Number(above=0.5, below=1)] = 0.975
    decimals: Annotated[int, Number(least=0, most=9)] | None = None
    nonnegative: bool = False
    zeros: Literal["move", "keep"] = "move"
    missing: Literal["refuse", "apart", "together"] = "refuse"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_repeated(self.columns)
        if self.how == "romm" and self.amount > MOST_TURN:
            raise ParameterError(
                f'amount={self.amount:g} is not allowed with how="romm": beyond {MOST_TURN:g}, values turn to the '
                "other side of the mean, from where they can be turned back.",
                hint=f"Give an amount of at most {MOST_TURN:g}.",
            )
        if self.missing == "together" and self.how != "correlated":
            raise ParameterError(
                f'missing="together" is for how="correlated", not for "{self.how}", which needs whole records.',
                hint='Use missing="apart", or how="correlated".',
            )
        if self.how == "outliers" and self.decimals is not None:
            raise ParameterError(
                'decimals= is not allowed with how="outliers": records that are none stand as they are, and other '
                "decimals would tell them apart.",
                hint="Leave decimals out.",
            )

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that it takes numbers from."""
        return self.columns

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Add noise to the columns."""
        from discreet.records.additive.landing import landed
        from discreet.records.additive.parts import moves_of

        assert key is not None
        names = value_columns(records, self.columns, "AddNoise")
        for name in names:
            _refuse_infinite(records, name)
        exact = [exact_column(records, name) for name in names]
        ways = [self._landing(records, name, column) for name, column in zip(names, exact, strict=True)]
        new = [np.zeros(len(records), np.int64) for _ in names]
        tallies = [NoiseTally(column) for column in exact]
        flagged = 0
        parts = self._parts(records, names, exact)

        def to_move(part: RowsTogether) -> PartToMove:
            return self._to_move(records, key, names, exact, part)

        checkpoint("noise", 0, len(parts))
        with closing(shared(moves_of, to_move, parts, "noise", threads=False)) as results:
            for part, moves in zip(parts, results, strict=True):
                flagged += int((moves != 0).any(axis=0).sum()) if self.how == "outliers" else 0
                for place, move in zip(part.places, moves, strict=True):
                    rows = part.rows
                    has = ~exact[place].gaps[rows]
                    rows, move = (rows, move) if has.all() else (rows[has], move[has])
                    if not len(rows):
                        continue
                    mine = exact[place].units[rows]
                    _refuse_beyond(names[place], exact[place], ways[place], mine, move)
                    done = landed(mine, move, ways[place], tallies[place].least)
                    new[place][rows] = done.units
                    tallies[place].add(done)
        return self._outcome(records, key, names, exact, ways, new, tallies, flagged)

    # ---- which rows get noise together ------------------------------------------------------------------------

    def _parts(self, records: RecordSet, names: Sequence[str], exact: Sequence[ExactColumn]) -> list[RowsTogether]:
        """Rows of each stratum, apart where they have other gaps; for each column where each has noise of its own."""
        assert records.identity is not None
        gaps = np.stack([column.gaps for column in exact], axis=1)
        kind = stratum_of(records)
        parts = list[RowsTogether]()
        if self.how in EACH:
            for rows in rows_by_kind(kind):
                rows = rows[np.argsort(records.identity[rows])]
                where = where_rows(records, rows)
                parts += [RowsTogether(rows[~gaps[rows, place]], [place], where) for place in range(len(names))]
        else:
            empty = [name for name, column in zip(names, gaps.T, strict=True) if column.any()]
            if empty and len(names) > 1 and self.missing == "refuse":
                raise InputError(
                    f"{counted(int(gaps.any(axis=1).sum()), 'record', 'have')} gaps in {listed(empty)}, and "
                    f'how="{self.how}" looks at several columns at once.',
                    hint='Fill them in first, give records with the same gaps noise of their own (missing="apart"), or '
                    'noise to each column by itself (how="independent").',
                )
            if self.missing == "together":
                return [
                    RowsTogether(
                        rows[np.argsort(records.identity[rows])], list(range(len(names))), where_rows(records, rows)
                    )
                    for rows in rows_by_kind(kind)
                ]
            parts = list(rows_with_gaps(records, names, kind, gaps))
        parts = [part for part in parts if len(part.rows)]
        if not parts:
            raise InputError(f"There is no value in any of {listed(names)}.", hint="Name columns that hold numbers.")
        return parts

    # ---- moves ---------------------------------------------------------------------------------------------------

    def _to_move(
        self, records: RecordSet, key: Key, names: Sequence[str], exact: Sequence[ExactColumn], part: RowsTogether
    ) -> PartToMove:
        """Values and draws of a part.

        Records without a gap say how large noise is, and how it goes together.
        """
        from discreet.records.additive.normal_draws import normal_draws
        from discreet.records.additive.parts import PartToMove

        assert records.identity is not None
        chosen = [names[place] for place in part.places]
        identity = records.identity[part.rows]
        whole = ~np.logical_or.reduce([exact[place].gaps[part.rows] for place in part.places])
        if not whole.all():
            part = RowsTogether(part.rows[whole], part.places, f"{part.where} without a gap")
        units = [exact[place].units[part.rows] for place in part.places]
        self._refuse_alike(chosen, units, part)
        purposes = [self._purpose(records, names, name) for name in chosen]
        besides: Ints | Floats | None = None
        if self.how == "romm":
            purposes, order = self._blocks(records, key, names, identity)
            identity, besides = identity[order], order
        elif self.how == "latin_hypercube":
            besides = np.stack([fractions(draws(key.secret, f"{p}/place", self.version, identity)) for p in purposes])
        drawn = normal_draws(key.secret, purposes, self.version, identity)
        return PartToMove(
            self.how, self.amount, self.flag, self.beyond, chosen, part.where, units, drawn, besides
        )  # fmt: skip

    def _blocks(self, records: RecordSet, key: Key, names: Sequence[str], identity: Ints) -> tuple[list[str], Ints]:
        """What the draws of random rotations are for, and the order in which the key puts records together."""
        from discreet.records.additive.moves import block_sizes

        purpose = self._purpose(records, names, "")
        order = np.argsort(draws(key.secret, f"{purpose}/block", self.version, identity), kind="stable")
        wide = int(block_sizes(len(identity)).max()) - 1
        return [f"{purpose}/{i}" for i in range(wide)], order

    def _purpose(self, records: RecordSet, names: Sequence[str], name: str) -> str:
        """What draws are for: all that the size of a record's noise depends on besides the other records.

        Two releases with the same draws and other sizes could be solved for what was there before.
        """
        told: list[Any] = [float(self.amount), *(names if self.how not in EACH else ()), None]
        told += records.strata if self.how != "proportional" else ()
        told += [self.flag, float(self.beyond)] if self.how == "outliers" else []
        told += ["together"] if self.missing == "together" else []
        digest = blake2b(json.dumps([self.how, *told]).encode(), digest_size=8).hexdigest()
        return self.purpose(f"add noise/{digest}/{name}")

    # ---- what cannot be done -------------------------------------------------------------------------------------

    def _refuse_alike(self, names: Sequence[str], units: Sequence[Ints], part: RowsTogether) -> None:
        """Refuse what has no variance, and too few records for the covariances that they shall have."""
        if self.how == "proportional":
            return
        if not len(part.rows):
            raise InputError(
                f"There is no record{part.where}, and covariances are those of such records.",
                hint='Fill gaps in, or give noise to each column by itself (how="independent").',
            )
        for name, values in zip(names, units, strict=True):
            if len(values) == 1:
                raise InputError(
                    f"There is one value of {name!r}{part.where}, and noise needs the variance of several.",
                    hint='Merge strata, leave the column out, or use how="proportional".',
                )
            if values.min() == values.max():
                raise InputError(
                    f"All values of {name!r}{part.where} are equal, so that noise has no size.",
                    hint='Leave the column out, merge strata, or use how="proportional".',
                )
        least = FEWEST_TURNED if self.how == "romm" else FREE[self.how] * len(names) + 2
        if len(part.rows) < least:
            raise InputError(
                f'There are {counted(len(part.rows), "record")}{part.where}, and how="{self.how}" with '
                f"{counted(len(names), 'column')} needs at least {least}.",
                hint='Name fewer columns, merge strata, or use how="independent".',
            )

    # ---- what comes out ------------------------------------------------------------------------------------------

    def _landing(self, records: RecordSet, name: str, column: ExactColumn) -> Landing:
        from discreet.records.additive.landing import Landing

        there = column.units[~column.gaps]
        if self.nonnegative and len(there) and there.min() < 0:
            raise InputError(
                f"Column {name!r} has values below zero, and nonnegative=True.",
                hint="Leave nonnegative out, or give such columns noise in a step of their own.",
            )
        finer = 0 if self.decimals is None else self.decimals - column.decimals
        step = max(int(np.gcd.reduce(there)), 1) if self.how == "outliers" and len(there) else 1
        unknown = records.about(name).missing
        sums = self.how in KEEPS
        return Landing(name, column.decimals, finer, step, self.nonnegative, self.zeros == "keep", sums, unknown)

    def _outcome(
        self,
        records: RecordSet,
        key: Key,
        names: Sequence[str],
        exact: Sequence[ExactColumn],
        ways: Sequence[Landing],
        new: Sequence[Ints],
        tallies: Sequence[NoiseTally],
        flagged: int,
    ) -> RecordOutcome:
        if self.how == "outliers" and not flagged:
            raise ProtectionError("No record is an outlier, and nothing was changed.", hint="Lower beyond=.")
        changed: dict[str, pa.ChunkedArray] = {}
        for name, column, way, units, tally in zip(names, exact, ways, new, tallies, strict=True):
            changed[name] = with_units(records[name], units, column, way.decimals + way.finer, name)
            if tally.kept == int((~column.gaps).sum()):
                raise ProtectionError(
                    f"No value of {name!r} changed: the noise is smaller than the unit of its numbers.",
                    hint="Raise amount, or give more decimals=.",
                )
        facts: dict[str, Any] = {
            "columns": list(names),
            "decimals": [way.decimals + way.finer for way in ways],
            "strata": list(records.strata),
            "moments": self.how in KEEPS and not any(tally.cut or tally.zeros for tally in tallies),
            "kept": [tally.kept for tally in tallies],
            "cut": [tally.cut for tally in tallies],
            "zeros": [tally.zeros for tally in tallies],
            "codes": [tally.codes for tally in tallies],
            "flagged": flagged,
            "shifts": [tally.effect()[0] for tally in tallies],
            "ratios": [tally.effect()[1] for tally in tallies],
            "insecure": key.insecure,
        }
        plain = self.record()
        return RecordOutcome(changed, Evidence(plain, added_noise_claim(plain, facts), facts=facts))


class NoiseTally:
    """What noise did to a column, added up over parts: counts, and sums that do not depend on the order of rows."""

    def __init__(self, column: ExactColumn) -> None:
        there = column.units[~column.gaps] if column.gaps.any() else column.units
        self.least = int(there.min()) if len(there) else 0
        self.many = len(there)
        self.cut = self.zeros = self.codes = self.kept = 0
        self._sums: list[tuple[float, ...]] = []

    def add(self, done: Landed) -> None:
        """Count what landed of a part."""
        self.cut += done.cut
        self.zeros += done.zeros
        self.codes += done.codes
        self.kept += done.sums[0]
        self._sums.append(done.sums[1:])

    def effect(self) -> tuple[float, float]:
        """How far the mean moved, in standard deviations, and what the variance became as a share of the old one."""
        before, before_squares, after, after_squares = (
            fsum(column) / self.many for column in zip(*self._sums, strict=True)
        )
        old, new = before_squares - before**2, after_squares - after**2
        return (short_number((after - before) / old**0.5), short_number(new / old)) if old > 0 else (0.0, 1.0)


def _refuse_infinite(records: RecordSet, name: str) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(records[name].type) and pc.all(pc.is_finite(records[name])).as_py() is False:
        raise InputError(f"Column {name!r} holds infinite numbers.", hint="Correct them, or make them gaps.")


def _refuse_beyond(name: str, column: ExactColumn, way: Landing, units: Ints, moves: Floats) -> None:
    """Refuse moves to numbers that are too large to be exact."""
    decimals = way.decimals + way.finer
    limit = WHOLE_LIMIT if column.whole and decimals == 0 else FLOAT_LIMIT
    most = max(int(units.max()), -int(units.min())) + max(float(moves.max()), -float(moves.min()))
    if not most * 10.0**way.finer + 2 < limit:
        raise InputError(
            f"Column {name!r} holds numbers too large for noise with {counted(decimals, 'decimal')}.",
            hint="Express the column in a larger unit (thousands), or give fewer decimals=.",
        )
