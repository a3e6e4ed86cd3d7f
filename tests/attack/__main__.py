"""All attackers in full, one after the other (`make attack`); ends with 1 if one of them found anything.

python -m tests.attack [--share 0.1]
"""

from __future__ import annotations

import argparse
import subprocess
import sys

COUNTS = {
    "suppressed": 5_000,
    "altered_tables": 500,
    "noisy_companies": 3_000,
    "redistributed_maps": 2_000,
    "swapped_homes": 1_000,
    "dropped_records": 1_000,
    "fair_inputs": 1_000,
    "changed_meanings": 10_000,
    "changed_suppressions": 10_000,
    "forging": 10_000,
    "forged_records": 10_000,
    "answer_clocks": 2_000,
}
"""Attackers, and how many cases (of forgeries: for each format or kind of release) each tries."""


def main() -> int:
    """Run every attacker in a process of its own, with a share of its cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0)
    share = parser.parse_args().share
    failed = []
    for name, count in COUNTS.items():
        print(f"== {name}", flush=True)
        command = [sys.executable, "-m", f"tests.attack.{name}", "--count", str(max(1, int(count * share)))]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
    print(f"{len(COUNTS)} attackers, {len(failed)} found something: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
