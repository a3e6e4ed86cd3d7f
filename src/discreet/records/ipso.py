"""The method ``Ipso``: values of columns are drawn from their regression on columns that stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from discreet.errors import InputError, ProtectionError, counted, listed
from discreet.keys import Key
from discreet.methods.base import Keyed, RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Floats, Ints
from discreet.model.claims.ipso import NEARLY, ipso_claim
from discreet.model.evidence import Evidence
from discreet.model.records import RecordSet
from discreet.parameters import Number
from discreet.progress import steps as in_steps
from discreet.records.exact_columns import FLOAT_LIMIT, WHOLE_LIMIT, ExactColumn
from discreet.records.regression_draws import (
    NO_VARIANCE,
    RegressionFit,
    model_basis,
    model_columns,
    moment_change,
    regression_fit,
    synthetic_values,
)
from discreet.records.synthesis.columns import content_of
from discreet.records.together import (
    RowsTogether,
    refuse_given_roles,
    refuse_given_twice,
    rows_with_gaps,
    short_number,
)
from discreet.records.value_columns import (
    exact_column,
    refuse_repeated,
    stratum_of,
    value_columns,
    with_units,
)

if TYPE_CHECKING:
    from discreet.records.additive.landing import Landing

LEAST_FREE = 1e-3
"""The share of a column that given ones must leave open."""
LEAST_FREE_RECORD = 1e-2
"""The share of a record's residual that a regression must leave open."""


