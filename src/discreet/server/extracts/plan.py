"""The plan of a file that extracts are taken from: what the owner of the records lets out, and how it is protected.

A file in TOML, read strictly. Its ``[swap]`` and methods that draw at random are secret: nothing that users see is made
of them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from discreet.errors import InputError, ParameterError, listed, unknown_name
from discreet.methods.base import Method, RecordMethod
from discreet.model.condition import Condition, parse_conditions
from discreet.recipe.mistakes import explained
from discreet.recipe.schema import DataPart, method_of
from discreet.rules.records import RecordRule, record_rule_from_record
from discreet.server.catalogue import EDITION, LARGEST, NAME

STRATUM = "stratum"
OWN = ("serial", "person", "weight", STRATUM)
"""Columns that every extract has besides its variables."""
VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
"""Names that SPSS, Stata, SAS and R take alike."""
RESERVED = re.compile(
    r"all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with|if|in|int|long|byte|float|double|strl?|using|true|false|null|nan?|inf|"
    r"function|else|repeat|while|for|next|break",
    re.IGNORECASE,
)
"""Words that one of them keeps for itself."""
YOUNG = 10
"""Years during which a census is guarded more strictly."""
YOUNG_DENSITY, YOUNG_THRESHOLD = 0.1, 20_000


class ExtractVariable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A variable that extracts may have."""

    label: str = ""
    names: dict[str, str] = {}
    """Words for its codes."""


class SamplePart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How households are drawn."""

    density: float
    collective: list[str] = []
    """Conditions of persons in collective dwellings, who are drawn one by one."""


class ShownAreasPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What is shown of areas."""

    levels: list[str]
    """Columns from the coarsest level to the finest."""
    threshold: int = 20_000
    suppress: bool = False
    """Whether no area is shown at all."""
    guarded: list[str] = []
    """Further columns whose codes need as large a population, such as the place of birth."""
    reference: str | None = None
    """A csv file with the levels and ``population`` in the latest census; the records are counted where left out."""


class SwapPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Households that exchange their areas: secret."""

    rate: float
    within: str | None = None
    profile: list[str] = []


class LimitsPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How much of the file goes out."""

    most_rows: int = 20_000_000
    """Rows of one extract."""
    project_rows: int = 100_000_000
    """Rows of all extracts of one project."""
    most_unique: float | None = None
    """Largest share of records that may be alone with their keys in an extract."""
    refused: list[list[str]] = []
    """Variables that no project may have together, in one extract or in several."""
    mark: float = 0.02
    """Share of households that each user's extracts lack: others for everybody, so that a leak is traced."""
    link_hours: int = 72
    """How long an extract can be fetched."""


