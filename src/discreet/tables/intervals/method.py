"""The method ``Intervals``: adjusted values with intervals instead of holes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.errors import ParameterError, ProtectionError, listed
from discreet.keys import Key
from discreet.methods.base import Keyed, TableMethod
from discreet.methods.outcome import TableOutcome
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Ints
from discreet.model.claims.altered import intervals_claim
from discreet.model.evidence import Certificates, Evidence, Proofs
from discreet.model.units import unit_text
from discreet.parameters import Share
from discreet.progress import checkpoint
from discreet.relations import System
from discreet.relations.cycles import has_open_cycle
from discreet.relations.marks import cell_marks
from discreet.tables.adjust import Adjust
from discreet.tables.adjust.moves import fixed_cells, share_of
from discreet.tables.intervals.bounds import exponent, further, hull, interval
from discreet.tables.intervals.least import SHOWN, narrow_intervals, unprotected, values_within
from discreet.tables.levels import LevelProofs, room_for_levels

MOST_STEPS = 20
"""An interval that still tells too much after so many steps more is given up."""
ENDS = ("powers", "least")


@dataclass(frozen=True)
class Intervals(Keyed, TableMethod):
    """Adjust as :class:`Adjust` does, and publish changed values with intervals that hold the true ones.

    Values without an interval are true. Intervals end at multiples of a power of ten near the distance of true and
    adjusted value, half of them reach one step further, and more where the interval itself would tell too much. Where
    the relations would tell more of an unsafe cell than its level allows, intervals are wider, and some cells that were
    not changed get one.

    With ``ends="least"`` the intervals have the least total width that keeps all levels (partial suppression, a linear
    program), whatever their ends; values are as near to the middle of their intervals as adds up, and follow from the
    intervals alone.

    Parameters
    ----------
    ends
        ``"powers"`` of ten around adjusted values, or ``"least"`` width.
    power
        Which power of ten: the next above the distance, ``"ceil"`` (which protects), ``"round"`` or ``"floor"``.
    widen
        Share of intervals that reach a step further on the side of the true value.
    weight, most, limit, fixed, zeros, algorithm
        As in :class:`Adjust`; for least width, what a unit of width costs, and which cells get no interval.
    effort, time_limit
        As in :class:`Adjust`; for least width, linear programs and seconds.
    key_file, insecure_seed
        The secret key of the draws; a seed is for simulations.

    Examples
    --------
    >>> Intervals(power="round").record()["power"]
    'round'
    """

    kind: ClassVar[str] = "intervals"
    alters: ClassVar[bool] = True
    secret: ClassVar[bool] = True
    ends: Literal["powers", "least"] = "powers"
    power: Literal["ceil", "round", "floor"] = "ceil"
    widen: Share = 0.5
    weight: Literal["unit", "value", "sqrt", "variable"] = "unit"
    most: float | None = None
    limit: float | None = None
    fixed: Literal["none", "total", "margins"] = "none"
    zeros: Literal["kept", "movable"] = "kept"
    algorithm: Literal["auto", "optimal", "directions"] = "auto"
    effort: int | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ends == "least":
            for name in ("power", "widen", "most", "algorithm"):
                if getattr(self, name) != type(self).__dataclass_fields__[name].default:
                    raise ParameterError(
                        f"{name} is for intervals around adjusted values.", hint="Leave it out, or give ends='powers'."
                    )
        self._adjust()

    def _adjust(self) -> Adjust:
        return Adjust(
            weight=self.weight,
            most=self.most,
            limit=self.limit,
            fixed=self.fixed,
            zeros=self.zeros,
            algorithm=self.algorithm,
            effort=self.effort,
            time_limit=self.time_limit,
        )

    def run(self, system: System, key: Key | None = None) -> TableOutcome:
        """Adjust the cells of a system and make the intervals."""
        assert key is not None
        if self.ends == "least":
            return self._least(system, key)
        done = self._adjust().run(system)
        assert done.published is not None
        checkpoint("intervals", 0, 2)
        drawn = Drawn(self, system, done.published, key)
        checkpoint("intervals", 1, 2)
        room = room_for_levels(system, done.published != system.value, *self._reach(system))
        if room.left:
            raise unprotected(system, room.left)
        drawn.make_room(room)
        self._refuse_fixed(system, drawn.lower, drawn.upper)
        checkpoint("intervals", 2, 2)
        facts = {
            **{name: value for name, value in done.evidence.facts.items() if name != "insecure"},
            "further_steps": int(drawn.extra.sum()),
        }
        evidence = self._evidence(
            system, key, (drawn.lower, drawn.upper), room.certificates, room.proofs, done.evidence.effort, facts
        )
        return TableOutcome(done.withheld, evidence, done.published, (drawn.lower, drawn.upper))

    def _reach(self, system: System) -> tuple[Ints, Ints]:
        """How far cells may move where room is made for levels: safe ones within ``limit``, fixed ones not at all."""
        far = np.full(len(system), NO_UPPER, np.int64)
        safe = ~system.unsafe
        if self.limit is not None:
            far[safe] = share_of(system.value[safe], Fraction(str(self.limit)))
        far[fixed_cells(system, self.fixed) & safe] = 0
        near = far < NO_UPPER
        return np.where(near, system.value - far, NO_LOWER), np.where(near, system.value + far, NO_UPPER)

    def _least(self, system: System, key: Key) -> TableOutcome:
        """Intervals of least width, and values within them."""
        checkpoint("intervals", 0, 2)
        weight = self._adjust().weights(system)
        found = narrow_intervals(
            system,
            weight,
            limit=None if self.limit is None else Fraction(str(self.limit)),
            fixed=self.fixed,
            movable_zeros=self.zeros == "movable",
            effort=None if self.effort is None else int(self.effort),
            time_limit=self.time_limit,
            key=key,
        )
        checkpoint("intervals", 1, 2)
        published = values_within(system, found.lower, found.upper)
        lower, upper = np.minimum(found.lower, published), np.maximum(found.upper, published)
        self._refuse_outside(system, published, lower, upper)
        checkpoint("intervals", 2, 2)
        unit = 10.0**system.decimals
        facts: dict[str, Any] = {
            "weighted_width": round(float(weight @ (upper - lower)) / unit, 6),
            "least_weighted_width": round(found.room.bound * found.scale / unit, 6),
        }
        effort = {"linear_programs": found.room.programs}
        if found.room.struck_at is not None:
            effort["limit_struck_at"] = found.room.struck_at
        evidence = self._evidence(system, key, (lower, upper), found.certificates, found.proofs, effort, facts)
        return TableOutcome(np.zeros(len(system), np.bool_), evidence, published, (lower, upper))

    def _refuse_fixed(self, system: System, lower: Ints, upper: Ints) -> None:
        """Nothing is published where a level can only be kept if a fixed cell gets an interval."""
        moved = np.flatnonzero(fixed_cells(system, self.fixed) & (upper > lower))
        if len(moved):
            names = listed((system.cell_name(c) for c in moved.tolist()), SHOWN)
            raise ProtectionError(
                f"Levels are kept only if fixed cells get intervals, too: {names}.",
                hint="Fix fewer cells (fixed=), or use ends='least', which looks for intervals without them.",
            )

    def _refuse_outside(self, system: System, published: Ints, lower: Ints, upper: Ints) -> None:
        """Nothing is published where whole numbers left the bounds of a cell, or gave a fixed one an interval."""
        bad = (lower < system.lower_bound) & (system.lower_bound > NO_LOWER)
        bad |= (upper > system.upper_bound) & (system.upper_bound < NO_UPPER)
        bad |= fixed_cells(system, self.fixed) & (upper > lower)
        if np.any(bad):
            names = listed((system.cell_name(c) for c in np.flatnonzero(bad).tolist()), SHOWN)
            raise ProtectionError(
                f"No values in whole units were found that add up within all intervals: {names}.",
                hint="Give the tables more decimals, fix fewer cells, or use ends='powers'.",
            )

    def _evidence(
        self,
        system: System,
        key: Key,
        intervals: tuple[Ints, Ints],
        certificates: Certificates,
        proofs: Proofs,
        effort: Mapping[str, int],
        facts: Mapping[str, Any],
    ) -> Evidence:
        claim = intervals_claim(
            universes=len({table.spec.identity[1:] for table in system.tables}) > 1,
            insecure=key.insecure,
            cycle=has_open_cycle(system.tables),
        )
        width = intervals[1] - intervals[0]
        facts = {
            **facts,
            "intervals": int((width > 0).sum()),
            "width": unit_text(int(width.sum()), system.decimals),
            "insecure": key.insecure,
        }
        return Evidence(self.record(), claim, system.decimals, certificates, proofs, effort, facts=facts)


class Drawn:
    """Intervals of all cells; those that were not changed have none and are known."""

    def __init__(self, method: Intervals, system: System, published: Ints, key: Key) -> None:
        self.system, self.published, self.key = system, published, key
        self.marks = cell_marks(system)
        self.lower, self.upper = system.value.copy(), system.value.copy()
        self.step = np.ones(len(system), np.int64)
        self.extra = np.zeros(len(system), np.int64)
        self.natural: Bools = system.lower_bound >= 0
        self.changed = np.flatnonzero(published != system.value)
        wide = key.uniform("intervals widen", self.marks) < method.widen
        failed = []
        for cell in self.changed.tolist():
            o, a, natural = int(system.value[cell]), int(published[cell]), bool(self.natural[cell])
            self.lower[cell], self.upper[cell], self.step[cell] = interval(
                o, a, method.power, bool(wide[cell]), natural
            )
            while not self._hides(cell, method.power):
                if self.extra[cell] == MOST_STEPS:
                    failed.append(cell)
                    break
                self._further(cell)
        if failed:
            raise unprotected(system, failed)

    def _hides(self, cell: int, power: str) -> bool:
        """Whether the originals that could have led to the interval spread over at least the distance."""
        a, natural = int(self.published[cell]), bool(self.natural[cell])
        ends = hull(a, int(self.lower[cell]), int(self.upper[cell]), power, int(self.extra[cell]), natural)
        distance = abs(int(self.system.value[cell]) - a)
        return ends is not None and ends[1] - ends[0] >= distance

    def _further(self, cell: int) -> None:
        number = int(self.extra[cell])
        below = float(self.key.uniform(f"intervals step {number}", self.marks[cell : cell + 1])[0]) < 0.5
        low, high = int(self.lower[cell]), int(self.upper[cell])
        self.lower[cell], self.upper[cell] = further(low, high, int(self.step[cell]), below, bool(self.natural[cell]))
        self.extra[cell] += 1

    def make_room(self, room: LevelProofs) -> None:
        """Let intervals reach as far as the proofs of levels need it, also those of cells that were not changed."""
        value = self.system.value
        for cell in np.flatnonzero((room.fall > 0) | (room.rise > 0)).tolist():
            low, high = int(value[cell] - room.fall[cell]), int(value[cell] + room.rise[cell])
            if self.lower[cell] == self.upper[cell]:
                self.step[cell] = 10 ** exponent(high - low, "ceil")
            step = int(self.step[cell])
            self.lower[cell] = min(int(self.lower[cell]), low // step * step)
            self.upper[cell] = max(int(self.upper[cell]), -(-high // step) * step)
