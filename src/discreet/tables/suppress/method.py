"""The method ``Suppress``: withhold unsafe cells and as many others as it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from discreet.errors import NeedsError, ParameterError, ProtectionError, listed
from discreet.keys import Key
from discreet.methods.base import TableMethod
from discreet.methods.outcome import TableOutcome
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.claims.base import Claim
from discreet.model.claims.suppression import judged_sums, suppression_claim
from discreet.model.evidence import Evidence
from discreet.model.table import NOBODY, Table
from discreet.parameters import Natural, Positive, Share, as_path_text
from discreet.relations import System
from discreet.relations.cycles import has_open_cycle
from discreet.relations.identity import cell_identities
from discreet.relations.twins import Twins, in_finest_cells, twin_labels, with_twins_as_one
from discreet.relations.whole_counts import in_whole_counts
from discreet.tables.engines import SETTINGS as ENGINES
from discreet.tables.engines import check_settings, propose
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.bound import against_least, least_cost, with_least_cost
from discreet.tables.suppress.classes import accepted, classify, failures_error, plain_acceptances
from discreet.tables.suppress.complete import complete
from discreet.tables.suppress.costs import charge, cost_variable, plain_hints, plain_preference, refuse_cost
from discreet.tables.suppress.effort import EffortLimits, EffortWord
from discreet.tables.suppress.joint import Sum, protect_sums
from discreet.tables.suppress.proof import certificates_and_proofs, has_fractions

if TYPE_CHECKING:
    from discreet.tables.engines.standards import Standards
    from discreet.tables.suppress.proposed import Proposed

MANY_TWINS = 0.5
"""Twins are looked at as one cell where no more than this share of the cells is left then."""


@dataclass(frozen=True)
class Suppress(TableMethod):
    """Withhold the unsafe cells, and others so that no unsafe cell can be worked out within its level.

    Every unsafe cell and direction gets exact alternative tables over all relations of all tables, in which it lies at
    its protection level; the cells that change there are withheld. The alternatives go into the evidence.

    Parameters
    ----------
    cost
        What withholding a cell costs: ``"value"``, ``"count"`` (contributors), ``"unity"``, ``"log"`` of the
        value, ``"variable"`` (the table's cost column), or ``"distance"`` (how many relations away the nearest unsafe
        cell is, so that what is withheld stays together). Any other name is a variable, and ``"log(name)"`` its
        logarithm: the table's cost column of that name, the value of another table of the set at the same place, or a
        column of the records that the table was made from.
    exponent
        Power that the cost is raised to; below 1 large cells become relatively cheaper.
    hints
        What the officer says of single cells: a mapping of codes to a multiplier of the cost (0 is free), ``"avoid"``
        or ``"never"`` (it stays published, or nothing is); or a sequence of mappings with ``cell``, one of ``times``,
        ``cost`` and ``use``, and ``table``; or a data frame or file with these columns.
    prefer
        Last period's pattern, or the path of its file: cells withheld then are cheap now. Cells that are gone are
        reported.
    prefer_share
        What a preferred cell costs, as a share of its cost.
    insiders
        Contributors know their own contribution in every cell. ``"nonzero"``: none of them can work out exactly an
        unsafe cell that it does not fill alone, the field's own standard; ``"full"``: each of them finds such a cell at
        its full level, which withholds more; ``None``: outsiders only, which the release then says. So it does of
        tables that do not say how many contributors a cell has.
    coalitions
        Whether the same must hold of any two contributors together, who put what they know into one; a cell that the
        two fill alone is known to them. Needs ``insiders``, and contributors that are named.
    joint
        Whether sums of withheld cells must be safe under the rules too, where the published cells give such a sum away:
        one contributor may stand behind all of its cells. Tables that do not name their contributors, or are judged by
        a weight, a shadow variable or absolute amounts, are left out, which the release then says; so are patterns of
        engines that are not repaired.
    known_within
        Everybody knows each cell to within so many per cent of its value; left out, only that a cell is not below zero,
        unless it has a negative contribution, is negative or is a difference.
    effort
        How much is done for a cheap pattern: ``"quick"``, ``"normal"`` or ``"best"``; or how many linear programs may
        be spent. Beyond that the pattern is completed in the cheapest way, and is as safe, only dearer.
    time_limit
        How many seconds may be spent likewise; the log keeps the effort at which the limit struck.
    accept
        Cells that may stay withheld without a proof of their level, where none can be found: mappings with ``cells``
        (lists of codes) or ``class`` (``"impossible"``, ``"undecided"``, or ``"revealed"`` by what is already
        published), ``reason``, ``name`` and, where there are several tables, ``table``; or the path of a csv or yaml
        file of them. They stay in the evidence, and every verdict lists them.
    algorithm
        ``"certified"``, or ``"optimal"``: the cheapest pattern against outsiders by cutting planes, completed for
        insiders and certified; for tables of about a thousand cells. The log says what the cheapest pattern costs at
        least. It is never dearer than the certified one. ``"hypercube"``, ``"modular"``, ``"network"`` or
        ``"gauss"``: the field's own engines propose the pattern. An audit says in the evidence which standard it meets,
        and only cells with a certificate count as protected.
    solver
        For ``"optimal"``: ``"highs"``, or ``"scip"``, which adds cuts inside one tree and needs the extra ``scip``.
    repair
        Complete the pattern of an engine to a certified one. Otherwise nothing is withheld besides, and unsafe cells
        that it leaves without a certificate must be accepted, or nothing is published.
    settings
        Settings of an engine, by name.

    Examples
    --------
    >>> Suppress(cost="unity").record()["cost"]
    'unity'
    """

    kind: ClassVar[str] = "suppress"
    _ends_at: ClassVar[int | None] = None
    cost: str = "value"
    exponent: Positive = 1.0
    insiders: Literal["full", "nonzero"] | None = "nonzero"
    known_within: Positive | None = None
    effort: Natural | EffortWord = "normal"
    time_limit: Positive | None = None
    accept: tuple[Mapping[str, Any], ...] | str = ()
    algorithm: Literal["certified", "optimal", "hypercube", "modular", "network", "gauss"] = "certified"
    hints: Any = ()
    prefer: Any = field(default=(), repr=False)
    prefer_share: Share = 0.1
    repair: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    coalitions: bool = False
    joint: bool = True
    solver: Literal["highs", "scip"] = "highs"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_cost(self.cost)
        if self.solver != "highs" and self.algorithm != "optimal":
            raise ParameterError(
                f"solver={self.solver!r} is for algorithm='optimal'; algorithm={self.algorithm!r} has its own.",
                hint="Leave it out, or use algorithm='optimal'.",
            )
        if self.coalitions and self.insiders is None:
            raise ParameterError(
                "coalitions=True asks for contributors together, and insiders=None leaves them out.",
                hint="Use insiders='full' or 'nonzero', or leave coalitions out.",
            )
        for name, plain in (("accept", plain_acceptances), ("hints", plain_hints), ("prefer", plain_preference)):
            given = getattr(self, name)
            file = as_path_text(given)
            object.__setattr__(self, name, plain(given) if file is None else file)
        if self.algorithm in ENGINES:
            check_settings(self.algorithm, self.settings)
            object.__setattr__(self, "joint", self.joint and self.repair)
        elif self.repair or self.settings:
            name = "repair" if self.repair else "settings"
            raise ParameterError(
                f"{name}= is for patterns of engines; algorithm={self.algorithm!r} is none.",
                hint=f"Leave it out, or use one of {listed(ENGINES)}.",
            )

    @property
    def cost_variable(self) -> str | None:
        """The variable that the cost names, unless it is a plain measure."""
        return cost_variable(self.cost)

    def with_files_read(self, find: Callable[[str], Path] = Path) -> Suppress:
        """The method with the acceptances, hints and pattern that its files hold."""
        fields = ("accept", "hints", "prefer")
        named = {field: find(name) for field in fields if isinstance(name := getattr(self, field), str)}
        if not named:
            return self
        from discreet.files.cell_lists import read_acceptances, read_hints
        from discreet.files.pattern import read_pattern

        readers: dict[str, Callable[[Path], Any]] = dict(
            zip(fields, (read_acceptances, read_hints, read_pattern), strict=True)
        )
        return replace(self, **{field: readers[field](path) for field, path in named.items()})

    def run(self, system: System, key: Key | None = None) -> TableOutcome:
        """Protect the cells of a system."""
        if self.solver == "scip":
            from discreet.tables.suppress.tree import refuse_without_scip

            refuse_without_scip()
        limits = EffortLimits.of(self.effort, self.time_limit, self._ends_at)
        with limits.watched():
            return self._run(system, limits)

    def as_it_ended(self, programs: int) -> Suppress:
        """The method that stops where a limit struck it or somebody stopped it: after so many linear programs."""
        again = replace(self)
        object.__setattr__(again, "_ends_at", programs)
        return again

    def _run(self, system: System, limits: EffortLimits) -> TableOutcome:
        accept = self._read("accept")
        uncounted = not all(_counted(system))
        whole = self._prepared(system)
        twins = self._twins(whole)
        system, hidden, cost, notes, attackers, unit = self._among_twins(whole, twins)
        least = least_cost(hidden, cost, attackers)
        proposed = self._proposed(hidden, cost, attackers, limits)
        if proposed is not None:
            pattern = proposed.pattern
            notes += proposed.notes()
        else:
            pattern = complete(hidden, cost, attackers, limits, least=least)
        if self.algorithm == "optimal":
            from discreet.tables.suppress.best import improve_to_optimum

            pattern = improve_to_optimum(hidden, cost, attackers, pattern, limits, self.solver)
        pattern = with_least_cost(hidden, cost, pattern, least)
        withheld, stuck = self._with_safe_sums(whole, pattern.withheld, twins)
        failures = classify(system, attackers, pattern.unprotected, stuck)
        as_proposed = None if self.repair else proposed
        if as_proposed is not None:
            failures = as_proposed.left_open(failures)
        left, taken = accepted(system, failures, accept)
        if left:
            error = failures_error(system, left, attackers.insiders)
            raise error if as_proposed is None else as_proposed.short_error(error)
        if taken:
            from discreet.tables.suppress.reasons import with_reasons

            taken = with_reasons(system, attackers, pattern.unprotected, failures, taken)
        certificates, proofs = certificates_and_proofs(system, pattern.families, unit)
        claim = self._claim(
            system,
            attackers,
            fractions=has_fractions(system, certificates),
            uncounted=uncounted,
            accepted=len(taken),
        )
        said = () if proposed is None else proposed.findings(hidden)
        said += against_least(pattern.effort)
        if self.algorithm == "optimal":
            from discreet.tables.suppress.best import beyond_optimum

            before = pattern.withheld if twins is None else pattern.withheld[twins.cell]
            said += (beyond_optimum(pattern.effort, int((withheld & ~before).sum())),)
        evidence = Evidence(
            self.record(), claim, system.decimals, certificates, proofs, pattern.effort, taken, findings=said
        )
        return TableOutcome(withheld, evidence, notes=notes)

    def _claim(self, system: System, attackers: Attackers, *, fractions: bool, uncounted: bool, accepted: int) -> Claim:
        """What is claimed of the pattern, and what is not considered."""
        return suppression_claim(
            attackers.insiders,
            self.known_within,
            universes=len({table.spec.identity[1:] for table in system.tables}) > 1,
            values=len({table.spec.value for table in system.tables}) > 1,
            cycle=has_open_cycle(system.tables),
            counts=any(table.spec.value is None for table in system.tables),
            fractions=fractions,
            unnamed=any(t.holders is None and "holding" in t.contributions for t in system.tables),
            uncounted=uncounted,
            coalitions=attackers.in_pairs,
            unnamed_pairs=any(_unnamed_pairs(table) for table in _seen(system)),
            accepted=accepted,
            already=system.already,
            sums=judged_sums(system.tables.tables[: system.present], self.joint),
        )

    def _with_safe_sums(self, whole: _Prepared, withheld: Bools, twins: Twins | None) -> tuple[Bools, list[Sum]]:
        """The pattern in all value variables, and with more withheld where sums were not safe."""
        system = whole.system
        withheld = withheld if twins is None else withheld[twins.cell]
        if not self.joint:
            return _one_pattern(system, withheld), []
        withheld, stuck = protect_sums(
            system, whole.cost, whole.attackers, withheld, lambda pattern: _one_pattern(system, pattern)
        )
        if twins is not None:
            stuck = [found._replace(cells=tuple(twins.cell[list(found.cells)].tolist())) for found in stuck]
        return withheld, stuck

    def _twins(self, whole: _Prepared) -> Twins | None:
        """The cells with twins as one, where most cells have one.

        Reasons of accepted cells and pairs of contributors are about cells as they stand in the tables.
        """
        if self.algorithm in ENGINES or self.coalitions or self.accept:
            return None
        label = twin_labels(whole.system)
        return with_twins_as_one(whole.system, label) if label.max(initial=-1) < MANY_TWINS * len(label) else None

    def _among_twins(self, whole: _Prepared, twins: Twins | None) -> _Prepared:
        """What is left to be done where twins are one: to withhold a cell costs as much as it does in all places."""
        if twins is None:
            return whole
        system, first = twins.system, twins.first
        cost = np.bincount(twins.cell, whole.cost, len(system)).astype(np.float64)
        hidden = _not_out(system)
        old = whole.attackers
        attackers = Attackers(hidden, old.insiders, self.known_within, old.integral[first], twins.several)
        _know_figures(system, attackers)
        return _Prepared(system, in_finest_cells(hidden), cost, whole.notes, attackers, whole.unit[first])

    def propose(self, system: System) -> Bools:
        """The pattern alone: what an engine proposes as it stands, or the certified one; nothing is claimed of it."""
        if self.algorithm not in ENGINES or self.repair:
            return self.run(system).withheld
        _, hidden, cost, _, attackers, _ = self._prepared(system)
        known = replace(hidden, lower_bound=attackers.lower, upper_bound=attackers.upper)
        found = propose(self.algorithm, known, cost, **self.settings).withheld
        return _one_pattern(system, found | hidden.unsafe | hidden.given)

    def attacked(self, system: System, withheld: Bools) -> Standards:
        """What attackers who know what this method says they do find of a pattern, over all relations."""
        system, _, _, _, attackers, _ = self._prepared(system)
        known = replace(system, lower_bound=attackers.lower, upper_bound=attackers.upper)
        from discreet.tables.engines.standards import standards

        return standards(known, withheld, levels=self.insiders == "full")

    def _prepared(self, system: System) -> _Prepared:
        """Costs, what is left to be hidden, and from whom."""
        hints, prefer = self._read("hints"), self._read("prefer")
        insiders = self.insiders if any(_counted(system)) else None
        system, cost, notes = charge(system, self.cost, self.exponent, hints, prefer, self.prefer_share)
        system, whole, unit = in_whole_counts(system)
        hidden = _not_out(system)
        kind = Attackers
        if self.coalitions and insiders is not None:
            from discreet.tables.suppress.coalitions import Coalitions

            kind = Coalitions
        attackers = kind(hidden, insiders, self.known_within, whole)
        _know_figures(system, attackers)
        return _Prepared(system, hidden, cost, notes, attackers, unit)

    def _proposed(self, system: System, cost: Floats, attackers: Attackers, limits: EffortLimits) -> Proposed | None:
        """What an engine proposes, where one was asked."""
        if self.algorithm not in ENGINES:
            return None
        from discreet.tables.suppress.proposed import propose_pattern

        return propose_pattern(
            system,
            cost,
            attackers,
            self.algorithm,
            self.settings,
            limits=limits,
            repair=self.repair,
        )

    def _read(self, name: str) -> tuple[Mapping[str, Any], ...]:
        """What a parameter says, unless it is a file that nobody has read."""
        given: tuple[Mapping[str, Any], ...] | str = getattr(self, name)
        if isinstance(given, str):
            raise NeedsError(
                f"The file {Path(given).name!r} ({name}=) has not been read.",
                hint="Call ds.protect(table, method), which reads it.",
            )
        return given


class _Prepared(NamedTuple):
    """A system with its costs, the same without what is out already, the attackers, and the step of each cell.

    Amounts of counts are whole numbers of steps; times ``unit`` they are in units of the tables.
    """

    system: System
    hidden: System
    cost: Floats
    notes: tuple[str, ...]
    attackers: Attackers
    unit: Ints


def _not_out(system: System) -> System:
    """What was published before cannot be hidden; it is withheld from these tables and reported."""
    out = system.unsafe & system.known
    return replace(system, unsafe=system.unsafe & ~out, given=system.given | out)


def _counted(system: System) -> list[bool]:
    """For every table that somebody publishes whether it says how many contributors a cell has."""
    return [t.holders is not None or "holding" in t.contributions for t in _seen(system)]


def _seen(system: System) -> list[Table]:
    """Tables that are published now or were before."""
    unseen = sum(earlier.unseen for earlier in system.already.tables)
    return list(system.tables)[: len(system.tables) - unseen]


def _unnamed_pairs(table: Table) -> bool:
    """Whether there are cells with several contributors of whom none is named."""
    if table.holders is None:
        return "holding" in table.contributions
    return bool(((table.holders.count > 1) & (table.holders.identity == NOBODY).all(axis=1)).any())


def _know_figures(system: System, attackers: Attackers) -> None:
    """What everybody knows of cells to within some per cent says nothing of the sums behind figures."""
    attackers.lower = np.where(system.in_tables, attackers.lower, system.lower_bound)
    attackers.upper = np.where(system.in_tables, attackers.upper, system.upper_bound)


def _one_pattern(system: System, withheld: Bools) -> Bools:
    """Withhold the same cells in all value variables, where that was asked."""
    if not system.tables.one_pattern:
        return withheld
    places, size = cell_identities(system.tables, by_value=False)
    hidden = np.zeros(size, np.bool_)
    pairs = list(zip(places, system.of, strict=True))[: system.present]
    for place, cells in pairs:
        hidden[place[withheld[cells]]] = True
    result = withheld.copy()
    for place, cells in pairs:
        result[cells[hidden[place] & ~system.empty[cells]]] = True
    clash = result & system.forced
    if clash.any():
        raise ProtectionError(
            f"Cell {system.cell_name(int(np.argmax(clash)))} must be published but is withheld in another variable.",
            hint="Do not force it, or do not ask for one pattern.",
        )
    return result
