"""The picture of a lattice of generalisations."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.report.lattice import lattice_picture
from discreet.report.records import records_report
from discreet.rules import population

NUMBERS = [str(a) for a in range(20)]


@pytest.fixture(scope="module")
def release() -> ds.Release:
    draw = np.random.default_rng(1)
    table = pa.table({"age": draw.choice(NUMBERS, 200), "<b>sex": draw.choice(["f", "m"], 200)})
    age = ds.Hierarchy.from_columns([[f"{int(a) // 5}" + "x" for a in NUMBERS], NUMBERS])
    hierarchies = {"age": age, "<b>sex": ds.Hierarchy.flat(["f", "m"])}
    data = ds.Microdata(table, keys=["age", "<b>sex"], hierarchies=hierarchies)
    return ds.protect(data, ds.Generalise(5))


def test_every_node_is_a_dot_and_the_taken_one_has_a_ring(release):
    evidence = release.custodian.evidence[0]
    picture = lattice_picture(evidence.method, evidence.facts)
    drawn = ElementTree.fromstring(str(picture.image))
    dots = [one.get("class") for one in drawn.iter("circle")]
    good = sum(node[3] for node in evidence.facts["table"])
    assert dots.count("keeps") == good
    assert dots.count("breaks") == 6 - good
    assert dots.count("taken") == 1
    assert len(list(drawn.iter("line"))) == 7
    assert "6 combinations of levels were judged" in picture.caption
    ring = next(one for one in drawn.iter("circle") if one.get("class") == "taken")
    dot = next(
        one for one in drawn.iter("circle") if one.get("cx") == ring.get("cx") and one.get("cy") == ring.get("cy")
    )
    assert dot.find("title").text.startswith(
        ", ".join(f"{k} {v}" for k, v in zip(evidence.facts["keys"], evidence.facts["levels"], strict=True))
    )


def test_the_best_nodes_stand_in_a_table_with_the_taken_one_first(release):
    evidence = release.custodian.evidence[0]
    best = lattice_picture(evidence.method, evidence.facts).best
    assert best[0].chosen
    assert not any(line.chosen for line in best[1:])


def test_the_report_has_the_picture_and_escapes_names(release):
    page = records_report(release)
    assert 'class="lattice follows"' in page
    assert "Why this generalisation" in page
    assert "<b>sex" not in page
    assert "(taken)" in page


def test_without_nodes_there_is_no_picture(release):
    evidence = release.custodian.evidence[0]
    assert lattice_picture(evidence.method, {**evidence.facts, "table": []}) is None


def test_a_rule_whose_population_was_not_kept_is_told_by_what_it_claims(monkeypatch):
    monkeypatch.setattr(population, "MOST_KEPT", 1)
    data = ds.Microdata(pa.table({"age": ["20", "20", "30", "30"]}), keys="age")
    rule = ds.KMap(2, population=data)
    release = ds.protect(data, ds.Recode("age", map={"20": "20", "30": "30"}), rules=[rule])
    assert "fits at least 2 of the 4 units of the stated population" in records_report(release)
