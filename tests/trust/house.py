"""A made-up house with an authority, for tests: certificates in files, and a clock that can be set."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from discreet.trust.authority import Authority, IssuedCertificate
from discreet.trust.holders import Holder

ADA = Holder("Ada Lovelace", email="ada@example.org")
LOCAL = Holder("tables", hosts=("localhost", "127.0.0.1"))


@dataclass
class Clock:
    """The machine's time, shifted."""

    shift: timedelta = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC).replace(microsecond=0) + self.shift


@dataclass
class House:
    """An authority, the folder that servers are given, and where certificates and keys lie."""

    place: Path
    name: str = "Example Office"
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.ca = Authority.create(self.place / "ca", self.name, by="Otto", clock=self.clock)
        self.public = self.place / "given"
        self.give()

    def give(self) -> None:
        """Copy what servers are given to where they find it."""
        self.ca.export(self.public)

    def issued(self, purpose="user", holder=ADA, days=365, **options) -> IssuedCertificate:
        number = self.ca.request(purpose, holder, approved_by="Rosa", days=days, **options)
        return self.ca.issue(number, by="Otto")

    def files(self, issued: IssuedCertificate) -> tuple[Path, Path]:
        """Certificate and key of an issued certificate, as files."""
        certificate, key = self.place / f"{issued.serial}.pem", self.place / f"{issued.serial}.key"
        certificate.write_bytes(issued.certificate)
        key.touch(mode=0o600)
        key.write_bytes(issued.key_pem)
        return certificate, key

    def at(self, shift: timedelta, do):
        """Do something with the authority's clock set off."""
        self.clock.shift = shift
        try:
            return do()
        finally:
            self.clock.shift = timedelta()
