"""Making the file that extracts are taken from: once for an edition, by ``protect``, and verified before it is written.

The steps are those of card 003-31, in its order: sample, drop names, guard areas, swap, new order and numbers, recodes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engine.draws import draws, fractions
from discreet.errors import InputError, OutputError, ParameterError, ProtectionError, counted
from discreet.keys import Key
from discreet.methods.base import Method
from discreet.model.arrays import Floats, Ints
from discreet.model.custodian import RecordCustodian
from discreet.model.microdata import Microdata
from discreet.model.release import Release
from discreet.recipe.job import RecipeJob
from discreet.recipe.schema import OutputPart, Recipe
from discreet.records.guarded_areas import GuardedAreas
from discreet.records.household_sample import pseudo_strata
from discreet.records.recode import Recode
from discreet.records.swap import Swap
from discreet.server.extracts.drawing import DrawnSample, draw_sample, swap_columns
from discreet.server.extracts.file import ExtractFile, open_file, write_file
from discreet.server.extracts.plan import ExtractPlan, ShownAreasPart, read_plan
from discreet.trust import SigningKey
from discreet.verbs.protect import protect

if TYPE_CHECKING:
    import pyarrow as pa


def build_file(
    plan: str | Path,
    folder: str | Path,
    *,
    key: Key,
    sign: str | Path | None = None,
    custodian: str | Path | None = None,
    allow_outside: bool = False,
) -> ExtractFile:
    """Make the folder that extracts are taken from, which never changes afterwards.

    Parameters
    ----------
    plan
        The owner's plan; paths in it are relative to its folder.
    folder
        Where it is to lie; it must not exist.
    key
        The secret of the edition: sample, swaps, orders and serial numbers are drawn with it.
    sign
        File of the owner's signing key.
    custodian
        Where the whole release is kept with its evidence; nothing of it is needed by the server.
    allow_outside
        Whether the plan may name files outside of its own folder.

    Raises
    ------
    InputError, ParameterError
        When the plan or the records are not as they should be.
    ProtectionError
        When a claim of the release does not hold; nothing is written then.
    OutputError
        When the folder exists.
    """
    found = read_plan(plan)
    path = Path(folder)
    if os.path.lexists(path):
        raise OutputError(
            f"{path.name!r} exists, and an edition never changes.",
            hint="A correction is a new edition: another folder.",
        )
    if key.insecure:
        raise ParameterError("Extracts are not drawn from a seed that anybody could guess.", hint="Give a key file.")
    signer = None if sign is None else SigningKey.from_file(sign)
    job = RecipeJob(
        Recipe(version=1, data=found.data, protect=[], output=OutputPart(directory=".")),
        Path(plan).parent,
        allow_outside,
    )
    drawn = draw_sample(found, job, key)
    release = protect_sample(found, drawn, key)
    if custodian is not None:
        release.save(custodian)
    part = path.with_name(f".{path.name}.partial-{os.getpid()}")
    part.mkdir(mode=0o700)
    try:
        table = finished(found, drawn, release, key)
        write_file(part, found, table, release, drawn, key, signer)
        part.rename(path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return open_file(path, hashes=True)


# ---- protection ---------------------------------------------------------------------------------------------


def protect_sample(plan: ExtractPlan, drawn: DrawnSample, key: Key) -> Release[RecordCustodian]:
    """A release of the sample whose claims were checked; one that does not hold is refused."""
    data = _microdata(plan, drawn)
    steps: list[Method] = []
    # Households exchange the finest areas that there are, and only then are areas merged: an edition with another
    # threshold shows the same exchange, which two editions with two of them would give away.
    if plan.swap is not None and drawn.levels:
        swap = plan.swap
        steps.append(Swap(drawn.levels[-1], HOUSEHOLD, within=swap.within, profile=tuple(swap.profile), rate=swap.rate))
    if drawn.levels and drawn.areas is not None:
        steps += _recodes(drawn.levels[-1], _shown_by_finest(drawn))
    for name, found in drawn.guarded.items():
        steps += _recodes(name, {path[-1]: shown[-1] if shown else "other" for path, shown in found.codes.items()})
    steps += plan.methods
    if not steps:
        raise ProtectionError("The plan protects nothing.", hint="Add [swap] or [[protect]], or guard areas.")
    release = protect(data, steps, rules=plan.record_rules, key=key, name=plan.name)
    verdict = release.verify()
    if not verdict.holds:
        raise ProtectionError(
            f"{counted(len(verdict.refused), 'claim')} of the release did not hold when it was checked.",
            hint="Nothing was written. Look at release.verify() for the same steps.",
        )
    return release


HOUSEHOLD = "_household"


def _recodes(name: str, names: Mapping[str, str]) -> list[Method]:
    """A recode that merges codes, where any is merged."""
    changed = {old: new for old, new in names.items() if old != new}
    return [Recode(name, map=changed)] if changed else []


def _microdata(plan: ExtractPlan, drawn: DrawnSample) -> Microdata:
    """The sample with the columns that are let out, and those that swapping looks at; coarser areas as guarded."""
    import pyarrow as pa

    levels = plan.geography.levels
    names = [name for name in dict.fromkeys([*plan.variables, *swap_columns(plan)]) if name not in levels]
    columns: dict[str, Any] = {name: drawn.columns[name] for name in names}
    if drawn.levels and drawn.areas is not None:
        columns[drawn.levels[-1]] = drawn.columns[drawn.finest].cast(pa.string())  # merged after the exchange
        shown = _shown_codes(drawn)
        columns |= {name: pa.array([codes[k] for codes in shown]) for k, name in enumerate(drawn.levels[:-1])}
    columns[HOUSEHOLD] = pa.array(drawn.household)
    identifier = [name for name in plan.data.identifier if name in drawn.columns.column_names]
    columns |= {name: drawn.columns[name] for name in identifier}
    for name in drawn.guarded:
        columns[name] = columns[name].cast(pa.string())
    data, there = plan.data, set(columns)
    return Microdata(
        pa.table(columns),
        keys=[name for name in data.keys if name in there],
        sensitive=[name for name in data.sensitive if name in there],
        numeric=[name for name in data.numeric if name in there],
        household=HOUSEHOLD,
        identifier=identifier,
        missing_codes={name: codes for name, codes in data.missing_codes.items() if name in there},
        labels={name: part.label for name, part in plan.variables.items() if part.label and name in there},
        value_labels={name: part.names for name, part in plan.variables.items() if part.names and name in there},
    )


def _shown_codes(drawn: DrawnSample) -> list[tuple[str, ...]]:
    """Codes that are shown of every record's own area, before any exchange."""
    assert drawn.areas is not None
    import pyarrow as pa

    columns = [drawn.columns[name].cast(pa.string()).to_pylist() for name in drawn.levels]
    return [drawn.areas.codes[path] for path in zip(*columns, strict=True)]


