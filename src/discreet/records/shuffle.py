"""The method ``Shuffle``: values change places so that columns depend on each other as before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.engine.draws import draws, fractions
from discreet.errors import InputError, ParameterError, ProtectionError, counted, listed
from discreet.keys import Key
from discreet.methods.base import Keyed, RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.claims.shuffle import shuffled_claim
from discreet.model.evidence import Evidence
from discreet.model.records import RecordSet
from discreet.progress import steps as in_steps
from discreet.records.ordered_values import order_of, ordered_numbers, rows_by_identity, taken, unchanged
from discreet.records.shuffling import Scores, correlations, dependence, drawn_numbers, paired_numbers, scores_of
from discreet.records.together import refuse_given_roles, refuse_given_twice
from discreet.records.value_columns import empty_rows, refuse_repeated, value_columns

if TYPE_CHECKING:
    import pyarrow as pa

FEWEST = 3
"""Fewer values change no places that anybody could not guess."""
LEAST_FREE = 1e-3
"""The share of a column that given ones must leave open."""
HALF_STEP = 2.0**-54
"""Fractions have 53 bits; this makes 0 of them possible to turn into a normal draw."""


@dataclass(frozen=True)
class Shuffle(Keyed, RecordMethod):
    """Let values of each column change places, so that columns depend on each other as before, and on records no more.

    For every record, numbers are drawn that depend on each other, and on the given columns, as the shuffled columns do.
    The record with the smallest number gets the smallest value, and so on.

    Parameters
    ----------
    columns
        Columns of numbers, dates or times whose values change places; those with the role ``numeric`` where left out.
    given
        Columns that stay, and that shuffled ones depend on as before.
    exact
        Whether drawn numbers are exactly, and not only on average, uncorrelated with the values before beyond what the
        given columns say, and depend on each other as stated.
    scale
        ``"rank"`` keeps rank correlations; ``"product_moment"`` correlations of values as they are, for columns that
        are nearly normal.
    sample
        ``"normal"`` draws, or a ``"latin_hypercube"`` of normal scores that is paired until ranks correlate as they
        should; without given columns, and by ranks.
    version
        Version of the draws.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> table = pa.table({"staff": [1, 2, 3, 4, 5, 6, 7, 8, 9], "sales": [10, 25, 20, 45, 40, 70, 60, 95, 90]})
    >>> release = ds.protect(ds.Microdata(table), ds.Shuffle(["sales"], given=["staff"], insecure_seed=1))
    >>> sorted(release.public.records.shown()["sales"])
    [10, 20, 25, 40, 45, 60, 70, 90, 95]
    """

    kind: ClassVar[str] = "shuffle"
    secret: ClassVar[bool] = True
    columns: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    exact: bool = True
    scale: Literal["rank", "product_moment"] = "rank"
    sample: Literal["normal", "latin_hypercube"] = "normal"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_repeated(self.columns)
        refuse_given_twice(self.given, self.columns, "change places")
        if self.sample == "latin_hypercube" and (self.given or self.scale != "rank"):
            raise ParameterError(
                'sample="latin_hypercube" pairs ranks of the shuffled columns, without given ones.',
                hint='Leave given= and scale= out, or use sample="normal".',
            )

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that it takes numbers from."""
        return (*self.columns, *self.given)

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Let values change places."""
        assert key is not None
        names = value_columns(records, self.columns, "Shuffle")
        refuse_given_twice(self.given, names, "change places")
        refuse_given_roles(records, self.given)
        columns = [_column_of(records, name) for name in (*names, *self.given)]
        _refuse_constant(columns)
        source = np.tile(np.arange(len(records)), (len(names), 1))
        before, after = (np.zeros((len(records), len(columns))) for _ in range(2))
        explained = np.zeros(len(names))
        told = self._told(records, columns)
        for rows in in_steps("records", rows_by_identity(records)):
            rows = rows[~np.logical_and.reduce([column.empty[rows] for column in columns[: len(names)]])]
            if not len(rows):
                continue
            self._refuse_few(records, columns, rows, len(names))
            part = self._part(key, records, columns, rows, told)
            for place in range(len(names)):
                source[place, rows[part.places[place]]] = rows[part.scores[place].order]
            before[rows] = np.column_stack([one.rank for one in part.scores])
            after[rows] = np.column_stack(part.ranks)
            explained = np.maximum(explained, part.explained)
        changed = {name: taken(records[name], source[place]) for place, name in enumerate(names)}
        return self._outcome(records, key, columns[: len(names)], changed, source, (before, after), explained)

    def _part(
        self, key: Key, records: RecordSet, columns: Sequence[_Column], rows: Ints, told: Sequence[Any]
    ) -> _Shuffled:
        """Who gets which value in one stratum."""
        assert records.identity is not None
        names = [column.name for column in columns if column.name not in self.given]
        by_rank, many = self.scale == "rank", len(names)
        scores = [scores_of(one.values[rows], one.empty[rows], by_rank=by_rank) for one in columns]
        matrix = correlations(scores, [~one.empty[rows] for one in columns], by_rank=by_rank)
        on = dependence(matrix, many)
        self._refuse_explained(names, on.explained)
        noise = np.column_stack([self._normal(key, name, records.identity[rows], told) for name in names])
        before = np.column_stack([one.score for one in scores])
        if self.sample == "latin_hypercube":
            drawn = paired_numbers(before, noise, matrix, exact=self.exact)
        else:
            drawn = drawn_numbers(before, noise, on, exact=self.exact)
        places, ranks = [], [one.rank for one in scores]
        for place in range(many):
            there = np.sort(scores[place].order) if len(scores[place].order) < len(rows) else np.arange(len(rows))
            places.append(there[order_of(drawn[there, place])])
            ranks[place] = np.zeros(len(rows))
            ranks[place][places[-1]] = scores[place].rank[scores[place].order]
        return _Shuffled(scores, places, ranks, on.explained)

    def _told(self, records: RecordSet, columns: Sequence[_Column]) -> tuple[Any, ...]:
        """What new places depend on besides the draws: the parameters, and all values.

        Exact draws are those of the key less what they have in common with the values. From two of them with the same
        draws, readers would know that part, and by it the values.
        """
        assert records.identity is not None
        order, content = np.argsort(records.identity), blake2b(digest_size=16)
        content.update(records.identity[order].astype("<u8").tobytes())
        for column in columns:
            content.update(np.where(column.empty, 0, column.values).astype("<f8")[order].tobytes())
        named = [column.name for column in columns]
        sample = () if self.sample == "normal" else (self.sample,)
        return named, list(self.given), self.exact, self.scale, list(records.strata), content.hexdigest(), *sample

    def _normal(self, key: Key, name: str, identity: Ints, told: Sequence[Any]) -> Floats:
        from scipy.special import ndtri

        drawn = fractions(draws(key.secret, self.purpose(f"shuffle/{name}", *told), self.version, identity))
        return np.asarray(ndtri(drawn + HALF_STEP))

    def _refuse_few(self, records: RecordSet, columns: Sequence[_Column], rows: Ints, many: int) -> None:
        """Refuse strata in which correlations mean nothing, and columns of which nearly nothing is there."""
        where = ", ".join(f"{name} {records[name][int(rows[0])].as_py()!r}" for name in records.strata)
        where = f" with {where}" if where else ""
        needed = len(columns) + 2 + (many if self.exact else 0)
        if len(rows) < needed:
            raise InputError(
                f"There {'is' if len(rows) == 1 else 'are'} {counted(len(rows), 'record')}{where}, and "
                f"{counted(many, 'shuffled column')} with {counted(len(columns) - many, 'given one')} need at least "
                f"{needed}.",
                hint="Merge strata, or name fewer columns" + (", or give exact=False." if self.exact else "."),
            )
        for column in columns[:many]:
            there = int((~column.empty[rows]).sum())
            if 0 < there < FEWEST:
                raise InputError(
                    f"Column {column.name!r} has {counted(there, 'value')}{where}, and at least {FEWEST} are needed.",
                    hint="Merge strata, or leave the column out.",
                )

    def _refuse_explained(self, names: Sequence[str], explained: Floats) -> None:
        wrong = [name for name, share in zip(names, explained, strict=True) if 1 - share < LEAST_FREE]
        if wrong:
            raise ProtectionError(
                f"{listed(wrong)} {'follows' if len(wrong) == 1 else 'follow'} from {listed(self.given)}: values would "
                "stay where they are.",
                hint="Take the columns that say the same out of given=, or shuffle them, too.",
            )

    def _outcome(
        self,
        records: RecordSet,
        key: Key,
        columns: Sequence[_Column],
        changed: dict[str, pa.ChunkedArray],
        source: Ints,
        ranks: tuple[Floats, Floats],
        explained: Floats,
    ) -> RecordOutcome:
        there = [~column.empty for column in columns]
        facts: dict[str, Any] = {
            "columns": list(changed),
            "strata": list(records.strata),
            "insecure": key.insecure,
            "kept": [unchanged(records[name], new) for name, new in changed.items()],
            "told": [
                _squared(one.values[mine].astype(np.float64), one.values[rows[mine]].astype(np.float64))
                for one, mine, rows in zip(columns, there, source, strict=True)
            ],
            "change": _largest_change(*ranks, len(changed)),
            "explained": explained.tolist(),
        }
        still = [name for name, kept in zip(changed, facts["kept"], strict=True) if kept == len(records)]
        if still:
            raise ProtectionError(
                f"No value of {listed(still)} changed its place.", hint="Merge strata, or leave the column out."
            )
        plain = self.record()
        return RecordOutcome(changed, Evidence(plain, shuffled_claim(plain, facts), facts=facts))


class _Column(NamedTuple):
    """A column as numbers in its order, and where it is empty."""

    name: str
    values: NDArray[Any]
    empty: Bools


class _Shuffled(NamedTuple):
    """A stratum: scores of all columns; for shuffled ones, places in the order of what was drawn, and ranks after."""

    scores: list[Scores]
    places: list[Ints]
    ranks: list[Floats]
    explained: Floats


def _column_of(records: RecordSet, name: str) -> _Column:
    return _Column(name, ordered_numbers(records, name), empty_rows(records, name))


def _refuse_constant(columns: Sequence[_Column]) -> None:
    for column in columns:
        known = column.values[~column.empty]
        if not len(known) or known.min() == known.max():
            what = "no value" if not len(known) else "one value only"
            raise InputError(
                f"Column {column.name!r} has {what}: there is nothing to shuffle, and nothing depends on it.",
                hint="Leave it out.",
            )


def _squared(one: Floats, other: Floats) -> float:
    """The squared correlation of a column before and after: the share of its variance that readers know."""
    one, other = one - one.mean(), other - other.mean()
    size = float((one @ one) * (other @ other))
    return float(one @ other) ** 2 / size if size > 0 else 0.0


def _largest_change(before: Floats, after: Floats, many: int) -> float:
    """How much rank correlations of shuffled columns, within strata, changed at most."""
    changes = np.abs(_rank_correlations(before) - _rank_correlations(after))[:many]
    return float(changes.max(initial=0.0))


def _rank_correlations(ranks: Floats) -> Floats:
    products = ranks.T @ ranks
    size = np.sqrt(np.diag(products))
    size[size == 0] = 1.0
    return np.asarray(products / size / size[:, None])