@dataclass(frozen=True)
class Ipso(Keyed, RecordMethod):
    """Replace values of columns by draws from their regression on columns that stay.

    What analysts find by regressions stays, exactly where asked for; what a value said of its record beyond the given
    columns goes (information preserving statistical obfuscation, Burridge 2003).

    Parameters
    ----------
    columns
        Columns of numbers that are replaced; those with the role ``numeric`` where left out.
    given
        Columns that stay, and that the model goes by: numbers, dates, or codes. Those of csv files are codes unless
        they are called numbers: ``Microdata(numeric=[...])``.
    variant
        ``"a"``: drawn around what the regression says. ``"b"``: and the coefficients of the regression stay exactly.
        ``"c"``: and the covariances of its residuals, so that means and covariances of all these columns stay, too.
        ``"fit"``: what the regression says, without any scatter.
    decimals
        Decimals of the values that are published; those that each column has where left out. Whole numbers stay whole.
        What is exact is so to the rounding.
    nonnegative
        Values that fall below zero become zero, and are counted; coefficients are not exact then.
    missing
        Records with gaps in several columns that are replaced together are refused (``"refuse"``), or have a regression
        with those that have the same gaps (``"apart"``). Gaps themselves always stay.
    version
        Version of the draws.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> table = pa.table({"staff": [1, 2, 3, 4, 5, 6, 7, 8, 9], "sales": [10, 25, 20, 45, 40, 70, 60, 95, 90]})
    >>> method = ds.Ipso(["sales"], given=["staff"], decimals=3, insecure_seed=1)
    >>> release = ds.protect(ds.Microdata(table), method)
    >>> round(sum(release.public.records.shown()["sales"]), 2), release.verify().holds
    (455.0, True)
    """

    kind: ClassVar[str] = "ipso"
    secret: ClassVar[bool] = True
    columns: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    variant: Literal["fit", "a", "b", "c"] = "c"
    decimals: Annotated[int, Number(least=0, most=9)] | None = None
    nonnegative: bool = False
    missing: Literal["refuse", "apart"] = "refuse"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_repeated(self.columns)
        refuse_given_twice(self.given, self.columns, "be replaced")

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that it takes numbers from."""
        return self.columns

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Draw the columns from their regressions."""
        from discreet.records.additive.landing import landed

        assert key is not None
        names = value_columns(records, self.columns, "Ipso")
        refuse_given_twice(self.given, names, "be replaced")
        refuse_given_roles(records, self.given)
        exact = [exact_column(records, name) for name in names]
        model = model_columns(records, self.given)
        ways = [self._landing(records, name, column) for name, column in zip(names, exact, strict=True)]
        told = self._told(records, names, exact)
        tally = IpsoTally(len(names))
        new = [np.zeros(len(records), np.int64) for _ in names]
        for part in in_steps("records", self._parts(records, names, exact)):
            units = [exact[place].units[part.rows] for place in part.places]
            least = [int(column.min()) for column in units]
            values = np.column_stack([column - low for column, low in zip(units, least, strict=True)]).astype(float)
            fit = self._fit(part, [names[place] for place in part.places], values, model[part.rows])
            normals = self._normals(records, key, names, part, told)
            drawn = synthetic_values(fit, normals, self.variant)
            shown = np.empty_like(values)
            for i, place in enumerate(part.places):
                _refuse_beyond(names[place], exact[place], ways[place], drawn[:, i] + least[i])
                done = landed(units[i], drawn[:, i] - values[:, i], ways[place], least[i])
                new[place][part.rows] = done.units
                tally.count(place, done.cut, done.codes, done.sums[0])
                shown[:, i] = _from_least(done.units, ways[place].finer, least[i])
            tally.fitted(part.places, fit, moment_change(fit, values, shown))
        return self._outcome(records, key, names, exact, ways, new, tally)

    # ---- which rows have a regression of their own -------------------------------------------------------------

    def _parts(self, records: RecordSet, names: Sequence[str], exact: Sequence[ExactColumn]) -> list[RowsTogether]:
        """Rows of each stratum, apart where they have other gaps."""
        gaps = np.stack([column.gaps for column in exact], axis=1)
        empty = [name for name, column in zip(names, gaps.T, strict=True) if column.any()]
        if empty and len(names) > 1 and self.missing == "refuse":
            raise InputError(
                f"{counted(int(gaps.any(axis=1).sum()), 'record', 'have')} gaps in {listed(empty)}, and "
                f"{counted(len(names), 'column')} are replaced together.",
                hint="Fill them in first, replace columns one by one, or give records with the same gaps a regression "
                'of their own (missing="apart").',
            )
        parts = list(rows_with_gaps(records, names, stratum_of(records), gaps))
        if not parts:
            raise InputError(f"There is no value in any of {listed(names)}.", hint="Name columns that hold numbers.")
        return parts

    def _fit(self, part: RowsTogether, names: Sequence[str], values: Floats, model: Floats) -> RegressionFit:
        """The regression of a part, where it has enough records and leaves something open."""
        basis = model_basis(model)
        needed = basis.shape[1] + len(names) + 1
        if len(values) < needed:
            raise InputError(
                f"There {'is' if len(values) == 1 else 'are'} {counted(len(values), 'record')}{part.where}, and "
                f"{counted(len(names), 'column')} with a regression of rank {basis.shape[1]} need at least {needed}.",
                hint="Merge strata, name fewer columns, or give fewer or broader given= columns.",
            )
        for name, column in zip(names, values.T, strict=True):
            if column.max() == 0:  # from the least value on
                raise InputError(
                    f"All values of {name!r}{part.where} are equal: there is nothing to draw, and they would stay.",
                    hint="Leave the column out, or merge strata.",
                )
        fit = regression_fit(values, basis)
        wrong = [name for name, share in zip(names, fit.explained, strict=True) if 1 - share < LEAST_FREE]
        if wrong:
            raise ProtectionError(
                f"{listed(wrong)} {'follows' if len(wrong) == 1 else 'follow'} from {listed(self.given)}{part.where}: "
                "values would stay nearly as they are.",
                hint="Take the columns that say the same out of given=, or replace them, too.",
            )
        self._refuse_alone(part, basis)
        return fit

    def _refuse_alone(self, part: RowsTogether, basis: Floats) -> None:
        """Refuse records that a regression follows by themselves: without a residual, values stay as they are."""
        if self.variant == "a":  # residuals are as large for all records
            return
        alone = int((1 - (basis**2).sum(axis=1) < LEAST_FREE_RECORD).sum())
        if alone:
            raise ProtectionError(
                f"{counted(alone, 'record', 'are')} alone in {listed(self.given)}{part.where}: the regression follows "
                f"{'it' if alone == 1 else 'each'}, and values would stay nearly as they are.",
                hint="Merge codes that one record has, top-code numbers far from all others, give fewer given= "
                'columns, or use variant="a".',
            )

    def _told(self, records: RecordSet, names: Sequence[str], exact: Sequence[ExactColumn]) -> tuple[Any, ...]:
        """What draws are for: the parameters, all values that are replaced, and those that the model goes by.

        Residuals are the draws less what they have in common with the given columns; with the same draws for other
        ones, two releases would have more in common than what is true of the records.
        """
        assert records.identity is not None
        order, content = np.argsort(records.identity, kind="stable"), blake2b(digest_size=16)
        content.update(records.identity[order].astype("<u8").tobytes())
        for column in exact:
            content.update(column.units[order].astype("<i8").tobytes())
        for name in (*self.given, *records.strata):  # earlier steps may have changed what has the same name
            content.update(content_of(records[name], order))
        return list(names), list(self.given), self.variant, list(records.strata), content.hexdigest()

    def _normals(
        self, records: RecordSet, key: Key, names: Sequence[str], part: RowsTogether, told: Sequence[Any]
    ) -> Floats:
        from discreet.records.additive.normal_draws import normal_draws

        assert records.identity is not None
        purposes = [self.purpose(f"ipso/{names[place]}", *told) for place in part.places]
        return normal_draws(key.secret, purposes, self.version, records.identity[part.rows]).T

    # ---- what comes out ----------------------------------------------------------------------------------------

    def _landing(self, records: RecordSet, name: str, column: ExactColumn) -> Landing:
        from discreet.records.additive.landing import Landing

        there = column.units[~column.gaps]
        if self.nonnegative and len(there) and there.min() < 0:
            raise InputError(
                f"Column {name!r} has values below zero, and nonnegative=True.",
                hint="Leave nonnegative out, or replace such columns in a step of their own.",
            )
        finer = 0 if self.decimals is None else self.decimals - column.decimals
        unknown = records.about(name).missing
        return Landing(name, column.decimals, finer, 1, self.nonnegative, False, False, unknown)

    def _outcome(
        self,
        records: RecordSet,
        key: Key,
        names: Sequence[str],
        exact: Sequence[ExactColumn],
        ways: Sequence[Landing],
        new: Sequence[Ints],
        tally: IpsoTally,
    ) -> RecordOutcome:
        changed = {}
        for place, (name, column, way) in enumerate(zip(names, exact, ways, strict=True)):
            changed[name] = with_units(records[name], new[place], column, way.decimals + way.finer, name)
            if tally.kept[place] == int((~column.gaps).sum()):
                raise ProtectionError(
                    f"No value of {name!r} changed: residuals are smaller than the unit of its numbers.",
                    hint="Give more decimals=, or fewer columns as given=.",
                )
        facts: dict[str, Any] = {
            "columns": list(names),
            "decimals": [way.decimals + way.finer for way in ways],
            "strata": list(records.strata),
            "moments": self.variant != "a" and not any((*tally.cut, *tally.codes)),
            "kept": tally.kept,
            "cut": tally.cut,
            "codes": tally.codes,
            "explained": tally.explained,
            "least": tally.least,
            "fixed": tally.fixed,
            "off": tally.off,
            "insecure": key.insecure,
        }
        plain = self.record()
        evidence = Evidence(plain, ipso_claim(plain, facts), facts=facts)
        return RecordOutcome(changed, evidence, tuple(_notes(facts)))


