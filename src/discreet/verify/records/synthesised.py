"""Synthesised columns: values that may be released, gaps, ends, rules and households, counted by code of its own."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.model.claims.synthesis import synthesis_claim
from discreet.model.condition import Condition, conditions_in
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields
from discreet.verify.records.keyed_draws import identity_of
from discreet.verify.records.value_columns import EXACT, NEVER, whole_units
from discreet.verify.records.words import code_of

if TYPE_CHECKING:
    import pyarrow as pa

HIDDEN = ("identifier", "contributor", "record_key", "waiver", "request", "household")
MODELS = {
    "codes": ("cart", "sample", "logit", "polytomous"),
    "numbers": ("cart", "sample", "normal", "normal_rank"),
}
ROOM = 5
"""Units for each value from which on a column has room for values that nobody has."""
LEAST_CHANGE, NEARLY = 1e-3, 1e-2
"""The share of their variance that numbers change by in the mean square, and what two ways to count differ by."""
FEW_NUMBERS = 50
MOST_DECIMALS = 9
Rows = NDArray[np.bool_]
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class ReleasedNumbers(NamedTuple):
    """A column of numbers in whole units before and after, where it has values, and where a rule gives them.

    ``before`` has one value for all records of a holder that share it.
    """

    name: str
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    ruled: Rows
    exact: bool


def check_synthesised(step: CheckedStep) -> None:
    """Released values are such as may be; what is stated of columns, rules, strata and households is so."""
    before = len(step.verdict.refused)
    if not _fits(step):
        return
    facts = step.evidence.facts
    kinds, ruled = _strata(step), _under_rules(step)
    for stated in facts["models"]:
        name = stated["column"]
        if step.changed[name].type != step.before[name].type:
            step.refuse("a column has another type than before", name)
            continue
        _check_gaps(step, name, kinds, ruled.get(name))
        if stated["kind"] == "codes":
            _check_codes(step, name, kinds, ruled.get(name))
        else:
            _check_numbers(step, stated, ruled.get(name, np.zeros(len(step.original), np.bool_)))
        _check_leaves(step, stated)
    _check_households(step)
    _check_unchanged(step)
    _check_seal(step)
    step.claims(synthesis_claim(step.method, facts))
    step.verdict.take_for_granted(
        "that values were drawn from the stated models, whose leaves are as large as stated", "method"
    )
    sealed = "" if step.key is None else " All synthesised values carry the seal of the secret key."
    step.verdict.prove(step.evidence.claim.statement + sealed, before)


# ---- what is stated -----------------------------------------------------------------------------------------


def _fits(step: CheckedStep) -> bool:
    """Whether columns, models, strata and given columns are those that the method names, or that the records have."""
    method, facts, before = step.method, step.evidence.facts, len(step.verdict.refused)
    roles = {name: step.original.about(name).role for name in step.before}
    strata = list(step.original.strata if method["strata"] is None else method["strata"])
    columns, given = list(facts["columns"]), list(facts["given"])
    kept = {*strata, *(method["given"] or ())}
    named = list(method["columns"]) or [n for n, role in roles.items() if role not in NEVER and n not in kept]
    if sorted(columns) != sorted(named) or set(step.changed) != set(columns) or len(set(columns)) < len(columns):
        step.refuse("other columns changed than the stated ones")
    elif any(roles[name] in NEVER for name in columns):
        step.refuse("a column was synthesised that holds no values")
    elif list(facts["strata"]) != strata or not set(strata) <= set(roles) or set(strata) & set(columns):
        step.refuse("the strata are not those that the method names, or that the records have")
    elif given != _given(method, roles, columns) or any(roles[name] in HIDDEN for name in given):
        step.refuse("other columns are given than the method names, or than stayed")
    elif [one["column"] for one in facts["models"]] != columns or any(
        one["kind"] not in MODELS for one in facts["models"]
    ):
        step.refuse("there is not one model for every column, in their order")
    elif any(not set(method[what]) <= set(columns) for what in ("order", "models", "rules", "categories")):
        step.refuse("the method names columns that were not synthesised")
    elif not set(method["rules_of_few"]) <= set(method["rules"]):
        step.refuse("rules of few are allowed for columns without rules")
    else:
        _check_order(step, columns)
        _check_models(step)
        _check_words(step, roles)
    return len(step.verdict.refused) == before


def _given(method: Mapping[str, Any], roles: Mapping[str, str], columns: Sequence[str]) -> list[str]:
    if method["given"] is not None:
        return list(method["given"])
    return [name for name, role in roles.items() if role not in NEVER and name not in columns]


def _check_order(step: CheckedStep, columns: Sequence[str]) -> None:
    """Columns that all members of every household share come first, else as the method says, else as they stand."""
    method = step.method
    named = list(method["columns"]) or [name for name in step.before if name in columns]
    wanted = [*method["order"], *(name for name in named if name not in method["order"])]
    homes = step.evidence.facts["households"]
    if list(columns) != [*(n for n in wanted if n in homes), *(n for n in wanted if n not in homes)]:
        step.refuse("the columns do not stand in the stated order")


def _check_models(step: CheckedStep) -> None:
    """Every column has the model that is named for it, one that fits its kind."""
    default = step.method["default"]
    for one in step.evidence.facts["models"]:
        name, model, kind = one["column"], one["model"], one["kind"]
        straight = ("logit", "polytomous") if kind == "codes" else ("normal_rank",)
        named = step.method["models"].get(name)
        allowed = (named,) if named is not None else straight if default == "parametric" else (default,)
        if model not in allowed or model not in MODELS[kind]:
            step.refuse("a column has another model than the method names, or one that does not fit it", name)
        if kind == "numbers" and (name in step.method["categories"] or not _may_be_numbers(step, name)):
            step.refuse("codes are called numbers", name)
        if kind == "codes" and not _may_be_codes(step, name):
            step.refuse("numbers are called codes, so that values of few records could be released", name)


def _may_be_numbers(step: CheckedStep, name: str) -> bool:
    return str(step.before[name].type) in ("int64", "double", "date32[day]", "timestamp[us]")


def _may_be_codes(step: CheckedStep, name: str) -> bool:
    """Text, true or false, what is called so, labelled numbers, and few numbers that many records share."""
    about = step.original.about(name)
    if not _may_be_numbers(step, name) or name in step.method["categories"] or about.measure == "nominal":
        return True
    import pyarrow as pa

    known = step.before[name].filter(pa.array(_counted_once(step, name)))
    found = {one["values"]: one["counts"] for one in known.value_counts().to_pylist()}
    if len(found) <= FEW_NUMBERS and all(many >= step.method["min_leaf"] for many in found.values()):
        return True
    return bool(about.value_labels) and all(code_of(value) in about.value_labels for value in found)


def _check_words(step: CheckedStep, roles: Mapping[str, str]) -> None:
    """Facts that the words of the claim need."""
    facts, rows = step.evidence.facts, len(step.original)
    if facts["rows"] != rows or facts["weighted"] is not ("weight" in roles.values()):
        step.refuse("the number of records, or whether they have weights, is stated wrongly")
    several = False
    for name in (name for name, role in roles.items() if role == "household"):
        several = len(step.before[name].unique()) < rows
    if facts["holder"] != _holder(step)[0]:
        step.refuse("it is stated wrongly whose values are counted")
    if facts["homes"] is not several:
        step.refuse("it is stated wrongly whether there are households of several members")
    if type(facts["insecure"]) is not bool or (step.key is not None and facts["insecure"] != step.key.insecure):
        step.refuse("it is not said whether draws came from a seed, or wrongly")


def _check_seal(step: CheckedStep) -> None:
    """With the key: the digest of all released values, in the order of who the records are, is the stated one."""
    if step.key is None:
        return
    order = np.argsort(identity_of(step.original).view(np.int64), kind="stable")
    parts = [f"synthesise/seal/{int(step.method['version'])}".encode()]
    for name in step.evidence.facts["columns"]:
        parts += [name.encode(), b"\0", *bytes_in_order(step.changed[name], order)]
    if blake2b(b"".join(parts), key=step.key.secret, digest_size=16).hexdigest() != step.evidence.facts["seal"]:
        step.refuse("released values are not those that the secret key sealed")


def bytes_in_order(column: pa.ChunkedArray, order: NDArray[np.int64]) -> list[bytes]:
    """Where a column has gaps, and its numbers, or the places of its words among all of them, and these."""
    import pyarrow as pa

    gaps = np.asarray(column.is_null().to_numpy(), np.bool_)[order].tobytes()
    if not (pa.types.is_string(column.type) or pa.types.is_boolean(column.type)):
        return [gaps, _plain(column)[order].tobytes()]
    words = np.array(["" if word is None else code_of(word) for word in column.to_pylist()], object)
    distinct, place = np.unique(words, return_inverse=True)
    return [gaps, place.ravel()[order].astype(np.int64).tobytes(), "\0".join(distinct).encode()]


def _check_unchanged(step: CheckedStep) -> None:
    """It is said in how many records nothing changed, and these are not all where columns have several values."""
    columns, as_before = step.evidence.facts["columns"], np.ones(len(step.original), np.bool_)
    for name in columns:
        as_before &= _same_values(step.before[name], step.changed[name])
    same = int(as_before.sum())
    if step.evidence.facts["same"] != same:
        step.refuse("another number of records is as before than stated")
    if as_before.all() and any(len(step.before[name].unique()) > 1 for name in columns):
        step.refuse("no value changed")


def _same_values(old: pa.ChunkedArray, new: pa.ChunkedArray) -> Rows:
    """Where two columns agree, in gaps, too."""
    import pyarrow as pa

    if pa.types.is_string(old.type) or pa.types.is_boolean(old.type):
        return np.asarray(_numbered(old)[0] == _numbered(new, old)[0], np.bool_)
    gaps, now = (np.asarray(column.is_null().to_numpy(), np.bool_) for column in (old, new))
    return np.asarray((gaps & now) | ((gaps == now) & (_plain(old) == _plain(new))), np.bool_)


def _check_leaves(step: CheckedStep, stated: Mapping[str, Any]) -> None:
    sizes = [stated[what] for what in ("leaves", "smallest", "largest")]
    if any(type(size) is not int for size in sizes):
        step.refuse("numbers of leaves are none", stated["column"])
    elif sizes[0] and not step.method["min_leaf"] <= sizes[1] <= sizes[2]:
        step.refuse("a leaf is stated to be smaller than the least", stated["column"])


# ---- values -------------------------------------------------------------------------------------------------


def _strata(step: CheckedStep) -> NDArray[np.int64]:
    """The number of every record's stratum."""
    kind = np.zeros(len(step.original), np.int64)
    for name in step.evidence.facts["strata"]:
        codes, size = _numbered(step.before[name])
        kind = np.unique(kind * size + codes, return_inverse=True)[1].ravel()
    return kind


