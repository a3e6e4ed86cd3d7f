"""The method ``Round``: publish every cell as a multiple of a base."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.attack.whole import whole_steps
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError, counted, listed, unknown_name
from discreet.keys import Key
from discreet.methods.base import Keyed, TableMethod
from discreet.methods.outcome import NotAudited, Reading, TableOutcome, Whole
from discreet.model.arrays import LARGEST, NO_LOWER, Floats, Ints
from discreet.model.claims.altered import KNOWN_LEVELS, LIKELY, REPEATED, rounding_claim
from discreet.model.evidence import Certificates, Evidence, Proofs
from discreet.parameters import AtLeastOne, Natural, Number
from discreet.progress import checkpoint, onwards
from discreet.relations import System
from discreet.relations.cycles import has_open_cycle
from discreet.relations.interior import finest_cells, interior
from discreet.relations.marks import cell_marks
from discreet.tables.levels import prove_levels
from discreet.tables.rounding.controlled import Rounding, RoundingSteps, SearchEffort, round_at_once, round_controlled
from discreet.tables.rounding.families import lines
from discreet.tables.rounding.network import network, round_by_coins, round_by_cycles, round_cheaply
from discreet.tables.rounding.parts import round_blocks, round_families
from discreet.tables.rounding.rules import up_by_rule, up_semi_controlled

Rule = Literal[
    "controlled",
    "controlled_unbiased",
    "controlled_fifty_fifty",
    "semi",
    "conventional",
    "modified",
    "fifty_fifty",
    "unbiased",
]
RULES = get_args(Rule)
ADDITIVE = RULES[:4]
SHOWN = 5
TRIED_CELLS, TRIED_UP_TO, TRIED_BASES = 6_000, 4, 3
"""Where a base does not do, a few larger ones are tried on tables of up to so many cells, to name one that does."""
AT_ONCE, NODES = 6_000, 600
"""Networks of up to so many cells and relations are rounded at once, without a program."""
LARGE, PART = 100_000, 60_000
"""Tables of more interior cells are rounded in parts, of about so many cells where families of codes are taken."""


@dataclass(frozen=True)
class Round(Keyed, TableMethod):
    """Publish every value as a multiple of a base.

    Parameters
    ----------
    base
        The base: any number above zero that is a whole number of the table's smallest unit.
    rule
        ``"controlled"`` (default): additive, cells at neighbouring multiples, and the sums as near to theirs as can
        be. For tables that are networks (two-way, one variable hierarchical): ``"controlled_unbiased"``, drawn so that
        every cell keeps its mean, and ``"controlled_fifty_fifty"``, by fair coins. ``"semi"``: as many cells up as
        keeps the total of each group of ``control``, sums added up anew. Not additive, each cell for itself:
        ``"conventional"``, ``"modified"`` (halves by a coin), ``"fifty_fifty"`` and ``"unbiased"``.
    objective
        What controlled rounding chooses among the best: ``"nearest"`` values in the finest cells, the same in all
        cells together (``"total"``), ``"random"`` ones without bias, or ``"none"``.
    steps
        How many steps of the base a cell may move in controlled rounding: 1 takes neighbouring multiples only.
    control
        Variables whose codes form the groups of ``"semi"``; the whole table when empty.
    levels
        Prove that every unsafe cell keeps its protection level against whoever knows base and rule, and fail where one
        does not. ``False`` publishes without, and the release says so.
    effort
        Nodes of the integer programs of controlled rounding; 0 takes what annealing finds.
    time_limit
        The same in seconds. A limit that strikes leaves an additive table with its worst violation and bound.
    key_file
        File of the secret key of rules that draw at random; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Examples
    --------
    >>> Round(5, rule="conventional").secret, Round(5, rule="unbiased").secret
    (False, True)
    """

    kind: ClassVar[str] = "round"
    alters: ClassVar[bool] = True
    base: int | float | str
    rule: Rule = "controlled"
    objective: Literal["nearest", "total", "random", "none"] = "nearest"
    steps: AtLeastOne = 1
    control: tuple[str, ...] = ()
    levels: bool = True
    effort: Natural | None = None
    time_limit: Annotated[float, Number(least=0)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if _fraction(self.base) is None:
            raise ParameterError(f"base={self.base!r} is not allowed.", hint="Give a number above 0.")
        if self.steps > 1 and self.rule != "controlled":
            raise ParameterError("steps is for controlled rounding.", hint="Leave it out, or use rule='controlled'.")
        if self.control and self.rule != "semi":
            raise ParameterError("control is for semi-controlled rounding.", hint="Use rule='semi'.")

    @property
    def secret(self) -> bool:
        """Whether it draws at random."""
        if self.rule == "controlled":
            return self.objective == "random"
        return self.rule != "conventional"

    def run(self, system: System, key: Key | None = None) -> TableOutcome:
        """Round the cells of a system."""
        step = self._step(system)
        marks = cell_marks(system) if key is not None else None
        checkpoint("round", 0, 3)
        made = self._rounded(system, step, key, marks)
        checkpoint("round", 3, 3)
        published = made.value * step
        made.worst = int(np.abs(published - system.value).max(initial=0)) // step
        reach = made.worst + 1
        certificates, proofs = Certificates.none(), Proofs.none()
        if self.levels:
            lower, upper = self._limits(system, published, step, reach)
            certificates, proofs, left = prove_levels(system, lower, upper)
            if left:
                raise self._unprotected(system, left, key)
        insecure = key is not None and key.insecure
        claim = rounding_claim(
            str(self.base),
            additive=self.rule in ADDITIVE,
            reach=reach,
            levels=self.levels,
            drawn=self.rule != "conventional",
            secret=self.secret,
            universes=len({table.spec.identity[1:] for table in system.tables}) > 1,
            cycle=has_open_cycle(system.tables),
            insecure=insecure,
        )
        facts: dict[str, Any] = {
            "reach": reach,
            "worst_violation": made.worst,
            "least_violation": made.bound,
            "objective": made.objective,
            "least_objective": made.least,
            "insecure": insecure,
        }
        effort = {"nodes": made.nodes}
        if made.struck_at is not None:
            effort["limit_struck_at"] = made.struck_at
        evidence = Evidence(
            self.record(), claim, system.decimals, certificates, proofs, effort, facts=facts, findings=made.said
        )
        return TableOutcome(np.zeros(len(system), np.bool_), evidence, published)

    def reading(self, system: System, published: Ints, evidence: Evidence) -> Reading | NotAudited:
        """What a published multiple tells of each cell."""
        step = self._step(system)
        worst = int((np.abs(published - system.value) // step).max(initial=0))
        lower, upper = self._limits(system, published, step, worst + 1)
        whole = Whole(whole_steps(system))
        return Reading(lower, upper, "the base and rule of the rounding", self._beyond(), whole)

    def _beyond(self) -> tuple[str, ...]:
        """What readers may do besides."""
        if self.rule == "conventional":
            return ()
        levels = (KNOWN_LEVELS,) if self.levels and self.rule == "controlled" else ()
        return (LIKELY, *levels) if self.secret else (LIKELY, *levels, REPEATED)

    def _limits(self, system: System, published: Ints, step: int, reach: int) -> tuple[Ints, Ints]:
        """The least and most that a cell can be, for somebody who also knows which cells are further away."""
        if self.rule in ("conventional", "modified"):
            most = (step - 1) // 2 if self.rule == "conventional" else step // 2
            low, high = published - step // 2, published + most
        else:
            near = np.abs(published - system.value) < step
            away = np.where(near, step, reach * step) - 1
            low, high = published - away, published + away
        return np.maximum(low, system.lower_bound), np.minimum(high, system.upper_bound)

    def _step(self, system: System) -> int:
        """The base in units of the system."""
        base = _fraction(self.base)
        assert base is not None
        units = base * 10**system.decimals
        if units.denominator != 1:
            raise InputError(
                f"The base {self.base} is not a whole number of the smallest unit of the tables, which have "
                f"{counted(system.decimals, 'decimal')}.",
                hint="Give another base, or tables with more decimals (decimals=).",
            )
        if units * 4 + int(np.abs(system.value).max(initial=0)) > LARGEST:
            raise InputError(f"The base {self.base} is too large for these tables.", hint="Give a smaller base.")
        return int(units)

    def _rounded(self, system: System, step: int, key: Key | None, marks: NDArray[np.uint8] | None) -> Made:
        floor, rest = np.divmod(system.value, step)
        if self.rule in ("conventional", "modified", "fifty_fifty", "unbiased"):
            draw = np.zeros(len(system))
            if key is not None and marks is not None:
                draw = key.uniform(f"round {self.rule}", marks)
            return Made(floor + up_by_rule(self.rule, rest, step, draw))
        if self.rule == "controlled":
            return self._controlled(system, step, floor, rest, key, marks)
        assert key is not None
        assert marks is not None
        draw = key.uniform(f"round {self.rule}", marks)
        if self.rule == "semi":
            return _semi(system, step, floor, rest, draw, self._groups(system), key, marks)
        net = network(system)
        if net is None:
            raise NeedsError(
                f"rule={self.rule!r} needs a two-way table with at most one hierarchical variable.",
                hint="Use rule='controlled', which rounds any table.",
            )
        seed = int(key.generator(f"round {self.rule}", marks).integers(2**62))
        ordered, order = net.in_order(draw)
        up = np.empty_like(rest)
        if self.rule == "controlled_unbiased":
            up[order] = round_by_cycles(ordered, rest[order], step, None, seed)
        else:
            arcs = np.arange(len(order), dtype=np.int64)
            up[order] = round_by_coins(ordered, rest[order], step, arcs, seed)[0]
        return Made(floor + up // step)

    def _controlled(
        self, system: System, step: int, floor: Ints, rest: Ints, key: Key | None, marks: NDArray[np.uint8] | None
    ) -> Made:
        share = rest / step
        seed, draw = 1, np.zeros(0)
        if key is not None and marks is not None:
            draw = key.uniform("round controlled", marks)
            up = draw < share
            seed = int(key.generator("round controlled", marks).integers(2**62))
        else:
            up = 2 * rest >= step
        cost = np.zeros(len(system), np.int64)  # what going up costs, times the base
        if self.objective == "random":
            cost = np.where(rest > 0, step * (1 - 2 * up), 0)
        elif self.objective in ("nearest", "total"):
            cost = np.where(rest > 0, step - 2 * rest, 0)
        least, most = self._allowed(system, step, floor, floor + (rest > 0))
        search = SearchEffort(None if self.effort is None else int(self.effort), self.time_limit)
        weighed = np.arange(len(system)) if self.objective == "total" else finest_cells(system)
        found = None
        if len(system) <= AT_ONCE and search.levels():
            found = _in_network(system, step, floor, rest, least, most, cost, weighed)
        if found is None:
            weight = cost / step
            lowest = np.where(system.lower_bound > NO_LOWER, -(-system.lower_bound // step), NO_LOWER)
            lowest = np.where(system.empty, 0, np.minimum(lowest, floor))
            beyond = self.steps - 1
            everywhere = self.objective == "total"
            problem = RoundingSteps(
                interior(system), least, most, weight, beyond, lowest if beyond else None, everywhere
            )
            if problem.small and search.levels() and weight.any():
                found = round_at_once(problem, search)
            if found is None:
                found = self._searched(system, step, problem, floor + up, search, seed, draw)
        negative = (found.value < 0) & (system.lower_bound >= 0)
        if np.any(negative):
            cell = system.cell_name(int(np.argmax(negative)))
            raise ProtectionError(
                f"No rounding was found in which all sums add up and cell {cell} is not negative.",
                hint="Allow more effort, take another base, or use a rule that rounds each cell for itself.",
            )
        # Cells that may only go up count as going up.
        always = float((cost / step)[weighed] @ (least - floor)[weighed])
        return Made(found.value, found, always, search.nodes, search.struck_at)

    def _searched(
        self,
        system: System,
        step: int,
        problem: RoundingSteps,
        near: Ints,
        search: SearchEffort,
        seed: int,
        draw: Floats,
    ) -> Rounding:
        """The best rounding that a search finds; very large tables in blocks or by families of codes."""
        inner = problem.interior
        start, true = near[inner.cells], system.value[inner.cells]
        net = network(system)
        if net is not None:
            floor, rest = np.divmod(system.value, step)
            weight = np.zeros(len(system))
            weight[problem.counted] = problem.weight[problem.counted]
            start = (floor + round_by_cycles(net, rest, step, weight, seed) // step)[inner.cells]
            problem = replace(problem, network=True)
        elif len(inner.cells) > LARGE:
            found = round_blocks(problem, start, search, seed)
            parts = lines(system, inner, PART) if found is None else None
            if parts is not None:
                drawn = draw[inner.cells] if self.objective == "random" else None
                found = round_families(problem, parts, true, step, search, seed, drawn)
            if found is not None:
                return found
        return round_controlled(problem, start, search, seed)

    def _allowed(self, system: System, step: int, floor: Ints, ceil: Ints) -> tuple[Ints, Ints]:
        """Neighbouring multiples that leave an unsafe cell its level, where levels are asked for and one of them does.

        A multiple tells that the value is less than a step away, so that both ends of the level must be as near.
        """
        if not self.levels:
            return floor, ceil
        low, high = system.value - system.lower_level, system.value + system.upper_level
        keeps = [(m * step - step < low) & (m * step + step > high) for m in (floor, ceil)]
        only_up, only_down = system.unsafe & keeps[1] & ~keeps[0], system.unsafe & keeps[0] & ~keeps[1]
        return np.where(only_up, ceil, floor), np.where(only_down, floor, ceil)

    def _groups(self, system: System) -> Ints:
        """For every cell the number of its group: the codes of the control variables, table by table."""
        groups = np.zeros(len(system), np.int64)
        known: dict[tuple[Any, ...], int] = {}
        for number in range(len(system.tables) - 1, -1, -1):
            table = system.tables.tables[number]
            for variable in self.control:
                if variable not in table.spec.by:
                    where = f"table {table.name!r} (control)"
                    raise ParameterError(unknown_name("variable", variable, table.variables, where))
            columns = [table.codes[:, table.variables.index(v)].tolist() for v in self.control]
            for cell, *codes in zip(system.of[number].tolist(), *columns, strict=True):
                groups[cell] = known.setdefault((number, *codes), len(known))
        return np.unique(groups, return_inverse=True)[1].astype(np.int64)

    def _unprotected(self, system: System, cells: list[int], key: Key | None) -> ProtectionError:
        names = listed((system.cell_name(cell) for cell in cells), SHOWN)
        with onwards("larger bases: "):
            larger = self._base_that_works(system, key)
        base = "Take a larger base" if larger is None else f"Take base={larger}, which was tried and works"
        return ProtectionError(
            f"{counted(len(cells), 'unsafe cell')} cannot be protected by rounding to multiples of {self.base}: "
            f"somebody who knows the base could tell more than the level allows: {names}.",
            hint=f"{base}, or publish without that proof (levels=False), which the release then says.",
        )

    def _base_that_works(self, system: System, key: Key | None) -> int | None:
        """The least of the next larger bases that keeps all levels, where trying them takes no time to speak of."""
        base = _fraction(self.base)
        if base is None or base.denominator != 1 or len(system) > TRIED_CELLS:
            return None
        bases = range(int(base) + 1, TRIED_UP_TO * int(base) + 1)
        likely = (larger for larger in bases if self._may_keep_levels(system, larger * 10**system.decimals))
        methods = (replace(self, base=larger) for larger in islice(likely, TRIED_BASES))
        return next((int(method.base) for method in methods if method._keeps_levels(system, key)), None)

    def _keeps_levels(self, system: System, key: Key | None) -> bool:
        """Whether the base keeps the levels of all cells."""
        step = self._step(system)
        try:
            made = self._rounded(system, step, key, cell_marks(system) if key is not None else None)
        except ProtectionError:
            return False
        published = made.value * step
        reach = int(np.abs(published - system.value).max(initial=0)) // step + 1
        return not prove_levels(system, *self._limits(system, published, step, reach))[2]

    def _may_keep_levels(self, system: System, step: int) -> bool:
        """Whether each unsafe cell has a multiple beside it that leaves it its level, whatever the others do."""
        floor, rest = np.divmod(system.value, step)
        low, high = system.value - system.lower_level, system.value + system.upper_level
        keeps = np.zeros(len(system), np.bool_)
        for multiple in (floor, floor + (rest > 0)):
            lower, upper = self._limits(system, multiple * step, step, 1)
            keeps |= (lower <= low) & (upper >= high)
        return bool(keeps[system.unsafe].all())


class Made:
    """Rounded values in steps, and how they were found."""

    def __init__(
        self,
        value: Ints,
        found: Rounding | None = None,
        always: float = 0.0,
        nodes: int = 0,
        struck_at: int | None = None,
    ) -> None:
        self.value = value
        self.worst = 0
        self.bound = 0 if found is None else found.bound
        self.objective = self.least = None
        if found is not None:
            self.objective = round(found.objective + always, 9)
            self.least = min(round(found.least + always, 6), self.objective)
        self.nodes, self.struck_at = nodes, struck_at

    @property
    def said(self) -> tuple[str, ...]:
        """How near controlled rounding came to the best: the worst violation, the objective, and their bounds."""
        if self.objective is None:
            return ()
        best = "no rounding has less" if self.worst <= self.bound else f"any rounding has at least {self.bound}"
        text = [f"the worst sum lies {counted(self.worst, 'step')} beyond its neighbouring multiples; {best}"]
        if self.worst == 0:
            text = ["all values lie at neighbouring multiples of the base"]
        if self.least is not None:
            gap = max(self.objective - self.least, 0.0)
            near = "the least" if gap <= 1e-6 else f"at most {gap:.6g} above the least"
            text.append(f"the objective is {near}{' with that violation' if self.worst else ''}")
        return tuple(text)


def _in_network(
    system: System, step: int, floor: Ints, rest: Ints, least: Ints, most: Ints, cost: Ints, weighed: Ints
) -> Rounding | None:
    """The best rounding where the relations are a network and it has one without any violation."""
    net = network(system)
    if net is None or net.nodes > NODES:
        return None
    weight = np.zeros(len(system), np.int64)
    weight[weighed] = cost[weighed]
    left = round_cheaply(net, rest, step, (least - floor) * step, (most - floor) * step, weight)
    if left is None:
        return None
    value = floor + left // step
    objective = float(weight @ (value - least)) / step
    return Rounding(value, 0, 0, objective, objective)


def _semi(
    system: System,
    step: int,
    floor: Ints,
    rest: Ints,
    draw: Floats,
    groups: Ints,
    key: Key,
    marks: NDArray[np.uint8],
) -> Made:
    """Semi-controlled rounding of the finest cells; all other cells are their sums."""
    inner = interior(system)
    cells = inner.finest
    if len(inner.cells) < len(cells):
        raise NeedsError(
            "Semi-controlled rounding needs tables in which every total has one definition.",
            hint="Use rule='controlled', which keeps all of them.",
        )
    whole = np.zeros((int(groups.max(initial=-1)) + 1, marks.shape[1]), np.uint8)
    np.bitwise_xor.at(whole, groups[cells], marks[cells])
    common = key.uniform("round semi, groups", whole)
    up = up_semi_controlled(rest[cells], step, groups[cells], draw[cells], common)
    value = np.asarray(inner.sums @ (floor[cells] + up), np.int64)
    return Made(value)


def _fraction(base: object) -> Fraction | None:
    """The base as an exact number, ``None`` where it is not one above zero."""
    if isinstance(base, bool) or not isinstance(base, int | float | str):
        return None
    if isinstance(base, int):
        return Fraction(base) if base > 0 else None
    try:
        number = Fraction(str(base))
    except (ValueError, ZeroDivisionError):
        return None
    return number if number > 0 else None
