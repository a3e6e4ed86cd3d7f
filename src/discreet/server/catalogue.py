"""The catalogue of a data set: what may be asked of it, and how answers are protected.

A file in TOML. It names the records and their roles as a recipe does, the variables with their words and hierarchies,
the universes (the only sets of persons that a question may be about), the geography, and the policy.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from discreet.errors import InputError, ParameterError, listed, unknown_name
from discreet.methods.base import TablePublisher
from discreet.model.condition import Condition, parse_conditions
from discreet.recipe.mistakes import explained
from discreet.recipe.schema import DataPart, HierarchyPart, publisher_of
from discreet.server.quality import QualityPart, check_quality

LARGEST = 16 * 2**20
"""Bytes of a catalogue."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""Names of data sets, editions, variables and universes go into addresses and file names."""
EDITION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
AGENCY = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*")
EVERYBODY = "all"
"""Name of the universe of all records, which every data set has."""
MODES = ("table", "hypercube")


class VariablePart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A variable that tables may be spanned by."""

    label: str = ""
    description: str = ""
    hierarchy: str | list[str] | HierarchyPart | None = None
    names: dict[str, str] = {}
    """Words for its codes."""


class ValuePart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A number that tables may sum up."""

    label: str = ""
    description: str = ""
    unit: str = ""
    limits: list[float] = []
    """Lowest and highest value of the axis of plots, as they are known without the records."""


class UniversePart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A set of records that questions may be about."""

    name: str
    where: list[str]
    label: str = ""


class GeographyPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The variable that says where a record lies, and from how many records on an area is answered."""

    variable: str
    smallest: int = 10


class PolicyPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How answers are protected, and what is refused before any is made."""

    method: dict[str, Any] = msgspec.field(default_factory=lambda: {"method": "cell_key"})
    mode: Literal["table", "hypercube"] = "table"
    hypercube: list[str] = []
    """Variables of the one table that is protected, where answers are sums of its cells."""
    most_variables: int = 3
    """Besides the geography."""
    most_cells: int = 200_000
    smallest_universe: int = 100
    smallest_difference: int = 10
    """Two universes that differ by fewer records, and by some, are not both answered."""
    most_sparse: float | None = None
    """An area is refused whose table has a larger share of small counts among its cells that are not empty."""
    sparse_below: int = 3
    combinations: list[list[str]] = []
    """Sets of variables that may be asked together; any where there are none."""
    refused: list[list[str]] = []
    """Sets of variables that may not be asked together, whatever else is asked."""
    exact_share: float = 0.4
    """Refinements are answered while an attacker who averages them knows no larger share of cells exactly."""
    refinements: int | None = None
    """How many tables that refine one margin are answered; found by the attack on the data set where left out."""
    budget_cells: int = 50_000_000
    """Cells that one user gets in a day."""
    plot_account: float = 0.0
    """Sum of mu squared that plots may tell one project; none are drawn where it is 0."""
    plot_account_of_all: float | None = None
    """The same for all projects together, each plot counted once; four times ``plot_account`` where left out."""
    largest_weight: float | None = None
    """The largest weight that the design can have: without it, plots of weighted records are refused."""


class Catalogue(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """All that a data set says of itself."""

    version: Literal[1]
    name: str
    edition: str
    data: DataPart
    agency: str = "UNKNOWN"
    """Identifier of the office, as SDMX knows it."""
    title: str = ""
    description: str = ""
    period: str = ""
    variables: dict[str, VariablePart]
    values: dict[str, ValuePart] = {}
    universes: list[UniversePart] = []
    geography: GeographyPart | None = None
    policy: PolicyPart = msgspec.field(default_factory=PolicyPart)
    quality: QualityPart | None = None

    @property
    def method(self) -> TablePublisher:
        """The method that answers are protected by."""
        return publisher_of(self.policy.method)

    @property
    def conditions(self) -> dict[str, tuple[Condition, ...]]:
        """Conditions of every universe, that of everybody first."""
        return {EVERYBODY: (), **{part.name: parse_conditions(part.where) for part in self.universes}}


def read_catalogue(path: str | Path) -> Catalogue:
    """Read and check a catalogue; errors name the file and what is wrong in it.

    Raises
    ------
    InputError
        When there is no such file, or it is too large or no UTF-8.
    ParameterError
        When something in it is not known or not allowed.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"There is no catalogue {path.name!r}.", hint="Check the name and the folder.")
    if path.stat().st_size > LARGEST:
        raise InputError(f"{path.name!r} is larger than a catalogue may be (16 MiB).", hint="Give the right file.")
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"The catalogue {path.name!r} is not UTF-8 text: byte {error.start + 1} is none.", hint="Save it as UTF-8."
        ) from None
    try:
        return parse_catalogue(text)
    except ParameterError as error:
        raise ParameterError(f"{path.name}: {error.message}", hint=error.hint) from None


