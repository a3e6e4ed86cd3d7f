"""Recipes for files of μ-ARGUS: what its metadata say, as a job that can be run and repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.argus.data import ArgusRecords, read_argus
from discreet.argus.toml import toml_text
from discreet.errors import InputError, NeedsError, counted
from discreet.rules.levels import level_combinations

DATA = (".asc", ".dat", ".csv", ".sav", ".saf")
"""How data of μ-ARGUS end."""
K = 3
"""How often combinations occur at least, where nobody says it."""


def records_recipe(metadata: str | Path, data: str | Path | None = None, k: int = K) -> str:
    """The recipe that makes a safe file as a session of μ-ARGUS would: combinations by identification level, local
    suppression by weights, and the safe file with its metadata.

    Parameters
    ----------
    metadata
        The ``.rda`` file.
    data
        The records; the file of the same name beside the metadata where left out.
    k
        How often every combination must occur. μ-ARGUS asks for a threshold *above* which a combination is safe: its 2
        is 3 here.
    """
    path = Path(metadata)
    file = _data_beside(path) if data is None else Path(data)
    read = read_argus(file, path, records=True)
    if not read.levels:
        raise NeedsError(
            f"{path.name!r} gives no variable an identification level above 0, so nobody could be recognised.",
            hint="Add <IDLEVEL> 1 below what identifies most (a region), 2 and 3 below other keys.",
        )
    return toml_text(_recipe(read, file, path, k), _comments(read, path, k))


def _data_beside(path: Path) -> Path:
    names = {f"{path.stem}{suffix}".lower() for suffix in DATA}
    found = sorted(one for one in path.parent.glob("*") if one.name.lower() in names)
    if not found:
        raise InputError(
            f"There are no records beside {path.name!r}.",
            hint=f"Looked for {path.stem} with one of {', '.join(DATA)}; put the records there.",
        )
    return found[0]


def _comments(read: ArgusRecords, path: Path, k: int) -> list[str]:
    levels = sorted(set(read.levels.values()))
    keys = counted(len(read.levels), "key")
    return [
        f"Made from {path.name}: {keys} of the identification level{'s' if len(levels) > 1 else ''} "
        f"{', '.join(map(str, levels))}.",
        f"Every combination below occurs at least {k} times in the safe file (threshold {k - 1} in mu-ARGUS).",
        "Where many fields would be emptied, recode keys first: a step with method = 'recode' above local_suppress.",
        *read.notes,
    ]


def _recipe(read: ArgusRecords, file: Path, path: Path, k: int) -> dict[str, Any]:
    sets = level_combinations(read.levels)
    combined = [list(columns) for columns in sets]
    step: dict[str, Any] = {"method": "local_suppress", "k": k, "combinations": combined}
    if read.importance:
        step["importance"] = read.importance
    if read.of_household:
        step["of_household"] = read.of_household
    if read.together:
        step["together"] = read.together
    return {
        "version": 1,
        "data": {"file": file.name, "metadata": path.name},
        "rules": [{"kind": "k_anonymity", "k": k, "combinations": combined}],
        "protect": [step],
        "records": {"name": f"{path.stem}_safe"},
        "output": {"directory": f"{path.stem}.release", "formats": ["asc"], "report": True},
    }
