"""The checks of a release, in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import NO_LOWER, NO_UPPER, Ints
from discreet.model.evidence import OTHER_UNIVERSES, SUPPRESS, Evidence
from discreet.model.release import Custodian, PublicRelease, PublicTable
from discreet.model.table import CellStatus, Table
from discreet.verify.relations import Equations, Meaning, broken_sums, exact_sums
from discreet.verify.rules import Recheck
from discreet.verify.verdict import Verdict


def check_release(custodian: Custodian, public: PublicRelease) -> Verdict:
    """Re-check every claim of a release from the custodian's cells and the evidence."""
    verdict = Verdict()
    rechecks = [_check_cells(verdict, custodian, number) for number in range(len(custodian.tables))]
    _check_sums(verdict, custodian)
    _check_evidence(verdict, custodian, rechecks)
    _check_public(verdict, custodian, public)
    return verdict


# ---- cells and rules ----------------------------------------------------------------------------------------


def _check_cells(verdict: Verdict, custodian: Custodian, number: int) -> Recheck:
    """Statuses and levels of a table against its stated rules."""
    table, status = custodian.tables.tables[number], custodian.status[number]
    before = len(verdict.refused)
    if len(np.unique(table.codes, axis=0)) != len(table):
        verdict.refuse("cells", "a cell stands twice in the cell file", table.name)
    recheck = Recheck(table)
    verdict.asserted += recheck.asserted
    if recheck.exempt:
        verdict.asserted.append(
            f"{recheck.exempt} cells of table {table.name} have an unknown code and need no protection"
        )
    hidden = (status == CellStatus.UNSAFE) | (status == CellStatus.SECONDARY)
    forced = status == CellStatus.FORCED
    for row in np.flatnonzero(recheck.unsafe & (status != CellStatus.UNSAFE) & ~forced).tolist():
        verdict.refuse("rules", "a cell is unsafe under the stated rules but not marked unsafe", _name(table, row))
    for row in np.flatnonzero((status == CellStatus.EMPTY) != (table.empty & ~hidden & ~forced)).tolist():
        verdict.refuse("cells", "a cell's status does not fit whether it is empty", _name(table, row))
    if table.manual is None:
        odd = forced
    else:
        odd = forced != (table.manual == CellStatus.FORCED)
    for row in np.flatnonzero(odd).tolist():
        verdict.refuse("cells", "a cell is published by force without being marked so", _name(table, row))
    exceptions = int((recheck.unsafe & forced).sum())
    if exceptions:
        verdict.asserted.append(f"{exceptions} unsafe cells of table {table.name} are published by force")
    _check_levels(verdict, table, status, recheck)
    verdict.prove(
        f"table {table.name}: the unsafe cells ({int((status == CellStatus.UNSAFE).sum())} of {len(table)}) and their "
        f"levels follow from the stated rules: {'; '.join(_in_words(rule) for rule in recheck.checked) or 'none'}",
        before,
    )
    verdict.asserted.append(f"table {table.name}: values, contributor counts and largest contributions of the cells")
    return recheck


def _in_words(rule: Mapping[str, Any]) -> str:
    return " ".join([str(rule["kind"]), *(f"{name}={value}" for name, value in rule.items() if name != "kind")])


def _check_levels(verdict: Verdict, table: Table, status: NDArray[Any], recheck: Recheck) -> None:
    assessment = table.assessment
    unsafe = status == CellStatus.UNSAFE
    if assessment is None:
        verdict.refuse("rules", "no rules are stated, so nothing is known to be safe", table.name)
        return
    for side, stated in (("lower", assessment.lower), ("upper", assessment.upper)):
        needed = getattr(recheck, side)
        for row in np.flatnonzero(unsafe & np.asarray(needed > stated, np.bool_)).tolist():
            verdict.refuse("levels", f"the stated {side} protection level is below the rules'", _name(table, row))
        setattr(recheck, side, np.where(needed > stated, needed, stated.astype(object)))


# ---- relations between the values ---------------------------------------------------------------------------


