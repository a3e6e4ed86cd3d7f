"""``<SAFETYRULE>`` as rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from discreet.argus.commands import SafetyRule
from discreet.errors import InputError, counted
from discreet.files.argus.rda import ArgusMetadata
from discreet.files.argus.text import wrong

SMALLEST_RANGE = 1e-6
"""A range of 0 % still asks for one unit."""
USUAL_RANGE = 20.0
MOST = 10**9


@dataclass
class TableRules:
    """Rules of one table as recipes write them, and the settings that stand among them in a batch."""

    records: list[dict[str, Any]] = field(default_factory=list)
    weighted: bool = False
    missing_safe: bool = False
    manual_range: float | None = None
    least: int = 0
    all_cells: bool = False
    notes: list[str] = field(default_factory=list)


def table_rules(
    command: SafetyRule | None, metadata: ArgusMetadata, table: str, magnitudes: bool, file: str
) -> TableRules:
    """The rules of a table.

    The first two of P and NK look at records and the next two at holdings; so do the first and the second FREQ and REQ.
    ``NK(0,0)`` and the like keep a place and ask for nothing.
    """
    found = TableRules()
    if command is None:
        return found
    work = _Rules(found, command, metadata, table, magnitudes, file)
    for name, numbers in command.rules:
        work.add(name, numbers)
    return found


class _Rules:
    def __init__(
        self, found: TableRules, command: SafetyRule, metadata: ArgusMetadata, table: str, magnitudes: bool, file: str
    ) -> None:
        self.found, self.command, self.metadata, self.table, self.file = found, command, metadata, table, file
        self.magnitudes = magnitudes
        self.holding = metadata.the("holding") is not None
        self.seen = {"concentration": 0, "FREQ": 0, "REQ": 0}

    def _wrong(self, found: str, expected: str) -> InputError:
        return wrong(self.file, self.command.line, found, expected)

    def _level(self, kind: str, each: int) -> str:
        """Who a rule looks at: its place among its kind says so."""
        place = self.seen[kind]
        self.seen[kind] += 1
        if place >= 2 * each:
            raise self._wrong(
                f"{counted(place + 1, 'rule')} of one kind", f"at most {each} for records and {each} for holdings"
            )
        if place < each:
            return "record" if self.holding else "holding"
        if not self.holding:
            self.found.notes.append(
                f"A rule of table {self.table} is for holdings, and the metadata name none; it looks at records."
            )
        return "holding"

    def _whole(self, number: float, what: str) -> int:
        if number != int(number) or number > MOST:
            raise self._wrong(f"{what} of {number:g}", f"a whole number up to {MOST:,}")
        return int(number)

    def _add(self, kind: str, **parameters: Any) -> None:
        plain = {name: int(v) if isinstance(v, float) and v.is_integer() else v for name, v in parameters.items()}
        if plain.get("level") == "holding":
            del plain["level"]
        # The program counts contributors whose value is zero, and takes any percentage.
        if kind in ("min_contributors", "min_frequency"):
            plain["zeros"] = True
        if any(0 < plain.get(name, 1) < 1 for name in ("p", "q", "k", "p1", "p2", "range")) and kind != "zero_unsafe":
            plain["below_one"] = True
        self.found.records.append({"kind": kind, **plain, "tables": [self.table]})

    def add(self, name: str, numbers: tuple[float, ...]) -> None:
        """One rule or setting."""
        getattr(self, f"_{name.lower()}")(numbers)

    def _p(self, numbers: tuple[float, ...]) -> None:
        level = self._level("concentration", 2)
        if not numbers[0]:
            return
        if not self.magnitudes:
            raise self._wrong("P for a table of counts", "FREQ")
        if len(numbers) == 3:
            p, q, n = numbers
            self._add(
                "prior_posterior", p=p, q=q or 100.0, coalition=max(self._whole(n, "a coalition"), 1), level=level
            )
        else:
            n = numbers[1] if len(numbers) == 2 else 1
            self._add("p_percent", p=numbers[0], coalition=max(self._whole(n, "a coalition"), 1), level=level)

    def _nk(self, numbers: tuple[float, ...]) -> None:
        level = self._level("concentration", 2)
        if not numbers[0]:
            return
        if not self.magnitudes:
            raise self._wrong("NK for a table of counts", "FREQ")
        self._add("dominance", n=self._whole(numbers[0], "n"), k=numbers[1], level=level)

    def _freq(self, numbers: tuple[float, ...]) -> None:
        level = self._level("FREQ", 1)
        least, wide = self._whole(numbers[0], "a least frequency"), numbers[1] or SMALLEST_RANGE
        if not least:
            return
        self.found.least = max(self.found.least, least)
        if self.holding and level == "holding":
            self._add("min_contributors", n=least, range=wide, level=level)
        else:
            self._add("min_frequency", n=least, range=wide)

    def _zero(self, numbers: tuple[float, ...]) -> None:
        if numbers[0]:
            self.found.all_cells = not self.magnitudes
            self._add("zero_unsafe", range=numbers[0])

    def _req(self, numbers: tuple[float, ...]) -> None:
        level = self._level("REQ", 1)
        if not any(numbers[:3]):
            return
        if self.metadata.the("request") is None:
            raise self._wrong("REQ", "a variable with <REQUEST> in the metadata")
        first, second, least = numbers[:3]
        wide = (numbers[3] if len(numbers) == 4 else USUAL_RANGE) or SMALLEST_RANGE
        self._add(
            "request",
            p1=first or 100.0,
            p2=second or 100.0,
            n=max(self._whole(least, "a least frequency"), 1),
            range=wide,
            level=level,
        )

    def _wgt(self, numbers: tuple[float, ...]) -> None:
        self.found.weighted = bool(numbers[0])
        if numbers[0] and self.metadata.the("weight") is None and self.metadata.kind == "records":
            raise self._wrong("WGT(1)", "a variable with <WEIGHT> in the metadata")

    def _mis(self, numbers: tuple[float, ...]) -> None:
        self.found.missing_safe = bool(numbers[0])

    def _man(self, numbers: tuple[float, ...]) -> None:
        self.found.manual_range = float(numbers[0] or SMALLEST_RANGE)
