"""Budgets, nonces, rates, editions, approvals, people, projects, questions: on SQLite and PostgreSQL alike."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlalchemy import text

from discreet.errors import InputError, ParameterError
from discreet.server.denied import Denied
from discreet.server.roles import Role
from discreet.server.store.failures import StoreConflict, StoreError
from discreet.server.store.people import Founder
from discreet.server.store.store import Store

DAY = 86_400


@pytest.fixture
def four(store) -> list[int]:
    """A data owner, an officer, a reviewer and a registration officer."""
    roles = [Role.DATA_OWNER, Role.OFFICER, Role.REVIEWER, Role.REGISTRATION_OFFICER]
    return store.people.found([Founder(role, f"{role[:4]}@example.org", role) for role in roles])


# Budgets


def test_a_budget_is_spent_up_to_its_last_cell_and_new_the_next_day(store, clock):
    clock.time = 20_000 * DAY + DAY - 90.0
    store.budgets.reserve("principal 1", 600, most=1000)
    with pytest.raises(Denied) as caught:
        store.budgets.reserve("principal 1", 401, most=1000)
    assert (caught.value.kind, caught.value.status, caught.value.retry_after) == ("budget", 429, 90)
    store.budgets.reserve("principal 1", 400, most=1000)
    store.budgets.reserve("principal 2", 1000, most=1000)
    assert store.budgets.used("principal 1") == 1000
    clock.time += 90
    assert store.budgets.used("principal 1") == 0
    store.budgets.reserve("principal 1", 1000, most=1000)


@pytest.mark.parametrize(("cells", "most"), [(-1, 10), (2**63, 2**63), (1, -1)])
def test_a_budget_of_strange_numbers_is_refused(store, cells, most):
    with pytest.raises(ParameterError, match="number of cells"):
        store.budgets.reserve("x", cells, most)


def test_a_first_table_above_the_budget_is_refused(store):
    with pytest.raises(Denied):
        store.budgets.reserve("x", 11, most=10)
    assert store.budgets.used("x") == 0


def race(address, clock, work, times=50) -> int:
    """How often two together had success."""
    start = Barrier(2)

    def one(name: str) -> int:
        good = 0
        with Store.open(address, clock=clock) as mine:
            start.wait(timeout=30)
            for number in range(times):
                try:
                    work(mine, f"{name}{number}")
                    good += 1
                except Denied:
                    pass
        return good

    with ThreadPoolExecutor(2) as both:
        return sum(both.map(one, ["one", "other"]))


def test_two_who_race_for_a_budget_never_exceed_it(store, address, clock):
    assert race(address, clock, lambda mine, _: mine.budgets.reserve("x", 7, most=300)) == 42
    assert store.budgets.used("x") == 294


# Nonces


def test_a_nonce_is_good_once_for_its_signer(store, clock):
    store.nonces.use("print", "n" * 16, int(clock()))
    with pytest.raises(Denied) as caught:
        store.nonces.use("print", "n" * 16, int(clock()))
    assert (caught.value.kind, caught.value.status) == ("replay", 401)
    store.nonces.use("another print", "n" * 16, int(clock()))


@pytest.mark.parametrize("off", [-301, 301])
def test_a_time_that_is_more_than_five_minutes_off_is_refused(store, clock, off):
    with pytest.raises(Denied) as caught:
        store.nonces.use("print", "n" * 16, int(clock()) + off)
    assert caught.value.kind == "stale"


@pytest.mark.parametrize("early", [-300, 0, 300])
def test_a_nonce_is_remembered_for_as_long_as_its_time_is_accepted(store, clock, early):
    signed = int(clock()) - early
    store.nonces.use("print", "n" * 16, signed)
    clock.time = float(signed + 300)  # the last second in which it would be accepted
    store.nonces.forget()
    with pytest.raises(Denied, match="here before"):
        store.nonces.use("print", "n" * 16, signed)
    clock.time += 302
    assert store.nonces.forget() == 1


def test_two_who_race_with_one_nonce_have_one_success(address, clock):
    assert race(address, clock, lambda mine, _: mine.nonces.use("print", "the same nonce again", int(clock()))) == 1


def test_a_short_nonce_is_refused(store, clock):
    with pytest.raises(Denied, match="too short"):
        store.nonces.use("print", "n" * 15, int(clock()))


# Rates


def test_a_bucket_empties_and_fills_again(store, clock):
    for _ in range(3):
        store.rates.take("x", rate=0.5, size=3)
    with pytest.raises(Denied) as caught:
        store.rates.take("x", rate=0.5, size=3)
    assert (caught.value.kind, caught.value.status, caught.value.retry_after) == ("too-fast", 429, 2)
    store.rates.take("y", rate=0.5, size=3)
    clock.time += 2
    store.rates.take("x", rate=0.5, size=3)
    clock.time += 1_000_000
    for _ in range(3):
        store.rates.take("x", rate=0.5, size=3)  # never more than it holds
    with pytest.raises(Denied):
        store.rates.take("x", rate=0.5, size=3)


def test_a_clock_that_goes_back_fills_no_bucket(store, clock):
    store.rates.take("x", rate=1, size=1)
    clock.time -= 1000
    with pytest.raises(Denied):
        store.rates.take("x", rate=1, size=1)
    clock.time += 1000
    with pytest.raises(Denied):
        store.rates.take("x", rate=1, size=1)


def test_two_workers_share_a_bucket(address, clock):
    assert race(address, clock, lambda mine, _: mine.rates.take("x", rate=1, size=17)) == 17


# Editions


def test_an_edition_never_has_two_keys(store):
    store.editions.register("census", "1", key_fingerprint="ab", key_version=1)
    assert store.editions.register("census", "1", key_fingerprint="ab", key_version=1).state == "open"
    for other in ({"key_fingerprint": "ab", "key_version": 2}, {"key_fingerprint": "cd", "key_version": 1}):
        with pytest.raises(StoreConflict, match="never with another"):
            store.editions.register("census", "1", **other)
    store.editions.register("census", "2", key_fingerprint="cd", key_version=2)


def test_a_withdrawn_edition_stays_so(store):
    store.editions.register("census", "1", key_fingerprint="ab", key_version=1)
    store.editions.withdraw("census", "1")
    store.editions.withdraw("census", "1")
    with pytest.raises(StoreConflict, match="withdrawn"):
        store.editions.reopen("census", "1")
    assert store.editions.register("census", "1", key_fingerprint="ab", key_version=1).state == "withdrawn"


# Four eyes


def test_two_others_must_agree_and_what_they_agreed_to_is_used_once(store, four):
    owner, officer, reviewer, registrar = four
    number = store.approvals.request("key.change", "census 2", owner)
    with pytest.raises(Denied) as caught:
        store.approvals.vote(number, owner, agrees=True, reason="mine")
    assert caught.value.kind == "own-request"
    store.approvals.vote(number, officer, agrees=True, reason="fine")
    with pytest.raises(Denied, match="have voted"):
        store.approvals.vote(number, officer, agrees=True, reason="again")
    with pytest.raises(Denied, match="2 people"):
        store.approvals.use(number, "key.change", "census 2")
    store.approvals.vote(number, reviewer, agrees=True, reason="fine")
    with pytest.raises(Denied, match="something else"):
        store.approvals.use(number, "key.change", "census 3")
    assert store.approvals.use(number, "key.change", "census 2").agreed == {officer, reviewer}
    with pytest.raises(Denied, match="once"):
        store.approvals.use(number, "key.change", "census 2")
    with pytest.raises(Denied, match="used or too old"):
        store.approvals.vote(number, registrar, agrees=True, reason="late")


def test_one_who_disagrees_stops_it(store, four):
    owner, officer, reviewer, registrar = four
    number = store.approvals.request("output.release", "job 7", owner)
    for voter, agrees in ((officer, True), (reviewer, True), (registrar, False)):
        store.approvals.vote(number, voter, agrees=agrees, reason="so")
    with pytest.raises(Denied):
        store.approvals.use(number, "output.release", "job 7")


def test_an_approval_lasts_a_week(store, four, clock):
    owner, officer, reviewer, _ = four
    number = store.approvals.request("key.change", "census 2", owner)
    for voter in (officer, reviewer):
        store.approvals.vote(number, voter, agrees=True, reason="fine")
    clock.time += 7 * DAY + 1
    with pytest.raises(Denied):
        store.approvals.use(number, "key.change", "census 2")


def test_two_who_race_use_an_approval_once(store, address, four, clock):
    owner, officer, reviewer, _ = four
    number = store.approvals.request("key.change", "census 2", owner)
    for voter in (officer, reviewer):
        store.approvals.vote(number, voter, agrees=True, reason="fine")
    assert race(address, clock, lambda mine, _: mine.approvals.use(number, "key.change", "census 2"), 5) == 1


# People


def agreed(store, action, subject, requester, voters) -> int:
    number = store.approvals.request(action, subject, requester)
    for voter in voters:
        store.approvals.vote(number, voter, agrees=True, reason="fine")
    return number


def test_a_role_needs_two_others_who_agree(store, four):
    owner, officer, _, registrar = four
    ada = store.people.add("Ada", "Ada@Example.org")
    number = agreed(store, "role.grant", f"{ada} researcher", registrar, [officer])
    with pytest.raises(Denied):
        store.people.grant_role(ada, "researcher", number)
    store.approvals.vote(number, owner, agrees=True, reason="fine")
    store.people.grant_role(ada, "researcher", number)
    found = store.people.find(ada)
    assert (found.roles, found.email) == ({Role.RESEARCHER}, "ada@example.org")
    with store.engine.connect() as connection:
        row = connection.execute(text("SELECT granted_by, second_by FROM role_of WHERE role = 'researcher'")).one()
    assert set(row) == {officer, owner}


def test_nobody_has_a_part_in_their_own_role(store, four):
    owner, officer, _, registrar = four
    number = agreed(store, "role.grant", f"{officer} reviewer", registrar, [officer, owner])
    with pytest.raises(Denied, match="of their own"):
        store.people.grant_role(officer, "reviewer", number)


def test_the_database_itself_refuses_a_role_with_fewer_eyes(store, four):
    owner, officer, *_ = four
    row = "INSERT INTO role_of (principal_id, role, granted_by, second_by, granted) VALUES ({}, 'auditor', {}, {}, 1)"
    for numbers in ((owner, officer, officer), (owner, owner, officer), (owner, officer, owner)):
        with pytest.raises(Exception, match=r"(?i)check"), store.engine.begin() as connection:
            connection.execute(text(row.format(*numbers)))


@pytest.mark.parametrize("role", ["auditor", "administrator", "CA operator"])
def test_roles_that_must_not_come_together_are_not_granted(store, four, role):
    owner, officer, reviewer, registrar = four
    number = agreed(store, "role.grant", f"{registrar} {role}", owner, [officer, reviewer])
    with pytest.raises(Denied) as caught:
        store.people.grant_role(registrar, role, number)
    assert caught.value.kind == "roles-apart"


@pytest.mark.parametrize("role", ["public", "king", "Researcher"])
def test_other_roles_do_not_exist(store, four, role):
    with pytest.raises(ParameterError, match="There is no role"):
        store.people.grant_role(four[0], role, 1)


def test_founding_happens_once_and_with_three(store, four):
    with pytest.raises(StoreConflict, match="already"):
        store.people.found([Founder(name, f"{name}@x.org", Role.AUDITOR) for name in "abc"])
    with pytest.raises(ParameterError, match="four eyes"):
        store.people.found([Founder("a", "a@x.org", Role.AUDITOR)])


def test_a_name_and_an_address_are_one_persons(store):
    store.people.add("Ada", "ada@example.org")
    for name, email in (("Ada", "other@example.org"), ("Bob", "ADA@example.org")):
        with pytest.raises(StoreConflict, match="contradicts"):
            store.people.add(name, email)


@pytest.mark.parametrize("name", ["", "x" * 201, "a\0b", "a\nb", "a\u202eb", "a\ud800b"])
def test_names_that_nobody_could_read_are_refused(store, name):
    with pytest.raises(ParameterError, match="name"):
        store.people.add(name, "x@example.org")


@pytest.mark.parametrize("name", ["Robert'); DROP TABLE principal;--", '"', "%", "Ünïcode 人", "\\x00", ":name"])
def test_hostile_names_are_kept_as_they_are(store, name):
    number = store.people.add(name, "x@example.org")
    assert store.people.named(name).id == number


def test_a_revoked_certificate_comes_back_only_by_four_eyes(store, four):
    owner, officer, reviewer, _ = four
    store.people.add_certificate("01", "print", owner, not_before=0, not_after=2**40)
    store.people.suspend_certificate("01")
    store.people.reactivate_certificate("01")
    store.people.revoke_certificate("01")
    for change in (store.people.suspend_certificate, store.people.reactivate_certificate):
        with pytest.raises(InputError):
            change("01")
    with pytest.raises(Denied):
        store.people.override_revocation("01", agreed(store, "revocation.override", "01", owner, [officer]))
    assert store.people.certificate("01")[0].state == "revoked"
    store.people.override_revocation("01", agreed(store, "revocation.override", "01", owner, [officer, reviewer]))
    assert store.people.certificate("01")[0].state == "valid"


# Projects and questions


def test_a_project_asks_what_it_was_granted_while_it_lasts(store, four, clock):
    owner, officer, *_ = four
    store.editions.register("census", "1", key_fingerprint="ab", key_version=1)
    number = store.projects.request("ageing", owner, licence="2", expires=int(clock()) + DAY)
    store.projects.grant(number, "census", "1", ["age", "sex"], 2)
    with pytest.raises(Denied, match="not active"):
        store.projects.granted(number, owner, "census", "1")
    store.projects.set_state(number, "active")
    found = store.projects.granted(number, owner, "census", "1")
    assert (found.variables, found.finest_geography) == ({"age", "sex"}, 2)
    with pytest.raises(Denied) as caught:
        store.projects.granted(number, officer, "census", "1")
    assert caught.value.kind == "other-project"
    store.editions.register("census", "2", key_fingerprint="ab", key_version=2)
    with pytest.raises(Denied, match="no grant"):
        store.projects.granted(number, owner, "census", "2")
    clock.time += DAY
    with pytest.raises(Denied, match="not active"):
        store.projects.granted(number, owner, "census", "1")
    store.projects.set_state(number, "closed")
    with pytest.raises(InputError, match="could become active"):
        store.projects.set_state(number, "active")


def test_questions_are_kept_with_what_became_of_them(store, four):
    store.editions.register("census", "1", key_fingerprint="ab", key_version=1)
    for decision in ("answered", "told-too-often"):
        store.questions.enter(
            "census", "1", digest="d" * 64, spec='["census"]', decision=decision, cells=12, principal_id=four[0]
        )
    store.questions.enter("census", "1", digest="d" * 64, spec='["census"]', decision="answered", cells=3)
    mine = store.questions.of(four[0])
    assert [(row.decision, row.cells, row.dataset) for row in mine] == [
        ("told-too-often", 12, "census"),
        ("answered", 12, "census"),
    ]
    assert store.questions.of(four[1]) == []
    with pytest.raises(StoreConflict):
        store.questions.enter("census", "1", digest="d", spec="s", decision="answered", cells=1, principal_id=999)


# Errors


def test_errors_of_the_database_say_nothing_of_statements_values_or_addresses(store, address):
    with pytest.raises(StoreError) as caught:
        store.people.link_outside(999_999, "https://issuer.example.org", "secret-subject")
    error = caught.value
    assert error.__context__ is None
    assert error.__cause__ is None
    for word in ("INSERT", "secret-subject", "outside_identity", "dpg", "server.db", "psycopg", "sqlite"):
        assert word not in f"{error} {error.details}"


def test_what_is_over_is_forgotten(store, clock, four):
    store.sessions.start(four[0], 0)
    store.one_times.make("oidc", "x")
    store.rates.take("x", rate=1, size=1)
    store.budgets.reserve("x", 1, most=1)
    store.nonces.use("print", "n" * 16, int(clock()))
    clock.time += 500 * DAY
    assert store.forget() == {"nonces": 1, "sessions": 1, "one_times": 1, "rates": 1, "budgets": 1}
    store.ready()