def _check_sums(verdict: Verdict, custodian: Custodian) -> None:
    """The custodian's values add up, and cells that mean the same agree in value and status."""
    tables, before = custodian.tables, len(verdict.refused)
    decimals = max(table.decimals for table in tables)
    for table in tables:
        rows = np.arange(len(table), dtype=np.int64)
        for broken in broken_sums(table, rows, np.zeros(len(table), np.int64), table.value):
            stated = table.slack or 0
            allowed = (broken.cells + 1) // 2 if stated < 0 else stated
            if abs(broken.gap) > allowed:
                verdict.refuse("additivity", "a relation does not add up", f"{table.name}: {broken.text}")
    values = np.concatenate([table.value.astype(object) * 10 ** (decimals - table.decimals) for table in tables])
    hidden = np.concatenate([custodian.withheld(number) for number in range(len(tables))])
    same = np.concatenate(Meaning(tables).same())
    order = np.argsort(same, kind="stable")
    twin = order[1:][same[order][1:] == same[order][:-1]]
    other = order[:-1][same[order][1:] == same[order][:-1]]
    for one, two in zip(twin.tolist(), other.tolist(), strict=True):
        if values[one] != values[two]:
            verdict.refuse("additivity", "cells that mean the same differ", _global_name(custodian, one))
        if hidden[one] != hidden[two]:
            verdict.refuse("pattern", "a withheld cell is published elsewhere", _global_name(custodian, one))
    rows, one_group = np.arange(len(values)), np.zeros(len(values), np.int64)
    for found in Equations(tables).sums(rows, one_group, values, decimals) if tables.equations else ():
        if abs(found.gap) > found.allowed:
            verdict.refuse("additivity", f"'{found.text}' does not hold", _global_name(custodian, found.row))
    verdict.prove("all relations of all tables add up, and cells that mean the same agree", before)


# ---- certificates -------------------------------------------------------------------------------------------


def _check_evidence(verdict: Verdict, custodian: Custodian, rechecks: list[Recheck]) -> None:
    unsafe = sum(int((status == CellStatus.UNSAFE).sum()) for status in custodian.status)
    if not custodian.evidence:
        if unsafe:
            verdict.refuse("evidence", f"there are {unsafe} unsafe cells and no evidence that they are protected")
        return
    for evidence in custodian.evidence:
        _check_claim(verdict, custodian, evidence)
        before = len(verdict.refused)
        _check_certificates(verdict, custodian, evidence)
        if len(verdict.refused) == before:
            _check_proofs(verdict, custodian, evidence, rechecks)
        verdict.attackers += list(SUPPRESS.attackers)
        verdict.not_considered += list(evidence.claim.not_considered)


def _check_claim(verdict: Verdict, custodian: Custodian, evidence: Evidence) -> None:
    """The release claims what this checker can show, and admits what it cannot."""
    claim = evidence.claim
    if (claim.method, claim.statement, claim.attackers) != (SUPPRESS.method, SUPPRESS.statement, SUPPRESS.attackers):
        verdict.refuse("claim", "the release claims something that this checker cannot show")
    admitted = set(SUPPRESS.not_considered)
    if len({table.spec.identity[1:] for table in custodian.tables}) > 1:
        admitted.add(OTHER_UNIVERSES)
    for missing in sorted(admitted - set(claim.not_considered)):
        verdict.refuse("claim", f"the release does not admit that it leaves this out: {missing}")


def _check_certificates(verdict: Verdict, custodian: Custodian, evidence: Evidence) -> None:
    """Every certificate changes withheld cells only, keeps all bounds, and keeps every relation, exactly."""
    tables = custodian.tables.tables
    c = evidence.certificates
    sizes = np.array([len(table) for table in tables], np.int64)
    shape_ok = (
        len(c.start) == len(c.denominator) + 1
        and int(c.start[0]) == 0
        and int(c.start[-1]) == len(c.amount) == len(c.entry_row) == len(c.entry_table)
        and bool(np.all(np.diff(c.start) >= 0))
        and bool(np.all((c.entry_table >= 0) & (c.entry_table < len(tables))))
    )
    if not shape_ok or not bool(np.all((c.entry_row >= 0) & (c.entry_row < sizes[c.entry_table]))):
        verdict.refuse("certificates", "the certificates are not well formed")
        return
    if not bool(np.all(np.asarray(c.denominator > 0, np.bool_))):
        verdict.refuse("certificates", "a certificate has a denominator that is not positive")
        return
    number = np.repeat(np.arange(len(c), dtype=np.int64), np.diff(c.start))
    row = (np.cumsum(sizes) - sizes)[c.entry_table] + c.entry_row
    total_rows = int(sizes.sum())
    if len(np.unique(number * total_rows + row)) != len(row):
        verdict.refuse("certificates", "a certificate changes a cell twice")
    hidden = np.concatenate([custodian.withheld(i) for i in range(len(tables))])
    for at in np.unique(row[~hidden[row] & np.asarray(c.amount != 0, np.bool_)])[:20].tolist():
        verdict.refuse("certificates", "a published cell changes in a certificate", _global_name(custodian, at))
    _check_bounds(verdict, custodian, evidence, number)
    for i, table in enumerate(tables):
        mine = c.entry_table == i
        for broken in broken_sums(table, c.entry_row[mine], number[mine], c.amount[mine])[:20]:
            verdict.refuse("certificates", "a certificate breaks a relation", f"{table.name}: {broken.text}")
    _check_twins(verdict, custodian, number, row, c.amount)
    known = custodian.tables
    for found in Equations(known).sums(row, number, c.amount, evidence.decimals) if known.equations else ():
        if found.gap:
            verdict.refuse("certificates", f"a certificate breaks '{found.text}'", _global_name(custodian, found.row))


