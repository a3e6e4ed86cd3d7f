"""Safe plots of up to 10^7 records: seconds of processor grow with records, not with their square."""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time

import numpy as np

from benchmarks.registry import Measure, apart, case
from discreet.keys import Key
from discreet.report.safe_plots.publishing import publish
from discreet.report.safe_plots.request import PlotRequest, plot_request

PAY, AGE = (0, 12_000), (0, 100)


def _requests() -> dict[str, PlotRequest]:
    both = (["pay", "age"], [PAY, AGE])
    return {
        "histogram": plot_request("histogram", "pay", PAY, width=200),
        "box": plot_request("box", "pay", PAY),
        "density": plot_request("density", "pay", PAY, width=200),
        "density, local, trimmed": plot_request("density", "pay", PAY, width=200, local=10, trim=3),
        "density2d": plot_request("density2d", *both, width=(200, 1)),
        "contours, local, trimmed": plot_request("contours", *both, width=(200, 1), local=8, trim=1),
    }


def drawn(records: int) -> dict[str, float]:
    """CPU seconds of each plot of so many records, printed as they come."""
    random = np.random.default_rng(1)
    values = np.column_stack([random.lognormal(8, 0.5, records), random.uniform(15, 90, records)])
    found = {}
    for name, request in _requests().items():
        began = process_time()
        publish(request, values[:, : len(request.variables)], None, Key.from_seed(1))
        found[name] = process_time() - began
        print(f"  {records:>10,} records, {name}: {found[name]:.2f} CPU s", flush=True)
    return found


@case("safe_plots")
def safe_plots(scale: float) -> Sequence[Measure]:
    """CPU seconds of plots of 10^7 records, beside ten times those of 10^6: no step grows faster than records.

    Smaller sizes, from 10 records on, are printed on the way.
    """
    many = int(10**7 * scale)
    found = {records: apart(drawn, records) for records in _sizes(many)}
    fewer, more = found[many // 10], found[many]
    return [
        Measure(
            f"{name}, CPU s", more[name], 10 * fewer[name], 1.5, f"{many:,} records; {fewer[name]:.2f} s of a tenth"
        )
        for name in more
    ]


def _sizes(many: int) -> list[int]:
    """From 10 records on, each a hundred times the one before, and the last two that are compared."""
    small = [10**power for power in (1, 3, 5) if 10**power < many // 10]
    return [*small, many // 10, many]
