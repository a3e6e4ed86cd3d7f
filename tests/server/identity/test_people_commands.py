"""``discreet server``: the first people, further ones, certificates, and roles by four eyes, as operators type it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from click.testing import CliRunner

from discreet.cli.main import main
from discreet.server.roles import Role
from discreet.server.store.schema import migrate
from discreet.server.store.store import Store
from discreet.trust.holders import Holder
from tests.trust.house import House

FOUNDERS = (("Nora", "registration_officer"), ("Emil", "administrator"), ("Dora", "data_owner"), ("Omar", "officer"))


class Office:
    """A database with its first people, each with certificate and key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "server.db"
        migrate(self.database)
        self.house = House(folder / "authority")

    def __call__(self, *words: str) -> dict[str, Any]:
        done = CliRunner().invoke(main, ["server", *words, "--database", str(self.database), "--json"])
        assert done.exit_code == 0, done.output
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def refuses(self, *words: str) -> str:
        """What the command says that refuses."""
        done = CliRunner().invoke(main, ["server", *words, "--database", str(self.database), "--json"])
        assert done.exit_code > 1, done.output
        said: str = json.loads(done.output)["message"]
        return said

    def certificate(self, name: str, purpose: str = "user") -> Path:
        issued = self.house.issued(purpose, Holder(name, email=f"{name.lower()}@example.org"))
        file = self.folder / f"{name}-{purpose}.pem"
        file.write_bytes(issued.certificate)
        file.with_suffix(".key").touch(mode=0o600)
        file.with_suffix(".key").write_bytes(issued.key_pem)
        return file

    def by(self, name: str, key: str = "") -> list[str]:
        place = self.folder / f"{name}-user.pem"
        other = self.folder / f"{key or name}-user.key"
        return ["--certificate", str(place), "--key", str(other)]

    def roles(self, name: str) -> frozenset[Role]:
        with Store.open(self.database) as store:
            return store.people.with_email(f"{name.lower()}@example.org").roles


def named(role: str) -> str:
    return next(str(one) for one in Role if str(one).replace(" ", "_").replace("-", "_") == role)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    found = Office(tmp_path)
    words: list[str] = []
    for name, role in FOUNDERS:
        words += ["--person", name, f"{name.lower()}@example.org", named(role)]
    assert found("founders", *words) == {"numbers": [1, 2, 3, 4]}
    assert found("person", "Ada", "ada@example.org") == {"number": 5}
    for name in (*(name for name, _ in FOUNDERS), "Ada"):
        assert found("certificate", str(found.certificate(name)))["purpose"] == "client"
    return found


def test_founders_come_once_and_are_three_at_least(office: Office, tmp_path: Path) -> None:
    three = ["--person", "A", "a@example.org", named("auditor")] * 3
    assert "already" in office.refuses("founders", *three)
    (tmp_path / "other").mkdir()
    other = Office(tmp_path / "other")
    assert "four eyes" in other.refuses("founders", *three[:4])
    assert "role" in other.refuses("founders", *["--person", "A", "a@example.org", "king"] * 3)


def test_a_role_takes_one_who_asks_and_two_who_agree(office: Office) -> None:
    role = named("researcher")
    assert office.roles("Ada") == frozenset()
    office("role", "ask", "ada@example.org", role, *office.by("Omar"))
    agree = ["1", "--agree", "--reason", "known to us"]
    assert "Two others" in office.refuses("role", "give", "1", *office.by("Nora"))
    office("role", "vote", *agree, *office.by("Nora"))
    assert "voted" in office.refuses("role", "vote", *agree, *office.by("Nora"))
    assert "Two others" in office.refuses("role", "give", "1", *office.by("Emil"))
    assert office("role", "vote", *agree, *office.by("Dora")) == {"number": 1, "agreed": 2, "disagreed": 0}
    assert "roles do not allow" in office.refuses("role", "give", "1", *office.by("Ada"))
    assert office("role", "give", "1", *office.by("Emil")) == {"person": 5, "role": role}
    assert office.roles("Ada") == {Role(role)}
    office.refuses("role", "give", "1", *office.by("Emil"))  # once
    assert "roles do not allow" in office.refuses("role", "take", "ada@example.org", role, *office.by("Omar"))
    office("role", "take", "ada@example.org", role, *office.by("Nora"))
    assert office.roles("Ada") == frozenset()
    assert "is no" in office.refuses("role", "take", "ada@example.org", role, *office.by("Nora"))


def test_who_disagrees_asks_or_is_meant_stops_it(office: Office) -> None:
    role = named("researcher")
    office("role", "ask", "ada@example.org", role, *office.by("Nora"))
    office.refuses("role", "vote", "1", "--agree", "--reason", "mine", *office.by("Nora"))
    office("role", "vote", "1", "--agree", "--reason", "fine", *office.by("Emil"))
    office("role", "vote", "1", "--disagree", "--reason", "no", *office.by("Dora"))
    office.refuses("role", "give", "1", *office.by("Emil"))
    office("role", "ask", "nora@example.org", role, *office.by("Omar"))
    office.refuses("role", "vote", "2", "--agree", "--reason", "me", *office.by("Nora"))
    assert office.roles("Ada") == frozenset()
    assert office.roles("Nora") == {Role(named("registration_officer"))}


def test_nobody_acts_with_anothers_key_or_a_certificate_that_counts_no_more(office: Office) -> None:
    ask = ["role", "ask", "ada@example.org", named("researcher")]
    assert "not that of the certificate" in office.refuses(*ask, *office.by("Nora", key="Ada"))
    serial = office("certificate", str(office.certificate("Nora")))["serial"]
    assert office("suspend", serial) == {"serial": serial, "state": "suspended"}
    assert "not signed in" in office.refuses(*ask, *office.by("Nora"))
    assert office("reactivate", serial) == {"serial": serial, "state": "valid"}
    office(*ask, *office.by("Nora"))
    assert office("revoke", serial) == {"serial": serial, "state": "revoked"}
    assert "not signed in" in office.refuses(*ask, *office.by("Nora"))


def test_certificates_of_strangers_servers_and_no_certificates_are_refused(office: Office, tmp_path: Path) -> None:
    assert "e-mail" in office.refuses("certificate", str(office.certificate("Zoe")))
    junk = tmp_path / "junk.pem"
    junk.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    assert "cannot be read" in office.refuses("certificate", str(junk))
    assert office("certificate", str(office.certificate("Ada", "signing")))["purpose"] == "signature"
