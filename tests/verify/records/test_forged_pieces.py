"""Releases that say of microaggregated swapping what is not so, each forged without leaving other traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.microaggregated_swap import microaggregated_swap_claim
from discreet.model.custodian import RecordCustodian
from discreet.verify import Verdict, check_records
from discreet.verify.records.piecewise import _unit

METHODS: dict[str, Callable[[], ds.MicroaggregatedSwap]] = {
    "dithered": lambda: ds.MicroaggregatedSwap(["x", "y"], ["area"]),
    "plain": lambda: ds.MicroaggregatedSwap(["y"], ["area"], dither=0),
}
AREAS = ["n", "s"] * 20


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    draw = np.random.default_rng(4)
    x = [None if i % 10 == 0 else float(value) for i, value in enumerate(np.round(draw.lognormal(3, 1, 40), 1))]
    y = draw.integers(1, 90, 40) * 10
    y[7], y[9] = -1, -2
    columns = {"x": x, "y": y, "w": draw.uniform(1, 9, 40).round(2), "area": AREAS}
    table = pa.table({**columns, "home": [i // 2 for i in range(40)], "t": ["a"] * 40})
    data = ds.Microdata(table, numeric=["x", "y"], weight="w", household="home", missing_codes={"y": ["-1", "-2"]})
    return ds.protect(data, METHODS[name](), key=ds.Key(bytes(32)))


class PieceForgery:
    """A release of which the step is rewritten; ``follow`` works out again what the rows say."""

    def __init__(self, name: str) -> None:
        self.custodian = release(name).custodian
        self.key: ds.Key | None = self.custodian.key
        self.step = self.custodian.steps[0]
        self.method = dict(self.step.evidence.method)
        self.facts: dict[str, Any] = {
            what: [*value] if isinstance(value, list | tuple) else value
            for what, value in self.step.evidence.facts.items()
        }
        self.rows = {name: row.copy() for name, row in self.step.evidence.parts["records"].items()}
        self.original = self.custodian.original
        self.old = self.original.columns
        self.changed = {name: self.step.changed[name].to_pylist() for name in self.step.changed.column_names}
        self.types = dict.fromkeys(self.changed, pa.float64())

    def follow(self, place: int = 0, cells: list[Any] | None = None) -> None:
        """Let values be the means of the stated pieces, by fractions and with the line written out in steps."""
        name = self.facts["columns"][place]
        old = [None if value in (-1, -2) else value for value in self.old[name].to_pylist()]
        weights = [Fraction(w) for w in self.old["w"].to_pylist()]
        unit = Fraction(1, self.facts["fine"][place] * 10 ** self.facts["decimals"][place])
        piece, added = self.rows[f"piece_{place}"], self.rows[f"added_{place}"]
        cells = cells or AREAS
        for cell in set(cells):
            rows = [i for i in range(40) if cells[i] == cell and old[i] is not None]
            value = {i: Fraction(str(old[i])) + int(added[i]) * unit for i in rows}
            total = sum(weights[i] for i in rows)
            middle = sum(weights[i] * int(added[i]) * unit for i in rows) / total
            cut = Fraction(0)
            for i in sorted(rows, key=lambda row: piece[row]):
                begin, cut = cut, cut + weights[i]
                place_of, mass = Fraction(0), Fraction(0)
                for j in sorted(rows, key=lambda row: value[row]):
                    mass += value[j] * max(min(place_of + weights[j], cut) - max(place_of, begin), 0)
                    place_of += weights[j]
                self.changed[name][i] = float(mass / weights[i] - middle)

    def verdict(self) -> Verdict:
        evidence = replace(
            self.step.evidence,
            method=self.method,
            facts=self.facts,
            claim=microaggregated_swap_claim(self.facts),
            parts={"records": self.rows} if self.rows else {},
        )
        changed = pa.table({n: pa.array(v, self.types[n]) for n, v in self.changed.items()})
        step = replace(self.step, evidence=evidence, changed=changed)
        lie = replace(self.custodian, key=self.key, original=self.original, steps=(step,))
        return check_records(lie, lie.public())


def refused(forge: Callable[[PieceForgery], object], message: str, name: str = "dithered", alone: bool = True) -> None:
    forgery = PieceForgery(name)
    assert not forgery.verdict().refused
    forge(forgery)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert any(message in text for text in found), found
    assert not alone or len(found) == 1, found


@pytest.mark.parametrize("name", METHODS)
def test_the_forger_works_values_out_alike(name):
    forgery = PieceForgery(name)
    before = {column: [*values] for column, values in forgery.changed.items()}
    for place in range(len(before)):
        forgery.follow(place)
    assert forgery.changed == before


def test_pieces_and_dither_that_the_key_does_not_draw():
    """Only who has the key can tell; the others are told that draws are asserted."""

    def pieces(f: PieceForgery) -> None:
        piece = f.rows["piece_0"]
        piece[0], piece[2] = piece[2], piece[0]
        f.follow()

    def dither(f: PieceForgery) -> None:
        f.rows["added_1"][3] += 5 if f.rows["added_1"][3] < 0 else -5
        f.follow(1)

    refused(pieces, "2 records have another piece than the key draws", "plain")
    refused(dither, "dither is not what the key draws")
    refused(lambda f: f.method.update(version=2), "another piece than the key draws", "plain")
    for forge, name in ((pieces, "plain"), (dither, "dithered")):
        forgery = PieceForgery(name)
        forge(forgery)
        forgery.key = None
        assert forgery.verdict().holds
        assert "that pieces and dither were drawn at random" in forgery.verdict().asserted


def test_a_value_that_is_not_the_mean_of_its_piece():
    def nudge(f: PieceForgery) -> None:
        f.changed["y"][8] = float(np.nextafter(f.changed["y"][8], np.inf))

    refused(nudge, "1 record has something else than the mean of their piece")


def test_empty_fields():
    def filled(f: PieceForgery) -> None:
        f.changed["x"][0] = 3.5

    def emptied(f: PieceForgery) -> None:
        f.changed["x"][1] = None

    def zero(f: PieceForgery) -> None:
        f.changed["x"][0] = 0.0

    def unknown(f: PieceForgery) -> None:
        f.changed["y"][1] = -1.0

    def other(f: PieceForgery) -> None:
        f.changed["y"][7] = -2.0

    def another(f: PieceForgery) -> None:
        f.changed["y"][9] = -1.0

    for forge in (filled, emptied, zero, unknown, other, another):
        refused(forge, "an empty field changed, or a value became empty")
    for piece in (3, -2):
        refused(lambda f, piece=piece: f.rows["piece_0"].__setitem__(0, piece), "an empty field has a piece")
    refused(
        lambda f: f.rows["added_0"].__setitem__(0, 1), "dither is larger than stated, or stands where there is no value"
    )


@pytest.mark.parametrize(("place", "by"), [(5, 1), (5, -1)])
def test_dither_that_is_too_large(place, by):
    def forge(f: PieceForgery) -> None:
        span = f.facts["spans"][1]
        f.rows["added_1"][place] = span - span // 2 if by > 0 else -(span // 2) - 1
        f.follow(1)
        f.key = None

    refused(forge, "dither is larger than stated, or stands where there is no value")


def test_dither_where_there_is_to_be_none():
    def forge(f: PieceForgery) -> None:
        f.rows["added_0"][5] = 1
        f.follow()
        f.key = None

    refused(forge, "dither is larger than stated, or stands where there is no value", "plain")


@pytest.mark.parametrize(
    ("fact", "value", "message"),
    [
        ("units", [1, 1], "the unit of a column is not what is stated"),
        ("spans", [65536, 655361], "dither is not as wide as stated"),
        ("by", [], "the cells are not those of the method"),
        ("spans", [65536], "what is stated is not stated of every column"),
        ("decimals", [1], "what is stated is not stated of every column"),
        ("fine", [], "what is stated is not stated of every column"),
        ("units", [], "what is stated is not stated of every column"),
        ("decimals", [0, 0], "the numbers before are not whole in the stated unit"),
        ("weight", "", "the weight is not that of the method, or changed"),
        ("cells", 3, "the cells are not as many, or not as large, as stated"),
        ("smallest", 19, "the cells are not as many, or not as large, as stated"),
        ("largest", 21, "the cells are not as many, or not as large, as stated"),
        ("insecure", True, "it is not said whether draws came from a seed, or wrongly"),
    ],
)
def test_facts_that_are_none(fact, value, message):
    refused(lambda f: f.facts.update({fact: value}), message)


def test_dither_that_is_too_coarse():
    """A unit that is not divided leaves values where they were; without dither it must not be divided."""

    def coarse(f: PieceForgery) -> None:
        f.key = None
        f.facts["fine"][1], f.facts["spans"][1] = 1, 10
        f.rows["added_1"][:] = 0
        f.follow(1)

    def divided(f: PieceForgery) -> None:
        f.facts["fine"][0] = 2

    refused(coarse, "dither is not as wide as stated")
    refused(divided, "dither is not as wide as stated", "plain")


def test_pieces_that_are_not_one_for_each_record():
    refused(
        lambda f: f.rows["piece_0"].__setitem__(1, f.rows["piece_0"][3]),
        "the pieces of a cell are not one for each record",
    )


def test_rows_that_are_not_stated():
    refused(lambda f: f.rows.clear(), "pieces and dither of the records are not stated")
    refused(lambda f: f.rows.pop("added_1"), "pieces and dither of the records are not stated")
    refused(lambda f: f.rows.update(piece_0=f.rows["piece_0"][:-1]), "pieces and dither of the records are not stated")


def test_cells_that_are_too_small_or_hold_one_value():
    refused(lambda f: f.method.update(least=19), "1 cell has too few values, or one value only", alone=True)

    def same(f: PieceForgery) -> None:
        values = [50 if area == "n" else value for area, value in zip(AREAS, f.old["y"].to_pylist(), strict=True)]
        place = f.old.column_names.index("y")
        f.old = f.old.set_column(place, "y", pa.chunked_array([pa.array(values)]))
        f.original = replace(f.original, columns=f.old)
        f.facts["units"] = [10]
        f.key = None
        f.follow()

    refused(same, "1 cell has too few values, or one value only", "plain")


def test_cells_of_other_columns():
    def named(f: PieceForgery) -> None:
        f.method["cells"] = f.facts["by"] = ["home"]

    def changed(f: PieceForgery) -> None:
        f.method["cells"] = f.facts["by"] = ["y"]

    refused(named, "a column makes cells that names somebody")
    refused(changed, "the cells are not those of the method")


def test_weights_that_are_none():
    def with_weights(values: list[float | None]) -> Callable[[PieceForgery], None]:
        def forge(f: PieceForgery) -> None:
            place = f.old.column_names.index("w")
            column = pa.chunked_array([pa.array([*values, *f.old["w"].to_pylist()[len(values) :]], pa.float64())])
            f.original = replace(f.original, columns=f.old.set_column(place, "w", column))
            f.key = None

        return forge

    def text(f: PieceForgery) -> None:
        f.method["weight"] = f.facts["weight"] = "t"

    def named(name: str) -> Callable[[PieceForgery], None]:
        def forge(f: PieceForgery) -> None:
            f.method["weight"] = f.facts["weight"] = name

        return forge

    for name in ("x", "nobody"):
        refused(named(name), "the weight is not that of the method, or changed")
    refused(with_weights([0.0]), "a weight is not above 0")
    refused(with_weights([-1.0]), "a weight is not above 0")
    refused(with_weights([None]), "a record has no weight")
    refused(text, "a record has no weight")


def test_other_types_and_columns():
    def text(f: PieceForgery) -> None:
        f.changed["y"] = [str(v) for v in f.changed["y"]]
        f.types["y"] = pa.string()

    def text_before(f: PieceForgery) -> None:
        place = f.old.column_names.index("y")
        f.original = replace(f.original, columns=f.old.set_column(place, "y", f.old["y"].cast(pa.string())))
        f.key = None

    refused(text, "a column is not one of numbers")
    refused(text_before, "a column is not one of numbers")
    refused(lambda f: f.method.update(columns=["x"]), "other columns changed than the stated ones")


def test_draws_of_a_seed():
    def unsaid(f: PieceForgery) -> None:
        f.key = None
        f.facts["insecure"] = ""

    for forge in (unsaid, lambda f: setattr(f, "key", ds.Key(bytes(32), insecure=True))):
        refused(forge, "it is not said whether draws came from a seed, or wrongly")


def test_values_that_were_cut_into_the_same_pieces_twice():
    data = ds.Microdata(pa.table({"x": np.arange(20.0)}), numeric="x")
    custodian = ds.protect(data, ds.MicroaggregatedSwap(dither=0), key=ds.Key(bytes(32))).custodian
    lie = replace(custodian, steps=(custodian.steps[0],) * 2)
    found = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert found == {"values were cut into the same pieces twice"}


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([1, 10, 10, 10, 10], 10),
        ([1, 2, 2, 2, 2], 2),
        ([1, 5, 5, 5, 5], 5),
        ([1, 2, 2, 2], 2),  # three of four
        ([1, 1, 2, 2, 2], 1),
        ([-10, -20, -20, -20, -20], 20),
        ([0, 0], 1),
        ([], 1),
    ],
)
def test_the_unit_of_most_values(values, unit):
    assert _unit(np.array(values, np.int64)) == unit
