"""Records as they go out: which columns, in which order of rows, and what is said of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.model.arrays import Ints
from discreet.model.records import (
    HOUSEHOLD,
    NEVER_PUBLIC,
    TOLD,
    MissingRange,
    PublicColumn,
    PublicRecords,
    RecordSet,
    code_text,
    stands_for_unknown,
)
from discreet.model.transition import TransitionMatrix

if TYPE_CHECKING:
    import pyarrow as pa


class NewWords(NamedTuple):
    """What a recoding says of its new codes: words for them, and which of them stand for "unknown"."""

    labels: Mapping[str, str]
    unknown: tuple[str, ...]


def new_words(done: Iterable[tuple[Mapping[str, Any], Collection[str]]]) -> dict[str, NewWords]:
    """Per column what its last recoding says of its codes; steps are methods as plain data with what they changed."""
    found: dict[str, NewWords] = {}
    for method, changed in done:
        if method.get("method") == "recode":
            said = NewWords(method.get("labels", {}), tuple(method.get("unknown", ())))
            found.update(dict.fromkeys(changed, said))
    return found


NO_WORDS = NewWords({}, ())
KEEPS_CODES = ("blank_values", "local_suppress", "pram", "rank_swap", "shuffle", "swap", "synthesise")
"""Methods that leave the meaning of codes as it was: what is said of their columns stays true."""


def _by_digits(records: RecordSet, column: str) -> bool:
    """Whether the hierarchy of a column has a level for every digit of its codes."""
    tree = records.hierarchies.get(column)
    if tree is None or tree.total is None:
        return False
    above = {code: tree.codes[up] for code, up in zip(tree.codes, tree.parents.tolist(), strict=True) if up >= 0}
    plain = {code: up for code, up in above.items() if code not in tree.missing}
    deepest = max(map(len, plain), default=0)
    return deepest > 1 and all(up == (code[:-1] or tree.total) for code, up in plain.items())


def public_records(
    name: str,
    records: RecordSet,
    order: Ints,
    altered: Collection[str],
    keeps_order: bool,
    matrices: tuple[TransitionMatrix, ...] = (),
    words: Mapping[str, NewWords] | None = None,
    recoded: Collection[str] | None = None,
) -> PublicRecords:
    """The public view of records.

    Columns that name somebody are not in it. Households are numbered anew in the order of the public rows: their old
    numbers may be known elsewhere, and who belongs together is all that a reader needs.

    Parameters
    ----------
    name
        Name of the public file.
    records
        The records after all steps.
    order
        Public row ``i`` is row ``order[i]`` of the records.
    altered
        Columns that some method changed.
    keeps_order
        Whether the rows stand in their original order.
    matrices
        Transition matrices that are published, too.
    words
        What recodings say of the new codes of columns.
    recoded
        Columns whose codes may mean something else than before, so that labels and formats are gone; all altered ones
        where left out.
    """
    import pyarrow as pa

    shown = [column for column in records.names if records.about(column).role not in NEVER_PUBLIC]
    # Taken in any case, also in the original order: columns may still hold what was emptied under their gaps, where no
    # file shows it and a pickled release would have it.
    table = records.columns.select(shown).take(pa.array(order))
    info = {}
    for column in shown:
        about = records.about(column)
        household = about.role == HOUSEHOLD
        if household:
            table = table.set_column(shown.index(column), column, pa.chunked_array([_renumbered(table[column])]))
        gone = household or column in (altered if recoded is None else recoded)
        said = (words or {}).get(column, NO_WORDS) if gone and not household else NO_WORDS
        labels = dict(said.labels if gone else about.value_labels)
        unknown = (*about.missing, *((code, code) for code in said.unknown))
        info[column] = PublicColumn(
            altered=household or column in altered,
            label=about.label,
            value_labels=_left(table[column], labels) if column in altered else labels,
            missing=() if household else _missing(table[column], unknown) if column in altered else about.missing,
            format="" if gone else about.format,
            role=about.role if about.role in TOLD else "",
            measure="" if gone else about.measure,
            truncable=not gone and _by_digits(records, column),
        )
    return PublicRecords(name, table.combine_chunks(), info, keeps_order, matrices)


def _left(column: pa.ChunkedArray, labels: dict[str, str]) -> dict[str, str]:
    """Labels of codes that an altered column still has: the others would tell what it had."""
    if not labels:
        return {}
    there = {code_text(value) for value in column.unique().to_pylist() if value is not None}
    return {code: text for code, text in labels.items() if code in there}


def _missing(column: pa.ChunkedArray, missing: tuple[MissingRange, ...]) -> tuple[MissingRange, ...]:
    """Codes for "unknown" that an altered column still has: what it has no more would be stale."""
    import pyarrow as pa

    if not missing:
        return ()
    missing = tuple(dict.fromkeys(missing))
    values = [value for value in column.unique().to_pylist() if value is not None]
    if pa.types.is_string(column.type):
        codes = sorted(value for value in values if stands_for_unknown(value, missing))
        return tuple((code, code) for code in codes)
    return tuple(ends for ends in missing if any(stands_for_unknown(value, [ends]) for value in values))


def _renumbered(column: pa.ChunkedArray) -> pa.Array:
    """Households numbered from 1 in the order in which they first stand there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    places = column.combine_chunks().dictionary_encode()
    places = places.chunk(0) if isinstance(places, pa.ChunkedArray) else places
    return pc.add(places.indices.cast(pa.int64()), 1)
