"""Which files are weakened, and which tests must notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Group:
    """Files that the same tests are about.

    Parameters
    ----------
    files, tests
        Patterns below ``src/discreet``, and paths of tests; ``words`` (pytest's ``-k``) picks among them.
    either
        Whether functions that refuse nothing are changed too, in both directions.
    warm
        Whether weakenings begin where all tests have run once, with what they keep in memory. That is much quicker,
        and right for the checker alone: what it checks is made by others.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    words: str = ""
    either: bool = True
    warm: bool = False


OF_TABLES = ("dropped", "multiplied", "swapped")
"""Checks of methods for records of which tables are published."""
RECORD_FORMATS = ("argus", "public_files", "published", "stat", "words", "xlsx")
"""Checks of public files of records."""


def _checkers() -> list[str]:
    """All files that check records, so that none is left out when it comes."""
    folder = Path(__file__).parents[2] / "src" / "discreet" / "verify" / "records"
    return sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


GROUPS: dict[str, Group] = {
    "verify": Group(
        files=("verify/*.py", *(f"verify/records/{name}.py" for name in OF_TABLES)),
        tests=(
            "tests/verify",
            "tests/rules/test_checker_agrees.py",
            "tests/attack/test_forged_folders.py",
            "tests/attack/test_forged_public.py",
            "tests/trust/test_signature.py",
            "tests/battery",
            "tests/files/published/test_decimals.py",
            "tests/files/published/test_release_formats.py",
            "tests/files/test_release_folder.py",
            "tests/tables/adjust/test_adjust.py",
            "tests/tables/intervals/test_intervals.py",
            "tests/tables/perturb/test_cell_key_method.py",
            "tests/records/test_drop_add.py",
            "tests/records/test_multiplicative_noise.py",
            "tests/tables/perturb/test_small_count_method.py",
            "tests/records/test_swap.py",
            "tests/tables/redistribute",
            "tests/tables/rounding/test_round.py",
            "tests/tables/suppress/test_coalitions.py",
            "tests/tables/suppress/test_joint.py",
            "tests/verbs/test_already_published.py",
            "tests/verbs/test_not_judged.py",
        ),
        words="not (test_battery and not claims_hold and not false_claims)",
        either=False,
        warm=True,
    ),
    "knowledge": Group(
        files=tuple(f"verify/{name}.py" for name in ("coalitions", "joint", "kernels", "known", "relations", "rules")),
        tests=(
            "tests/verify",
            *(f"tests/rules/test_{name}.py" for name in ("checker_agrees", "disclosure", "own_rules")),
            "tests/rules/test_zeros_and_weights.py",
            "tests/tables/suppress",
            "tests/battery",
        ),
        words="not (test_battery and not claims_hold)",
        warm=True,
    ),
    "records": Group(
        files=tuple(f"verify/records/{name}.py" for name in _checkers() if name not in {*OF_TABLES, *RECORD_FORMATS}),
        tests=(
            "tests/battery/test_record_battery.py",
            "tests/attack/test_forged_records.py",
            "tests/verify/records",
            "tests/records/test_add_noise.py",
            "tests/records/test_blank_kinds.py",
            "tests/records/test_blank_values.py",
            "tests/records/test_blank_together.py",
            "tests/records/test_generalise.py",
            "tests/records/test_generalise_population.py",
            "tests/records/test_weak_bounds.py",
            "tests/records/test_local_suppress.py",
            "tests/rules/test_record_sensitive_rules.py",
            "tests/records/test_multiplicative_noise.py",
            "tests/records/test_pram.py",
            "tests/records/test_add_noise.py",
            "tests/records/test_mask_residual.py",
            "tests/records/test_group_locations.py",
            "tests/records/test_ipso.py",
            "tests/records/test_microaggregated_swap.py",
            "tests/rules/test_record_linkage.py",
            "tests/records/test_rank_swap.py",
            "tests/records/test_reweight.py",
            "tests/records/test_shuffle.py",
            "tests/records/test_synthesise.py",
            "tests/records/test_recode.py",
            "tests/records/test_recode_ways.py",
            "tests/records/test_redraw.py",
            "tests/records/test_round_randomly.py",
            "tests/records/test_swap.py",
            "tests/records/test_tails.py",
            "tests/verbs/test_protect_records.py",
        ),
        warm=True,
    ),
    "formats": Group(
        files=("verify/formats/*.py",),
        tests=(
            "tests/attack/test_forged_public.py",
            "tests/files/published",
            "tests/verify/test_forged_formats.py",
            "tests/verify/test_forged_public_files.py",
            "tests/verify/test_public_tables.py",
            "tests/verify/test_workbook_archives.py",
            "tests/verify/test_workbooks_again.py",
            "tests/verify/test_written_again.py",
        ),
        warm=True,
    ),
    "record-formats": Group(
        files=tuple(f"verify/records/{name}.py" for name in RECORD_FORMATS),
        tests=(
            "tests/attack/test_forged_record_files.py",
            "tests/attack/test_forged_records.py",
            "tests/files/records",
            "tests/verify/records",
        ),
        warm=True,
    ),
    "rules": Group(files=("rules/*.py",), tests=("tests/rules",)),
    "relations": Group(
        files=("relations/*.py",),
        tests=("tests/relations", "tests/verify/test_cycles.py", "tests/recipe/test_links.py"),
    ),
    "suppress": Group(
        files=tuple(
            f"tables/suppress/{name}.py"
            for name in ("attackers", "bridges", "classes", "coalitions", "complete", "families", "joint", "proof")
        ),
        tests=tuple(
            f"tests/tables/suppress/test_{name}.py"
            for name in ("attackers", "bridges", "classes", "complete", "families", "known_sums", "proof")
        ),
    ),
    "adjust": Group(
        files=("tables/adjust/moves.py",),
        tests=("tests/tables/adjust/test_moves.py", "tests/tables/adjust/test_known_of_others.py"),
    ),
    "public": Group(
        files=("model/public.py", "files/table_folder.py", "files/sealing.py"),
        tests=(
            "tests/model/test_public.py",
            "tests/model/test_public_units.py",
            "tests/files/test_release_folder.py",
            "tests/files/test_release_parts.py",
        ),
    ),
    "contributions": Group(
        files=("engine/contributions.py",),
        tests=("tests/engine/test_contributions.py", "tests/engine/test_kept_contributions.py"),
    ),
    "argus": Group(
        files=("argus/rules.py", "argus/translate.py", "argus/cell_keys.py"),
        tests=tuple(f"tests/argus/test_{name}.py" for name in ("cell_keys", "translation", "weakened_settings")),
    ),
}
