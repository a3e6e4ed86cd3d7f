"""Alternatives as evidence: which are read both ways, how wide their numbers are, and whether they have fractions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.model.evidence import DOWN, UP, Certificates
from discreet.relations import System, build_system
from discreet.solve.small import Alternative
from discreet.tables.suppress.families import Member
from discreet.tables.suppress.proof import certificates_and_proofs, has_fractions
from tests.tables.rounding.making import table


@pytest.fixture(scope="module")
def system() -> System:
    return build_system(table([10, 20, 30]).marked({("a0",): "U", ("a1",): "U"}).assess())


def alternative(*amounts: int, wide: bool = False, denominator: int = 1) -> Alternative:
    """Cells from the second on move by these amounts."""
    cells = np.arange(1, 1 + len(amounts), dtype=np.int32)
    return Alternative(cells, np.array(amounts, object if wide else np.int64), denominator, 0.0)


def made(system: System, *found: Alternative, unit: int = 1, sign: int = 1) -> Certificates:
    families = {1: [Member(UP, one, sign) for one in found]}
    return certificates_and_proofs(system, families, np.full(len(system), unit))[0]


def test_only_what_is_taken_with_the_opposite_sign_is_read_both_ways(system):
    one, other = alternative(5, -5), alternative(7, -7)
    families = {1: [Member(UP, one, 1), Member(DOWN, one, -1)], 2: [Member(UP, other, 1)]}
    certificates, proofs = certificates_and_proofs(system, families, np.ones(len(system), np.int64))
    assert certificates.both.tolist() == [True, False]
    assert certificates.amount.tolist() == [5, -5, 7, -7]
    assert proofs.certificate.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("found", "unit", "wide"),
    [
        ([alternative(2**40, -(2**40))], 1, False),
        ([alternative(2**40, -(2**40))], 2**30, True),
        ([alternative(3, -(2**40))], 2**30, True),
        ([alternative(3, -3), alternative(2**40, -(2**40))], 2**30, True),
        ([alternative(3, -3), alternative(2**70, -(2**70), wide=True)], 1, True),
        ([alternative(2**62 - 1, -5)], 1, True),
        ([alternative(2**62 - 2, -5)], 1, False),
    ],
)
def test_amounts_that_do_not_fit_are_kept_in_wide_integers(system, found, unit, wide):
    certificates = made(system, *found, unit=unit)
    assert (certificates.amount.dtype == object) is wide
    assert certificates.amount.tolist() == [unit * int(a) for one in found for a in one.amount]


@pytest.mark.parametrize("decimals", [0, 2])
def test_fractions_of_the_last_decimal_are_seen(system, decimals):
    system = replace(system, decimals=decimals)
    one = 10**decimals
    assert not has_fractions(system, made(system, alternative(3 * one, -3 * one)))
    assert not has_fractions(system, made(system, alternative(6 * one, -6 * one, denominator=2)))
    assert has_fractions(system, made(system, alternative(one, -one), alternative(one, -one, denominator=2)))
    assert has_fractions(system, made(system, alternative(one, -one + 1))) is (decimals > 0)
