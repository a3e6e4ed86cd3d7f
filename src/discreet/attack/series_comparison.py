"""The same two files of series linked by every distance: the worst of them is the risk."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.attack.series import SeriesLinks, link_series
from discreet.errors import InputError, ParameterError
from discreet.files.frames import to_frame
from discreet.model import doors
from discreet.model.arrays import Floats

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

    def image(self) -> str:
        """Shares of right guesses by distance with their intervals, as an inline ``svg`` element.

        Examples
        --------
        >>> import numpy as np, discreet as ds
        >>> walks = np.random.default_rng(1).normal(size=(20, 6)).cumsum(axis=1)
        >>> ds.attack.compare_series_links(walks, walks.round()).image().startswith("<svg")
        True
        """
        return doors.series_image(self)


@dataclass(frozen=True, eq=False, repr=False)
class SeriesCurve:
    """One file of series linked with several releases of it by every distance: groups of 3, of 5, of 10, say.

    Parameters
    ----------
    found
        What is found in each release, by its setting.
    name
        What the settings are.
    """

    found: dict[Hashable, SeriesComparison]
    name: str

    def shares(self) -> dict[str, Floats]:
        """Shares of right guesses of every distance, over the releases."""
        every = list(self.found.values())
        return {name: np.array([one.found[name].share for one in every]) for name in every[0].found}

    def caps(self) -> Floats:
        """The share of series that differ from all others in each release: the most that any distance gets right."""
        one = [next(iter(compared.found.values())) for compared in self.found.values()]
        return np.array([min(each.distinct, each.tried) / max(each.tried, 1) for each in one])

    def summary(self) -> str:
        """The worst distance in each release."""
        lines = []
        for (setting, compared), cap in zip(self.found.items(), self.caps().tolist(), strict=True):
            name = max(compared.found, key=lambda one: compared.found[one].right)
            lines.append(f"{self.name} {setting}: {compared.worst.share:.1%} by {name}, at most {cap:.1%}")
        return "\n".join(lines)

    __repr__ = summary

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """One row for every release and distance; ``gap`` is the median of how much farther the second nearest is."""
        rows = [(setting, name, one) for setting, every in self.found.items() for name, one in every.found.items()]
        caps = dict(zip(self.found, self.caps().tolist(), strict=True))
        columns = {
            "setting": [setting for setting, _, _ in rows],
            "distance": [name for _, name, _ in rows],
            "right": [one.right for _, _, one in rows],
            "share": [one.share for _, _, one in rows],
            "cap": [caps[setting] for setting, _, _ in rows],
            "ties": [int((one.tied > 1).sum()) for _, _, one in rows],
            "gap": [float(np.median(one.gap)) for _, _, one in rows],
        }
        return to_frame(columns, backend)

    def image(self) -> str:
        """Shares of right guesses of every distance over the releases, as an inline ``svg`` element.

        Examples
        --------
        >>> import numpy as np, discreet as ds
        >>> walks = np.random.default_rng(1).normal(size=(20, 6)).cumsum(axis=1)
        >>> found = ds.attack.series_links_over(walks, {1: walks.round(), 10: walks.round(-1)})
        >>> found.image().startswith("<svg")
        True
        """
        return doors.series_curve_image(self)


def series_links_over(original: Any, releases: Mapping[Any, Any], *, name: str = "k", **options: Any) -> SeriesCurve:
    """Link a file of series with several releases of it, by every distance each.

    Parameters
    ----------
    original
        A file of series, as for :func:`link_series`.
    releases
        Releases by their settings, such as the size of groups, in the order in which they are shown.
    name
        What the settings are.
    options
        As in :func:`compare_series_links`.

    Examples
    --------
    >>> import numpy as np, discreet as ds
    >>> series = np.random.default_rng(1).normal(size=(60, 6)).cumsum(axis=1)
    >>> masked = {1: series.round(), 10: series.round(-1)}
    >>> found = ds.attack.series_links_over(series, masked, name="rounding to")
    >>> found.shares()["minkowski"].round(2).tolist()
    [0.98, 0.02]
    """
    if not releases:
        raise InputError("There is no release to link with.", hint="Give them by their settings: {3: masked, 5: ...}.")
    return SeriesCurve({key: compare_series_links(original, one, **options) for key, one in releases.items()}, name)


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
