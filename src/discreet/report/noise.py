"""The image of a noise table: how likely each change is, count by count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.model.noise_table import NoiseTable
from discreet.report.plots import _image

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS = 24
WRITTEN = 16
"""Up to so many changes the percentages are written into the image."""


def noise_image(table: NoiseTable, label: str = "Probability of each change") -> str:
    """Probabilities as shades, one row per count and one column per change, as an inline ``svg`` element.

    Parameters
    ----------
    table
        The noise table.
    label
        Words for those who cannot see the image.
    """
    rows = list(range(len(table)))[1 : MOST_ROWS + 1]
    units = np.arange(int(table.change.min()), int(table.change.max()) + 1)
    shares = np.zeros((len(rows), len(units)))
    for y, number in enumerate(rows):
        row = table.at(number)
        np.add.at(shares[y], np.rint(row.change * table.step).astype(np.int64) - units[0], row.probability)

    def draw(axes: Axes) -> None:
        axes.imshow(100 * shares, cmap="Blues", aspect="auto", vmin=0, vmax=100 * shares.max())
        names = [f"{table.values[number]:g}" for number in rows]
        if rows[-1] == len(table) - 1 and table.cycle == 1:
            names[-1] += " and more"
        axes.set_yticks(range(len(rows)), names)
        axes.set_xticks(range(len(units)), [f"{unit / table.step:+g}" if unit else "0" for unit in units])
        axes.set_ylabel("count")
        axes.set_xlabel("change; the shade is its probability in per cent")
        if len(units) <= WRITTEN:
            for (y, x), share in np.ndenumerate(shares):
                if share > 0:
                    tone = "white" if share > 0.6 * shares.max() else "black"
                    axes.text(x, y, f"{100 * share:.1f}", ha="center", va="center", color=tone, fontsize=7)

    return _image(draw, 1.0 + 0.28 * len(rows), label)
