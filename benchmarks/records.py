"""Releases of records: a million rows through protect, save and verify."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.registry import Measure, Timing, apart, case, scratch, timed


def write_people(path: Path, rows: int) -> None:
    """Persons with twelve columns."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(1)
    table = pa.table(
        {
            "person": [f"p{i}" for i in range(rows)],
            "home": draw.integers(0, max(rows // 2, 1), rows),
            "age": draw.integers(0, 100, rows),
            "sex": np.array(["m", "f"])[draw.integers(0, 2, rows)],
            "region": np.array([f"R{i:02d}" for i in range(20)])[draw.integers(0, 20, rows)],
            "job": np.array([f"{i:03d}" for i in range(30)])[draw.integers(0, 30, rows)],
            "income": np.round(draw.lognormal(10, 1, rows), 2),
            "tax": draw.integers(0, 100_000, rows),
            "health": np.array(["good", "fair", "bad"])[draw.integers(0, 3, rows)],
            "weight": np.round(draw.uniform(1, 5, rows), 3),
            "housing": np.array(["own", "rent"])[draw.integers(0, 2, rows)],
            "flag": draw.integers(0, 2, rows).astype(bool),
        }
    )
    pq.write_table(table, path)


def released(folder: Path) -> Timing:
    """Recode four columns, save csv and Parquet, and check the folder."""
    import discreet as ds

    data = ds.Microdata(
        folder / "people.parquet",
        keys=["age", "sex", "region", "job"],
        sensitive="health",
        numeric=["income", "tax"],
        weight="weight",
        household="home",
        identifier="person",
    )
    steps = [
        ds.Recode("age", intervals=[15, 30, 45, 65]),
        ds.Recode("region", map={f"R{i:02d}": "north" if i < 10 else "south" for i in range(20)}),
        ds.Recode("job", map={f"{i:03d}": f"{i // 10}xx" for i in range(30)}),
        ds.Recode("income", top=60_000, bottom=5_000),
    ]

    def run() -> Any:
        ds.protect(data, steps, rules=[ds.KAnonymity(3)]).save(folder / "out", formats=["csv", "parquet"], replace=True)
        return ds.check_folder(folder / "out")

    return timed(run, lambda verdict: verdict.holds, repeats=1)


@case("records-release")
def records_release(scale: float) -> Sequence[Measure]:
    """A million records of twelve columns: protect, save and verify within 10 s of processor and 2 GiB."""
    rows = int(1_000_000 * scale)
    with scratch() as folder:
        apart(write_people, folder / "people.parquet", rows)
        ours = apart(released, folder)
    settings = f"{rows:,} records, four columns recoded, csv and Parquet; the claims hold: {ours.answer}"
    return [
        Measure("CPU s, against the limit", ours.warm_cpu, 10.0, 1.0, settings),
        Measure("peak GiB, against the limit", ours.peak, 2.0, 1.0, settings),
    ]


SEVEN_KEYS = ("age_group", "sex", "area", "marital", "birth", "education", "labour")


SIX_KEYS = tuple(name for name in SEVEN_KEYS if name != "area")


def emptied(rows: int, keys: Sequence[str], given: dict[str, Any]) -> Timing:
    """Fields of keys emptied until every combination occurs three times."""
    import discreet as ds

    records = ds.generate.census_population(rows).records.select(list(keys))
    data = ds.Microdata(records, keys=list(keys))
    method = ds.LocalSuppress(3, **given)

    def run() -> Any:
        facts = ds.protect(data, method, keep_order=True).custodian.evidence[0].facts
        return facts["cost"], facts["least"]

    return timed(run, lambda found: found, repeats=1)


PRAM_COLUMNS = {"sex": "E(0.8)", "marital": "E(0.8)", "education": "F(0.8)"}


def randomised(rows: int) -> Timing:
    """Codes of three columns drawn anew: the method alone, on records in memory."""
    import discreet as ds
    from discreet.engine.record_set import read_record_set

    records = read_record_set(ds.Microdata(ds.generate.census_population(rows).records.select(list(PRAM_COLUMNS))))
    method, key = ds.Pram(PRAM_COLUMNS), ds.Key(bytes(32))
    return timed(lambda: method.run(records, key), lambda done: done.evidence.facts["changed"], repeats=3)


def randomised_release(rows: int) -> Timing:
    """The same from a frame to a release that the checker accepts, with every draw made again."""
    import discreet as ds

    data = ds.Microdata(ds.generate.census_population(rows).records.select(list(PRAM_COLUMNS)))
    method, key = ds.Pram(PRAM_COLUMNS), ds.Key(bytes(32))
    return timed(lambda: ds.protect(data, method, key=key).verify().holds, lambda holds: holds, repeats=1)


@case("pram")
def pram(scale: float) -> Sequence[Measure]:
    """Three columns of a million records post-randomised: 0.3 s of processor; beside it, released and verified."""
    rows = int(1_000_000 * scale)
    drawn, whole = apart(randomised, rows), apart(randomised_release, rows)
    settings = f"census of {rows:,} persons, {', '.join(f'{n} {m}' for n, m in PRAM_COLUMNS.items())}"
    done = f"{settings}; changed {', '.join(f'{n:,}' for n in drawn.answer)}"
    return [
        Measure("CPU s of the method, against the limit", drawn.warm_cpu, 0.3, 1.0, done),
        Measure(
            "CPU s of release and check, against the limit",
            whole.warm_cpu,
            10.0,
            1.0,
            f"{settings}; the claims hold: {whole.answer}",
        ),
    ]


@case("local-suppression")
def local_suppression(scale: float) -> Sequence[Measure]:
    """A million records with seven keys, k = 3: 8 s of processor, and at most 2 % above the proven least number."""
    rows = int(1_000_000 * scale)
    ours = apart(emptied, rows, SEVEN_KEYS, {})
    cost, least = ours.answer
    settings = f"census of {rows:,} persons, keys {', '.join(SEVEN_KEYS)}; {cost:,.0f} fields emptied"
    return [
        Measure("CPU s, against the limit", ours.warm_cpu, 8.0, 1.0, settings),
        Measure("fields emptied, against the least possible", cost, least, 1.02, settings),
    ]


@case("local-suppression-kinds")
def local_suppression_kinds(scale: float) -> Sequence[Measure]:
    """The same for combinations of three keys (10 s; four: 30 s), the rules of sdcMicro (4 s) and mu-ARGUS (20 s).

    Combinations of some keys may not cost more than all keys at once.
    """
    rows = int(1_000_000 * scale)
    whole = apart(emptied, rows, SEVEN_KEYS, {}).answer[0]
    kinds: tuple[tuple[str, dict[str, Any], float], ...] = (
        ("three keys", {"size": 3}, 10.0),
        ("four keys", {"size": 4}, 30.0),
        ('all keys, missing="any"', {"missing": "any"}, 4.0),
        ('all keys, missing="exempt"', {"missing": "exempt"}, 20.0),
        ('four keys, missing="exempt"', {"size": 4, "missing": "exempt"}, 20.0),
    )
    found = []
    for name, given, limit in kinds:
        ours = apart(emptied, rows, SEVEN_KEYS, given)
        settings = f"census of {rows:,} persons, {name}; {ours.answer[0]:,.0f} fields emptied"
        found.append(Measure(f"{name}: CPU s, against the limit", ours.warm_cpu, limit, 1.0, settings))
        if "missing" not in given:
            found.append(Measure(f"{name}: fields, against all keys at once", ours.answer[0], whole, 1.0, settings))
    return found


@case("local-suppression-small")
def local_suppression_small(scale: float) -> Sequence[Measure]:
    """4,000 and 1,000 records with six keys: within 10 % of the proven bound, and within 5 % of the optimum."""
    found = []
    for rows, target in ((int(4_000 * scale), 1.10), (int(1_000 * scale), 1.05)):
        cost, least = apart(emptied, rows, SIX_KEYS, {}).answer
        peer, what = least, "the proven bound"
        if rows <= 1_000:
            peer, what = apart(emptied, rows, SIX_KEYS, {"algorithm": "optimal"}).answer[0], "the integer program"
        settings = f"census of {rows:,} persons, keys {', '.join(SIX_KEYS)}; proven bound {least:,.1f}"
        found.append(Measure(f"{rows:,} records: fields, against {what}", cost, peer, target, settings))
    return found
