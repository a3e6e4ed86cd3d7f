"""Run benchmarks by name, or all of them."""

from __future__ import annotations

import argparse
import sys

from benchmarks import (  # noqa: F401  (enter their cases into the registry)
    adjustment,
    argus,
    attackers,
    audit,
    blanking,
    columns,
    columns_large,
    comparison,
    engines,
    engines_remote,
    extracts,
    extracts_build,
    fair,
    generalising,
    hard_small,
    linkage,
    log,
    measures,
    microaggregation,
    noise,
    optimal,
    pages,
    parties,
    perturbation,
    population_risk,
    prepared,
    propensity,
    rank_methods,
    recodes,
    records,
    relations,
    report,
    retrieval,
    risk,
    rounding,
    safe_plots,
    series,
    server,
    startup,
    structure,
    suppression,
    suppression_dense,
    suppression_large,
    suppression_scale,
    synthesis,
    synthetic_attacks,
    tabulation,
    verify,
)
from benchmarks.registry import CASES, run_cases

BY_NAME_ONLY = (
    *engines_remote.BY_NAME_ONLY,
    *suppression_dense.BY_NAME_ONLY,
    *suppression_large.BY_NAME_ONLY,
    *suppression_scale.BY_NAME_ONLY,
    *adjustment.BY_NAME_ONLY,
    *rounding.BY_NAME_ONLY,
    *hard_small.BY_NAME_ONLY,
    *columns_large.BY_NAME_ONLY,
)
"""Cases that take long."""


def main() -> int:
    """Print the tables; the exit code is 0 when all targets are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="name",
        help=f"cases to run: {', '.join(CASES)}; left out, all but {', '.join(BY_NAME_ONLY)}",
    )
    parser.add_argument("--scale", type=float, default=1.0, help="share of the records, for a quick try")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in CASES]
    if unknown:
        parser.error(f"there is no case {unknown[0]!r}; there are {', '.join(CASES)}")
    return 0 if run_cases(given.names or [name for name in CASES if name not in BY_NAME_ONLY], given.scale) else 1


if __name__ == "__main__":
    sys.exit(main())
