"""Faults in full: kills, full disks, signals, savers and readers at once, memory limits, damaged recipes and logs.

``make soak`` runs everything; ``python -m tests.soak kills=20 signals=20`` runs some of it with other counts. Children
are forked from this process, which has loaded everything once. Only processes that it started are ended.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import discreet as ds
from discreet.errors import DiscreetError, OutputError, ResourceError
from discreet.recipe.schema import read_recipe, recipe_text
from discreet.stopping import forget_written
from tests.faults.making import RECIPE, environment, recipe_in

COUNTS = {
    "kills": 200,
    "signals": 160,
    "disks": 116,
    "saves": 500,
    "memory": 12,
    "recipes": 5000,
    "loggers": 1000,
    "log_bits": 20_000,
    "servers": 1000,
    "log_disks": 50,
    "parties": 100,
}
FORMATS = ["csv", "xlsx", "jsonstat", "sdmx-csv", "sdmx-json", "px", "parquet", "sav", "dta"]
LONGEST = 60.0


def releases() -> tuple[ds.Release, ds.Release]:
    """Two releases of one table that differ in what they withhold."""
    table = ds.examples.small_table()
    return (
        ds.protect(table.assess(ds.PPercent(10)), ds.Suppress()),
        ds.protect(table.assess(ds.PPercent(15)), ds.Suppress(cost="unity")),
    )


def forked(work: Callable[[], int], output: int | None = None) -> int:
    """Start a child that does some work and ends with its code; gives its process id."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        if output is not None:
            os.dup2(output, 1)
            os.dup2(output, 2)
        code = work()
    finally:
        sys.stdout.flush()
        os._exit(code)


