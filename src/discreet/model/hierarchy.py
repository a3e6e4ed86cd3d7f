"""Hierarchies: how the codes of one variable add up.

A hierarchy is a list of *groupings*, each an equation between codes: ``parent = part + part - part``. A tree is
the common case (every parent has one grouping); a code may also stand in several groupings, a parent may be
made up in several ways, and parts may be subtracted. Codes that no grouping explains are *base codes*: they are
what records carry. Every code covers a set of base codes, and two codes that cover the same set are one
category under two names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.errors import InputError, counted, listed, unknown_name
from discreet.model.alike import refuse_alike
from discreet.model.arrays import Bools, Codes, Ints, Status, pointers
from discreet.model.code_lists import columns_of, is_missing, plain_codes


@dataclass(frozen=True)
class Grouping:
    """One equation between codes: ``parent`` is the sum of ``parts``, each with sign +1 or -1.

    Examples
    --------
    >>> import discreet as ds
    >>> inland = ds.Grouping("inland", (("Total", 1), ("coast", -1)))
    >>> inland.parent, dict(inland.parts)["coast"]
    ('inland', -1)
    """

    parent: str
    parts: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        text = " ".join(f"{'+' if sign > 0 else '-'} {code}" for code, sign in self.parts)
        return f"{self.parent} = {text.removeprefix('+ ')}"


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The codes of one variable and how they add up.

    Use one of the constructors: :meth:`flat`, :meth:`from_parents`, :meth:`from_nested`, :meth:`from_digits`,
    :meth:`from_columns`, or ``ds.read_hierarchy`` for a file. :meth:`with_grouping` adds further sums.

    Parameters
    ----------
    groupings
        The equations between codes.
    total
        The code that covers everything, or ``None`` for a list of codes without a total.
    codes
        Codes in the order of display; codes that groupings name are added.
    labels
        Words for codes.
    missing
        Codes that stand for "unknown"; rules may leave their cells alone.

    Examples
    --------
    >>> region = Hierarchy.from_nested({"North": ["N1", "N2"], "South": ["S1"]})
    >>> region.base_codes
    ('N1', 'N2', 'S1')
    >>> region.same("South", "S1")
    True
    """

    groupings: tuple[Grouping, ...]
    total: str | None
    codes: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", _in_display_order(self.groupings, self.total, self.codes))
        refuse_alike(self.codes, "The hierarchy")
        self._check_groupings()
        self._check_total()
        for code in self.missing:
            if code not in self.index:
                raise InputError(unknown_name("code", code, self.codes, "the hierarchy (missing=)"))

    # ---- constructors -------------------------------------------------------------------------------------

    @classmethod
    def flat(cls, codes: Iterable[str], total: str | None = "Total", **options: Any) -> Hierarchy:
        """A list of codes under one total (or under none with ``total=None``)."""
        listing = plain_codes(codes, "The list of codes")
        _refuse_empty(listing, "The list of codes")
        _refuse_repeated(listing if total is None else [total, *listing], "The list of codes")
        if total is None:
            return cls((), None, tuple(listing), **options)
        return cls(tuple(_groupings({total: listing})), total, (), **options)

    @classmethod
    def from_parents(cls, parents: Mapping[str, str | None], total: str | None = None, **options: Any) -> Hierarchy:
        """A tree from a map of each code to its parent; codes without a parent hang under ``total``."""
        _refuse_empty(parents, "The map of codes to parents")
        children: dict[str, list[str]] = {}
        known = dict.fromkeys(str(code) for code in parents)
        for code, parent in parents.items():
            if parent is not None and str(parent) != "":
                known.setdefault(str(parent))
                children.setdefault(str(parent), []).append(str(code))
        placed = {code for part in children.values() for code in part}
        roots = [code for code in known if code not in placed]
        if not roots and known:
            _topological(tuple(_groupings(children)), tuple(known))
        if total is None:
            if len(roots) != 1:
                raise _ambiguous_total(roots)
            total = roots[0]
        elif total not in known:
            children[total] = roots
        elif roots != [total]:
            raise _ambiguous_total(roots)
        return cls(tuple(_groupings(children)), total, (), **options)

    @classmethod
    def from_nested(cls, nested: Mapping[str, Any] | Iterable[str], total: str = "Total", **options: Any) -> Hierarchy:
        """A tree from nested dictionaries whose innermost values are lists, ``None`` or empty."""
        children: dict[str, list[str]] = {}
        seen: list[str] = []

        def walk(parent: str, below: Any) -> None:
            if isinstance(below, str) or not (below is None or isinstance(below, Iterable)):
                raise InputError(
                    f"What stands under {parent!r} is a {type(below).__name__}, not a list of codes.",
                    hint="Give a dictionary, a list (of one code where there is one), or None where nothing stands.",
                )
            items = below.items() if isinstance(below, Mapping) else ((code, None) for code in below or ())
            for code, deeper in items:
                if isinstance(code, Sequence | Mapping | set) and not isinstance(code, str):
                    raise InputError(
                        f"Under {parent!r} stands a {type(code).__name__} where a code is expected.",
                        hint="Give what has parts as a dictionary: {'North': ['N1', 'N2'], 'South': ['S1']}.",
                    )
                plain_codes([code], f"What stands under {parent!r}")
                seen.append(str(code))
                children.setdefault(parent, []).append(str(code))
                walk(str(code), deeper)

        walk(total, nested)
        _refuse_empty(seen, "The nested hierarchy")
        _refuse_repeated([total, *seen], "The nested hierarchy")
        return cls(tuple(_groupings(children)), total, (), **options)

    @classmethod
    def from_digits(
        cls, codes: Iterable[str], digits: Sequence[int], total: str = "Total", **options: Any
    ) -> Hierarchy:
        """A tree from the digits of the codes: ``digits=[1, 1, 2]`` makes 0 > 01 > 0111 out of ``0111``."""
        listing = sorted({str(code) for code in codes})
        _refuse_empty(listing, "The list of codes")
        if min(digits, default=0) < 0 or not any(digits):
            raise InputError(
                f"Digits {list(digits)} do not say how many characters each level has.",
                hint="Give one number per level, coarsest first: [1, 1, 2] for codes of four characters.",
            )
        widths = [int(width) for width in digits if width]
        wrong = [code for code in listing if len(code) != sum(widths)]
        if wrong:
            raise InputError(
                f"Digits {list(digits)} describe codes of {counted(sum(widths), 'character')}, but these differ: "
                f"{listed(wrong)}.",
                hint="Give digits that add up to the length of every code, or use another way to make the hierarchy.",
            )
        parents: dict[str, str | None] = {}
        ends = np.cumsum(widths)
        for code in listing:
            above = total
            for end in ends:
                parents.setdefault(code[:end], above)
                above = code[:end]
        return cls.from_parents(parents, total, **options)

    @classmethod
    def from_columns(
        cls, levels: Sequence[Sequence[str | None]] | Any, total: str = "Total", **options: Any
    ) -> Hierarchy:
        """A tree from level columns, coarsest first: row by row the codes of one base code's ancestors.

        ``levels`` is a list of columns, or a data frame with just these columns. A branch that ends early repeats its
        last code or has ``None`` in the deeper columns.

        Examples
        --------
        >>> import pyarrow as pa
        >>> areas = pa.table({"region": ["N", "N", "S"], "town": ["N1", "N2", "S1"]})
        >>> Hierarchy.from_columns(areas).base_codes
        ('N1', 'N2', 'S1')
        """
        levels = columns_of(levels)
        lengths = [len(column) for column in levels]
        if len(set(lengths)) != 1:
            raise InputError(
                f"The level columns of a hierarchy have {listed(lengths)} codes.",
                hint="Give at least one column, all of the same length, coarsest first.",
            )
        parents: dict[str, str | None] = {}
        for row in dict.fromkeys(zip(*levels, strict=True)):
            above: str = total
            for item in row:
                if is_missing(item) or str(item) in ("", above):
                    continue
                code = str(item)
                if parents.setdefault(code, above) != above:
                    raise InputError(
                        f"Code {code!r} stands under both {parents[code]!r} and {above!r}.",
                        hint="Give each code one parent; add further sums with with_grouping().",
                        recipe_hint="Give each code one parent.",
                    )
                above = code
        return cls.from_parents(parents, total, **options)

    def with_grouping(self, parent: str, parts: Iterable[str], minus: Iterable[str] = ()) -> Hierarchy:
        """The same hierarchy with one more sum: ``parent`` = ``parts`` less ``minus``.

        Examples
        --------
        >>> industry = Hierarchy.flat(["B", "C", "D", "E"]).with_grouping("BtoE_exD", ["B", "C", "E"])
        >>> industry.with_grouping("exE", ["Total"], minus=["E"]).covered("exE")
        {'B': 1, 'C': 1, 'D': 1}
        """
        signed = tuple((str(c), 1) for c in parts) + tuple((str(c), -1) for c in minus)
        unknown = [code for code, _ in signed if code not in self.index]
        if unknown:
            raise InputError(unknown_name("code", unknown[0], self.codes, "the hierarchy"))
        if parent in self.index and parent != self.total and self.base[self.index[parent]]:
            raise InputError(
                f"Code {parent!r} is a base code, so it cannot become a sum of others.",
                hint="Give the sum a new code.",
            )
        return Hierarchy(
            (*self.groupings, Grouping(str(parent), signed)), self.total, self.codes, self.labels, self.missing
        )

    def merged(self, other: Hierarchy) -> Hierarchy:
        """Several hierarchies over one variable as one: all codes and all sums of both.

        A base code of one that the other explains is explained by the other. Both totals must cover the same.
        """
        groupings = tuple(dict.fromkeys((*self.groupings, *other.groupings)))
        total = self.total if self.total is not None else other.total
        labels = {**other.labels, **self.labels}
        merged = Hierarchy(groupings, total, (*self.codes, *other.codes), labels, self.missing | other.missing)
        if self.total is not None and other.total is not None and not merged.same(self.total, other.total):
            raise InputError(
                f"The totals {self.total!r} and {other.total!r} of the two hierarchies cover different base codes.",
                hint="Complete the smaller hierarchy, or give the two variables different names.",
            )
        return merged

    def labelled(self, labels: Mapping[str, str]) -> Hierarchy:
        """The same hierarchy with (further) words for its codes."""
        return Hierarchy(self.groupings, self.total, self.codes, {**self.labels, **labels}, self.missing)

    # ---- what follows from the groupings ------------------------------------------------------------------

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each code."""
        return {code: position for position, code in enumerate(self.codes)}

    @cached_property
    def base(self) -> Bools:
        """Which codes are base codes: no grouping explains them."""
        result = np.ones(len(self.codes), dtype=np.bool_)
        result[self.grouping_parents] = False
        return result

    @cached_property
    def grouping_parents(self) -> Codes:
        """Position of the parent of each grouping."""
        return np.array([self.index[grouping.parent] for grouping in self.groupings], dtype=np.int32)

    @cached_property
    def first_groupings(self) -> Bools:
        """Which groupings are the first of their parent."""
        result = np.zeros(len(self.groupings), np.bool_)
        result[np.unique(self.grouping_parents, return_index=True)[1]] = True
        return result

    @property
    def base_codes(self) -> tuple[str, ...]:
        """The codes that records carry."""
        return tuple(self.codes[i] for i in np.flatnonzero(self.base))

    @cached_property
    def members(self) -> tuple[Ints, Codes, Codes]:
        """For every code the groupings it stands in, as (start, grouping, coefficient).

        The parent of a grouping has coefficient -1, its parts their sign, so that each grouping sums to zero.
        """
        rows = [
            (self.index[code], number, sign)
            for number, grouping in enumerate(self.groupings)
            for code, sign in ((grouping.parent, -1), *grouping.parts)
        ]
        table = np.array(sorted(rows), dtype=np.int64).reshape(-1, 3)
        starts = pointers(np.bincount(table[:, 0], minlength=len(self.codes)))
        return starts, table[:, 1].astype(np.int32), table[:, 2].astype(np.int32)

    @cached_property
    def cover(self) -> tuple[Ints, Codes, Codes]:
        """For every code the base codes it sums, as (start, base code, sign)."""
        own, one = np.flatnonzero(self.base), np.ones(1, np.int64)
        covers: dict[int, tuple[Ints, Ints]] = {
            position: (own[place : place + 1], one) for place, position in enumerate(own.tolist())
        }
        for grouping in self._explained:
            parent = self.index[grouping.parent]
            found = _sum_of_covers(covers, [(self.index[code], sign) for code, sign in grouping.parts])
            if np.any(np.abs(found[1]) > 1):
                twice = self.codes[int(found[0][np.argmax(np.abs(found[1]) > 1)])]
                raise InputError(
                    f"The sum '{grouping}' counts base code {twice!r} more than once.",
                    hint="Subtract the overlap, or leave one of the overlapping parts out.",
                )
            known = covers.setdefault(parent, found)
            if not (np.array_equal(known[0], found[0]) and np.array_equal(known[1], found[1])):
                raise InputError(
                    f"Code {grouping.parent!r} is made up in two ways that cover different base codes.",
                    hint=f"Check the sum '{grouping}'.",
                )
        ordered = [covers[position] for position in range(len(self.codes))]
        starts = pointers(np.array([len(c[0]) for c in ordered], dtype=np.int64))
        empty = [np.zeros(0, np.int64)]
        return (
            starts,
            np.concatenate([c[0] for c in ordered] or empty).astype(np.int32),
            np.concatenate([c[1] for c in ordered] or empty).astype(np.int32),
        )

    @cached_property
    def ancestors(self) -> tuple[Ints, Codes, Codes]:
        """For every code the codes that sum it (itself included, base codes only), as (start, code, sign)."""
        starts, base, sign = self.cover
        owner = np.repeat(np.arange(len(self.codes), dtype=np.int32), np.diff(starts))
        order = np.lexsort((owner, base))
        return (
            pointers(np.bincount(base, minlength=len(self.codes)).astype(np.int64)),
            owner[order],
            sign[order],
        )

    @cached_property
    def signed(self) -> bool:
        """Whether some code subtracts another."""
        return bool(np.any(self.ancestors[2] < 0))

    @cached_property
    def level(self) -> bool:
        """Whether no code lies above another."""
        return bool(np.diff(self.ancestors[0]).max(initial=1) == 1)

    @cached_property
    def tops(self) -> Ints:
        """Codes that are parts of no other; more than one where there is no total."""
        parts = {code for grouping in self.groupings for code, _ in grouping.parts}
        return np.array([i for i, code in enumerate(self.codes) if code not in parts], np.int64)

    @cached_property
    def listed_parents(self) -> tuple[int, ...]:
        """The same as :attr:`parents`, as plain numbers."""
        return tuple(self.parents.tolist())

    @cached_property
    def direction(self) -> Status:
        """For every code 1 where it only adds base codes, -1 where it only subtracts them, 0 where it does both."""
        starts, _, sign = self.cover
        owner = np.repeat(np.arange(len(self.codes)), np.diff(starts))
        added, taken = (np.bincount(owner[mine], minlength=len(self.codes)) > 0 for mine in (sign > 0, sign < 0))
        return np.where(taken, np.where(added, 0, -1), 1).astype(np.int8)

    @cached_property
    def same_as(self) -> Codes:
        """For every code the first code that covers the same base codes."""
        starts, base, sign = self.cover
        first: dict[bytes, int] = {}
        return np.array(
            [
                first.setdefault(base[a:b].tobytes() + b"/" + sign[a:b].tobytes(), position)
                for position, (a, b) in enumerate(pairwise(starts.tolist()))
            ],
            dtype=np.int32,
        )

    @cached_property
    def has_synonyms(self) -> bool:
        """Whether several codes cover the same base codes."""
        return not np.array_equal(self.same_as, np.arange(len(self.codes)))

    @cached_property
    def parents(self) -> Codes:
        """The code that each one stands under, by the first grouping that has it as a part; -1 at the top."""
        result = np.full(len(self.codes), -1, dtype=np.int32)
        for grouping in reversed(self.groupings):
            for code, _ in grouping.parts:
                if code != self.total:
                    result[self.index[code]] = self.index[grouping.parent]
        return result

    @cached_property
    def depth(self) -> Codes:
        """Distance of each code from the top, by the first grouping that has it as a part."""
        first: dict[str, Grouping] = {}
        for grouping in self.groupings:
            for code, _ in grouping.parts:
                first.setdefault(code, grouping)
        result = np.zeros(len(self.codes), dtype=np.int32)
        for grouping in reversed(_topological(self.groupings, self.codes)):
            for code, _ in grouping.parts:
                if first[code] is grouping and code != self.total:
                    result[self.index[code]] = result[self.index[grouping.parent]] + 1
        return result

    def covered(self, code: str) -> dict[str, int]:
        """The base codes that a code sums, with their signs."""
        starts, base, sign = self.cover
        position = self.position(code)
        span = slice(starts[position], starts[position + 1])
        return {self.codes[b]: int(s) for b, s in zip(base[span], sign[span], strict=True)}

    def same(self, one: str, other: str) -> bool:
        """Whether two codes cover the same base codes."""
        return bool(self.same_as[self.position(one)] == self.same_as[self.position(other)])

    def position(self, code: str) -> int:
        """Position of a code; an error that lists the nearest codes when there is none."""
        try:
            return self.index[str(code)]
        except KeyError:
            raise InputError(unknown_name("code", str(code), self.codes, "the hierarchy")) from None

    def label(self, code: str) -> str:
        """Words for a code; the code itself where it has none."""
        return self.labels.get(code, code)

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        levels = int(self.depth.max(initial=0)) + 1
        return (
            f"Hierarchy({counted(len(self.codes), 'code')}, {counted(int(self.base.sum()), 'base code')}, "
            f"{counted(levels, 'level')}, total {self.total!r})"
        )

    def _repr_html_(self) -> str:
        from discreet.model.pages import hierarchy_page

        return hierarchy_page(self)

    # ---- checks -------------------------------------------------------------------------------------------

    def _check_groupings(self) -> None:
        seen = Counter(self.groupings)
        for grouping in self.groupings:
            if not grouping.parts:
                raise InputError(
                    f"Code {grouping.parent!r} is a sum without parts.", hint="List at least one code that it sums."
                )
            if any(sign not in (1, -1) for _, sign in grouping.parts):
                raise InputError(
                    f"A part of the sum for {grouping.parent!r} has a sign that is neither 1 nor -1.",
                    hint="Parts are added (1) or subtracted (-1).",
                )
            repeated = [code for code, n in Counter(code for code, _ in grouping.parts).items() if n > 1]
            if repeated or seen[grouping] > 1:
                raise InputError(
                    f"The sum '{grouping}' lists {listed(repeated or [grouping.parent])} twice.",
                    hint="List every code once under its parent.",
                )
        _ = self._explained  # looks for circles

    @cached_property
    def _explained(self) -> list[Grouping]:
        return _topological(self.groupings, self.codes)

    def _check_total(self) -> None:
        if self.total is None:
            if self.groupings:
                raise _ambiguous_total(_roots(self.groupings, self.codes))
            return
        if self.total not in self.index:
            raise InputError(unknown_name("code", self.total, self.codes, "the hierarchy (total=)"))
        covered = self.covered(self.total)
        orphans = [code for code in self.base_codes if covered.get(code) != 1]
        if orphans:
            raise InputError(
                f"The total {self.total!r} does not cover {counted(len(orphans), 'base code')}: {listed(orphans)}.",
                hint="Hang them under the total, or remove them.",
            )


def _groupings(children: Mapping[str, Sequence[str]]) -> Iterable[Grouping]:
    return (Grouping(parent, tuple((code, 1) for code in parts)) for parent, parts in children.items() if parts)


def _roots(groupings: tuple[Grouping, ...], codes: Iterable[str]) -> list[str]:
    placed = {code for grouping in groupings for code, _ in grouping.parts}
    return [code for code in codes if code not in placed]


def _in_display_order(groupings: tuple[Grouping, ...], total: str | None, codes: tuple[str, ...]) -> tuple[str, ...]:
    """Total first, every code before its parts, siblings in the order given."""
    below: dict[str, list[str]] = {}
    for grouping in groupings:
        below.setdefault(grouping.parent, []).extend(code for code, _ in grouping.parts)
    named = dict.fromkeys([*codes, *below, *(code for parts in below.values() for code in parts)])
    start = [] if total is None else [total]
    stack = [*reversed([*start, *_roots(groupings, named), *named])]
    ordered: dict[str, None] = {}
    while stack:
        code = stack.pop()
        if code not in ordered:
            ordered[code] = None
            stack.extend(reversed(below.get(code, [])))
    return tuple(ordered)


def _topological(groupings: tuple[Grouping, ...], codes: tuple[str, ...]) -> list[Grouping]:
    """Groupings with every code explained before it is used; an error that shows the cycle otherwise."""
    waiting: dict[str, int] = {}
    for grouping in groupings:
        waiting[grouping.parent] = waiting.get(grouping.parent, 0) + 1
    open_parts = [len(grouping.parts) for grouping in groupings]
    uses: dict[str, list[int]] = {}
    for number, grouping in enumerate(groupings):
        for code, _ in grouping.parts:
            uses.setdefault(code, []).append(number)
    ready = [code for code in codes if code not in waiting]
    ordered: list[Grouping] = []
    while ready:
        for number in uses.get(ready.pop(), ()):
            open_parts[number] -= 1
            if open_parts[number] == 0:
                ordered.append(groupings[number])
                parent = groupings[number].parent
                waiting[parent] -= 1
                if waiting[parent] == 0:
                    ready.append(parent)
    if len(ordered) < len(groupings):
        raise InputError(
            f"The hierarchy runs in a circle: {_circle(groupings, waiting)}.",
            hint="Remove one of these links; a code cannot be part of itself.",
        )
    return ordered


def _circle(groupings: tuple[Grouping, ...], waiting: Mapping[str, int]) -> str:
    stuck = {g.parent: [c for c, _ in g.parts if waiting.get(c, 0) > 0] for g in groupings if waiting[g.parent] > 0}
    path = [next(code for code, parts in stuck.items() if parts)]
    while path.count(path[-1]) < 2:
        path.append(stuck[path[-1]][0])
    return " > ".join(path[path.index(path[-1]) :])


def _sum_of_covers(covers: dict[int, tuple[Ints, Ints]], parts: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    base = np.concatenate([covers[code][0] for code, _ in parts])
    sign = np.concatenate([covers[code][1] * s for code, s in parts])
    unique, inverse = np.unique(base, return_inverse=True)
    total = np.zeros(len(unique), dtype=np.int64)
    np.add.at(total, inverse, sign)
    return unique[total != 0], total[total != 0]


def _ambiguous_total(roots: list[str]) -> InputError:
    return InputError(
        f"The total is ambiguous: {counted(len(roots), 'code', 'stand')} at the top: {listed(roots)}.",
        hint="Give total= a code of its own to put them under it, or give the missing parents.",
    )


def _refuse_empty(codes: Sized, what: str) -> None:
    if not len(codes):
        raise InputError(f"{what} is empty.", hint="A hierarchy needs at least one code besides its total.")


def _refuse_repeated(codes: list[str], what: str) -> None:
    repeated = [code for code, n in Counter(codes).items() if n > 1]
    if repeated:
        raise InputError(
            f"{what} has codes more than once: {listed(repeated)}.",
            hint="Each code may stand in one place, the total= above all; add further sums with with_grouping().",
            recipe_hint="Each code may stand in one place, the total above all.",
        )
