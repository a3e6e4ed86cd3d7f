"""How attackers are started: the same options for all of them, and 1 at the end where one found what must not be."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Sequence


def asked(about: str | None, count: int, seed: int = 0, **more: dict) -> Namespace:
    """What the command line asks for: ``--count`` cases from ``--seed`` on, and options of the attacker's own."""
    parser = ArgumentParser(description=about)
    parser.add_argument("--count", type=int, default=count, help=f"how many cases ({count:,} in full)")
    parser.add_argument("--seed", type=int, default=seed)
    for name, option in more.items():
        parser.add_argument(f"--{name}", **option)
    return parser.parse_args()


def tallied(about: str | None, count: int, attack: Callable[[int, int], Counter[str]], never: Sequence[str]) -> int:
    """Run an attack that counts what it finds, print it, and say 1 where something was found that ``never`` names."""
    given = asked(about, count)
    found = attack(given.count, given.seed)
    print(dict(found))
    wrong = {name: found[name] for name in never if found[name]}
    print("Found what must not be:" if wrong else "Nothing that must not be:", wrong or ", ".join(never), flush=True)
    return 1 if wrong else 0
