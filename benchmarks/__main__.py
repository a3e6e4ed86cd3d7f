"""Run benchmarks by name, or all of them."""

from __future__ import annotations

import argparse
import sys

from benchmarks import audit, engines, optimal, relations, startup, suppression, tabulation, verify  # noqa: F401  (enter their cases into the registry)
from benchmarks.registry import CASES, run_cases


def main() -> int:
    """Print the tables; the exit code is 0 when all targets are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"cases to run: {', '.join(CASES)}; all when left out")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the records, for a quick try")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in CASES]
    if unknown:
        parser.error(f"there is no case {unknown[0]!r}; there are {', '.join(CASES)}")
    return 0 if run_cases(given.names or list(CASES), given.scale) else 1


if __name__ == "__main__":
    sys.exit(main())
