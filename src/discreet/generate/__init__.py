"""Seeded surveys and populations for demonstrations, tests and benchmarks.

Examples
--------
>>> import discreet as ds
>>> ds.generate.business_survey(50, seed=1).records.num_rows
50
"""

from discreet.generate.argus_example import argus_example
from discreet.generate.business import LARGE_ACTIVITIES, LARGE_REGIONS, business_survey
from discreet.generate.census import census_population
from discreet.generate.generated import Generated

__all__ = ["LARGE_ACTIVITIES", "LARGE_REGIONS", "Generated", "argus_example", "business_survey", "census_population"]
