"""Applications: all states of the card, two reviewers, seven conditions, expiry and renewal; on both databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.server.denied import Denied
from discreet.server.extracts.conditions import CONDITIONS
from discreet.server.extracts.file import ExtractFile
from discreet.server.store.applications import months_later
from discreet.server.store.store import Store
from discreet.server.store.tables import APPLICATION_STATES
from tests.server.extracts.desk import Desk, form
from tests.server.extracts.made import PLACE


@pytest.fixture
def desk(store: Store, extract_file: ExtractFile, tmp_path: Path) -> Desk:
    return Desk(store, extract_file, tmp_path)


YEAR = 366 * 86_400


def test_a_project_goes_through_all_states_of_the_card(desk: Desk, clock: Any) -> None:
    applications, ids = desk.store.applications, desk.ids
    number = desk.draft()
    seen = [applications.find(number).state]
    steps = [
        lambda: applications.submit(number, ids["Ada"]),
        lambda: applications.act(number, ids["Nora"], "take up"),
        lambda: applications.act(number, ids["Nora"], "identified"),
        lambda: desk.reviewed(number, "approve", "more"),
        lambda: applications.submit(number, ids["Ada"], "Here is the ethics vote."),
        lambda: desk.reviewed(number, "approve", "approve"),
        lambda: applications.accept(number, ids["Ada"], list(CONDITIONS), "1"),
        lambda: applications.act(number, ids["Mara"], "suspend", "A complaint."),
        lambda: applications.act(number, ids["Mara"], "reinstate"),
    ]
    for step in steps:
        seen.append(step().state)
    clock.time += YEAR
    seen.append(applications.find(number).state)
    seen.append(applications.act(number, ids["Ada"], "renew", "Two papers are left.").state)
    seen.append(desk.reviewed(number, "approve", "approve").state)
    assert desk.store.projects.find(number).expires == months_later(int(clock.time), 12)
    seen.append(applications.act(number, ids["Mara"], "revoke", "Data were found elsewhere.").state)
    assert desk.store.projects.find(number).state == "closed"
    assert set(seen) | {"refused"} == set(APPLICATION_STATES)
    other = desk.approved("Another")
    assert applications.find(other).state == "approved"


def test_two_refusals_refuse_and_commerce_and_no_need_are_refused_at_once(desk: Desk) -> None:
    applications = desk.store.applications
    number = desk.draft("One")
    applications.submit(number, desk.ids["Ada"])
    applications.act(number, desk.ids["Nora"], "take up")
    applications.act(number, desk.ids["Nora"], "identified")
    assert desk.reviewed(number, "refuse", "refuse").state == "refused"
    for title, more in (("Two", {"commercial": True}), ("Three", {"why": "I want them."})):
        row = applications.submit(desk.draft(title, **more), desk.ids["Ada"])
        assert row.state == "refused"
        assert row.events[-1].kind == "refused by rule"
    number = desk.draft("Four")
    applications.submit(number, desk.ids["Ada"])
    applications.act(number, desk.ids["Nora"], "take up")
    assert applications.act(number, desk.ids["Nora"], "not identified").state == "refused"


def test_nobody_reviews_their_own_or_twice_and_reviewers_are_two(desk: Desk) -> None:
    applications, ids = desk.store.applications, desk.ids
    number = desk.draft()
    with pytest.raises(Denied, match="not under review"):
        applications.review(number, ids["Rita"], "approve", "Good.")
    applications.submit(number, ids["Ada"])
    applications.act(number, ids["Nora"], "take up")
    applications.act(number, ids["Nora"], "identified")
    desk.store.projects.add_member(number, ids["Otto"])
    for name in ("Ada", "Otto"):
        with pytest.raises(Denied, match="their own"):
            applications.review(number, ids[name], "approve", "Good.")
    row = applications.review(number, ids["Rita"], "approve", "Good.")
    assert row.state == "review"
    assert [one.kind for one in row.seen_by(ids["Mara"])] == ["submit", "take up", "identified"]
    assert row.seen_by(ids["Rita"])[-1].kind == "approve"
    with pytest.raises(Denied, match="decided"):
        applications.review(number, ids["Rita"], "approve", "Good again.")
    with pytest.raises(Denied, match="for others"):
        applications.act(desk.draft("Own", "Ben"), ids["Ben"], "suspend")


def test_what_a_state_does_not_allow_is_refused(desk: Desk) -> None:
    number, applications = desk.draft(), desk.store.applications
    for action in ("take up", "identified", "suspend", "reinstate", "revoke"):
        with pytest.raises(Denied, match="draft"):
            applications.act(number, desk.ids["Mara"], action)
    with pytest.raises(Denied, match="for others"):
        applications.submit(number, desk.ids["Ben"])
    with pytest.raises(Denied, match="nothing to accept"):
        applications.accept(number, desk.ids["Ada"], list(CONDITIONS), "1")


def test_all_seven_conditions_are_kept_with_version_and_time(desk: Desk, clock: Any) -> None:
    """Check 8: in the current version, or nothing is had."""
    assert len(CONDITIONS) == 7
    number, applications = desk.approved(), desk.store.applications
    for some, version in ((list(CONDITIONS)[:6], "1"), ([*CONDITIONS, "more"], "1"), (list(CONDITIONS), "0")):
        with pytest.raises(Denied, match="conditions"):
            applications.accept(number, desk.ids["Ada"], some, version)
    with pytest.raises(Denied, match="not active"):
        desk.ask(number, "age")
    applications.accept(number, desk.ids["Ada"], list(CONDITIONS), "1")
    from sqlalchemy import select

    from discreet.server.store.tables import LICENCE_ACCEPTANCE as L

    with desk.store.engine.connect() as connection:
        rows = connection.execute(select(L.c.condition, L.c.version, L.c.accepted)).all()
    assert {tuple(row) for row in rows} == {(name, "1", int(clock.time)) for name in CONDITIONS}
    assert desk.ask(number, "age") > 0
    applications.new_licence(**PLACE, version="2")
    with pytest.raises(Denied, match="current conditions"):
        desk.ask(number, "age")
    assert desk.last().rule == "licence"
    applications.accept(number, desk.ids["Ada"], list(CONDITIONS), "2")
    assert desk.ask(number, "age") > 0


def test_every_member_accepts_for_themselves(desk: Desk) -> None:
    number = desk.active()
    desk.store.projects.add_member(number, desk.ids["Ben"])
    with pytest.raises(Denied, match="not accepted by you"):
        desk.ask(number, "age", name="Ben")
    desk.store.applications.accept(number, desk.ids["Ben"], list(CONDITIONS), "1")
    assert desk.ask(number, "age", name="Ben") > 0


def test_a_project_goes_on_while_its_renewal_is_looked_at_and_ends_when_it_is_refused(desk: Desk, clock: Any) -> None:
    number, applications = desk.active(), desk.store.applications
    applications.act(number, desk.ids["Ada"], "renew")
    assert desk.ask(number, "age") > 0  # it goes on while people look at it
    assert desk.reviewed(number, "refuse", "refuse").state == "refused"
    with pytest.raises(Denied):
        desk.ask(number, "age")


def test_an_edition_that_is_gone_takes_no_application(desk: Desk) -> None:
    desk.store.editions.withdraw(**PLACE)
    with pytest.raises(Denied, match="withdrawn"):
        desk.draft()
    assert form().commercial is False


def test_a_year_ends_on_the_last_day_of_a_short_month() -> None:
    assert months_later(1_709_208_000, 12) - 1_709_208_000 == 365 * 86_400  # from 29 February
