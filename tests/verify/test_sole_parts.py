"""Ready-made tables without names: who fills a part alone may be the largest contributor of what it is part of."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.model.custodian import TableCustodian
from discreet.model.evidence import DOWN
from discreet.model.table import CellStatus
from discreet.relations import build_system
from discreet.verify.evidence import check_evidence
from discreet.verify.known import Ground, RowContributors
from discreet.verify.verdict import Verdict

BY = {
    "act": ds.Hierarchy.from_parents({"A": "T", "B": "T", "a1": "A", "a2": "A", "b1": "B", "b2": "B"}, total="T"),
    "size": ds.Hierarchy.flat(["s", "m"]),
}
LEAVES = list(product(["a1", "a2", "b1", "b2"], ["s", "m"]))

amounts = st.lists(st.integers(1, 60), min_size=0, max_size=3)
tables = st.lists(amounts, min_size=len(LEAVES), max_size=len(LEAVES)).filter(lambda cells: any(cells))


def ready_made(contributions, unsafe=(), share=10):
    """A table that counts contributors and names none; every contribution is of somebody else."""
    records = [(*leaf, float(x)) for leaf, found in zip(LEAVES, contributions, strict=True) for x in found]
    columns = {name: [r[i] for r in records] for i, name in enumerate(("act", "size", "v"))}
    cells = ds.tabulate(pa.table(columns), by=BY, value="v", cells="all", name="t").to_frame()
    status = ["U" if (a, s) in unsafe else "V" for a, s in zip(*(cells[v].to_pylist() for v in BY), strict=True)]
    frame = cells.select(["act", "size", "value", "contributors"]).append_column("status", [status])
    return ds.Table.from_cells(frame, by=BY, name="t").assess(manual_range=share)


def below(code, hierarchy):
    """The base codes of a code."""
    parts = [part for g in hierarchy.groupings if g.parent == code for part, _ in g.parts]
    return set().union(*(below(part, hierarchy) for part in parts)) if parts else {code}


def contributions_of(contributions, codes):
    """All contributions to a cell, with the finest cell that each stands in."""
    inside = [below(code, h) for code, h in zip(codes, BY.values(), strict=True)]
    return [
        (leaf, x)
        for leaf, found in zip(LEAVES, contributions, strict=True)
        for x in found
        if all(code in some for code, some in zip(leaf, inside, strict=True))
    ]


def cells_filled_alone(contributions, leaf):
    """The cells that the only contributor of a finest cell fills alone."""
    return {
        codes
        for codes in product(*(h.codes for h in BY.values()))
        if [where for where, _ in contributions_of(contributions, codes)] == [leaf]
    }


@settings(max_examples=25, deadline=None)
@given(tables, st.sampled_from([10, 45, 80, 100]))
def test_method_and_checker_spare_exactly_who_must_be_largest_or_leaves_no_room(contributions, share):
    everywhere = set(product(*(h.codes for h in BY.values())))
    table = ready_made(contributions, {c for c in everywhere if contributions_of(contributions, c)}, share)
    system = build_system(ds.TableSet([table]))
    insiders = RowContributors.of(Ground(_custodian(table)), system.decimals)
    for row in range(len(table)):
        codes, cell = table.spec_codes(table.codes[row].tolist()), int(system.of[0][row])
        inside, value = contributions_of(contributions, codes), int(table.value[row])
        if len(inside) < 2:
            continue
        level = int(system.lower_level[cell])
        expected = set()
        for leaf, x in inside:
            alone = cells_filled_alone(contributions, leaf)
            unit = round(x * 10**table.decimals)
            if alone and (2 * unit > value or unit > value - level):
                expected.add(frozenset(alone))
        ours = {_where(table, system.holder[system.of[0], 0] == who) for who in _spared(system, cell, value, level)}
        theirs = {_where(table, insiders.sole == who) for who in insiders.parts.spared(row, level)}
        assert ours == theirs == expected


ONE_FIRM = [[990], [], [1] * 60, [1] * 50, [7] * 90, [7] * 80, [5] * 100, [5] * 90]
UNSAFE = {("A", "s"), ("a1", "s"), ("a1", "Total")}


def test_a_table_is_publishable_where_the_only_contributor_of_a_part_is_the_largest_of_the_whole():
    """Falling by a tenth would need more than all others have, and is kept only from them."""
    release = ds.protect(ready_made(ONE_FIRM, UNSAFE), ds.Suppress(insiders="full"))
    assert release.verify().holds
    audit = ds.audit(release)
    assert (audit.short_insiders, audit.recoverable_insiders) == (0, 0)
    assert ds.protect(ready_made(ONE_FIRM, UNSAFE), ds.Suppress(insiders="full", coalitions=True)).verify().holds


def test_the_checker_spares_the_largest_only():
    """Whoever fills another cell that the certificates move sees through them, and is not spared."""
    release = ds.protect(ready_made(ONE_FIRM, UNSAFE), ds.Suppress(insiders="full"))
    custodian = release.custodian
    table, evidence = custodian.tables.tables[0], custodian.evidence[0]
    target = table.row(act="A", size="s")
    found = table.contributions["holding"]
    others = [row for row in sorted(moved(evidence, target, DOWN) - {target}) if found.count[row] > 1]
    assert others
    for row in others:
        count = np.where(np.arange(len(table)) == row, 1, found.count)
        lone = table.with_(contributions={"holding": replace(found, count=count)})
        verdict = Verdict()
        check_evidence(verdict, Ground(replace(custodian, tables=ds.TableSet([lone]))), evidence, [levels(table)])
        assert any(
            "a contributor can rule out all certificates of the lower protection level (t: act=A, size=s)"
            in str(reason)
            for reason in verdict.refused
        )


def moved(evidence, target, use):
    """Rows that every certificate of a proof moves."""
    proofs, certificates = evidence.proofs, evidence.certificates
    p = int(np.flatnonzero(proofs.row == target)[0])
    members = [i for i in range(proofs.start[p], proofs.start[p + 1]) if proofs.use[i] == use]
    rows = [
        set(certificates.entry_row[certificates.start[c] : certificates.start[c + 1]].tolist())
        for c in proofs.certificate[members].tolist()
    ]
    assert rows
    return set.intersection(*rows)


def levels(table):
    """Levels as the rules gave them."""
    return SimpleNamespace(upper=table.assessment.upper.astype(object), lower=table.assessment.lower.astype(object))


def _spared(system, cell, value, level):
    return system.filling.spared(cell, value, value - level)


def _where(table, rows):
    return frozenset(table.spec_codes(table.codes[row].tolist()) for row in np.flatnonzero(rows))


def _custodian(table):
    """What the checker reads of the table, all of it withheld."""
    status = np.where(table.empty, CellStatus.EMPTY, CellStatus.UNSAFE).astype(np.int8)
    return TableCustodian(tables=ds.TableSet([table]), status=(status,), evidence=(), log={})
