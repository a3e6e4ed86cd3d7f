"""The method ``Recode``: fewer and broader codes for one column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import InputError, NeedsError, ParameterError, counted, listed, unknown_codes
from discreet.keys import Key
from discreet.methods.base import RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.claims.records import recoded_claim
from discreet.model.evidence import Evidence
from discreet.model.hierarchy import Hierarchy
from discreet.model.records import MissingRange, RecordSet, stands_for_unknown
from discreet.parameters import Natural

if TYPE_CHECKING:
    import pyarrow as pa

WAYS = ("map", "level", "intervals", "top", "bottom")


@dataclass(frozen=True)
class Recode(RecordMethod):
    """Give a column fewer and broader codes. Empty fields stay empty, and so do codes that stand for "unknown", unless
    the map names them.

    Say how in one way: ``map``, ``level`` or ``intervals``; or with ``top`` and ``bottom``, which may stand together.

    Parameters
    ----------
    column
        The column.
    map
        Old codes to new ones; codes that are not in it stay.
    level
        Codes deeper than this level of the column's hierarchy become the code above them at this level; 0 is the total.
        The hierarchy is that of the records: ``Microdata(hierarchies={column: ...})``.
    intervals
        Numbers at which intervals begin, in rising order: ``(15, 30, 65)`` makes "<15", "15-29", "30-64" and "65+" of
        whole numbers.
    names
        Names of the intervals, one more than there are beginnings.
    top, bottom
        Numbers above ``top`` become ``top``, those below ``bottom`` become ``bottom``.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = ds.Microdata(pa.table({"age": [3, 17, 19, 70, 81, 9]}), keys=["age"])
    >>> release = ds.protect(people, ds.Recode("age", intervals=[15, 65]), rules=[ds.KAnonymity(2)], keep_order=True)
    >>> release.public.records.shown()["age"]
    ['<15', '15-64', '15-64', '65+', '65+', '<15']
    """

    kind: ClassVar[str] = "recode"
    column: str
    map: Mapping[str, str] | None = None
    level: Natural | None = None
    intervals: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    top: float | None = None
    bottom: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "intervals", _rising(self.intervals))
        given = [name for name in WAYS if getattr(self, name) not in (None, ())]
        if not given:
            raise ParameterError(
                f"Recode({self.column!r}) does not say how.", hint=f"Give one of {listed(WAYS)}, such as top=85."
            )
        if len(given) > 1 and given != ["top", "bottom"]:
            raise ParameterError(f"Recode({self.column!r}) has both {listed(given)}.", hint="Give one Recode for each.")
        if self.names and len(self.names) != len(self.intervals) + 1:
            raise ParameterError(
                f"names= gives {counted(len(self.names), 'name')}, and there are {len(self.intervals) + 1} intervals.",
                hint="Name the interval before the first beginning, too.",
            )
        if self.top is not None and self.bottom is not None and self.bottom > self.top:
            raise ParameterError(f"bottom={self.bottom} lies above top={self.top}.", hint="Exchange them.")
        if self.map is not None and not all(isinstance(word, str) for pair in self.map.items() for word in pair):
            raise ParameterError("map= takes text to text.", hint="Write codes in quotes: map={'1': '1-2', ...}.")

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Recode the column."""
        column, missing = records[self.column], records.about(self.column).missing
        notes: tuple[str, ...] = ()
        if self.map is not None:
            changed, notes = self._mapped(column)
        elif self.level is not None:
            changed = self._raised(column, records.hierarchies.get(self.column), missing)
        elif self.intervals:
            changed = self._in_intervals(column, missing)
        else:
            changed = self._limited(column, missing)
        plain = self.record()
        evidence = Evidence(plain, recoded_claim(plain, {}))
        return RecordOutcome({self.column: changed}, evidence, notes)

    def _mapped(self, column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, tuple[str, ...]]:
        assert self.map is not None
        seen: set[str] = set()

        def new(word: str) -> str:
            seen.add(word)
            return self.map[word] if self.map is not None and word in self.map else word

        changed = self._by_word(column, new)
        absent = [code for code in self.map if code not in seen]
        if len(absent) == len(self.map):
            raise InputError(
                f"None of the codes in the map of {self.column!r} occurs in the records.",
                hint="Check the map against the codes of the column.",
            )
        note = f"{counted(len(absent), 'code')} in the map of {self.column!r} did not occur: {listed(absent, 5)}."
        return changed, (note,) if absent else ()

    def _raised(
        self, column: pa.ChunkedArray, hierarchy: Hierarchy | None, missing: tuple[MissingRange, ...]
    ) -> pa.ChunkedArray:
        assert self.level is not None
        if hierarchy is None:
            raise NeedsError(
                f"Recode(level=) needs the hierarchy of {self.column!r}.",
                hint=f"Give Microdata(hierarchies={{{self.column!r}: hierarchy}}).",
            )
        above = ancestors(hierarchy, self.level)
        strange: dict[str, int] = {}

        def new(word: str) -> str:
            if stands_for_unknown(word, missing):
                return word
            if word not in above:
                strange[word] = strange.get(word, 0) + 1
                return word
            return above[word]

        changed = self._by_word(column, new)
        if strange:
            raise unknown_codes(self.column, strange)
        return changed

    def _by_word(self, column: pa.ChunkedArray, new: Callable[[str], str]) -> pa.ChunkedArray:
        """New text for the text of every distinct value."""
        import pyarrow as pa

        encoded = column.combine_chunks().dictionary_encode()
        encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
        words = pa.array([new(code_of(value)) for value in encoded.dictionary.to_pylist()], pa.string())
        return pa.chunked_array([words.take(encoded.indices)])

    def _in_intervals(self, column: pa.ChunkedArray, missing: tuple[MissingRange, ...]) -> pa.ChunkedArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        unknown = _unknown(column, missing)
        number, gaps = _as_numbers(column, self.column, unknown)
        whole = number.dtype.kind == "i"
        names = self.names or interval_names(self.intervals, whole)
        begins = np.array(self.intervals, np.float64)
        place = np.searchsorted(begins, number.astype(np.float64), side="right")
        changed = pa.chunked_array([pa.array(list(names), pa.string()).take(pa.array(place, mask=gaps))])
        return changed if unknown is None else pc.if_else(unknown, self._by_word(column, str), changed)

    def _limited(self, column: pa.ChunkedArray, missing: tuple[MissingRange, ...]) -> pa.ChunkedArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        number, gaps = _as_numbers(column, self.column, _unknown(column, missing))
        changed = column
        for limit, beyond in ((self.top, np.greater), (self.bottom, np.less)):
            if limit is None:
                continue
            if pa.types.is_integer(column.type) and limit != int(limit):
                raise ParameterError(
                    f"Column {self.column!r} holds whole numbers, and {limit:g} is none.", hint="Give a whole number."
                )
            new = number_text(limit) if pa.types.is_string(column.type) else limit
            beyond_it = pa.chunked_array([pa.array(beyond(number, limit) & ~gaps)])
            changed = pc.if_else(beyond_it, pa.scalar(new).cast(column.type), changed)
        return changed


