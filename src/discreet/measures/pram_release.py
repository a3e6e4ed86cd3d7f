"""The risk of a post-randomised release, for its custodian: combinations of codes that stay unsafe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.errors import ParameterError, ResourceError, listed
from discreet.measures.pram import PramRisk, along_axes, judged
from discreet.measures.pram_estimates import MOST_CELLS, records_by_stratum
from discreet.model.arrays import Floats, Ints
from discreet.model.custodian import RecordCustodian
from discreet.model.records import RecordSet, stands_for_unknown
from discreet.model.release import Release
from discreet.model.transition import TransitionMatrix
from discreet.model.transition_codes import coded, in_order


def released_pram_risk(release: Release[RecordCustodian], keys: Sequence[str], threshold: float) -> PramRisk:
    """Which combinations of keys stay unsafe in a post-randomised release, by the rule of Bayes.

    It judges the columns as the first post-randomisation found them, and what it and later ones did to them; other
    steps after it are not considered. Records with an empty field or a code for "unknown" among the keys are left out.

    Parameters
    ----------
    release
        The release, with its custodian part.
    keys
        Columns by which somebody may be recognised together.
    threshold
        Combinations that occur so often are safe as they are.

    Notes
    -----
    Source: de Wolf (2006). See :func:`discreet.measures.pram_risk` for the rule.

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> people = pa.table({"sex": ["m", "f"] * 300, "place": ["A"] * 590 + ["B"] * 10})
    >>> release = ds.protect(ds.Microdata(people), ds.Pram({"place": "2E(0.8)"}, insecure_seed=1))
    >>> risk = ds.measures.released_pram_risk(release, ["place", "sex"], 50)
    >>> risk.rare, risk.unsafe
    (2, 0)
    """
    custodian = release.custodian
    steps = [step for step in custodian.steps if step.evidence.method["method"] == "pram"]
    if not steps or not keys:
        raise ParameterError(
            "Nothing in the release was post-randomised." if keys else "There are no keys.",
            hint="Give a release made with ds.Pram(...), and the keys to judge.",
        )
    records = _before(custodian)
    _refuse_changed_between(custodian, keys)
    matrices = [TransitionMatrix.from_record(m) for step in steps for m in step.evidence.facts["matrices"]]
    mine = [matrix for matrix in matrices if matrix.column in keys]
    category = any(step.evidence.method["missing"] == "category" for step in steps)
    axes = [_axis(records, name, mine, category=category) for name in keys]
    shape = tuple(len(codes) for codes, _ in axes)
    if np.prod([float(size) for size in shape]) > MOST_CELLS:
        raise ResourceError(
            f"The keys {listed(keys)} have more than {MOST_CELLS:,} combinations.", hint="Judge fewer keys at a time."
        )
    known = np.all([place >= 0 for _, place in axes], axis=0)
    within = list(dict.fromkeys(name for matrix in mine for name in matrix.within))
    times, kept, expected = (np.zeros(shape) for _ in range(3))
    for stratum, rows in records_by_stratum(records.columns, within).items():
        some = rows[known[rows]]
        place = np.ravel_multi_index(tuple(place[some] for _, place in axes), shape)
        counts = np.bincount(place, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
        named = dict(zip(within, stratum, strict=True))
        chances = [_chances(mine, name, codes, named) for name, (codes, _) in zip(keys, axes, strict=True)]
        times += counts
        expected += along_axes(counts, chances)
        kept += counts * _diagonal(chances, shape)
    return judged(times, kept, expected, threshold)


def _before(custodian: RecordCustodian) -> RecordSet:
    """The records as the first post-randomisation found them."""
    records = custodian.original
    for step in custodian.steps:
        if step.evidence.method["method"] == "pram":
            break
        records = records.with_columns({name: step.changed[name] for name in step.changed.column_names})
    return records


def _refuse_changed_between(custodian: RecordCustodian, keys: Sequence[str]) -> None:
    """Refuse keys and strata that a step changed between the first post-randomisation and their own."""
    changed: set[str] = set()
    for step in custodian.steps:
        method = step.evidence.method
        drawn = method["method"] == "pram"
        if drawn and changed & {*(set(method["matrices"]) & set(keys)), *step.evidence.facts["within"]}:
            raise ParameterError(
                "A key or stratum was changed between two post-randomisations.",
                hint="Post-randomise last, each key once; or give counts and matrices to ds.measures.pram_risk.",
            )
        if drawn or changed:
            changed.update(step.changed.column_names)


def _axis(
    records: RecordSet, name: str, matrices: Sequence[TransitionMatrix], *, category: bool
) -> tuple[list[str], Ints]:
    """Codes of a key and the place of every record's code; -1 for empty fields and codes for "unknown"."""
    texts, place = coded(records[name])
    missing = () if category else records.about(name).missing
    listing = {*texts, *(code for matrix in matrices if matrix.column == name for code in matrix.codes)}
    codes = in_order(code for code in listing if code and not stands_for_unknown(code, missing))
    where = {code: i for i, code in enumerate(codes)}
    return codes, np.array([*(where.get(text, -1) for text in texts), -1], np.int64)[place]


def _chances(
    matrices: Sequence[TransitionMatrix], name: str, codes: Sequence[str], stratum: Mapping[str, Any]
) -> Floats | None:
    """The matrix of a key over all its codes, in a stratum; nothing where it was left alone."""
    for matrix in matrices:
        if matrix.column == name and all(stratum[n] == c for n, c in zip(matrix.within, matrix.stratum, strict=True)):
            found = np.eye(len(codes))
            where = {code: i for i, code in enumerate(codes)}
            shown = [i for i, code in enumerate(matrix.codes) if code in where]
            places = [where[matrix.codes[i]] for i in shown]
            found[np.ix_(places, places)] = matrix.chances[np.ix_(shown, shown)]
            return found
    return None


def _diagonal(chances: Sequence[Floats | None], shape: Sequence[int]) -> Floats:
    found = np.ones(())
    for matrix, size in zip(chances, shape, strict=True):
        found = np.multiply.outer(found, np.ones(size) if matrix is None else np.diag(matrix))
    return found
