"""The cut loop inside one tree: SCIP branches, and every point that it finds is cut off where attackers see through it.

HiGHS has no lazy constraints, so that its loop starts an integer program anew for each round of cuts. Here the first
relaxation is the same; then one tree is searched, to which a constraint handler adds cuts as it goes.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from discreet.errors import missing_extra
from discreet.model.arrays import Bools, Floats
from discreet.tables.suppress.cuts import Cut
from discreet.tables.suppress.master import SAFE
from discreet.tables.suppress.search import PatternSearch

FROM_A_POINT = 30
"""Cuts from so many demands are enough to move on from a point."""
SEPARATED = 5
"""Fractional points are cut off in every so many levels of the tree."""
TRIED = 10
"""Patterns are made of fractional points in every so many levels of the tree."""
OPTIONS: dict[str, Any] = {
    "display/verblevel": 0,
    "misc/usesymmetry": 0,
    # Cuts that are not known yet would not be respected by reductions that look at the objective.
    "misc/allowstrongdualreds": False,
    "misc/allowweakdualreds": False,
    "presolving/maxrestarts": 0,
    "parallel/maxnthreads": 1,
}


def refuse_without_scip() -> None:
    """An error with the install command where the package is not there."""
    if find_spec("pyscipopt") is None:
        raise missing_extra("pyscipopt", "scip", "solver='scip'")


def _package() -> Any:
    """The package, whose types are not complete."""
    return import_module("pyscipopt")


class TreeSearch(PatternSearch):
    """The search with the tree of SCIP."""

    def _search_tree(self, nodes: int) -> None:
        _Tree(self).run(nodes)


class _Tree:
    """The 0-1 program over the cells that are not settled, and what its callbacks do."""

    def __init__(self, search: PatternSearch) -> None:
        self.search = search
        self.free = np.flatnonzero(search.master.free)
        self.error: BaseException | None = None
        self._seen, self._missed, self._reasons = b"", False, list[Cut]()
        self.scip = _package()
        self.model = model = self.scip.Model()
        model.setParams(OPTIONS)
        cost = search.master.cost
        self.cells = {cell: model.addVar(vtype="B", obj=float(cost[cell])) for cell in self.free.tolist()}
        self.constant = float(cost @ search.master.lower)
        for cut in search.master.cuts:
            self.add(cut)
        # Cuts may be wrong for patterns that are not cheaper than the best one.
        model.setObjlimit(search.cutoff * (1 - SAFE / 2) - self.constant)

    def run(self, nodes: int) -> None:
        """Search, and tell the search what was proved."""
        search, model = self.search, self.model
        model.includeConshdlr(
            _handler(self),
            "levels",
            "every demand is met",
            enfopriority=-1,
            chckpriority=-1,
            sepapriority=0,
            sepafreq=SEPARATED,
            eagerfreq=-1,
            needscons=False,
            proptiming=self.scip.SCIP_PROPTIMING.BEFORELP,
        )
        model.includeHeur(
            _completion(self),
            "completion",
            "patterns made of points",
            "c",
            freq=TRIED,
            timingmask=self.scip.SCIP_HEURTIMING.AFTERLPNODE,
        )
        model.setParam("limits/nodes", nodes)
        seconds = search.limits.seconds()
        if seconds is not None:
            model.setParam("limits/time", max(seconds, 0.0))
        if search.limits.gap:
            model.setParam("limits/gap", search.limits.gap)
        model.optimize()
        if self.error is not None:
            raise self.error
        search.effort["nodes"] += int(model.getNTotalNodes())
        done = model.getStatus() in ("optimal", "infeasible")
        # Where nothing is left in the tree, nothing is cheaper than the best pattern.
        bound = np.inf if done else float(model.getDualbound()) + self.constant
        search.claim(bound * (1 - SAFE / 2) if np.isfinite(bound) else bound)

    def add(self, cut: Cut) -> bool:
        """Take a cut in; what settled cells give counts as given."""
        lower = self.search.master.lower
        right = cut.right - float(cut.coefficient @ lower[cut.cell])
        terms = [
            (self.cells[c], w)
            for c, w in zip(cut.cell.tolist(), cut.coefficient.tolist(), strict=True)
            if c in self.cells
        ]
        if right <= sum(min(w, 0.0) for _, w in terms) or not terms:
            return False
        self.model.addCons(self.scip.quicksum(w * variable for variable, w in terms) >= right)
        return True

    def point(self, solution: Any) -> Floats:
        """A solution as shares of all cells."""
        x = self.search.master.lower.copy()
        for cell, variable in self.cells.items():
            x[cell] = min(max(self.model.getSolVal(solution, variable), 0.0), 1.0)
        return x

    def missed(self, pattern: Bools) -> bool:
        """Whether a pattern misses a demand; one that does not, and is the cheapest, is remembered."""
        search = self.search
        if self._seen != pattern.tobytes():
            search.patterns.found = []
            self._missed = bool(search.patterns.missed(search.demands, pattern))
            self._seen, self._reasons = pattern.tobytes(), search.patterns.found
            if not self._missed and search.cost[pattern].sum() < search.cost[search.best].sum():
                search.best = pattern
        return self._missed

    def cut_off(self, x: Floats) -> int:
        """Add cuts that a point violates; says how many."""
        search, added, asked = self.search, 0, 0
        point, reached = x * search.master.upper, np.zeros(len(search.attackers.demands), np.bool_)
        for k in search.demands:
            if search.over() or asked >= FROM_A_POINT:
                break
            if reached[k]:
                continue
            cuts = search.violated(k, point, x, reached)
            asked += bool(cuts)
            added += self._take(cuts)
        return added

    def cut_off_pattern(self, pattern: Bools) -> bool:
        """Add cuts against a pattern that misses a demand; if need be, that something else must be withheld.

        Says whether there was one. There is none where nothing is left that could be withheld.
        """
        if self._take(self._reasons) or self.cut_off(pattern.astype(np.float64)):
            return True
        others = self.free[~pattern[self.free]]
        return self.add(Cut(others, np.ones(len(others))))

    def _take(self, cuts: list[Cut]) -> int:
        """Take in cuts that are not known; says how many."""
        master = self.search.master
        fresh = master.add(cuts)
        return sum(self.add(cut) for cut in master.cuts[len(master.cuts) - fresh :])

    def guarded(self, answer: Any, otherwise: Any) -> Any:
        """What a callback gives; an error stops the solver, which would not pass it on, and is raised afterwards."""
        try:
            return answer()
        except BaseException as error:
            self.error = self.error or error
            self.model.interruptSolve()
            return otherwise


def _handler(tree: _Tree) -> Any:
    result = tree.scip.SCIP_RESULT
    feasible, infeasible = {"result": result.FEASIBLE}, {"result": result.INFEASIBLE}

    base: Any = tree.scip.Conshdlr

    class Handler(base):  # type: ignore[misc]
        """Asks of every pattern whether attackers see through it."""

        def _pattern(self, solution: Any) -> Bools:
            found: Bools = tree.point(solution) > 0.5
            return found

        def _enforced(self) -> Any:
            pattern = self._pattern(None)
            if not tree.missed(pattern):
                return feasible
            return {"result": result.CONSADDED if tree.cut_off_pattern(pattern) else result.CUTOFF}

        def conscheck(self, constraints: Any, solution: Any, *rest: Any) -> Any:
            return tree.guarded(lambda: infeasible if tree.missed(self._pattern(solution)) else feasible, infeasible)

        def consenfolp(self, constraints: Any, n_useful: int, infeasible_now: bool) -> Any:
            return tree.guarded(self._enforced, infeasible)

        def consenfops(self, constraints: Any, n_useful: int, infeasible_now: bool, objinfeasible: bool) -> Any:
            return tree.guarded(self._enforced, infeasible)

        def conssepalp(self, constraints: Any, n_useful: int) -> Any:
            nothing = {"result": result.DIDNOTFIND}
            added = tree.guarded(lambda: tree.cut_off(tree.point(None)), 0)
            return {"result": result.CONSADDED} if added else nothing

        def conslock(self, constraint: Any, locktype: Any, nlockspos: int, nlocksneg: int) -> None:
            """Publishing a cell can break a demand, withholding one cannot."""
            for variable in tree.cells.values():
                tree.model.addVarLocksType(tree.model.getTransformedVar(variable), locktype, nlockspos, nlocksneg)

    return Handler()


def _completion(tree: _Tree) -> Any:
    result = tree.scip.SCIP_RESULT

    base: Any = tree.scip.Heur

    class Completion(base):  # type: ignore[misc]
        """Makes patterns of fractional points."""

        def _run(self) -> bool:
            search, x = tree.search, tree.point(None)
            before = search.best
            search.propose(x > 0.5, x)
            if search.best is before:
                return False
            solution = tree.model.createSol(self)
            for cell, variable in tree.cells.items():
                tree.model.setSolVal(solution, variable, float(search.best[cell]))
            return bool(tree.model.trySol(solution))

        def heurexec(self, heurtiming: Any, nodeinfeasible: bool) -> Any:
            found = tree.guarded(self._run, False)
            return {"result": result.FOUNDSOL if found else result.DIDNOTFIND}

    return Completion()
