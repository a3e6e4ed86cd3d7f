"""``make mutants``: weaken the checker, the rules, the relations and the proofs, and see that a test notices.

Prints what nobody noticed. Ends with 1 where such a weakening is not in ``survivors.toml``, or where less than
95 % of all are noticed.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from pathlib import Path

from tests.mutants.targets import GROUPS, Group

LEAST = 0.95
LISTED = Path(__file__).with_name("survivors.toml")
ROOT = Path(__file__).parents[2]
Key = tuple[str, str, str, str, int]


def main() -> int:
    """Run all groups, or those asked for."""
    asked = _asked()
    if asked.inner:
        return _run_group(asked)
    begin = time.monotonic()
    found: dict[Key, str] = {}
    for name in asked.group or GROUPS:
        found |= _group(name, asked)
    return _sum_up(
        found, time.monotonic() - begin, partial=bool(asked.sample or asked.file or asked.group or asked.match)
    )


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
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests for one weakening")
    parser.add_argument("--jobs", type=int, default=2, help="processes at the same time")
    parser.add_argument("--inner", help=argparse.SUPPRESS)
    return parser.parse_args()


def _group(name: str, asked: argparse.Namespace) -> dict[Key, str]:
    """One group, in a process of its own: pytest runs once in a process."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "found.json"
        arguments = [a for a in sys.argv[1:] if a != "--group" and a not in GROUPS]
        command = [sys.executable, "-m", "tests.mutants", *arguments, "--group", name, "--inner", str(answer)]
        subprocess.run(command, cwd=ROOT, check=True)
        return {(f, w, a, b, n): outcome for f, w, a, b, n, outcome in json.loads(answer.read_text())}


def _run_group(asked: argparse.Namespace) -> int:
    import pytest
    from hypothesis import HealthCheck, Phase, settings

    from tests.mutants.running import SOURCE, Runner
    from tests.mutants.weaken import weakenings

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
    group: Group = GROUPS[asked.group[0]]
    files = sorted(p.relative_to(SOURCE).as_posix() for pattern in group.files for p in SOURCE.glob(pattern))
    chosen = [f for f in files if not asked.file or any(part in f for part in asked.file)]
    tried = [w for f in chosen for w in weakenings(SOURCE / f, f, group.either) if w.refusal or not asked.refusals]
    if asked.match:
        tried = [w for w in tried if any(part in f"{w.was} => {w.now}" for part in asked.match)]
    if asked.sample and len(tried) > asked.sample:
        tried = random.Random(asked.seed).sample(tried, asked.sample)
    print(f"{asked.group[0]}: {len(tried)} weakenings of {len(chosen)} files", flush=True)
    runner = Runner(tried, warm=group.warm, slowest=asked.slowest, budget=asked.budget, jobs=asked.jobs)
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
        if len(runner.outcome) != len(tried):
            print("The tests could not be run.", file=sys.stderr)
            return 2
    Path(asked.inner).write_text(json.dumps([[*key, outcome] for key, outcome in runner.outcome.items()]))
    return 0


def _sum_up(found: dict[Key, str], seconds: float, *, partial: bool) -> int:
    """Figures, and what nobody noticed and nobody gives a reason for."""
    listed = {
        (s["file"], s["where"], s["was"], s["now"], s.get("again", 0)): s["reason"]
        for s in tomllib.loads(LISTED.read_text(encoding="utf-8")).get("survivor", [])
    }
    outcomes = Counter(found.values())
    alive = [key for key, outcome in found.items() if outcome != "killed"]
    new = [key for key in alive if key not in listed]
    rate = outcomes["killed"] / max(len(found), 1)
    print(f"\n{len(found)} weakenings, {dict(outcomes)}: {rate:.1%} killed, in {seconds / 60:.1f} minutes")
    for file, where, was, now, again in new:
        nth = f" (no. {again + 1})" if again else ""
        print(f"NOT NOTICED, NOT LISTED: {file} {where}{nth}\n    - {was}\n    + {now}")
    for key in listed:
        if found.get(key) == "killed" or (not partial and key not in found):
            print(f"listed as a survivor, but killed or gone: {' | '.join(map(str, key))}")
    print(f"{len(alive) - len(new)} survivors are listed with a reason, {len(new)} are not")
    return 1 if new or (not partial and rate < LEAST) else 0


if __name__ == "__main__":
    sys.exit(main())
