"""Disclosures that anybody could have guessed: one value of the secret, or a key that all but says it."""

from __future__ import annotations

import numpy as np

from discreet.attack.synthetic.compared_files import ComparedFiles
from discreet.attack.synthetic.key_cells import SecretCells
from discreet.errors import counted
from discreet.model.arrays import Floats

ONE_VALUE = (50, 0.9)
"""More records with one value of the secret, and a larger share of all that are disclosed, are worth a note."""
ONE_KEY = (4, 0.8)
"""Larger cells are looked at, and noted where a larger share of the original with a key's value has the secret's."""


def plain_relations(files: ComparedFiles, cells: SecretCells, sure: Floats) -> list[str]:
    """Notes on what is disclosed rightly (``sure``, records by cell) and may follow from what everybody knows."""
    notes = []
    whole = float(sure.sum())
    by_secret = np.bincount(cells.secret, sure, len(cells.marginal))
    top = int(by_secret.argmax())
    if by_secret[top] > ONE_VALUE[0] and by_secret[top] > ONE_VALUE[1] * whole:
        notes.append(
            f"{by_secret[top] / whole:.0%} of what is given away rightly is one value, which {cells.marginal[top]:.0%} "
            "of the original have. Whoever knows that learns little; exclude_values= leaves it out."
        )
    pairs = _telling_pairs(files, cells, sure)
    if pairs:
        names = ", ".join(sorted({repr(name) for name, *_ in pairs}))
        notes.append(
            f"{counted(len(pairs), 'value')} of single keys ({names}) all but say the secret, and stand "
            "behind some of what is given away; exclude_pairs= leaves them out."
        )
    return notes


def _telling_pairs(files: ComparedFiles, cells: SecretCells, sure: Floats) -> list[tuple[str, float, int]]:
    """A key, its value, and the secret that most original records with it have; of large cells only."""
    large = np.flatnonzero(sure > ONE_KEY[0])
    parts = [files.original.values, files.released.values]
    if files.holdout is not None:
        parts.append(files.holdout.values)
    together = np.concatenate(parts, axis=1)
    secrets = cells.secret[cells.cell_of_original]
    found = []
    for place, name in enumerate(files.names[:-1]):
        here = np.nan_to_num(together[place][cells.first[large]], nan=-np.inf)  # gaps can be compared then
        original = np.nan_to_num(files.original.values[place], nan=-np.inf)
        for value, secret in sorted({(float(v), int(c)) for v, c in zip(here, cells.secret[large], strict=True)}):
            if (secrets[original == value] == secret).mean() > ONE_KEY[1]:
                found.append((name, value, secret))
    return found
