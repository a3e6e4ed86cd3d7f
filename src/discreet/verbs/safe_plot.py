"""Records to a plot that is safe to show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.engine.protocol import columns_of, refuse_left_out
from discreet.errors import NeedsError, ParameterError
from discreet.files.frames import coordinates
from discreet.keys import Key, find_key
from discreet.model.condition import parse_conditions
from discreet.model.microdata import Microdata
from discreet.report.safe_plots.publishing import publish
from discreet.report.safe_plots.request import PROTECTED, PlotKind, plot_request
from discreet.watching import watched

if TYPE_CHECKING:
    from discreet.model.condition import Condition
    from discreet.model.microdata import Names
    from discreet.report.safe_plots.account import ChargedAccount
    from discreet.report.safe_plots.result import SafePlot


@watched
def safe_plot(
    data: Microdata | Any,
    variables: Names,
    kind: PlotKind = "histogram",
    *,
    limits: Any = None,
    width: float | Sequence[float] | Literal["protected"] = PROTECTED,
    local: float = 0.0,
    points: int | None = None,
    trim: int = 0,
    smooth: int = 5,
    levels: int | Sequence[float] | None = None,
    noise: float = 1.0,
    log: bool = False,
    where: str | Sequence[str | Condition] | None = None,
    weight: str | None = None,
    largest_weight: float | None = None,
    missing: Literal["refuse", "drop"] = "refuse",
    key: Key | str | Path | None = None,
    version: str = "",
    account: ChargedAccount | None = None,
    show_records: bool = False,
) -> SafePlot:
    """Draw confidential numbers so that nobody who knows all records but one can read the missing one from it.

    Noise is added to what is drawn, as much as one record can change it; the same request of the same records with the
    same key gives the same noise. Compared to what a sample leaves open it is small from some hundred records on.

    Parameters
    ----------
    data
        Records, a data frame, or the path of a file.
    variables
        The variable that is drawn; two for ``"density2d"`` and ``"contours"``.
    kind
        ``"histogram"``, ``"density"``, ``"density2d"``, ``"contours"``, or ``"box"``: quantiles with their bands.
    limits
        Lowest and highest value of the axis, one pair a variable. They must come from what is known without the data:
        smallest and largest records are never looked at.
    width
        Width of bins, or bandwidth of kernels; one a variable. ``"protected"`` works it out of a histogram that has
        noise itself, which is charged as another plot.
    local
        Where above 0, every record has a bandwidth of its own: so many times the distance to its nearest neighbour,
        and at least ``width``. Outliers are drawn flat, and much more noise is needed.
    points
        Points of the grid; 201, or 101 each way, where left out.
    trim
        How many of the largest contributions are left out at each point of a density.
    smooth
        How often each point of a density is averaged with its neighbours after the noise.
    levels
        Number of classes of contours, or the shares of the whole that their lines enclose; 10 where left out.
    noise
        How many times the least noise is added: 1 or more.
    log
        Whether axes are logarithmic.
    where
        Conditions such as ``"age >= 18"``: which records are drawn.
    weight
        Column of weights, by which records count.
    largest_weight
        The largest weight that the design can have, beside ``weight``: noise is made for it.
    missing
        ``"refuse"`` records without a number, or ``"drop"`` them.
    key
        The secret of the noise, or its file; that of the environment, or a new one, where left out. A new key gives new
        noise: whoever gets two plots of the same can take their mean.
    version
        Which version of the data this is.
    account
        What is charged; see :class:`discreet.PlotAccount`.
    show_records
        Whether the number of records may be told.

    Returns
    -------
    SafePlot
        Numbers with their bands, what attackers have, and the drawing.

    Raises
    ------
    ProtectionError
        When there are fewer than 10 records, all have the same value, or the account does not suffice.

    Examples
    --------
    >>> import discreet as ds, numpy as np, pyarrow as pa
    >>> pay = pa.table({"pay": np.random.default_rng(1).lognormal(8, 0.5, 5000)})
    >>> account = ds.PlotAccount(limit=10)
    >>> plot = ds.safe_plot(
    ...     pay, "pay", "density", limits=(0, 12000), width=400, key=ds.Key.from_seed(1), account=account
    ... )
    >>> len(plot.values), round(plot.mu, 2), round(account.left, 2)
    (201, 1.41, 8.0)
    """
    if missing not in ("refuse", "drop"):
        raise ParameterError(f"missing={missing!r} is not allowed.", hint="Give 'refuse' or 'drop'.")
    records = data if isinstance(data, Microdata) else Microdata(Path(data) if isinstance(data, str) else data)
    _refuse_weight(records, weight, largest_weight)
    request = plot_request(
        kind,
        variables,
        limits,
        width=width,
        local=local,
        points=points,
        trim=trim,
        smooth=smooth,
        levels=levels,
        noise=noise,
        log=log,
        weighted=weight,
        largest_weight=1.0 if largest_weight is None else float(largest_weight),
    )
    refuse_left_out(records)
    wanted = [*request.variables, *(() if weight is None else (weight,))]
    table = columns_of(records, wanted, where=parse_conditions(where))
    return publish(
        request,
        np.column_stack([coordinates(table, name) for name in request.variables]),
        None if weight is None else coordinates(table, weight),
        key if isinstance(key, Key) else find_key(None if key is None else str(key), None),
        version=version,
        account=account,
        show_records=show_records,
        allow_gaps=missing == "drop",
    )


def _refuse_weight(data: Microdata, weight: str | None, largest: float | None) -> None:
    """Weights are used as they are asked for, never left aside in silence."""
    if data.weight is not None and weight is None:
        raise NeedsError(
            f"The records have weights {data.weight!r}, and the plot would leave them aside.",
            hint=f"Give weight={data.weight!r} and largest_weight=, or records without that role.",
        )
    if (weight is None) != (largest is None):
        raise NeedsError(
            "A plot by weights needs weight= and largest_weight=.",
            hint="Give the largest weight that the design can have, not that of the data: noise is made for it.",
        )
