"""Small counts: everything follows from the stored inner cells, and only small ones changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.errors import counted
from discreet.model.arrays import Ints
from discreet.model.claims.noise import noise_claim, small_count_statement
from discreet.model.inner import inner_codes
from discreet.verify.altered import Altered, Numbers
from discreet.verify.known import Ground
from discreet.verify.verdict import Verdict

KIND = "small_count"


def check_small_count(a: Altered) -> None:
    """None in 1 .. base - 1; additive; only small inner cells changed, to zero or the base."""
    verdict, ground, evidence, true, published = a.verdict, a.ground, a.evidence, a.true, a.published
    base, facts = evidence.method["base"], evidence.facts
    inner = evidence.parts["inner"]
    before_, after = inner["count"], inner["rounded"]
    fixed = evidence.method["pre_rounded"]
    if not isinstance(base, int) or base < 2 or any(t.spec.value is not None for t in ground.tables):
        verdict.refuse(KIND, "the base or the tables are not such that this checker knows them")
        return
    stated = {
        "changed": int((before_ != after).sum()),
        "largest_deviation": int(np.abs(published - true).max(initial=0)),
        "total_change": int(after.sum() - before_.sum()),
    }
    statement = small_count_statement(base, fixed=bool(fixed), facts=stated)
    claim = noise_claim(KIND, statement, additive=True, universes=False, insecure=bool(facts.get("insecure")))
    a.claims(claim)
    before = len(verdict.refused)
    small = (published > 0) & (published < base)
    a.refuse_where(small, "a small count is published")
    a.refuse_where(a.empty & (published != 0), "an empty cell got a value")
    changed = before_ != after
    good = (before_ > 0) & (before_ < base) & ((after == 0) | (after == base))
    held = _held(ground, inner, fixed)
    if np.any((held >= 0) & (after != held)):
        verdict.refuse(KIND, "an inner cell is not what an earlier publication fixed")
    wrong = int((changed & ~good & (held < 0)).sum())
    if wrong or np.any(after < 0):
        verdict.refuse(
            KIND, f"{counted(wrong, 'inner cell')} changed without being small, or to something else than 0 or {base}"
        )
    a.check_additive(true=True)
    a.check_additive()
    for column, values, what in ((before_, true, "original"), (after, published, "published")):
        _check_finest(verdict, ground, inner, column, values, what)
    verdict.take_for_granted("the inner cells are those of the records", "method")
    verdict.prove(f"{claim.statement} ({counted(len(before_), 'inner cell')})", before)


def _held(ground: Ground, inner: Mapping[str, Ints], fixed: Sequence[Sequence[Any]]) -> Ints:
    """What earlier publications fixed of each inner cell, -1 where nothing."""
    listing = list(inner_codes(ground.tables).values())
    known = {tuple(row[:-1]): int(row[-1]) for row in fixed}
    columns = [inner[f"code{k}"].tolist() for k in range(len(listing))]
    cells = zip(*columns, strict=True) if columns else ()
    found = [known.get(tuple(words[i] for words, i in zip(listing, cell, strict=True)), -1) for cell in cells]
    return np.array(found, np.int64)


def _check_finest(
    verdict: Verdict, ground: Ground, inner: Mapping[str, Ints], column: Ints, values: Numbers, what: str
) -> None:
    """The finest rows of every table are sums of inner cells; coarser ones follow by the relations."""
    listing = inner_codes(ground.tables)
    variables = list(listing)
    for number, table in enumerate(ground.tables):
        sums: dict[tuple[Any, ...], int] = {}
        words = [[listing[v][i] for i in inner[f"code{variables.index(v)}"].tolist()] for v in table.variables]
        for *codes, count in zip(*words, column.tolist(), strict=True):
            sums[tuple(codes)] = sums.get(tuple(codes), 0) + count
        bases = [set(h.base_codes) for h in table.spec.hierarchies]
        first = int(ground.first[number])
        for row in range(len(table)):
            cell = table.spec_codes(table.codes[row].tolist())
            if all(c in b for c, b in zip(cell, bases, strict=True)) and sums.pop(cell, 0) != values[first + row]:
                verdict.refuse(KIND, f"a {what} count is not the sum of its inner cells", ground.name(first + row))
        if any(sums.values()):
            verdict.refuse(KIND, f"inner cells are missing among the {what} counts", table.name)