def _numbered(column: pa.ChunkedArray, among: pa.ChunkedArray | None = None) -> tuple[NDArray[np.int64], int]:
    """A number for every value, -1 and so 0 for a gap; of ``among`` where given, with one more for all others."""
    import pyarrow.compute as pc

    values = pc.unique((column if among is None else among).drop_null())
    codes = np.asarray(pc.index_in(column, values).fill_null(len(values)).to_numpy(), np.int64) + 1
    codes[np.asarray(column.is_null().to_numpy(), np.bool_)] = 0
    return codes, len(values) + 2


def _check_gaps(step: CheckedStep, name: str, kinds: NDArray[np.int64], ruled: Rows | None) -> None:
    """A stratum has gaps, and codes for "unknown", only where it had such before, or where a rule says so."""
    missing = step.original.about(name).missing
    old, new = step.before[name], step.changed[name]
    here = empty_fields(new, missing)
    if ruled is not None:
        here &= ~ruled
    codes, size = _numbered(new, old)
    before = empty_fields(old, missing)
    seen = set(np.unique(kinds[before] * size + _numbered(old)[0][before]).tolist())
    if not set(np.unique(kinds[here] * size + codes[here]).tolist()) <= seen:
        step.refuse("fields are empty in a way that no record of the stratum was", name)


