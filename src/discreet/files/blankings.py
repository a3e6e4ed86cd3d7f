"""How values were blanked, published beside the records: a JSON file, and a file of words for analysts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from discreet.errors import InputError
from discreet.model.blanking import Blanking, analyst_readme

SUFFIX, README = ".blanking.json", ".README.md"
"""How the files end that stand beside the public records."""
MOST_BYTES = 1_000_000


def blanking_texts(name: str, blankings: Sequence[Blanking]) -> dict[str, str]:
    """Names and texts of the files; none where nothing was blanked."""
    if not blankings:
        return {}
    found = [blanking.record() for blanking in blankings]
    text = json.dumps({"blankings": found}, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    return {f"{name}{SUFFIX}": text, f"{name}{README}": analyst_readme(name, found)}


def read_blanking(path: str | Path) -> tuple[Blanking, ...]:
    """Read how values were blanked and what noise they have, as published with the records.

    Parameters
    ----------
    path
        The file ``NAME.blanking.json`` beside the public records.

    Examples
    --------
    >>> import tempfile, discreet as ds, pyarrow as pa
    >>> data = ds.Microdata(pa.table({"wage": [v % 97 for v in range(500)]}), numeric="wage")
    >>> release = ds.protect(data, ds.BlankValues({"wage": 0.9}, jitter={"wage": 20}), key=ds.Key(bytes(32)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = release.save(f"{folder}/out")
    ...     ds.read_blanking(f"{folder}/out/public/records.blanking.json")
    (Blanking of wage: wage kept below 86 (jitter 20),)
    """
    file = Path(path)
    hint = "Give the file NAME.blanking.json that was published with the records."
    try:
        if file.stat().st_size > MOST_BYTES:
            raise InputError(f"The file {file.name!r} is too large to say how values were blanked.", hint=hint)
        listing = json.loads(file.read_bytes())["blankings"]
    except OSError as error:
        raise InputError(f"Cannot read {file.name!r}: {error.strerror or error}.", hint=hint) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        listing = None
    if not isinstance(listing, list):
        raise InputError(f"The file {file.name!r} does not say how values were blanked.", hint=hint)
    return tuple(Blanking.from_record(entry) for entry in listing)
