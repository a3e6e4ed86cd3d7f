"""Compile every kernel before tests run in several processes, which would each compile the same ones."""

from __future__ import annotations

import re
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from graphlib import TopologicalSorter
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import discreet

HOUSE = Path(discreet.__file__).parent
IMPORTED = re.compile(r"^from (discreet\.[\w.]+) import", re.MULTILINE)


def kernel_modules() -> dict[str, set[str]]:
    """All modules with kernels, and the ones among them that each builds on."""
    texts = {}
    for path in sorted(HOUSE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "\nfrom discreet.jit import kernel\n" in text:
            texts[".".join(("discreet", *path.relative_to(HOUSE).with_suffix("").parts))] = text
    return {name: set(IMPORTED.findall(text)) & set(texts) for name, text in texts.items()}


def load(module: str) -> str:
    """Importing compiles what is not kept yet."""
    import_module(module)
    return module


def compile_kernels(processes: int) -> None:
    """Load every module once those that it builds on are kept, so that no two processes compile the same one."""
    order = TopologicalSorter(kernel_modules())
    order.prepare()
    running: set[Future[str]] = set()
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        while order.is_active():
            running |= {pool.submit(load, module) for module in order.get_ready()}
            done, running = wait(running, return_when=FIRST_COMPLETED)
            order.done(*(one.result() for one in done))
