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
    bytes: int


class SeenPages(NamedTuple):
    """Milliseconds of every change, the first time that it is asked, and first paints of pages."""

    changes: dict[str, float]
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
        new = {page: painted(browser, place + page) for page in pages}
        tab = browser.new_page()
        tab.goto(place + start)
        found = {}
        for change in changes:
            found[change] = float(tab.evaluate(CHANGED, PLACE + change))
            print(f"  {change}: shown after {found[change]:.0f} ms", flush=True)
        known = {}
        for page in pages:
            several = [painted(browser, place + page) for _ in range(RUNS)]
            known[page] = FirstPaint(*(median(column) for column in zip(*several, strict=True)))  # type: ignore[arg-type]
            print(f"  first paint of {page}: {new[page]} new, {known[page]} known", flush=True)
        browser.close()
    return SeenPages(found, new, known)


def settle(server: Served) -> None:
    """Wait until the server does nothing more by itself."""
    before = -1.0
    while (now := server.cpu().total()) - before > 0.05:
        before = now
        time.sleep(CALM)


def painted(browser: Any, address: str) -> FirstPaint:
    """A page in a browser that has nothing of it yet."""
    context = browser.new_context()
    tab, sizes = context.new_page(), list[int]()
    tab.on("response", lambda reply: sizes.append(len(reply.body())))
    tab.goto(address)
    tab.screenshot()  # waits for a frame
    if tab.locator("table.grid").count() != 1:
        raise ValueError(f"The page of {address} has no table.")
    tab.wait_for_load_state("networkidle")
    found = FirstPaint(float(tab.evaluate(REPLY)), float(tab.evaluate(PAINT)), sum(sizes))
    context.close()
    return found
