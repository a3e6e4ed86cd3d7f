"""Safe plots over HTTP: who gets them, what they cost, and what is refused."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np
import pytest

from discreet.server.denied import Denied
from discreet.server.plots import PlotBody, wanted_plot
from discreet.server.question import QuestionRefusal
from discreet.server.roles import Role
from discreet.server.store.store import Store
from tests.server.census import PLOTS, PUBLIC, made
from tests.server.extracts.conftest import House

PLOT = "/v1/datasets/census/latest/plot"


def ask(house: House, project: int, **more):
    body = {"project": project, "kind": "histogram", "variables": ["income"], "width": 10_000, **more}
    return house.client.post(PLOT, json=body)


def test_a_plot_is_charged_once_logged_and_the_same_for_the_same_request(house: House):
    number = house.project("ada", "bob")
    house.become("ada")
    first = ask(house, number)
    assert first.status_code == 200, first.text
    assert first.json()["protection"]["left"] == pytest.approx(3)
    house.become("bob")
    again = ask(house, number)
    assert again.json()["rows"] == first.json()["rows"]
    assert house.store.plots.used(number, "census", "2021.1") == pytest.approx(2)
    assert [entry.action for entry in house.log.entries] == ["plot.ask", "plot.ask"]
    assert house.log.entries[0].subject == "ada"
    assert house.log.entries[0].method == "safe_plot"


def test_other_plots_are_charged_until_the_account_is_empty(house: House):
    number = house.project("ada")
    house.become("ada")
    assert ask(house, number).status_code == 200
    assert ask(house, number, width=20_000).status_code == 200
    refused = ask(house, number, width=25_000)
    assert refused.status_code == 403
    assert refused.json()["type"] == "urn:discreet:plot-account"
    assert "costs 2 of your project's account, and 1 is left" in refused.json()["title"]
    assert house.log.entries[-1].rule == "plot-account"
    other = house.project("bob")
    house.become("bob")
    assert ask(house, other, width=25_000).status_code == 200, "another project has its own account"


def test_two_requests_for_the_same_budget_at_once_never_take_more_than_there_is(house: House, address, clock):
    number, start = house.project("ada"), Barrier(2)

    def one(name: str) -> int:
        good = 0
        with Store.open(address, clock=clock) as mine:
            start.wait(timeout=30)
            for place in range(20):
                try:
                    mine.plots.charge(number, "census", "2021.1", f"{name}{place}", 1.0, 7.0, 99.0)
                    good += 1
                except Denied:
                    pass
        return good

    with ThreadPoolExecutor(2) as both:
        assert sum(both.map(one, ["a", "b"])) == 7
    assert house.store.plots.used(number, "census", "2021.1") == pytest.approx(7)


def test_projects_that_work_together_share_an_account_of_the_edition(house: House):
    """Each asks for another plot until nothing is left: ten get what four are worth, and one plot counts once."""
    told = 0
    for place in range(10):
        name = f"colluder{place}"
        house.ids[name] = house.store.people.add(name, f"{name}@example.org")
        number = house.project(name)
        house.become(name)
        replies = [ask(house, number, width=10_000), ask(house, number, width=10_001 + place)]
        told += sum(reply.status_code == 200 for reply in replies[1:])
        assert replies[0].status_code == 200, "the plot that all have seen is the same for all"
    assert told == 9
    assert house.store.plots.told_to_all("census", "2021.1") == pytest.approx(20)
    assert sum(house.store.plots.told("census", "2021.1").values()) == pytest.approx(38)
    assert "account of all projects" in replies[1].json()["title"]


@pytest.mark.parametrize("kind", ["density", "box", "contours", "density2d"])
def test_every_kind_is_drawn(house: House, kind):
    number = house.project("ada")
    house.become("ada")
    flat = kind in ("contours", "density2d")
    names, width = (["income", "age"], [10_000, 5]) if flat else (["income"], None if kind == "box" else 10_000)
    reply = ask(house, number, kind=kind, variables=names, width=width, points=31 if flat else None)
    assert reply.status_code == 200, reply.text
    assert reply.json()["kind"] == kind
    assert reply.json()["records"] is None


@pytest.mark.parametrize(("format", "begins"), [("csv", "from,to,count,band"), ("svg", "<svg xmlns")])
def test_plots_come_as_csv_and_as_drawings(house: House, format, begins):
    number = house.project("ada")
    house.become("ada")
    assert ask(house, number, format=format).text.startswith(begins)


def test_who_is_not_a_member_not_signed_in_well_enough_or_nobody_gets_none(house: House):
    number = house.project("ada")
    for who, role, level, status in [
        ("eve", Role.RESEARCHER, 3, 403),
        ("ada", Role.RESEARCHER, 2, 403),
        ("ada", Role.ADMINISTRATOR, 3, 403),
    ]:
        house.become(who, role, level)
        assert ask(house, number).status_code == status
    house.who = PUBLIC
    assert ask(house, number).status_code == 403
    house.become("eve")
    missing, foreign = ask(house, 999_999), ask(house, number)
    assert missing.json()["title"] == foreign.json()["title"], "nobody learns which projects there are"
    assert [entry.rule for entry in house.log.entries][:2] == ["other-project", "level"]
    assert house.store.plots.used(number, "census", "2021.1") == 0


def test_an_expired_project_and_variables_outside_the_grant_are_refused(house: House, clock):
    number = house.project("ada", variables=("age",), expires=int(clock()) + 10)
    house.become("ada")
    refused = ask(house, number)
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:discreet:not-granted")
    clock.time += 11
    over = ask(house, number, variables=["age"], width=5)
    assert (over.status_code, over.json()["type"]) == (403, "urn:discreet:project-over")
    assert house.log.entries[-1].rule == "project-over"


@pytest.mark.parametrize(
    ("change", "status", "kind"),
    [
        ({"weight": "w"}, 400, "weights"),
        ({"kind": "scatter"}, 400, "bad-plot"),
        ({"width": -1}, 400, "bad-plot"),
        ({"limits": [[5, 1]]}, 400, "bad-plot"),
        ({"noise": 0.5}, 400, "bad-plot"),
        ({"universe": "nobody"}, 404, "unknown-universe"),
        ({"format": "exe"}, 406, "unknown-format"),
        ({"seed": 5}, 400, "not-a-question"),
        ({"variables": "income"}, 400, "not-a-question"),
    ],
)
def test_bad_plots_have_a_status_and_a_word(house: House, change, status, kind):
    number = house.project("ada")
    house.become("ada")
    reply = ask(house, number, **change)
    assert (reply.status_code, reply.json()["type"]) == (status, f"urn:discreet:{kind}")
    assert house.store.plots.used(number, "census", "2021.1") == 0


def test_a_plot_that_cannot_be_logged_does_not_leave(house: House):
    number = house.project("ada")
    house.become("ada")
    house.log.broken = True
    assert ask(house, number).status_code == 503


@pytest.mark.parametrize(
    ("values", "text"), [([1.0, 2.0, 3.0, 4.0, 5.0], "fewer than 10"), ([7.0] * 50, "same in all records")]
)
def test_five_records_and_a_constant_are_not_drawn(house: House, monkeypatch, values, text):
    number = house.project("ada")
    house.become("ada")
    monkeypatch.setattr("discreet.server.plots.coordinates", lambda _table, _name: np.array(values))
    reply = ask(house, number)
    assert (reply.status_code, reply.json()["type"]) == (403, "urn:discreet:not-drawn")
    assert text in reply.json()["title"]
    assert house.store.plots.used(number, "census", "2021.1") == 0


def test_weighted_records_are_refused_until_the_owner_says_how_large_weights_can_be(tmp_path):
    census = made(tmp_path, records=300, areas=2, change=PLOTS)
    weighted = replace(census, data=census.data.with_(weight="income"))
    body = PlotBody(project=1, kind="histogram", variables=["age"], width=5)
    with pytest.raises(QuestionRefusal, match="records have weights"):
        wanted_plot(weighted, body)
    census.policy.largest_weight = 4.0
    wanted = wanted_plot(weighted, body)
    assert (wanted.weighted, wanted.largest_weight) == ("income", 4.0)


def test_no_true_number_is_in_answers_or_log(house: House):
    number = house.project("ada")
    house.become("ada")
    reply = ask(house, number)
    table = json.dumps(reply.json())
    assert "4000" not in [str(row["count"]) for row in reply.json()["rows"]]
    assert '"records": null' in table
    assert not any(str(row["count"]) in repr(house.log.entries) for row in reply.json()["rows"])
