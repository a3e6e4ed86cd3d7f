"""Models as formulas: ``"income ~ age + sex"``, ``"logit: employed ~ log(income) + age * sex"``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from discreet.analyse.models import MODELS, ModelName
from discreet.errors import ParameterError, listed

HINT = "Write for example 'income ~ age + sex', 'logit: employed ~ log(income) + C(region)' or 'y ~ x + x^2 + x:z'."
WAYS = ("log", "sqrt", "exp")
FACTOR = re.compile(
    rf"(?:(?P<way>{'|'.join(WAYS)}|C)\((?P<inside>[^()]+)\)|(?P<name>[^()^:*+~]+?))(?:\s*(?:\^|\*\*)\s*(?P<power>[1-9]))?"
)


class Factor(NamedTuple):
    """A column of a model: its name, a function of it (``""``, ``"log"``, ``"C"`` for codes ...), and a power."""

    column: str
    way: str = ""
    power: int = 1

    def __str__(self) -> str:
        text = f"{self.way}({self.column})" if self.way else self.column
        return f"{text}^{self.power}" if self.power > 1 else text


@dataclass(frozen=True)
class ModelFormula:
    """A model of an outcome by some columns, to be fitted to several files.

    Parameters
    ----------
    outcome
        The outcome.
    terms
        Products of columns; the model has an intercept besides.
    model
        ``"linear"``, ``"logit"`` or ``"poisson"``.

    Examples
    --------
    >>> found = ModelFormula.read("logit: employed ~ log(income) + age * sex")
    >>> found.model, [":".join(map(str, term)) for term in found.terms]
    ('logit', ['log(income)', 'age', 'sex', 'age:sex'])
    """

    outcome: Factor
    terms: tuple[tuple[Factor, ...], ...]
    model: ModelName = "linear"

    @classmethod
    def read(cls, text: str) -> ModelFormula:
        """A formula from text.

        ``+`` puts terms beside each other, ``:`` multiplies them, ``*`` does both; ``^`` is a power; ``log``, ``sqrt``
        and ``exp`` are functions; ``C`` takes numbers for codes. A word before a colon names the model.
        """
        if not isinstance(text, str):
            raise ParameterError(f"A model is text or a ModelFormula, not {type(text).__name__}.", hint=HINT)
        head, colon, rest = text.partition(":")
        kind: ModelName = "linear"
        if colon and "~" not in head:
            named = head.strip().lower()
            if named not in MODELS:
                raise ParameterError(f"There is no model {head.strip()!r}.", hint=f"Take one of {listed(MODELS)}.")
            kind, text = next(one for one in MODELS if one == named), rest
        outcome, tilde, right = text.partition("~")
        if not tilde or "~" in right or not right.strip():
            raise ParameterError(f"{text.strip()!r} is no formula.", hint=HINT)
        explained = _factor(outcome, text)
        if explained.way == "C" or explained.power > 1:
            raise ParameterError(f"The outcome {str(explained)!r} is not one number.", hint=HINT)
        terms = list(dict.fromkeys(term for part in right.split("+") for term in _terms(part, text)))
        if any(explained.column == factor.column for term in terms for factor in term):
            raise ParameterError(
                f"The outcome {explained.column!r} explains itself.", hint="Leave it out on the right."
            )
        return cls(explained, tuple(terms), kind)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, each once."""
        return tuple(dict.fromkeys([self.outcome.column, *(one.column for term in self.terms for one in term)]))

    def __str__(self) -> str:
        right = " + ".join(":".join(map(str, term)) for term in self.terms)
        return f"{'' if self.model == 'linear' else f'{self.model}: '}{self.outcome} ~ {right}"


def _terms(part: str, text: str) -> Iterator[tuple[Factor, ...]]:
    """The terms of what stands between two plus signs."""
    plain = part.replace("**", "^")
    crossed = [tuple(_factor(one, text) for one in piece.split(":")) for piece in plain.split("*")]
    for size in range(1, len(crossed) + 1):
        for chosen in combinations(crossed, size):
            yield tuple(factor for piece in chosen for factor in piece)


def _factor(piece: str, text: str) -> Factor:
    found = FACTOR.fullmatch(piece.strip())
    if found is None or piece.strip() in ("0", "1", "-1"):
        raise ParameterError(f"{piece.strip()!r} in {text.strip()!r} is no column or function of one.", hint=HINT)
    column = (found["inside"] or found["name"]).strip()
    return Factor(column, found["way"] or "", int(found["power"] or 1))
