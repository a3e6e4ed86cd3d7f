"""What owners check before something is revealed: rows, small cells, leverage; columns that depend on each other.

An owner that refuses sends nothing more, and without its part nobody can open the sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, listed
from discreet.private.joint.design import OwnerRows
from discreet.private.problems import ProtocolError


@dataclass(frozen=True)
class RevealLimits:
    """What may be revealed.

    Parameters
    ----------
    min_cell
        Persons in every cell that matrices of a model show, unless it is empty.
    min_freedom
        Degrees of freedom that a model leaves at least.
    most_leverage
        Largest share that one person may have in its own fitted value.
    most_own_leverage
        Largest share that fewer than ``min_cell`` persons may have in any sum of squares over the columns, among the
        records of their owner alone; 1 does not look.
    most_opened
        Numbers that all sums of a model may open, for each value (persons times columns) that they are of.
    """

    min_cell: int = 3
    min_freedom: int = 10
    most_leverage: float = 0.5
    most_opened: float = 0.5
    most_own_leverage: float = 0.75

    def __post_init__(self) -> None:
        shares = (self.most_leverage, self.most_opened, self.most_own_leverage)
        if not 1 <= self.min_cell <= 100 or self.min_freedom < 1 or not all(0 < one <= 1 for one in shares):
            raise ParameterError(
                "Limits of what is revealed are not allowed.",
                hint="Use min_cell from 1 to 100, min_freedom from 1 on, and shares above 0 up to 1.",
            )


def require_enough_rows(rows: OwnerRows, me: str) -> None:
    """Refuse for an owner whose records are so few that its sums would show them."""
    if rows.trials.sum() <= len(rows.names):
        raise ProtocolError(
            "not safe to reveal",
            f"{me} has no more persons than the model has columns ({len(rows.names)}).",
            hint="Use a smaller model, or leave this owner out before anything is opened.",
        )


def shown_cells(rows: OwnerRows, binary_outcome: bool) -> NDArray[np.float64]:
    """Persons of an owner in the cells that sums of products show."""
    return np.concatenate([part.ravel() for part in _cells(rows, binary_outcome)])


def require_freedom(persons: float, columns: int, limits: RevealLimits) -> None:
    """Stop before sums are opened that leave too few degrees of freedom."""
    if persons < columns + limits.min_freedom:
        raise ProtocolError(
            "not safe to reveal",
            f"{columns} columns leave fewer than {limits.min_freedom} degrees of freedom.",
            hint="Use a smaller model.",
        )


def require_no_small(small: int, limits: RevealLimits) -> None:
    """Stop before sums are opened that would show small cells.

    Raises
    ------
    ProtocolError
        ``not safe to reveal``.
    """
    if small:
        raise ProtocolError(
            "not safe to reveal",
            f"Sums would show cells of fewer than {limits.min_cell} persons, of all owners or of all but one.",
            hint="Put codes together, or leave out columns.",
        )


def require_few_opened(opened: int, persons: float, columns: int, limits: RevealLimits) -> None:
    """Stop when matrices of many steps together would be nearly as many numbers as the records have."""
    if opened > limits.most_opened * persons * columns:
        raise ProtocolError(
            "not safe to reveal",
            f"{opened:,} numbers would be opened, more than {limits.most_opened:g} for each value of the records.",
            hint="Use a smaller model, or allow fewer steps.",
        )


def _cells(rows: OwnerRows, binary_outcome: bool) -> list[NDArray[np.float64]]:
    """Persons by pairs of columns that are not 0, with complements where columns are 0 or 1, and by outcome."""
    Z = (rows.X != 0).astype(np.float64)
    persons = rows.trials
    both = (Z * persons[:, None]).T @ Z
    flags = np.flatnonzero(rows.dummies)
    total, single = persons.sum(), np.diag(both)
    inner = both[np.ix_(flags, flags)]
    one = single[flags]
    upper = np.triu_indices(len(rows.names))
    pairs = np.triu_indices(len(flags))
    neither = total - one[:, None] - one[None, :] + inner
    found = [both[upper], one[:, None] - inner, neither[pairs]]
    if binary_outcome:
        success, failure = Z.T @ rows.y, Z.T @ (persons - rows.y)
        found += [success, failure, rows.y.sum() - success[flags], (persons - rows.y).sum() - failure[flags]]
    return found


def require_independent(gram: NDArray[np.float64], names: tuple[str, ...]) -> None:
    """Refuse columns of which some are sums of others in the pooled records; say which.

    Raises
    ------
    ProtocolError
        ``collinear columns``.
    """
    from scipy.linalg import qr

    sizes = np.sqrt(np.diag(gram))
    empty = [name for name, size in zip(names, sizes, strict=True) if size == 0]
    if empty:
        raise ProtocolError(
            "collinear columns", f"All records have 0 in {listed(empty)}.", hint="Leave these columns out."
        )
    scaled = gram / np.outer(sizes, sizes)
    values, vectors = np.linalg.eigh(scaled)
    null = vectors[:, values < 1e-10]
    if null.size:
        _, _, order = qr(null.T, pivoting=True)
        first = [names[k] for k in order[: null.shape[1]]]
        among = [name for name, size in zip(names, np.abs(null).max(axis=1), strict=True) if size > 1e-4]
        raise ProtocolError(
            "collinear columns",
            f"Columns {listed(among)} depend on each other.",
            hint=f"Leave out {listed(first)}.",
        )


def require_low_leverage(rows: OwnerRows, gram: NDArray[np.float64], limits: RevealLimits, me: str) -> None:
    """Refuse for an owner with a person that nearly determines its own fitted value."""
    leverage = np.einsum("ij,ij->i", rows.X @ np.linalg.inv(gram), rows.X) * rows.weights
    if leverage.max(initial=0.0) > limits.most_leverage:
        raise ProtocolError(
            "not safe to reveal",
            f"{me} has a person with a leverage above {limits.most_leverage:g}.",
            hint="Recode extreme values, or use a smaller model.",
        )