def _check_codes(step: CheckedStep, name: str, kinds: NDArray[np.int64], ruled: Rows | None) -> None:
    """Every released code is one that a record of the stratum has."""
    (old, size), (new, _) = _numbered(step.before[name]), _numbered(step.changed[name], step.before[name])
    free = np.ones(len(new), np.bool_) if ruled is None else ~ruled
    if not set(np.unique(kinds[free] * size + new[free]).tolist()) <= set(np.unique(kinds * size + old).tolist()):
        step.refuse("a code is released that no record of the stratum has", name)


def _check_numbers(step: CheckedStep, stated: Mapping[str, Any], ruled: Rows) -> None:
    """Units and ends are those of the column, released values lie within, and those of few are none, or counted."""
    name, least = stated["column"], step.method["min_leaf"]
    found = _in_units(step, stated, ruled)
    if found is None:
        step.refuse("values are not whole in the stated unit", name)
        return
    ordered = np.sort(found.before)
    if len(ordered) < 2 * least + 2:
        step.refuse("a column has too few values to be released", name)
        return
    low, high, grid = stated["low"], stated["high"], stated["step"]
    if grid != max(int(np.gcd.reduce(ordered)), 1) or not _unit_is_least(found, stated["decimals"]):
        step.refuse("the unit is not the one that all values are multiples of", name)
        return
    if not (ordered[least - 1] <= low <= high <= ordered[-least]):
        step.refuse("the ends leave fewer of the largest or smallest values beyond than stated", name)
    drawn = found.after
    if np.any((drawn < low) | (drawn > high) | (drawn % grid != 0)):
        step.refuse("a value is released beyond the ends, or between the units", name)
    values, often = np.unique(ordered, return_counts=True)
    rare = values[often < least]
    met = int(np.isin(drawn, rare).sum())
    fine = (high - low) // grid >= ROOM * len(ordered)
    if stated["fine"] is not bool(fine) or stated["rare"] != len(rare):
        step.refuse("it is stated wrongly which values few records have, or whether there is room between them", name)
    elif fine and met:
        step.refuse("values are released that only few records have", name)
    _check_followed(step, stated, ruled)
    if stated["met"] != met:
        step.refuse("another number of released values is that of few records than stated", name)


