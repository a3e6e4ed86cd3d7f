"""``ds.utility``: what readers lose by a release of tables, and analysts by a file of records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from discreet.comparison.record_utility import record_utility
from discreet.comparison.utility import Utility, table_utility
from discreet.errors import ParameterError, counted, listed
from discreet.measures.suite import GROUPS, SMALL
from discreet.measures.utility_copies import over_releases
from discreet.measures.utility_result import RecordUtility
from discreet.model.custodian import RecordCustodian, TableCustodian
from discreet.model.release import Release
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.watching import watched

if TYPE_CHECKING:
    from discreet.analyse.formulas import ModelFormula
    from discreet.measures.imputation import Imputation
    from discreet.measures.record_utility import Score
    from discreet.measures.statistic_changes import Cuts, Groups, Statistic


@overload
def utility(
    data: Release[TableCustodian],
    released: Table | TableSet | None = None,
    *,
    tables: Table | TableSet | None = None,
    imputation: Imputation | None = None,
    rows: str | None = None,
    base: int | None = None,
    groups: int = GROUPS,
    small: Collection[int] = SMALL,
    levels: bool = True,
) -> Utility: ...


@overload
def utility(
    data: Any,
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
) -> RecordUtility: ...


@watched
def utility(data: Any, released: Any = None, **asked: Any) -> Any:
    """Measure what a release has cost its readers: of tables, or of records beside the original ones.

    Parameters
    ----------
    data
        A release of tables or of records; or the original records: a data frame, ``Microdata``, a path.
    released
        The released records, in any of these forms, or a release of them. They may have other rows (synthetic files).
        A list of several is measured on average.
        Of a release of tables, the true tables where they are not its own.
    tables
        Of records, tables to compare: ``[["age", "sex"], ["region"]]``. Of tables, the same as ``released``.
    imputation, rows, base, groups, small, levels
        For tables: how withheld cells are filled (``"zero"``, ``"row_mean"``, ``"weighted"``); the variable whose codes
        are the rows; the base of rounding; groups and small counts as in
        :func:`discreet.measures.table_measures`; whether all levels are measured.
    models
        Models to fit to both files: ``"income ~ age + sex"``, ``"logit: employed ~ log(income) + age * region"``,
        ``"poisson: children ~ age + age^2"``. One that fails is reported.
    by
        Columns whose groups have statistics of their own; numbers make groups of 0-20, 20-40, 40-60, 60-80, 80-90 and
        90-100 per cent of the records unless ``{"income": [0, 50, 100]}`` says otherwise.
    statistics
        Any of ``"mean"``, ``"median"``, ``"sd"`` and ``"total"``.
    ratios
        Ratios of two columns record by record, which have statistics too: ``["debt / income"]``.
    columns
        Columns to compare; all that both files have where left out.
    numeric, categories
        Columns to take as numbers although they are text (those of csv files are), and as codes although they are
        numbers.
    weight
        Column of weights; that with the role where left out. It counts in statistics, distributions and models.
    aligned
        Whether record ``i`` of one file is record ``i`` of the other. Where it is left out, the rows of a release are,
        and those of files that share an identifier are matched by it. Other files are not.
    cuts
        Whether groups of numbers are cut in ``"each"`` file by itself, or where they are in the ``"original"``.
    propensity
        Which models try to tell the files apart: ``"logistic"``, ``"tree"``, ``"both"`` or ``"none"``.
    degree
        Degree of the logistic one; the richest of at most 100 terms where left out.
    leaf, draws, seed
        Of the tree: records in a leaf at least, how often files are mixed at random to see what is found where there is
        nothing, and the seed of that.
    limits
        Changes in per cent up to which a statistic is close, and up to which it moved.
    importance
        How much columns (and ratios) count in findings and in the battery of matrices: ``{"income": 5, "note": 0}``;
        1 where one is not named, 0 leaves it out. Lists of all columns stay as they are.

    Returns
    -------
    Utility or RecordUtility
        Print it; ``to_frame`` has all numbers. Both hold statistics of true values, for the custodian.

    Raises
    ------
    ParameterError
        When an option is for the other kind of release, or cells are withheld and no imputation is chosen.
    InputError
        When the files or tables cannot be compared.

    Notes
    -----
    Sources: Shlomo and Young (2006), Langsrud (2021) for tables; Kennickell and Lane (2006), Woo and others (2009) and
    Templ (2006) for records.

    Examples
    --------
    >>> import discreet as ds, numpy as np, pyarrow as pa
    >>> draw = np.random.default_rng(1)
    >>> age = draw.integers(20, 65, 500)
    >>> people = pa.table({"age": age, "wage": age * 50 + draw.normal(0, 300, 500)})
    >>> noisy = people.set_column(1, "wage", pa.array(people["wage"].to_numpy() + draw.normal(0, 30, 500)))
    >>> found = ds.utility(people, noisy, models=["wage ~ age"], aligned=True)
    >>> found["overlap"] > 0.9, found["percent"] < 1
    (True, True)
    """
    if isinstance(data, Release) and isinstance(data.custodian, TableCustodian):
        if released is not None and not isinstance(released, Table | TableSet):
            raise ParameterError(
                f"A release of tables is compared with tables, not with a {type(released).__name__}.",
                hint="Give ds.utility(release), or a release of records.",
            )
        if released is not None:
            asked = {"tables": released, **asked}
        _refuse(asked, TABLE_OPTIONS, "tables")
        return table_utility(data, **asked)
    if isinstance(data, Table | TableSet):
        raise ParameterError(f"Cannot measure a {type(data).__name__}.", hint="Give what ds.protect returned.")
    _refuse(asked, RECORD_OPTIONS, "records")
    if isinstance(released, list | tuple):
        if not released:
            raise ParameterError("There is no released file in the list.", hint="Give at least one.")
        return over_releases([record_utility(data, one, **asked) for one in released])
    return record_utility(data, released, **asked)


TABLE_OPTIONS = ("tables", "imputation", "rows", "base", "groups", "small", "levels")
RECORD_OPTIONS = (
    *("models", "tables", "by", "statistics", "ratios", "columns", "numeric", "categories", "weight", "aligned"),
    *("cuts", "propensity", "degree", "leaf", "draws", "seed", "limits", "importance"),
)


def _refuse(asked: Collection[str], known: Sequence[str], subject: str) -> None:
    wrong = [name for name in asked if name not in known]
    if wrong:
        which = counted(len(wrong), "option")
        raise ParameterError(
            f"The utility of {subject} does not have the {which.split(' ', 1)[1]} {listed(wrong)}.",
            hint=f"It has {listed(known, 20)}.",
        )


def release_utility(
    release: Release[Any],
    tables: Any = None,
    *,
    imputation: Imputation | None = None,
    rows: str | None = None,
    base: int | None = None,
    groups: int = GROUPS,
    small: Collection[int] = SMALL,
    levels: bool = True,
    **records: Any,
) -> Any:
    """Measure what a release has cost its readers; :func:`utility` says what each parameter means."""
    if not isinstance(release.custodian, RecordCustodian):
        _refuse(records, TABLE_OPTIONS, "tables")
        return table_utility(
            release, tables, imputation=imputation, rows=rows, base=base, groups=groups, small=small, levels=levels
        )
    usual = (imputation, rows, base, groups, tuple(small), levels) == (None, None, None, GROUPS, tuple(SMALL), True)
    if not usual:
        raise ParameterError(
            "A release of records has no cells to fill, and no levels.", hint=f"It has {listed(RECORD_OPTIONS, 20)}."
        )
    return utility(release, tables=tables or (), **records)
