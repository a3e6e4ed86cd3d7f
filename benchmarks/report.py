"""The report of a large table: how long it takes to write, how large it is, and when a browser first paints it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np
import pyarrow as pa

import discreet as ds
from benchmarks.registry import Measure, case, scratch
from discreet.report import custodian_report

RECORDS, ACTIVITIES, REGIONS = 1_500_000, 340, 240
PAINT_LIMIT, SIZE_LIMIT, WRITE_LIMIT = 1.0, 3.0, 10.0
RUNS = 5


def _codes(letter: str, number: int) -> dict[str, str]:
    """Codes of four levels, each with its parent."""
    base = [f"{letter}{i // 60:02}{i // 10:02}{i % 10}" for i in range(number)]
    parents = {code: code[:5] for code in base} | {code[:5]: code[:3] for code in base}
    return parents | {code[:3]: "Total" for code in base}


@case("report")
def report(scale: float) -> Sequence[Measure]:
    """The custodian's page of a table of 100,000 cells, against the limits that a reader notices."""
    random = np.random.default_rng(1)
    by, columns = {}, {}
    for name, letter, number in (("activity", "A", ACTIVITIES), ("region", "R", REGIONS)):
        parents = _codes(letter, max(10, int(number * scale**0.5)))
        by[name] = ds.Hierarchy.from_parents(parents, "Total")
        base = np.array(by[name].base_codes)
        columns[name] = base[random.integers(0, len(base), int(RECORDS * scale))]
    table = ds.tabulate(pa.table(columns), by=by, name="persons").assess(ds.MinFrequency(12))
    release = ds.protect(table, ds.Suppress(insiders=None))
    start = time.process_time()
    page = custodian_report(release)
    wrote = time.process_time() - start
    settings = f"{len(table):,} cells, {int(table.unsafe.sum()):,} unsafe; the peer is the limit"
    measures = [
        Measure("CPU s to check and write", wrote, WRITE_LIMIT, 1.0, settings),
        Measure("MB", len(page.encode()) / 1e6, SIZE_LIMIT, 1.0, settings),
    ]
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is not None and find_spec("playwright") is not None:
        measures.append(Measure("seconds to first paint", _paint(page, chromium), PAINT_LIMIT, 1.0, settings))
    return measures


def _paint(page: str, chromium: str) -> float:
    """Median seconds until a fresh page of headless Chromium paints its first content."""
    from playwright.sync_api import sync_playwright

    times = []
    with scratch() as folder, sync_playwright() as running:
        file = folder / "report.html"
        file.write_text(page, encoding="utf-8")
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(RUNS):
            tab = browser.new_page()
            tab.goto(file.as_uri())
            tab.screenshot()  # waits for a frame
            times.append(tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            tab.close()
        browser.close()
    return float(np.median(times)) / 1000
