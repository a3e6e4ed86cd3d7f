"""The pictures of the documentation, drawn from releases that are made here: ``python tools/docs_pictures.py``.

They are written into ``docs/images/``; a test draws them again and compares.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import cos, pi, sin
from pathlib import Path

import numpy as np
import pyarrow as pa
from docs_drawing import WIDTH, Drawing, Shown, bars, grid

import discreet as ds

FOLDER = Path(__file__).parents[1] / "docs" / "images"
KEY = ds.Key(bytes(range(32)))
TRADES = ("all trades", "retail", "food", "crafts")
REGIONS = ("all", "North", "East", "South")
UNSAFE_NOTE = "marked: one firm could be worked out"
CHANGED_NOTE = "tinted: not true (readers cannot see which)"


def squared(shown: Sequence[Shown], across: int) -> list[list[Shown]]:
    """Cells in rows."""
    return [list(shown[start : start + across]) for start in range(0, len(shown), across)]


def assessed() -> ds.Table:
    """The example that the pages use."""
    return ds.examples.small_table().assess(ds.PPercent(10))


def turnover(title: str, description: str, shown: Sequence[Shown], note: str = "") -> Drawing:
    """Draw the example's table."""
    return grid(title, description, TRADES, REGIONS, squared(shown, 4), note)


def before() -> Drawing:
    """The example before protection."""
    table = assessed()
    shown = [
        Shown(f"{value:,}", "unsafe" if bad else "box") for value, bad in zip(table.value, table.unsafe, strict=True)
    ]
    said = "Turnover of three trades in three regions. Retail in the South, 200, is unsafe."
    return turnover("Before: turnover, one cell unsafe", said, shown, UNSAFE_NOTE)


def suppressed() -> Drawing:
    """The example with cells withheld."""
    table = assessed()
    public = ds.protect(table, ds.Suppress()).public.tables[0]
    shown = [
        Shown(f"{value:,}") if status == "V" else Shown("×", "unsafe" if bad else "besides")
        for value, status, bad in zip(table.value, public.status, table.unsafe, strict=True)
    ]
    said = "The unsafe cell is withheld, and three others with it, so that it cannot be computed by subtraction."
    return turnover("After: four cells withheld", said, shown, "shaded: withheld to keep the marked one unknown")


def altered(method: ds.Method, title: str) -> Drawing:
    """The example with values changed."""
    table = assessed()
    public = ds.protect(table, method, key=KEY).public.tables[0]
    shown = [
        Shown(f"{int(now):,}", "box" if now == then else "changed")
        for then, now in zip(table.value, public.value, strict=True)
    ]
    return turnover(title, "The published table; every number is given, some are altered.", shown, CHANGED_NOTE)


def intervals() -> Drawing:
    """The example with intervals in place of holes."""
    table = assessed()
    frame = ds.protect(table, ds.Intervals(), key=KEY).to_frame().to_pydict()
    shown = []
    for value, lower, upper in zip(frame["value"], frame["lower"], frame["upper"], strict=True):
        whole = lower is None or lower == upper
        text = f"{int(value):,}" if whole else f"{int(lower)}–{int(upper)}"
        shown.append(Shown(text, "box" if whole else "changed"))
    return turnover(
        "After: intervals that hold the truth", "Some cells are published as intervals.", shown, "tinted: an interval"
    )


def noise_table() -> Drawing:
    """Chances of each change of a count of 1, 2, 3 and 10."""
    table = ds.NoiseTable.maximum_entropy(D=5, V=3, js=2)
    sheet = Drawing("Chance of each change", "For counts of 1, 3 and 10 the probability of every change from -5 to 5.")
    sheet.words(0, 14, "Chance of each change, by the true count", "title")
    for block, count in enumerate((1, 3, 10)):
        row = table.row(count)
        chances = dict(zip(row.change.tolist(), row.probability.tolist(), strict=True))
        base = 92 + block * 84
        sheet.words(0, base - 20, f"count {count}", "head")
        for change in range(-5, 6):
            x, high = 56 + 24 * (change + 5), 90 * chances.get(change, 0.0)
            sheet.box(x, base - high, 20, high, "bar")
            sheet.words(x + 10, base + 14, f"{change:+d}" if change else "0", "note mid")
    return sheet


def persons(records: int = 90) -> tuple[ds.Microdata, ds.TableSpec]:
    """A small census, and a table of it."""
    census = ds.generate.census_population(records, seed=3, areas=4)
    labour = ds.Hierarchy.from_parents(census.parents["labour"], total="Total")
    by = {"labour": ds.Hierarchy.flat(labour.base_codes), "sex": ds.Hierarchy.flat(["F", "M"])}
    return ds.Microdata(census.records), ds.TableSpec(by=by, cells="all", name="persons")