def _rising(given: Any) -> tuple[float, ...]:
    numbers = (given,) if isinstance(given, int | float) else given
    good = isinstance(numbers, Sequence) and not isinstance(numbers, str)
    good = good and all(isinstance(n, int | float) and not isinstance(n, bool) and np.isfinite(n) for n in numbers)
    if not good or any(a >= b for a, b in pairwise(numbers)):
        raise ParameterError(f"intervals={given!r} is not allowed.", hint="Give numbers in rising order.")
    return tuple(numbers)


def _unknown(column: pa.ChunkedArray, missing: tuple[MissingRange, ...]) -> pa.ChunkedArray | None:
    """Where a column has codes that stand for "unknown"; nothing where it has none."""
    import pyarrow as pa

    if not missing:
        return None
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    known = [value is not None and stands_for_unknown(value, missing) for value in encoded.dictionary.to_pylist()]
    return pa.chunked_array([pa.array(known, pa.bool_()).take(encoded.indices)]) if any(known) else None


def _as_numbers(column: pa.ChunkedArray, name: str, unknown: pa.ChunkedArray | None) -> tuple[Any, Any]:
    """Numbers of a column, also of one that holds them as text, and where it is empty or unknown."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if unknown is not None:
        column = pc.if_else(unknown, pa.scalar(None, kind), column)
    if pa.types.is_string(kind):
        good = pc.match_substring_regex(column, r"^-?[0-9]+(\.[0-9]+)?$")
        wrong = pc.sum(pc.invert(good)).as_py() or 0
        if wrong:
            raise InputError(
                f"{counted(wrong, 'value')} of column {name!r} {'is' if wrong == 1 else 'are'} no number.",
                hint="Recode them with map= first, or correct them.",
            )
        whole = not (pc.any(pc.match_substring(column, ".")).as_py() or False)
        column = column.cast(pa.int64() if whole else pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(f"Column {name!r} holds {kind}, not numbers.", hint="Recode it with map= or level=.")
    gaps = np.asarray(column.is_null().to_numpy(), np.bool_)
    return pc.fill_null(column, 0).to_numpy(), gaps


def code_of(value: Any) -> str:
    """The code that a value stands for: its text, for numbers without a needless point."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if isinstance(value, float) else str(value)


def number_text(number: float) -> str:
    """A number without a needless point."""
    return str(int(number)) if number == int(number) else repr(float(number))


def interval_names(begins: Sequence[float], whole: bool) -> tuple[str, ...]:
    """Names of the intervals that begin at some numbers.

    Examples
    --------
    >>> interval_names([15, 16, 65], whole=True)
    ('<15', '15', '16-64', '65+')
    >>> interval_names([0.5, 1], whole=False)
    ('<0.5', '0.5 to <1', '1+')
    """
    texts = [number_text(begin) for begin in begins]
    between = []
    for i in range(len(begins) - 1):
        if whole and begins[i] == int(begins[i]) and begins[i + 1] == int(begins[i + 1]):
            last = number_text(begins[i + 1] - 1)
            between.append(texts[i] if last == texts[i] else f"{texts[i]}-{last}")
        else:
            between.append(f"{texts[i]} to <{texts[i + 1]}")
    return (f"<{texts[0]}", *between, f"{texts[-1]}+")


def ancestors(hierarchy: Hierarchy, level: int) -> dict[str, str]:
    """For every code the code above it at a level, itself where it is no deeper; the total stands at level 0."""
    path: dict[str, list[str]] = {}
    for place, code in enumerate(hierarchy.codes):
        up = int(hierarchy.parents[place])
        path[code] = [*(path[hierarchy.codes[up]] if up >= 0 else []), code]
    return {code: steps[min(level, len(steps) - 1)] for code, steps in path.items()}
