"""Which cells are unsafe, computed a second time from the cell file alone.

This repeats the inequalities of the stated rules with code of its own; it must not import the rules. Where a
rule's inputs are not in the cell file, the rule is reported as asserted.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.table import CellStatus, Contributions, Table

Wide = NDArray[Any]
CONCENTRATION = ("dominance", "max_share", "p_percent", "prior_posterior")


class Recheck:
    """Unsafe cells and levels of one table, recomputed rule by rule."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.size = len(table)
        self.unsafe = np.zeros(self.size, np.bool_)
        self.lower = np.zeros(self.size, object)
        self.upper = np.zeros(self.size, object)
        self.asserted: list[str] = []
        assessment = table.assessment
        if assessment is None:
            return
        argus = assessment.profile == "argus"
        exempt = self._missing_codes() if assessment.options.get("missing_safe") else np.zeros(self.size, np.bool_)
        results = []
        for rule in assessment.rules:
            result = self._apply(dict(rule), argus)
            if result is None:
                self.asserted.append(f"rule {rule['kind']} in table {table.name}: its inputs are not in the cell file")
                continue
            hit = result[0] & ~exempt
            results.append((str(rule["kind"]), hit, result[1], result[2]))
            self.unsafe |= hit
        concentrated = np.zeros(self.size, np.bool_)
        for kind, hit, _, _ in results:
            if kind in CONCENTRATION or kind == "request":
                concentrated |= hit
        one = 10 ** max(table.decimals - (table.spec.decimals or 0), 0)
        for kind, hit, lower, upper in results:
            use = hit
            if argus:
                first = kind in CONCENTRATION or kind == "request"
                use = hit & (concentrated if first else ~concentrated)
                if kind != "zero_unsafe":
                    lower = upper = np.where(upper < one, one, upper)
            self.lower = np.where(use & (lower > self.lower), lower, self.lower)
            self.upper = np.where(use & (upper > self.upper), upper, self.upper)
        self._manual(float(assessment.options.get("manual_range", 20)))
        floor, _ = table.attacker_bounds()
        room = np.array([v - f if f > -(2**62) else 2**63 for v, f in zip(table.value.tolist(), floor.tolist(), strict=True)], object)
        self.lower = np.where(self.lower > room, room, self.lower)

    def _manual(self, percent: float) -> None:
        table = self.table
        if table.manual is None:
            return
        marked = table.manual == CellStatus.UNSAFE
        default = self._percent(percent)
        for side, given in (("lower", table.manual_lower), ("upper", table.manual_upper)):
            wanted = default if given is None else np.where(given > 0, given.astype(object), default)
            now = getattr(self, side)
            setattr(self, side, np.where(marked & (wanted > now), wanted, now))
        self.unsafe |= marked

    def _missing_codes(self) -> NDArray[np.bool_]:
        result = np.zeros(self.size, np.bool_)
        for k, hierarchy in enumerate(self.table.spec.hierarchies):
            unknown = {hierarchy.codes.index(code) for code in hierarchy.missing}
            result |= np.array([code in unknown for code in self.table.codes[:, k].tolist()], np.bool_)
        return result

    def _percent(self, percent: float) -> Wide:
        share = Fraction(str(percent)) / 100
        amount = _ceil(np.abs(self.table.value).astype(object) * share.numerator, share.denominator)
        return np.where(amount < 1, 1, amount)

    def _apply(self, rule: dict[str, Any], argus: bool) -> tuple[NDArray[np.bool_], Wide, Wide] | None:
        kind = rule["kind"]
        found = self.table.contributions.get(rule.get("level", "holding"))
        if kind in CONCENTRATION:
            return None if found is None else self._concentration(rule, found)
        if kind == "min_contributors":
            if found is None:
                return None
            few = (found.count > 0) & (found.count < rule["n"])
            if found.unwaived is not None:
                few &= found.unwaived != -1
            return self._few(few, found.count.astype(object), rule, argus)
        if kind == "min_frequency":
            return self._frequency(rule, argus)
        if kind == "zero_unsafe":
            zero = (self.table.value == 0) & (~self.table.empty | (self.table.spec.value is None))
            up = Fraction(str(rule["range"])) * 10**self.table.decimals
            level = -(-up.numerator // up.denominator)
            return zero, np.zeros(self.size, object), np.full(self.size, level, object)
        if kind == "request":
            return self._request(rule, found)
        if kind == "group_disclosure":
            return self._group(rule)
        return None

    def _concentration(
        self, rule: Mapping[str, Any], found: Contributions
    ) -> tuple[NDArray[np.bool_], Wide, Wide] | None:
        kind = rule["kind"]
        together = {"dominance": rule.get("n", 0), "max_share": 1}.get(kind, rule.get("coalition", 1) + 1)
        if found.top.shape[1] < together:
            return None
        top = found.top[:, :together].astype(object)
        largest, summed = top[:, 0], top.sum(axis=1)
        open_ = np.ones(self.size, np.bool_)
        if found.unwaived is not None:
            open_ = found.unwaived != -1
            largest = np.where(open_, found.unwaived, 0).astype(object)
            summed = np.where(largest < top[:, -1], summed - top[:, -1] + largest, summed)
        total = found.total.astype(object)
        if kind in ("dominance", "max_share"):
            share = Fraction(str(rule["k"])) / 100 if kind == "dominance" else Fraction(str(rule["share"]))
            # unsafe: summed > share * total; level: summed / share - total
            above, below = summed * share.denominator - total * share.numerator, share.numerator
        else:
            share = Fraction(str(rule["p"])) / Fraction(str(rule.get("q", 100)))
            # unsafe: total - summed < share * largest; level: the difference
            above = largest * share.numerator - (total - summed) * share.denominator
            below = share.denominator
        unsafe = np.asarray(above > 0, np.bool_) & open_ & ~self.table.empty & ~found.negative
        level = self._in_value(above, below, total)
        return unsafe, level, level

    def _in_value(self, numerator: Wide, denominator: int, total: Wide) -> Wide:
        spec = self.table.spec
        if spec.shadow is None and not spec.absolute:
            return _ceil(numerator, denominator)
        value = np.abs(self.table.value).astype(object)
        return np.array(
            [v if t == 0 else -(-n * v // (t * denominator)) for n, v, t in zip(numerator, value, total, strict=True)],
            object,
        )

    def _few(
        self, few: NDArray[np.bool_], frequency: Wide, rule: Mapping[str, Any], argus: bool
    ) -> tuple[NDArray[np.bool_], Wide, Wide]:
        if self.table.spec.value is None and not argus:
            one = 10**self.table.decimals
            up = (rule["n"] - frequency) * one
            return few, np.full(self.size, one, object), np.where(up < one, one, up)
        level = self._percent(rule["range"])
        return few, level, level

    def _frequency(
        self, rule: Mapping[str, Any], argus: bool
    ) -> tuple[NDArray[np.bool_], Wide, Wide] | None:
        table = self.table
        if table.weighted is not None and (argus or rule.get("weighted")):
            units, one = table.weighted, 10**table.weight_decimals
        elif table.records is not None:
            units, one = table.records, 1
        elif table.spec.value is None:
            units, one = table.value, 10**table.decimals
        elif "holding" in table.contributions and not table.from_records:
            units, one = table.contributions["holding"].count, 1
        else:
            return None
        few = (units > 0) & (units < rule["n"] * one)
        return self._few(few, (units // one).astype(object), rule, argus)

    def _request(
        self, rule: Mapping[str, Any], found: Contributions | None
    ) -> tuple[NDArray[np.bool_], Wide, Wide] | None:
        if found is None or found.requested is None:
            return None
        asked = found.requested != -1
        unsafe = asked.any(axis=1) & (found.count < rule["n"])
        for j, p in enumerate((rule["p1"], rule["p2"])):
            share = Fraction(str(p)) / 100
            more = found.requested[:, j].astype(object) * share.denominator > found.total.astype(object) * share.numerator
            unsafe |= asked[:, j] & np.asarray(more, np.bool_)
        level = self._percent(rule["range"])
        return unsafe, level, level

    def _group(self, rule: Mapping[str, Any]) -> tuple[NDArray[np.bool_], Wide, Wide]:
        table, one = self.table, 10**self.table.decimals
        k = table.variables.index(rule["variable"])
        hierarchy = table.spec.hierarchies[k]
        assert hierarchy.total is not None
        total = hierarchy.codes.index(hierarchy.total)
        whole = {i for i, code in enumerate(hierarchy.codes) if hierarchy.covered(code) == hierarchy.covered(hierarchy.total)}
        groups = {}
        for codes, value in zip(table.codes.tolist(), table.value.tolist(), strict=True):
            if codes[k] == total:
                groups[tuple(codes[:k] + codes[k + 1 :])] = value
        unsafe, lower = np.zeros(self.size, np.bool_), np.zeros(self.size, object)
        for i, (codes, value) in enumerate(zip(table.codes.tolist(), table.value.tolist(), strict=True)):
            outside = groups.get(tuple(codes[:k] + codes[k + 1 :]), 0) - value
            if codes[k] not in whole and value > 0 and 0 <= outside <= rule["k"] * one:
                unsafe[i], lower[i] = True, min((rule["k"] + 1) * one - outside, value)
        return unsafe, lower, np.zeros(self.size, object)


def _ceil(numerator: Wide, denominator: int) -> Wide:
    return np.asarray(-(-numerator // denominator), object)
