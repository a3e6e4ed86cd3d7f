"""From records to a plot: numbers, a charge, noise by key, smoothing."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace

import numpy as np

from discreet.errors import InputError, ParameterError, ProtectionError, counted
from discreet.keys import Key
from discreet.model.arrays import Floats
from discreet.report.safe_plots.account import ChargedAccount
from discreet.report.safe_plots.curves import bin_counts, bin_edges, grid_of, in_order, kernel_sums
from discreet.report.safe_plots.influence import Influence, bins_influence, kernels_influence, smoothed
from discreet.report.safe_plots.request import BOX_BINS, FLAT, PlotRequest
from discreet.report.safe_plots.result import SafePlot
from discreet.report.safe_plots.summaries import mass_classes, protected_quantiles

FEWEST = 10
"""Fewer records are not drawn."""
LATTICE = 2.0**-10
"""Numbers are shown in such parts of the noise (a power of two): finer digits would tell how they were drawn."""
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
LEAST_BINS, MOST_AUTO = 5, 200


def publish(
    request: PlotRequest,
    values: Floats,
    weights: Floats | None,
    key: Key,
    *,
    version: str = "",
    account: ChargedAccount | None = None,
    show_records: bool = False,
    allow_gaps: bool = False,
) -> SafePlot:
    """Draw a request from records.

    Parameters
    ----------
    request
        What is drawn.
    values
        One row a record, one column a variable.
    weights
        Weights of records, where the request is weighted.
    key
        The secret of the noise.
    version
        Which version of the data this is.
    account
        What is charged before anything is shown.
    show_records
        Whether the number of records may be told.
    allow_gaps
        Whether records without a number are left out.
    """
    values, weights = in_order(*_usable(request, values, weights, allow_gaps))
    mu_squared = cost(request)
    content = records_mark(values, weights)
    mark = hashlib.sha256(f"{version}\n{request.canonical}\n".encode() + content).hexdigest()
    left = None if account is None else account.charge(mark, mu_squared)
    noise = _Noise(key, request.canonical.encode() + b"\n" + content)
    width = request.width
    if width is None and request.kind != "box":
        width = tuple(_protected_width(request, axis, values, weights, noise) for axis in range(len(request.variables)))
    notes = _notes(request, allow_gaps)
    if request.kind in ("histogram", "box"):
        plot = _bins(request, width, values, weights, noise)
    else:
        assert width is not None
        plot = _curve(request, width, values, weights, noise)
    records = len(values) if show_records else None
    return replace(plot, records=records, left=left, mu=math.sqrt(mu_squared), notes=(*plot.notes, *notes))


def cost(request: PlotRequest) -> float:
    """What a request costs: its ``mu`` squared, known before anything is looked at."""
    if request.kind in ("histogram", "box"):
        own = bins_influence(request).mu ** 2
    else:
        stand_in = request.width or tuple((high - low) / 10 for low, high in request.spans)
        own = kernels_influence(request, stand_in).mu ** 2
        if request.width is None:
            own = 2 / request.noise**2  # the width is not known yet; noise is never below Delta2 / sqrt 2
    looked = len(request.variables) if request.width is None and request.kind != "box" else 0
    return own + looked * bins_influence(_plain(request, 0)).mu ** 2


def records_mark(values: Floats, weights: Floats | None) -> bytes:
    """What the records are, whatever their order: other records are another request, whatever their version is called.

    Noise hangs on this and not on the sums that are drawn: their last digits depend on the order of adding up and on
    the number of threads, and so the same request would now and then have another noise.
    """
    values, weights = in_order(values, weights)
    digest = hashlib.sha256(f"{len(values)} records".encode())
    for column in (*values.T, *(() if weights is None else (weights,))):
        digest.update(column.tobytes())
    return digest.digest()


class _Noise:
    """Normal draws that depend on the key, the request and the records, each apart.

    A generator could be wound back by whoever knows some of its draws: every draw is a keyed hash of its own.
    """

    def __init__(self, key: Key, mark: bytes) -> None:
        self.key, self.mark = key, mark

    def added(self, numbers: Floats, deviation: float, purpose: str) -> Floats:
        """The numbers with noise, in whole parts of the lattice."""
        from scipy.special import ndtri

        lattice = 2.0 ** math.floor(math.log2(deviation * LATTICE))
        mark = hashlib.sha256(f"{purpose}\n".encode() + self.mark).digest()
        rows = np.zeros((numbers.size, len(mark) + 8), np.uint8)
        rows[:, : len(mark)] = np.frombuffer(mark, np.uint8)
        rows[:, len(mark) :] = np.arange(numbers.size, dtype="<u8").view(np.uint8).reshape(-1, 8)
        drawn = ndtri(self.key.uniform("safe plot", rows) + 2.0**-54).reshape(numbers.shape)
        found: Floats = np.round((numbers + deviation * drawn) / lattice) * lattice
        return found


def _usable(
    request: PlotRequest, values: Floats, weights: Floats | None, allow_gaps: bool
) -> tuple[Floats, Floats | None]:
    values = np.asarray(values, np.float64).reshape(len(values), -1)
    if request.log:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(values > 0, np.log10(values), np.where(np.isnan(values), np.nan, -1e6))
    usable = np.isfinite(values).all(axis=1)
    if not usable.all():
        if not allow_gaps:
            raise InputError(
                "Some records have no number in a variable that is to be drawn.",
                hint="Give missing='drop' to leave them out.",
                details=f"{counted(int((~usable).sum()), 'record')} of {len(values):,}",
            )
        values, weights = values[usable], None if weights is None else weights[usable]
    if len(values) < FEWEST:
        raise ProtectionError(
            f"There are fewer than {FEWEST} records to draw.", hint="Draw more records: a plot of few tells of each."
        )
    for place, name in enumerate(request.variables):
        if values[:, place].min() == values[:, place].max():
            raise ProtectionError(
                f"The variable {name!r} is the same in all records.", hint="There is nothing to draw: leave it out."
            )
    if weights is not None:
        _refuse_weights(request, weights)
    return values, weights


def _refuse_weights(request: PlotRequest, weights: Floats) -> None:
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError(f"The weight {request.weighted!r} has gaps or is below 0.", hint="Correct the weights.")
    if weights.max() > request.largest_weight:
        raise ParameterError(
            f"There are weights {request.weighted!r} above largest_weight={request.largest_weight:g}.",
            hint="Give the largest weight that the design can have: noise is made for it.",
        )


def _plain(request: PlotRequest, axis: int) -> PlotRequest:
    """The histogram that widths are worked out of."""
    low, high = request.spans[axis]
    return replace(
        request,
        kind="histogram",
        variables=request.variables[axis : axis + 1],
        limits=((low, high),),
        width=((high - low) / BOX_BINS,),
        points=0,
        local=0.0,
        trim=0,
        levels=(),
        log=False,
    )


def _protected_width(request: PlotRequest, axis: int, values: Floats, weights: Floats | None, noise: _Noise) -> float:
    """Freedman and Diaconis (bins) or Silverman (kernels), of quartiles and a total that have noise already."""
    plain = _plain(request, axis)
    low, high = plain.limits[0]
    edges = np.linspace(low, high, BOX_BINS + 1)
    influence = bins_influence(plain)
    counts = noise.added(bin_counts(values[:, axis], weights, edges), influence.noise, f"width {axis}")
    found = protected_quantiles(edges, counts, influence.noise, (0.25, 0.75))
    spread = max(float(found.values[1] - found.values[0]), (high - low) / BOX_BINS)
    total: float = max(float(counts.sum()) / request.largest_weight, float(FEWEST))
    if request.kind == "histogram":
        number = (high - low) / (2 * spread * math.pow(total, -1 / 3))
        return (high - low) / min(max(math.ceil(number), LEAST_BINS), MOST_AUTO)
    least = (high - low) / (request.points - 1)
    return min(max(0.9 * spread / 1.34 * math.pow(total, -1 / 5), least), high - low)


def _bins(
    request: PlotRequest, width: tuple[float, ...] | None, values: Floats, weights: Floats | None, noise: _Noise
) -> SafePlot:
    low, high = request.spans[0]
    edges = bin_edges((low, high), (high - low) / BOX_BINS if width is None else width[0])
    influence = bins_influence(request)
    counts = noise.added(bin_counts(values[:, 0], weights, edges), influence.noise, "bins")
    plot = _made(request, width, (edges,), counts, np.full(len(counts), influence.noise), influence)
    if request.kind == "box":
        return replace(plot, quantiles=protected_quantiles(edges, counts, influence.noise, SHARES))
    return plot


def _curve(
    request: PlotRequest, width: tuple[float, ...], values: Floats, weights: Floats | None, noise: _Noise
) -> SafePlot:
    influence = kernels_influence(request, width)
    sums = noise.added(kernel_sums(request, width, values, weights), influence.noise, "kernels")
    share = np.sqrt((smoothed(np.eye(request.points), request.smooth) ** 2).sum(axis=1))
    sums, deviation = smoothed(sums, request.smooth), influence.noise * share
    if request.kind in FLAT:
        sums, deviation = smoothed(sums.T, request.smooth).T, influence.noise * np.outer(share, share)
    grids = tuple(grid_of(limits, request.points) for limits in request.spans)
    plot = _made(request, width, grids, sums, deviation, influence)
    if request.kind == "contours":
        levels, classes = mass_classes(sums, request.levels)
        return replace(plot, classes=classes, class_limits=levels / plot.total)
    return plot


def _made(
    request: PlotRequest,
    width: tuple[float, ...] | None,
    axes: tuple[Floats, ...],
    numbers: Floats,
    deviation: Floats,
    influence: Influence,
) -> SafePlot:
    """A plot of numbers that have their noise; its total is theirs, not that of the records."""
    if request.kind in ("histogram", "box"):
        total = float(numbers.sum())
    else:
        total = float(numbers.sum()) * float(np.prod([axis[1] - axis[0] for axis in axes]))
    total = max(total, request.largest_weight)
    scale = 1.0 if request.kind in ("histogram", "box") else total
    return SafePlot(
        request=request,
        width=width,
        axes=axes,
        values=numbers / scale,
        noise=deviation / scale,
        total=total,
        influence=influence,
        mu=influence.mu,
    )


def _notes(request: PlotRequest, allow_gaps: bool) -> tuple[str, ...]:
    notes = []
    if request.weighted is not None:
        notes.append(f"Records count by their weights; noise is made for weights up to {request.largest_weight:g}.")
    if request.kind in ("histogram", "box"):
        notes.append("Values outside the limits are counted in the outermost bins.")
    if allow_gaps:
        notes.append("Records without a number are left out.")
    return tuple(notes)
