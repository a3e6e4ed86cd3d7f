"""Steps of releases of records that were not done as they say, each forged without leaving other traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.records import multiplied_claim, swapped_claim
from discreet.model.custodian import RecordCustodian
from discreet.model.records import RecordSet
from discreet.verify import Verdict, check_records
from tests.attack.forged_moves import truly_multiplied, truly_swapped

KEY = ds.Key(bytes(range(32)))
CLAIMS = {"swap": swapped_claim, "multiplicative_noise": multiplied_claim}


def records(homes: int = 60, *, told: bool = False) -> ds.Microdata:
    draw = np.random.default_rng(7)
    home = np.repeat(np.arange(homes), draw.integers(1, 4, homes))
    area = np.array(["N1", "N2", "S1", "S2"])[draw.integers(0, 4, homes)][home]
    rows = len(home)
    table = pa.table(
        {
            "id": np.arange(rows),
            "home": home,
            "area": area,
            "region": [code[0] for code in area],
            "sex": np.array(["m", "f"])[draw.integers(0, 2, rows)],
            "band": np.array(["a", "b"])[draw.integers(0, 2, homes)][home],
            "income": np.where(np.arange(rows) % 5 == 0, 0, draw.integers(1, 5000, rows)),
            "tax": np.round(draw.uniform(1, 900, rows), 2),
        }
    )
    if told:
        table = table.append_column("town", pa.array([code.lower() for code in area]))
    return ds.Microdata(table, identifier="id", household="home", numeric=["income", "tax"], strata=["band"])


STEPS: dict[str, Callable[[], ds.Method]] = {
    "swap": lambda: ds.Swap("area", "home", within="region", profile=["sex"], rate=0.5),
    "swap-told": lambda: ds.Swap("area", "home", within="region", profile=["sex"], rate=0.5),
    "noise": lambda: ds.MultiplicativeNoise("id", 1.1, 1.2),
    "noise-apart": lambda: ds.MultiplicativeNoise("id", 1.1, 1.2, factors="variable"),
}


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    return ds.protect(records(told=name == "swap-told"), STEPS[name](), key=KEY)


class Forgery:
    """A release whose only step is rewritten, and which claims accordingly."""

    def __init__(self, name: str) -> None:
        self.custodian = release(name).custodian
        self.step = self.custodian.steps[0]
        self.method = dict(self.step.evidence.method)
        self.facts: dict[str, Any] = dict(self.step.evidence.facts)
        self.changed = {name: self.step.changed[name].to_pylist() for name in self.step.changed.column_names}
        self.old = self.custodian.original.columns.to_pydict()
        self.types: dict[str, pa.DataType] = {}

    def original(self, name: str, rows: list[int], value: Any) -> None:
        """Let the original have been otherwise."""
        for row in rows:
            self.old[name][row] = value
        columns = self.custodian.original.columns
        column = pa.array(self.old[name], columns[name].type)
        columns = columns.set_column(columns.column_names.index(name), name, column)
        self.custodian = replace(self.custodian, original=replace(self.custodian.original, columns=columns))

    @property
    def truth(self) -> RecordSet:
        """What the columns are."""
        return self.custodian.original

    def homes(self) -> dict[int, list[int]]:
        """Rows of every household."""
        rows: dict[int, list[int]] = {}
        for row, home in enumerate(self.old["home"]):
            rows.setdefault(home, []).append(row)
        return rows

    def verdict(self) -> Verdict:
        claim = CLAIMS[str(self.method["method"])]
        try:
            said = claim(self.method, self.facts)
        except (KeyError, TypeError, ValueError):
            said = self.step.evidence.claim
        evidence = replace(self.step.evidence, method=self.method, facts=self.facts, claim=said)
        types = {name: self.types.get(name, self.custodian.original[name].type) for name in self.changed}
        changed = pa.table({name: pa.array(values, types[name]) for name, values in self.changed.items()})
        lie = replace(self.custodian, steps=(replace(self.step, evidence=evidence, changed=changed),))
        return check_records(lie, lie.public())


def refused(name: str, forge: Callable[[Forgery], None], message: str, alone: bool = True) -> None:
    """A forgery is refused for this reason, and where told for no other."""
    forgery = Forgery(name)
    assert forgery.verdict().holds
    forge(forgery)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert any(message in text for text in found), found
    assert not alone or len(found) == 1, found


# ---- swapped ------------------------------------------------------------------------------------------------


def test_a_member_who_stays_behind():
    def forge(f: Forgery) -> None:
        moved = [
            rows
            for rows in f.homes().values()
            if len(rows) > 1 and f.changed["area"][rows[0]] != f.old["area"][rows[0]]
        ]
        row = moved[0][0]
        f.changed["area"][row] = f.old["area"][row]

    refused("swap", forge, "members of a household are in different areas")


def test_a_household_that_did_not_move_after_all():
    def forge(f: Forgery) -> None:
        rows = next(r for r in f.homes().values() if f.changed["area"][r[0]] != f.old["area"][r[0]])
        for row in rows:
            f.changed["area"][row] = f.old["area"][row]
        f.facts["moved"] -= 1

    refused("swap", forge, "without others of the same profile taking their places")


def exchange(f: Forgery, fits: Callable[[list[int], list[int]], bool]) -> None:
    """Let two households that stayed exchange areas."""
    stayed = [rows for rows in f.homes().values() if f.changed["area"][rows[0]] == f.old["area"][rows[0]]]
    pairs = ((a, b) for a in stayed for b in stayed if f.old["area"][a[0]] != f.old["area"][b[0]] and fits(a, b))
    one, two = next(pairs)
    for rows, code in ((one, f.old["area"][two[0]]), (two, f.old["area"][one[0]])):
        for row in rows:
            f.changed["area"][row] = code
    f.facts["moved"] += 2
    f.facts["alone"] = 0


def profile(f: Forgery, rows: list[int], *columns: str) -> list[list[str]]:
    return [sorted(f.old[column][row] for row in rows) for column in columns]


@pytest.mark.parametrize("what", ["region", "sex", "band", "size"])
def test_households_that_do_not_agree(what):
    def forge(f: Forgery) -> None:
        def fits(one: list[int], two: list[int]) -> bool:
            sizes = len(one) == len(two)
            same = {c: profile(f, one, c) == profile(f, two, c) for c in ("sex", "band")}
            same["region"] = f.old["region"][one[0]] == f.old["region"][two[0]]
            if what == "size":
                return not sizes and same["region"]
            return sizes and not same[what] and all(found for name, found in same.items() if name != what)

        exchange(f, fits)

    refused("swap", forge, "without others of the same profile taking their places")


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"households": 59}, "not those that are there and that moved"),
        ({"moved": 2}, "not those that are there and that moved"),
        ({"alone": -1}, "more households were selected"),
        ({"alone": 60}, "more households were selected"),
        ({"alone": 1.5}, "more households were selected"),
        ({"profile": ["sex"]}, "not those that it may"),
        ({"profile": []}, "not those that it may"),
        ({"telling": ["sex"]}, "that tell the area are not those that are named"),
    ],
)
def test_numbers_of_households_that_are_not_there(facts, message):
    refused("swap", lambda f: f.facts.update(facts), message)


@pytest.mark.parametrize("name", ["households", "moved", "alone", "profile", "telling"])
def test_a_number_that_is_missing(name):
    refused("swap", lambda f: f.facts.pop(name), "cannot be used (KeyError)", alone=False)


@pytest.mark.parametrize("named", [[], ["band"], ["town", "town"]])
def test_a_column_that_tells_the_area_is_named(named):
    assert release("swap-told").custodian.steps[0].evidence.facts["telling"] == ["town"]
    refused("swap-told", lambda f: f.facts.update(telling=named), "that tell the area are not those that are named")


@pytest.mark.parametrize("name", ["swap", "noise"])
def test_a_claim_of_something_else(name):
    done = release(name).custodian
    step = done.steps[0]
    claim = replace(step.evidence.claim, statement="Nobody can be recognised.")
    told = replace(done, steps=(replace(step, evidence=replace(step.evidence, claim=claim)),))
    (refusal,) = check_records(told, told.public()).refused
    assert refusal.message == f"{claim.method} does not claim what it may"


def test_more_moved_than_the_rate_says():
    refused("swap", lambda f: f.method.update(rate=0.1), "more households were selected")


def test_nobody_moved():
    def forge(f: Forgery) -> None:
        f.changed["area"] = list(f.old["area"])
        f.facts.update(moved=0)

    refused("swap", forge, "not those that are there and that moved")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"area": "sex"}, "other columns changed than the area"),
        ({"household": "house"}, "not those that it may"),
        ({"within": "county"}, "not those that it may"),
        ({"within": "sex"}, "in different areas"),
        ({"within": "band"}, "an area lies in two broader areas"),
        ({"household": "sex"}, "in different areas"),
        ({"profile": ["area"]}, "not those that it may"),
    ],
)
def test_other_columns_than_those_of_the_exchange(change, message):
    refused("swap", lambda f: f.method.update(change), message, alone=False)


def test_another_column_changed_too():
    def forge(f: Forgery) -> None:
        f.changed["sex"] = list(f.old["sex"])

    refused("swap", forge, "other columns changed than the area")


def test_areas_of_another_type():
    refused("swap", lambda f: f.types.update(area=pa.large_string()), "or it is of another type")


def test_the_area_is_no_profile():
    def forge(f: Forgery) -> None:
        f.method["profile"] = ["area"]
        f.facts["profile"] = ["area", "band"]

    refused("swap", forge, "not those that it may")


@pytest.mark.parametrize("name", ["home", "area", "region", "sex", "band"])
def test_a_gap_in_what_households_are_known_by(name):
    # A household that is gone changes the numbers of the others in public, too.
    refused("swap", lambda f: f.original(name, [0], None), "a record has no area, household or profile", name != "home")


def test_one_area_in_two_regions():
    def forge(f: Forgery) -> None:
        rows = next(r for r in f.homes().values() if f.changed["area"][r[0]] == f.old["area"][r[0]] == "N1")
        f.original("region", rows, "S")

    refused("swap", forge, "an area lies in two broader areas", alone=False)


def test_one_household_more_than_the_rate_says():
    def forge(f: Forgery) -> None:
        homes = [f.old["region"][rows[0]] for rows in f.homes().values()]
        selected = sum((homes.count(region) + 1) // 2 for region in ("N", "S"))
        f.facts["alone"] = selected - f.facts["moved"] // 2
        assert f.verdict().holds
        f.facts["alone"] += 1

    refused("swap", forge, "more households were selected than the rate says")


def test_an_area_that_is_gone():
    def forge(f: Forgery) -> None:
        f.changed["area"][0] = None

    refused("swap", forge, "a record has no area, household or profile")


# ---- multiplied ---------------------------------------------------------------------------------------------


def moved_to(f: Forgery, name: str, row: int, share: float) -> None:
    f.changed[name][row] = f.old[name][row] + int(f.old[name][row] * share)


@pytest.mark.parametrize("share", [-0.25, -0.05, 0, 0.05, 0.25])
def test_a_value_that_moved_too_little_or_too_far(share):
    def forge(f: Forgery) -> None:
        up = [row for row, value in enumerate(f.old["income"]) if value > 1000]
        row = next(r for r in up if (f.changed["income"][r] - f.old["income"][r]) * share >= 0)
        moved_to(f, "income", row, share)

    refused("noise", forge, "by less or more than the factors say")


@pytest.mark.parametrize("by", [-1, 1])
def test_the_last_unit_counts(by):
    """A move of a tenth, rounded up, may not be a unit less, nor one of a fifth a unit more."""

    def forge(f: Forgery) -> None:
        row = next(r for r, value in enumerate(f.old["income"]) if value > 1000)
        own, sign = f.old["income"][row], np.sign(f.changed["income"][row] - f.old["income"][row])
        f.changed["income"][row] = own + int(sign) * (-(-own // 10) - 1 if by < 0 else -(-own // 5) + 1)

    refused("noise", forge, "by less or more than the factors say")


def test_a_zero_that_moved():
    refused("noise", lambda f: f.changed["income"].__setitem__(0, 1), "by less or more than the factors say")


@pytest.mark.parametrize("name", ["noise", "noise-apart"])
def test_members_of_a_household_that_moved_apart(name):
    def forge(f: Forgery) -> None:
        rows = next(r for r in f.homes().values() if sum(f.old["income"][row] > 100 for row in r) > 1)
        row = next(r for r in rows if f.old["income"][r] > 100)
        f.changed["income"][row] = 2 * f.old["income"][row] - f.changed["income"][row]

    refused(name, forge, "records that belong together moved in both directions")


def test_columns_of_a_record_that_moved_apart():
    def forge(f: Forgery) -> None:
        f.changed["income"] = [2 * old - new for old, new in zip(f.old["income"], f.changed["income"], strict=True)]

    refused("noise", forge, "records that belong together moved in both directions")
    forgery = Forgery("noise-apart")
    forge(forgery)
    assert forgery.verdict().holds


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"decimals": [0, 3]}, "not whole in the stated unit, or in a larger one already"),
        ({"decimals": [0, 1]}, "not whole in the stated unit"),
        ({"decimals": [1, 2]}, "not whole in the stated unit"),
        ({"columns": ["income"], "decimals": [0]}, "the columns are not those that the method names"),
        ({"decimals": [0, 99]}, "not whole in the stated unit"),
        ({"decimals": [0, True]}, "not whole in the stated unit"),
        ({"company": None}, "companies are said to be in another column"),
        ({"company": "sex"}, "companies are said to be in another column"),
    ],
)
def test_facts_that_are_none(facts, message):
    refused("noise", lambda f: f.facts.update(facts), message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": 1.0}, "not those of noise on records"),
        ({"a": 1.3}, "not those of noise on records"),
        ({"a": 1.2}, "not those of noise on records"),
        ({"b": 2.0}, "not those of noise on records"),
        ({"b": 2.5}, "not those of noise on records"),
        ({"p": 10}, "not those of noise on records"),
        ({"limit": 0.1}, "not those of noise on records"),
        ({"columns": ["income"]}, "other columns changed than the stated ones"),
        ({"b": 1.15}, "by less or more than the factors say"),
        ({"a": 1.15}, "by less or more than the factors say"),
    ],
)
def test_other_factors_than_the_stated_ones(change, message):
    refused("noise", lambda f: f.method.update(change), message, alone="columns" in change)


def test_a_gap_that_was_filled_and_one_that_was_made():
    refused("noise", lambda f: f.changed["tax"].__setitem__(3, None), "other empty fields than before")


def test_numbers_of_another_type():
    def forge(f: Forgery) -> None:
        f.types["income"] = pa.float64()

    refused("noise", forge, "is not one of numbers")


def test_a_value_between_units():
    refused(
        "noise", lambda f: f.changed["tax"].__setitem__(3, f.changed["tax"][3] + 0.001), "not whole in the stated unit"
    )


def test_a_column_that_did_not_change_after_all():
    refused("noise", lambda f: f.changed.pop("tax"), "other columns changed than the stated ones")


def test_noise_on_no_column():
    def forge(f: Forgery) -> None:
        original = f.custodian.original
        info = {name: replace(about, role=about.role.replace("numeric", "")) for name, about in original.info.items()}
        f.custodian = replace(f.custodian, original=replace(original, info=info))
        f.changed = {}
        f.facts.update(columns=[], decimals=[])

    refused("noise", forge, "other columns changed than the stated ones", alone=False)


def test_values_below_zero():
    def forge(f: Forgery) -> None:
        f.original("income", [1], -1)
        f.changed["income"][1] = -2 if f.changed["income"][1] < f.old["income"][1] else 0

    refused("noise", forge, "a column has values below zero")


def test_a_record_that_belongs_to_nobody():
    refused("noise", lambda f: f.original("home", [3], None), "a record belongs to nobody", alone=False)


def test_an_original_between_units():
    refused("noise", lambda f: f.original("tax", [3], f.old["tax"][3] + 0.001), "not whole in the stated unit")


def test_text_is_not_multiplied():
    def forge(f: Forgery) -> None:
        f.method["columns"] = ["sex"]
        f.changed = {"sex": list(f.old["sex"])}
        f.facts.update(columns=["sex"], decimals=[0])

    refused("noise", forge, "a column is not one of numbers")


def test_a_household_number_that_was_multiplied_besides():
    def forge(f: Forgery) -> None:
        f.method["columns"] = ["income", "home"]
        income = f.changed["income"]
        f.changed = {"income": income, "home": [home + -(-home // 10) for home in f.old["home"]]}
        f.facts.update(columns=["income", "home"], decimals=[0, 0])

    refused("noise-apart", forge, "a column was multiplied that holds no values", alone=False)


def test_a_household_number_that_was_multiplied():
    def forge(f: Forgery) -> None:
        f.method["columns"] = ["home"]
        f.changed = {"home": [home + -(-home // 10) for home in f.old["home"]]}
        f.facts.update(columns=["home"], decimals=[0])

    refused("noise", forge, "a column was multiplied that holds no values", alone=False)


# ---- anything else ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "truth"), [("swap", truly_swapped), ("noise", truly_multiplied)])
def test_random_edits_pass_only_where_the_claim_is_still_true(name, truth):
    draw = np.random.default_rng(11)
    passed = 0
    for _ in range(150):
        forgery = Forgery(name)
        column = forgery.changed[str(draw.choice(list(forgery.changed)))]
        for _ in range(int(draw.integers(1, 3))):
            rows = forgery.homes()[int(draw.integers(60))]
            if name == "swap":
                code = str(draw.choice(["N1", "N2", "S1", "S2"]))
                for row in rows[: int(draw.integers(1, 4))]:
                    column[row] = code
                forgery.facts["moved"] += int(draw.integers(-1, 2))
            else:
                whole, factor = column is forgery.changed["income"], draw.choice([0.8, 0.99, 1.0, 1.01, 1.05, 1.3])
                new = float(round(column[rows[0]] * factor, 0 if whole else 2))
                column[rows[0]] = int(new) if whole else new
        assert forgery.verdict().holds == truth(forgery)
        passed += truth(forgery)
    assert 0 < passed < 150
