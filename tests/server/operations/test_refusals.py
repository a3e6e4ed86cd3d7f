"""A server that is not safe to run does not start, and says why; its workers cannot read what they need not."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

pytest.importorskip("cryptography")
pytest.importorskip("uvicorn")

from discreet.errors import DiscreetError, ParameterError
from discreet.server.serving import Supervisor
from discreet.trust.refusals import TrustRefusal, WhyRefused
from tests.server.operations.running import TABLE, Office, Running, refused_start, running, told
from tests.trust.house import LOCAL, Clock, House

NOBODY = "nobody"


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Office:
    found = Office(tmp_path_factory.mktemp("office"))
    found.with_certificates()
    return found


@pytest.fixture
def office(made_once: Office, tmp_path: Path) -> Office:
    """A copy that a test may damage."""
    shutil.copytree(made_once.folder, tmp_path / "office")
    found = object.__new__(Office)
    found.__dict__.update({**made_once.__dict__, "folder": tmp_path / "office"})
    return found


def changed(office: Office, old: str, new: str) -> Path:
    path = office.folder / "server.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def refusal(office: Office, kind: type[DiscreetError] = ParameterError) -> DiscreetError:
    """The error of a server that does not start, after which nothing runs and nothing listens."""
    with pytest.raises(kind) as caught:
        Supervisor(office.folder / "server.toml").start()
    with socket.create_server(("127.0.0.1", office.port)):
        pass
    assert not (office.folder / "run" / "log.sock").exists()
    assert caught.value.hint
    assert str(office.folder) not in str(caught.value)
    return caught.value


def why(office: Office) -> WhyRefused:
    found = refusal(office, TrustRefusal)
    assert isinstance(found, TrustRefusal)
    return found.refusal


def test_without_a_list_of_revoked_certificates(office: Office) -> None:
    (office.folder / "trust" / "revoked.pem").unlink()
    assert why(office) == WhyRefused.NO_CRL
    said = refused_start(office.folder / "server.toml")  # and as operators see it
    assert "There is no list of revoked certificates." in said
    assert "discreet ca crl" in said


def test_with_the_list_of_one_level_only(office: Office) -> None:
    path = office.folder / "trust" / "revoked.pem"
    end = "-----END X509 CRL-----\n"
    path.write_text(path.read_text().partition(end)[0] + end)
    assert why(office) == WhyRefused.NO_CRL


def test_with_an_expired_list(office: Office, tmp_path: Path) -> None:
    other = House(tmp_path / "old", "Old Office", Clock(timedelta(days=-3)))
    office.give("server", other.issued("server", LOCAL))
    shutil.rmtree(office.folder / "trust")
    other.ca.export(office.folder / "trust")
    assert why(office) == WhyRefused.CRL_EXPIRED


@pytest.mark.parametrize("version", ["1.2", "1.0", "1.4", ""])
def test_with_another_version_of_tls(office: Office, version: str) -> None:
    changed(office, 'clients = "required"', f'minimum = "{version}"')
    assert '"1.3"' in refusal(office).hint


@pytest.mark.parametrize("place", [".", "trust"])
def test_where_the_root_key_lies(office: Office, place: str) -> None:
    (office.folder / place / "root.key").write_text("anything")
    assert why(office) == WhyRefused.ROOT_KEY_PRESENT


def test_with_the_folder_of_the_authority_itself(office: Office) -> None:
    changed(office, 'authorities = "trust"', 'authorities = "authority/ca"')
    assert why(office) == WhyRefused.ROOT_KEY_PRESENT


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
@pytest.mark.parametrize("name", ["server.key", "log.key"])
def test_with_a_secret_that_others_may_read(office: Office, name: str, mode: int) -> None:
    (office.folder / name).chmod(mode)
    assert name in refusal(office).message


def test_with_a_data_set_or_database_that_everybody_may_open(office: Office) -> None:
    (office.folder / "census").chmod(0o755)
    assert "census" in refusal(office).message
    (office.folder / "census").chmod(0o750)
    (office.folder / "server.db").chmod(0o644)
    assert "server.db" in refusal(office, DiscreetError).message


def test_with_a_run_folder_that_others_may_use(office: Office) -> None:
    (office.folder / "run").mkdir()
    (office.folder / "run").chmod(0o777)
    assert "run" in refusal(office, DiscreetError).message


def test_without_certificates_beyond_this_machine(office: Office) -> None:
    path = office.folder / "server.toml"
    path.write_text(path.read_text().partition("[tls]")[0].replace("[listen]", '[listen]\nhost = "0.0.0.0"'))
    assert "this machine only" in refusal(office).message


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ('issuer = "https://id.example.org"', "belong together"),
        ('issuer = "https://id.example.org"\nclient_id = "t"\nclient_secret = "open.secret"', "open.secret"),
        ('issuer = "https://id.example.org"\nclient_id = "t"\nclient_secret = "none.secret"', "none.secret"),
    ],
)
def test_with_half_a_sign_in(office: Office, part: str, text: str) -> None:
    (office.folder / "open.secret").write_text("x")
    (office.folder / "open.secret").chmod(0o644)
    changed(office, "[tls]", f"[sign_in]\n{part}\n\n[tls]")
    assert text in refusal(office).message


def test_with_sign_in_and_no_address_that_browsers_know(office: Office) -> None:
    changed(office, f'origin = "https://127.0.0.1:{office.port}"', "")
    changed(office, "[tls]", "[sign_in]\npasskeys = true\n\n[tls]")
    assert "[sign_in]" in refusal(office).message


# The worker's own user


def python_for_nobody() -> str:
    """An interpreter of this version that nobody may run; this one may lie in somebody's home."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for one in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        try:
            done = subprocess.run([one, "-c", ""], user=NOBODY, group=0, extra_groups=[], check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return one
    pytest.skip(f"there is no {version} that another user may run")


@pytest.fixture(scope="module")
def apart() -> Iterator[tuple[Office, Running]]:
    """A server whose workers are nobody, in a folder that nobody may enter as far as they must."""
    if os.geteuid() != 0:
        pytest.skip("only root can start workers as another user")
    import pwd

    who = pwd.getpwnam(NOBODY)
    folder = Path(tempfile.mkdtemp(prefix="discreet-apart-"))
    try:
        folder.chmod(0o755)
        found = Office(folder)
        found.with_certificates(listen=f'user = "{NOBODY}"')
        settings = folder / "server.toml"
        settings.write_text(settings.read_text().replace('"server.db"', '"store/server.db"'))
        (folder / "store").mkdir(mode=0o700)
        (folder / "server.db").rename(folder / "store" / "server.db")
        for name in ("store", "store/server.db", "server.key"):
            shutil.chown(folder / name, who.pw_uid, who.pw_gid)
        for path in [folder / "census", *(folder / "census").rglob("*")]:
            shutil.chown(path, -1, who.pw_gid)
        (folder / "source").chmod(0o700)
        with running(settings, python=python_for_nobody(), compiled=False) as server:
            yield found, server
    finally:
        shutil.rmtree(folder)


def test_workers_answer_as_their_own_user(apart: tuple[Office, Running]) -> None:
    import pwd

    office, server = apart
    assert told(office.connection("Ada"), f"{TABLE}?variables=sex")[0] == 200
    (worker,) = server.of_kind("discreet.server.worker_process")
    status = dict(line.split(":\t") for line in Path(f"/proc/{worker}/status").read_text().splitlines())
    number = str(pwd.getpwnam(NOBODY).pw_uid)
    assert status["Uid"].split() == [number] * 4
    assert set(status["Gid"].split()) == {str(pwd.getpwnam(NOBODY).pw_gid)}
    assert status["Groups"].split() == []
    assert int(status["CapEff"], 16) == 0


def test_workers_cannot_read_records_or_the_key_of_the_log(apart: tuple[Office, Running]) -> None:
    """As the worker's user, with the worker's groups: EACCES. What it serves of, it can read."""
    import pwd

    office, _ = apart
    who = pwd.getpwnam(NOBODY)
    attempt = (
        "import errno, sys\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n"
        "        open(name, 'rb').read(1)\n"
        "        print('read')\n"
        "    except OSError as error:\n"
        "        print(errno.errorcode[error.errno])\n"
    )
    names = ["source/records.parquet", "log.key", "log/log.json", "authority/ca/root.key", "census/dataset.json"]
    done = subprocess.run(
        [python_for_nobody(), "-c", attempt, *(str(office.folder / name) for name in names)],
        capture_output=True,
        text=True,
        check=True,
        user=who.pw_uid,
        group=who.pw_gid,
        extra_groups=[],
    )
    assert done.stdout.split() == ["EACCES"] * 4 + ["read"]


def test_workers_that_load_already_are_ended_where_the_store_is_refused(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They load beside the look at the store, and answer and open nothing before it is over."""
    from discreet.server import serving
    from discreet.server.store.failures import StoreConflict

    supervisor, seen = Supervisor(office.folder / "server.toml"), []

    def refused(*_: object) -> None:
        seen.extend(supervisor.workers)
        raise StoreConflict("Another key.", hint="Take the first one.")

    monkeypatch.setattr(serving, "register", refused)
    with pytest.raises(StoreConflict):
        supervisor.start()
    assert seen
    assert supervisor.workers == []
    assert not any(Path(f"/proc/{number}").exists() for number in seen)
    with socket.create_server(("127.0.0.1", office.port)):
        pass
