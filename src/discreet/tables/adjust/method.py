"""The method ``Adjust``: controlled tabular adjustment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from discreet.errors import NeedsError, ParameterError, ProtectionError, counted, listed, unknown_name
from discreet.keys import Key
from discreet.methods.base import Keyed, TableMethod
from discreet.methods.outcome import NotAudited, Reading, TableOutcome
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Floats, Ints
from discreet.model.claims.altered import KNOWN_LEVELS, REPEATED, adjustment_claim
from discreet.model.evidence import Evidence
from discreet.model.units import unit_text
from discreet.parameters import Natural, Number
from discreet.progress import checkpoint
from discreet.relations import System
from discreet.relations.interior import interior
from discreet.relations.marks import cell_marks
from discreet.tables.adjust.directions import QUICK_WHEN_LARGE, choices, started
from discreet.tables.adjust.mdi import least_information, proportional
from discreet.tables.adjust.moves import (
    SHOWN,
    MoveLimits,
    fixed_cells,
    known_of_others,
    limits_of_moves,
    needed,
    share_of,
    whole,
)
from discreet.tables.adjust.programs import BestMoves, Programs, Row
from discreet.tables.adjust.repeated import ALONE, TOO_LARGE, left_alone
from discreet.tables.rounding.controlled import LEVELS, RoundingSteps, SearchEffort, round_controlled

OBJECTIVES = ("l1", "l2", "linf", "compromise", "variance", "correlation", "mdi")
QUALITY = ("compromise", "variance", "correlation")
WORDS = {"l1": "the sum of moves", "l2": "the sum of squared moves", "linf": "the largest move"}
NOTHING = 1e-6
"""A gap below this share counts as none."""
OPTIMAL_UP_TO = 30
"""Up to so many unsafe cells directions are chosen by an integer program without asking."""
DEFAULT_NODES, NODES_WITHOUT_ASKING = 1_000, 100


@dataclass(frozen=True)
class Adjust(Keyed, TableMethod):
    """Move every unsafe cell at least its level up or down, and the other cells as little as keeps all relations.

    Without ``randomised`` nothing is drawn: a reader who knows the method, the unsafe cells and the rule can repeat it
    for every table that could lie behind the publication, and may be left with the true one alone.

    Parameters
    ----------
    objective
        What is kept small: the weighted sum of absolute moves ``"l1"``, of squared moves ``"l2"``, or the largest
        ``"linf"``; or a list of them, each among the best of those before it. For quality: ``"compromise"`` keeps
        variance, correlation and regression of the unsafe cells near what they were (least absolute covariance of
        value and move), ``"variance"`` their variance, ``"correlation"`` makes that covariance large, for comparison.
        ``"mdi"``: the other cells stay in proportion (least discrimination information), for one table of values that
        are not negative; one-way margins are kept, all of them with ``fixed="margins"``.
    weight
        What a unit of each cell costs: ``"unit"`` 1, ``"value"`` 1/value, ``"sqrt"`` 1/sqrt(value), ``"variable"``
        the table's cost column.
    most
        Unsafe cells move at most so many times their level; ``None`` for no limit. With 1 they move by exactly their
        level, and who knows the level is left with two candidates; unsafe totals of unsafe cells then often clash.
    limit
        Other cells move at most so many per cent of their value; ``None`` for no limit.
    fixed
        Cells that stay, besides those published by force: ``"none"``, ``"total"`` (grand totals) or ``"margins"``.
    zeros
        ``"kept"`` or ``"movable"``: whether cells with the value zero may get one.
    keep_mean
        Sets of cells whose sum is kept: ``"unsafe"`` all unsafe cells; ``"inner"`` all finest cells; or lists of cells
        by their codes.
    algorithm
        ``"directions"``: several quick choices of directions, the best of them, then flips, each a linear program;
        ``"optimal"``: an integer program from there on; ``"auto"`` takes the latter up to 30 unsafe cells in tables of
        up to 500 cells that may move, two-way ones of up to 5,000.
    randomised
        Draw how far between its level and ``most`` (twice its level without one) each unsafe cell moves at least.
    draws
        For ``"mdi"``: random directions tried besides; 4,603 hit the best 0.1 % with 99 % confidence.
    effort
        Nodes of the integer program; 0 takes none.
    time_limit
        The same in seconds.
    version, key_file, insecure_seed
        The key of randomised moves: see :class:`~discreet.methods.base.Keyed`.

    Examples
    --------
    >>> Adjust(objective=("linf", "l1")).record()["objective"]
    ('linf', 'l1')
    """

    kind: ClassVar[str] = "adjust"
    alters: ClassVar[bool] = True
    objective: str | tuple[str, ...] = "l1"
    weight: Literal["unit", "value", "sqrt", "variable"] = "unit"
    most: Annotated[float, Number(least=1)] | None = None
    limit: Annotated[float, Number(least=0)] | None = None
    fixed: Literal["none", "total", "margins"] = "none"
    zeros: Literal["kept", "movable"] = "kept"
    keep_mean: tuple[Any, ...] = ()
    algorithm: Literal["auto", "optimal", "directions"] = "auto"
    randomised: bool = False
    draws: Natural = 0
    effort: Natural | None = None
    time_limit: Annotated[float, Number(least=0)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.objective, str):
            object.__setattr__(self, "objective", tuple(self.objective))
        object.__setattr__(self, "keep_mean", _as_sets(self.keep_mean))
        for name in self.objectives:
            if name not in OBJECTIVES:
                raise ParameterError(unknown_name("objective", str(name), OBJECTIVES))
            if name not in WORDS and len(self.objectives) > 1:
                raise ParameterError(f"objective={name!r} stands alone.", hint="Lists are of 'l1', 'l2' and 'linf'.")
        if not self.objectives:
            raise ParameterError("objective is an empty list.", hint="Give 'l1', or a list of 'l1', 'l2' and 'linf'.")
        if self.randomised and self.most is not None and self.most <= 1:
            raise ParameterError("Randomised moves need room above the level.", hint="Give most=1.5 or more.")

    @property
    def objectives(self) -> tuple[str, ...]:
        """The objectives in order."""
        return (self.objective,) if isinstance(self.objective, str) else self.objective

    @property
    def secret(self) -> bool:
        """Whether it draws at random."""
        return self.randomised

    def run(self, system: System, key: Key | None = None) -> TableOutcome:
        """Adjust the cells of a system."""
        checkpoint("adjust", 0, 4)
        stretch = None
        if key is not None:
            stretch = key.uniform(self.purpose("adjust"), cell_marks(system))
        moves = self.moves(system, stretch)
        self._refuse_stuck(system, moves)
        search = _Solver(self, system, moves)
        answer = search.run()
        checkpoint("adjust", 3, 4)
        published = system.value + _whole_moves(system, moves, answer) * moves.grid
        self._check(system, published)
        checkpoint("adjust", 4, 4)
        insecure = key is not None and key.insecure
        claim = adjustment_claim(
            self.record(),
            forced=bool(system.forced.any()),
            universes=len({table.spec.identity[1:] for table in system.tables}) > 1,
            insecure=insecure,
        )
        change = np.abs(published - system.value)
        search.said += _warned(system, published - system.value)
        facts: dict[str, Any] = {
            "moved": int((change > 0).sum()),
            "sum_of_moves": unit_text(int(change.sum()), system.decimals),
            "largest_move": unit_text(int(change.max(initial=0)), system.decimals),
            **search.facts,
            "insecure": insecure,
        }
        evidence = Evidence(
            self.record(),
            claim,
            system.decimals,
            effort=search.effort,
            facts=facts,
            findings=tuple(search.said),
        )
        return TableOutcome(np.zeros(len(system), np.bool_), evidence, published)

    def moves(self, system: System, stretch: Floats | None = None) -> MoveLimits:
        """How far the cells of a system may and must move; ``stretch`` are the draws of randomised moves."""
        return limits_of_moves(
            system,
            most=None if self.most is None else Fraction(str(self.most)),
            limit=None if self.limit is None else Fraction(str(self.limit)),
            fixed=self.fixed,
            movable_zeros=self.zeros == "movable",
            weight=self.weights(system),
            stretch=stretch,
        )

    def moved(self, system: System, moves: MoveLimits) -> Ints:
        """Values after the best moves within given limits."""
        answer = _Solver(self, system, moves).run()
        published = system.value + _whole_moves(system, moves, answer) * moves.grid
        self._check(system, published)
        return published

    def reading(self, system: System, published: Ints, evidence: Evidence) -> Reading | NotAudited:
        """What was left as it is is known, and the other cells within the limit; of unsafe cells nothing is.

        That is somebody who does not know the levels, but which cells are unsafe. In small tables somebody is looked at
        besides who knows the rule as well, and repeats the adjustment for every table that could lie behind it.
        """
        by_proportion = "mdi" in self.objectives and self.fixed != "margins"
        known = fixed_cells(system, "one-way" if by_proportion else self.fixed)
        if self.zeros == "kept":
            known |= system.value == 0
        lower, upper = system.lower_bound, system.upper_bound
        if self.limit is not None:
            least, most = known_of_others(published, Fraction(str(self.limit)))
            lower = np.where(system.unsafe, lower, np.maximum(lower, least))
            upper = np.where(system.unsafe, upper, np.minimum(upper, most))
        if self.most is not None:
            # Who knows how far cells may move is taken to know the levels, too.
            up, down = (whole(level, Fraction(str(self.most))) for level in needed(system))
            lower = np.where(system.unsafe, np.maximum(lower, published - up), lower)
            upper = np.where(system.unsafe, np.minimum(upper, published + down), upper)
        known &= ~system.unsafe
        lower, upper = np.where(known, system.value, lower), np.where(known, system.value, upper)
        knows = "which cells are unsafe and what was left as it is, but not the levels"
        if self.most is not None:
            knows = "which cells are unsafe, what was left as it is, and how far unsafe cells move at most"
        if self.randomised:
            return Reading(lower, upper, knows, (KNOWN_LEVELS,))
        alone = left_alone(self, system, published)
        if alone is None and self.most is None and self.limit is None and self.fixed == "none":
            return NotAudited(TOO_LARGE)
        if alone is None:
            return Reading(lower, upper, knows, (KNOWN_LEVELS, REPEATED))
        return Reading(lower, upper, knows, (KNOWN_LEVELS,), certain=(alone, ALONE))

    def weights(self, system: System) -> Floats:
        """What a unit of each cell costs."""
        if self.weight == "variable":
            without = [table.name for table in system.tables if table.cost is None]
            if without:
                raise NeedsError(
                    f"weight='variable' takes costs, and table {without[0]!r} has no cost column.",
                    hint="Give the table one (cost=), or use weight='unit', 'value' or 'sqrt'.",
                )
            return np.maximum(system.cost("variable"), 0.0)
        size = np.maximum(np.abs(system.value.astype(np.float64)), 1.0)
        if self.weight == "unit":
            return np.ones(len(system))
        return 1.0 / size if self.weight == "value" else 1.0 / np.sqrt(size)

    def _refuse_stuck(self, system: System, moves: MoveLimits) -> None:
        stuck = moves.unsafe[~moves.can_rise & ~moves.can_fall]
        if len(stuck):
            names = listed((system.cell_name(c) for c in stuck.tolist()), SHOWN)
            raise ProtectionError(
                f"{counted(len(stuck), 'unsafe cell')} cannot be protected, because bounds allow no move up or down by "
                f"the level: {names}.",
                hint="Widen their bounds, or merge their categories with others.",
            )

    def _check(self, system: System, published: Ints) -> None:
        """Everything that is claimed, in whole numbers; nothing is published where something is missed."""
        most = None if self.most is None else Fraction(str(self.most))
        move = published - system.value
        up, down = needed(system)
        short = system.unsafe & (move < up) & (-move < down)
        far = np.zeros(len(system), np.bool_)
        if most is not None:
            far = system.unsafe & ((move > whole(up, most)) | (-move > whole(down, most)))
        low = (published < system.lower_bound) & (system.lower_bound > NO_LOWER)
        high = (published > system.upper_bound) & (system.upper_bound < NO_UPPER)
        kept = fixed_cells(system, self.fixed) | ((system.value == 0) & (self.zeros == "kept"))
        bad = short | far | low | high | (kept & ~system.unsafe & (move != 0))
        if self.limit is not None:
            bad |= ~system.unsafe & (np.abs(move) > share_of(system.value, Fraction(str(self.limit))))
        if np.any(bad) or np.any(system.matrix @ move):
            names = listed((system.cell_name(c) for c in np.flatnonzero(bad).tolist()), SHOWN)
            raise ProtectionError(
                f"No adjustment in whole units was found; {counted(int(bad.sum()), 'cell')} cannot be protected or "
                "kept within "
                f"the limits: {names}.",
                hint="Allow larger moves (most=, limit=), or give the tables more decimals.",
            )


def _warned(system: System, move: Ints) -> list[str]:
    """Moves by exactly the level tell who knows the level two candidates, one on each side."""
    up, down = needed(system)
    exact = int((system.unsafe & ((move == up) | (-move == down))).sum())
    if not exact:
        return []
    return [
        f"{exact} of {counted(int(system.unsafe.sum()), 'unsafe cell')} moved by exactly the level: whoever knows "
        "the level is "
        "left with two candidates for the value (randomised=True moves cells further)"
    ]


class _Solver:
    """The search for moves: directions first, then the objectives in order."""

    def __init__(self, method: Adjust, system: System, moves: MoveLimits) -> None:
        self.method, self.system, self.moves = method, system, moves
        self.matrix = system.matrix[np.flatnonzero(system.defining)]
        self.kept = tuple(_set_row(system, wanted) for wanted in method.keep_mean)
        self.programs = Programs(self.matrix, moves, self.kept)
        self.end = None if method.time_limit is None else monotonic() + method.time_limit
        self.struck_at: int | None = None
        self.facts: dict[str, Any] = {}
        self.said: list[str] = []

    @property
    def effort(self) -> dict[str, int]:
        """What was spent."""
        found = {"linear_programs": self.programs.solved, "simplex_iterations": self.programs.iterations}
        found["nodes"] = self.programs.nodes
        return found if self.struck_at is None else {**found, "limit_struck_at": self.struck_at}

    def run(self) -> BestMoves:
        """The best moves that were found."""
        if not len(self.moves.unsafe):
            return BestMoves(np.zeros(len(self.system)), 0.0)
        first = self.method.objectives[0]
        if first == "mdi":
            return self._least_information()
        if first in QUALITY:
            return self._quality(first)
        if self.method.objectives == ("l2",) and self.programs.large and self.method.algorithm != "optimal":
            return self._squares()
        start = started(self.programs, self.matrix)
        checkpoint("adjust", 1, 4)
        wanted = self.method.algorithm == "optimal" or (
            self.method.algorithm == "auto" and len(self.moves.unsafe) <= OPTIMAL_UP_TO and self.programs.quick
        )
        best = self._optimal(start, wanted)
        checkpoint("adjust", 2, 4)
        assert best.directions is not None
        return self._in_order(best.directions, best)

    def _optimal(self, start: BestMoves | None, wanted: bool) -> BestMoves:
        """Directions by an integer program, where that is wanted or nothing else was found."""
        best, proven, bound = start, False, None
        nodes = DEFAULT_NODES if self.method.algorithm == "optimal" else NODES_WITHOUT_ASKING
        nodes = nodes if self.method.effort is None else int(self.method.effort)
        # Where nothing was found in a tangled table, an integer program would not end: it must be asked for.
        hopeless = best is None and self.programs.slow and self.method.algorithm != "optimal"
        if (wanted or best is None) and not hopeless:
            for level in sorted({min(level, nodes) for level in LEVELS if nodes > 0}):
                left = None if self.end is None else max(self.end - monotonic(), 0.0)
                found, late = self.programs.best_directions(level, left, best)
                if late:
                    self.struck_at = level // 10
                    break
                if found is not None and found.directions is not None:
                    bound = found.bound
                    linear = self.programs.cheapest(found.directions)
                    if linear is not None and (best is None or linear.cost < best.cost):
                        best = linear
                    if found.proven and best is not None and found.bound is not None:
                        proven = best.cost <= found.bound + 1e-6 * max(1.0, abs(found.bound))
                        break
        if best is None:
            raise self._infeasible()
        scale = self.moves.grid / 10.0**self.system.decimals
        self.facts = {"l1": round(best.cost * scale, 9), "proven": proven}
        if bound is not None:
            self.facts["least_l1"] = round(bound * scale, 6)
        return best

    def _say(self, name: str, answer: BestMoves) -> None:
        """What an objective came to, what it must be at least with these directions, and how far apart these are."""
        unit = (self.moves.grid / 10.0**self.system.decimals) ** (2 if name == "l2" else 1)
        self.facts[name] = round(answer.cost * unit, 6)
        if answer.bound is None:
            return
        least = min(answer.bound, answer.cost)
        gap = (answer.cost - least) / answer.cost if answer.cost > 0 else 0.0
        self.facts[f"least_{name}_with_directions"] = round(least * unit, 6)
        self.facts[f"gap_{name}_with_directions"] = round(gap, 9)
        near = "the least" if gap < NOTHING else f"at most {gap:.4%} above the least"
        text = f"before rounding to whole units, {WORDS[name]} is {near} with these directions"
        if name == "l1" and "least_l1" in self.facts:
            over = max(self.facts["l1"] - self.facts["least_l1"], 0.0) / max(self.facts["l1"], 1e-300)
            text += ", and with any others" if over < NOTHING else f"; with any directions, at most {over:.2%} above it"
        self.said.append(text)

    def _in_order(self, directions: Bools, best: BestMoves) -> BestMoves:
        """Further objectives with the directions kept."""
        answer, largest = best, None
        for name in self.method.objectives:
            found: BestMoves | None
            if name == "linf":
                found = self.programs.flattest(directions)
                largest = None if found is None else found.cost
            elif name == "l2":
                found = self.programs.smallest_squares(directions)
            elif largest is not None:
                found = self.programs.cheapest_below(directions, largest)
            else:
                found = best
            if found is None:
                raise self._infeasible(directions)
            self._say(name, found)
            answer = found
        return answer

    def _squares(self) -> BestMoves:
        """Squared moves of large tables: the best of several quick choices by this objective itself."""
        tried = choices(self.matrix, self.moves)[:QUICK_WHEN_LARGE]
        found = [answer for chosen in tried if (answer := self.programs.smallest_squares(chosen)) is not None]
        if not found:
            raise self._infeasible()
        best = min(found, key=lambda answer: answer.cost)
        self.facts = {"proven": False}
        self._say("l2", best)
        return best

    def _least_information(self) -> BestMoves:
        """Unsafe cells at their safe values, the other finest cells in proportion."""
        inner = interior(self.system)
        problem = proportional(self.system, inner, self.moves, self.method.fixed == "margins")
        best, found = least_information(problem, self.moves, int(self.method.draws))
        if not np.isfinite(best.distance):
            raise self._infeasible()
        self.facts = {name: round(value * self.moves.grid, 6) for name, value in found.items() if np.isfinite(value)}
        move = np.asarray(inner.sums @ (best.value - problem.original), np.float64)
        return BestMoves(move, best.distance, directions=best.directions)

    # ---- quality -------------------------------------------------------------------------------------------

    def _quality(self, goal: str) -> BestMoves:
        """Least (or largest) covariance of value and move of the unsafe cells; then the others as little as can be."""
        system, cells = self.system, self.moves.unsafe
        value = system.value[cells].astype(np.float64) / self.moves.grid
        if len(cells) < 2 or value.var() == 0:
            raise ParameterError(
                f"objective={goal!r} needs at least two unsafe cells with different values.", hint="Use objective='l1'."
            )
        # Normal size for the solver: moves in multiples of the mean level.
        form = Row(cells, (value - value.mean()) / (len(cells) * value.var()))
        size = float(np.maximum(self.moves.least_up, self.moves.least_down).mean())
        typical = float((np.minimum(self.moves.least_up, self.moves.least_down) ** 2).mean() / value.var())
        words = {"compromise": "least", "correlation": "most", "variance": f"near:{typical / 2!r}"}
        programs = Programs(self.matrix, _in_units_of(self.moves, size), self.kept)
        found, _ = programs.best_directions(
            DEFAULT_NODES * 100 if self.method.effort is None else int(self.method.effort),
            None if self.end is None else max(self.end - monotonic(), 0.0),
            None,
            Row(form.cells, form.factor * size),
            words[goal],
        )
        self.programs.nodes += programs.nodes
        if found is None or found.directions is None:
            raise self._infeasible()
        checkpoint("adjust", 2, 4)
        tried = []
        for sign in (1.0, -1.0) if goal == "compromise" else (1.0,):
            move = np.rint(found.move[cells] * size * 1e6) / 1e6 * sign
            answer = self._with_unsafe(move)
            if answer is not None:
                ratio = float((value + move).var() / value.var())
                tried.append((abs(ratio - 1), answer, float(form.factor @ move)))
        if not tried:
            raise self._infeasible(found.directions)
        _, answer, shift = min(tried, key=lambda entry: entry[0])
        self.facts = {"shift": round(shift, 9), "proven": found.proven}
        return answer

    def _with_unsafe(self, move: Floats) -> BestMoves | None:
        """The other cells moved as little as can be, for given moves of the unsafe ones."""
        m = self.moves
        up = move > 0
        least = np.abs(move)
        inside = np.where(up, least <= m.most_up[m.unsafe] + 1e-6, least <= m.most_down[m.unsafe] + 1e-6)
        reach = np.where(up, least >= m.least_up - 1e-6, least >= m.least_down - 1e-6)
        if not np.all(inside & reach):
            return None
        most_up, most_down = m.most_up.copy(), m.most_down.copy()
        most_up[m.unsafe], most_down[m.unsafe] = np.where(up, least, 0), np.where(up, 0, least)
        exact = replace(m, least_up=least, least_down=least, most_up=most_up, most_down=most_down)
        programs = Programs(self.matrix, exact, self.kept)
        answer = programs.cheapest(up)
        self.programs.solved += programs.solved
        return answer

    # ---- what stands in the way ----------------------------------------------------------------------------

    def _infeasible(self, directions: Bools | None = None) -> ProtectionError:
        """Name the limits that clash, and what relaxing them would take."""
        system = self.system
        tried = choices(self.matrix, self.moves) if directions is None else [directions]
        loose = Programs(self.matrix, self.moves, self.kept, everything=True)
        if loose.slow:
            tried = tried[:1]
        broken = [found for chosen in tried if (found := loose.broken_limits(chosen)) is not None]
        excess = min(broken, key=lambda e: float(e.sum()), default=np.zeros(len(system)))
        over = np.flatnonzero(excess > 1e-6)
        over = over[np.argsort(-excess[over], kind="stable")]
        unsafe = listed((system.cell_name(c) for c in self.moves.unsafe.tolist()), SHOWN)
        if len(over):
            clash = f"the limits of {listed((system.cell_name(c) for c in over.tolist()), SHOWN)} stand in the way"
        elif "mdi" in self.method.objectives:
            clash = (
                "the other cells cannot be brought to the margins in proportion (objective='l1' needs no proportions)"
            )
        else:
            clash = "the sums that are to be kept (keep_mean) stand in the way"
        # Large tables are looked at with few choices of directions, so that others are not ruled out.
        how = ", as far as the directions that were tried show" if loose.slow else ""
        more = "; ".join(
            f"{system.cell_name(c)} by {unit_text(int(np.ceil(excess[c])) * self.moves.grid, system.decimals)}"
            for c in over[:20].tolist()
        )
        together = " together" if len(self.moves.unsafe) > 1 else ""
        return ProtectionError(
            f"{counted(len(self.moves.unsafe), 'unsafe cell')} cannot be protected{together} ({unsafe}): {clash}{how}.",
            hint="Let these cells move further (limit=, fixed=, zeros='movable', most=), keep fewer sums, or publish "
            "fewer cells by force. Nothing is published.",
            details=f"Least that would do: {more}." if more else "",
        )


def _in_units_of(moves: MoveLimits, size: float) -> MoveLimits:
    return replace(
        moves,
        least_up=moves.least_up / size,
        least_down=moves.least_down / size,
        most_up=np.where(moves.most_up < 1e15, moves.most_up / size, moves.most_up),
        most_down=np.where(moves.most_down < 1e15, moves.most_down / size, moves.most_down),
    )


def _as_sets(given: Any) -> tuple[Any, ...]:
    """Sets of cells as plain data: words, or lists of lists of codes."""
    if isinstance(given, str):
        return (given,)
    found: list[Any] = []
    for wanted in given:
        if isinstance(wanted, str):
            if wanted not in ("unsafe", "inner"):
                raise ParameterError(unknown_name("set of cells", wanted, ("unsafe", "inner")))
            found.append(wanted)
        elif isinstance(wanted, Sequence) and all(isinstance(c, Sequence) and not isinstance(c, str) for c in wanted):
            found.append(tuple(tuple(map(str, codes)) for codes in wanted))
        else:
            raise ParameterError("keep_mean takes 'unsafe', 'inner' or lists of cells by their codes.")
    return tuple(found)


def _set_row(system: System, wanted: Any) -> Row:
    """The sum of the moves of a set of cells."""
    if wanted == "unsafe":
        cells = np.flatnonzero(system.unsafe)
    elif wanted == "inner":
        cells = interior(system).finest
    else:
        table = system.tables.tables[0]
        rows = [table.row(**dict(zip(table.variables, codes, strict=True))) for codes in wanted]
        cells = np.unique(system.of[0][rows])
    return Row(cells, np.ones(len(cells)))


def _whole_moves(system: System, moves: MoveLimits, answer: BestMoves) -> Ints:
    """Moves in whole steps that keep all relations: as they are, or rounded together where they are not whole."""
    inner = interior(system)
    near = np.rint(answer.move).astype(np.int64)
    made = np.asarray(inner.sums @ near[inner.cells], np.int64)
    if np.array_equal(made, near) and np.abs(answer.move - near).max(initial=0) < 1e-6:
        return made
    floor = np.floor(answer.move + 1e-6).astype(np.int64)
    ceil = np.ceil(answer.move - 1e-6).astype(np.int64)
    cells = moves.unsafe
    up = answer.move[cells] > 0
    floor[cells] = np.where(up, np.maximum(floor[cells], moves.least_up.astype(np.int64)), floor[cells])
    ceil[cells] = np.where(up, ceil[cells], np.minimum(ceil[cells], -moves.least_down.astype(np.int64)))
    floor, ceil = np.minimum(floor, ceil), np.maximum(floor, ceil)
    problem = RoundingSteps(inner, floor, ceil, np.zeros(len(system)))
    return round_controlled(problem, near[inner.cells], SearchEffort(effort=100), 1).value
