"""Local recoding beside a population: records and units are divided together, by the same cuts.

A class holds the records that get one code in every key, and the units of the population that these codes hold. Codes
reach as far as its records and units do; where a part of a class has no records, it is cut off and published nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.errors import ProtectionError, counted
from discreet.model.arrays import Bools, Floats, Ints
from discreet.progress import checkpoint
from discreet.records.joined_kernels import best_joined_cuts, parts_of_cuts
from discreet.records.mondrian import KeyScale, Mondrian, Partition

LITTLE = 1e-9
NO_LIMIT = 1e18


@dataclass(eq=False)
class JoinedMondrian(Mondrian):
    """Combinations of codes that occur in the file or the population, to be divided into classes.

    ``units`` are the units of the population with each combination.
    """

    units: Ints

    @property
    def limits(self) -> Floats:
        """The least records and units of a class, and the least and greatest share of its units in the file."""
        judges = self.judges
        lower = max((rule.lower for rule in judges.presences), default=0.0)
        upper = min((min(rule.upper, 1.0) + LITTLE for rule in judges.presences), default=NO_LIMIT)
        return np.array(
            [
                max(judges.least, judges.least_open),
                max((rule.k for rule in judges.maps), default=0),
                lower - LITTLE if lower else 0.0,
                upper,
            ]
        )

    def classes(self) -> Partition:
        """Classes that keep all rules, each with records; refused where there are none."""
        full = np.flatnonzero(np.all(self.codes >= 0, axis=0))
        self._refuse_absent(full)
        whole = Partition(full, np.array([0, len(full)], np.int64))
        records, units = int(self.records[full].sum()), int(self.units[full].sum())
        least, least_units, lower, upper = self.limits.tolist()
        good = records >= least and units >= least_units and lower * units <= records <= upper * units
        if not good or not self._values_safe(full, np.zeros(len(full), np.int64), 1, np.zeros(1, np.bool_)).all():
            raise ProtectionError(
                f"The rules do not hold even where all {counted(records, 'record')} look the same.",
                hint="Ask for less.",
            )
        return self.divide(whole)

    def _refuse_absent(self, full: Ints) -> None:
        """Units with empty fields fit no code; they are certain not to be in the file."""
        strange = int(self.units.sum() - self.units[full].sum())
        if strange and any(rule.lower > 0 for rule in self.judges.presences):
            raise ProtectionError(
                f"{counted(strange, 'unit', 'have')} empty fields or codes for unknown in the population, so that no "
                "record can be theirs, and everybody is to have a chance to be in the file.",
                hint="Leave such units out of the population, or give DeltaPresence lower=0.",
            )

    def divide(self, classes: Partition) -> Partition:
        """Cut classes while that lowers the loss and all parts keep the rules; parts without records are left out."""
        done: list[Ints] = []
        finished, everybody = 0, int(self.records.sum())
        active = classes
        while len(active):
            checkpoint("classes of records", finished, everybody)
            part = self._parts(active)
            group = np.repeat(np.arange(len(active)), np.diff(active.start))
            whole = part < 0
            done += [active.cells[a:b] for a, b in pairwise(active.start.tolist()) if whole[a]]
            finished += int(self.records[active.cells[whole]].sum())
            active = self._apart(active.cells[~whole], group[~whole], part[~whole])
        sizes = [len(one) for one in done]
        return Partition(np.concatenate(done), np.append(0, np.cumsum(sizes)).astype(np.int64))

    def _apart(self, cells: Ints, group: Ints, part: Ints) -> Partition:
        """The parts of classes that were cut, as classes; those without records are nobody's."""
        order = np.lexsort((part, group))
        cells, group, part = cells[order], group[order], part[order]
        new = np.ones(len(cells), np.bool_)
        new[1:] = (group[1:] != group[:-1]) | (part[1:] != part[:-1])
        number = np.cumsum(new) - 1
        there = np.bincount(number, self.records[cells]) > 0
        kept = there[number] if len(cells) else new
        start = np.append(np.flatnonzero(new[kept]), int(kept.sum()))
        return Partition(cells[kept], start.astype(np.int64))

    def _parts(self, active: Partition) -> Ints:
        """The part of every combination of classes that are cut; -1 in the others."""
        many, keys = len(active), len(self.scales)
        falls, cuts = np.zeros((keys, many)), np.zeros((keys, many, 3), np.int64)
        records, units = self.records[active.cells], self.units[active.cells]
        disjoint = bool(self.judges.presences)
        for j, scale in enumerate(self.scales):
            shape = (scale.line, scale.position, scale.parent, scale.depth, scale.loss)
            code = self.codes[j][active.cells]
            best_joined_cuts(code, records, units, active.start, self.limits, disjoint, *shape, falls[j], cuts[j])
        group = np.repeat(np.arange(many), np.diff(active.start))
        found = np.full(len(active.cells), -1, np.int64)
        halved = np.zeros(many, np.bool_)
        for key in np.argsort(-falls, axis=0, kind="stable"):
            tried = ~halved & (falls[key, np.arange(many)] > 0)
            if not tried.any():
                break
            part = np.full(len(active.cells), -1, np.int64)
            for j, scale in enumerate(self.scales):
                tree = (scale.position, scale.parent, scale.depth)
                parts_of_cuts(self.codes[j][active.cells], active.start, tried & (key == j), cuts[j], *tree, part)
            good = tried & self._all_safe(active, group, part, tried)
            found[good[group]] = part[good[group]]
            halved |= good
        return found

    def _all_safe(self, active: Partition, group: Ints, part: Ints, tried: Bools) -> Bools:
        """Classes of which every part with records keeps the rules on sensitive values."""
        if not self.judges.sensitive:
            return tried
        mine = tried[group] & (self.records[active.cells] > 0)
        _, number = np.unique(group[mine] * (int(part.max()) + 1) + part[mine], return_inverse=True)
        many = int(number.max()) + 1
        good = self._values_safe(active.cells[mine], number, many, np.zeros(many, np.bool_))
        every = tried.copy()
        every[group[mine][~good[number]]] = False
        return every


