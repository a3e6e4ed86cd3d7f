"""The parts of a recipe: what it may hold, how it is read, and its schema."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypeVar, get_type_hints

import msgspec

from discreet.errors import InputError, ParameterError, listed, unknown_name
from discreet.files.argus.outputs import Options
from discreet.files.published import Heading
from discreet.methods.base import Method, TablePublisher
from discreet.methods.registry import METHODS, method_from_record
from discreet.model.microdata import EngineName
from discreet.recipe.mistakes import explained, without_kind
from discreet.rules.assess import MANUAL_RANGE
from discreet.rules.base import REGISTRY, Rule, rule_from_record
from discreet.rules.records import RECORD_RULES, record_rule_from_record
from discreet.tables.suppress.costs import cost_variable


class DataPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Where the records (or ready-made cells) come from, and the roles of their columns."""

    file: str | None = None
    cells: str | None = None
    metadata: str | None = None
    contributor: str | None = None
    weight: str | None = None
    waiver: str | None = None
    request: str | None = None
    record_key: str | None = None
    delimiter: str = ","
    decimal: Literal[".", ","] = "."
    encoding: str = "utf-8"
    sheet: str | None = None
    engine: EngineName = "memory"
    keys: list[str] = []
    sensitive: list[str] = []
    numeric: list[str] = []
    household: str | None = None
    identifier: list[str] = []
    strata: list[str] = []
    levels: dict[str, int] = {}
    missing_codes: dict[str, list[str]] = {}
    leave_out: list[str] = []
    missing: dict[str, str] = {}
    recode: dict[str, str] = {}


class HexagonsPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A grid of hexagons over columns of coordinates."""

    x: str
    y: str
    size: float
    origin: tuple[float, float] = (0.0, 0.0)


class HierarchyPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How the codes of a variable add up: a file, digits, level columns or parents; plain codes otherwise.

    Or where they lie: hexagons over coordinates, or a file of neighbours (columns ``code`` and ``neighbour``).
    """

    file: str | None = None
    digits: list[int] | None = None
    columns: list[str] | None = None
    parents: dict[str, str] | None = None
    hexagons: HexagonsPart | None = None
    neighbours: str | None = None
    total: str = "Total"
    labels: str | None = None
    missing: list[str] = []


class AprioriPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An a-priori file of a table."""

    file: str
    separator: str = ","
    ignore: bool = False
    expand: bool = False


class RecipeTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One table."""

    by: list[str]
    name: str = ""
    value: str | None = None
    filter: str | list[str] | None = None
    weight: str | Literal[False] | None = None
    shadow: str | None = None
    absolute: bool = False
    cost: str | None = None
    status: str | None = None
    period: str = ""
    decimals: int | None = None
    cells: Literal["nonempty", "all"] = "nonempty"
    compute_totals: bool = False
    disjoint: bool | Literal["unknown"] = False
    slack: float | Literal["rounded"] | None = None
    source: str | None = None
    metadata: str | None = None
    totals: Literal["given", "computed", "computed_keep_status", "as_they_are"] = "given"
    recode: dict[str, str | int] = {}
    apriori: list[AprioriPart] = []


class AssessPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How rules are applied."""

    profile: Literal["handbook", "argus"] = "handbook"
    missing_safe: bool = False
    manual_range: float = MANUAL_RANGE
    unrelated: list[str] = []


class LinkPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An equation between value variables: ``turnover = home + export``."""

    equation: str


class PatternPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A pattern file, and how to read it where another program made it."""

    file: str
    variables: list[str] | None = None
    columns: dict[str, str] = {}
    letters: str | dict[str, str] = "words"
    all_are: Literal["unsafe", "secondary"] | None = None
    table: str = ""
    tables: dict[str, str] = {}
    delimiter: str = ","
    one_name: bool = False


class PublishedPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Something that is already published: a saved release, a file of cells, or a figure derived from cells."""

    release: str | None = None
    cells: str | None = None
    figure: str | None = None
    name: str = ""
    table: str | None = None
    value: str | int | float | None = None
    columns: dict[str, str] = {}
    withheld: list[str] | None = None
    decimals: int | None = None
    ignore_unknown: bool = False
    delimiter: str = ","

    @property
    def kind(self) -> str:
        """Which of the three it is."""
        kinds = [kind for kind in PUBLISHED_KEYS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise ParameterError(
                f"An entry of [[already_published]] has {listed(kinds) if kinds else 'nothing in it'}.",
                hint="Give one of release (a folder), cells (a file) or figure (a formula).",
            )
        return kinds[0]

    def check(self) -> None:
        """Refuse keys that say nothing of the kind that it is."""
        allowed = {self.kind, *PUBLISHED_KEYS[self.kind]}
        plain = PublishedPart()
        given = [key for key in self.__struct_fields__ if getattr(self, key) != getattr(plain, key)]
        for key in given:
            if key not in allowed:
                where = f"an entry of [[already_published]] with {self.kind}"
                raise ParameterError(unknown_name("key", key, sorted(allowed), where))


PUBLISHED_KEYS = {
    "release": ("name",),
    "cells": ("name", "table", "value", "columns", "withheld", "decimals", "ignore_unknown", "delimiter"),
    "figure": ("value", "decimals"),
}
"""Kinds of what is already published, and the keys of each."""


class ArgusFilePart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A file in one of the formats of ARGUS, besides the release."""

    file: str
    kind: Literal["csv", "pivot", "code_value", "sbs", "intermediate", "jj", "cell_key"] = "code_value"
    options: str = ""
    table: str | None = None


PublicFormat = Literal["csv", "xlsx", "jsonstat", "sdmx-csv", "sdmx-json", "px", "parquet", "sav", "dta", "asc"]
"""Formats of publication: names of :data:`~discreet.files.published.FORMATS` and, for records, those of theirs."""


class RecordsPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A release of records, in place of tables."""

    name: str = "records"
    keep_order: bool = False
    profile: Literal["research", "public-use"] | None = None
    household_keys: list[str] = []


class OutputPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Where the release goes."""

    directory: str
    formats: tuple[PublicFormat, ...] = ("csv",)
    restricted: tuple[Literal["sdmx-csv", "sdmx-json"], ...] = ()
    heading: Heading = Heading()
    report: bool = False
    audit: bool | Literal["auto"] = "auto"
    argus: list[ArgusFilePart] = []


class Recipe(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A whole job."""

    version: Literal[1]
    data: DataPart
    protect: list[dict[str, Any]]
    output: OutputPart
    tables: list[RecipeTable] = []
    records: RecordsPart | None = None
    hierarchies: dict[str, str | list[str] | HierarchyPart] = {}
    rules: list[dict[str, Any]] = []
    assess: AssessPart = msgspec.field(default_factory=AssessPart)
    links: list[LinkPart] = []
    already_published: list[PublishedPart] = []
    one_pattern: bool = False
    pattern: PatternPart | None = None
    compare: list[dict[str, Any]] = []


LONGEST_RECIPE = 16 * 2**20
"""Bytes of a recipe."""


def recipe_text(path: Path) -> str:
    """The text of a recipe file."""
    if not path.is_file():
        raise InputError(
            f"There is no recipe {path.name!r}.", hint=f"Check the name and the folder. Looked for: {path}"
        )
    try:
        with path.open("rb") as stream:
            content = stream.read(LONGEST_RECIPE + 1)
    except OSError as error:
        raise InputError(f"The recipe {path.name!r} cannot be read ({error.strerror}).") from None
    if len(content) > LONGEST_RECIPE:
        raise InputError(f"{path.name!r} is larger than a recipe may be (16 MiB).", hint="Give the recipe's own file.")
    try:
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"The recipe {path.name!r} is not UTF-8 text: byte {error.start + 1} is none.", hint="Save it as UTF-8."
        ) from None


