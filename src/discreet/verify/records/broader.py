"""Which codes and intervals stand above a value, from hierarchies and numbers alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.hierarchy import Hierarchy
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.words import as_number, code_of, is_unknown

if TYPE_CHECKING:
    import pyarrow as pa

ANY = "*"
"""What stands above the codes of a key without a hierarchy."""
BETWEEN = re.compile(r"([0-9]+)-([0-9]+)|(\S+) to (\S+)")


@dataclass(frozen=True, eq=False)
class Broader:
    """What may become of the values of one key.

    ``lines`` are the codes above each code, itself first; ``under`` counts the base codes under each. ``level`` is how
    many levels all values went up; nothing where every class has its own. ``ends`` are the least and the greatest
    number of a key whose values may become intervals.
    """

    name: str
    lines: Mapping[str, Sequence[str]]
    under: Mapping[str, int]
    base: int
    unknown: Sequence[tuple[Any, Any]]
    level: int | None
    height: int
    ends: tuple[float, float] | None

    def raised(self, code: str) -> str:
        """The code that all records with a code get."""
        assert self.level is not None
        line = self.lines.get(code, [code])
        # Codes less deep than others go up only as far as the others reach.
        return line[min(max(self.level - (self.height + 1 - len(line)), 0), len(line) - 1)]

    def wrong(self, before: pa.ChunkedArray, after: pa.ChunkedArray, suppressed: np.ndarray) -> int:
        """How many kinds of values became something that they may not become, besides those suppressed."""
        return sum(not self._may(old, new) for old, new, _ in counted_pairs(before, after, ~suppressed))

    def _may(self, old: Any, new: Any) -> bool:
        if old is None:
            return new is None
        if type(new) is not type(old) and not isinstance(new, str):
            return False
        if is_unknown(old, self.unknown):
            return bool(new == (code_of(old) if isinstance(new, str) else old))
        if is_unknown(new, self.unknown):  # rules would take it for a record that may be anybody
            return False
        code = code_of(old)
        if self.level is not None:
            if self.level == 0:
                return type(new) is type(old) and bool(new == old)
            return bool(new == self.raised(code))
        if not isinstance(new, str):
            return bool(new == old)
        if new == code:
            return True
        if self.ends is not None:
            span, number = interval(new), as_number(code)
            return span is not None and number is not None and span[0] <= number <= span[1]
        return new in self.lines.get(code, [code, ANY])

    def holds(self, code: str, shown: str) -> bool:
        """Whether a unit of a population with a code may be a record that shows something.

        A code for "unknown" fits nothing that is shown.
        """
        return not is_unknown(code, self.unknown) and self._may(code, shown)

    def width(self, old: Any, new: Any) -> float:
        """What a value loses that became another: a share of the whole."""
        if old is None or is_unknown(old, self.unknown):
            return 0.0
        text = code_of(new)
        if self.ends is not None:
            span = interval(text) if isinstance(new, str) and text != code_of(old) else None
            low, high = self.ends
            return 0.0 if span is None or high == low else (span[1] - span[0]) / (high - low)
        if not self.lines:
            return float(text == ANY and self.base > 1 and self.level is None)
        return 0.0 if self.base == 1 else (self.under[text] - 1) / (self.base - 1)


def interval(text: str) -> tuple[float, float] | None:
    """The ends of an interval that a text names."""
    found = BETWEEN.fullmatch(text)
    if found is None:
        return None
    low, high = (as_number(part or "") for part in (found[1] or found[3], found[2] or found[4]))
    return None if low is None or high is None or low > high else (low, high)


def counted_pairs(before: pa.ChunkedArray, after: pa.ChunkedArray, rows: np.ndarray) -> list[tuple[Any, Any, int]]:
    """Every pair of an old and a new value in some rows, and how often it occurs."""
    import pyarrow as pa

    table = pa.table({"before": before, "after": after}).filter(pa.array(rows))
    pairs = table.group_by(["before", "after"]).aggregate([([], "count_all")])
    return list(zip(*(pairs[name].to_pylist() for name in ("before", "after", "count_all")), strict=True))


def broader_codes(step: CheckedStep, keys: Sequence[str]) -> list[Broader] | None:
    """What may become of every key; nothing where what is stated does not fit the hierarchies."""
    facts, lattice = step.evidence.facts, step.method["algorithm"] == "lattice"
    if not isinstance(facts.get("reach", {}), Mapping):
        step.refuse("how far keys reach is stated of keys that reach no further than the file")
        return None
    found, told = [], dict(facts.get("reach", {}))
    for place, name in enumerate(keys):
        hierarchy, kind = step.original.hierarchies.get(name), str(step.before[name].type)
        unknown = step.original.about(name).missing
        numbers = name in step.method["ordered"] or (hierarchy is None and kind in ("int64", "double"))
        known = [v for v in step.before[name].unique().to_pylist() if v is not None and not is_unknown(v, unknown)]
        lines, under = _tree(hierarchy)
        height = max((len(line) for line in lines.values()), default=1) - 1
        ends = None
        if not lattice and numbers:
            values = [as_number(code_of(value)) for value in known]
            if None in values:
                step.refuse("a key of intervals has values that are no numbers", name)
                return None
            plain = [value for value in values if value is not None]
            ends = _ends(plain, told.pop(name, None), _people_codes(step, name))
        elif hierarchy is not None and any(code_of(value) not in lines for value in known):
            step.refuse("a hierarchy lacks codes of its key", name)
            return None
        if lattice and facts["heights"][place] != height:
            step.refuse("a hierarchy has other levels than are stated", name)
            return None
        level = facts["levels"][place] if lattice else None
        base = len(known)
        if hierarchy is not None:
            base = len(set(hierarchy.codes) - {grouping.parent for grouping in hierarchy.groupings})
        elif not lattice and ends is None:
            base = _many({code_of(value) for value in known}, told.pop(name, None), _people_codes(step, name))
        if base < 0 or (ends is not None and ends[0] > ends[1]):
            step.refuse("a key reaches further or less far than the file and the population do", name)
            return None
        found.append(Broader(name, lines, under, base, unknown, level, height, ends))
    if told:
        step.refuse("how far keys reach is stated of keys that reach no further than the file")
        return None
    return found


NOWHERE = (1.0, 0.0)
"""Ends that contradict themselves, for what is stated and cannot be."""


def _people_codes(step: CheckedStep, name: str) -> set[str] | None:
    """Codes of a key that occur in the populations of the rules; nothing where a population is not kept."""
    found: set[str] = set()
    unknown = step.original.about(name).missing
    for rule in step.evidence.facts["rules"]:
        population = rule.get("population", {})
        if name not in population.get("keys", ()):
            continue
        if "codes" not in population:
            return None
        at = list(population["keys"]).index(name)
        codes = population["codes"][at]
        found |= {codes[number] for number in population["combinations"][at] if 0 <= number < len(codes)}
    return {code for code in found if not is_unknown(code, unknown)}


def _ends(file: Sequence[float], told: Any, people: set[str] | None) -> tuple[float, float]:
    """The ends of numbers in file and population together."""
    if told is None:
        if people is None or people:
            return NOWHERE
        return (min(file), max(file)) if file else (0.0, 0.0)
    if not isinstance(told, list) or [type(end) for end in told] != [float, float]:
        return NOWHERE
    low, high = told
    numbers = [as_number(code) for code in people or ()]
    known = [*file, *(value for value in numbers if value is not None)]
    if people is None:  # the population is not kept, and what is lost is taken as told
        return (low, high) if low <= min(known) and max(known) <= high else NOWHERE
    return (low, high) if None not in numbers and (low, high) == (min(known), max(known)) else NOWHERE


def _many(file: set[str], told: Any, people: set[str] | None) -> int:
    """How many codes a key without a hierarchy has in file and population together; -1 where that cannot be."""
    if told is None:
        return -1 if people is None or people else len(file)
    if type(told) is not int or told < len(file):
        return -1
    return told if people is None or told == len(file | people) else -1


def _tree(hierarchy: Hierarchy | None) -> tuple[dict[str, list[str]], dict[str, int]]:
    """For every code those above it, itself first, by the first grouping that has it; and its number of base codes."""
    if hierarchy is None:
        return {}, {}
    parent: dict[str, str] = {}
    sums = {grouping.parent for grouping in hierarchy.groupings}
    for grouping in hierarchy.groupings:
        for part, _ in grouping.parts:
            if part != hierarchy.total:
                parent.setdefault(part, grouping.parent)
    lines, under = {}, dict.fromkeys(hierarchy.codes, 0)
    for code in hierarchy.codes:
        line = [code]
        while line[-1] in parent and len(line) <= len(hierarchy.codes):
            line.append(parent[line[-1]])
        lines[code] = line
        if code not in sums:
            for above in line:
                under[above] += 1
    return lines, under
