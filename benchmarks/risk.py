"""The risk of a file of records: frequencies and individual risk, special uniques, and everything by one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.records import SEVEN_KEYS
from benchmarks.registry import Measure, Timing, apart, case, timed

FREQUENCIES, SPECIAL, WHOLE = 0.5, 1.5, 6.0
"""Seconds of processor to stay below, for a million records with seven keys."""


def _census(rows: int) -> Any:
    """A census as text codes, with weights."""
    import numpy as np
    import pyarrow as pa

    import discreet as ds

    people = ds.generate.census_population(rows).records.select([*SEVEN_KEYS, "household", "occupation"])
    weight = np.round(1 + np.random.default_rng(1).gamma(4.0, 20.0, people.num_rows), 3)
    return people.append_column("weight", pa.array(weight))


def frequencies(rows: int) -> Timing:
    """How often the keys of every record occur, and its individual risk."""
    from discreet.engine.record_set import read_record_set
    from discreet.measures import file_risk
    from discreet.measures.record_risk import matching_risk
    from discreet.model.microdata import Microdata
    from discreet.rules.key_counts import key_codes

    records = read_record_set(Microdata(_census(rows), keys=list(SEVEN_KEYS), weight="weight"))

    def run() -> Any:
        like, own = matching_risk(key_codes(records, SEVEN_KEYS), weight=records["weight"].to_numpy())
        return int((like == 1).sum()), file_risk(own).expected

    return timed(run, lambda found: found)


def special(rows: int) -> Timing:
    """Special uniques, with what keys and values contribute."""
    from discreet.attack.suda import suda
    from discreet.engine.record_set import read_record_set
    from discreet.model.microdata import Microdata
    from discreet.rules.key_counts import key_codes

    records = read_record_set(Microdata(_census(rows), keys=list(SEVEN_KEYS)))

    def run() -> Any:
        found = suda(key_codes(records, SEVEN_KEYS))
        shares = found.contributions, found.record_contributions(), [found.value_contributions(n) for n in SEVEN_KEYS]
        return found.special, float(found.score.sum()), shares[0]

    return timed(run, lambda found: found[:2])


def whole(rows: int) -> Timing:
    """Everything by ``ds.risk``, from the frame."""
    import discreet as ds

    people = _census(rows)

    def run() -> Any:
        found = ds.risk(people, keys=list(SEVEN_KEYS), sensitive=["occupation"], weight="weight", household="household")
        return found.uniques, found.file.expected, len(repr(found))

    return timed(run, lambda found: found[:2], repeats=2)


@case("risk")
def risk(scale: float) -> Sequence[Measure]:
    """A million records with seven keys; sdcMicro 5.8 took 2.9 s for frequencies and risk, and 15.1 s for suda2."""
    rows = int(1_000_000 * scale)
    counted, found, all_of_it = apart(frequencies, rows), apart(special, rows), apart(whole, rows)
    about = f"census of {rows:,} persons, keys {', '.join(SEVEN_KEYS)}"
    uniques, expected = counted.answer
    special_ones, score = found.answer
    if special_ones != uniques or all_of_it.answer[0] != uniques:
        raise AssertionError("every unique is special, and there are no others")
    settings = [
        f"{about}; {uniques:,} uniques, {expected:,.0f} matches expected; sdcMicro on another machine: 2.9 s",
        f"{about}; {special_ones:,} special, scores add up to {score:,.0f}; sdcMicro on another machine: 15.1 s",
        f"{about}; sets of up to three keys, l and t of one column, households; {all_of_it.peak:.1f} GiB",
    ]
    return [
        Measure("frequencies and risk, CPU s, against the limit", counted.warm_cpu, FREQUENCIES, 1.0, settings[0]),
        Measure("special uniques, CPU s, against the limit", found.warm_cpu, SPECIAL, 1.0, settings[1]),
        Measure("everything by ds.risk, CPU s, against the limit", all_of_it.warm_cpu, WHOLE, 1.0, settings[2]),
    ]
