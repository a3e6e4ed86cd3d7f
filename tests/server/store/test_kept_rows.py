"""What is kept of the database is what the database says, at every look-up, whoever wrote to it."""

from __future__ import annotations

import subprocess
import sys
from random import Random

import pytest

from discreet.errors import InputError
from discreet.server.denied import Denied
from discreet.server.roles import Role
from discreet.server.store.database import KeptRows
from discreet.server.store.failures import StoreError
from discreet.server.store.people import HOLDER, Founder
from discreet.server.store.store import Store

FOUNDERS = [Founder(name, f"{name}@example.org", Role.RESEARCHER) for name in ("Ada", "Ben", "Cem")]
REVOKE = """\
import sys
from discreet.server.store.store import Store
with Store.open(sys.argv[1]) as store:
    store.people.revoke_certificate(sys.argv[2])
"""


@pytest.fixture
def known(store: Store, clock) -> Store:
    """A store in which Ada has certificate a1, and Ben b2."""
    for number, serial in zip(store.people.found(FOUNDERS), ("a1", "b2"), strict=False):
        store.people.add_certificate(serial, f"print of {serial}", number, not_before=0, not_after=2**40)
    return store


def state(store: Store, serial: str = "a1") -> str:
    found = store.people.certificate(serial)
    assert found is not None
    return found[0].state


def test_what_the_same_process_wrote_is_seen_at_once(known: Store) -> None:
    assert state(known) == "valid"
    known.people.suspend_certificate("a1")
    assert state(known) == "suspended"
    known.people.reactivate_certificate("a1")
    assert state(known) == "valid"
    assert known.people.certificate("c3") is None


def test_what_another_process_wrote_is_seen_at_once(known: Store, address: str) -> None:
    assert state(known) == state(known) == "valid"
    subprocess.run([sys.executable, "-c", REVOKE, address, "a1"], check=True, timeout=60)
    assert (state(known), state(known, "b2")) == ("revoked", "valid")


WITHDRAW = """\
import sys
from discreet.server.store.store import Store
with Store.open(sys.argv[1]) as store:
    store.editions.withdraw("census", "1")
"""


def test_an_edition_that_another_process_withdrew_is_refused_at_once(store: Store, address: str) -> None:
    store.editions.register("census", "1", key_fingerprint="ab", key_version=1)
    store.editions.register("census", "2", key_fingerprint="ab", key_version=1)
    for edition in ("1", "2", "1"):
        store.editions.refuse_closed("census", edition)
    subprocess.run([sys.executable, "-c", WITHDRAW, address], check=True, timeout=60)
    with pytest.raises(Denied) as refused:
        store.editions.refuse_closed("census", "1")
    assert (refused.value.kind, refused.value.status) == ("withdrawn", 410)
    store.editions.refuse_closed("census", "2")
    with pytest.raises(InputError, match="not registered"):
        store.editions.refuse_closed("census", "3")


def test_roles_and_people_are_as_fresh_as_certificates(known: Store) -> None:
    (_, ada) = known.people.certificate("a1") or (None, None)
    assert ada is not None
    assert ada.roles == {Role.RESEARCHER}
    known.people.take_role(ada.id, "researcher")
    known.people.set_state(ada.id, "suspended")
    (_, ada) = known.people.certificate("a1") or (None, None)
    assert ada is not None
    assert (ada.roles, ada.state) == (frozenset(), "suspended")


def test_every_one_of_many_changes_by_another_connection_is_seen(known: Store, address: str) -> None:
    random = Random(24)
    with Store.open(address) as other:
        for _ in range(200):
            wanted = random.choice(["suspend", "reactivate"])
            serial = random.choice(["a1", "b2"])
            getattr(other.people, f"{wanted}_certificate")(serial)
            assert state(known, serial) == {"suspend": "suspended", "reactivate": "valid"}[wanted]


def test_a_file_that_nobody_wrote_to_is_not_asked_again(known: Store) -> None:
    if known.engine.dialect.name != "sqlite":
        pytest.skip("elsewhere every look-up is a query")
    made: list[object] = []
    rows = KeptRows(known.engine, HOLDER, lambda found: made.append(found))
    rows.find({"wanted": "a1"})
    rows.find({"wanted": "a1"})
    assert len(made) == 1
    known.budgets.reserve("anybody", 1, 10)  # any write at all
    rows.find({"wanted": "a1"})
    assert len(made) == 2
    rows.close()


def test_a_failure_is_an_error_and_leaves_nothing_to_answer_from(known: Store) -> None:
    if known.engine.dialect.name != "sqlite":
        pytest.skip("elsewhere every look-up is a query")
    rows = KeptRows(known.engine, HOLDER, len)
    assert rows.find({"wanted": "a1"}) == 1
    rows._connection.close()  # as after a failure of the disk
    with pytest.raises(StoreError):
        rows.find({"wanted": "a1"})
    assert rows._kept == {}
    assert rows.find({"wanted": "a1"}) == 1  # a new connection
    rows.close()
