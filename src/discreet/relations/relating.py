"""Relations of cells, worked out when somebody first asks for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.model.arrays import Bools, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Relations:
    """Rows of a matrix that sum to zero, and what each of them is.

    Parameters
    ----------
    matrix
        One row per equation, one column per cell; ``matrix @ value`` is zero.
    defining
        Rows that imply all others where tables are complete down to their base codes.
    origin
        For every row (table, variable, grouping, sample row); variable -1 is an equation between variables.
    parent
        For every row the cell that it explains by others, -1 where that is not there.
    slack
        How far each row may be from adding up, in units.
    """

    matrix: csr_array
    defining: Bools
    origin: Ints
    parent: Ints
    slack: Ints


@dataclass(frozen=True, eq=False)
class Relating:
    """How to work relations out: methods that change values cell by cell never ask, and large tables have many."""

    make: Callable[[], Relations]

    @cached_property
    def found(self) -> Relations:
        """The relations; all systems that share this object share them."""
        return self.make()
