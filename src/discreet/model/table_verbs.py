"""What can be done with tables: the methods of :class:`Table` and :class:`TableSet` that other rooms carry out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, cast

from discreet.model import doors

if TYPE_CHECKING:
    from discreet.attack import Audit
    from discreet.methods.base import TablePublisher
    from discreet.model.hierarchy import Hierarchy
    from discreet.model.pattern import Pattern
    from discreet.model.pivot import Pivot
    from discreet.model.table import Table
    from discreet.model.tableset import TableSet
    from discreet.rules.base import Rule
    from discreet.verbs.already import Items
    from discreet.verbs.repair import Repair
    from discreet.verbs.structure import TableStructure


class TablesVerbs:
    """What can be done with one table and with a set alike."""

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
    ) -> Audit:
        """What attackers can work out where tables are published with a pattern.

        The pattern is that of the status column, which marks unsafe and secondary cells, or one that is given.

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

        Returns
        -------
        Audit
            For the custodian: counts, a frame with one row per cell, and a summary without confidential values.

        Raises
        ------
        ParameterError
            When the subject cannot be audited or a parameter is impossible.

        Examples
        --------
        Withholding the unsafe cells alone does not help, because they can be subtracted from the totals:

        >>> import discreet as ds
        >>> table = ds.examples.small_table().assess(ds.PPercent(10))
        >>> table.audit(insiders=None).recoverable
        1
        """
        return doors.audit(
            cast("Table | TableSet", self),
            pattern=pattern,
            already_published=already_published,
            insiders=insiders,
            coalitions=coalitions,
            known_within=known_within,
            joint=joint,
            sample=sample,
            exact=exact,
            seed=seed,
        )

    def pattern(self, name: str = "") -> Pattern:
        """Which cells are unsafe, secondary, forced or published, without a single value.

        Parameters
        ----------
        name
            Name of the pattern; by default the names of its tables.

        Examples
        --------
        >>> import discreet as ds
        >>> ds.examples.small_table().assess(ds.PPercent(10)).pattern().cells(status="unsafe")
        [('retail', 'South')]
        """
        return doors.pattern_of(cast("Table | TableSet", self), name)

    def repair(
        self,
        pattern: Pattern | str | Path,
        method: TablePublisher | None = None,
        *,
        already_published: Items = None,
    ) -> Repair:
        """Audit any pattern as it stands and complete it to a certified one.

        The pattern's cells stay withheld and its forced cells published; unsafe cells are withheld in any case. What
        else it takes is withheld at the least cost.

        Parameters
        ----------
        pattern
            From ``release.pattern()`` or ``ds.read_pattern``, or the path of a file that ``pattern.write`` made.
        method
            How to complete it; ``ds.Suppress()`` by default.
        already_published
            What is out already, as in :func:`protect`. The pattern is audited and completed together with all of it.

        Returns
        -------
        Repair
            With the release, the audit of the pattern as it stood, and the cells that were added.

        Raises
        ------
        InputError
            When the pattern names cells that the tables do not have, or contradicts them.
        ProtectionError
            When it cannot be completed, for example because of its forced cells; nothing is published then.

        Examples
        --------
        >>> import discreet as ds
        >>> table = ds.examples.small_table().assess(ds.PPercent(10))
        >>> done = table.repair(table.pattern())
        >>> done.held, done.added.num_rows
        (False, 3)
        """
        return doors.repair(cast("Table | TableSet", self), pattern, method, already_published=already_published)

    def structure(
        self,
        blocks: int | None = None,
        *,
        form: Literal["dual", "primal", "both"] = "both",
        balance: float = 0.1,
        starts: int = 10,
        seed: int = 1,
    ) -> TableStructure:
        """Nearly independent blocks of the relations of tables, and the cells or relations that link them.

        Parameters
        ----------
        blocks
            How many blocks. When left out, the parts that nothing links, where there are several, and otherwise two.
        form
            What links blocks: cells (``"dual"``) or relations (``"primal"``); ``"both"`` takes the form with the
            smaller share of links.
        balance
            How far halves may differ: the larger has at most (1 + balance) / 2 of what is halved, or one more than
            half.
        starts
            How many halvings are grown at each step, besides those made by levels; the best is taken.
        seed
            Chooses where they grow from; the same seed gives the same blocks.

        Returns
        -------
        TableStructure
            With ``summary()``, ``to_frame()``, ``plot()`` and the ``links`` by name.

        Raises
        ------
        ParameterError
            When a parameter is impossible.

        Examples
        --------
        >>> import discreet as ds
        >>> ds.examples.small_table().structure(form="primal").sizes
        [(2, 8), (2, 8)]
        """
        return doors.structure(
            cast("Table | TableSet", self), blocks, form=form, balance=balance, starts=starts, seed=seed
        )


class TableVerbs(TablesVerbs):
    """What can be done with one table."""

    @staticmethod
    def from_cells(
        cells: Any,
        by: Mapping[str, Hierarchy],
        value: str = "value",
        *,
        counts: bool = False,
        variable: str | None = None,
        compute_totals: bool = False,
        disjoint: bool | Literal["unknown"] = False,
        slack: float | Literal["rounded"] | None = None,
        decimals: int | None = None,
        delimiter: str = ",",
        **options: Any,
    ) -> Table:
        """A table from its cells, totals included.

        Besides the code columns and the value, these columns are used where they are there: ``contributors``,
        ``top1``, ``top2``, ..., ``status`` (V or S, U, P, M, E), ``lower_protection``, ``upper_protection``,
        ``lower_bound``, ``upper_bound``, ``cost``, ``record_key`` (the sum of the cell's record keys), ``holder1`` to
        ``holder3`` (who the largest contributors are, any code) and ``own1`` to ``own3`` (how much they have; ``top1``,
        ... when left out). An empty code stands for the total; an empty value for an empty cell.

        Parameters
        ----------
        cells
            Data frame, or path of a csv or Parquet file.
        by
            Variable to hierarchy.
        value
            Column of values.
        counts
            Whether the values are counts.
        variable
            Name of the value variable, where it is not the column's; part of the cells' identity.
        compute_totals
            Add missing totals from the finest cells instead of refusing.
        disjoint
            No contributor stands in two of the finest cells, so that contributors of computed totals add up. With
            ``"unknown"`` computed totals are judged by the worst that may be: as few contributors as possible, the
            largest of one cell being the largest of the others, too.
        slack
            How far a relation may be from adding up (rounded or weighted tables); ``"rounded"`` allows half a unit
            for each of its cells.
        decimals
            Decimals of the values; found when left out.
        delimiter
            Separator of a csv file.
        **options
            Further fields of :class:`~discreet.TableSpec`: ``name``, ``period``, ``where``, ``weight``, and ``cost``,
            the column that says what withholding a cell costs, where it is not called ``cost``.

        Raises
        ------
        InputError
            When a cell stands twice, a total is missing, statuses contradict values, or the cells do not add up.

        Notes
        -----
        Cells that have every combination of codes, zeros among them, are a table of all cells: methods that alter
        values then publish zeros, where they otherwise list none.

        Examples
        --------
        >>> import discreet as ds
        >>> import pyarrow as pa
        >>> cells = pa.table({"region": ["Total", "N", "S"], "value": [100, 60, 40]})
        >>> table = ds.Table.from_cells(cells, by={"region": ds.Hierarchy.flat(["N", "S"])})
        >>> table.value.tolist()
        [100, 60, 40]
        """
        return doors.table_from_cells(
            cells,
            by,
            value,
            counts=counts,
            variable=variable,
            compute_totals=compute_totals,
            disjoint=disjoint,
            slack=slack,
            decimals=decimals,
            delimiter=delimiter,
            **options,
        )

    def assess(
        self,
        *rules: Rule | Sequence[Rule],
        profile: str = "handbook",
        missing_safe: bool = False,
        manual_range: float = 20.0,
        unrelated: Sequence[str] = (),
    ) -> Table:
        """Find the unsafe cells and how much protection each needs.

        All rules are evaluated; a cell's level is the largest over those it breaks. Statuses set by hand stay.

        Parameters
        ----------
        *rules
            Rules such as ``ds.PPercent(10)``; a list of rules will do, too.
        profile
            ``"handbook"``, or ``"argus"`` for the order of tests and the symmetric levels of that program.
        missing_safe
            Leave cells alone whose code stands for "unknown".
        manual_range
            Level of cells marked unsafe by hand, in per cent of their value.
        unrelated
            Variables without a total of which one code is the sum of others by coincidence. Where it is no coincidence,
            the sum is a relation that readers know: declare it in the hierarchy.

        Returns
        -------
        Table
            The table with its assessment; ``table.unsafe`` says which cells may not be published.

        Examples
        --------
        >>> import discreet as ds
        >>> table = ds.examples.small_table().assess(ds.PPercent(10), ds.MinContributors(3))
        >>> [table.cell_name(row) for row in table.unsafe.nonzero()[0]]
        ['trade=retail, region=South']
        """
        return doors.assess(
            cast("Table", self),
            *rules,
            profile=profile,
            missing_safe=missing_safe,
            manual_range=manual_range,
            unrelated=unrelated,
        )

    def reasons(self, row: SupportsIndex) -> list[str]:
        """Why a cell is unsafe, in words for the custodian.

        Parameters
        ----------
        row
            Row of the cell: ``table.row(region="South")``.

        Examples
        --------
        >>> import discreet as ds
        >>> table = ds.examples.small_table().assess(ds.PPercent(10))
        >>> [reason.split(":")[0] for reason in table.reasons(table.row(trade="retail", region="South"))]
        ['p% rule']
        """
        return doors.reasons(cast("Table", self), row)

    def recode(
        self, variable: str, codes: Mapping[str, str] | int | str | Path, hierarchy: Hierarchy | None = None
    ) -> Table:
        """The table with codes of one variable put together.

        Where branches of a tree are closed, their cells are left out and the others stay as they are. Where codes are
        merged, a tabulated table is computed anew from its records, so that distinct contributors and largest
        contributions of the merged cells are right. A ready-made table does not know whether a contributor stands in
        several of the merged cells: it keeps its values and loses its contributors, and rules that need them then say
        so.

        Parameters
        ----------
        variable
            The variable to recode.
        codes
            Old base codes to new ones (codes left out stay; a code above them closes its branch), the level that a tree
            is cut at (its total is level 0), or a file: ``.grc`` of τ-ARGUS, or lines of old and new codes.
        hierarchy
            How the new codes add up; made from the old hierarchy when left out and codes of one parent are merged.

        Examples
        --------
        >>> import discreet as ds
        >>> table = ds.examples.small_table().recode("region", {"North": "Rest", "East": "Rest"})
        >>> table.spec.by["region"].base_codes
        ('Rest', 'South')
        """
        return doors.recode(cast("Table", self), variable, codes, hierarchy)

    def to_frame(self, backend: str | None = None) -> Any:
        """The cells of a table as a data frame; for the custodian's eyes.

        Parameters
        ----------
        backend
            ``"pyarrow"``, ``"pandas"``, ``"polars"`` or ``"duckdb"``; by default what the data came in.

        Examples
        --------
        >>> import discreet as ds
        >>> ds.examples.small_table().to_frame().column_names
        ['trade', 'region', 'value', 'contributors', 'status']
        """
        return doors.table_to_frame(cast("Table", self), backend)

    def to_pandas(self) -> Any:
        """The cells of a table as a pandas frame; for the custodian's eyes.

        Examples
        --------
        >>> import discreet as ds
        >>> ds.examples.small_table().to_pandas().shape
        (16, 5)
        """
        return self.to_frame("pandas")

    def pivot(self, rows: str | None = None, columns: str | None = None, at: Mapping[str, str] | None = None) -> Pivot:
        """The cells of a table as rows by columns, with their totals and statuses; for the custodian's eyes.

        Parameters
        ----------
        rows, columns
            Variables that go down and across; by default the first two, the longer one down.
        at
            The code at which each other variable stands; by default its total.

        Examples
        --------
        >>> import discreet as ds
        >>> ds.examples.small_table().assess(ds.PPercent(10)).pivot("region", "trade")
        turnover: region by trade
        region   Total  retail  food  crafts
        Total      920     400   300     220
          North    250     120    90      40
          East     250      80    60     110
          South    420   200 U   150      70
        """
        from discreet.model.pages import table_source
        from discreet.model.pivot import pivoted

        return pivoted(table_source(cast("Table", self)), rows, columns, at)
