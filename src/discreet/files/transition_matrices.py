"""Transition matrices that are published beside post-randomised records, as a JSON file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from discreet.errors import InputError
from discreet.model.transition import TransitionMatrix

SUFFIX = ".matrices.json"
"""How the file ends that stands beside the public records."""
MOST_BYTES = 200_000_000


def matrices_text(matrices: Sequence[TransitionMatrix]) -> str:
    """The file's text."""
    found = {"transition_matrices": [matrix.record() for matrix in matrices]}
    return json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def read_transition_matrices(path: str | Path) -> tuple[TransitionMatrix, ...]:
    """Read the matrices that were published with post-randomised records.

    Parameters
    ----------
    path
        The file ``NAME.matrices.json`` beside the public records.

    Examples
    --------
    >>> import tempfile, discreet as ds, pyarrow as pa
    >>> data = ds.Microdata(pa.table({"sex": ["m", "f"] * 50}))
    >>> release = ds.protect(data, ds.Pram({"sex": "2E(0.8)"}, publish=["sex"]), key=ds.Key(bytes(32)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = release.save(f"{folder}/out")
    ...     ds.read_transition_matrices(f"{folder}/out/public/records.matrices.json")
    (TransitionMatrix('sex', 2 codes),)
    """
    file = Path(path)
    hint = "Give the file NAME.matrices.json that was published with the records."
    try:
        if file.stat().st_size > MOST_BYTES:
            raise InputError(f"The file {file.name!r} is too large for transition matrices.", hint=hint)
        found = json.loads(file.read_bytes())
        listing = found["transition_matrices"]
    except OSError as error:
        raise InputError(f"Cannot read {file.name!r}: {error.strerror or error}.", hint=hint) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"The file {file.name!r} holds no transition matrices.", hint=hint) from None
    if not isinstance(listing, list):
        raise InputError(f"The file {file.name!r} holds no transition matrices.", hint=hint)
    return tuple(TransitionMatrix.from_record(entry) for entry in listing)
