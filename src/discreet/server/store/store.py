"""The store: one database, its parts, and the check that its schema is ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from sqlalchemy import Engine, text

from discreet.server.store.address import address_of
from discreet.server.store.applications import Applications
from discreet.server.store.approvals import Approvals
from discreet.server.store.budgets import Budgets
from discreet.server.store.database import read
from discreet.server.store.editions import Editions
from discreet.server.store.extracts import Extracts
from discreet.server.store.nonces import StoredNonces
from discreet.server.store.one_times import OneTimes
from discreet.server.store.outputs import Outputs
from discreet.server.store.passkey_rows import PasskeyRows
from discreet.server.store.people import People
from discreet.server.store.plot_charges import PlotCharges
from discreet.server.store.projects import Projects
from discreet.server.store.questions import Questions
from discreet.server.store.rates import Rates
from discreet.server.store.schema import opened
from discreet.server.store.sessions import Sessions

if TYPE_CHECKING:
    from discreet.server.store.refinements import Refinements


@dataclass
class Store:
    """What the table server must not forget, in SQLite or PostgreSQL.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from discreet.server.store.schema import migrate
    >>> from discreet.server.store.store import Store
    >>> with TemporaryDirectory() as folder:
    ...     _ = migrate(Path(folder, "server.db"))
    ...     with Store.open(Path(folder, "server.db")) as store:
    ...         store.budgets.reserve("public", 5_000, most=10_000)
    ...         print(store.budgets.used("public"))
    5000
    """

    engine: Engine = field(repr=False)
    clock: Callable[[], float] = time

    @classmethod
    def open(cls, where: str | Path, *, clock: Callable[[], float] = time) -> Store:
        """Open a database by its file or URL.

        Raises
        ------
        StoreError
            When its schema is not the newest, with what to do; :class:`StoreUnavailable` when it cannot be reached.
        """
        return cls(opened(address_of(where)), clock)

    def __post_init__(self) -> None:
        both = (self.engine, self.clock)
        self.applications = Applications(*both)
        self.approvals = Approvals(*both)
        self.budgets = Budgets(*both)
        self.editions = Editions(*both)
        self.extracts = Extracts(*both)
        self.nonces = StoredNonces(*both)
        self.one_times = OneTimes(*both)
        self.outputs = Outputs(*both)
        self.passkeys = PasskeyRows(*both)
        self.people = People(*both)
        self.plots = PlotCharges(*both)
        self.projects = Projects(*both)
        self.questions = Questions(*both)
        self.rates = Rates(*both)
        self.sessions = Sessions(*both)

    @cached_property
    def account(self) -> Refinements:
        """The account of refinements; it brings the methods of tables with it, which others of its users need not."""
        from discreet.server.store.refinements import Refinements

        return Refinements(self.engine, self.clock)

    @property
    def in_file(self) -> bool:
        """Whether it is a file of this machine: nobody waits for what is read from it."""
        return self.engine.dialect.name == "sqlite"

    def ready(self) -> None:
        """See that the database answers.

        Raises
        ------
        StoreUnavailable
            When it does not.
        """
        read(self.engine, lambda connection: connection.execute(text("SELECT 1")).scalar())

    def forget(self) -> dict[str, int]:
        """Remove what is over: nonces, sessions, secrets of a moment, buckets, budgets of last year. Run it hourly."""
        parts = {name: getattr(self, name) for name in ("nonces", "sessions", "one_times", "rates", "budgets")}
        return {name: part.forget() for name, part in parts.items()}

    def close(self) -> None:
        """Close all connections."""
        self.people.close()
        self.editions.close()
        if "account" in self.__dict__:  # nobody makes it in order to close it
            self.account.close()
        self.engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
