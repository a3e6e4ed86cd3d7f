"""From the sums of the finest cells to a table, whichever engine made them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from discreet.engine.cells import Above, LeafCells, all_cells, cells_above, rolled_up
from discreet.engine.contributions import kept_of, one_each
from discreet.engine.rollup import rolled_up_by_variable, signed
from discreet.errors import counted
from discreet.model.arrays import Ints
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec
from discreet.model.table import Contributions, Holders, Table
from discreet.model.units import sensible_decimals


class WantedLists(NamedTuple):
    """What is to be found of contributors: keys of the finest cells and of all, which lie above which, list lengths."""

    leaves: Ints
    cells: Ints
    above: Above
    top: int
    kept: int


Finder = Callable[[str, WantedLists], tuple[Contributions, Holders | None]]
"""Finds the contributors of every cell for a level (holding or record)."""


class Scale(NamedTuple):
    """Decimals of a column: of its sums, weights included, and of the column itself."""

    decimals: int
    shown: int
    exact: bool = True
    """Whether these decimals write the column; thirds and the like are cut somewhere."""


class Encoded(Protocol):
    """Records of one universe, encoded: in memory or in a file."""

    data: Microdata
    weight_name: str | None

    def scale(self, variable: str | None) -> Scale:
        """Decimals of a variable; ``None`` counts records."""

    @property
    def lightest(self) -> float | None:
        """The smallest weight."""


class ColumnPlan:
    """Which columns are summed for a spec, and how the sums become a table."""

    def __init__(self, spec: TableSpec, records: Encoded) -> None:
        self.spec = spec
        self.records = records
        self.weighted = records.weight_name is not None
        self.watched = spec.shadow or spec.value
        self.columns: list[str | None] = list(dict.fromkeys([spec.value, *([spec.cost] if spec.cost else [])]))
        if self.weighted and None not in self.columns:
            self.columns.append(None)

    @property
    def summed(self) -> list[str | None]:
        """The columns that must be summed (``None`` counts); how many records there are is known anyway."""
        return [column for column in self.columns if column is not None or self.weighted]

    def names_holders(self, level: str) -> bool:
        """Whether the records of a level (holding or record) must say who contributes, and how much to the value."""
        return self.spec.holders and level == ("holding" if self.records.data.contributor else "record")

    def gives_values(self, level: str) -> bool:
        """Whether the records of a level must say what they add to the value, besides what the rules look at."""
        return self.names_holders(level) or self.watched != self.spec.value

    def _with_counts(self, leaf: LeafCells) -> LeafCells:
        sums = dict(zip(self.summed, leaf.sums, strict=True))
        rows = [sums.get(column, leaf.records) for column in self.columns]
        return leaf._replace(sums=np.ascontiguousarray(np.stack(rows)))

    def table(self, leaf: LeafCells, modulus: int, find: Finder) -> Table:
        """The finished table from sums of the finest cells (one row per column of :attr:`summed`)."""
        from discreet.engine.kernels import codes_of_keys

        spec, records = self.spec, self.records
        shape = [len(h) for h in spec.hierarchies]
        if self._one_each and spec.cells != "all":
            # Records are counted anyway: the sum of ones need not be made a second time.
            plain = not self.weighted and not self.summed
            whole = rolled_up_by_variable(leaf if plain else self._with_counts(leaf), spec.hierarchies, modulus)
            whole = whole._replace(sums=whole.records[np.newaxis].copy()) if plain else whole
            cells, above = whole.keys, None
        else:
            cells = all_cells(leaf.keys, spec.hierarchies, spec.cells == "all")
            above = cells_above(leaf.keys, cells, spec.hierarchies)
            whole = rolled_up(self._with_counts(leaf), above, len(cells), modulus)
        sums = dict(zip(self.columns, whole.sums, strict=True))
        amounts = records.scale(spec.value)
        shown, notes = self._shown_decimals(amounts, sums[spec.value])
        contributions, holders = self._contributors(whole.records, sums[spec.value], above, leaf.keys, cells, find)
        return Table(
            spec=spec.with_(
                weight=records.weight_name or False,
                decimals=shown,
                fewest=(spec.decimals is None and not notes) or spec.fewest,
            ),
            codes=codes_of_keys(cells, np.array(shape, np.int64)),
            value=sums[spec.value],
            decimals=amounts.decimals,
            empty=whole.records == 0,
            shadow_decimals=records.scale(self.watched).decimals,
            contributions=contributions,
            holders=holders,
            records=whole.records,
            nonzero=whole.nonzero if len(whole.nonzero) else None,
            weighted=sums[None] if self.weighted else None,
            weight_decimals=records.scale(None).decimals if self.weighted else 0,
            key_sum=whole.key_sum if records.data.record_key else None,
            key_modulus=modulus,
            cost=sums[spec.cost] / 10.0 ** records.scale(spec.cost).decimals if spec.cost else None,
            notes=notes,
            source=records.data,
        )

    def _shown_decimals(self, amounts: Scale, value: Ints) -> tuple[int, tuple[str, ...]]:
        """Decimals to publish, at most, and what there is to say about them.

        Weighted sums are rounded, and what they are rounded to must not follow from records that nobody is shown: whole
        numbers, unless somebody declares otherwise. Sums without weights are exact, and have as few as they need; sums
        of fractions that no decimals write have six digits.
        """
        if self.spec.decimals is not None:
            return self.spec.decimals, ()
        if self.weighted or amounts.exact:
            return 0 if self.weighted else amounts.shown, ()
        shown = sensible_decimals(float(np.abs(value).max(initial=0)) / 10.0**amounts.decimals)
        note = (
            f"values of {self.spec.value!r} have more digits than any decimals write, and are published rounded to "
            f"{counted(shown, 'decimal')}; decimals= chooses another number"
        )
        return shown, (note,)

    @property
    def _one_each(self) -> bool:
        """Whether every record is a contributor of its own that counts once, so that nobody need be looked for."""
        data = self.records.data
        named = data.contributor or data.waiver or data.request
        return self.watched is None and not named and not signed(self.spec.hierarchies)

    def _contributors(
        self, count: Ints, value: Ints, above: Above | None, leaves: Ints, cells: Ints, find: Finder
    ) -> tuple[dict[str, Contributions], Holders | None]:
        data, top = self.records.data, self.spec.top
        if above is None or self._one_each:
            unit = 10 ** self.records.scale(None).decimals
            return dict.fromkeys(self.spec.levels, one_each(count, value, unit, top, self.weighted)), None
        wanted_of = WantedLists(leaves, cells, above, top, kept_of(top, self.records.lightest))
        # Without a contributor column a holding is a record, and one look serves both.
        wanted = self.spec.levels if data.contributor else ("record",)
        levels = [level for level in ("holding", "record") if level in wanted or self.names_holders(level)]
        found = {level: find(level, wanted_of) for level in levels}
        contributions = {level: found.get(level, found[levels[-1]])[0] for level in self.spec.levels}
        return contributions, next((holders for _, holders in found.values() if holders is not None), None)
