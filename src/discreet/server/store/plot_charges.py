"""The accounts of plots: the sum of mu squared that a project, and all projects, were told of an edition."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from discreet.errors import ParameterError
from discreet.server.denied import Denied
from discreet.server.store.database import read, written
from discreet.server.store.editions import edition_in, refuse_closed
from discreet.server.store.part import StorePart, plain_text
from discreet.server.store.tables import PLOT_CHARGE

T = PLOT_CHARGE


class PlotCharges(StorePart):
    """What plots were charged, per project and edition."""

    def charge(
        self, project: int, dataset: str, edition: str, request: str, mu_squared: float, most: float, most_of_all: float
    ) -> float:
        """Charge a request, the same one once; what the project has left. With several workers at once never more.

        Projects can tell each other what they saw, and so all of them have an account together. A plot that another
        project has seen already costs nothing there: it is the same plot, with the same noise.

        Parameters
        ----------
        project, dataset, edition
            Who is told, and of what.
        request
            The request as one text, the same for the same plot.
        mu_squared
            What it costs.
        most
            The most that the project may be told.
        most_of_all
            The most that all projects together may be told.

        Raises
        ------
        Denied
            When less is left; nothing is charged then.
        """
        plain_text(request, "request", 128)
        if not (0 <= mu_squared < 1e9 and 0 <= most < 1e9 and 0 <= most_of_all < 1e9):
            raise ParameterError("An account of plots holds numbers from 0 on.", hint="Give mu squared.")

        def work(connection: Connection) -> float:
            # Whoever else charges this edition waits here: what is read below still holds when it is written.
            row = edition_in(connection, dataset, edition, lock=True)
            refuse_closed(row)
            charged = _charged(connection, row.id)
            mine = charged.get(project, {})
            used = sum(mine.values())
            if request in mine:
                return max(0.0, most - used)
            if used + mu_squared > most + 1e-9:
                raise _too_much(mu_squared, "your project's account", most - used)
            by_all = {one: cost for told in charged.values() for one, cost in told.items()}
            if request not in by_all and sum(by_all.values()) + mu_squared > most_of_all + 1e-9:
                raise _too_much(mu_squared, "the account of all projects", most_of_all - sum(by_all.values()))
            values = {"project_id": project, "edition_id": row.id, "request": request, "mu_squared": mu_squared}
            connection.execute(insert(T).values(**values, charged=self.now()))
            return max(0.0, most - used - mu_squared)

        return written(self.engine, work)

    def used(self, project: int, dataset: str, edition: str) -> float:
        """The sum that a project was charged."""
        return self.told(dataset, edition).get(project, 0.0)

    def told(self, dataset: str, edition: str) -> dict[int, float]:
        """The sum that each project was charged."""

        def work(connection: Connection) -> dict[int, float]:
            charged = _charged(connection, edition_in(connection, dataset, edition).id)
            return {project: sum(costs.values()) for project, costs in charged.items()}

        return read(self.engine, work)

    def told_to_all(self, dataset: str, edition: str) -> float:
        """The sum that all projects were charged together, each plot once."""

        def work(connection: Connection) -> float:
            charged = _charged(connection, edition_in(connection, dataset, edition).id)
            return sum({one: cost for told in charged.values() for one, cost in told.items()}.values())

        return read(self.engine, work)


def _charged(connection: Connection, edition_id: int) -> dict[int, dict[str, float]]:
    """What each project was charged for each plot."""
    asked = select(T.c.project_id, T.c.request, T.c.mu_squared).where(T.c.edition_id == edition_id)
    found: dict[int, dict[str, float]] = {}
    for project, request, cost in connection.execute(asked):
        found.setdefault(project, {})[request] = float(cost)
    return found


def _too_much(cost: float, account: str, left: float) -> Denied:
    return Denied(
        "plot-account",
        f"This plot costs {cost:.3g} of {account}, and {max(0.0, left):.3g} is left.",
        hint="Plots that were shown before cost nothing again.",
    )
