"""``make mutants``: weaken the checker, the rules, the relations and the proofs, and see that a test notices.

Prints what nobody noticed. Ends with 1 where such a weakening is not in ``survivors.toml``, where less than 95 % are
noticed of those that change anything (all but the survivors listed with a reason), or where some were not tried.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from tests.mutants.store import KILLED, Store
from tests.mutants.tally import Tally
from tests.mutants.targets import GROUPS, Group
from tests.mutants.weaken import Key, Weakening, weakenings

LISTED = Path(__file__).with_name("survivors.toml")
ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "discreet"


def main() -> int:
    """Run all groups, or those asked for."""
    asked = _asked()
    if asked.inner:
        return _run_group(asked)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        store = asked.store or Path(folder) / "outcomes.jsonl"
        for name in asked.group or GROUPS if not asked.judge else ():
            _group(name, store)
        found = {name: _judged(name, asked, Store(store)) for name in asked.group or GROUPS}
    partial = bool(asked.sample or asked.file or asked.group or asked.match or asked.refusals)
    return _sum_up(found, time.monotonic() - begin, partial=partial)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--group", action="append", choices=GROUPS, help="files that belong together; may be repeated")
    parser.add_argument("--file", action="append", default=[], help="only files whose path has this in it")
    parser.add_argument("--match", action="append", default=[], help="only code, before or after, with this in it")
    parser.add_argument("--tests", action="append", default=[], help="other tests than those of the group")
    parser.add_argument("--sample", type=int, help="only so many weakenings of each group, drawn at random")
    parser.add_argument("--seed", type=int, default=1, help="for --sample")
    parser.add_argument("--refusals", action="store_true", help="only refusals that are taken away")
    parser.add_argument("--slowest", type=float, default=20, help="seconds that one test may take, else it is left out")
    parser.add_argument("--budget", type=float, default=30, help="seconds of tests for one weakening")
    parser.add_argument("--jobs", type=int, default=2, help="processes at the same time")
    parser.add_argument(
        "--store", type=Path, help="file that keeps outcomes over several runs; what was noticed is not tried again"
    )
    parser.add_argument("--unlisted", action="store_true", help="leave the listed survivors alone")
    parser.add_argument("--judge", action="store_true", help="try nothing, only sum up what --store has")
    parser.add_argument("--inner", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def _group(name: str, store: Path) -> None:
    """One group, in a process of its own: pytest runs once in a process."""
    arguments = [a for a in sys.argv[1:] if a != "--group" and a not in GROUPS]
    command = [sys.executable, "-m", "tests.mutants", *arguments, "--group", name, "--inner", str(store)]
    subprocess.run(command, cwd=ROOT, check=True)


def _chosen(name: str, asked: argparse.Namespace) -> list[Weakening]:
    """The weakenings of a group that are asked for."""
    group: Group = GROUPS[name]
    files = sorted(p.relative_to(SOURCE).as_posix() for pattern in group.files for p in SOURCE.glob(pattern))
    chosen = [f for f in files if not asked.file or any(part in f for part in asked.file)]
    tried = [w for f in chosen for w in weakenings(SOURCE / f, f, group.either) if w.refusal or not asked.refusals]
    if asked.match:
        tried = [w for w in tried if any(part in f"{w.was} => {w.now}" for part in asked.match)]
    if asked.sample and len(tried) > asked.sample:
        tried = random.Random(asked.seed).sample(tried, asked.sample)
    return tried


def _judged(name: str, asked: argparse.Namespace, store: Store) -> dict[Key, str | None]:
    """What became of the weakenings of a group, and which were not tried."""
    return {w.key: store.of(w) for w in _chosen(name, asked)}


def _run_group(asked: argparse.Namespace) -> int:
    import pytest
    from hypothesis import HealthCheck, Phase, settings

    from tests.mutants.running import Runner

    # The same examples every time; the first failure is enough, however large it is.
    settings.register_profile(
        "mutants",
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("mutants")
    (name,) = asked.group
    group, store = GROUPS[name], Store(asked.inner)
    every = _chosen(name, asked)
    spared = _listed() if asked.unlisted else {}
    tried = [weakening for weakening in store.open_(every) if weakening.key not in spared]
    print(f"{name}: {len(tried)} of {len(every)} weakenings are to be tried", flush=True)
    runner = Runner(tried, store, warm=group.warm, slowest=asked.slowest, budget=asked.budget, jobs=asked.jobs)
    if tried:
        tests = asked.tests or list(group.tests)
        options = [
            "-q",
            "-s",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            *(["-k", group.words] if group.words else []),
        ]
        pytest.main([*tests, *options], plugins=[runner])
        if runner.done != len(tried):
            print("The tests could not be run.", file=sys.stderr)
            return 2
    return 0


def _listed() -> dict[Key, str]:
    """Survivors that are known, with the reason why nothing changes with them."""
    return {
        (s["file"], s["where"], s["was"], s["now"], s.get("again", 0)): s["reason"]
        for s in tomllib.loads(LISTED.read_text(encoding="utf-8")).get("survivor", [])
    }


def _sum_up(groups: dict[str, dict[Key, str | None]], seconds: float, *, partial: bool) -> int:
    """Figures, and what nobody noticed and nobody gives a reason for."""
    listed = _listed()
    found = {key: outcome for mine in groups.values() for key, outcome in mine.items()}
    print()
    for name, mine in groups.items():
        print(f"{name}: {Tally.of(mine, listed)}")
    total = Tally.of(found, listed)
    print(f"all: {total}; in {seconds / 60:.1f} minutes")
    for file, where, was, now, again in total.new:
        nth = f" (no. {again + 1})" if again else ""
        print(f"NOT NOTICED, NOT LISTED: {file} {where}{nth}\n    - {was}\n    + {now}")
    for key in listed:
        if found.get(key) == KILLED or (not partial and key not in found):
            print(f"listed as a survivor, but killed or gone: {' | '.join(map(str, key))}")
    return 0 if total.good(partial=partial) else 1


if __name__ == "__main__":
    sys.exit(main())
