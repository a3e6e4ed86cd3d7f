"""Commands of extracts with real settings and a real logger: build, serve the queue, open, trace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from starlette.testclient import TestClient

from discreet.cli import main
from discreet.server.config import read_config
from discreet.server.extracts.conditions import CONDITIONS
from discreet.server.extracts.definition import Definition
from discreet.server.extracts.file import open_file
from discreet.server.roles import Role
from discreet.server.serving import register
from discreet.server.store.extracts import ExtractRequest
from discreet.server.store.people import Founder
from discreet.server.store.schema import migrate
from discreet.server.store.store import Store
from discreet.server.worker import application, extract_desk
from discreet.trust import make_keys
from discreet.trust.log.client import AsyncLogClient
from discreet.trust.log.process import start_logger
from tests.server.extracts.desk import form
from tests.server.extracts.made import KEY, PLACE, PLAN, census

SETTINGS = """
version = 1
store = "server.db"
run = "run"

[[datasets]]
folder = "census"

[log]
folder = "log"
key = "log.key"

[extracts]
folder = "sealed"
signing_key = "server.key"

[[extracts.files]]
folder = "file"
key = "edition.key"
signed_by = "owner.key.pub"
"""


def discreet(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("server")
    census(folder, 4_000, 8)
    (folder / "plan.toml").write_text(PLAN.replace("2000", "500"))
    (folder / "edition.key").write_text(KEY.text)
    (folder / "edition.key").chmod(0o600)
    for name in ("log.key", "server.key", "owner.key"):
        make_keys(folder / name)
    for name in ("run", "sealed"):
        (folder / name).mkdir(mode=0o700)
    (folder / "server.toml").write_text(SETTINGS)
    migrate(folder / "server.db")
    logger = start_logger(folder / "log", folder / "log.key", folder / "run" / "log.sock", create=True)
    try:
        yield folder
    finally:
        logger.stop()


def asked_for(folder: Path, public: str) -> int:
    """An extract that somebody asked for, as far as the store knows."""
    file = open_file(folder / "file")
    with Store.open(folder / "server.db") as store:
        store.editions.register(**PLACE, key_fingerprint=file.manifest.key, key_version=1)
        roles = {
            "Ada": Role.RESEARCHER,
            "Rita": Role.REVIEWER,
            "Otto": Role.REVIEWER,
            "Nora": Role.REGISTRATION_OFFICER,
        }
        founders = [Founder(name, f"{name}@example.org", role) for name, role in roles.items()]
        ada, rita, otto, nora = store.people.found(founders)
        applications = store.applications
        number = applications.draft(form(), ada, **PLACE, licence="1", months=12)
        applications.submit(number, ada)
        for action in ("take up", "identified"):
            applications.act(number, nora, action)
        for reviewer in (rita, otto):
            applications.review(number, reviewer, "approve", "Good.")
        applications.accept(number, ada, list(CONDITIONS), "1")
        store.extracts.set_key(ada, public)
        wanted = Definition(**PLACE, variables=["age", "sex", "income", "education", "district"])
        said = {"definition": wanted.text, "digest": wanted.digest, "variables": frozenset(wanted.variables)}
        request = ExtractRequest(number, ada, **PLACE, **said, rows=9)
        return store.extracts.request(request, most=100, check=lambda _: None)


def test_from_plan_to_a_traced_leak(place: Path) -> None:
    built = discreet(
        "extracts", "build", place / "plan.toml", place / "file", "--key", place / "edition.key",
        "--sign", place / "owner.key", "--custodian", place / "kept", "--json",
    )  # fmt: skip
    assert built.exit_code == 0, built.output
    rows = json.loads(built.stdout)["rows"]
    assert (place / "kept" / "custodian").is_dir()
    assert discreet("verify", place / "kept").exit_code == 0
    made = discreet("extracts", "key", place / "mine.key", "--json")
    number = asked_for(place, json.loads(made.stdout)["public"])
    done = discreet("server", "jobs", "--config", place / "server.toml", "--once")
    assert done.exit_code == 0, done.output
    with Store.open(place / "server.db") as store:
        row = store.extracts.find(number)
    assert row.state == "ready"
    sealed = place / "sealed" / str(row.file)
    words = ("extracts", "open", sealed, place / "mine", "--key", place / "mine.key")
    opened = discreet(*words, "--signed-by", place / "server.key.pub", "--json")
    assert opened.exit_code == 0, opened.output
    assert 0.9 * rows < json.loads(opened.stdout)["rows"] <= rows
    again = discreet(*words)
    assert again.exit_code != 0
    assert "exists" in again.output
    content = (place / "mine" / "data.csv").read_text().splitlines()
    for name, cut in (("with.csv", 0), ("without.csv", 3)):
        lines = [",".join(line.split(",")[cut:]) for line in content[:801]]
        (place / name).write_text("\n".join(lines) + "\n")
        traced = discreet(
            "extracts", "trace", place / name, "--file", place / "file", "--key", place / "edition.key",
            "--database", place / "server.db", "--json",
        )  # fmt: skip
        first = json.loads(traced.stdout)["suspects"][0]
        assert first["name"] == "Ada"
        assert first["fitting"] == first["rows"] > 100
    config = read_config(place / "server.toml")
    register(config, [])
    with Store.open(place / "server.db") as store:
        desk = extract_desk(config, store, AsyncLogClient(place / "run" / "log.sock"))
        assert desk is not None
        assert [(one.name, one.edition) for one in desk.open_files()] == [("sample", "1990.1")]
    worker = application(msgspec.structs.replace(config, datasets=[]), None).application()
    with TestClient(worker) as program:
        statuses = [program.get(path).status_code for path in ("/v1/extracts", "/v1/extracts/files", "/extracts/1")]
    assert statuses == [401, 403, 404]  # programs are answered; pages of people come with sign-in, which needs TLS
    log = discreet("log", "verify", place / "log", "--public-key", place / "log.key.pub")
    assert log.exit_code == 0, log.output


@pytest.mark.parametrize("name", ["server.key", "edition.key", "file", "sealed"])
def test_settings_that_let_others_in_are_refused(place: Path, name: str) -> None:
    if not (place / name).exists():
        (place / name).mkdir(mode=0o700)
    before = (place / name).stat().st_mode
    (place / name).chmod(0o755 if (place / name).is_dir() else 0o644)
    try:
        done = discreet("server", "jobs", "--config", place / "server.toml", "--once")
        assert done.exit_code != 0
        assert "chmod" in done.output
    finally:
        (place / name).chmod(before & 0o777)
    assert read_config(place / "server.toml").extracts is not None