def parse_catalogue(text: str) -> Catalogue:
    """A catalogue from its text in TOML."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(
            f"The catalogue is not valid TOML: {error}.", hint="Correct it there: text needs quotes, lists brackets."
        ) from None
    return catalogue_of(raw)


def catalogue_of(raw: Mapping[str, Any]) -> Catalogue:
    """A catalogue from plain data."""
    try:
        found = msgspec.convert(raw, Catalogue)
    except msgspec.ValidationError as error:
        raise explained(str(error), raw, Catalogue, "catalogue") from None
    _check_names(found)
    _check_universes(found)
    _check_policy(found)
    if found.quality is not None:
        check_quality(found.quality, found.data.weight)
    return found


def _check_names(found: Catalogue) -> None:
    if not NAME.fullmatch(found.name):
        raise ParameterError(
            f"name = {found.name!r} cannot be the name of a data set.",
            hint="Begin with a letter, go on with letters, digits, - and _; at most 64 of them.",
        )
    if not EDITION.fullmatch(found.edition):
        raise ParameterError(
            f"edition = {found.edition!r} cannot be the name of an edition.",
            hint="Use letters, digits, dots, - and _, at most 32: '2021.1'.",
        )
    if not AGENCY.fullmatch(found.agency):
        raise ParameterError(
            f"agency = {found.agency!r} cannot be the identifier of an office.",
            hint="Use letters, digits, - and _, parts joined by dots: 'ESTAT'.",
        )
    if not found.variables:
        raise ParameterError("The catalogue has no variables.", hint="Add [variables.age] and the like.")
    for name in (*found.variables, *found.values):
        if not NAME.fullmatch(name):
            raise ParameterError(
                f"{name!r} in [variables] or [values] cannot be asked for.",
                hint="Rename the column: a letter, then letters, digits, - and _; at most 64 of them.",
            )
    both = sorted(set(found.variables) & set(found.values))
    if both:
        raise ParameterError(f"{listed(both)} stand in [variables] and in [values].", hint="Name each once.")
    if found.geography is not None:
        if found.geography.variable not in found.variables:
            raise ParameterError(
                unknown_name("variable", found.geography.variable, found.variables, "[variables] (see [geography])")
            )
        if found.geography.smallest < 1:
            raise ParameterError("smallest of [geography] must be at least 1.", hint="Usual are 10 to 100 records.")


def _check_universes(found: Catalogue) -> None:
    seen = {EVERYBODY}
    for part in found.universes:
        if not NAME.fullmatch(part.name):
            raise ParameterError(
                f"A universe cannot be called {part.name!r}.", hint="Use letters, digits, - and _, at most 64."
            )
        if part.name in seen:
            hint = "That is the universe of everybody, which is always there." if part.name == EVERYBODY else ""
            raise ParameterError(f"Two universes are called {part.name!r}.", hint=hint or "Give each its own name.")
        if not part.where:
            raise ParameterError(f"Universe {part.name!r} has no conditions.", hint="Write where = ['age >= 18'].")
        seen.add(part.name)
        parse_conditions(part.where)


def _check_policy(found: Catalogue) -> None:
    policy = found.policy
    for key in ("most_variables", "most_cells", "smallest_universe", "smallest_difference", "budget_cells"):
        if getattr(policy, key) < 1:
            raise ParameterError(f"{key} of [policy] must be at least 1.", hint=f"Correct {key} in [policy].")
    for key in ("most_sparse", "exact_share"):
        share = getattr(policy, key)
        if share is not None and not 0 < share <= 1:
            raise ParameterError(f"{key} = {share} of [policy] is no share.", hint="Give a number above 0, at most 1.")
    if policy.refinements is not None and policy.refinements < 0:
        raise ParameterError("refinements of [policy] must be at least 0.", hint="Leave it out to have it found.")
    for key in ("plot_account", "plot_account_of_all", "largest_weight"):
        number = getattr(policy, key)
        if number is not None and not 0 <= number <= 1e6:
            raise ParameterError(f"{key} = {number} of [policy] is not allowed.", hint="Give 0 to 1,000,000.")
    for key, sets in (("combinations", policy.combinations), ("refused", policy.refused)):
        for names in sets:
            for name in names:
                if name not in found.variables:
                    raise ParameterError(unknown_name("variable", name, found.variables, f"[variables] (see {key})"))
    method = found.method
    if not method.alters:
        raise ParameterError(
            f"method = {policy.method.get('method')!r} withholds cells, and a server cannot remember every cell that "
            "all users have seen.",
            hint='Use "cell_key", "round", "small_count" or, for few fixed tables, "drop_add".',
        )
    if found.values and method.kind == "cell_key" and getattr(method, "magnitudes", None) is None:
        raise ParameterError(
            f"method of [policy] has no noise for values, and [values] names {listed(list(found.values))}.",
            hint="Add magnitudes = { small = 0.3 } to method, or leave [values] out.",
        )
    if method.kind == "drop_add" and not policy.combinations:
        raise ParameterError(
            "drop_add draws anew for every table: whoever asks many finds the true counts as their mean.",
            hint="List the few tables that may be asked in combinations, or use cell_key.",
        )
    if (policy.mode == "hypercube") != bool(policy.hypercube):
        raise ParameterError(
            f"mode = {policy.mode!r} and hypercube = {policy.hypercube!r} do not go together.",
            hint='With mode = "hypercube" list its variables in hypercube = [...]; leave both out otherwise.',
        )
    for name in policy.hypercube:
        if name not in found.variables:
            raise ParameterError(unknown_name("variable", name, found.variables, "[variables] (see hypercube)"))
