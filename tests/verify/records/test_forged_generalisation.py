"""Releases that say of generalised keys what is not so, each forged without leaving other traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.base import Claim
from discreet.model.claims.generalised import generalised_claim
from discreet.model.custodian import RecordCustodian
from discreet.model.records import ColumnInfo
from discreet.verify import Verdict, check_records
from discreet.verify.records.broader import Broader, broader_codes, interval
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.generalised import _suppressed
from discreet.verify.records.lost import losses

TOWN = ds.Hierarchy.from_nested({"N": ["N1", "N2"], "S": {"S1": None, "S2": ["S2a", "S2b"]}}, total="all")
AGE = ds.Hierarchy.from_digits([f"{a:02d}" for a in range(40)], [1, 1], total="any age")
ROWS = 240
METHODS: dict[str, Callable[[], ds.Generalise]] = {
    "lattice": lambda: ds.Generalise(3),
    "local": lambda: ds.Generalise(3, algorithm="local", ordered=["age"]),
    "trees": lambda: ds.Generalise(3, algorithm="local"),
    "diverse": lambda: ds.Generalise(rules=[ds.KAnonymity(3), ds.TCloseness(0.9, distance="hierarchical")]),
    "people": lambda: ds.Generalise(rules=[ds.KMap(3, population=table().select(["age", "town", "sex"]))]),
}


@cache
def table() -> pa.Table:
    draw = np.random.default_rng(5)
    town = draw.choice(["N1", "N2", "S1", "S2a", "S2b", "?"], ROWS, p=[0.4, 0.2, 0.2, 0.1, 0.09, 0.01])
    return pa.table(
        {
            "age": [f"{a:02d}" for a in draw.integers(0, 40, ROWS)],
            "town": pa.array([str(code) for code in town]),
            "sex": draw.choice(["f", "m"], ROWS),
            "ill": draw.choice(["N1", "N2", "S1"], ROWS),
            "wage": draw.integers(1, 10**6, ROWS),
        }
    )


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    source = table()
    if name == "people":
        known = pa.compute.not_equal(source["town"], "?")
        source = source.filter(known)
    data = ds.Microdata(
        source,
        keys=["age", "town", "sex"],
        sensitive="ill",
        numeric="wage",
        missing_codes={"town": ["?"]},
        hierarchies={"age": AGE, "town": TOWN, "ill": TOWN},
    )
    return ds.protect(data, METHODS[name](), key=ds.Key(bytes(32)))


class Forgery:
    """A release of which the step is rewritten; numbers and claim follow where they are not forged."""

    def __init__(self, name: str) -> None:
        self.custodian = release(name).custodian
        self.step = self.custodian.steps[0]
        self.method = dict(self.step.evidence.method)
        self.forged: dict[str, Any] = {}
        self.old = self.custodian.original.columns.to_pydict()
        self.changed = {name: self.step.changed[name].to_pylist() for name in self.step.changed.column_names}
        self.types = {name: self.step.changed[name].type for name in self.step.changed.column_names}
        self.claim: Claim | None = None
        self.original = self.custodian.original
        self.follow = True

    @property
    def facts(self) -> dict[str, Any]:
        return {**self.step.evidence.facts, **self.forged}

    def arrow(self) -> pa.Table:
        return pa.table({n: pa.array(v, self.types.get(n, self.original[n].type)) for n, v in self.changed.items()})

    def verdict(self) -> Verdict:
        facts = {**self.step.evidence.facts, **(self._counted() if self.follow else {}), **self.forged}
        said = self.claim or generalised_claim(self.method, facts)
        evidence = replace(self.step.evidence, method=self.method, facts=facts, claim=said)
        step = replace(self.step, evidence=evidence, changed=self.arrow())
        lie = replace(self.custodian, original=self.original, steps=(step,))
        return check_records(lie, lie.public())

    def _counted(self) -> dict[str, Any]:
        changed = {name: self.arrow()[name] for name in self.changed}
        before = {name: self.original[name] for name in self.original.names}
        evidence = replace(self.step.evidence, method=self.method, facts=self.facts)
        step = CheckedStep(Verdict(), self.original, before, changed, evidence)
        keys = self.facts["keys"]
        after = {name: changed.get(name, before[name]) for name in keys}
        suppressed = _suppressed(step, keys, after)
        broader = broader_codes(step, keys)
        if broader is None:
            return {}
        rows = set(zip(*(after[name].to_pylist() for name in keys), strict=True))
        lost = losses(step, after, suppressed, broader)
        found = {"suppressed": int(suppressed.sum()), "classes": len(rows), "losses": lost}
        if self.method["algorithm"] == "lattice":
            mine = [*self.step.evidence.facts["table"]]
            place = next(i for i, node in enumerate(mine) if node[0] == self.facts["levels"])
            mine[place] = [mine[place][0], found["suppressed"], lost[self.method["metric"]], True]
            found["table"] = mine
        return found


def refused(forge: Callable[[Forgery], None], message: str, name: str = "lattice", alone: bool = True) -> None:
    forgery = Forgery(name)
    assert forgery.verdict().holds, forgery.verdict().refused
    forge(forgery)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert any(message in text for text in found), found
    assert not alone or len(found) == 1, found


def kept(f: Forgery, name: str, value: str | None = None) -> int:
    """A row that was not suppressed and has a value."""
    return next(
        row
        for row, new in enumerate(f.changed[name])
        if new is not None and f.old["town"][row] != "?" and value in (None, new)
    )


ABOVE = "a value became a code that does not stand above it"


@pytest.mark.parametrize("name", METHODS)
def test_true_releases_hold(name):
    assert Forgery(name).verdict().holds
    as_it_is = Forgery(name)
    as_it_is.follow = False
    assert as_it_is.verdict().holds


def test_as_many_records_may_be_emptied_as_the_method_allows():
    forgery = Forgery("lattice")
    emptied = forgery.step.evidence.facts["suppressed"]
    assert emptied
    forgery.method["outliers"] = emptied / ROWS
    assert forgery.verdict().holds
    forgery.method["outliers"] = (emptied - 1) / ROWS
    assert not forgery.verdict().holds


def test_a_value_went_up_elsewhere():
    def forge(f: Forgery) -> None:
        row = kept(f, "age")
        f.changed["age"][row] = next(v for v in f.changed["age"] if v not in (None, f.changed["age"][row]))

    refused(forge, ABOVE)


def test_a_value_went_up_another_level():
    def forge(f: Forgery) -> None:
        # All of a class, so that the rules hold all the same.
        row = kept(f, "age")
        value = f.changed["age"][row]
        f.changed["age"] = ["any age" if v == value else v for v in f.changed["age"]]

    refused(forge, ABOVE)


def test_a_code_for_unknown_became_another():
    def forge(f: Forgery) -> None:
        rows = [i for i, town in enumerate(f.old["town"]) if town == "?" and f.changed["sex"][i] is not None]
        if not rows:  # they were suppressed: show one of them in a class of others
            rows = [f.old["town"].index("?")]
            like = kept(f, "age")
            f.changed["age"][rows[0]] = f.step.changed["age"].to_pylist()[rows[0]] or f.changed["age"][like]
        for row in rows:
            f.changed["town"][row] = "N1"
            f.changed["sex"][row] = f.old["sex"][row]

    refused(forge, ABOVE, alone=False)


def test_a_type_changed():
    def forge(f: Forgery) -> None:
        f.types["sex"] = pa.int64()
        f.changed["sex"] = [None if v is None else 1 for v in f.changed["sex"]]

    refused(forge, ABOVE, alone=False)


def test_an_interval_does_not_hold_a_number():
    def forge(f: Forgery) -> None:
        f.changed["age"] = ["05-06" if v == f.changed["age"][0] else v for v in f.changed["age"]]

    refused(forge, ABOVE, "local", alone=False)


def test_an_interval_that_is_none():
    def forge(f: Forgery) -> None:
        value = next(v for v in f.changed["age"] if "-" in v)
        f.changed["age"] = ["young" if v == value else v for v in f.changed["age"]]

    refused(forge, ABOVE, "local", alone=False)


def test_a_wider_interval_loses_more_than_is_said():
    def forge(f: Forgery) -> None:
        f.follow = False
        value = f.changed["age"][0]
        low, _, high = value.partition("-")
        f.changed["age"] = [f"{max(int(low) - 1, 0)}-{int(high or low)}" if v == value else v for v in f.changed["age"]]

    refused(forge, "what is said to be lost is not what is lost", "local")


def test_a_class_has_a_code_of_another_branch():
    def forge(f: Forgery) -> None:
        f.changed.setdefault("town", list(f.old["town"]))
        f.changed["town"] = ["S" if v == "N1" else v for v in f.changed["town"]]

    refused(forge, ABOVE, "trees", alone=False)


def test_some_keys_were_emptied_and_not_all():
    def forge(f: Forgery) -> None:
        row = kept(f, "age")
        value = f.changed["age"][row]
        f.changed["age"] = [None if v == value else v for v in f.changed["age"]]
        f.method["outliers"] = 1
        f.forged["table"] = []

    refused(forge, "a record has some of its keys emptied and not all")


def test_another_column_changed():
    refused(lambda f: f.changed.update(wage=[1] * ROWS), "other columns changed than keys")


def test_other_keys():
    refused(lambda f: f.method.update(keys=["age", "town"]), "the keys are not those that the method names")


@pytest.mark.parametrize("levels", [[0, 0], [1, 0, 0, 0], [-1, 0, 0], [9, 0, 0], [True, 0, 0], None, [1.0, 0, 0]])
def test_levels_that_are_none(levels):
    def forge(f: Forgery) -> None:
        f.follow = False
        f.forged["levels"] = levels
        f.claim = f.step.evidence.claim

    refused(forge, "the levels are not those of the keys")


def test_local_recoding_has_no_levels():
    def forge(f: Forgery) -> None:
        f.follow = False
        f.forged["levels"] = [1, 0, 0]

    refused(forge, "the levels are not those of the keys", "local")


def test_a_hierarchy_of_other_height():
    def forge(f: Forgery) -> None:
        f.follow = False
        f.forged["heights"] = [5, *f.step.evidence.facts["heights"][1:]]

    refused(forge, "a hierarchy has other levels than are stated")


def test_a_hierarchy_of_less_height():
    def forge(f: Forgery) -> None:
        f.follow = False
        levels, heights = f.step.evidence.facts["levels"], list(f.step.evidence.facts["heights"])
        heights[next(i for i, top in enumerate(heights) if levels[i] < top)] -= 1
        f.forged["heights"] = heights

    refused(forge, "a hierarchy has other levels than are stated")


def test_a_hierarchy_that_lacks_one_code():
    def forge(f: Forgery) -> None:
        f.follow = False
        town = ds.Hierarchy.from_nested({"N": ["N1", "N2"], "S": {"S1": None, "S2": ["S2a", "S2c"]}}, total="all")
        f.original = replace(f.original, hierarchies={**f.original.hierarchies, "town": town})

    refused(forge, "a hierarchy lacks codes of its key")


def test_a_hierarchy_that_lacks_codes():
    def forge(f: Forgery) -> None:
        f.follow = False
        f.original = replace(f.original, hierarchies={**f.original.hierarchies, "town": AGE})

    refused(forge, "a hierarchy lacks codes of its key")


def test_intervals_of_what_is_no_number():
    def forge(f: Forgery) -> None:
        f.follow = False
        f.method["ordered"] = ["age", "sex"]

    refused(forge, "a key of intervals has values that are no numbers", "local")


@pytest.mark.parametrize(("fact", "value"), [("rows", 241), ("suppressed", 1), ("classes", 2)])
def test_numbers_that_are_not_those_counted(fact, value):
    def forge(f: Forgery) -> None:
        f.follow = False
        f.forged[fact] = value
        if fact == "suppressed":
            table_ = [list(node) for node in f.step.evidence.facts["table"]]
            next(node for node in table_ if node[0] == f.facts["levels"])[1] = value
            f.forged["table"] = table_

    refused(forge, "the numbers of records, of those suppressed and of classes are not those that are counted")


def test_more_records_were_emptied_than_allowed():
    refused(lambda f: f.method.update(outliers=0), "more records have their keys emptied than the method allows")


@pytest.mark.parametrize("metric", ["loss", "precision", "entropy", "discernibility", "class_size"])
def test_losses_that_are_not_so(metric):
    def forge(f: Forgery) -> None:
        f.follow = False
        lost = dict(f.step.evidence.facts["losses"])
        lost[metric] = lost[metric] * 0.99
        f.forged["losses"] = lost
        if metric == "loss":
            f.forged["table"] = []

    refused(forge, "what is said to be lost is not what is lost")


def test_a_loss_that_is_left_out():
    def forge(f: Forgery) -> None:
        f.follow = False
        f.forged["losses"] = {n: v for n, v in f.step.evidence.facts["losses"].items() if n != "entropy"}

    refused(forge, "what is said to be lost is not what is lost")


def test_other_rules_than_those_of_the_method():
    def forge(f: Forgery) -> None:
        f.forged["rules"] = [{**f.step.evidence.facts["rules"][0], "k": 2}]

    refused(forge, "the rules are not those of the method, about its keys")


def test_no_rules_at_all():
    def forge(f: Forgery) -> None:
        f.forged["rules"] = []
        f.method["k"] = None

    refused(forge, "the rules are not those of the method, about its keys")


def test_another_tree_of_the_sensitive_column():
    def forge(f: Forgery) -> None:
        rules = [dict(rule) for rule in f.step.evidence.facts["rules"]]
        rules[1]["above"] = {"N1": "x", "N2": "x", "S1": "x"}
        f.forged["rules"] = rules

    refused(forge, "the rules are not those of the method, about its keys", "diverse")


def test_a_rule_that_does_not_hold():
    def forge(f: Forgery) -> None:
        f.method["k"] = 9
        f.forged["rules"] = [{**f.step.evidence.facts["rules"][0], "k": 9}]

    refused(forge, "fewer than 9 times")


def test_a_population_that_is_too_small():
    def forge(f: Forgery) -> None:
        rule = dict(f.method["rules"][0])
        few = {**rule["population"], "units": [1] * rule["population"]["distinct"]}
        few["total"] = sum(few["units"])
        f.method["rules"] = [{**rule, "k": 30, "population": few}]
        f.forged["rules"] = [{**f.step.evidence.facts["rules"][0], "k": 30, "population": few}]

    refused(forge, "fit fewer than 30 units of the population", "people")


def test_a_number_of_nodes_that_is_not_so():
    refused(lambda f: f.forged.update(nodes=5), "the number of nodes is not that of the hierarchies")


@pytest.mark.parametrize(
    "forge",
    [
        lambda node: [node[0], node[1] + 1, node[2], True],
        lambda node: [node[0], node[1], node[2] * 0.5, True],
        lambda node: [node[0], node[1], node[2], False],
        lambda node: [[9, 9, 9], node[1], node[2], True],
    ],
)
def test_the_chosen_node_is_shown_as_something_else(forge):
    def forged(f: Forgery) -> None:
        f.follow = False
        f.forged["table"] = [forge(n) if n[0] == f.facts["levels"] else n for n in f.step.evidence.facts["table"]]

    refused(forged, "the nodes that are shown do not have the chosen one as their best")


def test_a_better_node_is_shown():
    def forge(f: Forgery) -> None:
        f.follow = False
        f.forged["table"] = [[n[0], 0, 0.0, True] if n[0] == [2, 3, 0] else n for n in f.step.evidence.facts["table"]]

    refused(forge, "the nodes that are shown do not have the chosen one as their best")


def test_another_claim():
    def forge(f: Forgery) -> None:
        f.claim = Claim("generalise", "Nobody can be recognised.")

    refused(forge, "generalise does not claim what it may")


def test_nobody_says_that_the_search_was_repeated():
    verdict = release("lattice").verify()
    assert "that no other combination of levels keeps the rules and loses less" in verdict.asserted
    assert not any("loses less" in text for text in verdict.proved)


def test_a_population_that_is_not_kept_leaves_the_claim_asserted():
    forgery = Forgery("people")
    rule = dict(forgery.method["rules"][0])
    large = {name: rule["population"][name] for name in ("keys", "total", "distinct")}
    forgery.method["rules"] = [{**rule, "population": large}]
    forgery.forged["rules"] = [{**forgery.step.evidence.facts["rules"][0], "population": large}]
    verdict = forgery.verdict()
    assert verdict.holds
    assert any(text.startswith("All values of a key went up") for text in verdict.asserted)
    assert not any(text.startswith("All values of a key went up") for text in verdict.proved)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("15-29", (15, 29)),
        ("5-5", (5, 5)),
        ("-3 to 4.5", (-3, 4.5)),
        ("29-15", None),
        ("15", None),
        ("a to b", None),
        ("1-2-3", None),
    ],
)
def test_intervals_are_read_by_code_of_its_own(text, ends):
    assert interval(text) == ends


def test_what_stands_above_a_code_less_deep_than_others():
    lines = {"S1": ["S1", "S", "all"], "S2a": ["S2a", "S2", "S", "all"]}
    for level, shallow, deep in ((0, "S1", "S2a"), (1, "S1", "S2"), (2, "S", "S"), (3, "all", "all")):
        one = Broader("town", lines, {}, 5, (), level, 3, None)
        assert (one.raised("S1"), one.raised("S2a")) == (shallow, deep)


def test_values_that_keep_their_type_stay_as_they_are():
    one = Broader("age", {}, {}, 3, (), None, 0, (0.0, 10.0))
    assert one._may(5, 5)
    assert not one._may(5, 6)
    assert not one._may(None, 5)
    assert one.width(5, 5) == one.width(5, "5") == 0
    assert one.width(5, "4-6") == 0.2
    assert Broader("age", {}, {}, 3, (), None, 0, (5.0, 5.0)).width(5, "4-6") == 0


def test_a_star_loses_everything_but_of_a_single_code():
    assert Broader("sex", {}, {}, 2, (), None, 0, None).width("f", "*") == 1
    assert Broader("sex", {}, {}, 1, (), None, 0, None).width("f", "*") == 0
    assert Broader("sex", {}, {}, 2, (), None, 0, None).width("f", "f") == 0


def test_roles_say_which_column_is_sensitive():
    def forge(f: Forgery) -> None:
        f.original = replace(f.original, info={**f.original.info, "wage": ColumnInfo("sensitive")})

    refused(forge, "the rules are not those of the method, about its keys", "diverse")
