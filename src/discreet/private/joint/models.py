"""The models that owners fit together, whether all are in one process or each in its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeVar

from discreet.analyse.formulas import ModelFormula
from discreet.errors import ParameterError, listed
from discreet.private.joint.account import whole_records
from discreet.private.joint.design import Levels, own_levels, owner_rows, plain_columns
from discreet.private.joint.fits import JointFit
from discreet.private.joint.loglinear import JointTable, MarginTerms, TableFit, joint_table, log_linear
from discreet.private.joint.newton import NewtonTerms, joint_regression
from discreet.private.joint.safety import RevealLimits
from discreet.private.joint.sums import SumWay, require_owners, require_way
from discreet.private.parties.conversation import plan_of
from discreet.private.parties.digests import digest_of
from discreet.private.parties.rounds import PartyTask

Result = TypeVar("Result", JointFit, JointTable, TableFit)


def agreed_terms(
    owners: Sequence[str], sums: SumWay, limits: RevealLimits | None, scale_bits: int, two_owners: bool = False
) -> NewtonTerms:
    """How owners add up, when it is allowed.

    Raises
    ------
    ProtocolError
        ``too few parties``.
    """
    require_owners(len(set(owners)), two_owners)
    require_way(sums)
    if not 16 <= scale_bits <= 80:
        raise ParameterError(f"scale_bits={scale_bits} is not allowed.", hint="Use 16 to 80.")
    return NewtonTerms(sums, scale_bits, limits=limits or RevealLimits())


class JointModels(ABC):
    """What owners can do together."""

    needs_levels = True
    """Whether codes must be agreed on, or those that all have may be used."""

    def __init__(self, owners: Sequence[str], levels: Levels, terms: NewtonTerms) -> None:
        self.names, self.levels, self._terms = tuple(owners), levels, terms

    def _require_levels(self, columns: Sequence[str]) -> None:
        """Codes are agreed on: those that an owner has are its own business, and a digest of them can be guessed."""
        unknown = [name for name in columns if name not in self.levels]
        if self.needs_levels and unknown:
            raise ParameterError(
                f"There is no agreed coding of {listed(unknown)}.",
                hint="Name all codes in levels=, the reference first.",
            )

    @abstractmethod
    def _run(self, build: Callable[[Any], PartyTask[Result]]) -> Result:
        """Let all owners do what ``build`` makes of the records of each."""

    def linear(self, formula: str, **options: Any) -> JointFit:
        """Least squares; options as for :meth:`logit`."""
        return self._regression("linear", formula, **options)

    def logit(self, formula: str, **options: Any) -> JointFit:
        """Logistic regression by Newton's method.

        Parameters
        ----------
        formula
            As in ``"y ~ x1 + x2"``; coded columns become 0 and 1.
        options
            ``trials`` and ``weights`` name columns; ``tolerance`` and ``most_rounds`` say when to end.
        """
        return self._regression("logit", formula, **options)

    def poisson(self, formula: str, **options: Any) -> JointFit:
        """Poisson regression with logarithmic link; options as for :meth:`logit`."""
        return self._regression("poisson", formula, **options)

    def table(self, variables: Sequence[str], *, count: str | None = None, sparse: bool = False) -> JointTable:
        """Counts of all owners by some variables.

        Parameters
        ----------
        variables
            Coded columns.
        count
            Column with persons in each row.
        sparse
            First find which cells are occupied by anybody, then add up only those.
        """
        terms = self._margin_terms
        self._require_levels(variables)
        return self._run(lambda data: joint_table(self.names, data, variables, count, self.levels, terms, sparse))

    def loglinear(
        self, generators: Sequence[Sequence[str]], *, count: str | None = None, cycles: int | None = None
    ) -> TableFit:
        """A log-linear model from its margins, by iterative proportional fitting.

        Parameters
        ----------
        generators
            Margins, as in ``[["a", "b"], ["b", "c"]]``.
        count
            Column with persons in each row.
        cycles
            How many; until nothing moves when left out.
        """
        terms = self._margin_terms
        self._require_levels(sorted({name for one in generators for name in one}))
        return self._run(lambda data: log_linear(self.names, data, generators, count, self.levels, terms, cycles))

    def _regression(
        self, model: str, formula: str, *, trials: str | None = None, weights: str | None = None, **options: Any
    ) -> JointFit:
        unknown = options.keys() - {"tolerance", "most_rounds"}
        if unknown:
            raise ParameterError(
                f"{sorted(unknown)[0]!r} is no option of a model.",
                hint="There are trials, weights, tolerance and most_rounds.",
            )
        terms = replace(self._terms, **options)
        text = f"{model}: {formula}"

        def build(data: Any) -> PartyTask[JointFit]:
            self._require_levels(list(own_levels(ModelFormula.read(text), data, self.levels)))
            return regression_task(self.names, text, data, self.levels, terms, trials=trials, weights=weights)

        return self._run(build)

    @property
    def _margin_terms(self) -> MarginTerms:
        return MarginTerms(self._terms.sums, self._terms.scale_bits, self._terms.limits)


def regression_task(
    owners: Sequence[str],
    formula: str,
    data: Any,
    levels: Levels,
    terms: NewtonTerms,
    *,
    trials: str | None = None,
    weights: str | None = None,
) -> PartyTask[JointFit]:
    """What an owner agrees on with others, and what it does then."""
    model = ModelFormula.read(formula)
    found = own_levels(model, data, levels)
    rows = owner_rows(model, data, found, trials, weights)
    agreed = {
        "formula": str(model),
        "trials": trials,
        "weights": weights,
        "columns": rows.names,
        **{f"coding of {name!r}": codes for name, codes in found.items()},
        **{name.replace("_", " "): value for name, value in asdict(terms).items()},
    }
    plan = plan_of("joint regression 1", owners, agreed)
    digest = digest_of([rows.X, rows.y, rows.trials, rows.weights])
    names = list(dict.fromkeys([*model.columns, *(name for name in (trials, weights) if name is not None)]))
    return PartyTask(
        plan,
        lambda desk: joint_regression(desk, model, rows, terms),
        digest,
        lambda: whole_records(plain_columns(data, names)),
    )
