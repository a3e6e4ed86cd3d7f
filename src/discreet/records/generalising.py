"""What :class:`~discreet.records.generalise.Generalise` does: columns, facts and what stands in the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError, ProtectionError, counted, listed
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import NUMBER, RecordSet, stands_for_unknown
from discreet.records.class_judges import ClassJudges
from discreet.records.joined_mondrian import JoinedMondrian, refuse_other_ranges
from discreet.records.ladders import KeyColumn, Ladder, key_column, ladder, paths
from discreet.records.lattice import JudgedNode, LevelLattice, base_table, suppressed_cells
from discreet.records.mondrian import TOP, KeyScale, Mondrian, Partition, line_scale, numbered_pairs, tree_scale
from discreet.records.node_losses import METRICS, node_losses
from discreet.rules.population import PopulationCounts, PopulationRule
from discreet.rules.records import RecordRule

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.records.generalise import Generalise

MOST_SHOWN = 2_000
"""So many nodes of a lattice are kept with the release."""
Work = tuple[dict[str, "pa.ChunkedArray"], dict[str, Any], dict[str, int], list[str]]


# ---- the same levels for all records -----------------------------------------------------------------------------


def same_levels(method: Generalise, records: RecordSet, keys: Sequence[str], judges: ClassJudges) -> Work:
    """Full-domain generalisation: columns, facts, effort and notes."""
    ladders = _ladders(records, keys, judges)
    base, digits, cell = base_table(ladders, judges)
    most = int(method.outliers * len(records) + 1e-9)
    lattice = LevelLattice(ladders, judges, node_losses(method.metric, ladders), most, base, digits)
    best = lattice.search()
    if best is None:
        raise _nothing_found(lattice, len(records), keys)
    gone = suppressed_cells(lattice)
    empty = (base.high == 0) & (base.low == 0)
    suppressed = (gone & ~empty)[cell]
    changed = {}
    for one, level in zip(ladders, best.levels, strict=True):
        if level or suppressed.any():
            changed[one.column.name] = _raised(records, one, level, suppressed)
    facts = {
        "keys": list(keys),
        "rows": len(records),
        "levels": list(best.levels),
        "heights": [len(one) - 1 for one in ladders],
        "suppressed": int(suppressed.sum()),
        "classes": _classes(lattice),
        "losses": _all_losses(lattice, best),
        "nodes": lattice.nodes,
        "table": _shown(lattice),
    }
    notes = [f"Key {name!r} has no hierarchy and stays as it is." for name in keys if name not in records.hierarchies]
    return changed, facts, {"generalisation": lattice.count, "cell": len(base.high)}, notes


def _ladders(records: RecordSet, keys: Sequence[str], judges: ClassJudges) -> tuple[Ladder, ...]:
    columns = (_joined_column(records, name, judges.population) for name in keys)
    return tuple(ladder(column, records.hierarchies.get(column.name)) for column in columns)


def _joined_column(records: RecordSet, name: str, population: PopulationCounts | None) -> KeyColumn:
    """A key as numbers, with the codes that only a population has."""
    if population is None:
        return key_column(records, name)
    place = population.keys.index(name)
    occur = np.unique(population.columns[place]).tolist()  # codes for "unknown" of the population do not
    more = ["" if number < 0 else population.codes[place][number] for number in occur]
    column = key_column(records, name, more)
    if column.counts[column.unknown].any():
        raise InputError(
            f"Key {name!r} has empty fields or codes for unknown, and a rule looks at a population.",
            hint="Such a record may be anybody: correct it, or leave it out first.",
        )
    return column


def _raised(records: RecordSet, one: Ladder, level: int, suppressed: Bools) -> pa.ChunkedArray:
    """A key at a level, empty where records are suppressed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    name = one.column.name
    if not level:
        column = records[name]
        return pc.if_else(pa.chunked_array([pa.array(suppressed)]), pa.scalar(None, column.type), column)
    rung = one.rungs[level]
    strange = rung.unknown[1:].tolist()
    _refuse_unknown(records, name, [text for text, is_one in zip(rung.texts, strange, strict=True) if not is_one])
    place = rung.code[one.column.codes]
    place[suppressed] = 0
    words = pa.array([None, *rung.texts], pa.string())
    return pa.chunked_array([words.take(pa.array(place))])


