"""Which cells are unsafe, computed a second time from the cell file alone.

This repeats the inequalities of the stated rules (docs/design/0002-rules.md) with code of its own, in wide integers
and cell by cell where that is plainer; it must not import the rules. Where a rule's inputs are not in the cell file,
the rule is reported as asserted. The file may be wrong or forged: what looks as if a rule could not have been
applied counts as unsafe.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.model.arrays import Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import DECLARED_SAFE, CellStatus, Contributions, Table
from discreet.verify.bounds import bounds_of
from discreet.verify.rule_shapes import RULES
from discreet.verify.rule_shapes import rule as well_formed

Wide = NDArray[Any]
CONCENTRATION = ("dominance", "max_share", "p_percent", "prior_posterior")
USUAL_RANGE = 30
"""Per cent of the value that are asked of cells with too few contributors where no range is stated."""
NEVER = 2**80
"""A level that no release can reach."""


class Result(NamedTuple):
    """Cells that break a rule and their levels; levels of other cells mean nothing."""

    unsafe: NDArray[np.bool_]
    lower: Wide
    upper: Wide


class Recheck:
    """Unsafe cells and levels of one table, recomputed rule by rule."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.size = len(table)
        self.unsafe = np.zeros(self.size, np.bool_)
        self.misreported = np.zeros(self.size, np.bool_)
        self.lower = np.zeros(self.size, object)
        self.upper = np.zeros(self.size, object)
        self.asserted: list[str] = []
        self.missing: list[str] = []
        self.checked: list[Mapping[str, Any]] = []
        self.exempt = 0
        self.declared = 0
        self.marked = table.manual is not None and bool(np.any(table.manual != 0))
        self.resting = (0, 0)
        self.counts = table.spec.value is None
        self.floor, self.ceiling = bounds_of(table)
        assessment = table.assessment
        if assessment is None:
            return
        self.argus = assessment.profile == "argus"
        shown = table.decimals if table.spec.decimals is None else table.spec.decimals
        self.least = 10 ** max(table.decimals - shown, 0) if self.argus else 1
        exempt = self._missing_codes() if assessment.options.get("missing_safe") else np.zeros(self.size, np.bool_)
        results: list[tuple[str, Result]] = []
        for bit, rule in enumerate(assessment.rules):
            result, said = self._stated(rule), assessment.hits >> bit & 1 == 1
            if result is None:
                if rule["kind"] in RULES:
                    self.missing.append(rule["kind"])
                else:
                    self.asserted.append(f"rule {rule['kind']} in table {table.name}: one of the office's own")
                    self.unsafe |= said
            else:
                self.checked.append(self._with_range(rule))
                spared = exempt if rule["kind"] != "group_disclosure" else np.zeros(self.size, np.bool_)
                results.append((rule["kind"], result._replace(unsafe=result.unsafe & ~spared)))
                self.misreported |= said != results[-1][1].unsafe
        for _, result in results:
            self.unsafe |= result.unsafe
        self.exempt = int(exempt.sum())
        self.resting = self._resting(assessment.rules, self.unsafe | exempt)
        for result in self._in_turn(results) if self.argus else (result for _, result in results):
            self.lower = np.where(result.unsafe & (result.lower > self.lower), result.lower, self.lower)
            self.upper = np.where(result.unsafe & (result.upper > self.upper), result.upper, self.upper)
        self._manual(assessment.options)
        known = zip(self.lower.tolist(), self.upper.tolist(), table.value.tolist(), self.floor.tolist(), strict=True)
        clamped = [min(low, v - f) if f > -(2**62) and up > 0 else low for low, up, v, f in known]
        self.lower = np.array(clamped, object)

    def _resting(self, rules: tuple[Mapping[str, Any], ...], settled: NDArray[np.bool_]) -> tuple[int, int]:
        """How many safe cells would break a rule without weights, and how many if zeros did not count."""
        found = [np.zeros(self.size, np.bool_) for _ in range(2)]
        for rule in rules:
            stricter: list[dict[str, Any]] = [{}, {}]
            if self.table.spec.weight and rule["kind"] in CONCENTRATION:
                stricter[0] = {"weights": "ignore"}
            elif rule.get("weighted") and not self.argus:
                stricter[0] = {"weighted": False}
            if rule.get("zeros") and not self.counts:
                stricter[1] = {"zeros": False}
            for mask, change in zip(found, stricter, strict=True):
                again = self._stated({**rule, **change}) if change else None
                mask |= False if again is None else again.unsafe & ~settled
        return int(found[0].sum()), int(found[1].sum())

    def _stated(self, rule: Mapping[str, Any]) -> Result | None:
        try:
            return self._apply(rule)
        except (InputError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise InputError(
                f"A stated rule of table {self.table.name!r} is not well formed ({type(error).__name__})."
            ) from None

    def _in_turn(self, results: list[tuple[str, Result]]) -> list[Result]:
        """Levels of the program of that name: the first kind of rule broken, both sides alike, one published unit."""
        turns = (CONCENTRATION, ("request",), ("min_contributors", "min_frequency"), ("zero_unsafe",))
        waiting = np.ones(self.size, np.bool_)
        found = [result for kind, result in results if not any(kind in turn for turn in turns)]
        for turn in turns:
            served = np.zeros(self.size, np.bool_)
            for kind, (unsafe, lower, upper) in results:
                if kind not in turn:
                    continue
                served |= unsafe
                if kind != "zero_unsafe":
                    lower = upper = np.where(upper < self.least, self.least, upper)
                found.append(Result(unsafe & waiting, lower, upper))
            waiting &= ~served
        return found

    def _manual(self, options: Mapping[str, Any]) -> None:
        """Cells marked by hand, and levels given by hand for any unsafe cell."""
        table = self.table
        marked = np.zeros(self.size, np.bool_) if table.manual is None else table.manual == CellStatus.UNSAFE
        if table.manual is not None:
            declared = table.manual == DECLARED_SAFE
            self.declared = int((self.unsafe & declared).sum())
            self.unsafe &= ~declared
        self.unsafe |= marked
        usual = self._percent(_number(options, "manual_range", 20))
        usual = np.where(usual < self.least, self.least, usual)
        for side, given in (("lower", table.manual_lower), ("upper", table.manual_upper)):
            wanted = np.zeros(self.size, object) if given is None else given.astype(object)
            wanted = np.where(marked & (wanted <= 0), usual, wanted)
            now = getattr(self, side)
            setattr(self, side, np.where(self.unsafe & (wanted > now), wanted, now))

    def _missing_codes(self) -> NDArray[np.bool_]:
        result = np.zeros(self.size, np.bool_)
        for k, hierarchy in enumerate(self.table.spec.hierarchies):
            unknown = {hierarchy.codes.index(code) for code in hierarchy.missing}
            result |= np.array([code in unknown for code in self.table.codes[:, k].tolist()], np.bool_)
        return result

    def _percent(self, percent: Fraction) -> Wide:
        """A percentage of the values, rounded up, at least one unit."""
        share = percent / 100
        amount = _ceil(np.abs(self.table.value).astype(object) * share.numerator, share.denominator)
        return np.where(amount < 1, 1, amount)

    def _apply(self, rule: Mapping[str, Any]) -> Result | None:
        kind = rule["kind"]
        if "." in kind:
            return None
        well_formed(rule, kind)
        shares = () if kind == "zero_unsafe" else ("p", "q", "k", "p1", "p2", "range")
        if kind != "group_disclosure" and not rule.get("below_one") and any(rule.get(name, 1) < 1 for name in shares):
            raise ValueError(kind)
        found = self.table.contributions.get(rule.get("level", "holding"))
        if kind in CONCENTRATION:
            return None if found is None else self._concentration(rule, found)
        if kind == "min_contributors":
            return None if found is None else self._contributors(rule, found)
        if kind == "min_frequency":
            return self._frequency(rule)
        if kind == "zero_unsafe":
            return self._zero(rule)
        if kind == "request":
            return self._request(rule, found)
        return self._group(rule)

    def _concentration(self, rule: Mapping[str, Any], found: Contributions) -> Result | None:
        kind = rule["kind"]
        if kind == "dominance":
            together = rule["n"]
        else:
            together = 1 if kind == "max_share" else rule["coalition"] + 1
        listed, total = found.top, self._total(found)
        once = self.table.spec.weight and rule.get("weights")
        if once:
            if found.own is None or found.own_total is None:
                return None
            listed, total = found.own, found.own_total.astype(object) if once == "ignore" else total
        if listed.shape[1] < together:
            return None
        top = listed[:, :together].astype(object)
        largest, summed = top[:, 0], top.sum(axis=1)
        open_ = np.ones(self.size, np.bool_)
        if found.unwaived is not None:
            open_ = found.unwaived != -1
            largest = np.where(open_, found.unwaived, 0).astype(object)
            summed = np.where(largest < top[:, -1], summed - top[:, -1] + largest, summed)
        if kind in ("dominance", "max_share"):
            something = summed
            share = _number(rule, "k") / 100 if kind == "dominance" else _number(rule, "share")
            # unsafe: summed > share * total; level: summed / share - total
            above, below = summed * share.denominator - total * share.numerator, share.numerator
        else:
            something = largest
            share = _number(rule, "p") / _number(rule, "q", 100)
            # unsafe: total - summed < share * largest; level: the difference
            above = largest * share.numerator - (total - summed) * share.denominator
            below = share.denominator
        broken = (above >= 0) & (something > 0) if rule.get("inclusive") else above > 0
        unsafe = (np.asarray(broken, np.bool_) & open_) | self._not_allowed(found)
        if self.table.spec.shadow is None and once != "ignore":
            level = _ceil(above, below)
            level = np.where(level < 1, 1, level)
        else:
            level = self._in_proportion(above, below, total)
        return Result(unsafe, level, level)

    def _not_allowed(self, found: Contributions) -> NDArray[np.bool_]:
        """Cells with negative contributions, which rules refuse unless they look at absolute ones."""
        return found.negative & (not self.table.spec.absolute)

    def _total(self, found: Contributions) -> Wide:
        """The sum that the rules look at; it is the value itself unless they look at something else."""
        spec = self.table.spec
        other = spec.shadow is not None or spec.absolute
        return (found.total if other else self.table.value).astype(object)

    def _in_proportion(self, numerator: Wide, denominator: int, total: Wide) -> Wide:
        """Levels of the shadow variable as the same share of the value, at least one unit."""
        cells = zip(numerator, np.abs(self.table.value).astype(object), total, strict=True)
        levels = [v if t == 0 else -(-n * v // (t * denominator)) for n, v, t in cells]
        return np.array([max(level, 1) for level in levels], object)

    def _contributors(self, rule: Mapping[str, Any], found: Contributions) -> Result:
        some = found.count if self.counts or rule.get("zeros") else self._having(found.count, found.nonzero, found)
        few = _below(found.count, some, rule["n"])
        if found.unwaived is not None:
            few &= found.unwaived != -1
        share = self._asked_of_one(rule)
        if share is None:
            return self._few(few, found.count.astype(object), rule)
        if not found.top.shape[1]:
            raise KeyError("top")
        protected = (found.top[:, 0] if found.unwaived is None else found.unwaived).astype(object)
        level = _ceil(protected * share.numerator, share.denominator)
        level = np.where(level < 1, 1, level)
        return Result(few, level, level)

    def _asked_of_one(self, rule: Mapping[str, Any]) -> Fraction | None:
        """The largest share of a cell's only contribution that rules of closeness ask for, where no range is stated.

        It is not asked where a contribution counts as several, where something else than the value is looked at, and of
        the other program, which has a range of its own.
        """
        spec, assessment = self.table.spec, self.table.assessment
        if "range" in rule or self.argus or self.counts or spec.weight or spec.shadow is not None or assessment is None:
            return None
        shares = []
        for other in assessment.rules:
            if other["kind"] in ("p_percent", "prior_posterior"):
                well_formed(other, other["kind"])
                if other["level"] == rule["level"]:
                    shares.append(_number(other, "p") / _number(other, "q", 100))
        return max(shares, default=None)

    def _with_range(self, rule: Mapping[str, Any]) -> Mapping[str, Any]:
        """A rule with the range that it came to where it states none."""
        plain = self.counts and not self.argus and not self.table.spec.weight
        if rule["kind"] != "min_contributors" or "range" in rule or plain:
            return rule
        share = self._asked_of_one(rule)
        said = f"{USUAL_RANGE} % of the value" if share is None else f"{float(100 * share):g} % of the largest"
        return {**rule, "range": said}

    def _having(self, count: Ints, nonzero: Ints | None, found: Contributions | None) -> Ints:
        """How many have a value. The engine says it; a ready-made table may show it by a list that ends with zeros."""
        if nonzero is None and self.table.from_records:
            raise KeyError("nonzero")
        some = count if nonzero is None else np.minimum(count, nonzero)
        if nonzero is None and found is not None and found.top.shape[1]:
            shown = np.count_nonzero(found.top, axis=1)
            over = (found.top[:, -1] == 0) & ~found.negative & (shown < some)
            some = np.where(over, shown, some)
        return some

    def _few(self, few: NDArray[np.bool_], frequency: Wide, rule: Mapping[str, Any]) -> Result:
        percent = self._percent(_number(rule, "range", USUAL_RANGE))
        if self.argus or not self.counts:
            return Result(few, percent, percent)
        one = 10**self.table.decimals
        lower, upper = np.full(self.size, one, object), (rule["n"] - frequency) * one
        least = np.where(percent > one, percent, one) if self.table.spec.weight else lower
        return Result(few, least, np.where(upper < least, least, upper))

    def _frequency(self, rule: Mapping[str, Any]) -> Result | None:
        table = self.table
        zeros, one = self.counts or bool(rule.get("zeros")), 1
        if table.weighted is not None and (self.argus or rule.get("weighted")):
            units, one = table.weighted, 10**table.weight_decimals
            some = units
        elif table.records is not None:
            units = table.records
            some = units if zeros else self._having(units, table.nonzero, None)
        elif self.counts:
            units, one = table.value, 10**table.decimals
            some = units
        elif "holding" in table.contributions and not table.from_records:
            found = table.contributions["holding"]
            units = found.count
            some = units if zeros else self._having(units, found.nonzero, found)
        else:
            return None
        few = _below(units, some, rule["n"] * one)
        return self._few(few, (units // one).astype(object), rule)

    def _zero(self, rule: Mapping[str, Any]) -> Result | None:
        table = self.table
        if self.counts and table.from_records and self.size < math.prod(table.shape):
            return None
        somebody = ~table.empty
        for number in (table.records, *(found.count for found in table.contributions.values())):
            somebody |= False if number is None else number > 0
        zero = (table.value == 0) & (somebody | self.counts) & (self.ceiling > 0)
        up = _number(rule, "range") * 10**table.decimals
        return Result(zero, np.zeros(self.size, object), np.full(self.size, math.ceil(up), object))

    def _request(self, rule: Mapping[str, Any], found: Contributions | None) -> Result | None:
        if found is None or found.requested is None:
            return None
        asked = found.requested != -1
        total = self._total(found)
        unsafe = asked.any(axis=1) & ((found.count < rule["n"]) | self._not_allowed(found))
        for j, p in enumerate((_number(rule, "p1"), _number(rule, "p2", rule["p1"]))):
            more = found.requested[:, j].astype(object) * 100 * p.denominator > total * p.numerator
            unsafe |= asked[:, j] & np.asarray(more, np.bool_)
        level = self._percent(_number(rule, "range"))
        return Result(unsafe, level, level)

    @cached_property
    def _places(self) -> dict[tuple[int, ...], int]:
        return {tuple(codes): row for row, codes in enumerate(self.table.codes.tolist())}

    @cached_property
    def _wider(self) -> list[list[list[int]]]:
        """For every variable and code the codes that cover all of it."""
        found = []
        for hierarchy in self.table.spec.hierarchies:
            covered = [frozenset(hierarchy.covered(code)) for code in hierarchy.codes]
            found.append([[i for i, other in enumerate(covered) if other >= mine] for mine in covered])
        return found

    def _empty_around(self, row: int) -> int:
        """How many cells with nothing in them hold this one."""
        value = self.table.value
        around = product(*(self._wider[k][code] for k, code in enumerate(self.table.codes[row].tolist())))
        return sum(place in self._places and value[self._places[place]] == 0 for place in around)

    def _group(self, rule: Mapping[str, Any]) -> Result:
        """All of a group but ``k`` in one category: the category may not be known, nor that the others are so empty."""
        table, one = self.table, 10**self.table.decimals
        k = table.variables.index(rule["variable"])
        hierarchy = table.spec.hierarchies[k]
        parts = [hierarchy.covered(code) for code in hierarchy.codes]
        whole = hierarchy.covered(str(hierarchy.total))
        groups: dict[tuple[int, ...], dict[int, int]] = {}
        people = [[min(h.covered(c).values(), default=1) > 0 for c in h.codes] for h in table.spec.hierarchies]
        secret = [
            [rule.get("unknown") or not _stands_for_unknown(h, c) for c in h.codes] for h in table.spec.hierarchies
        ]
        for row, codes in enumerate(table.codes.tolist()):
            if all(whose[code] for whose, code in zip(people, codes, strict=True)):  # nothing is subtracted
                groups.setdefault(tuple(codes[:k] + codes[k + 1 :]), {})[codes[k]] = row
        unsafe = np.zeros(self.size, np.bool_)
        lower, upper = np.zeros(self.size, object), np.zeros(self.size, object)
        allowed = rule["k"] * one
        enough = allowed + one
        value = table.value.tolist()
        for members in groups.values():
            size = value[members[hierarchy.codes.index(str(hierarchy.total))]]
            for code, row in members.items():
                outside = size - value[row]
                if parts[code] == whole or value[row] <= 0 or not 0 <= outside <= allowed:
                    continue
                if not all(whose[c] for whose, c in zip(secret, table.codes[row].tolist(), strict=True)):
                    continue
                others = [members[other] for other in members if not parts[other].keys() & parts[code].keys()]
                if others and all(self.ceiling[other] <= value[other] for other in others):
                    continue  # everybody knows how empty the others are
                unsafe[row] = True
                lower[row] = max(lower[row], min(enough - outside, value[row]))
                roomy = [other for other in others if self.ceiling[other] >= enough]
                if not roomy:
                    upper[row] = NEVER
                    continue
                most = max(value[other] for other in roomy)
                fullest = min((o for o in roomy if value[o] == most), key=lambda o: (self._empty_around(o), o))
                if value[fullest] < enough:
                    unsafe[fullest] = True
                    upper[fullest] = max(upper[fullest], enough - value[fullest])
        return Result(unsafe, lower, upper)


def _stands_for_unknown(hierarchy: Hierarchy, code: str) -> bool:
    """Whether a code says nothing of those who have it."""
    covered = hierarchy.covered(code)
    return code in hierarchy.missing or (len(covered) > 0 and all(base in hierarchy.missing for base in covered))


def _below(everybody: Ints, some: Ints, least: int) -> NDArray[np.bool_]:
    """Too few, or too few who have something; where nobody has anything, all of them count."""
    counted = np.where(some == 0, everybody, some)
    return np.asarray((everybody > 0) & (counted < least), np.bool_)


def _number(record: Mapping[str, Any], name: str, otherwise: float | None = None) -> Fraction:
    """A parameter as the exact decimal number that its author wrote; its shape was looked at before."""
    return Fraction(str(record[name] if otherwise is None else record.get(name, otherwise)))


def _ceil(numerator: Wide, denominator: int) -> Wide:
    return np.asarray(-(-numerator // denominator), object)