LABOUR = ("all persons", "employed", "unemployed", "children", "students", "retired", "other")


def counted_table(title: str, values: Sequence[int], true: Sequence[int], note: str) -> Drawing:
    """Draw the census table; changed counts are tinted."""
    shown = [Shown(f"{now:,}", "box" if now == then else "changed") for now, then in zip(values, true, strict=True)]
    return grid(title, "Persons by labour status and sex.", LABOUR, ("all", "women", "men"), squared(shown, 3), note)


def census_before() -> Drawing:
    """The census table before protection; counts of 1 and 2 are marked."""
    data, spec = persons()
    true = ds.tabulate(data, specs=[spec]).tables[0].value.tolist()
    shown = [Shown(f"{value:,}", "unsafe" if 0 < value < 3 else "box") for value in true]
    columns = ("all", "women", "men")
    said = "Persons by labour status and sex. Small counts are marked."
    return grid("Before: a census table", said, LABOUR, columns, squared(shown, 3), "marked: counts of 1 and 2")


def census_after(method: ds.Method, title: str, note: str) -> Drawing:
    """The census table after a method."""
    data, spec = persons()
    release = ds.protect(data, method, tables=[spec], key=KEY)
    true = release.custodian.tables.tables[0].value.tolist()
    return counted_table(title, [int(value) for value in release.public.tables[0].value], true, note)


def swapped() -> Drawing:
    """A table by area after households exchanged theirs; nobody leaves the region."""
    census = ds.generate.census_population(400, seed=3, areas=40)
    codes = census.records["area"].to_pylist()
    districts = sorted({code[:5] for code in codes})[:4]
    kept = census.records.filter(pa.array([code[:5] in districts for code in codes]))
    places = [code[:5] for code in kept["area"].to_pylist()]
    frame = kept.select(["household", "labour"]).append_column("area", pa.array(places))
    frame = frame.append_column("region", pa.array(["all"] * len(places)))
    labour = ds.Hierarchy.from_parents(census.parents["labour"], total="Total").base_codes
    by = {"labour": ds.Hierarchy.flat(labour), "area": ds.Hierarchy.flat(districts)}
    swap = ds.Swap("area", "household", within="region", rate=0.2)
    release = ds.protect(ds.Microdata(frame), swap, tables=[ds.TableSpec(by=by, cells="all")], key=KEY)
    true, public = release.custodian.tables.tables[0].value.tolist(), release.public.tables[0].value
    shown = [Shown(f"{int(now)}", "box" if now == then else "changed") for now, then in zip(public, true, strict=True)]
    columns = ("all", *(f"area {number}" for number in range(1, len(districts) + 1)))
    said = "Persons by labour status and area; totals of the region and of the areas are as they were."
    note = "tinted: changed; the margins stay"
    return grid("After: households swapped", said, LABOUR, columns, squared(shown, len(columns)), note)


def multiplied() -> Drawing:
    """Factors of multiplicative noise, from a release of records."""
    survey = ds.generate.business_survey(2_000, seed=2)
    frame = survey.records.select(["firm", "turnover"])
    data = ds.Microdata(frame, identifier="firm", numeric=["turnover"])
    release = ds.protect(data, ds.MultiplicativeNoise("firm"), key=KEY, keep_order=True)
    now = np.array(release.public.records.shown()["turnover"], float)
    then = np.array(frame["turnover"].to_pylist(), float)
    kept = then > 10_000
    factor = now[kept] / then[kept]
    edges = np.linspace(0.8, 1.2, 17)
    counts = np.histogram(factor, edges)[0]
    sheet = Drawing("Factors of 2,000 firms", "No factor lies near 1: every value moves by 10 to 20 per cent.")
    sheet.words(0, 14, "How far each firm's turnover moved", "title")
    for i, count in enumerate(counts):
        high = 100 * count / counts.max()
        sheet.box(4 + 20 * i, 126 - high, 17, high, "bar")
    for i, share in enumerate((-20, -10, 0, 10, 20)):
        side = "mid" if 0 < i < 4 else "num" if i else ""
        sheet.words(4 + 80 * i, 142, f"{share:+d} %" if share else "0", f"note {side}")
    sheet.words(0, 162, "nobody moves by less than 10 %, or by more than 20 %", "note")
    return sheet