def read_recipe(text: str) -> Recipe:
    """Parse a recipe; unknown keys and wrong types are errors that name them."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(
            f"The recipe is not valid TOML: {error}.",
            hint="Correct it there: text needs quotes, lists need brackets.",
        ) from None
    try:
        recipe = msgspec.convert(raw, Recipe)
    except msgspec.ValidationError as error:
        raise explained(str(error), raw, Recipe) from None
    if (recipe.data.file is None) == (recipe.data.cells is None):
        what = "no file" if recipe.data.file is None else "both file and cells"
        raise ParameterError(
            f"[data] of the recipe has {what}.",
            hint='Write file = "records.csv" for records, or cells = "cells.csv" for a ready-made table.',
        )
    if bool(recipe.tables) == (recipe.records is not None):
        raise ParameterError(
            f"The recipe has {'both [[tables]] and' if recipe.tables else 'neither [[tables]] nor'} [records].",
            hint="Add [[tables]] with by = [...] and value to publish tables, or [records] to publish the records.",
        )
    if recipe.records is not None:
        _refuse_for_records(recipe)
    elif recipe.data.leave_out:
        raise ParameterError(
            "leave_out of [data] is for files of records, and the recipe publishes tables.",
            hint="Say which records a table is of: filter = ... in [[tables]].",
        )
    if not all(part.by for part in recipe.tables):
        raise ParameterError("A table of the recipe has an empty by.", hint="Name at least one variable in by = [...].")
    for record in recipe.rules:
        _made(record, "kind", RECORD_RULES, record_rule_from_record) if recipe.records else rule_of(record)
    for record in recipe.protect:
        part = preferred(record)
        method_of(record if part is None else {**record, "prefer": ()})
    for record in recipe.compare:
        for _, varied in varied_records(record):
            publisher_of(varied)
    for published in recipe.already_published:
        published.check()
    for file in recipe.output.argus:
        Options.parse(file.options)
    return recipe


def _refuse_for_records(recipe: Recipe) -> None:
    """Refuse what only tables have."""
    if recipe.data.file is None:
        raise ParameterError("[records] needs records, and the recipe's [data] has cells.", hint="Give file = ...")
    refuse_unused_levels(recipe.data, recipe.records)
    plain = Recipe(version=1, data=recipe.data, protect=[], output=recipe.output)
    for key in ("assess", "links", "already_published", "one_pattern", "pattern", "compare"):
        if getattr(recipe, key) != getattr(plain, key):
            raise ParameterError(f"{key} is for tables, and the recipe publishes records.", hint="Leave it out.")


def refuse_unused_levels(data: DataPart, records: RecordsPart | None) -> None:
    """Refuse keys that only a profile looks at where there is none: left aside in silence, nothing would be counted."""
    if records is not None and records.profile is not None:
        return
    if data.levels or (records is not None and records.household_keys):
        key = "levels of [data]" if data.levels else "household_keys of [records]"
        raise ParameterError(
            f"{key} {'are' if data.levels else 'is'} for a profile, and the recipe has none.",
            hint='Add profile = "research" to [records], or write combinations = [...] in a rule.',
        )


def varied_records(record: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The methods that an entry of ``[[compare]]`` stands for, with their names where it gives one.

    ``vary = { base = [3, 5] }`` stands for one method per value, and for all combinations of several parameters.
    """
    plain = {name: value for name, value in record.items() if name not in ("name", "vary")}
    name, vary = record.get("name", ""), record.get("vary", {})
    lists = isinstance(vary, Mapping) and all(isinstance(values, list) and values for values in vary.values())
    if not lists or not isinstance(name, str):
        raise ParameterError(
            "An entry of [[compare]] has a name or vary that cannot be used.",
            hint='Write name = "a text" and vary = { base = [3, 5, 10] }.',
        )
    both = sorted(set(vary) & set(plain))
    if both:
        raise ParameterError(f"An entry of [[compare]] both gives and varies {listed(both)}.", hint="Do one of them.")
    made = []
    for values in product(*vary.values()):
        chosen = dict(zip(vary, values, strict=True))
        said = ", ".join(f"{parameter}={value}" for parameter, value in chosen.items())
        made.append((f"{name}, {said}" if name and said else name, {**plain, **chosen}))
    return made


def cost_column(recipe: Recipe) -> str | None:
    """The variable that a method names as the cost of cells, unless one of the tables is about it."""
    named = [cost_variable(record["cost"]) for record in recipe.protect if isinstance(record.get("cost"), str)]
    return next((name for name in named if name and all(part.value != name for part in recipe.tables)), None)


