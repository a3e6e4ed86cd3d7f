"""What the sensitive values of records that agree in their keys tell, counted anew from the public file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import exp, inf, log
from typing import TYPE_CHECKING, Any

from discreet.errors import counted
from discreet.model.claims.record_rules import rule_words
from discreet.model.records import MissingRange
from discreet.verify.records.counting import complete_rows
from discreet.verify.records.words import code_of, is_unknown
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

NEARLY = 1e-9
"""Shares are floating-point numbers."""

Unknown = Mapping[str, Sequence[MissingRange]]
Values = Mapping[Any, int]
"""How often each value of a class occurs; an empty field is ``None``."""
Judge = Callable[[Values], bool]


def check_sensitive(verdict: Verdict, public: pa.Table, rule: Mapping[str, Any], unknown: Unknown) -> None:
    """A rule on the sensitive values of classes holds in the public file."""
    before = len(verdict.refused)
    keys, sensitive = [str(name) for name in rule["keys"]], str(rule.get("sensitive", ""))
    name = str(rule["kind"]).replace("_", "-")
    if not keys or len(set(keys)) < len(keys) or not {*keys, sensitive} <= set(public.column_names):
        verdict.refuse("rules", f"the columns of {name} are not columns of the public file")
        return
    if sensitive in keys:
        verdict.refuse("rules", f"the sensitive column of {name} is a key", sensitive)
        return
    whole = Counter(public[sensitive].to_pylist())
    judge = _judge(verdict, rule, whole, unknown.get(sensitive, ()), sensitive)
    if judge is None:
        return
    classes = _classes(public, keys, sensitive, rule, unknown)
    wrong = sum(sum(values.values()) for values in classes if not judge(values))
    if wrong:
        verdict.refuse("rules", f"{counted(wrong, 'record', 'are')} in classes that break {name}", ", ".join(keys))
    words = rule_words(rule)
    verdict.prove(words.statement, before)
    verdict.not_considered += words.not_considered


def _classes(
    public: pa.Table, keys: Sequence[str], sensitive: str, rule: Mapping[str, Any], unknown: Unknown
) -> list[dict[Any, int]]:
    """How often each sensitive value occurs in each class."""
    import pyarrow as pa

    if rule["missing"] == "exempt":
        public = public.filter(complete_rows(public, keys, unknown))
    named = {str(place): public[name] for place, name in enumerate(keys)}
    pairs = pa.table({**named, "value": public[sensitive]}).group_by([*named, "value"]).aggregate([([], "count_all")])
    found: dict[tuple[Any, ...], dict[Any, int]] = {}
    columns = [pairs[name].to_pylist() for name in named]
    for row, value, count in zip(
        zip(*columns, strict=True), pairs["value"].to_pylist(), pairs["count_all"].to_pylist(), strict=True
    ):
        found.setdefault(row, {})[value] = count
    return list(found.values())


def _judge(
    verdict: Verdict, rule: Mapping[str, Any], whole: Values, unknown: Sequence[MissingRange], sensitive: str
) -> Judge | None:
    """What says of a class whether it keeps the rule; nothing where the rule cannot be used."""
    kind = rule["kind"]
    if kind == "l_diversity":
        said = {value for value in whole if value is not None and not is_unknown(value, unknown)}
        if (rule["form"] == "recursive") != ("c" in rule) or rule.get("c", 1) <= 0:
            verdict.refuse("rules", "l-diversity does not say how its values are weighed")
            return None
        return lambda values: _diverse(rule, values, [n for value, n in values.items() if value in said])
    if kind == "beta_likeness":
        return lambda values: _like(rule, values, whole)
    places = _places(verdict, rule, whole, unknown, sensitive)
    if places is None:
        return None
    return lambda values: _distance(places, values, whole) <= rule["t"] + NEARLY


def _diverse(rule: Mapping[str, Any], values: Values, known: list[int]) -> bool:
    """Whether a class has enough values, with those that are not known and without."""
    if rule["form"] == "distinct":
        return len(known) >= int(rule["l"])
    for counts in (known, list(values.values())):
        if rule["form"] == "entropy":
            total = sum(counts)
            spread = exp(-sum(n / total * log(n / total) for n in counts)) if counts else 0.0
            if spread < rule["l"] * (1 - NEARLY):
                return False
            continue
        down = sorted(counts, reverse=True)
        tail = sum(down[rule["l"] - 1 :])
        if (down[0] / tail if tail else inf) >= rule["c"] * (1 - NEARLY):
            return False
    return True


def _like(rule: Mapping[str, Any], values: Values, whole: Values) -> bool:
    """Whether no value is much commoner in a class than among all."""
    total, everybody = sum(values.values()), sum(whole.values())
    for value, count in values.items():
        usual = whole[value] / everybody
        gain = count / total / usual - 1
        most = min(rule["beta"], -log(usual)) if rule["form"] == "enhanced" else rule["beta"]
        if gain > NEARLY and gain > most * (1 + NEARLY):
            return False
    return True


Places = list[tuple[float, frozenset[Any]]]
"""Sets of values and a length for each: the distance is the sum of lengths times what must cross into each set."""


def _distance(places: Places, values: Values, whole: Values) -> float:
    total, everybody = sum(values.values()), sum(whole.values())
    off = {value: values.get(value, 0) / total - count / everybody for value, count in whole.items()}
    return sum(length * abs(sum(off[value] for value in inside)) for length, inside in places)


def _places(
    verdict: Verdict, rule: Mapping[str, Any], whole: Values, unknown: Sequence[MissingRange], sensitive: str
) -> Places | None:
    """The sets of values into which mass is moved, each with the length of the way."""
    if rule["distance"] == "equal":
        return [(0.5, frozenset([value])) for value in whole]
    if rule["distance"] == "ordered":
        return _line(verdict, rule, whole, unknown, sensitive)
    return _branches(verdict, rule, whole, unknown, sensitive)


def _line(
    verdict: Verdict, rule: Mapping[str, Any], whole: Values, unknown: Sequence[MissingRange], sensitive: str
) -> Places | None:
    order = {code: place for place, code in enumerate(rule.get("order", ()))}
    try:
        if any(value is None or is_unknown(value, unknown) for value in whole):
            raise ValueError
        line = sorted(whole, key=lambda value: order[code_of(value)] if order else float(code_of(value)))
    except (LookupError, ValueError):
        verdict.refuse("rules", "the values of t-closeness have no order", sensitive)
        return None
    return [(1 / (len(line) - 1), frozenset(line[: i + 1])) for i in range(len(line) - 1)]


def _branches(
    verdict: Verdict, rule: Mapping[str, Any], whole: Values, unknown: Sequence[MissingRange], sensitive: str
) -> Places | None:
    above = {str(code): str(up) for code, up in rule.get("above", {}).items()}
    lines: dict[str, list[str]] = {}
    for code in {*above, *above.values()}:
        line = [code]
        while line[-1] in above and len(line) <= len(above) + 1:
            line.append(above[line[-1]])
        lines[code] = line
    tops = {line[-1] for line in lines.values()}
    known = [value for value in whole if value is not None and not is_unknown(value, unknown)]
    if len(tops) != 1 or any(code_of(value) not in lines for value in known):
        verdict.refuse("rules", "the hierarchy of t-closeness is none, or lacks a value", sensitive)
        return None
    top = tops.pop()
    height = dict.fromkeys(lines, 0)
    for line in lines.values():
        for steps, code in enumerate(line):
            height[code] = max(height[code], steps)
    high = max(height[top], 1)
    under: dict[str, set[Any]] = {}
    for value in whole:
        for code in () if value is None else lines.get(code_of(value), ()):
            under.setdefault(code, set()).add(value)
    found: Places = [
        ((height[above[code]] - height[code]) / (2 * high), frozenset(inside))
        for code, inside in under.items()
        if code != top
    ]
    for value in whole:
        # A value that stands above others hangs under its own code; one that the hierarchy does not have, at the top.
        own = "" if value is None else code_of(value)
        at_home = value is not None and own in lines
        found.append((height[own] / (2 * high) if at_home else 0.5, frozenset([value])))
    return found
