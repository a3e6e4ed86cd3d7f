"""What comes out of a joint model: coefficients and what is needed to judge them, for all owners alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.private.joint.account import NO_ACCOUNTS
from discreet.private.retrieval.frames import Transcript

OWN_ROWS = "rows of the owners: patterns that owners share count once for each, so this also tests whether owners agree"
PERSONS = "persons: no test of fit"


@dataclass(frozen=True)
class JointFit:
    """A model of the records of all owners, which nobody has seen together.

    Parameters
    ----------
    formula
        The model.
    columns
        Its columns, the intercept first.
    coefficients, covariance
        Estimates, and their covariance matrix.
    persons
        How many.
    loglik, null_loglik
        Of the model, and of its intercept alone.
    deviance, pearson
        Of the model.
    freedom
        Residual degrees of freedom, in rows of owners.
    basis
        What deviance and Pearson's statistic are summed over.
    sigma
        Residual standard deviation of a linear model; otherwise 1.
    rounds
        Newton steps.
    opened
        What was revealed to all owners, in order, and how many numbers it has.
    accounts
        Whether owners keep account of their models, so that two of them cannot show what changed between them.
    transcript
        Messages, where all owners were in one process.
    """

    formula: str
    columns: tuple[str, ...]
    coefficients: NDArray[np.float64]
    covariance: NDArray[np.float64]
    persons: int
    loglik: float
    null_loglik: float
    deviance: float
    pearson: float
    freedom: int
    basis: str
    sigma: float
    rounds: int
    opened: tuple[tuple[str, int], ...]
    accounts: str = NO_ACCOUNTS
    transcript: Transcript | None = field(default=None, repr=False, compare=False)

    @property
    def standard_errors(self) -> NDArray[np.float64]:
        """Of the coefficients."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def z(self) -> NDArray[np.float64]:
        """Coefficients over their standard errors."""
        return self.coefficients / self.standard_errors

    @property
    def p_values(self) -> NDArray[np.float64]:
        """Two-sided; by the t distribution for linear models, otherwise by the normal one."""
        from scipy.stats import norm, t

        tail = t(self.freedom).sf if self.formula_is_linear else norm.sf
        return np.asarray(2 * tail(np.abs(self.z)), dtype=np.float64)

    @property
    def formula_is_linear(self) -> bool:
        """Whether this is a linear model."""
        return not self.formula.startswith(("logit:", "poisson:"))

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return 2 * (len(self.columns) + self.formula_is_linear) - 2 * self.loglik

    @property
    def likelihood_ratio(self) -> tuple[float, int, float]:
        """Against the intercept alone: statistic, degrees of freedom, p-value."""
        return likelihood_ratio(2 * (self.loglik - self.null_loglik), len(self.columns) - 1)

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "formula": self.formula,
            "columns": list(self.columns),
            "coefficients": self.coefficients.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "covariance": self.covariance.tolist(),
            "persons": self.persons,
            "loglik": self.loglik,
            "null_loglik": self.null_loglik,
            "deviance": self.deviance,
            "pearson": self.pearson,
            "freedom": self.freedom,
            "basis": self.basis,
            "sigma": self.sigma,
            "rounds": self.rounds,
            "opened": [list(one) for one in self.opened],
            "accounts": self.accounts,
        }

    def summary(self) -> str:
        """Table of coefficients, measures of fit, and what was opened."""
        width = max(len(name) for name in self.columns)
        lines = [self.formula, f"{'':{width}}  estimate     s.e.        z        p"]
        for name, b, se, z, p in zip(
            self.columns, self.coefficients, self.standard_errors, self.z, self.p_values, strict=True
        ):
            lines.append(f"{name:{width}}  {b: .6g}  {se:.6g}  {z: .3f}  {p:.4f}")
        statistic, freedom, p = self.likelihood_ratio
        lines += [
            f"{self.persons:,} persons; log-likelihood {self.loglik:.6f}; AIC {self.aic:.2f}; {self.rounds} steps",
            f"Against the intercept alone: {statistic:.4f} on {freedom} d.f., p = {p:.4f}",
            f"Deviance {self.deviance:.6f}, Pearson {self.pearson:.6f} on {self.freedom} d.f., over {self.basis}",
            f"Opened to all owners: {sum(count for _, count in self.opened):,} numbers in {len(self.opened)} sums",
            f"Accounts: {self.accounts}",
        ]
        return "\n".join(lines)


def likelihood_ratio(statistic: float, freedom: int) -> tuple[float, int, float]:
    """A statistic with its degrees of freedom and p-value; a large one says that the larger model is needed."""
    from scipy.stats import chi2

    return statistic, freedom, float(chi2.sf(max(statistic, 0.0), freedom)) if freedom else 1.0