def _check_followed(step: CheckedStep, stated: Mapping[str, Any], ruled: Rows) -> None:
    """Numbers are not each beside their own: what changed is some share of what they vary by, between the ends."""
    name, unit = stated["column"], 10.0 ** stated["decimals"]
    missing = step.original.about(name).missing
    known = ~(empty_fields(step.before[name], missing) | empty_fields(step.changed[name], missing) | ruled)
    old, new = (_plain(some[name])[known].astype(np.float64) for some in (step.before, step.changed))
    old = np.clip(old, stated["low"] / unit, stated["high"] / unit)
    if len(old) and ((new - old) ** 2).mean() < LEAST_CHANGE * (1 - NEARLY) * old.var():
        step.refuse("values are nearly as they were", name)


def _in_units(step: CheckedStep, stated: Mapping[str, Any], ruled: Rows) -> ReleasedNumbers | None:
    """Values before and after as whole units; those that rules give are left out after."""
    name, decimals = stated["column"], stated["decimals"]
    if any(type(stated[what]) is not int for what in ("decimals", "step", "low", "high", "rare", "met")):
        return None
    if not 0 <= decimals <= MOST_DECIMALS or stated["step"] < 1:
        return None
    missing = step.original.about(name).missing
    old, new = (_plain(column) for column in (step.before[name], step.changed[name]))
    old = old[_counted_once(step, name)]
    new = new[~empty_fields(step.changed[name], missing) & ~ruled]
    after = whole_units(new, decimals)
    before, exact = whole_units(old, decimals), True
    if before is None and old.dtype.kind == "f":  # no unit writes all values: those that are stated do nearly
        before, exact = _nearly_units(old, decimals), False
    return None if before is None or after is None else ReleasedNumbers(name, before, after, ruled, exact)


def _nearly_units(values: NDArray[np.float64], decimals: int) -> NDArray[np.int64] | None:
    """The nearest whole units; none where there are larger ones than these can be counted in."""
    scaled = np.rint(values * 10.0**decimals)
    return scaled.astype(np.int64) if np.all(np.abs(scaled) < EXACT) else None


def _holder(step: CheckedStep) -> tuple[str, pa.ChunkedArray | None]:
    """Whose values are counted: companies, else households, else records."""
    for role in ("contributor", "household"):
        for name in step.before:
            if step.original.about(name).role == role:
                return role, step.before[name]
    return "record", None


def _counted_once(step: CheckedStep, name: str) -> Rows:
    """Rows with a value, one for each holder and value."""
    column, (_, holder) = step.before[name], _holder(step)
    known = ~empty_fields(column, step.original.about(name).missing)
    if holder is None:
        return known
    who, _ = _numbered(holder)
    who[who == 0] = -1 - np.flatnonzero(who == 0)  # nobody knows whose they are: each for itself
    rows, values = np.flatnonzero(known), _plain(column)
    rows = rows[np.lexsort((values[rows], who[rows]))]
    again = (np.diff(who[rows]) == 0) & (values[rows][1:] == values[rows][:-1])
    known[rows[1:][again]] = False
    return known


def _plain(column: pa.ChunkedArray) -> Any:
    import pyarrow as pa

    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64()).cast(pa.int64())
    return np.asarray(column.fill_null(0).to_numpy())