def _refuse_unknown(records: RecordSet, name: str, codes: Sequence[str]) -> None:
    """Refuse broader codes that stand for "unknown": rules, and readers, would take them for gaps."""
    wrong = sorted(code for code in set(codes) if stands_for_unknown(code, records.about(name).missing))
    if wrong:
        raise InputError(
            f"Values of key {name!r} would become codes for unknown: {listed(wrong, 10)}.",
            hint="Give its hierarchy other codes there, or take these off the codes for unknown.",
        )


def _classes(lattice: LevelLattice) -> int:
    """How many combinations are left, the empty one among them."""
    table, gone = lattice.best_table, lattice.best_gone
    assert table is not None
    assert gone is not None
    there = table.records > 0
    return int((there & ~gone).sum()) + bool((there & gone).any())


def _all_losses(lattice: LevelLattice, best: JudgedNode) -> dict[str, float]:
    """The loss of the best node by every measure."""
    table, gone = lattice.best_table, lattice.best_gone
    assert table is not None
    assert gone is not None
    found: dict[str, float] = {}
    for metric in METRICS:
        measured = replace(lattice, losses=node_losses(metric, lattice.ladders))
        found[metric] = measured.loss_of(best.levels, table, gone)
    return found


def _shown(lattice: LevelLattice) -> list[list[Any]]:
    """Nodes for the picture: levels, records suppressed, loss, whether the rules hold; none where there are many."""
    if len(lattice.judged) > MOST_SHOWN:
        return []
    ordered = sorted(lattice.judged, key=lambda node: node.levels)
    return [[list(node.levels), node.suppressed, node.loss, node.feasible] for node in ordered]


def _nothing_found(lattice: LevelLattice, rows: int, keys: Sequence[str]) -> ProtectionError:
    """No node keeps the rules: say how near the nearest came."""
    if not lattice.judged:
        return ProtectionError(
            "No combination of levels keeps the rules, not even the tops of all hierarchies.",
            hint="Ask for less, or allow more outliers=.",
        )
    near = min(lattice.judged, key=lambda node: (node.suppressed, sum(node.levels), node.levels))
    levels = ", ".join(f"{name} {level}" for name, level in zip(keys, near.levels, strict=True))
    allowed = f"{counted(lattice.most, 'record', 'are')} allowed"
    if near.suppressed <= lattice.most:
        allowed = "these then break a rule together"
    return ProtectionError(
        f"No combination of levels keeps the rules. The nearest (levels gone up: {levels}) leaves "
        f"{counted(near.suppressed, 'record')} of {rows:,} ({near.suppressed / rows:.2%}) in classes that break one, "
        f"and {allowed}.",
        hint="Ask for less, allow more outliers=, give hierarchies that go further up, or use algorithm='local'.",
    )


# ---- codes of their own for every class --------------------------------------------------------------------------


def local_recoding(method: Generalise, records: RecordSet, keys: Sequence[str], judges: ClassJudges) -> Work:
    """Local recoding: columns, facts, effort and notes."""
    scales = tuple(key_scale(method, records, name, judges.population) for name in keys)
    work, cell = cells_to_divide(scales, judges)
    if isinstance(work, JoinedMondrian):
        classes = work.classes()
        refuse_other_ranges(work, classes)
        gone = np.zeros(len(classes), np.bool_)
    else:
        classes, gone = divided_cells(work, int(method.outliers * len(records) + 1e-9))
    of_cell = np.zeros(len(work.records), np.int64)
    of_cell[classes.cells] = np.repeat(np.arange(len(classes)), np.diff(classes.start))
    shown = [_shown_codes(scale, *work.ends(classes, place)) for place, scale in enumerate(scales)]
    empty = np.all([one.code == 0 for one in shown], axis=0)
    gone &= ~empty
    of_row = of_cell[cell]
    suppressed = int(gone[of_row].sum())
    changed = {
        scale.column.name: _named(records, scale, one, gone, of_row)
        for scale, one in zip(scales, shown, strict=True)
        if suppressed or one.wide
    }
    rows = np.bincount(of_cell, work.records, len(classes)).astype(np.int64)
    facts = {
        "keys": list(keys),
        "rows": len(records),
        "suppressed": suppressed,
        "classes": _distinct(shown, gone),
        "losses": _class_losses(shown, rows, gone),
    }
    if judges.population is not None:
        facts["reach"] = _reach(scales, records)
    return changed, facts, {"cell": len(work.records), "class of records": len(classes)}, []