class IpsoTally:
    """What came of the columns, over all parts: counts, and the worst of what was found."""

    def __init__(self, columns: int) -> None:
        self.kept, self.cut, self.codes = ([0] * columns for _ in range(3))
        self.explained = [0.0] * columns
        self.least, self.fixed = 1.0, 0
        self.off = [0.0, 0.0]

    def count(self, place: int, cut: int, codes: int, kept: int) -> None:
        """Add what landed of a column."""
        self.cut[place] += cut
        self.codes[place] += codes
        self.kept[place] += int(kept)

    def fitted(self, places: Sequence[int], fit: RegressionFit, change: Sequence[float]) -> None:
        """Take in a regression, and how far new values are from what it says."""
        for place, share in zip(places, fit.explained, strict=True):
            self.explained[place] = max(self.explained[place], short_number(share))
        self.least = min(self.least, short_number(max(float(fit.eigenvalues[0]), 0.0)))
        self.fixed = max(self.fixed, int((fit.eigenvalues <= NO_VARIANCE).sum()))
        self.off = [max(one, short_number(two)) for one, two in zip(self.off, change, strict=True)]


def _notes(facts: dict[str, Any]) -> list[str]:
    columns = listed(facts["columns"])
    if facts["fixed"]:
        many = counted(facts["fixed"], "combination")
        return [f"{many} of {columns} {'follow' if facts['fixed'] > 1 else 'follows'} exactly from the given columns."]
    if facts["least"] < NEARLY:
        return [
            f"The given columns nearly fix a combination of {columns}: {facts['least']:.2g} of the usual variance is "
            "left of it. Look for links by ds.audit before publishing."
        ]
    return []


def _from_least(units: Ints, finer: int, least: int) -> Floats:
    """Published units in those of the column, less its least."""
    if finer >= 0:
        scale = 10**finer
        whole = units // scale
        return np.asarray((whole - least) + (units - whole * scale) / scale)
    return np.asarray((units * 10**-finer - least).astype(np.float64))


def _refuse_beyond(name: str, column: ExactColumn, way: Landing, drawn: Floats) -> None:
    """Refuse values that are too large to be exact."""
    decimals = way.decimals + way.finer
    limit = WHOLE_LIMIT if column.whole and decimals == 0 else FLOAT_LIMIT
    if not float(np.abs(drawn).max()) * 10.0**way.finer + 2 < limit:
        raise InputError(
            f"Column {name!r} holds numbers too large for {counted(decimals, 'decimal')}.",
            hint="Express the column in a larger unit (thousands), or give fewer decimals=.",
        )
