"""How tables hang together: the picture of their relations before and after they are put in blocks, and its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.model.arrays import Floats, Ints
from discreet.relations import System
from discreet.report.plots import INK, PALE, WIDTH, drawn
from discreet.solve.structure import Structure, block_structure, independent_parts, link_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from scipy.sparse import csr_array

MOST_BOXES = 160
"""So many boxes a side at most; more relations or cells share boxes."""
SEARCHED_UP_TO = 50_000
"""Blocks with links are looked for in a report where relations have at most so many entries: it takes up to 2 s."""
SMALLEST = 20
"""Fewer relations than these can be taken in at a glance."""
LINKS_NAMED = 10
CAPTION = "Which cells stand in which relations: on the left as they came, on the right by blocks."


@dataclass(frozen=True)
class StructurePart:
    """What a report says of the structure of its tables."""

    words: str
    image: str
    caption: str
    links: tuple[str, ...]
    more: int


def structure_part(system: System) -> StructurePart | None:
    """The structure of tables for a report; None where they have none that is worth a picture."""
    matrix = system.matrix
    if matrix.shape[0] < SMALLEST:
        return None
    found = block_structure(matrix) if matrix.nnz <= SEARCHED_UP_TO else independent_parts(matrix)
    if not found.few_links:
        return None
    names = link_names(found, system, LINKS_NAMED)
    more = len(found.linking) - len(names)
    return StructurePart(found.summary(), structure_image(matrix, found), CAPTION, tuple(names), more)


def structure_image(matrix: csr_array, structure: Structure, label: str = "") -> str:
    """Where a relation matrix is not zero, as it came and by blocks with the links last; an image for a page.

    Parameters
    ----------
    matrix, structure
        Relations and their blocks.
    label
        Words for those who cannot see the image; the structure in words when left out.
    """
    entries = matrix.tocoo()
    rows, columns = matrix.shape
    place_row, place_column = np.empty(rows, np.int64), np.empty(columns, np.int64)
    place_row[structure.row_order], place_column[structure.column_order] = np.arange(rows), np.arange(columns)
    row, column = (np.asarray(place, np.int64) for place in entries.coords)

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, sharey=True)
        _strokes(left, row, column, matrix.shape)
        _strokes(right, place_row[row], place_column[column], matrix.shape)
        left.set(title="as it came", ylabel="relations", xlabel="cells")
        right.set(title="by blocks, links last" if len(structure.linking) else "by blocks", xlabel="cells")
        for m, n in np.cumsum(structure.sizes, axis=0).tolist():
            right.axhline(m, color=PALE, linewidth=0.6)
            right.axvline(n, color=PALE, linewidth=0.6)

    said = label or f"Relations and cells, as they came and by blocks. {structure.summary()}"
    return drawn(draw, 0.45 * WIDTH, said)


def _strokes(axes: Axes, row: Ints, column: Ints, shape: tuple[int, int]) -> None:
    """Boxes with an entry; those that stand side by side are one stroke, so that the image stays small."""
    across, down = (min(MOST_BOXES, size) for size in (shape[1], shape[0]))
    boxes = np.zeros((down, across), np.bool_)
    boxes[row * down // shape[0], column * across // shape[1]] = True
    edge = np.diff(np.pad(boxes, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    line, start = np.nonzero(edge == 1)
    end = np.nonzero(edge == -1)[1]
    height, width = shape[0] / down, shape[1] / across
    gap = np.full(len(line), np.nan)
    x: Floats = np.column_stack((start * width, end * width, gap)).ravel()
    y: Floats = np.column_stack(((line + 0.5) * height, (line + 0.5) * height, gap)).ravel()
    tall = 0.33 * WIDTH * 72 / down
    axes.plot(x, y, color=INK, linewidth=max(0.4, min(tall, 5.0)), solid_capstyle="butt")
    axes.set(xlim=(0, shape[1]), ylim=(shape[0], 0))