def _shown_by_finest(drawn: DrawnSample) -> dict[str, str]:
    """The finest code that is shown of each finest area.

    Raises
    ------
    InputError
        When a finest area lies in two others.
    """
    import pyarrow as pa

    finest = drawn.columns[drawn.finest].cast(pa.string()).to_pylist()
    pairs = {(code, shown[-1]) for code, shown in zip(finest, _shown_codes(drawn), strict=True)}
    if len(pairs) != len(set(finest)):
        raise InputError(f"Codes of {drawn.finest!r} lie in several areas.", hint="Give every area a code of its own.")
    return dict(pairs)


# ---- order, numbers, strata ---------------------------------------------------------------------------------


def finished(plan: ExtractPlan, drawn: DrawnSample, release: Release[RecordCustodian], key: Key) -> pa.Table:
    """The public records with new numbers, households together in an order by chance, strata and all levels."""
    import pyarrow as pa

    assert release.public.records is not None
    public, order = release.public.records.columns, release.custodian.order
    _, number = np.unique(drawn.household, return_inverse=True)
    households = int(number.max()) + 1
    chance = draws(key.secret, f"order of households/{plan.name}", 1, np.arange(households))
    serial = np.argsort(np.argsort(chance, kind="stable"), kind="stable") + 1
    columns = {name: public[name] for name in plan.variables if name in public.column_names}
    area = np.zeros(len(order), np.int64)
    if drawn.levels and drawn.areas is not None:
        finest = public[drawn.levels[-1]].to_pylist()
        above: dict[Any, tuple[str | None, ...]] = {shown[-1]: shown for shown in drawn.areas.codes.values()}
        above[None] = (None,) * len(drawn.levels)
        if not set(finest) <= set(above):
            raise ProtectionError(
                "A method of the plan changes areas.", hint="Guard and swap them; blanks are allowed."
            )
        for k, name in enumerate(drawn.levels):
            if name in plan.variables:
                columns[name] = pa.chunked_array([pa.array([above[code][k] for code in finest], pa.string())])
        area = _numbers_of(drawn.areas, finest)
    stratum = _strata(plan.geography, drawn, area, order, number, key, plan.name)
    columns |= {
        "_household": pa.array(serial[number[order]]),
        "_person": pa.array(_person(number, drawn.position)[order]),
        "_stratum": pa.array(stratum[number[order]]),
    }
    wanted = [name for name in plan.variables if name in columns]
    table = pa.table({name: columns[name] for name in ("_household", "_person", "_stratum", *wanted)})
    return table.sort_by([("_household", "ascending"), ("_person", "ascending")])