def _unit_is_least(found: ReleasedNumbers, decimals: int) -> bool:
    """No fewer decimals write all values; where no number of them does, any unit will do that is stated."""
    return not found.exact or decimals == 0 or bool(np.any(found.before % 10))


# ---- rules and households -----------------------------------------------------------------------------------


def _under_rules(step: CheckedStep) -> dict[str, Rows]:
    """Rows that a rule is about, by column; all have the value that it says, before and after."""
    after = {**step.before, **step.changed}
    found = {}
    for name, lines in step.method["rules"].items():
        rows = np.zeros(len(step.original), np.bool_)
        for text, value in lines.items():
            for columns in (step.before, after):
                holds = np.ones(len(step.original), np.bool_)
                for condition in conditions_in(text):
                    holds &= _holds(step, condition, columns[condition.column])
                if not np.all(_is_value(columns[name], value)[holds]):
                    step.refuse("a rule does not hold", f"{name}: {text}")
                if columns is step.before and _tells_of_few(step, name, value, holds):
                    step.refuse("a rule gives what few have, and nobody allowed it", f"{name}: {text}")
                rows = holds | rows if columns is after else rows
        found[name] = rows
    return found


def _tells_of_few(step: CheckedStep, name: str, value: Any, holds: Rows) -> bool:
    """Whether a rule gives a value that some holders, but fewer than the least number, are under."""
    _, holder = _holder(step)
    who = np.flatnonzero(holds)
    if holder is not None:
        number = _numbered(holder)[0][who]
        who = np.where(number == 0, -1 - who, number)  # nobody knows whose they are: each for itself
    gives = value is not None and value != ""
    return gives and 0 < len(set(who.tolist())) < step.method["min_leaf"] and name not in step.method["rules_of_few"]


def _holds(step: CheckedStep, condition: Condition, column: pa.ChunkedArray) -> Rows:
    """Where a condition holds, looked up for each distinct value."""
    import pyarrow as pa

    if condition.operator in ("is null", "is not null"):
        gaps = np.asarray(column.is_null().to_numpy(), np.bool_)
        return gaps if condition.operator == "is null" else ~gaps
    texts = pa.types.is_temporal(column.type)
    encoded = column.combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    words = encoded.dictionary.cast(pa.string()).to_pylist() if texts else encoded.dictionary.to_pylist()
    wanted = [str(value) if texts else value for value in condition.values]
    unknown = empty_fields(pa.chunked_array([encoded.dictionary]), step.original.about(condition.column).missing)
    if condition.operator in ("in", "not in"):
        kept = [(word in wanted) == (condition.operator == "in") for word in words]
    else:
        compare = COMPARE[condition.operator]
        sized = condition.operator not in ("==", "!=")
        kept = [compare(word, wanted[0]) and not (sized and bad) for word, bad in zip(words, unknown, strict=True)]
    place = np.asarray(encoded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False), np.int64)
    return np.asarray(np.array([*kept, False])[place], np.bool_)


def _is_value(column: pa.ChunkedArray, value: Any) -> Rows:
    """Where a column has a value; nothing, and empty text, stand for a gap."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if value is None or value == "":
        return np.asarray(column.is_null().to_numpy(), np.bool_)
    wanted = (
        pa.scalar(str(value)).cast(column.type) if pa.types.is_temporal(column.type) else pa.scalar(value, column.type)
    )
    return np.asarray(pc.equal(column, wanted).fill_null(False).to_numpy(), np.bool_)


def _check_households(step: CheckedStep) -> None:
    """Columns that all members of every household shared are the same for all members after, too; all are stated."""
    facts = step.evidence.facts
    named = [name for name in step.before if step.original.about(name).role == "household"]
    if not facts["homes"]:
        if facts["households"]:
            step.refuse("columns of households are stated, and there are none of several members")
        return
    home = _numbered(step.before[named[0]])[0]
    shared = [name for name in facts["columns"] if _one_each(home, step.before[name])]
    if list(facts["households"]) != shared:
        step.refuse("other columns are stated to be those of households than all members shared")
    for name in shared:
        if not _one_each(home, step.changed[name]):
            step.refuse("members of a household have different values where all had the same", name)


def _one_each(home: NDArray[np.int64], column: pa.ChunkedArray) -> bool:
    """Whether a column has one value in each household."""
    codes, size = _numbered(column)
    return len(np.unique(home * size + codes)) == len(np.unique(home))
