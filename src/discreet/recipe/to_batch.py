"""Recipes as batch files, as far as the language of batch files goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.argus.cell_keys import magnitude_record
from discreet.errors import ParameterError, counted
from discreet.files.argus.apriori import number_text
from discreet.files.argus.outputs import KINDS
from discreet.files.argus.rda import ArgusMetadata
from discreet.recipe.schema import ArgusFilePart, Recipe, RecipeTable
from discreet.rules.frequency import DEFAULT_RANGE

NUMBER_OF_KIND = {kind: number for number, kind in KINDS.items()}
NUMBER_OF_TOTALS = {"given": "0", "computed": "1", "computed_keep_status": "1T", "as_they_are": "2"}
COSTS = {"value": "", "count": "-1", "unity": "-2", "distance": "-3", "log": ""}
SAID = {
    "suppress": {"method", "algorithm", "cost", "exponent", "repair", "settings", "time_limit"},
    "round": {"method", "base", "steps", "time_limit", "effort"},
    "adjust": {"method"},
    "cell_key": {"method", "noise", "magnitudes"},
}
"""Parameters of methods that batch files have words for."""
SAID_SETTINGS = {
    "hypercube": {"singletons", "known_within"},
    "modular": {"singletons", "least_contributors", "carried"},
}
STRICT = {"insiders": "none", "joint": False}
METHODS = {"hypercube": "GH", "modular": "MOD", "network": "NET", "optimal": "OPT"}


def recipe_batch(recipe: Recipe, metadata: ArgusMetadata) -> str:
    """A recipe as a batch file.

    Parameters
    ----------
    recipe
        A recipe whose data have ARGUS metadata.
    metadata
        What the metadata say: whether there are holdings.

    Raises
    ------
    ParameterError
        Where the recipe asks for something that batch files have no words for; the error names it.
    """
    return _Writer(recipe, metadata).text()


class _Writer:
    def __init__(self, recipe: Recipe, metadata: ArgusMetadata) -> None:
        self.recipe, self.metadata = recipe, metadata
        self.holding = metadata.the("holding") is not None
        self.lines: list[str] = []

    def text(self) -> str:
        recipe, data = self.recipe, self.recipe.data
        if data.metadata is None:
            raise self._cannot("data without metadata", "Give [data] metadata, the .rda file of the data.")
        self._refuse()
        if data.file is not None:
            self._open("<OPENMICRODATA>", data.file, data.metadata)
        last = None
        method = recipe.protect[0]
        for part in recipe.tables:
            if data.cells is not None:
                files = (part.source or data.cells, part.metadata or data.metadata)
                if files != last:
                    self._open("<OPENTABLEDATA>", *files)
                last = files
            self.lines.append(f"<SPECIFYTABLE> {self._specify(part, method)}")
            rules = self._rules(part)
            if rules or data.file is not None:
                self.lines.append(f"<SAFETYRULE> {rules}".rstrip())
        if data.file is not None:
            self.lines.append("<READMICRODATA>")
        else:
            kinds = {part.totals for part in recipe.tables}
            if len(kinds) > 1:
                raise self._cannot("tables with different totals")
            self.lines.append(f"<READTABLE> {NUMBER_OF_TOTALS[kinds.pop()]}")
        for number, part in enumerate(recipe.tables, start=1):
            for variable, how in part.recode.items():
                self.lines.append(f"<RECODE> {number}, {variable}, {how if isinstance(how, int) else _quoted(how)}")
            for file in part.apriori:
                flags = f",{int(file.ignore)},{int(file.expand)}"
                self.lines.append(f"<APRIORI> {_quoted(file.file)},{number},{_quoted(file.separator)}{flags}")
        table = 1 if len(recipe.tables) == 1 else 0
        self.lines.append(f"<SUPPRESS> {self._method(method, table)}")
        for output in recipe.output.argus:
            self.lines.append(f"<WRITETABLE> ({self._number(output)},{self._output(output)})")
        return "\n".join(self.lines) + "\n"

    def _cannot(self, what: str, hint: str = "Change it, or keep the recipe.") -> ParameterError:
        return ParameterError(f"A batch file cannot say: {what}.", hint=hint)

    def _open(self, command: str, data: str, metadata: str) -> None:
        self.lines += [f"{command} {_quoted(data)}", f"<OPENMETADATA> {_quoted(metadata)}"]

    def _refuse(self) -> None:
        recipe = self.recipe
        for name in ("links", "already_published", "hierarchies", "pattern", "one_pattern"):
            if getattr(recipe, name):
                raise self._cannot(f"[{name}]")
        if len(recipe.protect) != 1:
            raise self._cannot(counted(len(recipe.protect), "method"))
        if recipe.assess.profile != "argus":
            raise self._cannot(
                f"[assess] profile = {recipe.assess.profile!r}", "Use profile = 'argus': the levels are those then."
            )
        for part in recipe.tables:
            for name in ("filter", "status", "period", "absolute", "compute_totals", "disjoint", "slack"):
                if getattr(part, name):
                    raise self._cannot(f"{name} of a table")

    def _specify(self, part: RecipeTable, method: Mapping[str, Any]) -> str:
        cost = str(method.get("cost", "value"))
        if cost not in (*COSTS, "variable"):
            raise self._cannot(f"cost = {cost!r}")
        word = part.cost or "" if cost == "variable" else COSTS[cost]
        exponent = 0.0 if cost == "log" else float(method.get("exponent", 1.0))
        shown = _quoted(word) if word and not word.startswith("-") else word
        if exponent != 1.0:
            shown = f"{shown or _quoted(part.value or '')},{number_text(exponent)}"
        by = "".join(_quoted(name) for name in part.by)
        value = _quoted(part.value) if part.value else '"<freq>"'
        return f"{by}|{value}|{_quoted(part.shadow) if part.shadow else ''}|{shown}"

    def _rules(self, part: RecipeTable) -> str:
        mine = [dict(rule) for rule in self.recipe.rules if part.name in rule.get("tables", [part.name])]
        words: list[str] = []
        for kinds, each, nothing in (
            (("p_percent", "prior_posterior", "dominance"), 2, "P(0,0)"),
            (("min_frequency", "min_contributors"), 1, "FREQ(0,0)"),
            (("request",), 1, "REQ(0,0,0,0)"),
        ):
            found = [rule for rule in mine if rule["kind"] in kinds]
            alone = [self._rule(rule) for rule in found if self._is_individual(rule)]
            together = [self._rule(rule) for rule in found if not self._is_individual(rule)]
            if len(alone) > each or len(together) > each:
                raise self._cannot(f"more than {counted(each, 'rule')} {', '.join(kinds)} of one level")
            if together:
                alone += [nothing] * (each - len(alone))
            words += [*alone, *together]
        other = [rule for rule in mine if rule["kind"] == "zero_unsafe"]
        words += [f"ZERO({_text(rule.get('range', 1))})" for rule in other]
        known = ("p_percent", "prior_posterior", "dominance", "min_frequency", "min_contributors", "request")
        for rule in mine:
            if rule["kind"] not in (*known, "zero_unsafe"):
                raise self._cannot(f"rule {rule['kind']!r}")
            for name in ("inclusive", "weights"):
                if rule.get(name):
                    raise self._cannot(f"{name} of rule {rule['kind']!r}")
            if rule["kind"].startswith("min_") and part.value and not rule.get("zeros"):
                raise self._cannot(
                    f"rule {rule['kind']!r} of contributors with a value",
                    "Give it zeros = true: the program counts all.",
                )
        if self.recipe.data.file is not None and part.weight is not False and self.metadata.the("weight") is not None:
            words.append("WGT(1)")
        if self.recipe.assess.missing_safe:
            words.append("MIS(1)")
        if self.recipe.assess.manual_range != 20.0:
            words.append(f"MAN({_text(self.recipe.assess.manual_range)})")
        return "|".join(words)

    def _is_individual(self, rule: Mapping[str, Any]) -> bool:
        if rule["kind"] in ("min_frequency", "min_contributors"):
            return rule["kind"] == "min_frequency" or not self.holding
        return rule.get("level", "holding") == "record" or not self.holding

    def _rule(self, rule: Mapping[str, Any]) -> str:
        kind = rule["kind"]
        if kind == "p_percent":
            return f"P({_text(rule['p'])},{rule.get('coalition', 1)})"
        if kind == "prior_posterior":
            return f"P({_text(rule['p'])},{_text(rule.get('q', 100))},{rule.get('coalition', 1)})"
        if kind == "dominance":
            return f"NK({rule['n']},{_text(rule['k'])})"
        wide = _text(rule.get("range", DEFAULT_RANGE))
        if kind == "request":
            second = rule.get("p2", rule["p1"])
            return f"REQ({_text(rule['p1'])},{_text(second)},{rule.get('n', 1)},{wide})"
        return f"FREQ({rule['n']},{wide})"

    def _check_method(self, method: Mapping[str, Any]) -> None:
        """Refuse parameters that a batch would silently lose; what --strict-argus sets is said in a comment."""
        kind, algorithm = str(method["method"]), str(method.get("algorithm", "certified"))
        more = set(method) - SAID.get(kind, set())
        if kind == "suppress" and more == {*STRICT, "accept"} and all(method[k] == v for k, v in STRICT.items()):
            self.lines.insert(0, "// made for --strict-argus")
        elif more and kind in SAID:
            raise self._cannot(f"{', '.join(sorted(more))} of method {kind!r}")
        elif kind == "suppress" and algorithm in ("hypercube", "modular", "network") and not method.get("repair"):
            raise self._cannot("repair = false of method 'suppress'", "Use repair = true, or --strict-argus.")
        more = set(method.get("settings", {})) - SAID_SETTINGS.get(algorithm, set())
        if more:
            raise self._cannot(f"settings {', '.join(sorted(more))} of algorithm {algorithm!r}")

    def _method(self, method: Mapping[str, Any], table: int) -> str:
        kind = method["method"]
        self._check_method(method)
        if kind == "adjust":
            return f"CTA({table})"
        if kind == "round":
            minutes = float(method.get("time_limit") or 0) / 60
            stop = 1 if method.get("effort") == 0 else 2
            return f"RND({table},{_text(method['base'])},{int(method.get('steps', 1)) - 1},{_text(minutes)},0,{stop})"
        if kind == "cell_key":
            return f"CKM({table}){self._noise(method)}"
        algorithm = str(method.get("algorithm", "certified"))
        if kind != "suppress" or algorithm not in METHODS:
            raise self._cannot(
                f"method {kind!r} with algorithm {algorithm!r}", "Use GH, MOD, OPT or NET of batch files."
            )
        settings = dict(method.get("settings", {}))
        if algorithm == "hypercube":
            single = int(settings.get("singletons", "double") != "none")
            return f"GH({table},{_text(settings.get('known_within') or 0)},0,{single})"
        if algorithm == "modular":
            single = int(settings.get("singletons", "sums") != "none")
            few = int(single and settings.get("least_contributors", 1) > 0)
            return f"MOD({table},0,{single},{single},{few}{self._carried(settings)})"
        if algorithm == "optimal":
            minutes = float(method.get("time_limit") or 0) / 60
            return f"OPT({table},{_text(minutes)})"
        return f"NET({table})"

    def _noise(self, method: Mapping[str, Any]) -> str:
        """Noise tables behind CKM; how large the noise of magnitudes is must stand in the metadata."""
        given = method.get("magnitudes")
        if given is None:
            return _quoted(str(method["noise"])) if method.get("noise") else ""
        names = [part.value for part in self.recipe.tables if part.value]
        said = magnitude_record(self.metadata[names[0]]) if names else {}
        parity = said.pop("parity", False)
        more = {"noise", "small_noise", "extra", *(["odd"] if parity else [])}
        rest = {name: value for name, value in given.items() if name not in more}
        if rest != said or (parity and given.get("odd") != given.get("noise")):
            raise self._cannot("magnitudes that the metadata do not describe", "Set <CKM> and <SCALING> as they are.")
        words = [_quoted(str(given.get(name, ""))) if given.get(name) else "" for name in ("noise", "small_noise")]
        text = "|".join([*words, _text(given["extra"]) if given.get("extra") else ""])
        return text.rstrip("|")

    def _carried(self, settings: Mapping[str, Any]) -> str:
        """How far secondaries must be able to move elsewhere, as a share below and above the value."""
        if "carried" not in settings:
            return ""
        share = float(settings["carried"]) / 100
        return f",,{_text(round(1 - share, 8))},{_text(round(1 + share, 8))}"

    def _number(self, output: ArgusFilePart) -> int:
        names = [part.name for part in self.recipe.tables]
        return 1 if output.table is None else names.index(output.table) + 1

    def _output(self, output: ArgusFilePart) -> str:
        return f"{NUMBER_OF_KIND[output.kind]},{output.options},{_quoted(output.file)}"


def _quoted(text: str) -> str:
    if '"' in text or "\n" in text:
        raise ParameterError(f"A batch file cannot hold {text!r}.", hint="Rename it.")
    return f'"{text}"'


def _text(number: Any) -> str:
    return number_text(float(number))
