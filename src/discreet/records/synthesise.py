"""The method ``Synthesise``: columns drawn anew, one after the other, from models of the records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np

from discreet.engine.draws import draws, fractions
from discreet.errors import NeedsError, ParameterError, ProtectionError, listed, unknown_name
from discreet.keys import Key
from discreet.methods.base import Keyed, RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Floats, Ints
from discreet.model.claims.synthesis import synthesis_claim
from discreet.model.evidence import Evidence
from discreet.model.records import WEIGHT, RecordSet
from discreet.parameters import Natural, Number
from discreet.progress import steps as in_steps
from discreet.records.ordered_values import order_of
from discreet.records.synthesis.columns import CodesOfColumn, SynthesisColumn, column_of, content_of, holders_of
from discreet.records.synthesis.drawing import Model
from discreet.records.synthesis.sequence import (
    ColumnSequence,
    SynthesisPlan,
    column_facts,
    households_of,
    refuse_late_rules,
)
from discreet.records.synthesis.structural import read_rules, refuse_contradictions, refuse_rules_of_few
from discreet.records.together import refuse_given_roles
from discreet.records.value_columns import NO_VALUES, refuse_repeated, refuse_without_values, stratum_of
from discreet.rules.key_counts import codes_of

MODELS = get_args(Model)
OF_CODES, OF_NUMBERS = ("cart", "sample", "logit", "polytomous"), ("cart", "sample", "normal", "normal_rank")


@dataclass(frozen=True)
class Synthesise(Keyed, RecordMethod):
    """Draw columns anew, one after the other, each from a model by the columns before it.

    Models are made of the original values, and drawn from with what the columns before were drawn to be, so that
    records in which all columns are synthesised are nobody's. There are as many records as before.

    Parameters
    ----------
    columns
        Columns to synthesise; all that hold values (no identifiers, households, weights, strata) where left out.
    order
        Which of them come first, in this order; the others follow as the records have them. Columns that all members
        of every household share come before those of members, and are drawn once for each household.
    models
        A model for some columns. Of codes: ``"cart"``, ``"sample"``, ``"logit"`` (two codes), ``"polytomous"``; of
        numbers, dates and times: ``"cart"``, ``"sample"``, ``"normal"``, ``"normal_rank"``.
    default
        The model of all others: a tree (``"cart"``), a draw from the column by itself (``"sample"``), or straight-line
        models (``"parametric"``: ``"normal_rank"`` for numbers, ``"logit"`` or ``"polytomous"`` for codes).
    given
        Columns that stay, and that models look at, too; all that are published, but for weights, where left out.
    strata
        Columns within whose codes models are made apart; the strata of the records where left out.
    rules
        Values that follow from others: ``{"marital": {"age < 15": "single"}}``. Several conditions stand with ``and``
        between them; the empty text stands for an empty field. Rules that give a value and that fewer than ``min_leaf``
        records (households, companies) are under are refused: they would publish what these few have.
    rules_of_few
        Columns whose rules may do so nevertheless: where everybody knows the value, or it follows from the condition.
    categories
        Columns of numbers that are codes. Those with labels for all values are codes anyway, and so are those of few
        values that at least ``min_leaf`` records share each.
    smoothing
        Numbers lie around the value of one record: at least as far as the next records of the column, so that
        ``min_leaf`` of them lie within (``"column"``), and half the way to the next of the leaf (``"leaf"``).
    min_leaf
        Records in a leaf at least. Values that fewer have are not released, but for chance in columns that have no room
        between values; and so many of the largest and of the smallest values are cut off. Where records have companies
        or households, a value counts once for each of these.
    proper
        Whether models are made of records drawn with replacement, so that several copies show how unsure models are.
    copy
        The number of the copy; each is drawn by itself. :func:`discreet.analyse.combine_copies` puts their estimates
        together.
    version
        Version of the draws.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Notes
    -----
    Sources: Reiter (2005) for trees; Nowok, Raab and Dibben (2016) for the sequence, rules and models.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"age": [20 + i % 60 for i in range(600)], "job": ["a", "b", "c"] * 200})
    >>> release = ds.protect(ds.Microdata(people), ds.Synthesise(insecure_seed=1))
    >>> release.verify().holds, len(release.public.records)
    (True, 600)
    """

    kind: ClassVar[str] = "synthesise"
    secret: ClassVar[bool] = True
    columns: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    models: Mapping[str, Any] = field(default_factory=dict)
    default: Literal["cart", "sample", "parametric"] = "cart"
    given: tuple[str, ...] | None = None
    strata: tuple[str, ...] | None = None
    rules: Mapping[str, Any] = field(default_factory=dict)
    rules_of_few: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    smoothing: Literal["leaf", "column"] = "leaf"
    min_leaf: Annotated[int, Number(least=3)] = 5
    proper: bool = False
    copy: Natural = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_repeated(self.columns)
        for option in ("order", "given", "strata", "categories", "rules_of_few"):
            names = getattr(self, option) or ()
            if len(set(names)) < len(names):
                raise ParameterError(f"{option}= names a column twice.", hint="Name each once.")
        for name, model in self.models.items():
            if model not in MODELS:
                raise ParameterError(unknown_name(f"models[{name!r}]", str(model), MODELS))
        object.__setattr__(self, "models", dict(sorted(self.models.items())))
        rules = read_rules(self.rules)
        object.__setattr__(self, "rules", {name: dict(self.rules[name]) for name in sorted(rules)})
        for name in self.rules_of_few:
            if name not in self.rules:
                raise ParameterError(unknown_name("column", name, list(self.rules), "rules= (rules_of_few)"))
        if self.columns:
            self._refuse_strange(self.columns)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that it takes numbers from."""
        named = [name for name, model in self.models.items() if model in ("normal", "normal_rank")]
        for rule in (rule for lines in read_rules(self.rules).values() for rule in lines):
            sized = [one.column for one in rule.conditions if one.values and not isinstance(one.values[0], str)]
            named += [*sized, *([rule.column] if isinstance(rule.value, int | float) else [])]
        return tuple(dict.fromkeys(named))

    def _refuse_strange(self, columns: Sequence[str]) -> None:
        """Refuse parameters that name columns which are not synthesised, or which are and must stay."""
        for option in ("order", "models", "rules", "categories"):
            for name in getattr(self, option):
                if name not in columns:
                    raise ParameterError(unknown_name("column", name, columns, f"the synthesised columns ({option})"))
        for option in ("given", "strata"):
            both = [name for name in getattr(self, option) or () if name in columns]
            if both:
                raise ParameterError(
                    f"{listed(both)} would be synthesised and stay, too ({option}).",
                    hint=f"Take it out of columns= or of {option}=.",
                )

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Draw the columns."""
        assert key is not None
        strata = records.strata if self.strata is None else self.strata
        names = self._columns(records, strata)
        self._refuse_strange(names)
        given = self._given(records, names)
        homes = households_of(records, [*names, *given])
        whole = None if homes is None else homes.columns
        order = [*self.order, *(name for name in names if name not in self.order)]
        order.sort(key=lambda name: whole is not None and name not in whole)
        rules = read_rules(self.rules)
        refuse_late_rules(rules, order, records, whole)
        columns = {name: column_of(records, name, self.min_leaf, as_codes=name in self.categories) for name in order}
        models = {name: self._model(column) for name, column in columns.items()}
        for name, lines in rules.items():
            refuse_contradictions(lines, records)
            if name not in self.rules_of_few:
                refuse_rules_of_few(lines, records, self.min_leaf)
        kinds = self._kinds(records, strata)
        if whole and strata and homes is not None and not np.array_equal(kinds, kinds[homes.one][homes.number]):
            raise ParameterError(
                f"Strata by {listed(strata)} cut households, and {listed([n for n in order if n in whole])} "
                "would be drawn once for each.",
                hint="Name strata that all members of a household share.",
            )
        sequence = ColumnSequence(
            records, given, kinds, homes, self.min_leaf, self.smoothing, self.proper, _words_of(records, strata)
        )
        looked_at = [one.column for lines in rules.values() for rule in lines for one in rule.conditions]
        told = self._told(records, order, given, [*strata, *looked_at])
        for name in in_steps("records", order):
            plan = SynthesisPlan(columns[name], models[name], rules.get(name, []), whole is not None and name in whole)
            sequence.add(plan, lambda use, name=name: self._fractions(key, records, name, use, told))  # type: ignore[misc]
        return self._outcome(records, key, columns, models, sequence, strata)

    def _columns(self, records: RecordSet, strata: Sequence[str]) -> tuple[str, ...]:
        for name in (*self.columns, *strata):
            records[name]  # refuses what is not there
        refuse_without_values(records, self.columns)
        kept = (*strata, *(self.given or ()))
        free = [name for name in records.names if records.about(name).role not in NO_VALUES and name not in kept]
        names = self.columns or tuple(free)
        if not names:
            raise NeedsError("There is no column to synthesise.", hint="Name columns=, or fewer strata= and given=.")
        return names

    def _given(self, records: RecordSet, names: Sequence[str]) -> list[str]:
        if self.given is None:
            return [n for n in records.names if n not in names and records.about(n).role not in NO_VALUES]
        refuse_given_roles(records, self.given)
        return list(self.given)

    def _model(self, column: SynthesisColumn) -> Model:
        coded, size = isinstance(column, CodesOfColumn), column.size if isinstance(column, CodesOfColumn) else 0
        if column.name not in self.models:
            if self.default != "parametric":
                return self.default
            return "normal_rank" if not coded else "logit" if size == 2 else "polytomous"
        model: Model = self.models[column.name]
        allowed = OF_CODES if coded else OF_NUMBERS
        if model not in allowed:
            hint = f"Use {listed(allowed)}."
            if coded and model in OF_NUMBERS:
                hint += " Columns of csv files are text unless they are called numbers: "
                hint += f"Microdata(numeric=[{column.name!r}])."
            elif not coded:
                hint += f" Where the numbers are codes, name it in categories=[{column.name!r}]."
            raise ParameterError(
                f"The model {model!r} does not fit column {column.name!r}, which holds "
                f"{'codes' if coded else 'numbers'}.",
                hint=hint,
            )
        if coded and model == "logit" and size != 2:
            raise ParameterError(
                f"The model 'logit' is for two codes, and column {column.name!r} has {size} (an empty field "
                "is one, too).",
                hint="Use 'polytomous'.",
            )
        return model

    def _kinds(self, records: RecordSet, strata: Sequence[str]) -> Ints:
        if self.strata is None:
            return stratum_of(records)
        kind = np.zeros(len(records), np.int64)
        for name in strata:
            codes, size = codes_of(records[name])
            kind = np.unique(kind * size + codes, return_inverse=True)[1].ravel()
        return kind

    def _told(
        self, records: RecordSet, order: Sequence[str], given: Sequence[str], others: Sequence[str]
    ) -> tuple[Any, ...]:
        """What draws belong to besides records: the parameters, and all that models are made of.

        Two releases with the same draws and other models would tell how these differ, record by record.
        """
        assert records.identity is not None
        rows, content = order_of(records.identity), blake2b(digest_size=16)
        content.update(records.identity[rows].astype("<u8").tobytes())
        for name in dict.fromkeys((*order, *given, *others)):
            content.update(content_of(records[name], rows))
        plain = {name: value for name, value in self.record().items() if name not in ("key_file", "insecure_seed")}
        return list(order), list(given), list(records.strata), plain, content.hexdigest()

    def _fractions(self, key: Key, records: RecordSet, name: str, use: str, told: Sequence[Any]) -> Floats:
        assert records.identity is not None
        purpose = self.purpose(f"synthesise/{name}/{use}", *told)
        return fractions(draws(key.secret, purpose, self.version, records.identity))

    def _seal(self, records: RecordSet, key: Key, columns: Iterable[str], changed: Mapping[str, Any]) -> str:
        """A digest of all drawn values that only the key makes: models are not made again to check them."""
        assert records.identity is not None
        rows = order_of(records.identity)
        seal = blake2b(f"synthesise/seal/{self.version}".encode(), key=key.secret, digest_size=16)
        for name in columns:
            seal.update(name.encode() + b"\0" + content_of(changed[name], rows))
        return seal.hexdigest()

    def _outcome(
        self,
        records: RecordSet,
        key: Key,
        columns: Mapping[str, SynthesisColumn],
        models: Mapping[str, Model],
        sequence: ColumnSequence,
        strata: Sequence[str],
    ) -> RecordOutcome:
        homes, same = sequence.households, _unchanged(records, sequence.changed)
        facts: dict[str, Any] = {
            "columns": list(columns),
            "given": list(sequence.given),
            "strata": list(strata),
            "households": [] if homes is None else [name for name in columns if name in homes.columns],
            "rows": len(records),
            "same": same,
            "weighted": bool(records.with_role(WEIGHT)),
            "homes": homes is not None,
            "holder": holders_of(records).role,
            "insecure": key.insecure,
            "seal": self._seal(records, key, columns, sequence.changed),
            "models": [
                {"column": name, "model": models[name]}
                | column_facts(columns[name], sequence.sizes.get(name), sequence.met.get(name, 0))
                for name in columns
            ],
        }
        plain = self.record()
        return RecordOutcome(sequence.changed, Evidence(plain, synthesis_claim(plain, facts), facts=facts))


def _unchanged(records: RecordSet, changed: Mapping[str, Any]) -> int:
    """In how many records all values are as before; all of them are refused where there was anything to draw."""
    import pyarrow.compute as pc

    same, varies = np.ones(len(records), np.bool_), False
    for name, new in changed.items():
        old = records[name]
        gone = np.asarray(old.is_null().to_numpy(), np.bool_) & np.asarray(new.is_null().to_numpy(), np.bool_)
        same &= gone | np.asarray(pc.equal(old, new).fill_null(False).to_numpy(), np.bool_)
        varies = varies or len(old.unique()) > 1
    if varies and same.all():
        raise ProtectionError(
            f"No value of {listed(list(changed))} changed: models by the columns that stay say exactly what they were.",
            hint="Take columns that say the same out of given=, synthesise them, too, or leave these out.",
        )
    return int(same.sum())


def _words_of(records: RecordSet, strata: Sequence[str]) -> Any:
    """The stratum of a record in words, to go on a sentence."""

    def words(row: int) -> str:
        said = ", ".join(f"{name} {records[name][row].as_py()!r}" for name in strata)
        return f" with {said}" if said else ""

    return words