# ---- what readers see --------------------------------------------------------------------------------------------


def codes_held(scale: KeyScale, low: int, high: int) -> Bools:
    """Which places of a scale the code holds that stands for those from one place to another."""
    places = np.arange(len(scale.position))
    if scale.line:
        inside: Bools = (scale.position[low] <= scale.position) & (scale.position <= scale.position[high])
        return inside if low < high else places == low
    top = next(node for node, text in enumerate(scale.nodes) if text == scale.name(low, high))
    found = np.zeros(len(places), np.bool_)
    for place, node in enumerate(scale.position.astype(np.int64).tolist()):
        while node >= 0 and node != top:
            node = int(scale.parent[node])
        found[place] = node == top
    return found


def units_held(
    work: JoinedMondrian, ends: Sequence[tuple[Ints, Ints]], held: Sequence[Mapping[tuple[int, int], Bools]]
) -> Iterator[tuple[Ints, Ints]]:
    """Classes with the same codes, and the combinations of the population that these codes hold.

    Key by key, so that combinations that the first codes do not hold are not looked at again.
    """
    people = np.flatnonzero((work.units > 0) & np.all(work.codes >= 0, axis=0))

    def narrowed(key: int, classes: Ints, cells: Ints) -> Iterator[tuple[Ints, Ints]]:
        if key == len(work.scales):
            yield classes, cells
            return
        low, high = ends[key]
        masks = held[key]
        same: dict[bytes, list[int]] = {}
        for c in classes.tolist():
            same.setdefault(masks[int(low[c]), int(high[c])].tobytes(), []).append(c)
        for mine in same.values():
            mask = masks[int(low[mine[0]]), int(high[mine[0]])]
            yield from narrowed(key + 1, np.array(mine), cells[mask[work.codes[key][cells]]])

    yield from narrowed(0, np.arange(len(ends[0][0])), people)


def refuse_other_ranges(work: JoinedMondrian, classes: Partition) -> None:
    """Count what the published codes hold, without the cuts that led there; nothing is published where rules break."""
    ends = [work.ends(classes, key) for key in range(len(work.scales))]
    held = [
        {pair: codes_held(scale, *pair) for pair in set(zip(low.tolist(), high.tolist(), strict=True))}
        for scale, (low, high) in zip(work.scales, ends, strict=True)
    ]
    rows = np.bincount(np.repeat(np.arange(len(classes)), np.diff(classes.start)), work.records[classes.cells])
    most, least = np.zeros(len(work.units)), np.zeros(len(work.units))
    broken = False
    for mine, cells in units_held(work, ends, held):
        units, records = int(work.units[cells].sum()), int(rows[mine].sum())
        broken |= units < max([1, *(rule.k for rule in work.judges.maps)])
        most[cells] += records / max(units, 1)
        least[cells] = np.maximum(least[cells], records / max(units, 1))
    people = work.units > 0
    for rule in work.judges.presences:
        broken |= bool((most[people] > min(rule.upper, 1.0) + LITTLE).any())
        broken |= bool((least[people] < rule.lower - LITTLE).any())
    if broken:
        raise ProtectionError(
            "The rules on the population do not hold after generalisation.",
            hint="Nothing is published; please report it.",
        )
