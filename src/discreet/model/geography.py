"""Geography as a dimension: cells of a table that lie somewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from discreet.model.arrays import Floats
from discreet.model.hierarchy import Hierarchy


class Geography(ABC):
    """Where the codes of a variable lie; stands in ``by`` in place of a hierarchy.

    ``coordinates`` says whether records have coordinates, which are turned into codes, or codes already.
    """

    coordinates: ClassVar[bool] = False

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Columns of coordinates; none where records have codes."""

    @abstractmethod
    def codes_of(self, *coordinates: Floats) -> list[str]:
        """The code of each record from its coordinates."""

    @abstractmethod
    def hierarchy(self, codes: Sequence[str] = ()) -> Hierarchy:
        """The codes under a total: those that occur, where they come from coordinates."""
