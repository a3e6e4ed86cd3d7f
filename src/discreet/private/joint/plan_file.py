"""A plan in a file, which all owners have: who takes part, which model, which codes; and what each does with it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import msgspec

from discreet.errors import InputError, ParameterError
from discreet.private.joint.fits import JointFit
from discreet.private.joint.loglinear import JointTable, TableFit
from discreet.private.joint.safety import RevealLimits
from discreet.private.joint.simulation import join_as
from discreet.private.joint.sums import SumWay
from discreet.private.joint.vertical import DEALER, VerticalTerms, join_columns_as
from discreet.private.parties.places import MeetingPlace
from discreet.trust.private_folder import read_bounded

LARGEST_PLAN = 1_000_000
ModelName = Literal["linear", "logit", "poisson", "table", "loglinear", "columns"]


class JointPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all owners agree on before they begin; every owner has the same file.

    Parameters
    ----------
    version
        Of such files: 1.
    owners
        Their names, as their certificates have them.
    model
        ``linear``, ``logit``, ``poisson``, ``table``, ``loglinear``, or ``columns`` for two owners of the same persons.
    formula, trials, weights
        Of regressions.
    variables, sparse, generators, count
        Of tables and log-linear models.
    columns, outcome, match
        Of ``columns``: columns of each owner, the one to be explained, and the one with identifiers.
    levels
        Codes of coded columns, the reference first.
    sums, scale_bits, limits
        As in :func:`discreet.private.join`.
    accounts
        Whether every owner keeps account of its models; ``false`` is for tries with made-up records.

    Examples
    --------
    >>> import discreet as ds
    >>> ds.private.JointPlan(1, ("A", "B", "C"), "logit", "y ~ x").parties
    ('A', 'B', 'C')
    """

    version: Literal[1]
    owners: tuple[str, ...]
    model: ModelName
    formula: str = ""
    trials: str | None = None
    weights: str | None = None
    variables: tuple[str, ...] = ()
    sparse: bool = False
    generators: tuple[tuple[str, ...], ...] = ()
    count: str | None = None
    columns: dict[str, tuple[str, ...]] = {}
    outcome: str = ""
    match: str = ""
    levels: dict[str, tuple[str, ...]] = {}
    sums: SumWay = "shares"
    scale_bits: int = 40
    limits: dict[str, float] = {}
    accounts: bool = True

    @classmethod
    def read(cls, file: str | Path) -> JointPlan:
        """Read a plan.

        Raises
        ------
        InputError
            When it is none, or has keys that there are not.
        """
        text = read_bounded(Path(file), "plan", LARGEST_PLAN)
        try:
            return msgspec.convert(tomllib.loads(text.decode()), type=cls, strict=True)
        except (msgspec.ValidationError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"The plan {Path(file).name!r} cannot be read: {str(error).splitlines()[0]}.",
                hint="Give a TOML file with version = 1, owners and model.",
            ) from None

    @property
    def parties(self) -> tuple[str, ...]:
        """All who take part: the owners, and the dealer where there is one."""
        return (*self.columns, DEALER) if self.model == "columns" else self.owners

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns that are read as text, so that codes like 01 stay what they are."""
        return (*self.levels, *([self.match] if self.match else []))

    @property
    def reveal_limits(self) -> RevealLimits:
        """What may be revealed."""
        known = {one.name for one in fields(RevealLimits)}
        if self.limits.keys() - known:
            raise ParameterError(
                "The plan has other limits than there are.", hint=f"There are {', '.join(sorted(known))}."
            )
        whole = {name: int(value) if name.startswith("min_") else value for name, value in self.limits.items()}
        return RevealLimits(**whole)  # type: ignore[arg-type]

    def run_as(
        self, me: str, data: Any, place: MeetingPlace, account: str | Path | None = None
    ) -> JointFit | JointTable | TableFit | None:
        """Do one party's part of the plan; ``account`` as in :func:`discreet.private.join_as`."""
        if self.model == "columns":
            terms = VerticalTerms(self.columns, self.outcome, self.reveal_limits, self.scale_bits)
            return join_columns_as(
                me, data, terms, place, match=self.match, account=account, without_account=not self.accounts
            )
        here = join_as(
            me,
            data,
            self.owners,
            place,
            levels=self.levels,
            sums=self.sums,
            limits=self.reveal_limits,
            scale_bits=self.scale_bits,
            account=account,
            without_account=not self.accounts,
        )
        if self.model == "table":
            return here.table(self.variables, count=self.count, sparse=self.sparse)
        if self.model == "loglinear":
            return here.loglinear(self.generators, count=self.count)
        options: Mapping[str, Any] = {"trials": self.trials, "weights": self.weights}
        fit = {"linear": here.linear, "logit": here.logit, "poisson": here.poisson}[self.model]
        return fit(self.formula, **options)
