"""Releases that are protected together with what is already published."""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import discreet as ds
from discreet.errors import InputError, ParameterError, ProtectionError
from discreet.model.custodian import TableCustodian
from discreet.model.public import PublicRelease, public_table
from discreet.model.release import Release
from discreet.model.table import CellStatus
from discreet.relations import build_system
from tests.attack.brute_force import ends, outsider

ROWS, COLUMNS = ("a", "b", "c"), ("p", "q", "r")
VALUES = ((20, 50, 10), (8, 19, 22), (17, 32, 12))


def table(values=VALUES, unsafe=(("b", "q"),), level=5, **options) -> ds.Table:
    """A table of rows and columns with totals; some inner cells are unsafe."""
    codes = [(r, c) for r in ROWS for c in COLUMNS]
    flat = dict(zip(codes, [v for row in values for v in row], strict=True))
    cells = {"row": [], "col": [], "value": []}
    for r in ("Total", *ROWS):
        for c in ("Total", *COLUMNS):
            mine = [v for (i, j), v in flat.items() if r in ("Total", i) and c in ("Total", j)]
            for name, item in zip(cells, (r, c, sum(mine)), strict=True):
                cells[name].append(item)
    by = {"row": ds.Hierarchy.flat(ROWS), "col": ds.Hierarchy.flat(COLUMNS)}
    made = ds.Table.from_cells(pa.table(cells), by, variable="x", **options)
    return made.marked(dict.fromkeys(unsafe, "U"), protection=(level, level)).assess(ds.ZeroUnsafe())


def released(subject: ds.Table, hidden) -> Release:
    """A release of a table that withholds the unsafe cells and some others, whatever that protects."""
    status = subject.status.copy()
    for codes in hidden:
        row = subject.row(**dict(zip(subject.variables, codes, strict=True)))
        status[row] = CellStatus.UNSAFE if subject.unsafe[row] else CellStatus.SECONDARY
    withheld = np.isin(status, (CellStatus.UNSAFE, CellStatus.SECONDARY))
    custodian = TableCustodian(ds.TableSet([subject]), (status,), (), {})
    return Release(PublicRelease((public_table(subject, withheld),)), custodian)


def keeps_levels(release: Release) -> bool:
    """Whether all unsafe cells keep their levels against everything published, by one linear program an end."""
    custodian = release.custodian
    system = build_system(custodian.tables, custodian.already)
    withheld = system.withheld([custodian.withheld(i) for i in range(len(custodian.tables))])
    bounds = outsider(system, withheld)
    for cell in np.flatnonzero(system.unsafe).tolist():
        low, high = ends(system, bounds, cell)
        value = float(system.value[cell])
        if high < value + system.upper_level[cell] - 1e-6 or low > value - system.lower_level[cell] + 1e-6:
            return False
    return True


def together(subject, *items, **options):
    """A release that verifies, keeps its levels by brute force, and survives being saved."""
    release = ds.protect(subject, ds.Suppress(insiders=None), already_published=items, **options)
    release.verify().require()
    assert keeps_levels(release)
    assert ds.audit(release, insiders=None).short == 0
    return release


SQUARE = [("b", "q"), ("b", "r"), ("c", "q"), ("c", "r")]
OTHER = [("b", "q"), ("b", "p"), ("a", "q"), ("a", "p")]


# ---- earlier releases ---------------------------------------------------------------------------------------


def test_a_second_pattern_beside_the_first_would_reveal_the_cell():
    """Two releases of one table, each safe alone, publish each other's secondaries."""
    one, other = released(table(), SQUARE), released(table(), OTHER)
    assert keeps_levels(one)
    assert keeps_levels(other)
    both = ds.protect(table(unsafe=()), ds.Suppress(insiders=None), already_published={"one": one})
    assert both.custodian.withheld(0).sum() >= 4  # the unsafe cell of the earlier release counts here too
    assert both.verify().holds
    assert keeps_levels(both)
    with pytest.raises(ProtectionError, match=r"b.*q.*revealed.*'one'.*'other'"):
        ds.protect(table(), ds.Suppress(insiders=None), already_published={"one": one, "other": other})


