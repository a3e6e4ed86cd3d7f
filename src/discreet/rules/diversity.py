"""Rules on what readers learn of the sensitive value of those who agree in their keys: l, t and β."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from discreet.errors import NeedsError, ParameterError, counted, listed, unknown_name
from discreet.model.arrays import Bools, Floats
from discreet.model.records import KEY, SENSITIVE, RecordSet
from discreet.parameters import Number, Positive, Share
from discreet.rules.class_kernels import (
    distinct_values,
    dominance,
    effective_values,
    likeliest_gain,
    moved_earth,
)
from discreet.rules.class_values import (
    ClassValues,
    SensitiveColumn,
    ValueTree,
    class_values,
    equal_tree,
    hierarchical_tree,
    ordered_tree,
    sensitive_column,
)
from discreet.rules.key_counts import compacted, key_codes
from discreet.rules.records import RecordFinding, RecordRule

LITTLE = 1e-9
"""Shares are floating-point numbers: what is missing by so little is not missing."""


@dataclass(frozen=True, kw_only=True)
class SensitiveRule(RecordRule):
    """Base of rules on the sensitive values of each class: of all records that agree in their keys.

    Parameters
    ----------
    sensitive
        The sensitive column; the one with that role where left out.
    keys
        Columns that readers may know; those with the role of keys where left out.
    missing
        What an empty field of a key means: ``"category"``, a value of its own; ``"exempt"``, records with one are
        neither counted in a class nor judged.
    """

    sensitive: str | None = None
    keys: tuple[str, ...] = ()
    missing: Literal["category", "exempt"] = "category"

    def resolved(self, records: RecordSet) -> Self:
        """The rule with the columns of the records, where it names none."""
        what = type(self).__name__
        keys = self.keys or records.with_role(KEY)
        if not keys:
            raise NeedsError(
                f"{what} needs to know by which columns somebody may be recognised.",
                hint=f"Give Microdata(keys=[...]), or {what}(..., keys=[...]).",
            )
        named = (self.sensitive,) if self.sensitive is not None else records.with_role(SENSITIVE)
        if len(named) != 1:
            have = f"the records have {len(named)} ({listed(named)})" if named else "the records have none"
            raise NeedsError(
                f"{what} looks at one sensitive column, and {have}.", hint=f"Give {what}(..., sensitive='column')."
            )
        for name in (*keys, *named):
            if name not in records.names:
                raise ParameterError(unknown_name("column", name, records.names, f"the records (rule {self.kind})"))
        if named[0] in keys:
            raise ParameterError(
                f"{named[0]!r} is a key and the sensitive column of {what} at once.",
                hint="Whoever knows it has nothing to learn: name another column, or take it out of the keys.",
            )
        return replace(self, keys=tuple(keys), sensitive=named[0])

    @abstractmethod
    def scores(self, column: SensitiveColumn, classes: ClassValues) -> Floats:
        """What the rule looks at, for every class."""

    @abstractmethod
    def safe(self, scores: Floats) -> Bools:
        """Which scores keep the rule."""

    @abstractmethod
    def worst(self, scores: Floats) -> str:
        """The worst of some scores, in words that go on "the worst of them"."""

    def evaluate(self, records: RecordSet) -> RecordFinding:
        """Records in classes whose sensitive values break the rule."""
        rule = self.resolved(records)
        assert rule.sensitive is not None
        column = sensitive_column(records, rule.sensitive)
        codes = key_codes(records, rule.keys, rule.missing)
        unsafe = np.zeros(len(records), np.bool_)
        judged = np.ones(len(records), np.bool_)
        if rule.missing == "exempt":
            judged = np.all([one > 0 for one in codes.columns], axis=0)
        scores = np.zeros(0)
        if judged.any():
            group, _ = compacted(codes.groups()[0][judged])
            classes = class_values(group, column.codes[judged], len(column.known))
            scores = rule.scores(column, classes)
            unsafe[judged] = ~rule.safe(scores)[group]
        words = f"{counted(int(unsafe.sum()), 'record', 'are')} in classes of {listed(rule.keys)} "
        return RecordFinding(unsafe, f"{words}that {rule.broken()}{rule.worst(scores) if len(scores) else ''}")

    @abstractmethod
    def broken(self) -> str:
        """What classes do that break the rule, in words."""


@dataclass(frozen=True)
class LDiversity(SensitiveRule):
    """Records that agree in their keys have at least ``l`` well-represented sensitive values.

    Empty fields and codes for "unknown" are no values: the rule must hold with them as one value, and without them.

    Parameters
    ----------
    l
        The least number of values.
    form
        ``"distinct"``: so many different values; ``"entropy"``: the entropy of the values is at least that of ``l``
        equally frequent ones; ``"recursive"``: the commonest value is rarer than ``c`` times all from the ``l``-th
        commonest on together.
    c
        For ``form="recursive"``.
    sensitive, keys, missing
        The sensitive column, the keys, and what an empty field of a key means: see the roles of the records.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> table = pa.table({"age": ["20", "20", "30", "30"], "illness": ["flu", "cold", "flu", "flu"]})
    >>> data = ds.Microdata(table, keys="age", sensitive="illness").assess(ds.LDiversity(2))
    >>> print(data.assessment)
    2 records are in classes of 'age' that have fewer than 2 values of illness; the worst has 1
    """

    kind: ClassVar[str] = "l_diversity"
    l: Annotated[int, Number(least=2)]  # noqa: E741  (the rule is called so)
    form: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.form == "recursive") != (self.c is not None):
            raise ParameterError(
                'c= belongs to form="recursive", and that form needs it.',
                hint='For example LDiversity(3, form="recursive", c=2).',
            )

    def scores(self, column: SensitiveColumn, classes: ClassValues) -> Floats:
        """The number of values, the effective number, or the commonest against the rare ones."""
        found = np.zeros(len(classes))
        if self.form == "distinct":
            distinct_values(classes.start, classes.value, column.known, found)
        elif self.form == "entropy":
            effective_values(classes.start, classes.value, classes.count, column.known, found)
        else:
            dominance(classes.start, classes.value, classes.count, column.known, self.l, found)
        return found

    def safe(self, scores: Floats) -> Bools:
        """Which scores keep the rule."""
        if self.form == "recursive":
            assert self.c is not None
            return np.asarray(scores < self.c * (1 - LITTLE), np.bool_)
        return np.asarray(scores >= self.l * (1 - LITTLE), np.bool_)

    def broken(self) -> str:
        """What classes do that break the rule."""
        if self.form == "distinct":
            return f"have fewer than {self.l} values of {self.sensitive}"
        if self.form == "entropy":
            return f"have a lower entropy of {self.sensitive} than {self.l} equally frequent values"
        return f"have a value of {self.sensitive} at least {self.c:g} times as common as those from number {self.l} on"

    def worst(self, scores: Floats) -> str:
        """The worst class."""
        if self.form == "recursive":
            top = float(scores.max())
            return f"; the worst has {'too few values' if np.isinf(top) else f'{top:.6g} times'}"
        return f"; the worst has {float(scores.min()):.6g}"


@dataclass(frozen=True)
class TCloseness(SensitiveRule):
    """Sensitive values of records that agree in their keys are distributed nearly as those of all records.

    The distance between two distributions is that of the earth mover: what must be moved, and how far, 0 to 1. An
    empty field is a value of its own.

    Parameters
    ----------
    t
        The greatest distance.
    distance
        How far two values are from each other: ``"equal"``, all alike; ``"ordered"``, by how many values lie between
        them; ``"hierarchical"``, by how high the code above both stands in the hierarchy.
    order
        For ``"ordered"``: the values from the lowest to the highest, where they are no numbers.
    above
        For ``"hierarchical"``: each code and the one above it; the hierarchy of the column where left out.
    sensitive, keys, missing
        The sensitive column, the keys, and what an empty field of a key means: see the roles of the records.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> table = pa.table({"age": ["20", "20", "30", "30"], "wage": [1, 2, 2, 3]})
    >>> data = ds.Microdata(table, keys="age", sensitive="wage").assess(ds.TCloseness(0.2, distance="ordered"))
    >>> print(data.assessment)
    4 records are in classes of 'age' that lie more than 0.2 from the distribution of wage; the farthest lies 0.25 away
    """

    kind: ClassVar[str] = "t_closeness"
    t: Share
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    order: tuple[str, ...] = ()
    above: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, owner in (("order", "ordered"), ("above", "hierarchical")):
            if getattr(self, name) and self.distance != owner:
                raise ParameterError(f'{name}= belongs to distance="{owner}".', hint="Leave one of them out.")
        if len(set(self.order)) < len(self.order):
            raise ParameterError("order= names a value twice.", hint="Name every value once.")
        if not all(isinstance(word, str) for pair in self.above.items() for word in pair):
            raise ParameterError("above= takes text to text.", hint="Write codes in quotes.")

    def record(self) -> dict[str, Any]:
        """The rule as plain data."""
        return {name: value for name, value in super().record().items() if name not in ("order", "above") or value}

    def resolved(self, records: RecordSet) -> Self:
        """The rule with the columns of the records, and the hierarchy that it needs."""
        rule = super().resolved(records)
        if rule.distance != "hierarchical" or rule.above:
            return rule
        hierarchy = records.hierarchies.get(str(rule.sensitive))
        if hierarchy is None:
            raise NeedsError(
                f'TCloseness(distance="hierarchical") needs the hierarchy of {rule.sensitive!r}.',
                hint=f"Give Microdata(hierarchies={{{rule.sensitive!r}: hierarchy}}).",
            )
        up = hierarchy.parents.tolist()
        above = {code: hierarchy.codes[up[place]] for place, code in enumerate(hierarchy.codes) if up[place] >= 0}
        return replace(rule, above=above)

    def tree(self, column: SensitiveColumn) -> ValueTree:
        """Ways between the values of a column."""
        if self.distance == "ordered":
            return ordered_tree(column, self.order)
        if self.distance == "hierarchical":
            return hierarchical_tree(column, self.above)
        return equal_tree(len(column.known))

    def scores(self, column: SensitiveColumn, classes: ClassValues) -> Floats:
        """The distance of each class from all records."""
        found, tree = np.zeros(len(classes)), self.tree(column)
        moved_earth(classes.start, classes.value, classes.count, column.share, tree.parent, tree.length, found)
        return found

    def safe(self, scores: Floats) -> Bools:
        """Which scores keep the rule."""
        return np.asarray(scores <= self.t + LITTLE, np.bool_)

    def broken(self) -> str:
        """What classes do that break the rule."""
        return f"lie more than {self.t:g} from the distribution of {self.sensitive}"

    def worst(self, scores: Floats) -> str:
        """The farthest class."""
        return f"; the farthest lies {float(scores.max()):.6g} away"


@dataclass(frozen=True)
class BetaLikeness(SensitiveRule):
    """No sensitive value is much commoner among records that agree in their keys than among all.

    An empty field is a value of its own.

    Parameters
    ----------
    beta
        A value may be commoner by at most this share of what it is among all records.
    form
        ``"enhanced"``: and by at most minus the natural logarithm of that share, which is stricter for common values;
        ``"basic"``: by ``beta`` alone.
    sensitive, keys, missing
        The sensitive column, the keys, and what an empty field of a key means: see the roles of the records.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> table = pa.table({"age": ["20", "20", "30", "30"], "illness": ["flu", "cold", "flu", "flu"]})
    >>> data = ds.Microdata(table, keys="age", sensitive="illness").assess(ds.BetaLikeness(0.9, form="basic"))
    >>> print(data.assessment)
    2 records are in classes of 'age' that tell more of illness than beta = 0.9 allows; the worst tells 1
    """

    kind: ClassVar[str] = "beta_likeness"
    beta: Positive
    form: Literal["enhanced", "basic"] = "enhanced"

    def scores(self, column: SensitiveColumn, classes: ClassValues) -> Floats:
        """The greatest gain of each class, in the measure of ``beta``."""
        found, enhanced = np.zeros(len(classes)), self.form == "enhanced"
        likeliest_gain(classes.start, classes.value, classes.count, column.share, float(self.beta), enhanced, found)
        return found

    def safe(self, scores: Floats) -> Bools:
        """Which scores keep the rule."""
        return np.asarray(scores <= self.beta * (1 + LITTLE), np.bool_)

    def broken(self) -> str:
        """What classes do that break the rule."""
        return f"tell more of {self.sensitive} than beta = {self.beta:g} allows"

    def worst(self, scores: Floats) -> str:
        """The worst class."""
        return f"; the worst tells {float(scores.max()):.6g}"
