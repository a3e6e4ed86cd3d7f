"""Which standard a pattern meets, found by attacking it over all relations together.

The standards are those of offices that protect tables together (Giessing and Dittrich 2006), asked of the full
relations, which is more than of each sub-table by itself:

- ``PS1``: no outsider can work out an unsafe cell exactly; ``PS1*``: every one keeps its level against outsiders.
- ``PS2``: no relation is left with exactly two withheld cells that two different contributors fill alone;
  ``PS2*``: no contributor at all can work out a cell that another one fills alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.attack import External, WorstInsider, attack_by_insiders
from discreet.errors import counted, listed
from discreet.model.arrays import Bools, Ints
from discreet.progress import onwards
from discreet.relations import System

STANDARDS = ("PS1", "PS1*", "PS2", "PS2*")
SHOWN = 5


@dataclass(frozen=True, eq=False)
class Standards:
    """What attackers find of a pattern, as numbers of cells of a system.

    Parameters
    ----------
    system
        Cells and relations.
    short, exact
        Unsafe cells that an outsider finds closer than their level allows, and those that it works out exactly.
    short_insiders, exact_insiders
        The same for contributors who know what they contributed; levels only where they were asked for.
    pairs
        Pairs of cells of two single contributors that are alone in a relation.
    unattacked
        Unsafe cells of which nobody knows how many contributors they have, so that no insider was considered.
    """

    system: System
    short: Ints
    exact: Ints
    short_insiders: Ints
    exact_insiders: Ints
    pairs: Ints
    unattacked: int

    @cached_property
    def met(self) -> tuple[str, ...]:
        """The standards that are met; those about insiders only where all contributors are known."""
        alone = self.system.contributors[self.exact_insiders] == 1
        found = {
            "PS1": not len(self.exact),
            "PS1*": not len(self.exact) and not len(self.short),
            "PS2": not len(self.pairs) and not self.unattacked,
            "PS2*": not alone.any() and not self.unattacked,
        }
        return tuple(name for name in STANDARDS if found[name])

    @cached_property
    def missed(self) -> Ints:
        """Unsafe cells that some attacker finds too closely."""
        return np.unique(np.concatenate((self.short, self.exact, self.short_insiders, self.exact_insiders)))

    def counts(self) -> dict[str, int]:
        """The findings in numbers."""
        return {
            "short": len(self.short),
            "recoverable": len(self.exact),
            "short_insiders": len(self.short_insiders),
            "recoverable_insiders": len(self.exact_insiders),
            "singleton_pairs": len(self.pairs),
        }

    def sentence(self) -> str:
        """Which standards are met and which are not, in numbers without names."""
        missed = [name for name in STANDARDS if name not in self.met]
        count = self.counts()
        text = f"found by audit over all relations: meets {', '.join(self.met) or 'no standard'}"
        text += f", not {', '.join(missed)}" if missed else ""
        text += (
            f"; of {counted(int(self.system.unsafe.sum()), 'unsafe cell')} {count['short']} are short of their level "
            f"and {count['recoverable']} worked out exactly by an outsider, {count['short_insiders']} and "
            f"{count['recoverable_insiders']} by an insider"
        )
        if self.unattacked:
            text += f"; insiders of {counted(self.unattacked, 'cell')} without known contributors were not considered"
        return text

    def names(self) -> tuple[str, ...]:
        """The cells concerned, for the custodian."""
        said = (
            ("short of their level", self.short),
            ("worked out by anybody", self.exact),
            ("short of their level against an insider", self.short_insiders),
            ("worked out by an insider", self.exact_insiders),
        )
        return tuple(
            f"{what}: {listed([self.system.cell_name(c) for c in cells.tolist()], SHOWN)}"
            for what, cells in said
            if len(cells)
        )


def standards(
    system: System, withheld: Bools, *, levels: bool = True, proved: Bools | None = None, insiders_too: bool = True
) -> Standards:
    """Attack a pattern over all relations, as an outsider and as every contributor.

    Parameters
    ----------
    system
        Cells and relations, with what everybody knows of the cells as their bounds.
    withheld
        The pattern.
    levels
        Whether contributors must find unsafe cells at their level; otherwise only not work them out.
    proved, insiders_too
        Cells that certificates within the pattern prove to keep their levels, so that nobody need attack them; and
        whether they do so against contributors.

    Examples
    --------
    >>> import discreet as ds
    >>> from discreet.relations import build_system
    >>> system = build_system(ds.examples.small_table().assess(ds.PPercent(10)))
    >>> standards(system, system.unsafe).met
    ('PS2', 'PS2*')
    """
    hidden = withheld & ~system.known
    with onwards():
        attack = External(system, hidden, system.unsafe[hidden])
        if proved is not None:
            attack.take_proofs(proved)
        attack.run(False, 0)
        found = attack.intervals(False)
        insiders = attack_by_insiders(attack, levels, 0, proved if insiders_too else None)
    cells = found.cells
    unsafe = system.unsafe[cells]
    return Standards(
        system,
        cells[unsafe & found.short],
        cells[unsafe & found.recoverable],
        cells[unsafe & (insiders >= WorstInsider.SHORT)] if levels else np.zeros(0, np.int64),
        cells[unsafe & (insiders == WorstInsider.RECOVERABLE)],
        singleton_pairs(system, hidden),
        int((unsafe & (system.contributors[cells] == 0)).sum()),
    )


def singleton_pairs(system: System, withheld: Bools) -> Ints:
    """Pairs of withheld cells that are alone in a relation and filled by two different single contributors."""
    matrix = system.matrix
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    hidden = withheld[matrix.indices]
    count = np.bincount(row[hidden], minlength=matrix.shape[0])
    cells = matrix.indices[hidden & (count[row] == 2)].astype(np.int64).reshape(-1, 2)
    alone = np.all(system.contributors[cells] == 1, axis=1)
    holder = system.holder.reshape(len(system), -1)[:, 0]
    different = holder[cells[:, 0]] != holder[cells[:, 1]]
    return np.unique(np.sort(cells[alone & different], axis=1), axis=0)