def test_a_re_release_withholds_what_the_first_one_withheld():
    first = released(table(), OTHER)
    second = together(table(), first)
    subject = second.custodian.tables.tables[0]
    hidden = {subject.spec_codes(subject.codes[row].tolist()) for row in np.flatnonzero(second.custodian.withheld(0))}
    assert hidden == set(OTHER)
    assert second.custodian.evidence[0].claim.together_with == tuple(second.verify().together_with)
    assert "12 of 16 cells published" in second.summary()


def test_more_may_be_published_than_before_while_everything_stays_protected():
    first = released(table(), [(r, c) for r in ROWS for c in COLUMNS])
    second = together(table(), first)
    assert second.custodian.withheld(0).sum() == 4


def test_an_earlier_table_of_other_detail_joins_with_its_relations():
    """The margin over columns was published without its unsafe row; now the detail would reveal it."""
    detail = table(unsafe=())
    by = {"row": ds.Hierarchy.flat(ROWS)}
    sums = [sum(row) for row in VALUES]
    cells = pa.table({"row": ["Total", *ROWS], "value": [sum(sums), *sums]})
    margin = ds.Table.from_cells(cells, by, variable="x", name="margin")
    margin = margin.marked({("b",): "U"}, protection=(5, 5)).assess()
    first = released(margin, [("b",), ("c",)])
    assert keeps_levels(first)
    second = together(detail, first)
    row = second.custodian.tables.tables[0].row(row="b", col="Total")
    assert second.custodian.withheld(0)[row]


def test_an_unsafe_cell_that_is_out_fails_the_release_unless_it_is_accepted(tmp_path):
    first = released(table(unsafe=()), [])
    with pytest.raises(ProtectionError, match=r"revealed by what is already published.*'spring' published it"):
        ds.protect(table(), ds.Suppress(), already_published={"spring": first})
    accept = ({"class": "revealed", "reason": "out since May", "name": "A. Officer"},)
    release = ds.protect(table(), ds.Suppress(accept=accept), already_published={"spring": first})
    verdict = release.verify().require()
    assert any("accepted by 'A. Officer'" in text for text in verdict.asserted)
    assert any("known from what was published before" in text for text in verdict.asserted)
    assert ds.audit(release).revealed == 1
    assert release.custodian.withheld(0).sum() == 1
    release.save(tmp_path / "out")
    assert ds.load(tmp_path / "out").verify().holds


def test_cells_that_follow_from_known_ones_are_revealed_too():
    first = released(table(unsafe=()), [("b", "q"), ("c", "r")])
    with pytest.raises(ProtectionError, match=r"already published reveals it exactly to outsiders: .*'release 1'"):
        ds.protect(table(), ds.Suppress(), already_published=[first])


def test_what_an_earlier_release_was_certified_with_comes_along(tmp_path):
    first = released(table(), SQUARE)
    second = together(table(), {"first": first}["first"], ds.Figure("x[row=b, col=p] / x[row=b]", "0.163"))
    second.save(tmp_path / "second")
    third = together(table(), tmp_path / "second")
    assert len(third.custodian.already.tables) == 1  # both published the same cells
    assert [f.formula for f in third.custodian.already.figures] == ["x[row=b, col=p] / x[row=b]"]
    assert third.replay().custodian.withheld(0).tolist() == third.custodian.withheld(0).tolist()


def test_another_universe_is_refused_and_said():
    first = released(table(period="2023"), SQUARE)
    with pytest.raises(InputError, match=r"period 2023.*no cell in common.*same filter, period and weight"):
        ds.protect(table(period="2024"), ds.Suppress(), already_published=[first])
    both = ds.protect(ds.TableSet([table(period="2023"), table(name="new", period="2024")]), ds.Suppress())
    later = ds.protect(table(period="2024"), ds.Suppress(), already_published={"both": both})
    assert "release 'both', table 'x_by_row_col', which is of another universe" in later.verify().not_considered
    assert [e.original for e in later.custodian.already.tables] == ["new"]


def test_other_values_of_the_same_cells_are_refused():
    revised = tuple(tuple(v + (v == 22) for v in row) for row in VALUES)
    with pytest.raises(InputError, match=r"disagree.*different universes, periods or weights"):
        ds.protect(table(), ds.Suppress(), already_published=[released(table(revised), SQUARE)])


