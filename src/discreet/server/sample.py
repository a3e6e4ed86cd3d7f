"""A data set to try the server with: a made-up census, its catalogue, and a key of its own."""

from __future__ import annotations

from pathlib import Path

from discreet.generate.census import census_population
from discreet.keys import Key
from discreet.server.dataset import Dataset, build_dataset

CATALOGUE = """\
version = 1
name = "census"
edition = "2021.1"
title = "A made-up census"
description = "Persons who do not exist, with ages, homes, jobs and incomes."
period = "2021"

[data]
file = "records.parquet"
identifier = ["person"]

[variables.area]
label = "Area"
hierarchy = "area.hrc"

[variables.sex]
label = "Sex"
names = { F = "Women", M = "Men" }

[variables.age_group]
label = "Age"
hierarchy = "age_group.hrc"

[variables.marital]
label = "Marital status"
names = { S = "Single", M = "Married", W = "Widowed", D = "Divorced" }

[variables.birth]
label = "Country of birth"
hierarchy = "birth.hrc"

[variables.education]
label = "Education"

[variables.labour]
label = "Labour market"
hierarchy = "labour.hrc"

[values.income]
label = "Income"
unit = "EUR"

[[universes]]
name = "adults"
label = "Persons of 18 years and more"
where = ["age >= 18"]

[geography]
variable = "area"
smallest = 20

[policy]
method = { method = "cell_key", D = 5, V = 3.0, js = 2, modulus = 65536, magnitudes = { small = 0.3 } }
most_variables = 3
exact_share = 0.5
"""
"""The catalogue of the sample."""


def write_sample(folder: str | Path, *, records: int = 100_000, areas: int = 200, seed: int = 1) -> Path:
    """Write the records, hierarchies and catalogue of the sample; returns the path of the catalogue.

    Parameters
    ----------
    folder
        Where to write.
    records
        How many persons.
    areas
        How many areas they live in.
    seed
        Which persons.
    """
    place = Path(folder)
    census_population(records, seed=seed, areas=areas).write(place)
    path = place / "census.toml"
    path.write_text(CATALOGUE, encoding="utf-8")
    return path


def build_sample(folder: str | Path, *, records: int = 100_000, areas: int = 200, seed: int = 1) -> Dataset:
    """The sample as a data set below a folder, with a key that is thrown away: nobody is protected by it."""
    place = Path(folder)
    catalogue = write_sample(place / "source", records=records, areas=areas, seed=seed)
    return build_dataset(catalogue, place / "census", key=Key.new())
