"""What a comparison measures besides where it is asked to: the fair comparison, and measures of ``ds.utility``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.comparison.fair import FAIR, FairRisk, Inner, fair_columns
from discreet.comparison.measured import COLUMNS
from discreet.comparison.utility import finest_measures
from discreet.comparison.utility_axes import TURNED, losses
from discreet.errors import DiscreetError, InputError, NeedsError, ParameterError, unknown_name
from discreet.measures.imputation import Imputation
from discreet.model.release import Release
from discreet.model.tableset import TableSet
from discreet.relations import System
from discreet.report.riskmap import Axis


@dataclass(frozen=True, eq=False)
class Extra:
    """Measures that are asked for, with what they need of the tables."""

    inner: Inner | None
    utility: tuple[str, ...]
    imputation: Imputation | None
    rows: str | None

    @classmethod
    def of(
        cls,
        tables: TableSet,
        fair: FairRisk | str | None,
        utility: tuple[str, ...],
        imputation: Imputation | None,
        rows: str | None,
    ) -> Extra:
        """What is asked for; refused where the tables cannot have it."""
        variables = list(dict.fromkeys(name for table in tables for name in table.variables))
        if rows is not None and rows not in variables:
            raise ParameterError(unknown_name("variable", rows, variables, "the tables"))
        risk = FairRisk(fair) if isinstance(fair, str) else fair
        return cls(None if risk is None else Inner.of(tables, risk), utility, imputation, rows)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """All measures of the comparison, those that everybody gets first."""
        besides = [column.axis for column in FAIR] if self.inner is not None else []
        besides += [TURNED[name].axis for name in self.utility]
        return (*(column.axis for column in COLUMNS), *besides)

    def measured(self, release: Release, system: System) -> dict[str, Any]:
        """The measures of a release, and a note where some cannot be taken of it."""
        row: dict[str, Any] = {}
        notes = []
        if self.inner is not None:
            try:
                fair = self.inner.compared(release, system)
                row |= fair_columns(fair)
                if fair.risk.nothing and fair.self_risk.nothing:
                    notes.append("nobody can be guessed for certain before or after, so that fair_risk 0 says little")
            except (InputError, NeedsError) as error:
                notes.append(f"no fair comparison: {_said(error)}")
        if self.utility:
            try:
                row |= losses(self.utility, finest_measures(release, self.imputation, self.rows))
            except (ParameterError, InputError, NeedsError) as error:
                notes.append(f"no measures of utility: {_said(error)}")
        return row | {"note": "; ".join(notes)}


def _said(error: DiscreetError) -> str:
    return f"{error.message} {error.hint}" if getattr(error, "hint", None) else error.message