def cells_to_divide(scales: tuple[KeyScale, ...], judges: ClassJudges) -> tuple[Mondrian, Ints]:
    """Combinations of codes that occur, and the combination of every record."""
    base, digits, cell = base_table([Ladder(scale.column, ()) for scale in scales], judges)
    places = np.stack([scale.place[digits.codes(i, base.high, base.low)] for i, scale in enumerate(scales)])
    if judges.population is not None:
        return JoinedMondrian(scales, places, base.records, base.pairs, judges, base.units), cell
    return Mondrian(scales, places, base.records, base.pairs, judges), cell


@dataclass(frozen=True, eq=False)
class ShownCodes:
    """What classes show of one key: the number of a text for each, 0 where it is empty, and what they lose.

    ``broader`` are texts that stand for several values; ``wide`` says whether any class has several.
    """

    code: Ints
    texts: tuple[str, ...]
    broader: tuple[str, ...]
    loss: Floats
    wide: bool


def _shown_codes(scale: KeyScale, low: Ints, high: Ints) -> ShownCodes:
    first, last, place = numbered_pairs(low, high)
    pairs = list(zip(first.tolist(), last.tolist(), strict=True))
    names = [scale.name(a, b) for a, b in pairs]
    texts = list(dict.fromkeys(name for name in names if name is not None))
    number: dict[str | None, int] = {text: i for i, text in enumerate(texts, 1)}
    number[None] = 0
    code = np.array([number[name] for name in names], np.int64)
    loss = np.array([scale.width(a, b) for a, b in pairs])
    broader = tuple(name for name, (a, b) in zip(names, pairs, strict=True) if name is not None and a < b)
    return ShownCodes(code[place], tuple(texts), broader, loss[place], bool((low < high).any()))


def key_scale(
    method: Generalise, records: RecordSet, name: str, population: PopulationCounts | None = None
) -> KeyScale:
    """A key whose codes may become one with their neighbours; with those of a population, where there is one."""
    import pyarrow as pa

    column = _joined_column(records, name, population)
    kind, hierarchy = records[name].type, records.hierarchies.get(name)
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if name in method.ordered or (numbers and hierarchy is None):
        wrong = sum(
            not NUMBER.fullmatch(text) for number, text in enumerate(column.texts, 1) if not column.unknown[number]
        )
        if wrong:
            raise InputError(
                f"{counted(wrong, 'code')} of {name!r} {'is' if wrong == 1 else 'are'} no number.",
                hint="Name only keys of numbers in ordered=.",
            )
        return line_scale(column)
    if hierarchy is None and TOP in column.texts:
        raise InputError(
            f"Key {name!r} has no hierarchy, and {TOP!r} is one of its codes.",
            hint="Give it a hierarchy, or recode it.",
        )
    if hierarchy is not None and hierarchy.total is None and len({line[0] for line in paths(hierarchy).values()}) > 1:
        raise InputError(
            f"The hierarchy of {name!r} has no total, so that some codes have none above them in common.",
            hint="Give a hierarchy with a total.",
        )
    return tree_scale(column, hierarchy)


def divided_cells(work: Mondrian, most: int) -> tuple[Partition, Bools]:
    """Classes, and which of them are suppressed."""
    first = work.first()
    gapped = work.gapped(first)
    good = work.safe(first, gapped)
    sizes = [int(work.records[first.cells[a:b]].sum()) for a, b in zip(first.start, first.start[1:], strict=False)]
    rows = int(work.records.sum())
    left = sum(size for size, kept in zip(sizes, good, strict=True) if not kept)
    if not good.any() and len(first) > 1:
        raise _too_many_gaps(rows, most)
    if not good.any():
        raise ProtectionError(
            f"The rules do not hold even where all {counted(rows, 'record')} look the same.", hint="Ask for less."
        )
    bad = [first.cells[first.start[c] : first.start[c + 1]] for c in np.flatnonzero(~good)]
    kept = _chosen(first, good)
    classes = work.divide(kept)
    gone = np.zeros(len(classes), np.bool_)
    if bad:
        classes = Partition(
            np.concatenate((classes.cells, *bad)),
            np.append(classes.start, classes.start[-1] + np.cumsum([len(one) for one in bad])),
        )
        gone = np.append(gone, np.ones(len(bad), np.bool_))
        gone = _joined(work, classes, gone)
        left = int(work.records[np.concatenate([classes.cells[a:b] for a, b in _spans(classes, gone)])].sum())
    if left > most:
        raise _too_many_gaps(left, most)
    return classes, gone


def _too_many_gaps(records: int, most: int) -> ProtectionError:
    return ProtectionError(
        f"{counted(records, 'record', 'have')} empty fields that leave them in classes that break a rule, and the keys "
        f"of at most {most:,} may be emptied.",
        hint="Allow more outliers=, or fill or recode empty fields first.",
    )