class ExtractPlan(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """All that the owner says."""

    version: Literal[1]
    name: str
    edition: str
    data: DataPart
    year: int
    """Of the census or survey."""
    sample: SamplePart
    geography: ShownAreasPart
    variables: dict[str, ExtractVariable]
    title: str = ""
    citation: str = ""
    licence: str = "1"
    """Version of the conditions that users accept."""
    approval_months: int = 12
    swap: SwapPart | None = None
    protect: list[dict[str, Any]] = []
    rules: list[dict[str, Any]] = []
    limits: LimitsPart = msgspec.field(default_factory=LimitsPart)

    @property
    def methods(self) -> list[Method]:
        """The owner's methods."""
        return [method_of(record) for record in self.protect]

    @property
    def record_rules(self) -> list[RecordRule]:
        """The owner's rules."""
        return [record_rule_from_record(record) for record in self.rules]

    @property
    def collective(self) -> tuple[Condition, ...]:
        """Conditions of collective dwellings."""
        return parse_conditions(self.sample.collective)


def read_plan(path: str | Path) -> ExtractPlan:
    """Read and check a plan.

    Raises
    ------
    InputError
        When there is no such file, or it is no TOML.
    ParameterError
        When something in it is not known or not allowed.
    """
    path = Path(path)
    if not path.is_file() or path.stat().st_size > LARGEST:
        raise InputError(f"There is no plan {path.name!r}.", hint="Check the name and the folder.")
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "it is not UTF-8"
        raise InputError(f"{path.name!r} is not valid TOML: {reason}.", hint="Correct it there.") from None
    return plan_of(raw)


def plan_of(raw: Mapping[str, Any], today: datetime | None = None) -> ExtractPlan:
    """A plan from plain data."""
    try:
        plan = msgspec.convert(raw, ExtractPlan)
    except msgspec.ValidationError as error:
        raise explained(str(error), raw, ExtractPlan, "plan") from None
    if not NAME.fullmatch(plan.name) or not EDITION.fullmatch(plan.edition):
        raise ParameterError(
            "name or edition of the plan cannot be used in an address.", hint="Letters, digits, - and _ (and dots)."
        )
    _check_columns(plan)
    _check_numbers(plan)
    _check_methods(plan)
    _check_young(plan, (today or datetime.now(UTC)).year - plan.year)
    return plan


def _check_columns(plan: ExtractPlan) -> None:
    if not plan.variables:
        raise ParameterError("The plan has no variables.", hint="Add [variables.age] and the like.")
    if len({name.lower() for name in plan.variables}) < len(plan.variables):
        raise ParameterError("Two variables differ in capitals only.", hint="SPSS and SAS take them for one.")
    if plan.data.household is None:
        raise ParameterError("[data] of the plan names no household.", hint='Write household = "hid".')
    hidden = {plan.data.household, *plan.data.identifier, plan.data.contributor, plan.data.record_key}
    for name in plan.variables:
        if not VARIABLE.fullmatch(name) or name.lower() in OWN or RESERVED.fullmatch(name):
            raise ParameterError(
                f"{name!r} cannot be the name of a variable here.",
                hint="A letter, then letters, digits and _, at most 32, and no word of SPSS, Stata, SAS or R.",
            )
        if name in hidden:
            raise ParameterError(f"{name!r} names somebody and never leaves.", hint="Take it out of [variables].")
    if not plan.geography.levels:
        raise ParameterError(
            "[geography] names no level, so that nothing says where households lie.",
            hint="Name the columns of areas; suppress = true shows none of them.",
        )
    listings = {"guarded": plan.geography.guarded, "refused": [n for names in plan.limits.refused for n in names]}
    for key, names in listings.items():
        for name in names:
            if name not in plan.variables:
                raise ParameterError(unknown_name("variable", name, plan.variables, f"[variables] (see {key})"))
    shown = {*plan.geography.levels} & {*plan.geography.guarded}
    if shown:
        raise ParameterError(f"{listed(sorted(shown))} are levels and guarded besides.", hint="Name each once.")


def _check_numbers(plan: ExtractPlan) -> None:
    limits, sample = plan.limits, plan.sample
    if not 0 < sample.density <= 1:
        raise ParameterError(f"density = {sample.density} of [sample] is no share.", hint="Usual are 0.01 to 0.1.")
    if plan.geography.threshold < 1:
        raise ParameterError("threshold of [geography] must be at least 1.", hint="Usual are 20000 to 100000.")
    for key in ("most_rows", "project_rows", "link_hours"):
        if getattr(limits, key) < 1:
            raise ParameterError(f"{key} of [limits] must be at least 1.", hint=f"Correct {key} in [limits].")
    if not 0 <= limits.mark <= 0.2:
        raise ParameterError(f"mark = {limits.mark} of [limits] is not allowed.", hint="Give 0 to 0.2; usual is 0.02.")
    if limits.most_unique is not None and not 0 <= limits.most_unique <= 1:
        raise ParameterError("most_unique of [limits] is no share.", hint="Give 0 to 1.")
    if not 1 <= plan.approval_months <= 60:
        raise ParameterError("approval_months must be 1 to 60.", hint="Usual are 12.")
    if any(len(set(names)) < 2 for names in limits.refused):
        raise ParameterError("refused of [limits] names single variables.", hint="Take them out of [variables].")


def _check_methods(plan: ExtractPlan) -> None:
    for method in plan.methods:
        if not isinstance(method, RecordMethod):
            raise ParameterError(f"Method {method.kind!r} is for tables.", hint="Use methods for records.")
        if method.kind == "swap":
            raise ParameterError("Swap stands in [swap] of a plan.", hint="Take it out of [[protect]].")
        if method.kind in ("pram", "microaggregate"):
            raise ParameterError(
                f"Method {method.kind!r} is not used for extracts: records keep what was said, less exactly.",
                hint="Recode, top-code, blank or swap instead.",
            )
    _ = plan.record_rules, plan.collective


def _check_young(plan: ExtractPlan, age: int) -> None:
    """Refuse loose plans for records that are younger than ten years."""
    if age >= YOUNG:
        return
    wide = plan.geography.suppress or plan.geography.threshold >= YOUNG_THRESHOLD
    if plan.sample.density > YOUNG_DENSITY or not wide or plan.swap is None:
        raise ParameterError(
            f"Records of {plan.year} are younger than {YOUNG} years, and the plan is too loose for that.",
            hint=f"Use density {YOUNG_DENSITY} at most, threshold {YOUNG_THRESHOLD} at least, and [swap].",
        )
