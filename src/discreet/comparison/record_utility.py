"""Files and releases of records to what analysts lose by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.analyse.formulas import ModelFormula
from discreet.comparison.model_fits import model_of_both
from discreet.engine.any_records import records_of
from discreet.errors import InputError, ParameterError, counted, listed
from discreet.measures.file_pair import pair_files
from discreet.measures.record_utility import UtilityQuestion, measure_utility
from discreet.measures.statistic_changes import ChangeLimits
from discreet.measures.utility_result import RecordUtility
from discreet.model.custodian import RecordCustodian
from discreet.model.records import IDENTIFIER, WEIGHT, RecordSet
from discreet.model.release import Release
from discreet.verbs.load import load

if TYPE_CHECKING:
    from discreet.measures.record_utility import Score
    from discreet.measures.statistic_changes import Cuts, Groups, Statistic


class _Sides(NamedTuple):
    """Both files, whether their records are the same in the same order, and what to know about that."""

    original: RecordSet
    released: RecordSet
    aligned: bool
    notes: tuple[str, ...] = ()


def record_utility(
    original: Any,
    released: Any = None,
    *,
    models: Sequence[str | ModelFormula] = (),
    tables: Sequence[Sequence[str]] = (),
    by: Groups = None,
    statistics: Sequence[Statistic] = ("mean", "median"),
    ratios: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    numeric: Sequence[str] = (),
    categories: Sequence[str] = (),
    weight: str | None = None,
    aligned: bool | None = None,
    cuts: Cuts = "each",
    propensity: Score = "both",
    degree: int | None = None,
    leaf: int | None = None,
    draws: int = 20,
    seed: int = 1,
    limits: tuple[float, float] = (1.0, 5.0),
    importance: Mapping[str, float] | None = None,
) -> RecordUtility:
    """Measure what analysts lose by a released file; :func:`discreet.utility` says what each parameter means."""
    sides = _sides(original, released, aligned)
    own = weight if weight is not None else next(iter(sides.original.with_role(WEIGHT)), None)
    files = pair_files(
        sides.original,
        sides.released,
        columns=_names("columns", columns),
        numeric=_names("numeric", numeric) or (),
        categories=_names("categories", categories) or (),
        weight=own,
        aligned=sides.aligned,
    )
    question = UtilityQuestion(
        tables=tables,
        statistics=(statistics,) if isinstance(statistics, str) else statistics,
        ratios=tuple(_names("ratios", ratios) or ()),
        by=by,
        cuts=cuts,
        propensity=propensity,
        degree=degree,
        leaf=leaf,
        draws=draws,
        seed=seed,
        limits=_limits(limits),
        importance={} if importance is None else importance,
    )
    formulas = [one if isinstance(one, ModelFormula) else ModelFormula.read(one) for one in _models(models)]
    fits = [model_of_both(files, formula) for formula in formulas]
    found = measure_utility(files, question, fits)
    return found.with_notes(sides.notes)


def _models(models: Any) -> Sequence[Any]:
    if isinstance(models, str | ModelFormula):
        return (models,)
    if isinstance(models, Mapping) or not isinstance(models, Sequence):
        raise ParameterError(f"models={models!r} is not allowed.", hint="Write models=['income ~ age + sex'].")
    return models


def _names(argument: str, given: Any) -> Sequence[str] | None:
    if given is None:
        return None
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ParameterError(f"{argument}={given!r} is not allowed.", hint="Give names of columns in a list.")
    return tuple(names)


def _limits(given: Any) -> ChangeLimits:
    good = isinstance(given, Sequence) and len(given) == 2 and all(isinstance(one, int | float) for one in given)
    if not good or not 0 < given[0] < given[1]:
        raise ParameterError(f"limits={given!r} is not allowed.", hint="Give two changes in per cent: (1, 5).")
    return ChangeLimits(float(given[0]), float(given[1]))


# ---- which files --------------------------------------------------------------------------------------------


def _sides(original: Any, released: Any, aligned: bool | None) -> _Sides:
    """The two files that are meant."""
    original, released = (_loaded(one) for one in (original, released))
    if isinstance(original, Release) and released is None:
        custodian = _custodian(original)
        return _Sides(custodian.original, custodian.released, aligned is not False)
    if released is None:
        raise ParameterError(
            "The utility of a file is measured beside another.",
            hint="Give ds.utility(original, released), or ds.utility(release).",
            recipe_hint="Give two files, or the folder of a release.",
        )
    first = _custodian(original).original if isinstance(original, Release) else records_of(original)
    if isinstance(released, Release):
        custodian = _custodian(released)
        if aligned is None:
            aligned = _same_records(first, custodian.original)
        notes = () if aligned else ("The records are not those that the release was made from.",)
        return _Sides(first, custodian.released, aligned, notes)
    second = records_of(released)
    if aligned is not None:
        return _Sides(first, second, aligned)
    return _matched(first, second)


def _loaded(given: Any) -> Any:
    """A release from its folder; all else as it is."""
    if isinstance(given, str):
        given = Path(given)
    return load(given) if isinstance(given, Path) and given.is_dir() else given


def _custodian(release: Release[Any]) -> RecordCustodian:
    if not isinstance(release.custodian, RecordCustodian):
        raise ParameterError(
            "This is a release of tables, and another file is beside it.", hint="Give ds.utility(release) alone."
        )
    return release.custodian


def _same_records(one: RecordSet, two: RecordSet) -> bool:
    """Whether two files hold the same in the same order."""
    return len(one) == len(two) and one.names == two.names and one.columns.equals(two.columns)


def _matched(original: RecordSet, released: RecordSet) -> _Sides:
    """Records matched by identifiers that both files have; not matched where there are none."""
    names = [name for name in original.with_role(IDENTIFIER) if name in released.names]
    if not names:
        return _Sides(original, released, aligned=False)
    places = [_places(records, names) for records in (original, released)]
    if None in places:
        raise InputError(f"Identifiers in {listed(names)} occur twice in a file.", hint="Give aligned=False.")
    first, second = places
    assert first is not None
    assert second is not None
    if first.keys() != second.keys():
        apart = len(first.keys() ^ second.keys())
        note = f"{counted(apart, 'identifier', 'are')} in one file only: records were not matched."
        return _Sides(original, released, aligned=False, notes=(note,))
    order = np.array([second[one] for one in first], np.int64)
    return _Sides(original, RecordSet(released.columns.take(order), released.info), aligned=True)


def _places(records: RecordSet, names: Sequence[str]) -> dict[Any, int] | None:
    """The row of each identifier; nothing where one occurs twice."""
    import pyarrow as pa

    values = zip(*(records[name].cast(pa.string()).to_pylist() for name in names), strict=True)
    found = {one: row for row, one in enumerate(values)}
    return found if len(found) == len(records) else None
