"""The account of plots: what attackers may have learned adds up over requests, whoever asks them."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from discreet.errors import ParameterError, ProtectionError


class ChargedAccount(Protocol):
    """Where plots are charged."""

    def charge(self, request: str, mu_squared: float) -> float:
        """Charge a request, once; what is left. Raises where it does not suffice, and then charges nothing."""


@dataclass
class PlotAccount:
    """An account of plots for one data set (and project): the sum of ``mu`` squared that may be told.

    Parameters
    ----------
    limit
        The most. With 8, an attacker who knows all records but one and may choose between two values for it is
        at worst as well off as somebody who must tell Normal(0, 1) from Normal(2.83, 1) by one draw.

    Examples
    --------
    >>> import discreet as ds
    >>> account = ds.PlotAccount(limit=4)
    >>> account.charge("a histogram", 2.0), account.charge("a histogram", 2.0), account.left
    (2.0, 2.0, 2.0)
    """

    limit: float
    _charged: dict[str, float] = field(default_factory=dict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.limit, bool) or not isinstance(self.limit, int | float) or not 0 < self.limit <= 1e6:
            raise ParameterError(f"limit={self.limit!r} is not allowed.", hint="Give a number above 0 up to 1,000,000.")

    @property
    def left(self) -> float:
        """What may still be charged."""
        return max(0.0, self.limit - sum(self._charged.values()))

    def charge(self, request: str, mu_squared: float) -> float:
        """Charge a request; the same one costs nothing again, for it shows the same numbers.

        Parameters
        ----------
        request
            The request as one text.
        mu_squared
            What it costs.

        Returns
        -------
        float
            What is left.

        Raises
        ------
        ProtectionError
            When it costs more than is left; nothing is charged then.
        """
        with self._lock:
            if request not in self._charged:
                if mu_squared > self.left + 1e-9:
                    raise ProtectionError(
                        f"This plot costs {mu_squared:.3g} of the account, and {self.left:.3g} is left.",
                        hint="Show a plot again that was shown before, or add more noise (noise=).",
                    )
                self._charged[request] = mu_squared
            return self.left
