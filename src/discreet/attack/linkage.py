"""An intruder who has original values looks for the same people in a released file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

import numpy as np

from discreet.attack.linkage_columns import (
    blocks_of,
    both_files,
    compared_columns,
    known_columns,
    names_of,
    true_links,
)
from discreet.attack.linkage_result import Linkage, random_guess
from discreet.attack.linkage_scales import LinkageScale, scaled_pair, with_codes
from discreet.attack.mahalanobis import WHAT_IT_NEEDS, Covariance, whitened_pair
from discreet.attack.nearest import NearestRecords, is_near, nearest_in_blocks
from discreet.attack.record_attack import NAMES_RECORDS, Knowledge
from discreet.attack.record_audit import NotRun, RecordAudit
from discreet.engine.record_set import with_identity
from discreet.errors import InputError, ParameterError, counted
from discreet.model.arrays import Floats, Ints
from discreet.model.records import RecordSet
from discreet.parameters import AtLeastOne, Declared, Number
from discreet.rules.linkage import tried_rows

LinkageWay = Literal["nearest", "mahalanobis", "kernel", "probabilistic", "rank"]
Direction = Literal["original", "released"]
OTHER_PEOPLE = (
    "The files hold different people, and each was brought to its own mean and deviation; "
    'scale="pooled" compares values as they are, and may find more.'
)
SLOW_WAYS = ("probabilistic", "rank")
MOST_PAIRS = 2 * 10**9
"""Ways that look at all pairs try as many records as this leaves; others try all."""


@dataclass(frozen=True)
class LinkageQuestion(Declared):
    """How two files are linked; see :func:`link`."""

    way: LinkageWay = "nearest"
    scale: LinkageScale = "sd"
    covariance: Covariance = "zero"
    degree: Annotated[int, Number(least=1, most=6)] = 2
    share: Annotated[float, Number(above=0, most=1)] | None = None
    direction: Direction = "original"
    sample: AtLeastOne | None = None
    known: Any = field(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.way == "rank" and self.share is None:
            raise ParameterError(
                'way="rank" needs the published share of ranks that values went at most.', hint="Give share=0.05."
            )
        if self.way != "rank" and self.share is not None:
            raise ParameterError(f'share= belongs to way="rank", not to way="{self.way}".', hint="Leave it out.")
        if self.way == "rank" and self.direction == "released":
            raise ParameterError(
                'way="rank" looks for original records in the released file.', hint='Use direction="original".'
            )
        if (self.known is not None) != (self.way == "mahalanobis" and self.covariance == "links"):
            raise ParameterError(
                'known= and way="mahalanobis", covariance="links" belong together.',
                hint="Give known=20, or the rows of original records whose released record the intruder knows.",
            )

    @property
    def name(self) -> str:
        """The way in words."""
        if self.way == "nearest":
            return "nearest" if self.scale == "sd" else f"nearest ({self.scale})"
        return f"Mahalanobis ({self.covariance})" if self.way == "mahalanobis" else self.way

    @property
    def knows(self) -> Knowledge:
        """What the intruder has."""
        if self.way == "mahalanobis":
            return WHAT_IT_NEEDS[self.covariance]
        return "publication" if self.way == "rank" else "records"


def link(
    original: Any,
    released: Any = None,
    columns: str | Sequence[str] | None = None,
    *,
    way: LinkageWay = "nearest",
    scale: LinkageScale = "sd",
    covariance: Covariance = "zero",
    known: int | Sequence[int] | None = None,
    degree: int = 2,
    share: float | None = None,
    categories: str | Sequence[str] = (),
    blocking: str | Sequence[str] = (),
    truth: str | Sequence[int] | None = None,
    direction: Direction = "original",
    sample: int | None = None,
) -> Linkage:
    """Link the records of an original with those of a released file, and count how often that is right.

    Numbers, dates and times are compared by their difference, text and true/false by 1 where they differ. An empty
    number counts as the mean of its column and file, an empty code as a code of its own; probabilistic and rank linkage
    take neither for evidence. Records that fit equally well share the guess.

    Parameters
    ----------
    original, released
        Data frames, paths of files, :class:`discreet.Microdata` or records; or a release of records alone.
    columns
        Columns that the intruder knows; numbers and keys by their roles where left out.
    way
        ``"nearest"`` takes the nearest record; ``"mahalanobis"`` the nearest by how masking errs; ``"kernel"`` the
        nearest by a polynomial kernel; ``"probabilistic"`` the one with the most evidence (Fellegi and Sunter 1969);
        ``"rank"`` the nearest of those that an exchange of ranks over at most ``share`` of the file can have come from.
    scale
        Units of numbers for ``"nearest"``: ``"sd"``, mean and deviation of each file; ``"pooled"``, the deviation of
        the difference of any two records; ``"original"``, mean and deviation of the original; ``"range"``, from 0 to 1.
    covariance
        What the intruder knows of errors for ``"mahalanobis"``: ``"zero"``, nothing; ``"iterative"``, what the own
        links teach; ``"links"``, the errors of some ``known`` records; ``"aligned"``, those of all; ``"regression"``,
        how released values depend on original ones.
    known
        For ``"links"``: how many, or which original rows. They are not counted as guesses.
    degree
        The degree of the kernel.
    share
        For ``"rank"``: the published share.
    categories
        Columns of numbers that are codes.
    blocking
        Columns that must agree. For ``"rank"``, those within whose codes ranks were exchanged.
    truth
        Which record is whose: a column of both files, or for each original row the released one, -1 for none. Left out,
        both files have the same order.
    direction
        ``"original"``: for each original record a released one is looked for; ``"released"``: the other way round.
    sample
        At most so many records are tried, drawn by a public hash of what they hold.

    Examples
    --------
    >>> import discreet as ds, numpy as np, pyarrow as pa
    >>> draw = np.random.default_rng(1)
    >>> pay, tax = draw.normal(size=(2, 200))
    >>> before = pa.table({"pay": pay, "tax": tax, "sex": ["f", "m"] * 100})
    >>> noise = draw.normal(size=(2, 200)) / 10
    >>> after = pa.table({"pay": pay + noise[0], "tax": tax + noise[1], "sex": ["f", "m"] * 100})
    >>> print(ds.attack.link(before, after, ["pay", "tax"], blocking="sex"))
    nearest: 63.0% of 200 attempts by 'pay', 'tax' name the right record (55.9% to 69.7%); at random 1.00%. \
