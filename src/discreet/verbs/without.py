"""A release of records made again without one of its steps."""

from __future__ import annotations

from typing import Any

from discreet.errors import ParameterError, counted
from discreet.methods.base import Method
from discreet.methods.registry import method_from_record
from discreet.model.custodian import RecordCustodian
from discreet.model.release import Release
from discreet.rules.records import record_rule_from_record
from discreet.verbs.protect_records import release_of
from discreet.verbs.step_effects import step_said
from discreet.verbs.steps import Steps, as_steps, refuse_for_records
from discreet.watching import watched


@watched
def without(release: Release[Any], step: int | str, *instead: Steps) -> Release[RecordCustodian]:
    """A release of records made again without one step; see :meth:`Release.without`."""
    custodian = release.custodian
    if not isinstance(custodian, RecordCustodian):
        raise ParameterError(
            "without() is for releases of records; tables do not hold the records that steps changed.",
            hint="Protect the tables again with other methods.",
        )
    done: list[Method] = [method_from_record(record) for record in custodian.log["protect"]]
    place = _place(step, custodian)
    done[place : place + 1] = [method.with_files_read() for method in as_steps(instead)] if instead else []
    if not done:
        raise ParameterError("No step would be left.", hint="Name methods that take its place: without(0, method).")
    return release_of(
        custodian.original,
        refuse_for_records(done),
        [record_rule_from_record(record) for record in custodian.rules],
        key=custodian.key,
        keep_order=custodian.keeps_order,
        name=custodian.name,
    )


def _place(step: int | str, custodian: RecordCustodian) -> int:
    """The place of a step that is given by number, by method, or as "recode" with its column."""
    said = [step_said(record) for record in custodian.log["protect"]]
    shown = ", ".join(f"{number}: {text}" for number, text in enumerate(said))
    if isinstance(step, int) and not isinstance(step, bool):
        if not -len(said) <= step < len(said):
            raise ParameterError(
                f"There is no step {step} among {counted(len(said), 'step')}.", hint=f"The steps are {shown}."
            )
        return step % len(said)
    found = [number for number, text in enumerate(said) if step in (text, text.partition(" ")[0])]
    if len(found) != 1:
        what = "names no step" if not found else f"names {counted(len(found), 'step')}"
        raise ParameterError(f"{step!r} {what} of the release.", hint=f"Give a number: {shown}.")
    return found[0]
