"""Releases: what goes out, and what stays with the custodian, as separate types."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from discreet.errors import ParameterError
from discreet.model import doors
from discreet.model.custodian import RecordCustodian, TableCustodian
from discreet.model.public import PublicRelease
from discreet.model.tableset import TableSet

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from discreet.attack import Audit, RecordAudit
    from discreet.comparison.utility import Utility
    from discreet.files.published.heading import Heading
    from discreet.measures.imputation import Imputation
    from discreet.measures.utility_result import RecordUtility
    from discreet.model.microdata import Microdata
    from discreet.model.pattern import Pattern
    from discreet.model.pivot import Pivot
    from discreet.model.table import Table
    from discreet.report.value_images import ValueImage
    from discreet.verbs.already import Items
    from discreet.verbs.prices import PriceList
    from discreet.verbs.steps import Steps
    from discreet.verify import Verdict
else:
    from typing import TypeVar as _TypeVar

    def TypeVar(name: str, **_options: Any) -> _TypeVar:
        """A type variable; only type checkers look at its bound and default."""
        return _TypeVar(name)


C = TypeVar("C", bound="TableCustodian | RecordCustodian", default="TableCustodian")


@dataclass(frozen=True, eq=False, repr=False)
class Release(Generic[C]):
    """The result of ``ds.protect``: a public part, and a custodian part that must be asked for.

    A release of tables has a :class:`TableCustodian`, one of records a :class:`RecordCustodian`.

    Examples
    --------
    >>> import discreet as ds
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> release.verify().holds
    True
    >>> release.public.tables[0].status.count("X")
    4
    """

    public: PublicRelease
    custodian: C = field(repr=False)

    def __repr__(self) -> str:
        return repr(self.public)

    def _repr_html_(self) -> str:
        from discreet.model import pages

        return pages.release_page(self)

    def summary(self, *, prices: bool = False) -> str:
        """What was done, in a few lines, without confidential values.

        Parameters
        ----------
        prices
            Say what each promise of suppressed tables costs, too: the tables are protected several times for that.

        Examples
        --------
        >>> import discreet as ds
        >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
        >>> print(release.summary().splitlines()[0])
        turnover: 16 cells, 1 unsafe, 3 withheld besides, 12 published
        """
        return doors.summary(self, prices=prices)

    def prices(self: Release[TableCustodian], *, effort: int | None = None) -> PriceList:
        """What each promise of a suppressed release costs: weaker and stronger ones are tried on the same tables.

        Parameters
        ----------
        effort
            How many linear programs may be spent on each pattern; as many as the release was allowed where left out,
            none for tables of more than 20,000 cells.

        Returns
        -------
        PriceList
            Cells withheld and the share of their value, promise by promise.

        Examples
        --------
        >>> import discreet as ds
        >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
        >>> [price.promise for price in release.prices().prices if price.here]
        ['sums of withheld cells are safe, too']
        """
        return doors.prices(self, effort=effort)

    def verify(self, data: Microdata | None = None) -> Verdict:
        """Re-check every claim of a release with the independent checker.

        Parameters
        ----------
        data
            The records: the cells, and what the method took from the records, are then made anew and compared.

        Returns
        -------
        Verdict
            What was proved, against which attackers and bounds, and what was only asserted. ``verdict.holds`` is true
            where no claim failed; print the verdict to read it.

        Examples
        --------
        >>> import discreet as ds
        >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
        >>> release.verify().holds
        True
        """
        return doors.verify(self, data)

    @overload
    def audit(
        self: Release[RecordCustodian],
        *,
        sample: int | None = ...,
        seed: int = ...,
        columns: Sequence[str] | None = ...,
        most: float | None = ...,
        holdout: Any = ...,
    ) -> RecordAudit: ...

    @overload
    def audit(
        self: Release[TableCustodian],
        *,
        pattern: Pattern | None = ...,
        already_published: Items = ...,
        insiders: Literal["full", "nonzero", "as released"] | None = ...,
        coalitions: bool | None = ...,
        known_within: float | Literal["as released"] | None = ...,
        joint: bool | None = ...,
        sample: int | None = ...,
        exact: bool | None = ...,
        seed: int = ...,
    ) -> Audit: ...

    def audit(
        self,
        *,
        pattern: Pattern | None = None,
        already_published: Items = None,
        insiders: Literal["full", "nonzero", "as released"] | None = "as released",
        coalitions: bool | None = None,
        known_within: float | Literal["as released"] | None = "as released",
        joint: bool | None = None,
        sample: int | None = None,
        exact: bool | None = None,
        seed: int = 0,
        columns: Sequence[str] | None = None,
        most: float | None = None,
        holdout: Any = None,
    ) -> Audit | RecordAudit:
        """What attackers can work out of the release, of tables with all that it is certified with.

        Parameters
        ----------
        pattern
            What is withheld instead, for assessed tables: any pattern, as it stands. Unsafe cells that it publishes are
            counted.
        already_published
            What is out besides the tables, as in :func:`protect`; a release says it itself.
        insiders
            What must hold against every contributor who knows its own contributions, for every unsafe cell that it does
            not fill alone: ``"full"``, the cell keeps its level, downwards against all but its largest contributor and
            those whose own contribution leaves no room for it; ``"nonzero"``, it is not known exactly. None leaves
            insiders out. By default as the release claims it, and ``"nonzero"`` for tables and patterns.
        coalitions
            Whether the same must hold of any two contributors together. By default as the release claims it, and not
            for tables and patterns.
        known_within
            Everybody knows each cell to within so many per cent of its value; None, only what bounds say. By default as
            the release claims it, and None for tables and patterns.
        joint
            Whether known sums of withheld cells are judged too. By default as the release claims it, and so for tables
            and patterns; never for a sample.
        sample
            Look at so many unsafe cells, chosen at random, instead of all withheld cells.
        exact
            Find both ends of every interval; otherwise only whether levels are kept and whether cells are known
            exactly, which is much faster. By default up to 5,000 withheld cells, and never for a sample.
        seed
            Chooses the sample. What is found of a cell does not depend on it.
        columns
            Of records: columns of which an intruder has the original values; keys and altered numbers where left out.
            ``sample`` says how many records are tried then: 20,000 where left out.
        most
            Of records: the largest share of right guesses that is allowed.
        holdout
            Of records: some that were not used to make the file. What attacks find of them is the baseline.

        Returns
        -------
        Audit or RecordAudit
            For the custodian. Of tables, counts, a frame with one row per cell, and a summary without confidential
            values; of records, a :class:`discreet.attack.RecordAudit` with one line per attack.

        Raises
        ------
        ParameterError
            When the subject cannot be audited or a parameter is impossible.

        Examples
        --------
        >>> import discreet as ds
        >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
        >>> release.audit(insiders=None).short
        0
        """
        answer: Audit | RecordAudit = doors.audit(  # type: ignore[call-overload,misc]
            self,
            pattern=pattern,
            already_published=already_published,
            insiders=insiders,
            coalitions=coalitions,
            known_within=known_within,
            joint=joint,
            sample=sample,
            exact=exact,
            seed=seed,
            columns=columns,
            most=most,
            holdout=holdout,
        )
        return answer

    @overload
    def utility(
        self: Release[TableCustodian],
        tables: Table | TableSet | None = None,
        *,
        imputation: Imputation | None = None,
        rows: str | None = None,
        base: int | None = None,
        groups: int = 20,
        small: Collection[int] = (1, 2),
        levels: bool = True,
    ) -> Utility: ...

    @overload
    def utility(
        self: Release[RecordCustodian], tables: Sequence[Sequence[str]] | None = None, **records: Any
    ) -> RecordUtility: ...

    def utility(
        self,
        tables: Any = None,
        *,
        imputation: Imputation | None = None,
        rows: str | None = None,
        base: int | None = None,
        groups: int = 20,
        small: Collection[int] = (1, 2),
        levels: bool = True,
        **records: Any,
    ) -> Any:
        """Measure what the release has cost its readers.

        Parameters
        ----------
        tables
            Of a release of tables, the true tables where they are not its own; they must have the same cells. Of one of
            records, tables to compare: ``[["age", "sex"]]``.
        imputation
            How a reader fills withheld cells: ``"zero"``, ``"row_mean"`` or ``"weighted"``. Must be chosen where cells
            are withheld.
        rows
            The variable whose codes are the rows (areas); by default the first of each table.
        base
            Of rounding, for the exact test of bias.
        groups, small
            As in :func:`discreet.measures.table_measures`.
        levels
            Measure every combination of levels of the hierarchies, and not only the finest cells.
        records
            Of a release of records, all that :func:`discreet.utility` takes: ``models``, ``by``, ``weight`` and so on.

        Returns
        -------
        Utility or RecordUtility
            A frame of measures, and a summary.

        Raises
        ------
        ParameterError
            When cells are withheld and no imputation is chosen.
        InputError
            When the tables are not those of the release.

        Examples
        --------
        >>> import discreet as ds
        >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
        >>> release.utility(imputation="row_mean")["totals_absolute"]
        0.0
        """
        return doors.release_utility(
            self,
            tables,
            imputation=imputation,
            rows=rows,
            base=base,
            groups=groups,
            small=small,
            levels=levels,
            **records,
        )

    def to_frame(self, table: str | None = None, backend: str | None = None) -> Any:
        """The public part of a release as a data frame: codes, value, status.

        Parameters
        ----------
        table
            Which table, where there are several.
        backend
            ``"pyarrow"``, ``"pandas"`` or ``"polars"``; by default what the records came in.

        Examples
        --------
        >>> import discreet as ds
        >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
        >>> release.to_frame(backend="pyarrow").column_names
        ['trade', 'region', 'value', 'status']
        """
        return doors.to_frame(self, table, backend)

    def to_pandas(self, table: str | None = None) -> Any:
        """The public part of a release as a pandas frame.

        Parameters
        ----------
        table
            Which table, where there are several.

        Examples
        --------
        >>> import discreet as ds
        >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
        >>> release.to_pandas().status.value_counts().to_dict()
        {'V': 12, 'X': 4}
        """
        return self.to_frame(table, "pandas")

    def pivot(
        self: Release[TableCustodian],
        rows: str | None = None,
        columns: str | None = None,
        at: Mapping[str, str] | None = None,
        *,
        table: str | None = None,
    ) -> Pivot:
        """A public table as rows by columns, with its totals; withheld cells are marked ``X``.

        A table with altered values lists no zeros; here they are filled in, and the pivot says how many.

        Parameters
        ----------
        rows, columns
            Variables that go down and across; by default the first two, the longer one down.
        at
            The code at which each other variable stands; by default its total.
        table
            Which table, where there are several.

        Examples
        --------
        >>> import discreet as ds
        >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
        >>> release.pivot()
        turnover: trade by region
        trade     Total  North  East  South
        Total       920    250   250    420
          retail    400      X    80      X
          food      300     90    60    150
          crafts    220      X   110      X
        """
        if not self.public.tables:
            raise ParameterError("A release of records has no table to pivot.", hint="to_frame() gives its records.")
        chosen = self.public.tables[0] if table is None else self.public[table]
        from discreet.model import pages
        from discreet.model.pivot import pivoted

        kind = pages.kind_of_table(self.custodian.tables.tables[0])
        return pivoted(pages.public_source(chosen, kind), rows, columns, at)

    def pattern(self: Release[TableCustodian], name: str = "") -> Pattern:
        """Which cells are withheld, unsafe or forced: codes and statuses, never a value.

        Parameters
        ----------
        name
            Name of the pattern; by default the names of its tables.

        Examples
        --------
        >>> import discreet as ds
        >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
        >>> release.pattern().count("secondary")
        3
        """
        return doors.pattern_of(self, name)

    def map_image(self: Release[TableCustodian], label: str = "The map before and after units moved") -> str:
        """Hexagons before and after a re-distribution, side by side, with the moves; an inline ``svg`` element.

        For the custodian: the map before is what must not be published.

        Parameters
        ----------
        label
            Words for those who cannot see the image.

        Raises
        ------
        NeedsError
            When the release is not one of ``ds.Redistribute`` on a ``ds.HexGrid``, or matplotlib is not installed.

        Examples
        --------
        >>> import discreet as ds
        >>> import pyarrow as pa
        >>> homes = pa.table({"x": [0.0, 0.1, 0.2, 0.1, 0.2, 1.0], "y": [0.0] * 6})
        >>> table = ds.tabulate(homes, by={"place": ds.HexGrid("x", "y", size=1.0)}).assess()
        >>> ds.protect(table, ds.Redistribute(3)).map_image().startswith("<svg")
        True
        """
        return doors.map_image(self, label)

    def value_image(
        self: Release[RecordCustodian],
        kind: ValueImage = "densities",
        columns: Sequence[str] | None = None,
    ) -> str:
        """Columns of numbers before and after, as an inline ``svg`` element.

        For the custodian: what was before must not be published.

        Parameters
        ----------
        kind
            ``"densities"``: how values are spread. ``"quantiles"``: quantiles
            after against those before. ``"covariances"``: ellipses of pairs of the first three columns.
            ``"correlations"``: by how much correlations changed. ``"biplot"``: records and columns on the first two
            principal components. ``"convergence"``: how the loss of learnt groups fell.
        columns
            Which columns; those that were altered and hold numbers where left out.

        Raises
        ------
        NeedsError
            When no such column was altered, or matplotlib is not installed.

        Examples
        --------
        >>> import pyarrow as pa, discreet as ds
        >>> firms = ds.Microdata(pa.table({"x": [1, 2, 3, 7, 8, 9], "y": [2, 1, 4, 8, 6, 9]}), numeric=["x", "y"])
        >>> ds.protect(firms, ds.Microaggregate(k=3)).value_image("quantiles").startswith("<svg")
        True
        """
        return doors.value_image(self, kind, columns)

    def replay(self, log: Mapping[str, Any] | None = None) -> Release[C]:
        """Repeat the work of a release from its cells and its log; the result must be the same.

        Parameters
        ----------
        log
            The log to go by; that of the release when left out.

        Examples
        --------
        >>> import discreet as ds
        >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
        >>> release.replay().pattern().digest == release.pattern().digest
        True
        """
        return doors.replay(self, log)

    def without(self: Release[RecordCustodian], step: int | str, *instead: Steps) -> Release[RecordCustodian]:
        """Take back one step of a release of records: all others act again on the original, with the same key.

        The rules stay: where the records are not safe without the step, there is no release. Publish one of both only;
        together they tell what the step was to hide.

        Parameters
        ----------
        step
            Its number, from 0 or from the end when negative; or its name, such as ``"recode age"`` or
            ``"local_suppress"``.
        *instead
            Methods that act where it stood.

        Examples
        --------
        >>> import pyarrow as pa, discreet as ds
        >>> people = ds.Microdata(pa.table({"age": [3, 17, 19, 70, 81, 9], "pay": [0, 0, 1, 9, 2, 0]}), keys=["age"])
        >>> steps = [ds.Recode("age", intervals=[15, 65]), ds.Recode("pay", top=5)]
        >>> coarse = ds.protect(people, steps, keep_order=True)
        >>> coarse.without("recode pay").public.records.shown()["pay"]
        [0, 0, 1, 9, 2, 0]
        """
        return doors.without(self, step, *instead)

    def save(
        self,
        folder: str | Path,
        *,
        report: bool | str = False,
        formats: Sequence[str] = ("csv",),
        restricted: Sequence[str] = (),
        heading: Heading | None = None,
        sign: str | Path | None = None,
        replace: bool = False,
    ) -> str:
        """Write a release: ``public/`` for the world, ``custodian/`` (mode 0700) for the house.

        All or nothing: what was in the folder before stays until the new release is complete, and a folder that is
        not a release of ours is never touched. The same release, made again, takes the place of the one that is there;
        another one does so only with ``replace=True``.

        Parameters
        ----------
        folder
            Where it goes.
        report
            Write ``custodian/report.html`` too; a text is taken as the page. Records in the format ``"asc"`` get
            ``custodian/mu_argus_report.html`` besides.
        formats
            Formats of the public files: ``"csv"`` (always), ``"xlsx"``, ``"jsonstat"``, ``"sdmx-csv"``,
            ``"sdmx-json"``, ``"px"``, ``"parquet"``, ``"sav"``, ``"dta"``.
        restricted
            Transmissions to offices that may see confidential values, in ``restricted/`` (mode 0700): ``"sdmx-csv"`` or
            ``"sdmx-json"`` with true values and ``CONF_STATUS``.
        heading
            Agency, units, source and time that some formats state.
        sign
            File of the office's signing key (``discreet signing-key`` makes one): the release is signed with it, so
            that nobody else can change it unnoticed.
        replace
            Let it take the place of another release, whose evidence goes with it.

        Returns
        -------
        str
            The seal: the digest of the list of all files. Keep it elsewhere: whoever may write into the folder can
            change files and seal them anew, and ``discreet verify --seal`` finds that out.

        Examples
        --------
        >>> import discreet as ds, tempfile
        >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
        >>> with tempfile.TemporaryDirectory() as parent:
        ...     seal = release.save(f"{parent}/out")
        ...     ds.check_folder(f"{parent}/out").holds
        True
        """
        return doors.save(
            self,
            folder,
            report=report,
            formats=formats,
            restricted=restricted,
            heading=heading,
            sign=sign,
            replace=replace,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickled release is its public part: the custodian's travels by ``save`` only."""
        return (_same, (self.public,))


def _same(public: PublicRelease) -> PublicRelease:
    return public
