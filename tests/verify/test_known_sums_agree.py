"""Method and checker find the same unsafe sums of withheld cells in linked tables, each by code of its own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.model.custodian import TableCustodian
from discreet.model.table import CellStatus
from discreet.relations import build_system
from discreet.tables.suppress.joint import unsafe_sums
from discreet.verify.joint import MOST, check_joint
from discreet.verify.known import Ground
from discreet.verify.verdict import Verdict

TREES = {
    "a": ds.Hierarchy.from_parents({"a0": "aG", "a1": "aG", "aG": "Total", "a2": "Total"}, total="Total"),
    "b": ds.Hierarchy.flat(["b0", "b1"]),
    "c": ds.Hierarchy.from_parents({"c0": "cG", "c1": "cG", "cG": "Total", "c2": "Total"}, total="Total"),
}
LAYOUTS = (("ab", "bc", "ac"), ("ab", "bc"), ("abc", "ab"), ("ac", "ab", "a"))


def linked(layout: tuple[str, ...], waivers: bool, rng: np.random.Generator) -> ds.TableSet:
    """Tables of few firms, some of whom consent to publication."""
    n = int(rng.integers(8, 40))
    columns = {v: rng.choice(tree.base_codes, n) for v, tree in TREES.items()}
    columns |= {"v": rng.integers(1, 90, n), "firm": rng.integers(0, 9, n), "waiver": rng.random(n) < 0.3}
    data = ds.Microdata(pa.table(columns), contributor="firm", waiver="waiver" if waivers else None)
    specs = [ds.TableSpec(by={v: TREES[v] for v in some}, value="v", name=some) for some in layout]
    return ds.TableSet([t.assess(ds.PPercent(20), ds.MinContributors(2)) for t in ds.tabulate(data, specs=specs)])


def said_by_the_method(tables: ds.TableSet, withheld: np.ndarray) -> list[str]:
    system = build_system(tables)
    found = []
    for known in unsafe_sums(system, withheld):
        rows = sorted(np.flatnonzero(np.isin(system.of[known.table], known.cells)).tolist())
        names = [tables.tables[known.table].cell_name(row) for row in rows]
        found.append("; ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else ""))
    return sorted(found)


def said_by_the_checker(tables: ds.TableSet, withheld: np.ndarray) -> list[str]:
    system = build_system(tables)
    status = []
    for table, cells in zip(tables.tables, system.of, strict=True):
        hidden = np.where(system.unsafe[cells], CellStatus.UNSAFE, CellStatus.SECONDARY)
        shown = np.where(table.empty, CellStatus.EMPTY, CellStatus.SAFE)
        status.append(np.where(withheld[cells], hidden, shown).astype(np.int8))
    verdict = Verdict()
    check_joint(verdict, Ground(TableCustodian(tables, tuple(status), (), {})), np.zeros(0, np.int64))
    return sorted(refusal.where for refusal in verdict.refused)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(LAYOUTS), st.booleans(), st.sampled_from([0.1, 0.3, 0.6]), st.integers(0, 2**32))
@example(LAYOUTS[0], False, 0.1, 9)
def test_checker_and_method_agree_on_unsafe_sums_of_linked_tables(layout, waivers, share, seed):
    """The example: a margin that two tables have has withheld parts in the second one, too."""
    rng = np.random.default_rng(seed)
    tables = linked(layout, waivers, rng)
    system = build_system(tables)
    withheld = (system.unsafe | (rng.random(len(system)) < share)) & ~system.empty
    found = said_by_the_method(tables, withheld)
    assume(len(found) <= MOST)  # the checker names no more of each table
    assert said_by_the_checker(tables, withheld) == found
