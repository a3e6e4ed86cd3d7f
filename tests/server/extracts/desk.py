"""A desk with people, a project on its way through all states, and a worker; SQLite or PostgreSQL below it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from discreet.server.extracts.conditions import CONDITIONS
from discreet.server.extracts.definition import Definition
from discreet.server.extracts.desk import ExtractDesk
from discreet.server.extracts.file import ExtractFile
from discreet.server.extracts.working import ExtractWorker
from discreet.server.identity import Identity
from discreet.server.roles import Role
from discreet.server.store.applications import ApplicationForm
from discreet.server.store.people import Founder
from discreet.server.store.store import Store
from discreet.trust import SigningKey, make_keys
from discreet.trust.sealed_file import RecipientSecret
from tests.server.census import KeptLog
from tests.server.extracts.made import KEY, PLACE

WHY = "Wages depend on age and schooling together, which no published table shows."
PEOPLE = {
    "Ada": Role.RESEARCHER,
    "Ben": Role.RESEARCHER,
    "Rita": Role.REVIEWER,
    "Otto": Role.REVIEWER,
    "Mara": Role.DATA_OWNER,
    "Nora": Role.REGISTRATION_OFFICER,
}


def form(title: str = "Wages", **more: Any) -> ApplicationForm:
    plain = {
        "institution": "University of Somewhere",
        "domain": "example.org",
        "signatory": "The dean",
        "ethics": "Board 7",
        "abstract": "Wages by age.",
        "why": WHY,
        "variables": ["age", "sex", "income", "education", "district", "region", "occupation", "birth"],
        "finest_geography": 2,
    }
    return ApplicationForm(title=title, **{**plain, **more})


class PlainLog:
    """A log for workers, which wait for it."""

    def __init__(self, kept: KeptLog) -> None:
        self.kept = kept

    def append(self, entry: Any) -> None:
        self.kept.entries.append(entry)


class Desk:
    """The whole thing."""

    def __init__(self, store: Store, file: ExtractFile, folder: Path) -> None:
        self.store, self.file, self.log = store, file, KeptLog()
        self.ids = dict(
            zip(PEOPLE, store.people.found([Founder(n, f"{n}@x.org", r) for n, r in PEOPLE.items()]), strict=True)
        )
        store.editions.register(file.name, file.edition, key_fingerprint=file.manifest.key, key_version=1)
        self.folder = folder / "sealed"
        self.folder.mkdir(mode=0o700)
        self.desk = ExtractDesk({(file.name, file.edition): file}, store, self.log, self.folder)
        make_keys(folder / "server.key")
        self.signer = SigningKey.from_file(folder / "server.key")
        self.secret = RecipientSecret.new()
        for name in ("Ada", "Ben"):
            store.extracts.set_key(self.ids[name], self.secret.public.text)
        self.worker = self.new_worker()

    def new_worker(self) -> ExtractWorker:
        files = {(self.file.name, self.file.edition): (self.file, KEY)}
        return ExtractWorker(self.store, files, self.folder, self.signer, PlainLog(self.log))

    def who(self, name: str, level: int = 3) -> Identity:
        return Identity(self.ids[name], name, frozenset({PEOPLE[name]}), auth_level=level)

    def draft(self, title: str = "Wages", name: str = "Ada", **more: Any) -> int:
        return self.store.applications.draft(form(title, **more), self.ids[name], **PLACE, licence="1", months=12)

    def reviewed(self, number: int, *decisions: str) -> Any:
        for name, decision in zip(("Rita", "Otto"), decisions, strict=False):
            row = self.store.applications.review(number, self.ids[name], decision, "Because.")
        return row

    def approved(self, title: str = "Wages", name: str = "Ada", **more: Any) -> int:
        number, applications = self.draft(title, name, **more), self.store.applications
        applications.submit(number, self.ids[name])
        applications.act(number, self.ids["Nora"], "take up")
        applications.act(number, self.ids["Nora"], "identified", "Passport seen.")
        self.reviewed(number, "approve", "approve")
        return number

    def active(self, title: str = "Wages", name: str = "Ada", **more: Any) -> int:
        number = self.approved(title, name, **more)
        self.store.applications.accept(number, self.ids[name], list(CONDITIONS), "1")
        return number

    def ask(self, project: int, *variables: str, name: str = "Ada", **more: Any) -> int:
        wanted = Definition(**{**PLACE, **more}, variables=list(variables))
        return asyncio.run(self.desk.request(self.who(name), project, wanted, "r1"))

    def fetch(self, number: int, name: str = "Ada") -> Path:
        return asyncio.run(self.desk.fetch(self.who(name), self.store.extracts.find(number), "r2"))

    def last(self) -> Any:
        return self.log.entries[-1]
