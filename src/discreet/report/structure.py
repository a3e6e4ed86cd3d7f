"""The picture of a relation matrix before and after it is put in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.report.plots import INK, PALE, WIDTH, drawn
from discreet.solve.structure import Structure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from scipy.sparse import csr_array

MOST_POINTS = 200_000
"""Of larger matrices an even share of the entries is drawn."""


def spy_image(matrix: csr_array, structure: Structure, label: str) -> str:
    """Where a relation matrix is not zero, as it came and by blocks with the links last; an image for a page."""
    entries = matrix.tocoo()
    every = max(1, -(-matrix.nnz // MOST_POINTS))
    row, column = entries.coords[0][::every], entries.coords[1][::every]
    rows, columns = matrix.shape
    place_row, place_column = np.empty(rows, np.int64), np.empty(columns, np.int64)
    place_row[structure.row_order], place_column[structure.column_order] = np.arange(rows), np.arange(columns)

    def draw(figure: Figure) -> None:
        pictures = figure.subplots(1, 2)
        size = max(0.2, min(4.0, 150 / max(rows, columns)))
        for axes, x, y, title in (
            (pictures[0], column, row, "as it came"),
            (pictures[1], place_column[column], place_row[row], f"{structure.blocks} blocks, {structure.form} form"),
        ):
            axes.plot(x, y, ".", color=INK, markersize=size, rasterized=False)
            axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), title=title, xlabel="cells")
        pictures[0].set_ylabel("relations")
        edges = np.cumsum(structure.sizes, axis=0)
        for m, n in edges.tolist():
            pictures[1].axhline(m - 0.5, color=PALE, linewidth=0.6)
            pictures[1].axvline(n - 0.5, color=PALE, linewidth=0.6)

    return drawn(draw, 0.5 * WIDTH, label)