def _check_bounds(verdict: Verdict, custodian: Custodian, evidence: Evidence, number: Ints) -> None:
    c = evidence.certificates
    for i, table in enumerate(custodian.tables.tables):
        mine = np.flatnonzero(c.entry_table == i)
        if not len(mine):
            continue
        scale = 10 ** (evidence.decimals - table.decimals)
        rows = c.entry_row[mine]
        divisor = c.denominator[number[mine]]
        low, high = table.attacker_bounds()
        floored, capped = low[rows] > NO_LOWER, high[rows] < NO_UPPER
        parts = [table.value[rows], np.where(floored, low[rows], 0), np.where(capped, high[rows], 0)]
        largest = max(float(np.abs(p.astype(np.float64)).max(initial=1)) for p in parts)
        wide = largest * scale * float(divisor.max(initial=1)) >= 2**61 or c.amount.dtype == object
        kind: Any = object if wide else np.int64
        # Everything times the denominator, so that fractions are compared as integers.
        value, floor, ceiling = (p.astype(kind) * scale * divisor.astype(kind) for p in parts)
        moved = value + c.amount[mine].astype(kind)
        below, above = floored & (moved < floor), capped & (moved > ceiling)
        for at in np.unique(rows[np.asarray(below | above, np.bool_)])[:20].tolist():
            verdict.refuse("certificates", "a certificate leaves what is known of a cell", _name(table, at))
        counts = table.spec.value is None and not table.spec.weight and table.decimals == evidence.decimals
        if counts and bool(np.any(c.amount[mine] % divisor != 0)):
            verdict.refuse("certificates", "a certificate of a count is not in whole numbers", table.name)


def _check_twins(verdict: Verdict, custodian: Custodian, number: Ints, row: Ints, amount: NDArray[Any]) -> None:
    """Cells that mean the same change alike."""
    same = np.concatenate(Meaning(custodian.tables).same())
    size = np.bincount(same)
    mean = same[row]
    shared = np.flatnonzero(size[mean] > 1)
    if not len(shared):
        return
    key = number[shared] * len(size) + mean[shared]
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.concatenate(([True], key[order][1:] != key[order][:-1])))
    count = np.diff(np.concatenate((first, [len(order)])))
    sums = exact_sums(amount[shared][order], first)
    head = shared[order[first]]
    uneven = (count != size[mean[head]]) | np.asarray(sums != amount[head] * count, np.bool_)
    spread = amount[shared][order] != np.repeat(amount[head], count)
    uneven |= np.asarray(np.add.reduceat(spread.astype(np.int64), first) > 0, np.bool_)
    for at in np.unique(row[head[uneven]])[:20].tolist():
        verdict.refuse("certificates", "cells that mean the same change differently", _global_name(custodian, at))


