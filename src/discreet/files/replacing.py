"""Which release may take the place of another: the same one made again, and what a recipe made before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.errors import OutputError, listed
from discreet.files.whole_folder import Place, what_stands_at

LARGEST = 2**27
"""Bytes of a file about a release that are read to find out what it is."""
BESIDES = (".json", ".html", ".sha256", ".sig", "key.txt")
"""Files of the custodian that say how and when, and not what: a release with another report is the same release."""


def refuse_another(new: Path, folder: Path) -> None:
    """Refuse to put a finished release where another one stands; the same, made again, may take its place.

    Parameters
    ----------
    new
        The finished release.
    folder
        Where it is to go.
    """
    if what_stands_at(folder) is not Place.OURS or not (folder / "custodian").is_dir():
        return
    if _contents(new) != _contents(folder):
        raise OutputError(
            f"The folder {folder.name!r} holds another release ({_named(folder)}), with its evidence.",
            hint="Choose another folder, or say that it may go: save(..., replace=True).",
            recipe_hint="Choose another folder, or say that it may go: --replace",
        )


def refuse_another_recipe(folder: Path, names: Sequence[str]) -> None:
    """Refuse the folder of a release that a recipe for other tables made, or no recipe at all.

    A recipe that is run again, every night or after a change, replaces what it made before.

    Parameters
    ----------
    folder
        Where the release of a recipe is to go.
    names
        Its tables, or its file of records.
    """
    if what_stands_at(folder) is not Place.OURS or not (folder / "custodian").is_dir():
        return
    log = _read(folder / "custodian" / "log.json")
    if not isinstance(log, dict) or "recipe" not in log:
        why = "which no recipe made"
    elif set(_tables(folder)) != set(names):
        why = f"of other tables ({_named(folder)}) than this recipe's ({listed(names, 3)})"
    else:
        return
    raise OutputError(
        f"The folder {folder.name!r} holds another release, {why}.",
        hint="Choose another output directory, or say that it may go: run_recipe(..., replace=True).",
        recipe_hint="Choose another output directory, or say that it may go: --replace",
    )


def _contents(folder: Path) -> dict[str, Any]:
    """Digests of what a release says: cells, records and evidence."""
    manifest = _read(folder / "custodian" / "manifest.json")
    files = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(files, dict):
        return {"unknown": str(folder)}
    return {
        name: about.get("sha256") if isinstance(about, dict) else None
        for name, about in files.items()
        if name.startswith("custodian/") and not name.endswith(BESIDES)
    }


def _tables(folder: Path) -> list[str]:
    """Names of the tables of a release, or of its file of records."""
    about = _read(folder / "custodian" / "tables.json")
    tables = about.get("tables") if isinstance(about, dict) else None
    if not isinstance(tables, list):
        return sorted(path.stem for path in (folder / "public").glob("*.csv"))
    return [str(table.get("name")) for table in tables if isinstance(table, dict)]


def _named(folder: Path) -> str:
    return listed(_tables(folder), 3)


def _read(path: Path) -> Any:
    """A JSON file of a release that may be anybody's; ``None`` where it cannot be read."""
    try:
        if path.stat().st_size > LARGEST:
            return None
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
