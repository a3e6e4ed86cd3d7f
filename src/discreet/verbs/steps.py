"""What all releases begin with: methods in order, and what the log says of keys and versions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from itertools import pairwise
from typing import Any, NamedTuple

from discreet.errors import ParameterError
from discreet.keys import Key, find_key
from discreet.methods.base import Keyed, Method, RecordMethod, TablePublisher, key_of
from discreet.model.evidence import Evidence

Steps = Method | Sequence[Method]
MADE_KEY = (
    "A new secret key was made, and is saved with the release (custodian/key.txt). Give it as key_file= to later "
    "releases: with another key the same units are altered in another way, and both together tell more."
)


def as_steps(methods: Sequence[Any]) -> list[Method]:
    """Methods alone or in lists, in their order: those for records first, then at most one for tables."""
    steps = [m for item in methods for m in (item if isinstance(item, list | tuple) else [item])]
    for step in steps:
        if isinstance(step, type) and issubclass(step, Method):
            raise ParameterError(f"{step.__name__} was not called.", hint=f"Write ds.{step.__name__}(...).")
        if not isinstance(step, Method):
            raise ParameterError(
                f"protect takes methods, not a {type(step).__name__}.",
                hint="For example ds.protect(table, ds.Suppress()).",
            )
    if not steps:
        raise ParameterError("protect needs a method.", hint="For example ds.protect(table, ds.Suppress()).")
    for first, second in pairwise(steps):
        if not isinstance(first, RecordMethod):
            raise ParameterError(
                f"{type(second).__name__} cannot follow {type(first).__name__}, which acts on tables.",
                hint="Give methods for records first, then one method for tables.",
            )
    return steps


def refuse_for_records(steps: Sequence[Method]) -> list[RecordMethod]:
    """The same steps, where all of them act on records."""
    for step in steps:
        if isinstance(step, TablePublisher) and not isinstance(step, RecordMethod) and "records" in step.needs:
            raise ParameterError(
                f"{type(step).__name__} changes records for the cells of one table, and there is no table.",
                hint="Give tables=[ds.TableSpec(by=..., value=...)], or a method for records, such as ds.Swap(...).",
            )
        if not isinstance(step, RecordMethod):
            raise ParameterError(
                f"{type(step).__name__} acts on tables, and records were given without a table to make of them.",
                hint="Give tables=[ds.TableSpec(by=..., value=...)], or a method for records, such as ds.Recode(...).",
            )
    found = [step for step in steps if isinstance(step, RecordMethod)]
    _refuse_drawing_twice(found)
    return found


def _refuse_drawing_twice(steps: Sequence[RecordMethod]) -> None:
    """Refuse to post-randomise a column twice with the same draws: a code that stayed would stay again."""
    seen: set[tuple[str, int]] = set()
    for plain in (step.record() for step in steps if step.kind == "pram"):
        for name in plain["matrices"]:
            if (name, plain["version"]) in seen:
                raise ParameterError(
                    f"Column {name!r} is post-randomised twice with the same draws.",
                    hint="Give the second Pram another version=, or give one matrix for both.",
                )
            seen.add((name, plain["version"]))


TWICE = {
    "rank_swap": (
        "Values of column {!r} are exchanged twice, and would come back to where they were.",
        "Give one RankSwap with a larger share=.",
    ),
    "swap": (
        "Values of column {!r} are exchanged twice, and would come back to where they were.",
        "Give the second another version=.",
    ),
    "redraw": (
        "Values of column {!r} are drawn anew twice, and would lie outside their bounds.",
        "Give one Redraw for all records that shall change.",
    ),
    "microaggregated_swap": (
        "Values of column {!r} are exchanged twice, and would come back to where they were.",
        "Give the second another version=.",
    ),
    "shuffle": (
        "Values of column {!r} are exchanged twice, and would come back to where they were.",
        "Give the second another version=.",
    ),
    "mask_residual": (
        "Residuals of column {!r} are masked twice: what was reflected once comes back when it is reflected again.",
        "Give one MaskResidual, with the other one as its first=.",
    ),
    "add_noise": (
        "Column {!r} gets noise twice with the same draws, which do not add up like other ones.",
        "Give one AddNoise with a larger amount=, or the second another version=.",
    ),
}
"""Methods that do not act on a column twice, what is said of it, and what to do."""


def refuse_exchanging_twice(earlier: Sequence[Evidence], evidence: Evidence) -> None:
    """Refuse to exchange what was exchanged before: many get back what they had, all of them where reach is one rank.

    Areas are exchanged again where other draws choose the households. Noise is added again where it is drawn anew.
    """
    before = {what for done in earlier for what in _exchanged(done.method, done.facts)}
    again = [what for what in _exchanged(evidence.method, evidence.facts) if what in before]
    if again:
        said, hint = TWICE[again[0][0]]
        raise ParameterError(said.format(again[0][1]), hint=hint)


def _exchanged(method: Mapping[str, Any], facts: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """What a step exchanges, and by which draws where others would not bring it back."""
    kind = str(method["method"])
    if kind == "mask_residual":
        first = _exchanged(facts["first"]["method"], facts["first"]["facts"])
        return [*first, *((kind, str(name), 0) for name in facts["columns"])]
    if kind in ("rank_swap", "redraw"):
        return [(kind, str(name), 0) for name in facts["columns"]]
    if kind in ("add_noise", "microaggregated_swap", "shuffle"):
        return [(kind, str(name), int(method["version"])) for name in facts["columns"]]
    return [("swap", str(method["area"]), int(method["version"]))] if kind == "swap" else []


DRAWS_OF_RECORDS = ("multiplicative_noise", "swap")
"""Methods whose draws belong to a record, whichever of its columns they are for."""


def drawn_by(method: Mapping[str, Any], columns: Collection[str]) -> set[tuple[str, int, str]]:
    """What a method, or a stage of it, draws for some columns: kind, version and column ("" where it is all one)."""
    stages = [stage for stage in (method.get("first"), method.get("second")) if isinstance(stage, Mapping)]
    found = {drawn for stage in stages for drawn in drawn_by(stage, columns)}
    kind = str(method["method"])
    if "insecure_seed" in method and (kind != "mask_residual" or isinstance(method["second"], str)):
        named = ("",) if kind in DRAWS_OF_RECORDS else columns
        # Where only the next rank is in reach, the exchange is the same whatever was drawn.
        version = 0 if kind == "rank_swap" else int(method["version"])
        found |= {(kind, version, name) for name in named}
    return found


class Earlier(NamedTuple):
    """What was done to records before tables were made of them: the evidence of every step, and the key of its draws.

    ``entry`` is what the log says of a key that is not at hand.
    """

    evidence: tuple[Evidence, ...] = ()
    key: Key | None = None
    entry: Mapping[str, Any] | None = None


UNTOUCHED = Earlier()
"""Nothing was done before."""


def refuse_for_tables(steps: Sequence[Method], already: Any, parts: Any) -> None:
    """Refuse what only releases of tables take."""
    refuse_for_records(steps)
    if already is not None or parts is not None:
        raise ParameterError(
            "already_published= and parts= are for tables, and records were given.", hint="Leave them out."
        )


class Keys:
    """One key for all draws of a release: given, or that of the first method that has one, or a new one."""

    def __init__(self, given: Key | None) -> None:
        self.given = given
        self.used: Key | None = None

    def of(self, method: Method) -> Key | None:
        """The key of a method."""
        if not method.secret:
            return None
        if self.used is None or (self.given is None and _names_a_key(method)):
            found = key_of(method, self.given)
            if self.used is not None and found is not None and found.fingerprint != self.used.fingerprint:
                raise ParameterError(
                    "Two methods name different keys, and a release has one.",
                    hint="Give all of them the same key_file.",
                )
            self.used = found
        return self.used

    def any(self) -> Key:
        """A key for what every release draws."""
        self.used = self.used or self.given or find_key(None, None)
        return self.used


def _names_a_key(method: Method) -> bool:
    return isinstance(method, Keyed) and (method.key_file is not None or method.insecure_seed is not None)


def key_entry(key: Key) -> dict[str, Any]:
    """What the log says of a key."""
    return {"fingerprint": key.fingerprint, "made": key.made, "insecure": key.insecure}


@cache
def installed_version() -> str:
    """The version of the package, which takes long to look up beside small tables."""
    return version("discreet")
