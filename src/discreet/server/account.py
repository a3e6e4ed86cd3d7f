"""The account of refinements: what has been told of each margin, over all users.

It holds for everybody together, because users may talk to each other. What is charged is never given back. A question
that was charged once is free from then on: its answer is always the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple, Protocol

from discreet.server.question import Refusal
from discreet.server.refinement import Margin

EVERYWHERE = ""
"""The scope of tables of all areas."""


class Entry(NamedTuple):
    """One charge: which margin, in which area and all below it, by which table, and how much."""

    margin: Margin
    scope: str
    table: str
    precision: float


class Account(Protocol):
    """Where charges are kept. Everything happens in one transaction, or not at all."""

    def charge(
        self, dataset: str, edition: str, entries: Iterable[Entry], room: Mapping[Margin, float], geography: Geography
    ) -> None:
        """Enter charges that are not there yet, or refuse where a margin has no room for them.

        Raises
        ------
        Refusal
            When a margin would be told too precisely; nothing is charged then.
        """


@dataclass(frozen=True)
class Geography:
    """Which areas lie in which."""

    parents: Mapping[str, str]
    """The area that each one lies in; those directly below everything have none."""

    def chain(self, area: str) -> list[str]:
        """An area and all that it lies in, the whole last."""
        found = []
        while area != EVERYWHERE:
            found.append(area)
            area = self.parents.get(area, EVERYWHERE)
        return [*found, EVERYWHERE]

    def most_told(self, told: Mapping[str, float], scope: str) -> float:
        """The largest precision that some area in a scope has already, from tables of it, of areas above and below."""
        above = sum(told.get(area, 0.0) for area in self.chain(scope))
        below = 0.0
        for area in told:
            chain = self.chain(area)
            if area != scope and scope in chain:
                below = max(below, sum(told.get(step, 0.0) for step in chain[: chain.index(scope)]))
        return above + below


WHOLE = Geography({})


def refuse_told(margin: Margin) -> Refusal:
    """The refusal of a table that would tell too much together with all that was answered before."""
    words = margin.replace(",", ", ").replace(":", " (level ") if margin else ""
    cells = ", ".join(f"{part})" for part in words.split(", ")) if words else "the total"
    return Refusal(
        "told-too-often",
        f"Tables that refine {cells} have been answered so often that one more would undo their noise.",
        hint="Ask for fewer or coarser variables, or for a table that was answered before.",
    )


def check_room(
    told: Mapping[Margin, Mapping[str, float]],
    new: Iterable[Entry],
    room: Mapping[Margin, float],
    geography: Geography,
) -> None:
    """Refuse charges for which a margin has no room.

    Parameters
    ----------
    told
        Per margin and scope what was charged already.
    new
        Charges that were not made before.
    room
        What refinements of each margin may come to.
    geography
        Which areas lie in which.
    """
    wanted: dict[tuple[Margin, str], float] = {}
    for entry in new:
        key = (entry.margin, entry.scope)
        wanted[key] = wanted.get(key, 0.0) + entry.precision
    for (margin, scope), precision in wanted.items():
        if geography.most_told(told.get(margin, {}), scope) + precision > room[margin] + 1e-9:
            raise refuse_told(margin)


@dataclass
class MemoryAccount:
    """An account that is gone with its process: for tests, and for one look at a data set."""

    entries: dict[tuple[str, str], dict[tuple[Margin, str, str], float]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def charge(
        self, dataset: str, edition: str, entries: Iterable[Entry], room: Mapping[Margin, float], geography: Geography
    ) -> None:
        """Enter charges that are not there yet, or refuse."""
        with self._lock:
            mine = self.entries.setdefault((dataset, edition), {})
            new = [entry for entry in entries if entry[:3] not in mine]
            margins = {entry.margin for entry in new}
            told: dict[Margin, dict[str, float]] = {}
            for (margin, scope, _), precision in mine.items():
                if margin in margins:
                    scopes = told.setdefault(margin, {})
                    scopes[scope] = scopes.get(scope, 0.0) + precision
            check_room(told, new, room, geography)
            mine.update({entry[:3]: entry.precision for entry in new})