def hexagons() -> tuple[Drawing, Drawing]:
    """A map before and after small places are filled up."""
    rng = np.random.default_rng(5)
    x, y = np.concatenate([rng.normal(c, s, (n, 2)) for c, s, n in (((3, 3), 1.1, 120), ((7, 5), 0.8, 60))]).T
    grid_of = ds.HexGrid("x", "y", size=1.0)
    table = ds.tabulate(pa.table({"x": x, "y": y}), by={"place": grid_of}).assess()
    release = ds.protect(table, ds.Redistribute(threshold=3, outliers="suppress"))
    places = {}
    for sheet_title, noun in (("Before", table), ("After", release)):
        frame = noun.to_frame().to_pydict()
        places[sheet_title] = {c: int(v) for c, v in zip(frame["place"], frame["value"], strict=True) if c != "Total"}
    labels = table.spec.by["place"].labels
    at = {code: tuple(float(part) for part in labels[code].split(", ")) for code in places["Before"]}
    return _hex_map("Before", places["Before"], at), _hex_map("After", places["After"], at)


def _hex_map(when: str, counts: dict[str, int], at: dict[str, tuple[float, ...]]) -> Drawing:
    small = sum(count < 3 for count in counts.values())
    said = f"Hexagons with counts; {small} of {len(counts)} hold fewer than three."
    sheet = Drawing(f"{when}: a map of counts", said)
    sheet.words(0, 14, f"{when}: {small} of {len(counts)} places hold 1 or 2", "title")
    for code, count in counts.items():
        x, y = at[code]
        cx, cy = 24 + 32 * x, 44 + 32 * y
        corners = [(cx + 18 * cos(pi / 6 + k * pi / 3), cy + 18 * sin(pi / 6 + k * pi / 3)) for k in range(6)]
        opacity = 1.0 if count < 3 else min(1.0, 0.35 + count / 25)
        sheet.shape(corners, "hex unsafe" if count < 3 else "hex besides", opacity)
        sheet.words(cx, cy + 4, count, "mid onunsafe" if count < 3 else "mid")
    return sheet


def recoded() -> Iterator[tuple[str, Drawing]]:
    """How many persons share their combination of keys, before and after recoding."""
    census = ds.generate.census_population(3_000)
    people = ds.Microdata(
        census.records.select(["person", "age", "sex", "area", "labour"]),
        keys=["age", "sex", "area"],
        sensitive="labour",
        identifier="person",
        hierarchies={"area": ds.Hierarchy.from_parents(census.parents["area"], total="Total")},
    )
    how = [ds.Recode("age", intervals=[15, 30, 45, 65]), ds.Recode("area", level=1)]
    release = ds.protect(people.assess(ds.KAnonymity(3)), how, key=KEY)
    for name, frame in (("before", census.records), ("after", release.public.records.columns)):
        rows = list(zip(*(frame[column].to_pylist() for column in ("age", "sex", "area")), strict=True))
        times = Counter(rows)
        shared = np.array([times[row] for row in rows])
        groups = [("alone", shared == 1), ("with 1 other", shared == 2), ("with 2 to 9", (shared > 2) & (shared < 11))]
        groups.append(("with 10 or more", shared > 10))
        lines = [(label, float(mask.sum()), f"{int(mask.sum()):,}") for label, mask in groups]
        title = f"{name.capitalize()}: persons by who shares their keys"
        yield f"recode-{name}", bars(title, "How many persons share age, sex and area with others.", lines)


def blanked() -> Drawing:
    """Fields that local suppression leaves, by column, without and with a recode before."""
    census = ds.generate.census_population(3_000)
    people = ds.Microdata(
        census.records.select(["person", "age_group", "sex", "area", "marital"]),
        keys=["age_group", "sex", "area", "marital"],
        identifier="person",
        hierarchies={"area": ds.Hierarchy.from_parents(census.parents["area"], total="Total")},
    )
    lines = []
    for how, steps in (("", []), (", recoded", [ds.Recode("area", level=1)])):
        release = ds.protect(people, [*steps, ds.LocalSuppress(3)], key=KEY)
        for name in ("age_group", "sex", "area", "marital"):
            left = 3_000 - release.public.records.columns[name].null_count
            lines.append((f"{name.split('_')[0]}{how}", float(left), f"{100 * left / 3_000:.0f} %"))
    note = "with areas recoded to regions first, little is emptied"
    said = "Share of 3,000 fields that keep their value, by column."
    return bars("Fields that local suppression leaves", said, lines, note, ("bar",) * 4 + ("bar2",) * 4)


