"""Seeded surveys and populations for demonstrations, tests and benchmarks.

Examples
--------
>>> import discreet as ds
>>> ds.generate.business_survey(50, seed=1).records.num_rows
50
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.generate.argus_example import argus_example
from discreet.lazy import names_from

if TYPE_CHECKING:
    from discreet.generate.business import LARGE_ACTIVITIES, LARGE_REGIONS, business_survey
    from discreet.generate.census import census_population
    from discreet.generate.generated import Generated
    from discreet.generate.wealth import wealth_survey

__all__ = [
    "LARGE_ACTIVITIES",
    "LARGE_REGIONS",
    "Generated",
    "argus_example",
    "business_survey",
    "census_population",
    "wealth_survey",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_from(
        __name__,
        {
            "business": ["LARGE_ACTIVITIES", "LARGE_REGIONS", "business_survey"],
            "census": ["census_population"],
            "generated": ["Generated"],
            "wealth": ["wealth_survey"],
        },
    )
