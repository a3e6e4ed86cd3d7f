"""The account of plots: the sum of mu squared that a project was told of an edition. Never given back."""

from __future__ import annotations

from sqlalchemy import Connection, func, insert, select

from discreet.errors import ParameterError
from discreet.server.denied import Denied
from discreet.server.store.database import read, written
from discreet.server.store.editions import edition_in
from discreet.server.store.part import StorePart, plain_text
from discreet.server.store.tables import PLOT_CHARGE, PROJECT

T = PLOT_CHARGE


class PlotCharges(StorePart):
    """What plots were charged, per project and edition."""

    def charge(self, project: int, dataset: str, edition: str, request: str, mu_squared: float, most: float) -> float:
        """Charge a request, the same one once; what is left. With several workers at once never more than ``most``.

        Raises
        ------
        Denied
            When less is left; nothing is charged then.
        """
        plain_text(request, "request", 128)
        if not 0 <= mu_squared < 1e9 or not 0 <= most < 1e9:
            raise ParameterError("An account of plots holds numbers from 0 on.", hint="Give mu squared.")

        def work(connection: Connection) -> float:
            # Whoever else charges this project waits here: what is read below still holds when it is written.
            connection.execute(select(PROJECT.c.id).where(PROJECT.c.id == project).with_for_update())
            row = edition_in(connection, dataset, edition)
            mine = (T.c.project_id == project) & (T.c.edition_id == row.id)
            used = float(
                connection.execute(select(func.coalesce(func.sum(T.c.mu_squared), 0.0)).where(mine)).scalar_one()
            )
            if connection.execute(select(T.c.request).where(mine, T.c.request == request)).first() is not None:
                return max(0.0, most - used)
            if used + mu_squared > most + 1e-9:
                raise Denied(
                    "plot-account",
                    f"This plot costs {mu_squared:.3g} of your project's account, and "
                    f"{max(0.0, most - used):.3g} is left.",
                    hint="Plots that were shown before cost nothing again.",
                )
            values = {"project_id": project, "edition_id": row.id, "request": request, "mu_squared": mu_squared}
            connection.execute(insert(T).values(**values, charged=self.now()))
            return max(0.0, most - used - mu_squared)

        return written(self.engine, work)

    def used(self, project: int, dataset: str, edition: str) -> float:
        """The sum that was charged."""

        def work(connection: Connection) -> float:
            row = edition_in(connection, dataset, edition)
            mine = (T.c.project_id == project) & (T.c.edition_id == row.id)
            return float(
                connection.execute(select(func.coalesce(func.sum(T.c.mu_squared), 0.0)).where(mine)).scalar_one()
            )

        return read(self.engine, work)