def method_of(record: Mapping[str, Any]) -> Method:
    """The method of a recipe; TOML has no word for nothing, so ``insiders = "none"`` stands for it."""
    given = {**record, "insiders": None} if record.get("insiders") == "none" else record
    return _made(given, "method", METHODS, method_from_record)


def publisher_of(record: Mapping[str, Any]) -> TablePublisher:
    """A method of a recipe that says what is published of tables."""
    method = method_of(record)
    if not isinstance(method, TablePublisher):
        raise ParameterError(f"Method {method.kind!r} is for records.", hint="Compare methods for tables.")
    return method


def rule_of(record: Mapping[str, Any]) -> Rule:
    """The rule of a recipe."""
    return _made(record, "kind", REGISTRY, rule_from_record)


T = TypeVar("T")
UNFIT = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)
"""What becomes of a value that is not of the kind that a parameter takes."""


def _made(record: Mapping[str, Any], tag: str, kinds: Mapping[str, type], make: Callable[[Mapping[str, Any]], T]) -> T:
    """Make a rule or method; a value of another kind than its parameter takes is an error that names both."""
    if tag not in record:
        raise without_kind(record, tag, "rules" if tag == "kind" else "protect", list(kinds))
    try:
        made = make(record)
    except UNFIT:
        _refuse_unfit(record, tag, kinds)
        raise ParameterError(
            f"The parameters of {record[tag]!r} do not go together.", hint="Compare with: discreet schema"
        ) from None
    _refuse_unfit(record, tag, kinds)
    return made


def _fits(value: Any, hint: Any) -> None:
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError:
        if not isinstance(value, str):
            raise
        msgspec.convert([value], hint)  # one name may stand for a list of one


def _refuse_unfit(record: Mapping[str, Any], tag: str, kinds: Mapping[str, type]) -> None:
    hints = get_type_hints(kinds[record[tag]])
    for name, value in record.items():
        if name == tag or value is None or (isinstance(value, tuple) and not value):
            continue
        try:
            _fits(value, hints[name])
        except (msgspec.ValidationError, TypeError) as error:
            raise ParameterError(
                f"{name} of {record[tag]!r} cannot be used: {str(error).partition(' - at')[0]}.",
                hint="Compare with: discreet schema",
            ) from None


def preferred(record: Mapping[str, Any]) -> PatternPart | None:
    """The pattern that a method prefers, where the recipe says how to read it."""
    if not isinstance(record.get("prefer"), Mapping):
        return None
    try:
        return msgspec.convert(record["prefer"], PatternPart)
    except msgspec.ValidationError as error:
        raise ParameterError(
            f"prefer of the recipe cannot be used: {error}.", hint=f"It takes {listed(PatternPart.__struct_fields__)}."
        ) from None


def recipe_schema() -> dict[str, Any]:
    """JSON schema of a recipe, rules and methods included."""
    schema = msgspec.json.schema(Recipe)
    definitions = schema["$defs"]
    properties = definitions["Recipe"]["properties"]
    rules: dict[str, type] = {**REGISTRY, **RECORD_RULES}
    for key, kinds, tag in (("rules", rules, "kind"), ("protect", METHODS, "method")):
        choices = []
        for kind, cls in sorted(kinds.items()):
            part = msgspec.json.schema(cls)["$defs"][cls.__name__]
            part["properties"] = {tag: {"const": kind}, **part["properties"]}
            part["required"] = [tag, *part.get("required", [])]
            part["additionalProperties"] = False
            part["description"] = (cls.__doc__ or "").strip().splitlines()[0]
            definitions[cls.__name__] = part
            choices.append({"$ref": f"#/$defs/{cls.__name__}"})
        properties[key]["items"] = {"oneOf": choices}
    properties["compare"]["items"] = {"oneOf": [_varied_schema(definitions[c.__name__]) for c in METHODS.values()]}
    return schema


def _varied_schema(part: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a method in a comparison: it may have a name, and lists of values to vary."""
    more = {"name": {"type": "string"}, "vary": {"type": "object", "additionalProperties": {"type": "array"}}}
    return {**part, "properties": {**part["properties"], **more}, "required": ["method"]}