def test_what_is_not_published_cells_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="A PublicRelease cannot be taken"):
        ds.protect(table(), ds.Suppress(), already_published=[released(table(), SQUARE).public])
    with pytest.raises(InputError, match=r"not the folder of a saved release.*PublishedCells"):
        ds.protect(table(), ds.Suppress(), already_published=[tmp_path / "cells.csv"])


inner = st.tuples(st.sampled_from(ROWS), st.sampled_from(COLUMNS))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    patterns=st.lists(st.lists(inner, min_size=3, max_size=9, unique=True), min_size=1, max_size=2),
    before=st.lists(inner, max_size=2, unique=True),
    now=st.lists(inner, min_size=1, max_size=2, unique=True),
)
def test_random_earlier_patterns_never_leave_a_cell_short(patterns, before, now):
    items = [released(table(unsafe=before), pattern) for pattern in patterns]
    try:
        release = ds.protect(table(unsafe=now), ds.Suppress(insiders=None), already_published=items)
    except ProtectionError:
        everything = released(table(unsafe=now), [(r, c) for r in ("Total", *ROWS) for c in ("Total", *COLUMNS)])
        already = ds.protect(
            table(unsafe=now), ds.Suppress(insiders=None, accept=ANY), already_published=items
        ).custodian.already
        # Even with every cell withheld now, some unsafe cell is known too well.
        assert not keeps_levels(Release(everything.public, replace(everything.custodian, already=already)))
        return
    assert release.verify().holds
    assert keeps_levels(release)


ANY = tuple({"class": kind, "reason": "test", "name": "T"} for kind in ("revealed", "impossible", "undecided"))


# ---- figures ------------------------------------------------------------------------------------------------


class ByHand:
    """The table's inner cells by one linear program an end: no relation builder, no figures but those written here.

    A figure is (cells above, cells below, low, high): the sum above divided by the sum below lies in between.
    """

    codes = tuple((r, c) for r in ROWS for c in COLUMNS)

    def __init__(self, release: Release, figures) -> None:
        subject = release.custodian.tables.tables[0]
        shown = np.flatnonzero(~release.custodian.withheld(0)).tolist()
        self.equal = [
            (self.sum_of(subject.spec_codes(subject.codes[row].tolist())), subject.value[row]) for row in shown
        ]
        self.below = []
        for above, divisor, low, high in figures:
            top, bottom = (self.total(part) for part in (above, divisor))
            self.below += [(low * bottom - top, 0.0), (top - high * bottom, 0.0)]

    def sum_of(self, cell) -> np.ndarray:
        r, c = cell
        return np.array([float(r in ("Total", i) and c in ("Total", j)) for i, j in self.codes] + [0.0])

    def total(self, part) -> np.ndarray:
        one = np.zeros(len(self.codes) + 1)
        one[-1] = part.get("number", 0)
        return one + sum(n * self.sum_of(cell) for cell, n in part.items() if cell != "number")

    def ends(self, cell) -> tuple[float, float]:
        found = []
        for sign in (1.0, -1.0):
            answer = linprog(
                sign * self.sum_of(cell),
                A_eq=np.array([*(row for row, _ in self.equal), np.eye(len(self.codes) + 1)[-1]]),
                b_eq=np.array([*(float(v) for _, v in self.equal), 1.0]),
                A_ub=np.array([row for row, _ in self.below]) if self.below else None,
                b_ub=np.array([v for _, v in self.below]) if self.below else None,
            )
            assert answer.status in (0, 3), answer.message
            found.append(-sign * np.inf if answer.status == 3 else sign * answer.fun)
        return found[0], found[1]

    def kept(self, cell=("b", "q"), value=19, level=5) -> bool:
        low, high = self.ends(cell)
        return low <= value - level + 1e-6 and high >= value + level - 1e-6


