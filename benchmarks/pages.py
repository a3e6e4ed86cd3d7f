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

from benchmarks.registry import Measure, apart, case, scratch

PLACE = "/tables/census/2021.1?ask=yes&"
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
PAINTED = ("rows=age_group&columns=labour", "rows=area:3&columns=sex&view=map")
MOST_MS, MOST_BYTES, MOST_PAINT = 200.0, 250_000, 300.0
RUNS = 5


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


def _paints(folder: Path, chromium: str) -> dict[str, tuple[float, int]]:
    """Median ms until a fresh page of headless Chromium paints its first content, over loopback, and all its bytes."""
    import threading

    import uvicorn
    from playwright.sync_api import sync_playwright

    from discreet.server.serving import listening

    socket = listening("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(_application(folder), log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
    thread.start()
    found = {}
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for change in PAINTED:
            times, sizes = [], []
            for _ in range(RUNS):
                tab, replies = browser.new_page(), list[int]()
                tab.on("response", lambda reply, kept=replies: kept.append(len(reply.body())))
                tab.goto(f"http://127.0.0.1:{socket.getsockname()[1]}{PLACE}{change}")
                tab.screenshot()  # waits for a frame
                times.append(tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
                tab.wait_for_load_state("networkidle")
                sizes.append(sum(replies))
                tab.close()
            found[change] = (median(times), max(sizes))
            print(f"  first paint of {change}: {median(times):.0f} ms, {max(sizes):,} bytes in all", flush=True)
        browser.close()
    server.should_exit = True
    thread.join()
    return found


@case("pages")
def changes_of_pages(scale: float) -> Sequence[Measure]:
    """A change of one variable on 10 million records; the peers are the targets."""
    records = int(10**7 * scale)
    with scratch() as folder:
        apart(_build, folder, records)
        found = apart(_changes, folder)
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        painted = {}
        if chromium is not None and find_spec("playwright") is not None:
            painted = apart(_paints, folder, chromium)
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
        *(
            Measure(f"first paint, ms: {what}", paint, MOST_PAINT, 1.0, settings)
            for what, (paint, _) in painted.items()
        ),
        *(
            Measure(f"page with all its files, bytes: {what}", size, MOST_BYTES, 1.0)
            for what, (_, size) in painted.items()
        ),
    ]
