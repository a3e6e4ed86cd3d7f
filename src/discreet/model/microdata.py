"""Records with roles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from discreet.errors import ParameterError, listed, unknown_name
from discreet.model import doors
from discreet.model.address import Address, stays_in_its_engine
from discreet.model.condition import parse_conditions
from discreet.model.hierarchy import Hierarchy
from discreet.model.records import (
    CONTRIBUTOR,
    HOUSEHOLD,
    IDENTIFIER,
    KEY,
    NUMERIC,
    RECORD_KEY,
    REQUEST,
    SENSITIVE,
    WAIVER,
    WEIGHT,
    RecordAssessment,
)

if TYPE_CHECKING:
    from discreet.measures.risk_result import RecordRisk
    from discreet.rules.records import RecordRule

Names = str | Sequence[str]
EngineName = Literal["memory", "duckdb", "columns", "remote"]
ROLES = {
    "contributor": CONTRIBUTOR,
    "weight": WEIGHT,
    "waiver": WAIVER,
    "request": REQUEST,
    "record_key": RECORD_KEY,
    "keys": KEY,
    "sensitive": SENSITIVE,
    "numeric": NUMERIC,
    "household": HOUSEHOLD,
    "identifier": IDENTIFIER,
}
"""Arguments of :class:`Microdata` that name columns, and what these are then."""
FIXED = (".asc", ".saf")
"""How files of fixed fields end: read as csv, their first record would be taken for names of columns and shown."""
TOGETHER = ({CONTRIBUTOR, IDENTIFIER}, {CONTRIBUTOR, HOUSEHOLD})
"""Pairs of roles that one column may have: who contributes may be the unit itself."""


@dataclass(frozen=True, eq=False)
class Microdata:
    """A data frame or a file of records, and what its columns are.

    Parameters
    ----------
    source
        A data frame (pandas, polars, also lazy, pyarrow, duckdb) or the path of a csv, Parquet, xlsx, SPSS (sav), Stata
        (dta) or SAS (sas7bdat) file; for files of records also a folder of Parquet parts. Records that stay where they
        are: the address of a table, such as ``"postgres://user:password@host/database/table"``, an ibis table or a
        Spark frame.
    contributor
        Column that says who a record belongs to (firm, holding); records of one contributor add up before
        the rules look at them. Without it every record is a contributor of its own.
    weight
        Column of sampling weights.
    waiver
        Column of true/false: the contributor agrees to publication. One record without consent withdraws it.
    request
        Column of 0, 1, 2: the contributor has asked for protection under the first or second parameter set.
    record_key
        Column of record keys, fractions in [0, 1) or whole numbers.
    missing
        Per variable the code that stands for an empty field; an empty field is an error otherwise.
    recode
        Per variable a map of old codes to new ones (changes between periods).
    delimiter
        Separator of a csv file.
    decimal
        Sign before decimals in a csv file: ``"."`` or ``","``. With a comma, thousands may stand apart (``1.234,5``).
    encoding
        Encoding of a csv file, such as ``"latin-1"``.
    sheet
        Sheet of an xlsx file; its first when left out.
    keys
        Columns by which somebody may be recognised (age, sex, region): readers are taken to know them.
    sensitive
        Columns that nobody should learn of a person, such as a diagnosis.
    numeric
        Columns of numbers that are no keys, such as income.
    household
        Column that says which household a record belongs to. A public file has other numbers in it.
    identifier
        Columns that name a person or firm: no public file has them. Together they name one record.
    strata
        Columns within whose codes methods for records work apart.
    hierarchies
        Per column its hierarchy.
    labels
        Words for columns.
    value_labels
        Per column words for its codes.
    missing_codes
        Per column the codes that stand for "unknown".
    leave_out
        Conditions such as ``"networth > 8e8"``: records that meet one of them are left out of a file of records before
        anything else. The log, which stays with the custodian, says how many. Tables have ``where`` instead.
    engine
        What makes tables of the records: ``"memory"``; ``"duckdb"`` for csv and Parquet files larger than memory; or
        ``"columns"`` where ``source`` is a folder of columns, which is mapped and not read; ``"remote"`` where the
        records stay in a database or cluster, which is taken for addresses, ibis tables and Spark frames. All give the
        same answer.

    Examples
    --------
    >>> import pyarrow as pa
    >>> Microdata(pa.table({"age": ["20-29"], "name": ["Ann"]}), keys=["age"], identifier="name")
    Microdata(Table, keys='age', identifier='name')
    """

    source: Any
    contributor: str | None = None
    weight: str | None = None
    waiver: str | None = None
    request: str | None = None
    record_key: str | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    recode: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    sheet: str | None = None
    keys: Names = ()
    sensitive: Names = ()
    numeric: Names = ()
    household: str | None = None
    identifier: Names = ()
    strata: Names = ()
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing_codes: Mapping[str, Names] = field(default_factory=dict)
    leave_out: Any = ()
    engine: EngineName = "memory"
    assessment: RecordAssessment | None = field(default=None, repr=False)
    encoded: Any = field(default=None, repr=False)
    taken: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        if self.source is None:
            raise ParameterError("Microdata needs a data frame or the path of a file.")
        if isinstance(self.source, str):
            found = Address.parse(self.source) if "://" in self.source else Path(self.source)
            object.__setattr__(self, "source", found)
        if isinstance(self.source, Path) and self.source.suffix.lower() in FIXED:
            raise ParameterError(
                f"{self.source.name!r} has no separators: its metadata say where fields begin.",
                hint=f"Use ds.read_argus({self.source.name!r}).microdata, with the .rda file beside it.",
                recipe_hint='Give [data] metadata = "....rda", the file that describes the fields.',
            )
        if isinstance(self.source, Path) and needs_text(self.source, self.decimal, self.encoding, self.sheet):
            object.__setattr__(self, "source", self.as_text())
        for name in ("keys", "sensitive", "numeric", "identifier", "strata"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        if self.engine not in get_args(EngineName):
            raise ParameterError(unknown_name("engine", str(self.engine), get_args(EngineName)))
        if stays_in_its_engine(self.source) and self.engine == "memory" and not self.taken:
            object.__setattr__(self, "engine", "remote")
        codes = {column: _names("missing_codes", given) for column, given in self.missing_codes.items()}
        object.__setattr__(self, "missing_codes", codes)
        object.__setattr__(self, "leave_out", parse_conditions(self.leave_out))
        _refuse_two_roles(list(self._named_roles()))

    def _named_roles(self) -> Iterator[tuple[str, str]]:
        """Columns and their roles."""
        for argument, role in ROLES.items():
            given = getattr(self, argument)
            for column in (given,) if isinstance(given, str) else given or ():
                yield column, role

    @property
    def roles(self) -> dict[str, str]:
        """The role of every column that has one; a contributor that is also an identifier counts as the latter."""
        return dict(self._named_roles())

    @property
    def is_file(self) -> bool:
        """Whether the records lie in a file."""
        return isinstance(self.source, Path)

    def with_(self, **changes: Any) -> Microdata:
        """The same with other fields."""
        return replace(self, **changes)

    def on(self, engine: EngineName) -> Microdata:
        """The same records with another engine; the same object every time, so that tables know they have one source.

        Examples
        --------
        >>> data = Microdata("firms.parquet")
        >>> data.on("memory") is data, data.on("duckdb") is data.on("duckdb")
        (True, True)
        """
        others: dict[str, Microdata] = self.__dict__.setdefault("_others", {self.engine: self})
        if engine not in others:
            # Whoever asks for memory by name takes the records out of the engine that they lie in.
            made = replace(self, engine=engine, taken=engine == "memory")
            made.__dict__["_others"] = others
            others.setdefault(engine, made)  # another thread may have been first
        return others[engine]

    def assess(self, *rules: RecordRule | Sequence[RecordRule]) -> Microdata:
        """Count the records that break each rule; what was found is in ``assessment`` of the data that is given back.

        Parameters
        ----------
        *rules
            Rules such as ``ds.KAnonymity(3)``; a list of rules will do, too.

        Examples
        --------
        >>> import discreet as ds
        >>> import pyarrow as pa
        >>> people = pa.table({"age": ["20-29", "20-29", "30-39"], "sex": ["f", "f", "m"]})
        >>> ds.Microdata(people, keys=["age", "sex"]).assess(ds.KAnonymity(2)).assessment.unsafe
        (1,)
        """
        return doors.assess(self, *rules)

    def risk(
        self,
        keys: Names | None = None,
        *,
        sensitive: Names | None = None,
        weight: str | None = None,
        household: str | None = None,
        k: int = 3,
        size: int = 3,
        missing: Literal["category", "any", "exempt"] = "category",
        threshold: float = 0.1,
        fraction: float | None = None,
        original: Microdata | Any = None,
        numeric: Names | None = None,
        truth: str | Sequence[int] | None = None,
        same_order: bool = False,
    ) -> RecordRisk:
        """Who can be recognised in the records, by whom, and why.

        Parameters
        ----------
        keys
            Columns that an intruder may know; those with the role of keys where left out.
        sensitive
            Columns that nobody should learn of a person; those with that role where left out.
        weight
            Column of sampling weights; that with the role where left out. Without weights the file is taken for the
            whole population, and a record that shares its keys with ``f - 1`` others has a risk of ``1 / f``.
        household
            Column of households; that with the role where left out.
        k
            Combinations that occur fewer times are unsafe.
        size
            Sets of up to so many keys are counted.
        missing
            What an empty field means: ``"category"``, a value of its own; ``"any"``, it agrees with every value;
            ``"exempt"``, a record is not judged by sets of keys in which it is empty.
        threshold
            Individual risks above it are counted.
        fraction
            The share of the population that is in the file, where it has no weights.
        original
            Records that an intruder may have, in original values: the file is linked with them and attacked as a
            release is. Releases bring their own.
        numeric
            Beside ``original``: numbers of which the intruder has original values besides keys; those with that role
            where left out.
        truth
            Beside ``original``: which record is whose. A column of both files, or for each original row that of the
            file, -1 for none; an identifier by its role where left out. Without any, records are not linked, and that
            is said.
        same_order
            Beside ``original``, in place of ``truth``: row ``i`` of one file is row ``i`` of the other.

        Examples
        --------
        >>> import pyarrow as pa, discreet as ds
        >>> people = ds.Microdata(pa.table({"age": ["old", "young", "young"]}), keys=["age"])
        >>> people.risk().uniques
        1
        """
        return doors.risk(
            self,
            keys,
            sensitive=sensitive,
            weight=weight,
            household=household,
            k=k,
            size=size,
            missing=missing,
            threshold=threshold,
            fraction=fraction,
            original=original,
            numeric=numeric,
            truth=truth,
            same_order=same_order,
        )

    def as_text(self) -> Any:
        """All columns of the file as text, in an Arrow table; what is a number is found out when it is asked for.

        Files with a decimal comma, in another encoding or of Excel are read this way as soon as they are named.

        Examples
        --------
        >>> import tempfile, discreet as ds
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "firms.csv")
        ...     size = file.write_text("region;sales\\n01;1.234,5\\n")
        ...     firms = ds.Microdata(file, delimiter=";", decimal=",")
        >>> ds.tabulate(firms, by={"region": ds.Hierarchy.flat(["01"])}, value="sales").values.tolist()
        [1234.5, 1234.5]
        """
        return doors.as_text(self)

    def prepared(self) -> Microdata:
        """The same records, read and encoded once however many questions are asked of them.

        Columns are read when a question first needs them, and kept in memory. ``tabulate`` and ``protect`` give the
        same answers as without.

        Examples
        --------
        >>> import pyarrow as pa, discreet as ds
        >>> people = ds.Microdata(pa.table({"area": ["N", "S", "S"], "sex": ["m", "f", "m"]})).prepared()
        >>> area, sex = ds.Hierarchy.flat(["N", "S"]), ds.Hierarchy.flat(["m", "f"])
        >>> [ds.tabulate(people, by=by).values.tolist() for by in ({"area": area}, {"sex": sex})]
        [[3.0, 1.0, 2.0], [3.0, 2.0, 1.0]]
        """
        return doors.prepared(self)

    def roles_given(self) -> list[tuple[str, str | Names]]:
        """The roles that were given, and the columns that have them."""
        return [(role, given) for role in ROLES if (given := getattr(self, role))]

    def __repr__(self) -> str:
        roles = self.roles_given()
        words = ", ".join(f"{k}={(v if isinstance(v, str) else ', '.join(v))!r}" for k, v in roles)
        what = self.source.name if isinstance(self.source, Path | Address) else type(self.source).__name__
        return f"Microdata({what}, {words or 'no roles'})"

    def _repr_html_(self) -> str:
        from discreet.model.pages import microdata_page

        return microdata_page(self)


def needs_text(path: Path, decimal: str, encoding: str, sheet: str | None) -> bool:
    """Whether a file is read as text as a whole, because of how it is written."""
    plain = encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig")
    return path.suffix.lower() == ".xlsx" or sheet is not None or decimal != "." or not plain


def _names(argument: str, given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ParameterError(f"{argument}={given!r} is not allowed.", hint="Give names of columns in a list.")
    if len(set(names)) < len(names):
        raise ParameterError(f"{argument}= names a column twice: {listed(names)}.", hint="Name every column once.")
    return tuple(names)


def _refuse_two_roles(named: Sequence[tuple[str, str]]) -> None:
    seen: dict[str, str] = {}
    for column, role in named:
        if column in seen and {seen[column], role} not in TOGETHER:
            raise ParameterError(
                f"Column {column!r} is given as {seen[column]} and as {role}.", hint="Give every column one role."
            )
        seen[column] = role
