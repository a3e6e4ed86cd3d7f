"""What rules for records say of a public file, in words, and what they leave open."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from discreet.errors import listed
from discreet.model.claims.records import combined_keys

MEANINGS = {
    "category": "an empty field is a value of its own",
    "any": "an empty field agrees with every value",
    "exempt": "records are not judged by combinations in which they are empty",
}
"""What an empty field means to a rule."""
OPEN_MEANINGS = {
    "any": (
        "rows of the public file that occur less often as they stand: an empty field was counted as every value, and "
        "two records with nothing in them agree with everybody"
    ),
    "exempt": "records with an empty field: the rule does not judge them, though one may fit a single person",
}
"""What a rule leaves open where an empty field is not a value of its own."""


class RuleWords(NamedTuple):
    """What a rule says of a public file where it holds, and what it leaves open."""

    statement: str
    not_considered: tuple[str, ...] = ()


def rule_words(rule: Mapping[str, Any]) -> RuleWords:
    """A rule for records in words, from plain data."""
    return WORDS[str(rule["kind"])](rule)


ABOUT_VALUES = ("l_diversity", "t_closeness", "beta_likeness")
"""Rules on what sensitive values tell."""


def some_untold(rules: Sequence[Mapping[str, Any]], sensitive: Collection[str]) -> bool:
    """Whether there is a sensitive column on whose values no rule looks."""
    return not set(sensitive) <= {rule.get("sensitive") for rule in rules if rule["kind"] in ABOUT_VALUES}


def anonymity_words(rule: Mapping[str, Any]) -> RuleWords:
    """What k-anonymity says."""
    unit, meaning = "times", str(rule["missing"])
    left_out: tuple[str, ...] = ()
    if rule.get("household"):
        unit = f"times in different households ({rule['household']})"
    elif rule.get("weight"):
        unit = f"times by the weights ({rule['weight']})"
        left_out = ("readers who know who is in the sample: weights count those who are not",)
    tables = rule.get("combinations") or ()
    if tables:
        parts = [f"{', '.join(table['keys'])} ({table['k']})" for table in tables]
        what = (
            f"Every combination of values that occurs in the public file occurs at least so many {unit} as stated "
            f"beside its columns: {listed(parts, 20)}"
        )
    else:
        known = combined_keys(rule["keys"], rule.get("size"))
        known = f"{known}, or fewer of them," if meaning == "exempt" and "size" in rule else known
        what = (
            f"Every combination of values of {known} that occurs in the public file occurs at least {rule['k']} {unit}"
        )
    if meaning in OPEN_MEANINGS:
        left_out = (*left_out, OPEN_MEANINGS[meaning])
    return RuleWords(f"{what}; {MEANINGS[meaning]}.", left_out)


def diversity_words(rule: Mapping[str, Any]) -> RuleWords:
    """What l-diversity says."""
    l_, sensitive = rule["l"], rule["sensitive"]
    if rule["form"] == "distinct":
        what = f"at least {l_} different values of {sensitive}"
    elif rule["form"] == "entropy":
        what = f"values of {sensitive} whose entropy is at least that of {l_} equally frequent ones"
    else:
        what = (
            f"no value of {sensitive} that is {rule['c']:g} times as common as all those from the {l_}th commonest on"
        )
    gaps = "empty fields and codes for unknown are no values of it: it holds with them and without them"
    return _class_words(rule, f"have {what}; {gaps}", ("which of the values in a class are alike in meaning",))


def closeness_words(rule: Mapping[str, Any]) -> RuleWords:
    """What t-closeness says."""
    ways = {
        "equal": "all values are equally far apart",
        "ordered": "values lie in their order",
        "hierarchical": "values lie along the stated hierarchy",
    }
    what = f"have values of {rule['sensitive']} whose distribution lies at most {rule['t']:g} from that of all records"
    return _class_words(rule, f"{what} ({ways[rule['distance']]})", ())


def likeness_words(rule: Mapping[str, Any]) -> RuleWords:
    """What beta-likeness says."""
    bound = f"{rule['beta']:g}"
    if rule["form"] == "enhanced":
        bound = f"the lesser of {bound} and minus the logarithm of its share among all"
    what = (
        f"have no value of {rule['sensitive']} that is commoner among them than among all records by more than {bound}"
    )
    return _class_words(rule, f"{what}, as a share of what it is among all", ())


def _class_words(rule: Mapping[str, Any], what: str, left_out: tuple[str, ...]) -> RuleWords:
    meaning = str(rule["missing"])
    if meaning == "exempt":
        left_out = (*left_out, OPEN_MEANINGS["exempt"])
    keys = listed(rule["keys"])
    return RuleWords(f"Records of the public file that agree in {keys} {what}; {MEANINGS[meaning]}.", left_out)


POPULATION_TRUE = "whether the stated population is the true one, and whether readers know a better one"
BLANK_TELLS = "what an empty field tells by being empty: it was counted as every value"


def map_words(rule: Mapping[str, Any]) -> RuleWords:
    """What k-map says."""
    what = (
        f"Every record of the public file fits at least {rule['k']} of the {rule['population']['total']:,} units of "
        f"the stated population by {listed(rule['keys'])}; an empty field agrees with every value."
    )
    return RuleWords(what, (POPULATION_TRUE, BLANK_TELLS))


def presence_words(rule: Mapping[str, Any]) -> RuleWords:
    """What delta-presence says."""
    what = (
        f"By {listed(rule['keys'])}, everybody among the {rule['population']['total']:,} units of the stated "
        f"population is in the public file with a chance of {rule['lower']:g} to {rule['upper']:g}; a record with "
        "empty fields adds its share to every unit that it fits."
    )
    return RuleWords(what, (POPULATION_TRUE, BLANK_TELLS))


def linked_words(rule: Mapping[str, Any]) -> RuleWords:
    """What the rule on linkage says."""
    what = (
        f"Whoever takes every released record for the original one with the nearest numbers of "
        f"{listed(rule['columns'])}, each in units of its standard deviation, is right in at most "
        f"{rule['share']:.1%} of up to {rule['sample']:,} records that were tried; equally near ones share the guess."
    )
    return RuleWords(what, (OTHER_LINKS,))


OTHER_LINKS = (
    "other ways to find records again: by other distances, by keys beside the numbers, or by knowing the method"
)
WORDS = {
    "k_anonymity": anonymity_words,
    "l_diversity": diversity_words,
    "t_closeness": closeness_words,
    "beta_likeness": likeness_words,
    "k_map": map_words,
    "delta_presence": presence_words,
    "max_linked": linked_words,
}
"""For every rule for records what says it in words."""
