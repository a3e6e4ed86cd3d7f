"""How well models tell a released file from the original: a million records each, twelve columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.registry import Measure, Timing, apart, case, timed

LOGISTIC, TREE, WHOLE = 10.0, 10.0, 60.0
"""Seconds of processor to stay below, for two files of a million records with twelve columns."""


def _files(rows: int) -> Any:
    """Twelve skewed columns that hang together, and the same with noise."""
    import numpy as np
    import pyarrow as pa

    from discreet.engine.record_set import read_record_set
    from discreet.measures.file_pair import pair_files
    from discreet.model.microdata import Microdata

    draw = np.random.default_rng(1)
    common = draw.normal(size=(rows, 1))
    before = np.exp(0.4 * (common + draw.normal(size=(rows, 12))))
    after = before + 0.3 * before.std(axis=0) * draw.normal(size=(rows, 12))
    tables = [pa.table({f"c{at}": values[:, at] for at in range(12)}) for values in (before, after)]
    return pair_files(*(read_record_set(Microdata(table)) for table in tables), aligned=True)


def logistic(rows: int) -> Timing:
    """The default logistic model: all products of two columns, 90 terms."""
    from discreet.measures.record_utility import logistic_propensity

    files = _files(rows)
    return timed(lambda: logistic_propensity(files)[0], lambda score: (score.terms, score.ratio), repeats=2)


def tree(rows: int) -> Timing:
    """A tree of ours on all records, and twenty more on mixed files."""
    import numpy as np

    from discreet.measures.propensity_tree import TreeColumn, tree_propensity

    files = _files(rows)
    columns = [
        TreeColumn(one.name, np.concatenate([one.before, one.after])[:: 2 * rows // 200_000 or 1])
        for one in files.columns
    ]
    originals = len(columns[0].values) // 2
    return timed(lambda: tree_propensity(columns, originals).score, lambda score: (score.terms + 1, score.z), repeats=2)


def whole(rows: int) -> Timing:
    """Everything that ``ds.utility`` measures without models."""
    from discreet.measures.record_utility import UtilityQuestion, measure_utility

    files = _files(rows)
    return timed(lambda: measure_utility(files, UtilityQuestion()), lambda found: len(found.findings), repeats=1)


@case("propensity")
def propensity(scale: float) -> Sequence[Measure]:
    """Two files of a million records and twelve columns; no design of all terms is ever in memory."""
    rows = int(1_000_000 * scale)
    fitted, grown, everything = apart(logistic, rows), apart(tree, rows), apart(whole, rows)
    about = f"two files of {rows:,} records, 12 columns of numbers"
    settings = [
        f"{about}; {fitted.answer[0]} terms, {fitted.answer[1]:.1f} times two samples, {fitted.peak:.1f} GiB",
        f"{about}, 200,000 records of them; {grown.answer[0]} leaves, z {grown.answer[1]:.0f}, beside 20 mixed files",
        f"{about}; {everything.answer} findings, {everything.peak:.1f} GiB",
    ]
    return [
        Measure("logistic propensity, CPU s, against the limit", fitted.warm_cpu, LOGISTIC, 1.0, settings[0]),
        Measure("tree propensity, CPU s, against the limit", grown.warm_cpu, TREE, 1.0, settings[1]),
        Measure("all of ds.utility, CPU s, against the limit", everything.warm_cpu, WHOLE, 1.0, settings[2]),
    ]