The intruder has the original values of some columns, not which released record is whose.
    """
    question = LinkageQuestion(way, scale, covariance, degree, share, direction, sample, known)
    return _Files(original, released, columns, categories, blocking, truth).linked(question)


ALL_WAYS = (
    "nearest",
    "pooled",
    "original",
    "range",
    "kernel",
    "probabilistic",
    "zero",
    "iterative",
    "regression",
    "aligned",
)


def link_all_ways(
    original: Any,
    released: Any = None,
    columns: str | Sequence[str] | None = None,
    *,
    ways: Sequence[str] = ALL_WAYS,
    share: float | None = None,
    categories: str | Sequence[str] = (),
    blocking: str | Sequence[str] = (),
    truth: str | Sequence[int] | None = None,
    sample: int | None = None,
) -> RecordAudit:
    """Link two files in several ways, the one that finds most first.

    ``ways`` names scales (``"nearest"``, ``"pooled"``, ``"original"``, ``"range"``), ``"kernel"``,
    ``"probabilistic"``, and covariances of the Mahalanobis distance; with ``share``, the rank way comes in addition. A
    way that these files do not allow is left out and named. See :func:`link` for the rest.

    Raises
    ------
    InputError
        Where no way is left.

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> before = pa.table({"age": [20, 30, 40, 50], "pay": [10, 30, 20, 40]})
    >>> after = pa.table({"age": [21, 29, 49, 41], "pay": [11, 29, 39, 19]})
    >>> found = ds.attack.link_all_ways(before, after, ["age", "pay"], ways=["range", "kernel"])
    >>> sorted(way.attack for way in found)
    ['kernel', 'nearest (range)']
    """
    files = _Files(original, released, columns, categories, blocking, truth)
    asked = [_question(name, sample) for name in names_of("ways", ways)]
    if share is not None:
        asked.append(LinkageQuestion("rank", share=share, sample=sample))
    found: list[Linkage] = []
    left_out: list[NotRun] = []
    for question in asked:
        try:
            found.append(files.linked(question))
        except InputError as error:
            left_out.append(NotRun(question.name, error.message))
    if not found:
        raise InputError("No way to link these files is left.", hint=left_out[0].why if left_out else "Give ways=.")
    return RecordAudit(len(files.before), tuple(found), tuple(left_out))


def _question(name: str, sample: int | None) -> LinkageQuestion:
    if name in ("kernel", "probabilistic"):
        return LinkageQuestion(name, sample=sample)  # type: ignore[arg-type]
    if name in ("nearest", *get_args(LinkageScale)):
        scale = "sd" if name == "nearest" else name
        return LinkageQuestion("nearest", scale=scale, sample=sample)  # type: ignore[arg-type]
    return LinkageQuestion("mahalanobis", covariance=name, sample=sample)  # type: ignore[arg-type]


class _Files:
    """Both files as they are compared, read once for all ways."""

    def __init__(self, original: Any, released: Any, columns: Any, categories: Any, blocking: Any, truth: Any) -> None:
        wanted = () if columns is None else names_of("columns", columns)
        codes = names_of("categories", categories)
        before, after = both_files(original, released, [name for name in wanted if name not in codes])
        self.names = known_columns(before, columns)
        self.columns = compared_columns(before, after, self.names, codes)
        self.blocks = blocks_of(before, after, names_of("blocking", blocking))
        self.truth = true_links(before, after, truth)
        self.before, self.after = before, after

    def linked(self, question: LinkageQuestion) -> Linkage:
        """The outcome of one way."""
        backwards = question.direction == "released"
        records, truth = (self.after, inverse(self.truth, len(self.after))) if backwards else (self.before, self.truth)
        rows, known = self._tried(question, records, truth)
        neighbours, chance, notes = self._searched(question, rows, truth, known)
        blocks = self.blocks[::-1] if backwards and self.blocks is not None else self.blocks
        searched = len(self.before if backwards else self.after)
        return Linkage(
            question.name,
            NAMES_RECORDS,
            question.knows,
            rows,
            chance,
            _baseline(truth[rows], rows, blocks, searched),
            self.names,
            (*self.columns.notes, *notes, *_about(rows, truth, neighbours, records, known)),
            linked=neighbours.row,
            truth=truth[rows],
            ties=neighbours.ties,
            distance=neighbours.apart,
        )

    def _tried(self, question: LinkageQuestion, records: RecordSet, truth: Ints) -> tuple[Ints, Ints]:
        """Rows that are tried, and original rows whose link is known."""
        identity = _identity(records)
        known = _known_rows(question.known, _identity(self.before), self.truth)
        own = self.truth[known] if question.direction == "released" else known
        sample = question.sample or len(records)
        if question.way in SLOW_WAYS:
            sample = min(sample, max(MOST_PAIRS // max(len(self.after), len(self.before), 1), 1))
        free = np.setdiff1d(np.arange(len(records)), own)
        return free[tried_rows(identity[free], sample)], known

    def _searched(
        self, question: LinkageQuestion, rows: Ints, truth: Ints, known: Ints
    ) -> tuple[NearestRecords, Floats, tuple[str, ...]]:
        if question.way in SLOW_WAYS:
            return self._by_pairs(question, rows, truth)
        before, after, numbers, notes = self._points(question, rows, known)
        degree = question.degree if question.way == "kernel" else 0
        return (*self._nearest(before, after, numbers, degree, rows, truth, question.direction), notes)

    def _points(
        self, question: LinkageQuestion, rows: Ints, known: Ints
    ) -> tuple[Floats, Floats, int, tuple[str, ...]]:
        """Both files in coordinates in which plain distances are the wanted ones."""
        if question.way == "mahalanobis":

            def search(one: Floats, other: Floats) -> Ints:
                links = np.full(len(one), -1)
                asked = np.arange(len(one)) if question.direction == "released" else rows
                links[asked] = self._nearest(one, other, one.shape[1], 0, asked, self.truth, "original")[0].row
                return links

            pair = whitened_pair(self.columns, question.covariance, self.truth, known, search)
            return pair.before, pair.after, pair.before.shape[1], pair.notes
        if question.way == "kernel":
            self.columns.numbers_only("a kernel")
        scale = "sd" if question.way == "kernel" else question.scale
        scaled = scaled_pair(self.columns, scale)
        apart = scale == "sd" and len(self.before) != len(self.after) and bool(self.columns.names)
        return (*with_codes(self.columns, *scaled), scaled[0].shape[1], (OTHER_PEOPLE,) if apart else ())

    def _nearest(
        self,
        before: Floats,
        after: Floats,
        numbers: int,
        degree: int,
        rows: Ints,
        truth: Ints,
        direction: Direction,
    ) -> tuple[NearestRecords, Floats]:
        """The nearest for some rows, and the chance that it is the right one."""
        from discreet.attack.nearest_kernels import apart_in_pairs

        backwards = direction == "released"
        asked, searched = (after, before) if backwards else (before, after)
        asked = np.ascontiguousarray(asked[rows])
        blocks = self.blocks
        if blocks is not None:
            mine, theirs = blocks[::-1] if backwards else blocks
            blocks = (mine[rows], theirs)
        found = nearest_in_blocks(asked, searched, numbers, degree, blocks)
        own = apart_in_pairs(asked, searched, truth[rows], numbers, degree)
        if blocks is not None:
            own[blocks[0] != blocks[1][truth[rows]]] = np.inf
        chance = np.where(is_near(own, found), 1 / np.maximum(found.ties, 1), 0.0)
        return found._replace(apart=np.sqrt(found.apart)), chance

    def _by_pairs(
        self, question: LinkageQuestion, rows: Ints, truth: Ints
    ) -> tuple[NearestRecords, Floats, tuple[str, ...]]:
        """Ways that look at all pairs of records, or of those in one block."""
        if question.way == "rank":
            from discreet.attack.rank_linkage import rank_links

            assert question.share is not None
            return rank_links(self.columns, question.share, self.blocks, rows, truth)
        from discreet.attack.probabilistic import probabilistic_links

        backwards = question.direction == "released"
        first = np.argsort(_identity(self.after if backwards else self.before)[rows].view(np.uint64), kind="stable")
        return probabilistic_links(self.columns, backwards, self.blocks, rows, truth, first)


def _identity(records: RecordSet) -> Ints:
    identity = with_identity(records).identity
    assert identity is not None
    return np.ascontiguousarray(identity)


def inverse(links: Ints, others: int) -> Ints:
    """The original row of each released one; -1 where it has none."""
    found = np.full(others, -1)
    found[links[links >= 0]] = np.flatnonzero(links >= 0)
    return found


def _known_rows(known: Any, identity: Ints, truth: Ints) -> Ints:
    """Rows whose link the intruder knows; a number of them is drawn from the end that a sample does not begin with."""
    if known is None:
        return np.zeros(0, np.int64)
    there = np.flatnonzero(truth >= 0)
    if isinstance(known, int) and not isinstance(known, bool):
        if not 1 <= known < len(there):
            raise ParameterError(
                f"known={known} is not allowed.", hint=f"Give a number from 1 to {len(there) - 1:,}, or rows."
            )
        return np.sort(there[np.argsort(identity[there].view(np.uint64), kind="stable")[-known:]])
    given = np.asarray(known)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not np.isin(given, there).all():
        raise ParameterError(
            "known= does not name original rows that have a released record.", hint="Give whole numbers in a list."
        )
    if len(np.unique(given)) == len(truth):
        raise ParameterError("known= names every record, and none is left to guess.", hint="Name fewer.")
    return np.unique(given).astype(np.int64)


def _baseline(own: Ints, rows: Ints, blocks: tuple[Ints, Ints] | None, searched: int) -> float:
    """Right guesses of somebody who takes any record of the other file that has the same block."""
    if blocks is None:
        return random_guess(own, np.full(len(rows), searched), own >= 0)
    sizes = np.bincount(blocks[1], minlength=int(blocks[0].max(initial=0)) + 1)
    return random_guess(own, sizes[blocks[0][rows]], blocks[1][own] == blocks[0][rows])


def _about(rows: Ints, truth: Ints, found: NearestRecords, records: RecordSet, known: Ints) -> tuple[str, ...]:
    """What to know of the numbers."""
    notes = []
    if len(rows) + len(known) < len(records):
        notes.append(f"{len(rows):,} of {counted(len(records), 'record')} were tried.")
    if len(known):
        notes.append(f"{counted(len(known), 'record')} whose link is known were not tried.")
    alone, nobody = int((truth[rows] < 0).sum()), int((found.row < 0).sum())
    if alone:
        notes.append(f"{counted(alone, 'record', 'have')} no record in the other file; every guess for them is wrong.")
    if nobody:
        notes.append(f"{counted(nobody, 'record', 'have')} nobody in the other file to be taken for.")
    return tuple(notes)
