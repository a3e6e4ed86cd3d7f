"""The gate: what is refused before anything is worked out, with the reason and what to ask instead."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from discreet.errors import counted, listed, unknown_name
from discreet.server.question import Question, QuestionBody, QuestionRefusal, Selection, asked

if TYPE_CHECKING:
    from discreet.server.dataset import Dataset

MEASURES = ("sum", "mean", "percent", "rse")


def admitted(dataset: Dataset, body: QuestionBody) -> tuple[Question, Selection]:
    """A question in its canonical form, and what is to be shown of its answer.

    Raises
    ------
    QuestionRefusal
        When the data set does not answer it, whoever asks.
    """
    variables = asked(body.variables)
    if not variables:
        raise QuestionRefusal("no-variables", "The question names no variables.", hint="Give at least one.", status=400)
    names = [item.name for item in variables]
    for name in names:
        if name not in dataset.levels:
            raise QuestionRefusal("unknown-variable", unknown_name("variable", name[:80], dataset.levels), status=404)
    if len(set(names)) < len(names):
        raise QuestionRefusal("twice", "The question names a variable twice.", hint="Name each once.", status=400)
    levels = []
    for item in variables:
        there = len(dataset.levels[item.name])
        if item.level is not None and not 1 <= item.level <= there:
            raise QuestionRefusal(
                "unknown-level",
                f"{item.name!r} has no level {item.level}.",
                hint=f"Give 1 to {there}, or leave it out for the finest.",
                status=404,
            )
        levels.append(item.level or there)
    _check_whom(dataset, body, names)
    _check_value(dataset, body)
    question = Question(
        dataset.name,
        dataset.edition,
        body.universe,
        body.area,
        tuple(sorted(zip(names, levels, strict=True))),
        body.value,
    )
    _check_combination(dataset, question)
    cells = estimated_cells(dataset, question)
    if cells > dataset.policy.most_cells:
        raise QuestionRefusal(
            "too-many-cells",
            f"The table would have up to {cells:,} cells, and {dataset.policy.most_cells:,} are answered at most.",
            hint="Leave a variable out, or ask for a coarser level of one (name:1).",
            status=413,
        )
    return question, _selection(dataset, question, body, names)


def estimated_cells(dataset: Dataset, question: Question) -> int:
    """How many cells a table can have at most, margins included."""
    return prod(len(dataset.levels[name][level - 1].hierarchy) for name, level in question.variables)


def _check_whom(dataset: Dataset, body: QuestionBody, names: list[str]) -> None:
    if body.universe not in dataset.conditions:
        raise QuestionRefusal(
            "unknown-universe", unknown_name("universe", body.universe[:80], dataset.conditions), status=404
        )
    if body.area is None:
        return
    areas = dataset.areas
    if areas is None:
        raise QuestionRefusal("no-areas", "This data set has no areas.", hint="Leave area out.", status=400)
    if body.area not in areas.index:
        raise QuestionRefusal("unknown-area", unknown_name("area", body.area[:80], areas.codes), status=404)
    if dataset.geography in names:
        raise QuestionRefusal(
            "area-twice",
            f"The question is about one area and asks for {dataset.geography!r} besides.",
            hint="Leave one of them out; codes to be shown go into select.",
            status=400,
        )
    if dataset.method.kind == "drop_add":
        raise QuestionRefusal("fixed-tables", "This data set answers whole tables only.", hint="Leave area out.")
    if body.area in dataset.refused[body.universe]:
        raise QuestionRefusal(
            "small-area",
            f"Universe {body.universe!r} is not answered for area {body.area!r}: too few records, or too near to "
            "another universe.",
            hint="Ask for a larger area, or another universe.",
        )


def _check_value(dataset: Dataset, body: QuestionBody) -> None:
    if body.value is not None and body.value not in dataset.catalogue.values:
        raise QuestionRefusal(
            "unknown-value", unknown_name("value", body.value[:80], dataset.catalogue.values), status=404
        )
    if body.measure not in MEASURES:
        raise QuestionRefusal("unknown-measure", unknown_name("measure", body.measure[:80], MEASURES), status=400)
    if body.measure == "mean" and body.value is None:
        raise QuestionRefusal("no-value", "A mean needs a value.", hint="Name the value.", status=400)
    if body.measure == "rse" and (body.value is not None or dataset.facts.errors is None):
        raise QuestionRefusal(
            "no-errors",
            "Standard errors of values are not known." if body.value else "This data set has no standard errors.",
            hint="Ask for counts." if body.value else "They need replicate weights, or the clusters of a design.",
        )


def _check_combination(dataset: Dataset, question: Question) -> None:
    policy = dataset.policy
    asked_for = [name for name in question.names if name != dataset.geography]
    if len(asked_for) > policy.most_variables:
        beside = f" besides {dataset.geography}" if dataset.geography else ""
        raise QuestionRefusal(
            "too-many-variables",
            f"The question has {counted(len(asked_for), 'variable')}{beside}, and {policy.most_variables} are answered "
            "at most.",
            hint="Leave some out.",
        )
    for pair in policy.refused:
        if set(pair) <= set(question.names):
            raise QuestionRefusal(
                "not-together", f"{listed(pair)} are not answered together.", hint="Leave one of them out."
            )
    fixed = dataset.method.kind == "drop_add"  # a margin of a table, asked alone, would have other noise
    if fixed and any(level < len(dataset.levels[name]) for name, level in question.variables):
        raise QuestionRefusal("fixed-tables", "This data set answers whole tables only.", hint="Leave levels out.")
    asked_names = set(question.names)
    if policy.combinations and not any(
        asked_names == set(fine) if fixed else asked_names <= set(fine) for fine in policy.combinations
    ):
        raise QuestionRefusal(
            "not-listed",
            f"There is no table by {listed(question.names)}.",
            hint="Tables that are answered are by " + "; ".join(listed(fine) for fine in policy.combinations[:8]) + ".",
        )
    if policy.hypercube and not set(question.names) <= set(policy.hypercube):
        raise QuestionRefusal(
            "not-in-hypercube",
            "Answers are sums of one table, which does not have all these variables.",
            hint=f"Ask for {listed(policy.hypercube)}.",
        )


def _selection(dataset: Dataset, question: Question, body: QuestionBody, order: list[str]) -> Selection:
    chosen = dict(question.variables)
    for part, given in (("select", body.select), ("groups", body.groups)):
        for name in given:
            if name not in chosen:
                raise QuestionRefusal(
                    "unknown-variable",
                    unknown_name("variable", name[:80], chosen, f"the question ({part})"),
                    status=400,
                )
    codes = {name: dataset.levels[name][level - 1].hierarchy.index for name, level in chosen.items()}
    for name, wanted in body.select.items():
        if not wanted:
            raise QuestionRefusal(
                "no-codes", f"No code of {name!r} is selected.", hint="List some, or leave it out.", status=400
            )
        _known_codes(name, wanted, codes[name])
    for name, groups in body.groups.items():
        for group, members in groups.items():
            _known_codes(name, members, codes[name])
            if group in codes[name]:
                raise QuestionRefusal(
                    "group-name",
                    f"{group[:80]!r} is a code of {name!r} already.",
                    hint="Call the group otherwise.",
                    status=400,
                )
            if not members or len(set(members)) < len(members):
                raise QuestionRefusal(
                    "group-members",
                    f"Group {group[:80]!r} of {name!r} is empty or names a code twice.",
                    hint="List each code once.",
                    status=400,
                )
            _refuse_overlap(dataset, name, chosen[name], group, members)
    return Selection(
        tuple(order),
        {name: tuple(wanted) for name, wanted in body.select.items()},
        {name: {g: tuple(m) for g, m in groups.items()} for name, groups in body.groups.items()},
        body.totals,
        body.measure,
    )


def _known_codes(name: str, wanted: list[str], known: dict[str, int]) -> None:
    for code in wanted:
        if code not in known:
            raise QuestionRefusal("unknown-code", unknown_name("code", code[:80], known, f"{name!r}"), status=404)


def _refuse_overlap(dataset: Dataset, name: str, level: int, group: str, members: list[str]) -> None:
    """A code and one that it contains would be counted twice."""
    hierarchy = dataset.levels[name][level - 1].hierarchy
    seen: set[str] = set()
    for code in members:
        covered = set(hierarchy.covered(code))
        if covered & seen:
            raise QuestionRefusal(
                "group-members",
                f"Codes of group {group[:80]!r} of {name!r} overlap.",
                hint="Leave out codes that others contain.",
                status=400,
            )
        seen |= covered
