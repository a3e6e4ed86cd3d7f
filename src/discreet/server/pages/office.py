"""The officer's pages: data sets with their attack curves and accounts, people and certificates."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from discreet.engine.column_files import open_columns
from discreet.errors import InputError, ProtectionError
from discreet.server.curve import AttackCurve, attack_curve
from discreet.server.dataset import Dataset
from discreet.server.dataset_folder import COLUMNS
from discreet.server.denied import Denied
from discreet.server.pages.frame import PageFrame, Visit, may_open, see_other
from discreet.server.plots import plots_of_all
from discreet.server.refinement import room_of
from discreet.server.roles import allowed
from discreet.server.service import Service
from discreet.server.store.editions import EditionRow
from discreet.server.store.store import Store
from discreet.trust.log.entries import CertificateChanged

TABLES = 30
"""Tables that the attack on a page asks."""
MOST_RECORDS = 2_000_000
"""Records up to which a page attacks; beyond, it is the work of a command."""
MOST_MARGINS = 50


@dataclass(frozen=True)
class OfficePages:
    """Pages for data owners and officers, registration officers and CA operators.

    Parameters
    ----------
    frame
        The frame of pages.
    service
        What is served.
    store
        What is kept.
    """

    frame: PageFrame
    service: Service
    store: Store
    _curves: dict[tuple[str, str], AttackCurve | None] = field(default_factory=dict, repr=False)

    def routes(self) -> list[Route]:
        """Addresses."""
        return [
            self.frame.route("/office", self.show_office),
            self.frame.route("/office/datasets/{name}/{edition}", self.show_edition),
            self.frame.route("/office/people", self.show_people),
            self.frame.route("/office/certificates", self.change_certificate, methods=("POST",)),
        ]

    async def show_office(self, visit: Visit) -> Response:
        """All editions: whether they answer, with which key, and how much of them was told."""
        allowed(visit.who, "office.read").required()

        def work() -> list[dict[str, Any]]:
            return [self._edition(row) for row in self.store.editions.listed()]

        return self.frame.page(visit, "office.html", "Data sets", rows=await asyncio.to_thread(work))

    def _edition(self, row: EditionRow) -> dict[str, Any]:
        dataset = self.service.datasets.get((row.dataset, row.edition))
        margins = [] if dataset is None else self._margins(dataset)
        return {"row": row, "dataset": dataset, "fullest": margins[0] if margins else None, "margins": len(margins)}

    def _margins(self, dataset: Dataset) -> list[dict[str, Any]]:
        """What was told of each margin, and its share of the room, the fullest first."""
        found = []
        for margin, told in self.store.account.told(dataset.name, dataset.edition).items():
            value, _, _ = margin.partition("|")
            room = room_of(margin, dataset.levels, dataset.facts.most_precision)
            words = margin.partition("|")[2].replace(",", " × ") or "total"
            share = told / room if room > 0 else 1.0
            found.append(
                {"words": f"{words} ({value})" if value else words, "told": told, "room": room, "share": share}
            )
        return sorted(found, key=lambda one: (-one["share"], one["words"]))

    async def show_edition(self, visit: Visit) -> Response:
        """The attack curve of an edition, and the account of its refinements."""
        allowed(visit.who, "office.read").required()
        dataset = self.service.dataset(visit.request.path_params["name"], visit.request.path_params["edition"])
        margins = await asyncio.to_thread(self._margins, dataset)
        curve = await self._curve(dataset)
        shown: dict[str, Any] = {"dataset": dataset, "margins": margins[:MOST_MARGINS], "many": len(margins)}
        shown |= {"curve": curve, "line": None if curve is None else curve_line(curve)}
        shown |= {"plots": await asyncio.to_thread(self._plots, dataset)}
        return self.frame.page(visit, "office_edition.html", f"{dataset.name} {dataset.edition}", **shown)

    def _plots(self, dataset: Dataset) -> list[tuple[str, float, float]]:
        """What plots told each project and all of them, and the most; nothing where none are drawn."""
        policy, place = dataset.policy, (dataset.name, dataset.edition)
        if policy.plot_account <= 0:
            return []
        each = [
            (self.store.projects.find(number).name, told, policy.plot_account)
            for number, told in sorted(self.store.plots.told(*place).items())
        ]
        return [*each, ("All projects, each plot once", self.store.plots.told_to_all(*place), plots_of_all(policy))]

    async def _curve(self, dataset: Dataset) -> AttackCurve | None:
        """The curve, worked out once in the line of questions; none where the records are too many for a page."""
        place = (dataset.name, dataset.edition)
        if place not in self._curves:
            if len(open_columns(dataset.folder / COLUMNS)) > MOST_RECORDS:
                return None
            try:
                self._curves[place] = await self.service.workplace.run(2**40, lambda: attack_curve(dataset, TABLES))
            except ProtectionError:
                self._curves[place] = None
        return self._curves[place]

    # ---- people ---------------------------------------------------------------------------------------------

    async def show_people(self, visit: Visit) -> Response:
        """Everybody with roles and certificates."""
        if not (may_open(visit.who, "certificate.suspend") or may_open(visit.who, "office.read")):
            raise Denied("role", "Your roles do not allow this.", hint="Ask the office if you should have this right.")
        rows = await asyncio.to_thread(self.store.people.listed)
        changes = may_open(visit.who, "certificate.suspend")
        shown = {"rows": rows, "changes": changes, "me": visit.who.principal_id, "now": self.store.people.now()}
        return self.frame.page(visit, "people.html", "People and certificates", 200, **shown)

    async def change_certificate(self, visit: Visit) -> Response:
        """Suspend, reactivate or revoke a certificate, at once."""
        serial, what = visit.form.get("serial", ""), visit.form.get("what", "")
        ways = {
            "suspend": self.store.people.suspend_certificate,
            "reactivate": self.store.people.reactivate_certificate,
            "revoke": self.store.people.revoke_certificate,
        }
        if what not in ways:
            raise InputError("There is no such change.", hint=f"Choose {', '.join(ways)}.")
        action = "certificate.revoke" if what == "revoke" else "certificate.suspend"
        allowed(visit.who, action).required()
        found = await asyncio.to_thread(self.store.people.certificate, serial)
        if found is None:
            raise InputError("Nobody entered a certificate of this serial number.", hint="See the list.")
        if found[1].id == visit.who.principal_id:
            raise Denied("own", "Nobody decides on what is their own.", hint="Ask another officer.")
        entry = CertificateChanged(
            subject=visit.who.name, serial=visit.who.serial, request=visit.number, action=what, about=serial.lower()
        )
        await self.service.log.append(entry)
        await asyncio.to_thread(ways[what], serial)
        return see_other("/office/people")


def curve_line(curve: AttackCurve) -> dict[str, Any]:
    """A curve as a drawing of 600 by 240: shares upwards, tables to the right."""
    last = max(2, curve.points[-1].tables)

    def at(tables: float, share: float) -> str:
        return f"{40 + 540 * (tables - 1) / (last - 1):.1f},{210 - 190 * share:.1f}"

    known = " ".join(at(point.tables, point.known) for point in curve.points)
    expected = " ".join(at(point.tables, point.expected) for point in curve.points)
    stop = 210 - 190 * curve.stops_at
    return {"known": known, "expected": expected, "stop": f"{stop:.1f}", "last": last}
