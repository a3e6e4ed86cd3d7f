"""What methods leave behind: outcomes, and what a reader who knows a method can tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.model.arrays import Bools, Ints
from discreet.model.evidence import Evidence

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class TableOutcome:
    """What a method did to a system: cells withheld, the evidence, and the values to publish where it alters them.

    ``published`` holds a value for every cell of the system, in its units; ``None`` where values stay what they are.
    ``intervals`` are published beside them: ends that hold the true value, equal to it where it is published itself;
    or confidence intervals, with their ``coverage`` among the facts of the evidence.
    ``notes`` are for the custodian.
    """

    withheld: Bools
    evidence: Evidence
    published: Ints | None = None
    intervals: tuple[Ints, Ints] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class RecordOutcome:
    """What a method did to records: the columns it changed, all rows in their order, and the evidence.

    Numbers have one zero, as those of the original: -0.0 would mark the records that a method made it for.
    """

    changed: dict[str, pa.ChunkedArray]
    evidence: Evidence
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "changed", {name: _with_one_zero(column) for name, column in self.changed.items()})


def _with_one_zero(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.add(column, 0.0) if pa.types.is_floating(column.type) else column


@dataclass(frozen=True, eq=False)
class Whole:
    """Which numbers cells can be.

    Parameters
    ----------
    step
        For every cell of a system the step of its whole numbers, in units; 0 where it need not be whole.
    start, values
        Cells whose values have gaps: ``values[start[c] : start[c + 1]]`` are all that cell ``c`` can be. Empty where
        there is no gap.
    """

    step: Ints
    start: Ints | None = None
    values: Ints | None = None

    def of(self, cell: int) -> Ints | None:
        """All values of a cell with gaps."""
        if self.start is None or self.values is None:
            return None
        mine = self.values[self.start[cell] : self.start[cell + 1]]
        return mine if len(mine) else None


@dataclass(frozen=True, eq=False)
class Reading:
    """What a reader who knows a method can tell of each cell of a system from its altered values.

    Parameters
    ----------
    lower, upper
        The least and most that each cell can be, in units of the system.
    knows
        What of the method the reader knows, in words that go on "knows the publication, the relations, the bounds of
        each cell, and ...".
    not_considered
        What readers may know or do besides, and the audit leaves out.
    whole
        Which numbers cells can be where counts are whole; left out for other values.
    certain
        Unsafe cells that readers can tell exactly by other means than bounds and relations, and how, in words.
    """

    lower: Ints
    upper: Ints
    knows: str
    not_considered: tuple[str, ...] = ()
    whole: Whole | None = None
    certain: tuple[Bools, str] | None = None


@dataclass(frozen=True)
class NotAudited:
    """Nobody has worked out what a reader who knows a method can tell; ``why`` says so in words."""

    why: str


NO_READING = "discreet has no attacker who knows this method, so that nothing is said of what readers can work out"