def _spans(classes: Partition, chosen: Bools) -> list[tuple[int, int]]:
    return [(int(classes.start[c]), int(classes.start[c + 1])) for c in np.flatnonzero(chosen)]


def _chosen(classes: Partition, chosen: Bools) -> Partition:
    parts = [classes.cells[a:b] for a, b in _spans(classes, chosen)]
    return Partition(np.concatenate(parts), np.append(0, np.cumsum([len(one) for one in parts])).astype(np.int64))


def _joined(work: Mondrian, classes: Partition, gone: Bools) -> Bools:
    """Suppressed classes with further ones, the smallest first, until they keep the rules together."""
    group = np.repeat(np.arange(len(classes)), np.diff(classes.start))
    of_cell = np.zeros(len(work.records), np.int64)
    of_cell[classes.cells] = group
    sizes = np.bincount(group, work.records[classes.cells], len(classes)).astype(np.int64)
    empty = np.all([work.ends(classes, place)[0] == -1 for place in range(len(work.scales))], axis=0)
    gone = gone | empty
    for c in [-1, *np.flatnonzero(~gone)[np.argsort(sizes[~gone], kind="stable")].tolist()]:
        if c >= 0:
            gone[c] = True
        if work.judges.suppressed_safe(int(sizes[gone].sum()), work.pairs, gone[of_cell]):
            return gone
    raise ProtectionError(
        "Records whose keys would have to be emptied break a rule together, whoever joins them.",
        hint="Fill or recode empty fields of the keys first, or ask for less.",
    )


def _named(records: RecordSet, scale: KeyScale, shown: ShownCodes, gone: Bools, of_row: Ints) -> pa.ChunkedArray:
    """A key with the codes of each class."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not shown.wide:
        column = records[scale.column.name]
        return pc.if_else(pa.chunked_array([pa.array(gone[of_row])]), pa.scalar(None, column.type), column)
    _refuse_unknown(records, scale.column.name, shown.broader)
    words = pa.array([None, *shown.texts], pa.string())
    return pa.chunked_array([words.take(pa.array(np.where(gone, 0, shown.code)[of_row]))])


def _reach(scales: Sequence[KeyScale], records: RecordSet) -> dict[str, Any]:
    """How far keys reach in file and population together: ends of numbers, or how many codes without a hierarchy."""
    found: dict[str, Any] = {}
    for scale in scales:
        name = scale.column.name
        if scale.line:
            found[name] = [float(scale.nodes[0]), float(scale.nodes[-1])] if scale.nodes else [0.0, 0.0]
        elif name not in records.hierarchies:
            found[name] = len(scale.position)
    return found


def _distinct(shown: Sequence[ShownCodes], gone: Bools) -> int:
    """How many combinations are published: several classes may have the same codes."""
    group = np.zeros(len(gone), np.int64)
    for one in shown:
        _, _, group = numbered_pairs(group, np.where(gone, 0, one.code))
    return int(group.max()) + 1


def _class_losses(shown: Sequence[ShownCodes], rows: Ints, gone: Bools) -> dict[str, float]:
    """The loss of classes: the mean width of their codes."""
    widths = np.sum([one.loss for one in shown], axis=0)
    widths[gone] = len(shown)
    return {"loss": float((widths * rows).sum() / (rows.sum() * len(shown)))}


# ---- populations -------------------------------------------------------------------------------------------------


def generalised_population(rule: RecordRule, after: RecordSet, facts: Mapping[str, Any]) -> RecordRule:
    """A rule whose population has gone up to the same levels as the keys; others as they are."""
    if not isinstance(rule, PopulationRule):
        return rule
    counts: PopulationCounts = rule.population
    codes, columns = [], []
    for place, (name, level) in enumerate(zip(facts["keys"], facts["levels"], strict=True)):
        texts = counts.codes[place]
        if level:
            path = paths(after.hierarchies[name])
            deepest = max(len(line) for line in path.values()) - 1
            lines = [path.get(text, [text]) for text in texts]  # codes for "unknown" may stand in no hierarchy
            texts = tuple(line[min(deepest - level, len(line) - 1)] for line in lines)
        new = list(dict.fromkeys(texts))
        place_of = {text: number for number, text in enumerate(new)}
        numbers = np.array([*(place_of[text] for text in texts), -1], np.int64)
        codes.append(new)
        columns.append(numbers[counts.columns[place]])
    return replace(rule, population=PopulationCounts.gathered(counts.keys, codes, columns, counts.units, counts.total))
