"""Methods for records compared: who still stands out, and how much of the columns is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from discreet.comparison.naming import method_name, unlike
from discreet.comparison.result import Comparison
from discreet.comparison.writing import DONE, ended
from discreet.engine.record_set import read_record_set, with_identity
from discreet.errors import InputError, NeedsError, ParameterError
from discreet.keys import Key
from discreet.measures.file_pair import ON_PURPOSE, pair_files
from discreet.measures.record_utility import logistic_propensity
from discreet.measures.records import changed_share, entropy_lost, rare_share
from discreet.measures.values import value_losses, value_pair
from discreet.methods.base import RecordMethod
from discreet.model.custodian import RecordCustodian
from discreet.model.microdata import Microdata
from discreet.model.records import HOUSEHOLD, KEY, NEVER_PUBLIC, NUMERIC, RecordSet
from discreet.parallel import shared, sharing
from discreet.progress import checkpoint
from discreet.report.riskmap import Axis
from discreet.rules.linkage import MaxLinked
from discreet.verbs.protect_records import step_of
from discreet.verify import check_records

RISK, LOSS = "risk", "loss"


def compare_records(
    data: Microdata, methods: Any, *, k: int = 3, runs: int = 1, seed: int = 0, jobs: int | None = None
) -> Comparison:
    """Run methods for records on the same records, and measure what each would publish. Nothing is published.

    Parameters
    ----------
    data
        The records, with their keys or their columns of numbers.
    methods
        Methods for records, or lists of them that act in order; a mapping gives them names of one's own.
    k
        A combination of keys that occurs fewer times is rare.
    runs, seed
        How often methods that draw at random run, and what their keys are made of.
    jobs
        How many processes share methods and runs; they are sent the records. One where left out.
    """
    named = _named(methods)
    records = with_identity(
        read_record_set(data, [name for steps in named.values() for s in steps for name in s.numbers])
    )
    keys, numbers = records.with_role(KEY), records.with_role(NUMERIC)
    if not keys and not numbers:
        raise NeedsError(
            "Records are compared by their keys and their numbers, and neither are given.",
            hint="Give Microdata(keys=[...]), or Microdata(numeric=[...]).",
        )
    if isinstance(k, bool) or not isinstance(k, int) or k < 2:
        raise ParameterError(f"k={k!r} is not allowed.", hint="Give a whole number of at least 2.")
    axes = _axes(bool(keys), bool(numbers), k)
    tried = [
        _Tried(name, run, steps, records, keys, k, Key.from_seed(seed + run), axes)
        for name, steps in named.items()
        for run in range(runs if any(step.secret for step in steps) else 1)
    ]
    rows: list[dict[str, Any]] = []
    seconds = dict.fromkeys(named, 0.0)
    checkpoint("compare", 0, len(tried))
    with sharing(jobs), closing(shared(_timed, lambda one: one, tried, "compare", threads=False)) as results:
        for one, (row, took) in zip(tried, results, strict=True):
            rows.append(row)
            seconds[one.name] += took
    return Comparison(tuple(rows), seconds, axes)


class _Tried(NamedTuple):
    """One run of one method; its key is made of a seed, and no secret."""

    name: str
    run: int
    steps: Sequence[RecordMethod]
    records: RecordSet
    keys: Sequence[str]
    k: int
    key: Key
    axes: Sequence[Axis]


def _timed(one: _Tried) -> tuple[dict[str, Any], float]:
    """What is measured of a run, and the seconds that it took."""
    start = perf_counter()
    return _row(*one), perf_counter() - start


def _axes(keys: bool, numbers: bool, k: int) -> tuple[Axis, ...]:
    """What is measured: by keys, by numbers, or by both."""
    by_keys = (
        Axis("rare", f"records whose keys occur fewer than {k} times", RISK),
        Axis("unique", "records whose keys occur once", RISK),
    )
    linked = (Axis("linked", "records that are found again by their nearest numbers", RISK),)
    of_all = (
        Axis("lost", "what the columns tell, and tell no more, on average", LOSS),
        Axis("changed", "values that are not what they were", LOSS),
    )
    told_apart = (Axis("pmse", "how well a model tells released records from original ones (pMSE)", LOSS, share=False),)
    of_numbers = (
        Axis("il1", "distance of numbers, in standard deviations times the root of two", LOSS, share=False),
        Axis("mean", "relative changes of means, summed over columns", LOSS, share=False),
        Axis("variances", "relative changes of variances, summed over columns", LOSS, share=False),
        Axis("correlation", "relative changes of correlations, summed over columns", LOSS, share=False),
    )
    risks = (*(by_keys if keys else ()), *(linked if numbers else ()))
    # Of numbers alone, what every record tells by itself says little: nearly all values are lost as such.
    losses = (*(of_all if keys or not numbers else of_numbers), *(of_numbers if keys and numbers else ()))
    return (*risks, *losses, *(of_all if numbers and not keys else ()), *told_apart)


def _row(
    name: str,
    run: int,
    steps: Sequence[RecordMethod],
    records: RecordSet,
    keys: Sequence[str],
    k: int,
    key: Key,
    axes: Sequence[Axis],
) -> dict[str, Any]:
    row: dict[str, Any] = {"method": name, "run": run, "status": DONE, "flag": "", "note": ""}
    row |= dict.fromkeys(axis.name for axis in axes)
    try:
        done, now = [], records
        for step in steps:
            outcome = step.run(now, key if step.secret else None)
            now = now.with_columns(outcome.changed)
            done.append(step_of(outcome))
        order = np.arange(len(records))
        custodian = RecordCustodian("records", records, tuple(done), order, (), {}, keeps_order=True)
        refused = [r for r in check_records(custodian, custodian.public()).refused if "nearly unique" not in r.message]
        row["flag"] = f"its evidence does not verify: {refused[0]}" if refused else ""
        shown = [n for n in records.names if records.about(n).role not in (*NEVER_PUBLIC, HOUSEHOLD)]
        before, after = ({n: some[n] for n in shown} for some in (records, now))
        if keys:
            row |= {"rare": rare_share(now, keys, k), "unique": rare_share(now, keys, 2)}
        row |= {"lost": entropy_lost(before, after), "changed": changed_share(before, after)}
        row |= _of_numbers(records, now)
        row["pmse"] = _told_apart(records, now)
    except Exception as error:  # one that fails must not stop the others; its row says why
        row["status"] = ended(error)
    return row


def _told_apart(records: RecordSet, now: RecordSet) -> float | None:
    """How well released records are told from original ones; nothing where columns hold something else now."""
    files = pair_files(records, now, aligned=True)
    if any(one.note and not one.note.startswith(ON_PURPOSE) for one in files.standings):
        return None
    try:
        return logistic_propensity(files)[0].mean
    except InputError:  # too few records, or no column that varies
        return None


def _of_numbers(records: RecordSet, now: RecordSet) -> dict[str, float]:
    """What is measured of columns of numbers; nothing of those that are no numbers any more."""
    import pyarrow as pa

    numbers = [
        name
        for name in records.with_role(NUMERIC)
        if pa.types.is_integer(now[name].type) or pa.types.is_floating(now[name].type)
    ]
    if not numbers:
        return {}
    pair = value_pair(records, now, numbers)
    if len(pair.before) < 2:
        return {}
    losses = value_losses(pair).to_dict()
    found = {name: losses[name] for name in ("il1", "mean", "variances", "correlation")}
    return {"linked": MaxLinked(columns=tuple(numbers)).links(records, now).share, **found}


def _named(methods: Any) -> dict[str, list[RecordMethod]]:
    """Alternatives by name, each a list of steps."""
    hint = "For example [ds.Recode('age', top=85), [ds.Recode(...), ds.Recode(...)]], or a mapping of names."
    if isinstance(methods, RecordMethod) or not methods:
        raise ParameterError("There are no methods to compare.", hint=hint)
    pairs = []
    for name, given in methods.items() if isinstance(methods, Mapping) else ((None, given) for given in methods):
        steps = list(given) if isinstance(given, list | tuple) else [given]
        for step in steps:
            if not isinstance(step, RecordMethod):
                raise ParameterError(f"Cannot compare a {type(step).__name__} on records.", hint=hint)
        pairs.append((name or " + ".join(method_name(step) for step in steps), steps))
    return unlike(pairs)
