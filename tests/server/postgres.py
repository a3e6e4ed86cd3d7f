"""A PostgreSQL server of the tests' own, in a temporary folder, reached by a socket there."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

QUICK = "-c fsync=off -c full_page_writes=off -c shared_buffers=16MB -c max_connections=60 -c listen_addresses=''"


def programs() -> Path | None:
    """The folder of PostgreSQL's programs, where the machine has them."""
    for found in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (found / "initdb").exists() and (found / "pg_ctl").exists():
            return found
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found and (Path(found).resolve().parent / "pg_ctl").exists() else None


def missing() -> str:
    """Why there can be no PostgreSQL here; empty where there can."""
    if programs() is None:
        return "PostgreSQL is not installed (initdb and pg_ctl)"
    if os.getuid() == 0:
        if shutil.which("setpriv") is None:
            return "PostgreSQL does not run as root, and there is no setpriv to be another user"
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            return "PostgreSQL does not run as root, and there is no user postgres"
    return ""


@dataclass
class Postgres:
    """A running server."""

    folder: Path
    bin: Path

    def run(self, program: str, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a program of PostgreSQL as the user that the server runs as."""
        command = [str(self.bin / program), *words]
        if os.getuid() == 0:
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
        clean = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "PGHOST": str(self.folder), "PGUSER": "postgres"}
        done = subprocess.run(command, env=clean, cwd="/", capture_output=True, text=True, timeout=60, check=False)
        if check and done.returncode:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")
        return done

    @property
    def data(self) -> str:
        return str(self.folder / "data")

    def start(self) -> None:
        options = f"{QUICK} -k {self.folder}"
        self.run("pg_ctl", "-D", self.data, "-w", "-t", "50", "-l", str(self.folder / "log"), "-o", options, "start")

    def runs(self) -> bool:
        """Whether it takes connections."""
        return self.run("pg_isready", "-q", check=False).returncode == 0

    def stop(self, mode: str = "immediate") -> None:
        self.run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop", check=False)

    def url(self, database: str, password: str = "") -> str:
        secret = f":{password}" if password else ""
        return f"postgresql://postgres{secret}@/{database}?host={self.folder}"

    def sql(self, statement: str, database: str = "postgres") -> str:
        return self.run("psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", statement).stdout


def make_postgres() -> Postgres:
    """Make and start a server; whoever called stops it and removes its folder."""
    memory = "/dev/shm"  # thousands of small files; and a short path, which sockets need
    home = Path(tempfile.mkdtemp(prefix="dpg", dir=memory if os.access(memory, os.W_OK) else "/tmp"))
    found = programs()
    assert found is not None
    if os.getuid() == 0:
        shutil.chown(home, "postgres", "postgres")
    server = Postgres(home, found)
    server.run("initdb", "-D", server.data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale", "--no-sync")
    server.start()
    return server