ONE = {"number": 1}
FIGURES = {
    "share": ("100 * x[row=b, col=q] / x[row=b]", "38.8", {("b", "q"): 100}, {("b", "Total"): 1}, 0.05),
    "coarse share": ("x[row=b, col=q] / x[row=b]", "0.4", {("b", "q"): 1}, {("b", "Total"): 1}, 0.05),
    "ratio": ("x[row=b, col=q] / x[row=b, col=p]", "2.4", {("b", "q"): 1}, {("b", "p"): 1}, 0.05),
    "difference": ("x[row=b, col=q] - x[row=a, col=q]", "-31", {("b", "q"): 1, ("a", "q"): -1}, ONE, 0.5),
    "cumulation": ("x[row=b, col=p] + x[row=a, col=p]", "28", {("b", "p"): 1, ("a", "p"): 1}, ONE, 0.5),
    "scaled": ("(2 * x[row=b, col=p] + 1) / 3", "6", {("b", "p"): 2 / 3, "number": 1 / 3}, ONE, 0.5),
    "turned": ("x[row=b] / x[row=b, col=p]", "6.1", {("b", "Total"): 1}, {("b", "p"): 1}, 0.05),
    "growth": ("x[row=b, col=q] / x[row=b, col=p] - 1", "1.4", {("b", "q"): 1, ("b", "p"): -1}, {("b", "p"): 1}, 0.05),
    "given away": ("x[row=b, col=q] / 2", "9.5", {("b", "q"): 0.5}, ONE, 0.05),
}


def limits(name):
    """A figure, and the same for the linear program by hand."""
    formula, value, above, below, half = FIGURES[name]
    return ds.Figure(formula, value), (above, below, float(value) - half, float(value) + half)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_that_reveals_an_unsafe_cell_is_taken_into_account(name):
    """Beside each of them the pattern that is made without it does not hold, and the one that is made with it does."""
    figure, by_hand = limits(name)
    plain = ds.protect(table(), ds.Suppress(insiders=None))
    assert ByHand(plain, []).kept()
    assert not ByHand(plain, [by_hand]).kept()
    if name == "given away":
        with pytest.raises(ProtectionError, match=r"revealed.*reveals it exactly.*col=q\] / 2"):
            ds.protect(table(), ds.Suppress(insiders=None), already_published=[figure])
        return
    careful = together(table(), figure)
    assert ByHand(careful, [by_hand]).kept()
    assert not with_figures(plain, careful).verify().holds


weights = st.dictionaries(inner, st.integers(-3, 3).filter(bool), min_size=1, max_size=3)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(above=weights, below=st.none() | weights, decimals=st.integers(-1, 3))
def test_random_figures_are_kept_by_every_certificate(above, below, decimals):
    flat = dict(zip(ByHand.codes, [v for row in VALUES for v in row], strict=True))
    top, bottom = (sum(n * flat[c] for c, n in (part or {}).items()) for part in (above, below))
    if below is not None and bottom == 0:
        return
    text = [" + ".join(f"({n}) * x[row={r}, col={c}]" for (r, c), n in (part or {}).items()) for part in (above, below)]
    formula = text[0] if below is None else f"({text[0]}) / ({text[1]})"
    result = Decimal(top) if below is None else Decimal(top) / Decimal(bottom)
    shown = result.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN)
    if below is not None and bottom < 0:
        above, below = ({c: -n for c, n in part.items()} for part in (above, below))
    half = 0.5 * 10.0**-decimals
    by_hand = (above, ONE if below is None else below, float(shown) - half, float(shown) + half)
    figure = ds.Figure(formula, f"{shown:f}", decimals=decimals)
    try:
        release = ds.protect(table(), ds.Suppress(insiders=None), already_published=[figure])
    except ProtectionError as error:
        everything = released(table(), [(r, c) for r in ("Total", *ROWS) for c in ("Total", *COLUMNS)])
        # It is the figure that stands in the way: with all else withheld the cell moves little.
        low, high = ByHand(everything, [by_hand]).ends(("b", "q"))
        assert low > 19 - 5.5 or high < 19 + 5.5, error  # noqa: PT017
        return
    assert release.verify().holds
    assert ByHand(release, [by_hand]).kept()


def with_figures(release: Release, other: Release) -> Release:
    """A release as it stands beside the figures of another one."""
    return Release(release.public, replace(release.custodian, already=other.custodian.already))


def test_a_share_of_withheld_cells_narrows_them_and_more_is_withheld():
    """Where the row's total is published the share gives the cell; where it is withheld too, only the ratio."""
    figure = ds.Figure("x[row=b, col=q] / x[row=b, col=r]", "0.86")
    plain = ds.protect(table(), ds.Suppress(insiders=None))
    careful = together(table(), figure)
    assert not keeps_levels(with_figures(plain, careful))
    assert careful.custodian.withheld(0).sum() > plain.custodian.withheld(0).sum()


