"""The same two files of series linked by every distance: the worst of them is the risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.attack.series import SeriesLinks, link_series
from discreet.errors import ParameterError
from discreet.files.frames import to_frame

ALL_DISTANCES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("records", {"distance": "minkowski", "normalise": "component", "combine": "rms"}),
    ("minkowski", {"distance": "minkowski"}),
    ("sts", {"distance": "sts"}),
    ("cc", {"distance": "cc"}),
    ("dtw", {"distance": "dtw"}),
)


@dataclass(frozen=True, eq=False, repr=False)
class SeriesComparison:
    """The same two files of series linked by several distances.

    Parameters
    ----------
    found
        What each distance gives, by its name. ``"records"`` is standard record linkage, which takes every time for a
        variable of its own.
    """

    found: dict[str, SeriesLinks]

    @property
    def worst(self) -> SeriesLinks:
        """The distance with most right guesses: its share is the risk to quote."""
        return max(self.found.values(), key=lambda one: one.right)

    def summary(self) -> str:
        """One line for every distance, the worst of them last."""
        lines = [
            f"{name}: {one.right:,.1f} of {one.tried:,} ({one.share:.1%}), {int((one.tied > 1).sum()):,} with ties"
            for name, one in self.found.items()
        ]
        return "\n".join([*lines, f"Worst: {self.worst.summary()}"])

    __repr__ = summary

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """One row for every distance."""
        every = list(self.found.values())
        columns = {
            "distance": np.array(list(self.found)),
            "right": np.array([one.right for one in every]),
            "share": np.array([one.share for one in every]),
            "low": np.array([one.interval().low for one in every]),
            "high": np.array([one.interval().high for one in every]),
            "most": np.array([min(one.distinct, one.tried) for one in every]),
            "ties": np.array([int((one.tied > 1).sum()) for one in every]),
        }
        return to_frame(columns, backend)


def compare_series_links(original: Any, released: Any, **options: Any) -> SeriesComparison:
    """Link two files of series by every distance, and by standard record linkage beside them.

    Parameters
    ----------
    original, released
        Two files of series, as for :func:`link_series`.
    options
        What :func:`link_series` takes, but for ``distance``, ``normalise`` and ``combine``. Distances that the series
        do not have (slopes of one time, say) are an error: link by single distances then.

    Examples
    --------
    >>> import numpy as np, discreet as ds
    >>> level = np.array([[1.0], [2.0], [3.0], [9.0]])
    >>> series = level + np.array([[0, 1, 0, 1], [0, 0, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0]])
    >>> found = ds.attack.compare_series_links(series, series.round(-1))
    >>> {name: one.right for name, one in found.found.items()}
    {'records': 2.0, 'minkowski': 2.0, 'sts': 1.0, 'cc': 1.0, 'dtw': 2.0}
    """
    taken = {"distance", "normalise", "combine", "band"} & set(options)
    if taken:
        raise ParameterError(
            f"{', '.join(f'{name}=' for name in sorted(taken))} differ from distance to distance here.",
            hint="Leave them out, or use link_series.",
        )
    return SeriesComparison(
        {name: link_series(original, released, **{**options, **how}) for name, how in ALL_DISTANCES}
    )
