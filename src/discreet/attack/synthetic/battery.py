"""All attacks on a released file at once, and what could not be tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.attack.record_attack import RecordAttack
from discreet.attack.synthetic.asked import ATTEMPTS, checked_attempts, named_columns, refuse_empty
from discreet.attack.synthetic.attribute import AttributeDisclosure, disclose
from discreet.attack.synthetic.closest import ClosestRecords, measure_closest
from discreet.attack.synthetic.compared_files import ORIGINAL, ComparedFiles, compared_files, read_records
from discreet.attack.synthetic.controlled_attack import ControlledAttack
from discreet.attack.synthetic.inference import TOLERANCE, infer
from discreet.attack.synthetic.key_cells import SecretExclusions
from discreet.attack.synthetic.linkability import link
from discreet.attack.synthetic.majority import infer_by_majority
from discreet.attack.synthetic.membership import tell_members
from discreet.attack.synthetic.singling_out import SIZE, single_out
from discreet.errors import ParameterError, listed
from discreet.files.frames import to_frame
from discreet.model.records import KEY, SENSITIVE, RecordSet
from discreet.progress import as_part

GROUPS, MANY_SECRETS, MANY_KEYS = 20, 20, 100
"""Numbers with more distinct values than these, as secrets and as keys, are looked up in so many groups."""


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticAttacks:
    """Attacks on a released file, one after the other; print it to read them. For the custodian.

    Parameters
    ----------
    attacks
        What was tried.
    not_run
        What was not, and why.
    disclosures
        All measures of replicated uniques and attribute disclosure, by secret.
    closest
        Distances to the closest records.

    Examples
    --------
    See :func:`attack_synthetic`.
    """

    attacks: tuple[RecordAttack, ...]
    not_run: tuple[str, ...]
    disclosures: Mapping[str, AttributeDisclosure]
    closest: ClosestRecords

    def __iter__(self) -> Iterator[RecordAttack]:
        return iter(self.attacks)

    def __len__(self) -> int:
        return len(self.attacks)

    def __getitem__(self, name: str) -> RecordAttack:
        for attack in self.attacks:
            if attack.attack == name:
                return attack
        raise ParameterError(
            f"No attack is called {name!r}.", hint=f"There are {listed(dict.fromkeys(a.attack for a in self.attacks))}."
        )

    def summary(self) -> str:
        """All attacks in lines, notes once, and what was not run."""
        lines: list[str] = []
        notes: list[str] = []
        for attack in self.attacks:
            for line in attack.summary().split("\n"):
                (notes if line.startswith("note: ") else lines).append(line)
        return "\n".join([*lines, *dict.fromkeys(notes), *(f"not run: {reason}" for reason in self.not_run)])

    __repr__ = summary

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """One row for each attack, as a data frame."""

        def number(value: float | None) -> float:
            return float("nan") if value is None else value

        controlled = [attack if isinstance(attack, ControlledAttack) else None for attack in self.attacks]
        ends = [attack.interval() for attack in self.attacks]
        return to_frame(
            {
                "attack": [attack.attack for attack in self.attacks],
                "what": [attack.what for attack in self.attacks],
                "knows": [attack.knows for attack in self.attacks],
                "tried": np.array([attack.tried for attack in self.attacks], np.int64),
                "share": np.array([attack.share for attack in self.attacks]),
                "low": np.array([low for low, _ in ends]),
                "high": np.array([high for _, high in ends]),
                "baseline": np.array([attack.baseline for attack in self.attacks]),
                "held_out": np.array([number(one.control_share if one else None) for one in controlled]),
                "risk": np.array([number(one.risk if one and one.control else None) for one in controlled]),
            },
            backend,
        )


def attack_synthetic(
    original: Any,
    released: Any,
    holdout: Any = None,
    *,
    keys: Sequence[str] | str | None = None,
    secret: Sequence[str] | str | None = None,
    columns: Sequence[str] | None = None,
    groups: Mapping[str, int] | None = None,
    attempts: int = ATTEMPTS,
    seed: int = 1,
) -> SyntheticAttacks:
    """Every attack on a synthetic or masked file that can be tried with what is at hand.

    With records that were held out, each attack says what the file gives away of the people it was made from, beyond
    what it tells of everybody. Without them it cannot be told apart, and membership cannot be tried.

    Parameters
    ----------
    original, released, holdout
        Records the file was made from, the file, and records that were not used: data frames, paths, ``Microdata``,
        record sets; the file may be a release.
    keys
        Columns that an intruder knows; those with the role of keys in the original where left out.
    secret
        Columns that are guessed; those with the role ``sensitive`` where left out.
    columns
        Columns that are compared; all that the files share where left out.
    groups
        For columns of numbers in how many groups they are looked up; 20 for secrets with more than 20 distinct values
        and for keys with more than 100.
    attempts
        At most so many attempts of each attack that searches.
    seed
        Which conditions are drawn for singling out.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"age": [20, 30, 40, 60], "job": ["a", "b", "c", "d"]})
    >>> found = ds.attack.attack_synthetic(people, people, keys="age", secret="job")
    >>> [attack.attack for attack in found][:3]
    ['copies', 'singling out by one column', 'singling out by 2 columns']
    >>> len(found), len(found.not_run), found["inference"].share
    (8, 2, 1.0)
    """
    first = read_records(original, ORIGINAL)
    known = () if keys is None else named_columns("keys", keys)
    secrets = () if secret is None else named_columns("secret", secret)
    files = compared_files(first, released, holdout, columns, [*known, *secrets])
    known = _with_role(first, KEY, files, secrets) if keys is None else known
    secrets = _with_role(first, SENSITIVE, files, known) if secret is None else secrets
    both = [name for name in secrets if name in known]
    if both:
        raise ParameterError(f"{listed(both)} stands in keys= and secret=.", hint="Name each column once.")
    foreign = [name for name in groups or {} if name not in (*known, *secrets)]
    if foreign:
        raise ParameterError(
            f"groups= names {listed(foreign)}, which nobody looks up.", hint="Name keys or secrets that hold numbers."
        )
    refuse_empty(files, [*known, *secrets])
    return _Battery(files, known, secrets, dict(groups or {}), checked_attempts(attempts), seed).run()


def _with_role(records: RecordSet, role: str, files: ComparedFiles, taken: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in records.with_role(role) if name in files.names and name not in taken)


@dataclass(frozen=True, eq=False)
class _Battery:
    """What is tried, with what it needs."""

    files: ComparedFiles
    keys: tuple[str, ...]
    secrets: tuple[str, ...]
    groups: Mapping[str, int]
    attempts: int
    seed: int

    def run(self) -> SyntheticAttacks:
        """Try everything that can be tried."""
        files, found, disclosures = self.files, list[RecordAttack](), dict[str, AttributeDisclosure]()
        with as_part("attacks on records", 0, 5):
            closest = measure_closest(files, self.attempts)
            found += [closest.copies, *([] if closest.nearer is None else [closest.nearer])]
        with as_part("attacks on records", 1, 5):
            sizes = sorted({1, min(SIZE, len(files.names))})
            found += [single_out(files, size, self.attempts, self.seed) for size in sizes]
        with as_part("attacks on records", 2, 5):
            found += self._by_keys(disclosures)
        with as_part("attacks on records", 3, 5):
            rest = tuple(name for name in files.names if name not in self.keys)
            if self.keys and rest:
                found.append(link(files, self.keys, rest, 1, self.attempts))
        with as_part("attacks on records", 4, 5):
            if files.holdout is not None:
                found.append(tell_members(files, "distance", self.attempts))
                if len(files.holdout) > 1:
                    found.append(tell_members(files, "density", self.attempts))
        return SyntheticAttacks(tuple(found), tuple(self._not_run()), disclosures, closest)

    def _by_keys(self, disclosures: dict[str, AttributeDisclosure]) -> Iterator[RecordAttack]:
        """Attacks that look keys up, for each secret; uniques do not depend on it and are counted once."""
        rest = [name for name in self.files.names if name not in self.keys]
        if self.keys and rest and not self.secrets:
            found = disclose(self.files, self.keys, rest[0], SecretExclusions(), self._groups(rest[0]))
            yield found.identity
        for secret in self.secrets if self.keys else ():
            groups = self._groups(secret)
            files = self.files.of([*self.keys, secret])
            files = replace(files, notes=(*files.notes, *_said(groups, self.groups)))
            found = disclose(files, self.keys, secret, SecretExclusions(), groups)
            if not disclosures:
                yield found.identity
            disclosures[secret] = found
            yield found.attribute
            yield infer(self.files, self.keys, secret, TOLERANCE, self.attempts)
            yield infer_by_majority(self.files, self.keys, secret, TOLERANCE, self.attempts)

    def _groups(self, secret: str) -> dict[str, int]:
        """In how many groups numbers are looked up: as said, or because they have very many values."""
        chosen = {}
        for name in (*self.keys, secret):
            place = self.files.place(name)
            if name in self.groups:
                chosen[name] = self.groups[name]
            elif self.files.number[place]:
                many = len(np.unique(self.files.original.values[place], equal_nan=True))
                if many > (MANY_SECRETS if name == secret else MANY_KEYS):
                    chosen[name] = GROUPS
        return chosen

    def _not_run(self) -> Iterator[str]:
        if not self.keys:
            yield "replicated uniques, attribute, inference and linkability, because no keys were named (keys=)."
        elif not self.secrets:
            yield "attribute and inference, because no secret was named (secret=)."
        if self.keys and set(self.keys) == set(self.files.names):
            yield "linkability, because every column is a key and none is left for a second file."
        if self.files.holdout is None:
            yield "membership and nearness, because no records were held out (holdout=)."
            yield "the control of other attacks, for the same reason: what is right of everybody counts as risk, too."
        elif len(self.files.holdout) < 2:
            yield "membership by density, because it divides the hold-out file, and that has one record."


def _said(groups: Mapping[str, int], asked: Mapping[str, int]) -> list[str]:
    made = [f"{name!r} in {many} groups" for name, many in groups.items() if name not in asked]
    return [f"Numbers with very many values were looked up in groups: {', '.join(made)} (groups=)."] if made else []