def ended(child: int) -> int:
    """The code of a child, waited for; one that does not end is killed and gives -1."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


def seal_of(out: Path) -> str:
    """Which release lies there."""
    path = out / "custodian" / "manifest.sha256"
    return path.read_text().strip() if path.is_file() else ""


def beside(out: Path) -> int:
    """How many folders lie beside the release that should not stay."""
    return len(list(out.parent.glob(f".{out.name}.*")))


def kills(count: int, folder: Path) -> Counter[str]:
    """Kill savers at any moment: the folder holds one release or the other, and the next save leaves nothing else."""
    out, found, pair = folder / "out", Counter[str](), releases()
    seals = {one.save(out, replace=True) for one in pair}

    def save() -> int:
        for k in range(10_000):
            pair[k % 2].save(out, replace=True)
        return 0

    for number in range(count):
        child = forked(save)
        time.sleep(random.uniform(0, 0.25))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found["left behind"] += beside(out)
        good = ds.check_folder(out).holds and seal_of(out) in seals
        found["one whole release" if good else "FAILED: no whole release"] += 1
        closed = all(path.stat().st_mode & 0o077 == 0 for path in folder.rglob("custodian"))
        found["FAILED: custodian open to others"] += not closed
        pair[number % 2].save(out, replace=True)
        found["FAILED: left after the next save"] += beside(out)
    return found


def signals(count: int, folder: Path) -> Counter[str]:
    """Stop runs at any moment: code and sentence are true."""
    recipes, seals, found = [], [], Counter[str]()
    out = folder / "out"
    for p in (10, 20):
        recipe = recipe_in(folder)
        recipe.write_text(RECIPE.replace("p = 10", f"p = {p}"))
        recipes.append(recipe.rename(folder / f"recipe{p}.toml"))
        seals.append(ds.run_recipe(recipes[-1]).seal)
    started = time.monotonic()
    ds.run_recipe(recipes[0])
    length = time.monotonic() - started
    for number in range(count):
        which = number % 2
        ds.run_recipe(recipes[1 - which])
        read, write = os.pipe()
        sent = (signal.SIGINT, signal.SIGTERM)[number // 2 % 2]

        def run(recipe: Path = recipes[which]) -> int:
            from discreet.__main__ import start

            forget_written()  # what the parent wrote is not this run's
            sys.argv = ["discreet", "run", str(recipe)]
            sys.stdout, sys.stderr = (os.fdopen(os.dup(number), "w") for number in (1, 2))
            try:
                start()
            except SystemExit as ending:
                return int(ending.code or 0)
            finally:
                for stream in (sys.stdout, sys.stderr):
                    stream.flush()
            return 98

        child = forked(run, write)
        os.close(write)
        time.sleep(random.uniform(0.1, 1.3 * length))
        os.kill(child, sent)
        code = ended(child)
        with os.fdopen(read) as stream:
            said = stream.read()
        new = seal_of(out) == seals[which]
        found[judged(code, sent, said, new, ds.check_folder(out).holds)] += 1
        found["left behind"] += beside(out)
    return found


def judged(code: int, sent: signal.Signals, said: str, new: bool, holds: bool) -> str:
    """Whether a run that was stopped told the truth."""
    if not holds:
        return "FAILED: the folder does not verify"
    if code == 0:
        return "done before the signal" if new else "FAILED: code 0 without a release"
    if code == -sent:
        return "ended by the signal before Python handled it" if not new else "FAILED: killed after saving"
    if code != 128 + sent or "Traceback" in said:
        return f"FAILED: code {code} after {sent.name}: {said[-200:]}"
    if "Nothing was written" in said:
        return "stopped, nothing written" if not new else "FAILED: said nothing was written"
    if "'out' had been written" in said:
        return "stopped after saving" if new else "FAILED: said that it was written"
    return f"FAILED: no sentence: {said[-200:]}"


def disks(count: int, folder: Path) -> Counter[str]:
    """Save with too little room for any file: an error of ours, and the old release stays."""
    import resource

    out, found, pair = folder / "out", Counter[str](), releases()
    pair[0].save(out, replace=True)
    for number in range(count):
        before, limit = seal_of(out), random.choice([0, *(int(10 ** random.uniform(0, 4.6)) for _ in range(9))])
        formats = random.sample(FORMATS, random.randint(1, 3))
        most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most[1]))
        try:
            pair[number % 2].save(out, formats=formats, replace=True)
            ending = "saved"
        except OutputError:
            ending = "refused by an error of ours"
        except Exception as error:
            ending = f"FAILED: {type(error).__name__} with {formats}"
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, most)
        found[ending] += 1
        found["FAILED: does not verify"] += not ds.check_folder(out).holds
        found["FAILED: old release changed"] += ending != "saved" and seal_of(out) != before
        found["FAILED: left behind"] += beside(out)
    found.update(small_disk(folder, pair, count // 4))
    return found


def small_disk(folder: Path, pair: tuple[ds.Release, ds.Release], count: int) -> Counter[str]:
    """The same on a file system that is really full, where we may mount one."""
    found, place = Counter[str](), folder / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        found["no file system could be mounted"] = 1
        return found
    try:
        for number in range(count):
            filling = place / "filling"
            with contextlib.suppress(OSError):  # full is full
                filling.write_bytes(b"0" * (random.randint(40, 240) * 1024))
            try:
                pair[number % 2].save(place / "out", formats=FORMATS, replace=True)
                ending = "small disk: saved"
            except OutputError:
                ending = "small disk: refused by an error of ours"
            except Exception as error:
                ending = f"FAILED: small disk: {type(error).__name__}: {error}"
            found[ending] += 1
            filling.unlink()
            if (place / "out").exists():
                found["FAILED: small disk: does not verify"] += not ds.check_folder(place / "out").holds
            found["FAILED: small disk: left behind"] += beside(place / "out")
    finally:
        subprocess.run(["umount", str(place)], check=True)
    return found


def saves(count: int, folder: Path) -> Counter[str]:
    """Two savers and two readers of one folder."""
    out, found, pair = folder / "out", Counter[str](), releases()
    seals = {one.save(out, replace=True) for one in pair}
    ready, go = os.pipe()

    def save() -> int:
        for k in range(count // 2):
            pair[(k + os.getpid()) % 2].save(out, replace=True)
        return 0

    def read() -> int:
        counted = Counter[str]()
        while not counted["ends"]:
            try:
                verdict = ds.check_folder(out)
                counted["read" if verdict.holds else "refused"] += 1
            except DiscreetError:
                counted["refused"] += 1
            counted["ends"] = (folder / "done").exists()
        os.write(go, f"{counted['read']} {counted['refused']}\n".encode())
        return 0

    readers, savers = [forked(read) for _ in range(2)], [forked(save) for _ in range(2)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in savers]
    (folder / "done").touch()
    codes += [ended(child) for child in readers]
    os.close(go)
    with os.fdopen(ready) as stream:
        for line in stream:
            read_well, refused = map(int, line.split())
            found["read whole"] += read_well
            found["FAILED: refused while saving"] += refused
    found["saved"] = 2 * (count // 2)
    found["FAILED: savers or readers failed"] = sum(code != 0 for code in codes)
    found["FAILED: no whole release"] = not (ds.check_folder(out).holds and seal_of(out) in seals)
    found["left behind"] = beside(out)
    pair[0].save(out, replace=True)
    found["FAILED: left after the next save"] = beside(out)
    return found


def memory(count: int, folder: Path) -> Counter[str]:
    """Run under limits of the address space: done, or an error of ours."""
    found, recipe = Counter[str](), recipe_in(folder, 3000)
    for number in range(count):
        limit = int(3e8 + number * 2.7e9 / max(count - 1, 1))
        words = ["sh", "-c", f'ulimit -v {limit // 1024} && exec "$0" "$@"', sys.executable, "-m", "discreet"]
        try:
            done = subprocess.run(
                [*words, "run", str(recipe)],
                capture_output=True,
                text=True,
                env=environment(),
                timeout=180,
                check=False,
            )
        except subprocess.TimeoutExpired:
            found[f"FAILED: no end with {limit:,} bytes"] += 1
            continue
        if done.returncode in (0, ResourceError.exit_code) and "Traceback" not in done.stderr:
            found["done" if done.returncode == 0 else "refused by an error of ours"] += 1
        else:
            found[f"FAILED: code {done.returncode} with {limit:,} bytes: {done.stderr[-150:]}"] += 1
    return found


def recipes(count: int, folder: Path) -> Counter[str]:
    """Damaged recipes are read or refused."""
    found, path, whole = Counter[str](), folder / "recipe.toml", RECIPE.encode()
    for _ in range(count):
        content = bytearray(whole)
        for _ in range(random.randint(1, 4)):
            at = random.randrange(len(content))
            content[at : at + random.randint(0, 12)] = random.randbytes(random.randint(0, 3))
        path.write_bytes(content)
        try:
            read_recipe(recipe_text(path))
            found["read"] += 1
        except DiscreetError:
            found["refused by an error of ours"] += 1
        except Exception as error:
            found[f"FAILED: {type(error).__name__}: {error}"] += 1
    return found


def loggers(count: int, folder: Path) -> Counter[str]:
    """Kill the logger while clients append: every entry that was acknowledged is there, and the log verifies."""
    from tests.trust.log_killing import killed_at_random
    from tests.trust.log_making import key_in

    key_in(folder)
    with contextlib.chdir(folder):  # paths of sockets must be short
        return killed_at_random(folder, kills=count, clients=4)


def log_bits(count: int, folder: Path) -> Counter[str]:
    """Flip any bit of any file of a log: found, each of them."""
    from discreet.trust import SigningKey
    from discreet.trust.log_verify import check_log
    from tests.trust.log_making import key_in, log_of

    found = Counter[str]()
    log_of(folder / "log", SigningKey.from_file(key_in(folder)), (1, 3, 2, 2, 1))
    places = [(path, at) for path in sorted((folder / "log").iterdir()) for at in range(path.stat().st_size)]
    for _ in range(count):
        path, at = random.choice(places)
        whole = path.read_bytes()
        damaged = bytearray(whole)
        damaged[at] ^= 1 << random.randrange(8)
        path.write_bytes(damaged)
        found["FAILED: not found" if check_log(folder / "log").holds else "found"] += 1
        path.write_bytes(whole)
    found["FAILED: the log itself"] = not check_log(folder / "log").holds
    return found


def servers(count: int, folder: Path) -> Counter[str]:
    """Kill workers, loggers, PostgreSQL and whole servers while clients ask: no wrong answer, no lost entry."""
    from tests.server.postgres import make_postgres, missing
    from tests.soak.server import killed_at_random

    if why := missing():
        print(f"  without PostgreSQL: {why}", flush=True)
        return killed_at_random(folder, count, random.randrange(2**32))
    postgres = make_postgres()
    try:
        return killed_at_random(folder, count, random.randrange(2**32), postgres=postgres)
    finally:
        postgres.stop()
        shutil.rmtree(postgres.folder, ignore_errors=True)


def log_disks(count: int, folder: Path) -> Counter[str]:
    """Fill the disk of a server's log again and again: nothing leaves that is not logged."""
    from tests.soak.server import full_disk

    return full_disk(folder, count, random.randrange(2**32))


def parties(count: int, folder: Path) -> Counter[str]:
    """Kill parties and coordinators of joint models and unions: an end with a name at all others, no result."""
    from tests.soak.parties import killed_parties

    return killed_parties(count, folder)


def main(words: list[str]) -> int:
    """Run what was asked for, print the figures, and say whether anything failed."""
    asked = dict(word.partition("=")[::2] for word in words)
    seed = int(asked.pop("seed", "1"))
    counts = {name: int(count) for name, count in asked.items()} or COUNTS
    failed = 0
    for name, count in counts.items():
        random.seed(seed)
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            found = globals()[name](count, Path(folder))
        print(f"{name} ({count}, seed {seed}, {time.monotonic() - started:.0f} s):", flush=True)
        for ending, number in sorted(found.items()):
            if number or not ending.startswith("FAILED"):
                print(f"  {number:>6,}  {ending}", flush=True)
            failed += number if ending.startswith("FAILED") else 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
