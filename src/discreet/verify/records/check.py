"""The checks of a release of records, in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from discreet.model.claims.record_rules import some_untold
from discreet.model.claims.records import release_left_out
from discreet.model.custodian import RecordCustodian
from discreet.verify.records.added_noise import check_added_noise
from discreet.verify.records.blanked import check_blanked
from discreet.verify.records.blanked_values import check_blanked_values, check_published_blankings, public_blankings
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.expected import HIDDEN, expected_public, refuse_names
from discreet.verify.records.generalised import check_generalised
from discreet.verify.records.linked import check_linked
from discreet.verify.records.microaggregated import check_microaggregated
from discreet.verify.records.multiplied_records import check_multiplied_records
from discreet.verify.records.piecewise import check_pieced
from discreet.verify.records.randomised import check_pram, check_published_matrices, public_matrices
from discreet.verify.records.randomly_rounded import check_randomly_rounded
from discreet.verify.records.rank_swapped import check_rank_swapped
from discreet.verify.records.recoded import check_recoded
from discreet.verify.records.redrawn import check_redrawn
from discreet.verify.records.regressed import check_regressed
from discreet.verify.records.residual import check_residual, with_first_stages
from discreet.verify.records.reweighted import check_reweighted, check_weights_last
from discreet.verify.records.rules import check_rule
from discreet.verify.records.shuffled import check_shuffled
from discreet.verify.records.swapped_records import check_swapped_records
from discreet.verify.records.synthesised import check_synthesised
from discreet.verify.records.words import expected_words
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.model.public import PublicRelease

METHODS: dict[str, Callable[[CheckedStep], None]] = {
    "add_noise": check_added_noise,
    "blank_values": check_blanked_values,
    "generalise": check_generalised,
    "ipso": check_regressed,
    "local_suppress": check_blanked,
    "microaggregate": check_microaggregated,
    "mask_residual": check_residual,
    "microaggregated_swap": check_pieced,
    "multiplicative_noise": check_multiplied_records,
    "rank_swap": check_rank_swapped,
    "pram": check_pram,
    "recode": check_recoded,
    "redraw": check_redrawn,
    "reweight": check_reweighted,
    "round_randomly": check_randomly_rounded,
    "shuffle": check_shuffled,
    "swap": check_swapped_records,
    "synthesise": check_synthesised,
}
"""Methods for records, and how their claims are checked."""


def check_records(custodian: RecordCustodian, public: PublicRelease) -> Verdict:
    """Re-check every claim of a release of records."""
    verdict = Verdict()
    expected = check_claims(verdict, custodian)
    shown = public.records
    if expected is None:
        return verdict
    if public.tables or shown is None:
        verdict.refuse("public", "the public part is not one file of records")
        return verdict
    before = len(verdict.refused)
    if shown.variables != tuple(expected.column_names) or not shown.columns.schema.equals(expected.schema):
        verdict.refuse("public", "the public columns are not those that the release gives")
    elif not shown.columns.equals(expected):
        verdict.refuse("public", "the public records are not those that the release gives")
    _check_words(verdict, custodian, public, expected)
    told = [matrix.record() for matrix in shown.matrices]
    if verdict.holds and told != public_matrices([step.evidence for step in custodian.steps]):
        verdict.refuse("public", "the published transition matrices are not those of the evidence")
    blankings = [blanking.record() for blanking in shown.blankings]
    if verdict.holds and blankings != public_blankings([step.evidence for step in custodian.steps]):
        verdict.refuse("public", "the published probabilities and variances are not those of the evidence")
    verdict.prove("the public records show what the release gives, and nothing else", before)
    return verdict


def check_claims(verdict: Verdict, custodian: RecordCustodian) -> pa.Table | None:
    """Check all steps and rules; the answer is what the public file must hold."""
    last = {name: custodian.original.columns[name] for name in custodian.original.names}
    for number, done in enumerate(custodian.steps):
        changed = {name: done.changed[name] for name in done.changed.column_names}
        earlier = tuple(one for before in custodian.steps[:number] for one in with_first_stages(before.evidence))
        step = CheckedStep(verdict, custodian.original, dict(last), changed, done.evidence, earlier, custodian.key)
        if not _fits(step):
            return None
        try:
            METHODS[step.kind](step)
            check_published_matrices(step)
            check_published_blankings(step)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            step.refuse(f"what is stated of the method cannot be used ({type(error).__name__})")
        last.update(changed)
    check_weights_last(verdict, custodian)
    public = expected_public(verdict, custodian, last)
    if public is None:
        return None
    refuse_names(verdict, custodian, public)
    unknown = {name: custodian.original.about(name).missing for name in custodian.original.names}
    for rule in custodian.rules:
        if rule["kind"] == "max_linked":
            check_linked(verdict, custodian.original, last, rule)
        else:
            check_rule(verdict, public, rule, unknown)
    if not custodian.rules:
        verdict.not_judged.append(f"records {custodian.name}")
    _say_what_is_known(verdict, custodian)
    return public


def _fits(step: CheckedStep) -> bool:
    """Whether a step is one that can be checked: a known method that changed columns of the records, all rows."""
    before = len(step.verdict.refused)
    if step.kind not in METHODS or step.method.get("method") != step.kind:
        step.verdict.refuse("evidence", f"{step.kind[:60]!r} is no method for records that this checker knows")
    for name, column in step.changed.items():
        if name not in step.before or len(column) != len(step.original):
            step.refuse("a changed column is not one of the records, or has other rows", name)
        elif step.original.about(name).role in HIDDEN:
            step.refuse("an identifier is called changed", name)
        elif _marked(column):
            step.refuse("a changed column has numbers that are not finite, or zeros with a sign", name)
    return len(step.verdict.refused) == before


def _marked(column: pa.ChunkedArray) -> bool:
    """Whether numbers tell more than their size: signs of zeros would mark records, and files would show them."""
    import pyarrow as pa

    if not pa.types.is_floating(column.type):
        return False
    values = np.asarray(column.drop_null().to_numpy())
    return not bool(np.isfinite(values).all()) or bool((np.signbit(values) & (values == 0)).any())


def _say_what_is_known(verdict: Verdict, custodian: RecordCustodian) -> None:
    """Roles, and what is not considered."""
    roles: dict[str, list[str]] = {}
    for name in custodian.original.names:
        role = custodian.original.about(name).role
        if role:
            roles.setdefault(role, []).append(name)
    altered = {name for step in custodian.steps for name in step.changed.column_names}
    others = {*HIDDEN, "household"}
    same = [n for n in custodian.original.names if n not in altered and custodian.original.about(n).role not in others]
    if verdict.holds:
        verdict.proved.append(f"columns that are as they were: {', '.join(same) or 'none'}")
    said = "; ".join(f"{role} {', '.join(names)}" for role, names in roles.items()) or "none"
    verdict.asserted.append(f"the roles of the columns: {said}")
    verdict.take_for_granted("that the original records are the true ones", "cells")
    untold = some_untold(custodian.rules, roles.get("sensitive", ()))
    verdict.not_considered += release_left_out(bool(custodian.rules), sensitive=untold, households="household" in roles)


def _check_words(verdict: Verdict, custodian: RecordCustodian, public: PublicRelease, expected: pa.Table) -> None:
    """What is said of the columns: altered where a step changed them or households were numbered anew."""
    shown = public.records
    assert shown is not None
    for name, wanted in expected_words(custodian, expected).items():
        said = shown.info.get(name)
        if said is None or said.altered != wanted.altered:
            verdict.refuse("public", "a column is not said to be altered although it is, or the other way round", name)
        elif said != wanted:
            verdict.refuse("public", "a column has other labels than the original one", name)
    if shown.keeps_order != custodian.keeps_order or shown.name != custodian.name:
        verdict.refuse("public", "the public file says something else of its name or of the order of its rows")
