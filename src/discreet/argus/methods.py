"""``<SUPPRESS>`` as methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from discreet.argus.commands import Protect
from discreet.argus.rules import TableRules
from discreet.errors import ParameterError

STRICT_REASON = "the pattern of τ-ARGUS was asked for as it stands"
STRICT_NAME = "--strict-argus"


def method_record(command: Protect, rules: Sequence[TableRules], strict: bool, notes: list[str]) -> dict[str, Any]:
    """A method as recipes write it; ``CKM`` is in :mod:`discreet.argus.cell_keys`.

    Parameters
    ----------
    command
        The command.
    rules
        Rules of its tables.
    strict
        Keep the pattern of the algorithm as it stands, safe or not; the evidence names what is not proved.
    notes
        Gets what the log should say.
    """
    build = _Build(command, rules, notes)
    make: dict[str, Callable[[], dict[str, Any]]] = {
        "GH": build.hypercube,
        "MOD": build.modular,
        "OPT": build.optimal,
        "NET": lambda: {"method": "suppress", "algorithm": "network"},
        "RND": build.round,
        "CTA": lambda: {"method": "adjust"},
    }
    record = make[command.method]()
    if record["method"] != "suppress":
        return record
    return {**record, **_semantics(record["algorithm"], strict, notes)}


def _semantics(algorithm: str, strict: bool, notes: list[str]) -> dict[str, Any]:
    """Safe over the whole table, or what τ-ARGUS would have done."""
    if strict:
        notes.append(
            f"Strict: the pattern of {algorithm!r} is kept as it stands, against outsiders only. Unsafe cells that it "
            "leaves without a proof are accepted and named in the evidence."
        )
        accept = [{"class": kind, "reason": STRICT_REASON, "name": STRICT_NAME} for kind in ("undecided", "impossible")]
        return {"insiders": "none", "joint": False, "accept": accept}
    notes.append(
        f"More than asked: the pattern of {algorithm!r} is audited over all relations of the tables, and completed "
        "until each unsafe cell has a proof against the attackers named below; so are sums that it gives away."
    )
    return {} if algorithm == "optimal" else {"repair": True}


class _Build:
    """Methods from the numbers of a command; those that are left out are as usual."""

    def __init__(self, command: Protect, rules: Sequence[TableRules], notes: list[str]) -> None:
        self.command, self.rules, self.notes = command, rules, notes

    def _number(self, place: int, usual: float) -> float:
        numbers = self.command.numbers
        found = numbers[place] if place < len(numbers) else None
        return usual if found is None else found

    def hypercube(self) -> dict[str, Any]:
        known = self._number(0, 100.0)
        settings: dict[str, Any] = {"singletons": "double" if self._number(2, 1) else "none"}
        if known:
            settings["known_within"] = known
        if self._number(1, 0):
            self.notes.append("GH: the size of the table needs no setting.")
        return {"method": "suppress", "algorithm": "hypercube", "settings": settings}

    def modular(self) -> dict[str, Any]:
        single, multiple, few = (self._number(k, 1) for k in (1, 2, 3))
        settings: dict[str, Any] = {"singletons": "sums" if single or multiple or few else "none"}
        if settings["singletons"] == "sums":
            # Few contributors are those of the frequency rule; without one, only single contributors count.
            least = max((each.least for each in self.rules), default=0)
            settings["least_contributors"] = least if few and least > 1 else 0
        if len(self.command.numbers) > 5 and self.command.numbers[5] is not None:
            below = self._number(5, 0.99)
            settings["carried"] = round(max(0.0, 1 - below) * 100, 6)
        if self.command.numbers[:1] and self.command.numbers[0]:
            self.notes.append("MOD: the minutes for a sub-table are not used; work is limited by counted effort.")
        if len(self.command.numbers) > 4 and self.command.numbers[4] is not None:
            self.notes.append("MOD: the largest scaled cost is not used; costs need no scaling.")
        return {"method": "suppress", "algorithm": "modular", "settings": settings}

    def optimal(self) -> dict[str, Any]:
        record: dict[str, Any] = {"method": "suppress", "algorithm": "optimal"}
        minutes = self._number(0, 0)
        if minutes:
            record["time_limit"] = 60 * minutes
        return record

    def round(self) -> dict[str, Any]:
        base = self._number(0, 0)
        if not base:
            raise ParameterError("RND has no rounding base.", hint="Write RND(table,base).")
        record: dict[str, Any] = {"method": "round", "base": int(base) if base == int(base) else base}
        steps, minutes = self._number(1, 0), self._number(2, 0)
        if steps:
            record["steps"] = int(steps) + 1
        if minutes:
            record["time_limit"] = 60 * minutes
        if self._number(3, 0):
            self.notes.append("RND: the table needs not be cut into parts.")
        if self._number(4, 2) == 1:
            record["effort"] = 0
            self.notes.append("RND: stop rule 1 takes the first table that is found.")
        if self._number(5, 0):
            self.notes.append("RND: unit costs are not used; the nearest multiples are preferred.")
        return record
