"""Pages of a running server in headless Chromium: changes of a table as somebody sees them, first paints, weights."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.server_office import Served, served

PLACE = "/tables/census/2021.1?ask=yes&"
RUNS = 5
CALM = 1.0
"""Seconds in which a server that does nothing uses no processor: cubes are made after its start."""
SETTINGS = """\
version = 1
store = "server.db"
run = "run"

[listen]
port = {port}
workers = 1

[log]
folder = "log"
key = "log.key"

[[datasets]]
folder = "census"
"""
CHANGED = """(address) => new Promise((done, failed) => {
    const before = performance.now();
    document.addEventListener("htmx:afterSettle", () => requestAnimationFrame(() => setTimeout(() =>
        document.querySelector("table.grid") ? done(performance.now() - before) : failed("no table"))), {once: true});
    htmx.ajax("GET", address, {target: "#builder", swap: "outerHTML", source: "#builder"});
})"""
"""What a button or a drop does, until what it brought was painted; milliseconds."""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
REPLY = "performance.getEntriesByType('navigation')[0].responseEnd"


class FirstPaint(NamedTuple):
    """Milliseconds until the page had come and until something of it was painted, and all its bytes."""

    came: float
    painted: float
    served: float
    """CPU ms of the server's processes, for the page and all its files."""
    work: float
    """CPU ms of the thread of the browser that reads, lays out and paints, scripts included."""
    bytes: int


class SeenChange(NamedTuple):
    """Milliseconds until a change was painted, and CPU ms of the server's processes and of the thread that paints."""

    shown: float
    served: float
    work: float


class SeenPages(NamedTuple):
    """Every change, the first time that it is asked, and first paints of pages."""

    changes: dict[str, SeenChange]
    new: dict[str, FirstPaint]
    """Of pages whose table nobody asked before."""
    known: dict[str, FirstPaint]
    """Of pages that one had before: medians."""


def furnish(folder: Path) -> int:
    """Keys and settings for a server without TLS on this machine; the port."""
    from discreet.trust import make_keys

    with socket.create_server(("127.0.0.1", 0)) as found:
        port = int(found.getsockname()[1])
    make_keys(folder / "log.key")
    (folder / "server.toml").write_text(SETTINGS.format(port=port))
    return port


def seen(folder: Path, start: str, changes: Sequence[str], pages: Sequence[str], chromium: str) -> SeenPages:
    """Start the server of a folder, and look at its pages: changes one after the other, then fresh pages."""
    from playwright.sync_api import sync_playwright

    port = furnish(folder)
    with served(folder, port) as server, sync_playwright() as running:
        settle(server)
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        place = f"http://127.0.0.1:{port}{PLACE}"
        new = {page: painted(server, browser, place + page) for page in pages}
        tab = browser.new_page()
        tools = watched(tab)
        tab.goto(place + start)
        found = {}
        for change in changes:
            settle(server)
            cpu, before = server.cpu().total(), spent(tools)
            shown = float(tab.evaluate(CHANGED, PLACE + change))
            found[change] = SeenChange(shown, 1000 * (server.cpu().total() - cpu), spent(tools) - before)
            print(f"  {change}: {found[change]}", flush=True)
        known = {}
        for page in pages:
            several = [painted(server, browser, place + page) for _ in range(RUNS)]
            known[page] = FirstPaint(*(median(column) for column in zip(*several, strict=True)))  # type: ignore[arg-type]
            print(f"  first paint of {page}: {new[page]} new, {known[page]} known", flush=True)
        browser.close()
    return SeenPages(found, new, known)


def watched(tab: Any) -> Any:
    """What tells how long the thread of a tab worked, by its processor time: others that run do not count."""
    tools = tab.context.new_cdp_session(tab)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})
    return tools


def spent(tools: Any) -> float:
    """CPU ms that the thread of a tab has worked so far."""
    found = tools.send("Performance.getMetrics")["metrics"]
    return 1000 * float(next(one["value"] for one in found if one["name"] == "TaskDuration"))


def settle(server: Served) -> None:
    """Wait until the server does nothing more by itself."""
    before = -1.0
    while (now := server.cpu().total()) - before > 0.05:
        before = now
        time.sleep(CALM)


def painted(server: Served, browser: Any, address: str) -> FirstPaint:
    """A page in a browser that has nothing of it yet."""
    settle(server)
    before, context = server.cpu().total(), browser.new_context()
    tab, sizes = context.new_page(), list[int]()
    tab.on("response", lambda reply: sizes.append(len(reply.body())))
    tools = watched(tab)
    tab.goto(address)
    tab.screenshot()  # waits for a frame
    work = spent(tools)
    if tab.locator("table.grid").count() != 1:
        raise ValueError(f"The page of {address} has no table.")
    tab.wait_for_load_state("networkidle")
    served = 1000 * (server.cpu().total() - before)
    found = FirstPaint(float(tab.evaluate(REPLY)), float(tab.evaluate(PAINT)), served, work, sum(sizes))
    context.close()
    return found
