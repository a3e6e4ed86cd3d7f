"""Pages of the table server: how much work a change of one variable is on many records, first paint, and weight."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from benchmarks.pages_browser import PLACE, SeenPages, seen
from benchmarks.registry import Measure, apart, case, scratch

START = "rows=sex&columns=marital"
CHANGES = (
    "rows=age_group&columns=marital",
    "rows=age_group&columns=education",
    "rows=age_group&columns=labour",
    "rows=birth&columns=labour",
    "rows=birth&columns=labour&layers=sex",
    "rows=area:3&columns=labour",
    "rows=area:3&columns=sex&view=map",
    "rows=age_group&columns=sex&value=income",
)
PAINTED = ("rows=labour:1&columns=education", "rows=area:3&columns=marital&view=map")
"""Pages that are opened before any of the changes, and several times after them."""
MOST_MS, MOST_BYTES, MOST_PAINT = 200.0, 250_000, 300.0


def _build(folder: Path, records: int) -> None:
    from discreet.server.sample import build_sample

    build_sample(folder, records=records, areas=2_000)


def _application(folder: Path) -> Any:
    """The server's application, without log and budget: both are measured by the case of the server."""
    from discreet.server.account import MemoryAccount
    from discreet.server.app import TableApp
    from discreet.server.dataset import open_dataset
    from discreet.server.identity import Identity
    from discreet.server.pages.frame import PageFrame
    from discreet.server.pages.site import page_routes
    from discreet.server.roles import Role
    from discreet.server.service import Service

    class Unwritten:
        """Neither log nor budget."""

        async def append(self, entry: object) -> None:
            """Forget it."""

        def reserve(self, holder: str, cells: int, most: int) -> None:
            """Allow it."""

    async def who(_request: object) -> Identity:
        return Identity(None, "", frozenset({Role.PUBLIC}), 0, "127.0.0.1")

    dataset = open_dataset(folder / "census")
    service = Service({(dataset.name, dataset.edition): dataset}, MemoryAccount(), Unwritten(), Unwritten())
    return TableApp(service, who, more=page_routes(PageFrame(who), service)).application()


def _changes(folder: Path) -> dict[str, tuple[float, int]]:
    """CPU ms and bytes of every change: what the server does to show it, all in one process."""
    import httpx

    app = _application(folder)

    async def ask() -> dict[str, tuple[float, int]]:
        found = {}
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://local", timeout=600) as client:
            for change in (START, "rows=sex&columns=education&value=income", *CHANGES):
                began = process_time()
                reply = await client.get(PLACE + change, headers={"hx-request": "true"})
                spent = process_time() - began
                if reply.status_code != 200 or "<table" not in reply.text:
                    raise ValueError(f"The page of {change} has no table.")
                found[change] = (1000 * spent, len(reply.content))
                print(f"  {change}: {1000 * spent:.0f} CPU ms, {len(reply.content):,} bytes", flush=True)
        return found

    return asyncio.run(ask())


@case("pages")
def changes_of_pages(scale: float) -> Sequence[Measure]:
    """A change of one variable on 10 million records; the peers are the targets."""
    records = int(10**7 * scale)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    looked = None
    with scratch() as folder:
        apart(_build, folder, records)
        found = apart(_changes, folder)
        if chromium is not None and find_spec("playwright") is not None:
            looked = apart(seen, folder, START, CHANGES, PAINTED, chromium)
    settings = f"{records:,} records, without log and network"
    counts = {change: found[change][0] for change in CHANGES if "value=" not in change}
    values = {change: found[change][0] for change in CHANGES if "value=" in change}
    return [
        Measure("median change of counts, CPU ms", median(counts.values()), MOST_MS, 1.0, settings),
        Measure(
            "slowest change of counts, CPU ms",
            max(counts.values()),
            MOST_MS,
            1.0,
            max(counts, key=lambda change: counts[change]),
        ),
        Measure("change of a sum, CPU ms", max(values.values()), MOST_MS, 1.0, *values),
        Measure("heaviest part of a page, bytes", max(size for _, size in found.values()), MOST_BYTES, 1.0, settings),
        *([] if looked is None else _shown(looked, records)),
    ]


def _shown(looked: SeenPages, records: int) -> list[Measure]:
    """What was seen in the browser, by the clock."""
    settings = f"{records:,} records, Chromium and a server with log and accounts on one machine, by the clock"
    shown = {change: one.shown for change, one in looked.changes.items()}
    spent = {change: one.served + one.work for change, one in looked.changes.items()}
    found = [
        Measure("median change in a browser, ms", median(shown.values()), MOST_MS, 1.0, settings),
        Measure(
            "slowest change in a browser, ms", max(shown.values()), MOST_MS, 1.0, max(shown, key=lambda k: shown[k])
        ),
        Measure(
            "slowest change, CPU ms of server and of the thread that paints",
            max(spent.values()),
            MOST_MS,
            1.0,
            max(spent, key=lambda k: spent[k]),
        ),
    ]
    for words, pages in (("known", looked.known), ("new", looked.new)):
        for what, one in pages.items():
            came = f"it had come after {one.came:.0f} ms; CPU ms: {one.served:.0f} server, {one.work:.0f} painting"
            found.append(
                Measure(f"first paint of a page with a {words} table, ms: {what}", one.painted, MOST_PAINT, 1.0, came)
            )
    for what, one in looked.known.items():
        found.append(Measure(f"page with all its files, bytes: {what}", one.bytes, MOST_BYTES, 1.0))
    return found
