"""The page of a comparison: the map with axes to choose, and every number behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.report.page import render, script, script_hash, trusted
from discreet.report.riskmap import Point, RiskMap

ESCAPED = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
"""What could end a script element, written so that it cannot."""


def compared_page(
    found: RiskMap,
    flags: Sequence[str] = (),
    seconds: Mapping[str, float] | None = None,
    title: str = "",
    notes: Sequence[str] = (),
) -> str:
    """A comparison as one HTML page that needs nothing else. It is for the custodian.

    Parameters
    ----------
    found
        The map.
    flags
        What to beware of; it stands at the top.
    seconds
        How long each method took.
    title
        Heading.
    notes
        What could not be measured, and why.
    """
    said = {"title": title or "Methods compared", "flags": flags, "seconds": seconds or {}, "notes": notes}
    return render("compare.html", **said, **map_context(found))


def map_context(found: RiskMap) -> dict[str, Any]:
    """What the part of a page needs that shows a map."""
    return {
        "map": found,
        "map_tables": [(side, found.usable(side)) for side in ("risk", "loss")],
        "map_data": trusted(json.dumps(found.data(), sort_keys=True).translate(ESCAPED)),
        "map_script": trusted(script("map.js")),
        "map_hash": script_hash("map.js"),
        "map_shown": found.axes_to_show(),
        "map_image": found.image() if found.placed(*found.axes_to_show()) else "",
        "map_caption": found.caption(),
        "spot": _spot,
    }


def _spot(point: Point, axis: Any) -> tuple[str, str]:
    """A measure of a method for a table: mean, and the interval over runs where there are several."""
    spot = point.spots.get(axis.name)
    if spot is None:
        return "–", ""
    return axis.text(spot.mean), f"{axis.text(spot.low)} to {axis.text(spot.high)}" if spot.low != spot.high else ""