def test_growth_rates_tie_two_periods_together():
    """The rate of the row total, last year's published total and this year's other rows give this year's total."""
    last = released(table(period="2023"), SQUARE)
    now = table(unsafe=(("b", "Total"),), period="2024", name="now")
    rate = ds.Figure("x[period=2024, row=b] / x[period=2023, row=b] - 1", value="0.000", decimals=3)
    plain = ds.protect(now, ds.Suppress(insiders=None))
    assert keeps_levels(plain)
    with pytest.raises(ProtectionError, match=r"revealed.*figure 'x\[period=2024"):
        ds.protect(now, ds.Suppress(insiders=None), already_published={"last": last, "rate": rate})
    coarse = ds.Figure("x[period=2024, row=b] / x[period=2023, row=b] - 1", value="0", decimals=0)
    release = together(now, last, coarse)
    assert len(release.custodian.already.tables) == 1
    with pytest.raises(ParameterError, match=r"may mean cells of .*period="):
        ds.protect(now, ds.Suppress(), already_published=[last, ds.Figure("x[row=b] / 2", "24.5")])


def counts() -> ds.Table:
    """How many there are: a count table of the same cells, published as it is."""
    by = {"row": ds.Hierarchy.flat(ROWS), "col": ds.Hierarchy.flat(COLUMNS)}
    codes = [(r, c) for r in ("Total", *ROWS) for c in ("Total", *COLUMNS)]
    number = [(1 if r != "Total" else 3) * (1 if c != "Total" else 3) * 4 for r, c in codes]
    cells = pa.table({"row": [r for r, _ in codes], "col": [c for _, c in codes], "value": number})
    return ds.Table.from_cells(cells, by, counts=True, name="number").assess()


def test_a_mean_over_a_published_count_gives_the_sum_away():
    tables = ds.TableSet([table(), counts()])
    plain = ds.protect(tables, ds.Suppress(insiders=None))
    subject = plain.custodian.tables.tables[0]
    beside = next(c for c in ("p", "r") if plain.custodian.withheld(0)[subject.row(row="b", col=c)])
    value = int(subject.value[subject.row(row="b", col=beside)])
    mean = ds.Figure(f"x[row=b, col={beside}] / count[row=b, col={beside}]", value=value / 4, decimals=2)
    careful = ds.protect(tables, ds.Suppress(insiders=None), already_published=mean)
    assert careful.verify().holds
    assert keeps_levels(careful)
    assert not keeps_levels(with_figures(plain, careful))


def test_figures_of_counts_get_certificates_in_whole_numbers():
    by = {"row": ds.Hierarchy.flat(ROWS), "col": ds.Hierarchy.flat(COLUMNS)}
    made = counts().with_(assessment=None)
    assert list(made.spec.by) == list(by)
    unsafe = made.marked({("b", "q"): "U"}, protection=(2, 2)).assess()
    share = ds.Figure("100 * count[row=b, col=q] / count[row=b, col=r]", "100", decimals=-2)
    release = ds.protect(unsafe, ds.Suppress(insiders=None), already_published=[share])
    assert release.verify().holds
    assert keeps_levels(release)
    assert release.custodian.evidence[0].certificates.denominator.max() == 1


def test_a_half_that_was_rounded_is_known_to_be_one():
    """The truth lies at the end of the interval; alternatives may lie there and inside, not at the other end."""
    system = build_system(
        table(),
        ds.protect(
            table(), ds.Suppress(), already_published=[ds.Figure("x[row=a, col=p] / 8", "2", decimals=0)]
        ).custodian.already,
    )
    assert (system.lower_bound[-1], system.value[-1], system.upper_bound[-1]) == (13, 20, 20)