def _check_proofs(verdict: Verdict, custodian: Custodian, evidence: Evidence, rechecks: list[Recheck]) -> None:
    """Every unsafe cell reaches its levels in the certificates named for it."""
    tables, before = custodian.tables.tables, len(verdict.refused)
    c, p = evidence.certificates, evidence.proofs
    number = np.repeat(np.arange(len(c), dtype=np.int64), np.diff(c.start))
    moves = {
        (int(n), int(t), int(r)): a
        for n, t, r, a in zip(number, c.entry_table, c.entry_row, c.amount.tolist(), strict=True)
    }
    proved: set[tuple[int, int]] = set()
    for t, r, up, down in zip(p.table.tolist(), p.row.tolist(), p.up.tolist(), p.down.tolist(), strict=True):
        if not (0 <= t < len(tables) and 0 <= r < len(tables[t]) and -1 <= up < len(c) and -1 <= down < len(c)):
            verdict.refuse("proofs", "a proof names a cell or certificate that is not there")
            return
        scale = 10 ** (evidence.decimals - tables[t].decimals)
        need_up, need_down = rechecks[t].upper[r] * scale, rechecks[t].lower[r] * scale
        # Moves are compared as fractions: amount / denominator >= level.
        goes_up = (moves.get((up, t, r), 0), int(c.denominator[up])) if up >= 0 else (0, 1)
        goes_down = (-moves.get((down, t, r), 0), int(c.denominator[down])) if down >= 0 else (0, 1)
        if goes_up[0] < need_up * goes_up[1]:
            verdict.refuse("proofs", "the upper protection level is not reached", _name(tables[t], r))
        if goes_down[0] < need_down * goes_down[1]:
            verdict.refuse("proofs", "the lower protection level is not reached", _name(tables[t], r))
        assessment = tables[t].assessment
        sliding = 0 if assessment is None else int(assessment.sliding[r]) * scale
        if goes_up[0] * goes_down[1] + goes_down[0] * goes_up[1] < sliding * goes_up[1] * goes_down[1]:
            verdict.refuse("proofs", "the sliding protection level is not reached", _name(tables[t], r))
        proved.add((t, r))
    for t, status in enumerate(custodian.status):
        for r in np.flatnonzero(status == CellStatus.UNSAFE).tolist():
            if (t, r) not in proved:
                verdict.refuse("proofs", "an unsafe cell has no proof", _name(tables[t], r))
    verdict.prove(f"{SUPPRESS.statement} ({len(proved)} cells, {len(c)} exact certificates)", before)


# ---- what is public -----------------------------------------------------------------------------------------


def _check_public(verdict: Verdict, custodian: Custodian, public: PublicRelease) -> None:
    """The public tables show exactly the published cells, with their values, and nothing else."""
    before = len(verdict.refused)
    names = [table.name for table in custodian.tables]
    if [table.name for table in public.tables] != names:
        verdict.refuse("public", f"the public tables are not those of the release ({', '.join(names)})")
        return
    for number, shown in enumerate(public.tables):
        _check_public_table(verdict, custodian.tables.tables[number], custodian.withheld(number), shown)
    verdict.prove("the public tables show exactly the published cells and nothing else", before)


def _check_public_table(verdict: Verdict, table: Table, hidden: NDArray[np.bool_], shown: PublicTable) -> None:
    if shown.variables != table.variables or len(shown) != len(table):
        verdict.refuse("public", "the public table has other variables or another number of cells", table.name)
        return
    lists = tuple(h.codes for h in table.spec.hierarchies)
    if shown.code_lists != lists or not np.array_equal(shown.codes, table.codes):
        verdict.refuse("public", "the public table lists other cells", table.name)
        return
    for row in np.flatnonzero(hidden & (shown.shown | (shown.value != 0)))[:20].tolist():
        verdict.refuse("public", "a withheld cell is shown", _name(table, row))
    for row in np.flatnonzero((shown.shown != (~hidden & ~table.empty)) & ~hidden)[:20].tolist():
        verdict.refuse("public", "a published cell is missing, or an empty one is shown", _name(table, row))
    for row in np.flatnonzero(shown.empty != (table.empty & ~hidden))[:20].tolist():
        verdict.refuse("public", "a cell is marked empty wrongly", _name(table, row))
    wanted = table.decimals if table.spec.decimals is None else table.spec.decimals
    if shown.decimals != wanted:
        verdict.refuse("public", "the public table has another number of decimals", table.name)
        return
    rows = np.flatnonzero(shown.shown & ~hidden)
    exact, seen = table.value[rows].astype(object), shown.value[rows].astype(object)
    if wanted >= table.decimals:
        wrong = seen != exact * 10 ** (wanted - table.decimals)
    else:
        step = 10 ** (table.decimals - wanted)
        off = np.abs(2 * (seen * step - exact))
        wrong = (off > step) | ((off == step) & (seen % 2 == 1))
    for row in rows[np.asarray(wrong, np.bool_)][:20].tolist():
        verdict.refuse("public", "a published value differs from the custodian's", _name(table, row))


def _name(table: Table, row: int) -> str:
    return f"{table.name}: {table.cell_name(row)}"


def _global_name(custodian: Custodian, row: int) -> str:
    for table in custodian.tables:
        if row < len(table):
            return _name(table, row)
        row -= len(table)
    return ""
