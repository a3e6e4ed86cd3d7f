"""The method ``Redistribute``: no occupied place of a map holds less than a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.attack.whole import whole_steps
from discreet.engine.sources import companies, encoded, numbers_of
from discreet.errors import InputError, NeedsError, ProtectionError, counted, listed, unknown_name
from discreet.keys import Key
from discreet.measures.redistribution import map_measures
from discreet.methods.base import TableMethod
from discreet.methods.outcome import NotAudited, Reading, TableOutcome, Whole
from discreet.model.arrays import NO_UPPER, Ints
from discreet.model.claims.noise import noise_claim, redistributed_statement
from discreet.model.evidence import Evidence, Parts
from discreet.model.geography import Adjacency, HexGrid, hexagon
from discreet.model.microdata import Microdata
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.parameters import AtLeastOne
from discreet.progress import checkpoint
from discreet.relations import System
from discreet.tables.redistribute.areas import parts_of_map, regions_of_map, told_small, told_values
from discreet.tables.redistribute.counts import MovedUnits, Redistributed, outlier_cells, redistributed
from discreet.tables.redistribute.grid import Geometry, Hexagons, Neighbours, coarser_grid, occupied_hexagons
from discreet.tables.redistribute.limits import MapRules
from discreet.tables.redistribute.magnitudes import RepairedMap, contributors_of, repaired_map, without_outliers
from discreet.tables.redistribute.reading import held_before, total_before

TOPPED_UP = (
    "what the threshold itself tells: a place that shows exactly the threshold may have had fewer units, and whoever "
    "knows the method knows that"
)
VALUES = (
    "nobody has worked out what readers can tell of values that moved; {} of {} published closer to the truth than "
    "their level"
)
REPEATED = "readers who repeat the method, which draws nothing, on every map that may lie behind, and rule some out"
OTHER_TOTALS = "true totals that are published elsewhere and not named as areas, that of the whole map among them"
SHOWN = 5


@dataclass(frozen=True)
class Redistribute(TableMethod):
    """Fill every occupied place of a map up to a threshold with units from richer places close by.

    Parameters
    ----------
    threshold
        Least number of units (contributors, where the map shows magnitudes) of an occupied place.
    outliers
        Small places, or two small neighbours, far from everything else: ``"suppress"`` removes them,
        ``"redistribute"`` moves their units to the closest places, ``"none"`` treats them like others.
    outlier_distance
        How many steps are far; the threshold where left out.
    algorithm
        ``"nearest"`` (Algorithm 1), ``"equal"`` (Algorithm 2), or ``"optimal"``: as few steps as possible.
    max_share, dominance, p
        Further rules for magnitudes: the largest contributor's share, (n, k), and the p% rule. Places that break one
        hand value to a neighbour.
    areas
        Areas whose true totals are published besides: name to codes of the places in it. The map is audited against
        them.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> points = pa.table({"x": [0.0] * 7 + [1.0], "y": [0.0] * 8})
    >>> table = ds.tabulate(points, by={"place": ds.HexGrid("x", "y", size=1.0)}).assess()
    >>> release = ds.protect(table, ds.Redistribute(threshold=3))
    >>> release.public.tables[0].value.tolist()
    [8, 5, 3]
    """

    kind: ClassVar[str] = "redistribute"
    alters: ClassVar[bool] = True
    relates: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("places",)
    threshold: int = 3
    outliers: Literal["suppress", "redistribute", "none"] = "suppress"
    outlier_distance: AtLeastOne | None = None
    algorithm: Literal["nearest", "equal", "optimal"] = "nearest"
    max_share: float | None = None
    dominance: tuple[int, float] | None = None
    p: float | None = None
    areas: Any = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        rows = self.areas.items() if isinstance(self.areas, Mapping) else self.areas
        object.__setattr__(self, "areas", tuple((str(name), tuple(codes)) for name, codes in rows))
        if self.dominance is not None:
            object.__setattr__(self, "dominance", (int(self.dominance[0]), float(self.dominance[1])))
        self.rules  # noqa: B018  # its own checks

    @property
    def rules(self) -> MapRules:
        """What makes a place of a map of magnitudes sensitive."""
        return MapRules(self.threshold, self.max_share, self.dominance, self.p)

    def record(self) -> dict[str, Any]:
        """The method as plain data."""
        plain = super().record() | {"areas": [[name, list(codes)] for name, codes in self.areas]}
        return plain | {"dominance": None if self.dominance is None else list(self.dominance)}

    # ---- what it needs -------------------------------------------------------------------------------------

    def supply(self, tables: TableSet, key: Key | None) -> Parts:
        """Where the places lie, and for magnitudes who contributes to each."""
        if len(tables) != 1:
            raise NeedsError("Redistribute makes one map at a time.", hint="Call protect once for each map.")
        table = tables.tables[0]
        where, codes = table.spec.places[table.variables[0]], table.spec.hierarchies[0].base_codes
        if isinstance(where, HexGrid):
            cells = np.array([hexagon(code) for code in codes], np.int64)
            parts: dict[str, dict[str, Ints]] = {"hexagons": {"q": cells[:, 0].copy(), "r": cells[:, 1].copy()}}
        else:
            assert isinstance(where, Adjacency)
            place = {code: i for i, code in enumerate(where.codes)}
            ends = np.array([[place[a], place[b]] for a, b in where.pairs], np.int64).reshape(-1, 2)
            parts = {"neighbours": {"one": ends[:, 0].copy(), "two": ends[:, 1].copy()}}
        if table.spec.value is not None:
            parts["contributions"] = _contributions(table)
        if isinstance(where, HexGrid):
            self._refuse_too_fine(table, where, parts.get("contributions"))
        return parts

    def _refuse_too_fine(self, table: Table, grid: HexGrid, given: Mapping[str, Ints] | None) -> None:
        """Name the coarser grid that would work, where this one is too fine."""
        if not isinstance(table.source, Microdata):
            return
        x, y = (numbers_of(table, column) for column in grid.columns)
        # A map of magnitudes needs contributors, one of counts needs records.
        who = np.arange(len(x)) if given is None else companies(encoded(table), np.arange(len(x), dtype=np.int64))

        def works(hexagons: Hexagons, number: Ints) -> bool:
            counts = contributors_of(number, who, len(hexagons))
            if self.outliers != "none":
                gone = outlier_cells(counts, hexagons, self.threshold, self.outlier_distance)
                counts = np.where(gone & (self.outliers == "suppress"), 0, counts)
                return int(counts.sum()) >= self.threshold * int(((counts > 0) & ~gone).sum()) > 0
            return int(counts.sum()) >= self.threshold * int((counts > 0).sum())

        hexagons, _, number = occupied_hexagons(grid.cells(x, y))
        if works(hexagons, number):
            return
        wider = coarser_grid(grid, x, y, works)
        what = "unit" if given is None else "contributor"
        raise ProtectionError(
            f"The map is too fine: {counted(len(hexagons), 'hexagon', 'hold')} less than "
            f"{counted(self.threshold, what)} each on average.",
            hint="No coarser grid works: there are too few points."
            if wider is None
            else f"Hexagons of size {wider.size:g} would work; state it, it is not a secret of single points.",
        )

    # ---- what it does --------------------------------------------------------------------------------------

    def run(self, system: System, key: Key | None = None) -> TableOutcome:
        """Move units, or contributors and value, until no place is small or sensitive."""
        table, parts = system.tables.tables[0], system.parts
        hierarchy = table.spec.hierarchies[0]
        rows = table.find(np.flatnonzero(hierarchy.base).astype(np.int32)[:, None])
        there = rows >= 0
        counts = np.where(there, table.value[np.maximum(rows, 0)], 0)
        geometry = _geometry(parts, hierarchy.base_codes)
        checkpoint("redistribute", 0, 1)
        if table.spec.value is None:
            after, made, facts = self._counted(counts, geometry)
        else:
            after, made, facts = self._repaired(counts, parts["contributions"], geometry, hierarchy.base_codes)
        checkpoint("redistribute", 1, 1)
        self._audit(hierarchy.base_codes, counts, after, {**parts, **made})
        values = np.zeros(len(table), np.int64)
        values[rows[there]] = after[there]
        total = np.flatnonzero(~hierarchy.base[table.codes[:, 0]])
        values[total] = int(after.sum())
        published = np.zeros(len(system), np.int64)
        published[system.of[0]] = values
        magnitudes = table.spec.value is not None
        statement = redistributed_statement(self.threshold, facts, magnitudes=magnitudes, record=self.record())
        claim = noise_claim(
            self.kind,
            statement,
            additive=True,
            universes=False,
            insecure=False,
            left_out=(TOPPED_UP, REPEATED, OTHER_TOTALS),
        )
        evidence = Evidence(
            self.record(),
            claim,
            system.decimals,
            facts=facts,
            findings=_moved_value(counts, after, facts) if magnitudes else self._measured(counts, made, after),
            parts={**{name: part for name, part in parts.items() if name not in made}, **made},
        )
        return TableOutcome(np.zeros(len(system), np.bool_), evidence, published)

    def _measured(self, counts: Ints, made: Parts, after: Ints) -> tuple[str, ...]:
        """Risk and utility by the count that a place had before units moved (R1 to U3 of Lee, Choi and O'Keefe)."""
        moves, outliers = made["moves"], made["outlier_moves"]
        before = np.where(after > 0, counts, 0)
        np.add.at(before, outliers["target"], outliers["units"])
        found = map_measures(before, after, *(moves[name] for name in ("source", "target", "units", "steps")))
        lines = [f"U2: places changed by {found.change_mean:.4g} on average, {found.change_sum} in all"]
        for u, one in sorted(found.by_count.items()):
            if u <= 2 * self.threshold:
                r1 = "unknown" if one.r1 is None else f"{one.r1:.4g}"
                lines.append(
                    f"places that had {u}: {one.cells}; R1 {r1}, R2 {one.r2:.3f}, U1 {one.u1:.4g} %, U3 {one.u3:.4g}"
                )
        return tuple(lines)

    def _counted(self, counts: Ints, geometry: Geometry) -> tuple[Ints, Parts, dict[str, Any]]:
        found: Redistributed = redistributed(
            counts,
            geometry,
            threshold=self.threshold,
            outlier_distance=self.outlier_distance,
            outliers=self.outliers,
            algorithm=self.algorithm,
        )
        facts: dict[str, Any] = {
            "moved": int(found.moves.units.sum()),
            "steps": found.moves.distance,
            "outliers": int(found.outlier.sum()),
            "outlier_steps": found.outlier_moves.distance,
            "lost": found.lost,
        }
        return found.after, {"moves": _columns(found.moves), "outlier_moves": _columns(found.outlier_moves)}, facts

    def _repaired(
        self, totals: Ints, given: Mapping[str, Ints], geometry: Geometry, codes: tuple[str, ...]
    ) -> tuple[Ints, Parts, dict[str, Any]]:
        placed = without_outliers(
            given["place"],
            given["contributor"],
            given["value"],
            geometry,
            threshold=self.threshold,
            outlier_distance=self.outlier_distance,
            outliers=self.outliers,
        )
        # The true value of a place that breaks a rule is what nobody may see.
        broke = np.flatnonzero(self.rules.sensitive(given["place"], given["contributor"], given["value"], len(totals)))
        found: RepairedMap = repaired_map(
            placed.cell,
            placed.contributor,
            placed.value,
            geometry,
            self.rules,
            never=dict(zip(broke.tolist(), totals[broke].tolist(), strict=True)),
        )
        if found.unresolved:
            names = listed((f"{codes[c]} ({why})" for c, why in found.unresolved.items()), SHOWN)
            raise ProtectionError(
                f"{counted(len(found.unresolved), 'place')} of the map cannot be repaired: {names}.",
                hint="Use a coarser grid, weaker rules, or state values in smaller units.",
            )
        lost = int(totals[placed.outlier].sum()) if self.outliers == "suppress" else 0
        after = np.zeros(len(totals), np.int64)
        np.add.at(after, found.cell, found.value)
        facts = {
            "moved": len(found.contributor_moves),
            "steps": found.distance,
            "outliers": int(placed.outlier.sum()),
            "outlier_steps": sum(move.steps for move in placed.moves),
            "lost": lost,
            "repairs": len(found.value_moves),
        }
        repaired = {"place": found.cell, "contributor": found.contributor, "value": found.value}
        return after, {"repaired": repaired}, facts

    # ---- what it tells -------------------------------------------------------------------------------------

    def reading(self, system: System, published: Ints, evidence: Evidence) -> Reading | NotAudited:
        """Counts of places follow from the threshold and the totals of areas; of values nobody has worked it out."""
        table, cells = system.tables.tables[0], system.of[0]
        if table.spec.value is not None:
            return NotAudited(VALUES.format(*_within_levels(system, published)))
        hierarchy, scale = table.spec.hierarchies[0], 10 ** (system.decimals - table.decimals)
        rows = table.find(np.flatnonzero(hierarchy.base).astype(np.int32)[:, None])
        there = np.flatnonzero(rows >= 0)
        true, shown = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        true[there], shown[there] = table.value[rows[there]], published[cells][rows[there]] // scale
        received, moves = np.zeros(len(rows), np.int64), evidence.parts["outlier_moves"]
        np.add.at(received, moves["target"], moves["units"])
        areas = self._areas(hierarchy.base_codes)
        ends = held_before(true, shown, received, self.threshold, self.outliers, areas)
        whole = total_before(int(shown.sum()), int(true.sum()), self.outliers, known=bool(areas))
        lower, upper = system.lower_bound.copy(), system.upper_bound.copy()
        for bound, told, total in ((lower, ends[0], whole[0]), (upper, ends[1], whole[1])):
            mine = np.full(len(table), total, np.int64)
            mine[rows[there]] = told[there]
            bound[cells] = np.minimum(mine, NO_UPPER // scale) * scale
        lower, upper = np.maximum(lower, system.lower_bound), np.minimum(upper, system.upper_bound)
        knows = "the threshold, that places above it were not filled up and that places stay occupied"
        if areas:
            knows += f", and the true totals of {counted(len(areas), 'area')} and of what lies outside"
        return Reading(lower, upper, knows, (REPEATED, OTHER_TOTALS), Whole(whole_steps(system)))

    def _areas(self, codes: tuple[str, ...]) -> list[Ints]:
        """Numbers of the places in each area."""
        place = {code: i for i, code in enumerate(codes)}
        for name, members in self.areas:
            for code in members:
                if code not in place:
                    raise InputError(unknown_name("place", code, codes, f"area {name!r}"))
        return [np.array([place[code] for code in members], np.int64) for _, members in self.areas]

    def _audit(self, codes: tuple[str, ...], counts: Ints, after: Ints, parts: Parts) -> None:
        """Refuse a map of which published totals of areas tell a small or sensitive place."""
        if not self.areas:
            return
        areas = self._areas(codes)
        part = parts_of_map(len(codes), areas)
        if "contributions" in parts:
            told = told_values(regions_of_map(len(codes), areas), counts, after, parts["contributions"], self.rules)
        else:
            received = np.zeros(len(codes), np.int64)
            np.add.at(received, parts["outlier_moves"]["target"], parts["outlier_moves"]["units"])
            told = told_small(part, counts, after, received, self.threshold, kept=self.outliers == "redistribute")
        if told.any():
            names = [name for (name, _), inside in zip(self.areas, areas, strict=True) if told[inside].any()]
            where = f": {listed(names, SHOWN)}" if names else " outside of all areas"
            raise ProtectionError(
                f"Published totals of areas tell too much of {counted(int(told.sum()), 'place')} of the map{where}.",
                hint="Do not publish these totals, join areas, move outliers instead of leaving them out "
                "(outliers='redistribute'), or use a coarser grid.",
            )


def _within_levels(system: System, published: Ints) -> tuple[int, str]:
    """How many unsafe places are published closer to the truth than their level, and of how many, in words."""
    away = published - system.value
    near = system.unsafe & (away < system.upper_level) & (-away < system.lower_level)
    return int(near.sum()), counted(int(system.unsafe.sum()), "unsafe cell", "are")


def _moved_value(before: Ints, after: Ints, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """What the repair of a map of magnitudes costs."""
    moved = int(np.abs(after - before).sum() - facts["lost"]) / 2
    share = f"{moved / max(int(before.sum()), 1):.3%}"
    return (f"{share} of the value lies in other places than before, after {counted(facts['repairs'], 'repair')}",)


def _geometry(parts: Parts, codes: tuple[str, ...]) -> Geometry:
    """Where the places lie, from the evidence."""
    if "hexagons" in parts:
        return Hexagons(np.column_stack([parts["hexagons"]["q"], parts["hexagons"]["r"]]))
    ends = zip(parts["neighbours"]["one"].tolist(), parts["neighbours"]["two"].tolist(), strict=True)
    return Neighbours(Adjacency(codes, [(codes[a], codes[b]) for a, b in ends]))


def _contributions(table: Table) -> dict[str, Ints]:
    """Contributions of a map of magnitudes: place, contributor and value of each, in units of the table."""
    if not isinstance(table.source, Microdata):
        raise NeedsError(
            f"Redistribute needs the contributors of table {table.name!r}.", hint="Tabulate it from records."
        )
    records = encoded(table)
    amount = records.amounts(table.spec.value).summed
    if len(amount) and amount.min() < 0:
        raise InputError("Contributions must be numbers of at least zero.", hint="Leave negative values out.")
    keys = np.concatenate([block.cells.copy() for block in records.blocks(table.spec.by)])
    place = (np.cumsum(table.spec.hierarchies[0].base) - 1)[keys].astype(np.int64)
    who = companies(records, np.arange(len(amount), dtype=np.int64))
    # Who reports nothing is no contributor: three of whom two report nothing hide nobody.
    there = np.flatnonzero(amount > 0)
    order = there[np.lexsort((amount[there], who[there], place[there]))]
    return {"place": place[order], "contributor": who[order], "value": amount[order]}


def _columns(moves: MovedUnits) -> dict[str, Ints]:
    return {name: np.ascontiguousarray(column, np.int64) for name, column in moves._asdict().items()}