def engines() -> Drawing:
    """Cells withheld besides by each engine, on one table, after certification."""
    survey = ds.generate.business_survey(4_000, seed=2, activities=(5, 11, 24), regions=(3, 8))
    by = {name: ds.Hierarchy.from_parents(survey.parents[name], total="Total") for name in ("activity", "region")}
    table = ds.tabulate(ds.Microdata(survey.records, contributor="holding"), by=by, value="turnover")
    table = table.assess(ds.PPercent(10), ds.MinContributors(3))
    lines = []
    for name in ("certified", "modular", "hypercube", "gauss"):
        method = ds.Suppress(algorithm=name, repair=name != "certified")  # type: ignore[arg-type]
        status = ds.protect(table, method).public.tables[0].status
        besides = status.count("X") - int(table.unsafe.sum())
        lines.append((name, float(besides), f"{besides}"))
    said = f"{len(table):,} cells, {int(table.unsafe.sum())} unsafe; patterns completed and certified"
    return bars("Cells withheld besides the unsafe ones", said, lines, said)


def redesigned() -> Drawing:
    """What recodes do to a table that has too many unsafe cells."""
    survey = ds.generate.business_survey(20_000, regions=(3, 8))
    by = {name: ds.Hierarchy.from_parents(survey.parents[name], total="Total") for name in ("activity", "region")}
    table = ds.tabulate(ds.Microdata(survey.records, contributor="holding"), by=by, value="turnover")
    table = table.assess(ds.PPercent(10), ds.MinContributors(3))
    found = ds.propose_recodes(table, most=9)
    lines = [("as it is", float(found.steps[0].unsafe[0]), str(found.steps[0].unsafe[0]))]
    lines += [(f"recode {i}", float(s.unsafe[1]), str(s.unsafe[1])) for i, s in enumerate(found.steps, 1)]
    said = f"{found.steps[0].cells[0]:,} cells become {found.steps[-1].cells[1]:,}"
    return bars("Unsafe cells left by each recode", said, lines, said)


def risk_map() -> Drawing:
    """Risk and loss of several methods on the example."""
    methods = {
        "Suppress": ds.Suppress(),
        "Adjust": ds.Adjust(),
        "Round to 7": ds.Round(base=7, rule="unbiased", levels=False),
        "Round to 30": ds.Round(base=30, rule="unbiased", levels=False),
    }
    rows = ds.compare(assessed(), list(methods.values()), runs=20).to_frame().to_pylist()
    sheet = Drawing("Risk and loss", "Four methods by the share of unsafe cells found and the mean relative change.")
    sheet.words(0, 14, "Risk and loss of four methods", "title")
    left, right, top, bottom = 30.0, WIDTH - 60.0, 34.0, 200.0
    sheet.line(left, top, left, bottom)
    sheet.line(left, bottom, right, bottom)
    most = max(row["relative"] for row in rows)
    for name, row in zip(methods, rows, strict=True):
        x = left + 12 + (right - left - 40) * row["risk"]
        y = bottom - 10 - (bottom - top - 20) * row["relative"] / most
        sheet.dot(x, y, "point2" if name == "Adjust" else "point")
        sheet.words(x + 8, y + 4, name)
    sheet.words((left + right) / 2, bottom + 18, "risk: unsafe cells found, 0 to 100 %", "note mid")
    sheet.words(left + 4, top - 4, f"loss: mean relative change, up to {100 * most:.0f} %", "note")
    return sheet


def drawings() -> Iterator[tuple[str, Drawing]]:
    """All pictures and their names."""
    yield "table-before", before()
    yield "table-suppressed", suppressed()
    yield "table-rounded", altered(ds.Round(base=30, rule="controlled"), "After: rounded to multiples of 30")
    yield "table-adjusted", altered(ds.Adjust(), "After: adjusted, and still adding up")
    yield "table-intervals", intervals()
    yield "noise-table", noise_table()
    yield "census-before", census_before()
    yield (
        "census-cell-key",
        census_after(
            ds.CellKey(D=5, V=3, js=2, identifier="person"),
            "After: noise by cell keys",
            "tinted: changed; no 1 or 2 is left",
        ),
    )
    yield (
        "census-small-counts",
        census_after(ds.SmallCount(base=3), "After: small counts rounded", "tinted: changed; sums still add up"),
    )
    yield (
        "census-drop-add",
        census_after(
            ds.DropAdd("person", rate=0.1, min_cell=0, min_margin=0, min_universe=0),
            "After: records dropped or doubled",
            "tinted: changed; sums still add up",
        ),
    )
    yield "census-swapped", swapped()
    yield "multiplied", multiplied()
    yield from zip(("map-before", "map-after"), hexagons(), strict=True)
    yield from recoded()
    yield "local-suppression", blanked()
    yield "engines", engines()
    yield "redesign", redesigned()
    yield "risk-map", risk_map()


def main(write: Callable[[Path, str], object]) -> None:
    """Draw everything, and hand each file on."""
    for name, drawing in drawings():
        write(FOLDER / f"{name}.svg", drawing.text())


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    main(lambda path, text: path.write_text(text, encoding="utf-8", newline="\n"))
    sys.exit(0)
