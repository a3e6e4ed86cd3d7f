"""Kill the logger while clients append, again and again: what was acknowledged must be there."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path

from discreet.trust.log.client import LogClient
from discreet.trust.log.lines import Receipt
from discreet.trust.log.process import start_logger
from discreet.trust.log.writer import LogUnavailable
from discreet.trust.log_verify import check_log
from tests.trust.log_making import question


def killed_at_random(place: Path, kills: int, clients: int) -> Counter[str]:
    """Kill -9 a logger at random moments; counts what became of the entries."""
    found: Counter[str] = Counter()
    receipts: dict[str, Receipt] = {}
    guard, end = threading.Lock(), threading.Event()

    def append(who: int) -> None:
        number = who
        with LogClient("socket", timeout=5) as client:
            while not end.is_set():
                number += clients
                try:
                    receipt = client.append(question(number))
                except LogUnavailable:
                    with guard:
                        found["not acknowledged"] += 1
                    end.wait(0.005)  # the logger is away
                else:
                    with guard:
                        receipts[f"{number:064x}"] = receipt

    threads = [threading.Thread(target=append, args=(who,)) for who in range(clients)]
    try:
        for number in range(kills + 1):
            logger = start_logger(place / "log", place / "log.pem", "socket", create=True, segment_entries=150)
            if number == 0:
                for thread in threads:
                    thread.start()
            before = len(receipts)
            while len(receipts) < before + 10 and logger.alive:
                time.sleep(0.002)
            time.sleep(random.uniform(0, 0.1))
            if number < kills:
                os.kill(logger.process.pid, signal.SIGKILL)
            logger.stop()
    finally:
        end.set()
        for thread in threads:
            thread.join()
    judge(place, receipts, found)
    return found


def judge(place: Path, receipts: dict[str, Receipt], found: Counter[str]) -> None:
    """Compare the log with what the clients have in hand."""
    there: dict[str, int] = {}
    kinds: Counter[str] = Counter()

    def look(entry: object) -> None:
        body, seq = entry.body, entry.seq  # type: ignore[attr-defined]
        kinds[body["kind"]] += 1
        if body["kind"] == "question":
            there[body["question"]] = seq

    heads = {receipt.head.head.size: receipt.head for receipt in receipts.values()}
    verdict = check_log(place / "log", heads=[head.to_json() for head in heads.values()], each=look)
    found["acknowledged"] = len(receipts)
    found["repairs"] = kinds["repair"]
    found["segments"] = verdict.segments
    found["FAILED: the log does not verify"] = not verdict.holds
    for mark, receipt in receipts.items():
        found["FAILED: acknowledged and not there"] += there.get(mark) != receipt.seq