def _person(household: Ints, position: Ints) -> Ints:
    """Numbers of persons within their households, as the source has them."""
    order = np.lexsort((position, household))
    sizes = np.bincount(household)
    found = np.empty(len(household), np.int64)
    found[order] = np.arange(len(household)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    return found


def _strata(
    part: ShownAreasPart, drawn: DrawnSample, area: Ints, order: Ints, number: Ints, key: Key, place: str
) -> Ints:
    """Strata of households by the areas that are released: an exchange must not show in them."""
    households = int(number.max()) + 1
    released = np.empty(households, np.int64)
    released[number[order]] = area
    position = np.zeros(households)
    np.maximum.at(position, number, drawn.position.astype(np.float64))
    if drawn.levels and drawn.areas is not None:
        position = _placed(drawn, released, position, number, key, place)
    persons: Floats = np.bincount(number).astype(np.float64)
    shuffled = draws(key.secret, f"strata/{place}", 1, np.arange(households))
    # Where no area is shown, no stratum is either: all households are one.
    least = np.inf if part.suppress else part.threshold * (len(number) / _all_persons(drawn))
    return pseudo_strata(released, position, persons, least, shuffled)


def _all_persons(drawn: DrawnSample) -> float:
    """Persons of the population that the sample stands for."""
    if drawn.areas is None or not drawn.areas.population:
        return float(drawn.position.max() + 1)
    return float(sum(drawn.areas.population[0].values()))


def _numbers_of(areas: GuardedAreas, codes: Sequence[str | None]) -> Ints:
    """Numbers of finest areas as they are shown; blanks are one area of their own."""
    index: dict[str | None, int] = {
        code: k for k, code in enumerate(sorted({shown[-1] for shown in areas.codes.values()}))
    }
    return np.array([index.get(code, len(index)) for code in codes], np.int64)


def _placed(drawn: DrawnSample, released: Ints, position: Floats, number: Ints, key: Key, place: str) -> Floats:
    """Positions in which households that were exchanged stand anywhere in their new area."""
    assert drawn.areas is not None
    before = np.empty(len(released), np.int64)
    before[number] = _numbers_of(drawn.areas, [shown[-1] for shown in _shown_codes(drawn)])
    moved = before != released
    chance = fractions(draws(key.secret, f"places of exchanged households/{place}", 1, np.arange(len(released))))
    low = np.full(int(released.max()) + 1, np.inf)
    high = np.full(int(released.max()) + 1, -np.inf)
    np.minimum.at(low, released[~moved], position[~moved])
    np.maximum.at(high, released[~moved], position[~moved])
    known = np.isfinite(low)
    base, span = np.where(known, low, 0.0), np.where(known, high - np.where(known, low, 0.0), 0.0)
    return np.where(moved, base[released] + chance * span[released], position)