@pytest.mark.parametrize(
    ("formula", "value", "problem"),
    [
        ("x[row=b] * x[row=c]", 1, "multiplies cells with cells"),
        ("x[row=b] / x[row=c] + x[row=a]", 1, "adds a ratio"),
        ("x[row=b] / x[row=c] / (x[row=a] / x[row=b])", 1, "divides ratios"),
        ("x[row=b] / 0", 1, "divides by zero"),
        ("1 + 2", 3, "depends on no cell"),
        ("x[row=b] - x[row=b]", 0, "depends on no cell"),
        ("x[row=b", 1, "Cannot read"),
        ("x[row=b] +", 1, "at its end"),
        ("(x[row=b]", 1, "not closed"),
        ("x[row=b, row=c]", 1, "twice"),
        ("x[row=b] x[row=c]", 1, "after item 1"),
        ("(" * 60 + "x[row=b]" + ")" * 60, 1, "too deep"),
        ("x[row=b]", "many", "not a number"),
        ("x[row=b]", "nan", "not a number"),
        ("x[row=b]", "1e999999999", "not a number of reasonable length"),
        ("9" * 5000 + " * x[row=b]", "1", "Cannot read"),
    ],
)
def test_formulas_that_are_no_linear_relation_are_refused(formula, value, problem):
    with pytest.raises(ParameterError, match=problem):
        ds.Figure(formula, value)


def test_figures_must_fit_the_cells():
    with pytest.raises(ParameterError, match="cannot have 2 decimals"):
        ds.Figure("x[row=b]", "1.234", decimals=2)
    with pytest.raises(InputError, match=r"is not 0\.38 to 2 decimals"):
        ds.protect(table(), ds.Suppress(), already_published=[ds.Figure("x[row=b, col=q] / x[row=b]", 0.38)])
    with pytest.raises(ParameterError, match="no table or value variable 'y'"):
        ds.protect(table(), ds.Suppress(), already_published=[ds.Figure("y[row=b]", 49)])
    with pytest.raises(ParameterError, match="names no cell of the tables"):
        ds.protect(table(), ds.Suppress(), already_published=[ds.Figure("x[row=z]", 49)])
    huge = ds.Figure("12345678901234567891 * x[row=b] + x[row=c]", str(12345678901234567891 * 49 + 61))
    with pytest.raises(InputError, match="too fine"):
        ds.protect(table(), ds.Suppress(), already_published=[huge])


# ---- files of others ----------------------------------------------------------------------------------------


def foreign(hidden=(), **changes):
    """A frame of published cells with withheld ones marked."""
    subject = table()
    columns = subject.columns()
    columns["value"] = [
        ":" if codes in hidden else str(changes.get("_".join(codes), v))
        for codes, v in zip(zip(columns["row"], columns["col"], strict=True), columns["value"], strict=True)
    ]
    return pa.table({name: columns[name] for name in ("row", "col", "value")})


def test_a_file_of_others_makes_cells_known():
    file = ds.PublishedCells(foreign(OTHER), name="ministry")
    release = together(table(), file)
    subject = release.custodian.tables.tables[0]
    hidden = {subject.spec_codes(subject.codes[row].tolist()) for row in np.flatnonzero(release.custodian.withheld(0))}
    assert hidden == set(OTHER)
    assert "file 'ministry': 12 cells of table 'x_by_row_col'" in release.summary()
    with pytest.raises(ProtectionError, match="file 'ministry' published it"):
        ds.protect(table(), ds.Suppress(), already_published=[ds.PublishedCells(foreign(), name="ministry")])


