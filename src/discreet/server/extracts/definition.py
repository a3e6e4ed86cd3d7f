"""What an extract is: a small file that can be kept, shared and sent again. It holds no data."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

import msgspec

from discreet.errors import ParameterError, listed, unknown_name
from discreet.model.condition import Condition, parse_conditions
from discreet.server.denied import Denied
from discreet.server.extracts.file import ExtractFile
from discreet.server.extracts.plan import OWN, STRATUM
from discreet.server.store.projects import GrantRow

FORMAT = "discreet extract 1"
MOST_BYTES = 64 * 1024
MOST_CONDITIONS = 20


class Definition(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An extract as somebody asks for it."""

    dataset: str
    edition: str
    variables: list[str]
    format: str = FORMAT
    where: list[str] = []
    """Conditions that records meet, all of them."""
    households: bool = False
    """Whether all members of a household come along when one of them meets the conditions."""
    share: float = 1.0
    """Share of the households that is wanted."""
    strata: bool = False
    """Whether strata for variances are wanted; they tell as much as the finest areas."""
    file: Literal["csv", "parquet"] = "csv"

    @property
    def columns(self) -> list[str]:
        """All columns of the extract."""
        own = [name for name in OWN if self.strata or name != STRATUM]
        return [*own, *self.variables]

    @property
    def text(self) -> str:
        """The definition as it is saved."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=1).decode()

    @property
    def digest(self) -> str:
        """What tells definitions apart, however they were written."""
        plain = msgspec.structs.replace(
            self,
            variables=sorted(self.variables),
            where=sorted(condition.canonical() for condition in self.conditions),
        )
        return hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions."""
        return parse_conditions(self.where)


def _refused(kind: str, message: str, hint: str, status: int = 400) -> Denied:
    return Denied(kind, message, hint=hint, status=status)


def read_definition(content: bytes) -> Definition:
    """A definition from its file; nothing of it is believed.

    Raises
    ------
    Denied
        When it is none.
    """
    if len(content) > MOST_BYTES:
        raise _refused("too-large", "The definition is too large.", f"At most {MOST_BYTES:,} bytes.", 413)
    try:
        found = msgspec.json.decode(content, type=Definition)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _refused(
            "no-definition", "This is no definition of an extract.", "Save one from the page of extracts."
        ) from None
    if found.format != FORMAT:
        raise _refused("no-definition", "The definition has another format.", f"This server reads {FORMAT!r}.")
    return found


def checked(file: ExtractFile, wanted: Definition) -> Definition:
    """A definition that fits a file.

    Raises
    ------
    Denied
        When it names what is not there, or too much.
    """
    known = file.variables
    if not wanted.variables:
        raise _refused("no-variables", "The cart is empty.", "Choose at least one variable.")
    if len(set(wanted.variables)) < len(wanted.variables):
        raise _refused("twice", "A variable stands in the cart twice.", "Take it out once.")
    if not 0 < wanted.share <= 1:
        raise _refused("share", "The share of households is no share.", "Give a number above 0, at most 1.")
    if len(wanted.where) > MOST_CONDITIONS or any(len(words) > 2_000 for words in wanted.where):
        raise _refused(
            "conditions", "There are too many conditions.", f"Give at most {MOST_CONDITIONS}, and short ones."
        )
    try:
        conditions = wanted.conditions
    except ParameterError as error:
        raise _refused("conditions", error.message, error.hint) from None
    for name in (*wanted.variables, *(condition.column for condition in conditions)):
        if name not in known or name in OWN:
            raise _refused("unknown-variable", unknown_name("variable", name[:64], known), "See the list.", 404)
    for condition in conditions:
        about = known[condition.column]
        texts = [isinstance(value, str) for value in condition.values]
        if texts and (any(texts) != (about.kind == "text") or not (all(texts) or not any(texts))):
            kind = "text" if about.kind == "text" else "numbers"
            raise _refused("conditions", f"{condition.column!r} holds {kind}.", "Quote text, and no numbers.")
    return wanted


def used_variables(wanted: Definition) -> frozenset[str]:
    """All variables that an extract tells of: those that it shows and those that it was chosen by."""
    return frozenset([*wanted.variables, *(condition.column for condition in wanted.conditions)])


def require_granted(file: ExtractFile, wanted: Definition, grant: GrantRow, before: Sequence[frozenset[str]]) -> None:
    """Refuse what a project may not have, alone or together with what it has.

    Parameters
    ----------
    file, wanted, grant
        The file, what is asked for, and what the project was granted.
    before
        Variables of every extract that its members have of any edition of the data set.

    Raises
    ------
    Denied
        When a variable or an area is not granted, or variables come together that must not.
    """
    used = used_variables(wanted)
    outside = sorted(name for name in used if name not in grant.variables)
    if outside:
        raise Denied(
            "not-granted", f"Your project was not granted {listed(outside, 5)}.", hint="Ask for a wider grant."
        )
    finest = grant.finest_geography or 0
    fine = sorted(name for name in used if file.variables[name].level > finest)
    if fine:
        raise Denied(
            "geography", f"Your project was not granted areas as fine as {listed(fine)}.", hint="Take coarser."
        )
    deepest = max((one.level for one in file.codebook.variables), default=0)
    if wanted.strata and finest < deepest:
        raise Denied("geography", "Strata tell as much as the finest areas.", hint="Leave strata out.")
    have: frozenset[str] = frozenset().union(*before)
    for names in file.limits.refused:
        if set(names) <= used:
            raise Denied(
                "combination", f"{listed(names)} may not be combined.", hint="Take one of them out of the cart."
            )
        if set(names) <= used | have:
            raise Denied(
                "combination",
                f"Together with extracts that you or your colleagues have, {listed(names)} would be combined.",
                hint="Extracts of one project count together.",
            )