def test_files_may_name_their_columns_and_leave_totals_out(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("zeile;wert\na;80\nb;49.2\nc;..\n", encoding="utf-8")
    file = ds.PublishedCells(path, columns={"row": "zeile"}, value="wert", withheld=("..",), delimiter=";", decimals=0)
    release = together(table(), file)
    assert [str(known).split(":")[0] for known in release.custodian.already.known] == ["file 'old.csv'"]
    assert len(release.custodian.already.known[0].rows) == 2


def test_files_that_do_not_fit_are_refused():
    def protect(frame, **options):
        return ds.protect(table(), ds.Suppress(insiders=None), already_published=ds.PublishedCells(frame, **options))

    with pytest.raises(InputError, match=r"disagrees .* on 1 cell; the worst is row=a, col=p.*another period"):
        protect(foreign(OTHER[:1], a_p=21))
    other = pa.table({"row": ["z", "b"], "col": ["p", "p"], "value": ["7", "8"]})
    with pytest.raises(InputError, match=r"publishes 1 cell .* does not hold: row=z, col=p.*Add a table"):
        protect(other)
    ignored = protect(other, ignore_unknown=True, name="f")
    assert "1 cell of file 'f' that the tables do not hold" in ignored.verify().require().not_considered
    with pytest.raises(InputError, match="holds 'much' as a published value"):
        protect(foreign(a_p="much"))
    with pytest.raises(ParameterError, match="no column for"):
        protect(pa.table({"line": ["a"], "value": ["1"]}))
    with pytest.raises(ParameterError, match="no variable 'line'"):
        protect(foreign(), columns={"line": "row"})
    two = ds.TableSet([table(), counts()])
    with pytest.raises(ParameterError, match="which table they belong to"):
        ds.protect(two, ds.Suppress(), already_published=ds.PublishedCells(foreign()))


# ---- insiders, optimum, one pattern -------------------------------------------------------------------------


def firms(seed: int) -> ds.Microdata:
    random = np.random.default_rng(seed)
    n = 120
    return ds.Microdata(
        pa.table(
            {
                "row": random.choice(ROWS, n),
                "col": random.choice(COLUMNS, n),
                "firm": random.integers(0, 60, n),
                "x": np.rint(random.lognormal(4, 1.3, n)).astype(np.int64),
            }
        ),
        contributor="firm",
    )


@pytest.mark.parametrize("algorithm", ["certified", "optimal"])
def test_insiders_and_the_optimum_respect_what_is_out(algorithm, tmp_path):
    by = {"row": ds.Hierarchy.flat(ROWS), "col": ds.Hierarchy.flat(COLUMNS)}
    data = firms(1)
    coarse = ds.tabulate(data, by={"col": by["col"]}, value="x").assess(ds.PPercent(60))
    fine = ds.tabulate(data, by=by, value="x").assess(ds.PPercent(60))
    first = ds.protect(coarse, ds.Suppress())
    value = {code: int(fine.value[fine.row(row="a", col=code)]) for code in COLUMNS}
    share = ds.Figure("100 * x[row=a, col=p] / x[row=a, col=q]", f"{100 * value['p'] / value['q']:.0f}", decimals=0)
    method = ds.Suppress(algorithm=algorithm)
    first.save(tmp_path / "first")
    release = ds.protect(fine, method, already_published=[tmp_path / "first", share])
    assert release.verify().require()
    assert keeps_levels(release)
    assert ds.audit(release).short_insiders == 0
    again = ds.protect(fine, method, already_published=[first, share])
    assert np.array_equal(again.custodian.withheld(0), release.custodian.withheld(0))


def test_one_pattern_is_about_the_tables_of_now():
    one, two = table(name="one"), table(unsafe=(), name="two")
    two = two.with_(spec=two.spec.with_(value="y"))
    first = released(table(), [(r, c) for r in ROWS for c in COLUMNS])
    release = ds.protect(
        ds.TableSet([one, two], one_pattern=True), ds.Suppress(insiders=None), already_published=[first]
    )
    assert release.verify().holds
    patterns = [release.custodian.withheld(number).tolist() for number in range(2)]
    assert patterns[0] == patterns[1]
    assert sum(patterns[0]) == 4


def test_what_everybody_knows_of_cells_says_nothing_of_figures():
    figure = ds.Figure("x[row=b, col=q] / x[row=b, col=r]", "0.9", decimals=1)
    release = ds.protect(table(), ds.Suppress(insiders=None, known_within=80), already_published=[figure])
    assert release.verify().holds


def test_the_audit_sees_what_is_already_out():
    """The same pattern is fine alone, and not beside an earlier release or a figure."""
    plain = ds.protect(table(), ds.Suppress(insiders=None))
    accepting = ds.Suppress(insiders=None, accept=ANY)
    assert (ds.audit(plain, insiders=None).short, ds.audit(plain, insiders=None).counts()["withheld"]) == (0, 4)
    for item, short in ((released(table(), OTHER), 1), (limits("share")[0], 1), (ds.Figure("x[row=a] / 2", "40"), 0)):
        other = ds.protect(table(), accepting, already_published=[item])
        found = ds.audit(with_figures(plain, other), insiders=None)
        assert found.short == short, item
        assert found.counts()["withheld"] <= 4
