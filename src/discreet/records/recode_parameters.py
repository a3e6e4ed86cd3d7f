"""What parameters of ``Recode`` say together, and what its files say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, ParameterError, counted, listed

if TYPE_CHECKING:
    from discreet.records.recode import Recode

WAYS = ("map", "groups", "file", "level", "closed", "intervals", "digits", "base", "date")
ENDS = ("top", "bottom")
FOR_TAILS = ("order", "weight", "coded_as", "top_code", "bottom_code", "together")
"""Options of top and bottom codes."""


def check_parameters(how: Recode) -> dict[str, Any]:
    """Refuse parameters that do not go together; the answer is what is kept of those that were given otherwise."""
    kept: dict[str, Any] = {"column": _columns(how.column), "intervals": _rising(how.intervals)}
    ways = [name for name in WAYS if getattr(how, name) not in (None, (), [], {})]
    middle = how.coded_as != "limit"
    if middle and "base" in ways:
        ways.remove("base")
    tails = [name for end in ENDS for name in _of_end(end) if getattr(how, name) is not None]
    given = [*ways, *tails]
    if not given:
        raise ParameterError(
            f"Recode({how.column!r}) does not say how.",
            hint=f"Give one of {listed((*WAYS, *ENDS))}, such as top=85.",
        )
    if len(ways) > 1 or (ways and tails):
        raise ParameterError(f"Recode({how.column!r}) has both {listed(given)}.", hint="Give one Recode for each.")
    if how.complete and how.file is None and not {"map", "groups"} & set(ways):
        raise ParameterError("complete= is for map= and groups=.", hint="Leave it out.")
    _check_codes(how)
    kept["groups"] = _groups(how.groups)
    _check_dates(how)
    _check_tails(how, tails, several=not isinstance(kept["column"], str))
    if how.ties != "even" and how.base is None and not middle:
        raise ParameterError("ties= says how numbers are rounded, and none is.", hint="Give base=, or leave it out.")
    for name in ENDS:
        if isinstance(getattr(how, name), Mapping):
            kept[name] = _limits(name, getattr(how, name), kept["column"])
    return kept


def _of_end(end: str) -> tuple[str, ...]:
    return end, f"{end}_quantile", f"{end}_count"


def _columns(given: Any) -> str | tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    good = isinstance(names, Sequence) and len(names) > 0 and all(isinstance(n, str) and n for n in names)
    if not good or len(set(names)) < len(names):
        raise ParameterError(f"column={given!r} is not allowed.", hint="Name a column, or several, each once.")
    return str(names[0]) if len(names) == 1 else tuple(names)


def _rising(given: Any) -> tuple[float, ...]:
    numbers = (given,) if isinstance(given, int | float) else given
    good = isinstance(numbers, Sequence) and not isinstance(numbers, str) and all(_is_number(n) for n in numbers)
    if not good or any(a >= b for a, b in pairwise(numbers)):
        raise ParameterError(f"intervals={given!r} is not allowed.", hint="Give numbers in rising order.")
    return tuple(numbers)


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and isfinite(given)


def _check_codes(how: Recode) -> None:
    if how.names and len(how.names) != len(how.intervals) + 1:
        raise ParameterError(
            f"names= gives {counted(len(how.names), 'name')}, and there are {len(how.intervals) + 1} intervals.",
            hint="Name the interval before the first beginning, too.",
        )
    for name in ("map", "labels"):
        given = getattr(how, name)
        if given is not None and not all(isinstance(word, str) for pair in given.items() for word in pair):
            raise ParameterError(
                f"{name}= takes text to text.", hint=f"Write codes in quotes: {name}={{'1': '1-2', ...}}."
            )


def _groups(given: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Groups as lists of text; a part that two groups name is refused."""
    made: dict[str, tuple[str, ...]] = {}
    first: dict[str, str] = {}
    for new, old in given.items():
        parts = (old,) if isinstance(old, str) else old
        good = isinstance(new, str) and isinstance(parts, tuple | list) and len(parts) > 0
        if not good or not all(isinstance(part, str) and part for part in parts):
            raise ParameterError(
                f"groups[{new!r}]={old!r} is not allowed.", hint="Give old codes in a list: {'1-9': ['1', '2-9']}."
            )
        for part in parts:
            if first.setdefault(part, new) != new:
                raise ParameterError(
                    f"groups= gives {part!r} two new codes: {first[part]!r} and {new!r}.",
                    hint="Name each code in one group.",
                )
        made[new] = tuple(parts)
    return made


def _check_dates(how: Recode) -> None:
    if (how.date == "age") != (how.at is not None):
        missing = how.date == "age"
        raise ParameterError(
            "date='age' needs the day on which ages are counted." if missing else "at= is for date='age'.",
            hint="Give at='2024-12-31'." if missing else "Leave it out, or give date='age'.",
        )
    if how.at is not None:
        try:
            plain = date.fromisoformat(how.at).isoformat() == how.at
        except ValueError:
            plain = False
        if not plain:
            raise ParameterError(f"at={how.at!r} is no day.", hint="Write year, month and day: at='2024-12-31'.")


def _check_tails(how: Recode, tails: Sequence[str], *, several: bool) -> None:
    if not tails:
        strange = [name for name in FOR_TAILS if getattr(how, name) not in (None, (), False, "limit")]
        if strange:
            raise ParameterError(
                f"{listed(strange)} of Recode({how.column!r}) is for top and bottom codes, and there are none.",
                hint="Give top=, top_quantile= or top_count=, or the same of the bottom; or leave it out.",
            )
        return
    for end in ENDS:
        mine = [name for name in tails if name in _of_end(end)]
        if len(mine) > 1:
            raise ParameterError(
                f"Recode({how.column!r}) has both {listed(mine)}.", hint="Give one limit for each end."
            )
        code = getattr(how, f"{end}_code")
        if code is not None and not mine:
            raise ParameterError(f"{end}_code= is given, and no {end} is coded.", hint=f"Give {end}=, or leave it out.")
        if code is not None and how.coded_as != "limit":
            raise ParameterError(f"{end}_code= and coded_as={how.coded_as!r} say two things.", hint="Give one of them.")
        for name in (end, f"{end}_code"):
            _check_limit(name, getattr(how, name))
    _check_order(how)
    if how.together and (not several or {name.partition("_")[0] for name in tails} == set(ENDS)):
        raise ParameterError(
            "together= codes one end of several columns.", hint="Name several columns, and their top or their bottom."
        )
    if how.weight is not None and how.coded_as == "limit" and set(tails) <= set(ENDS):
        raise ParameterError("weight= is for quantiles, counts and means, and there are none.", hint="Leave it out.")
    if _is_number(how.top) and _is_number(how.bottom) and how.bottom > how.top:  # type: ignore[operator]
        raise ParameterError(f"bottom={how.bottom} lies above top={how.top}.", hint="Exchange them.")


def _check_limit(name: str, given: Any) -> None:
    good = given is None or _is_number(given) or (isinstance(given, str) and given != "")
    if not good and not (isinstance(given, Mapping) and name in ENDS):
        raise ParameterError(f"{name}={given!r} is not allowed.", hint="Give a number; a code, where order= is given.")


def _check_order(how: Recode) -> None:
    if not how.order:
        return
    if len(set(how.order)) < len(how.order) or len(how.order) < 2:
        raise ParameterError("order= names a code twice, or fewer than two.", hint="Name every code once.")
    if how.coded_as != "limit":
        raise ParameterError(
            f"Codes have no {how.coded_as}.", hint="Leave coded_as= out, or order= where the column holds numbers."
        )
    for name in ENDS:
        given = getattr(how, name)
        for limit in given.values() if isinstance(given, Mapping) else [given]:
            if limit is not None and limit not in how.order:
                raise ParameterError(f"{name}={limit!r} is none of the codes in order=.", hint="Name one of them.")
    if how.top in how.order and how.bottom in how.order and how.order.index(how.bottom) > how.order.index(how.top):
        raise ParameterError(f"bottom={how.bottom!r} lies above top={how.top!r}.", hint="Exchange them.")


def _limits(name: str, given: Mapping[str, Any], columns: str | tuple[str, ...]) -> dict[str, Any]:
    """Limits by column: every column has one."""
    wanted = {columns} if isinstance(columns, str) else set(columns)
    if set(given) != wanted:
        raise ParameterError(
            f"{name}= names {listed(given)}, and the columns are {listed(sorted(wanted))}.",
            hint="Give one limit for every column.",
        )
    for column, limit in given.items():
        _check_limit(f"{name}[{column!r}]", limit)
        if limit is None:
            raise ParameterError(f"{name}[{column!r}] is missing.", hint="Give a number.")
    return dict(given)


def from_file(how: Recode, name: str, find: Callable[[str], Path]) -> dict[str, Any]:
    """What a file says: groups or closed codes of a ``.grc`` file with codes for "unknown" and labels, or a map."""
    path = find(name)
    if path.suffix.lower() != ".grc":
        from discreet.files.hrc import read_code_map

        return {"map": dict(read_code_map(path))}
    from discreet.files.argus.recodes import read_recode
    from discreet.files.hrc import read_labels

    said = read_recode(path)
    groups: dict[str, tuple[str, ...]] = {}
    for group in said.groups:
        groups[group.code] = (*groups.get(group.code, ()), *group.parts)
    labels = dict(how.labels)
    if said.codelist and not labels:
        labels = dict(read_labels(find(str(Path(name).parent / said.codelist.replace("\\", "/"))), notes=[]))
    if not groups and not said.nodes:
        raise InputError(f"{path.name} recodes nothing.", hint="It needs a line such as new: old, old.")
    return {
        "groups": groups,
        "closed": tuple(code for code, _ in said.nodes),
        "unknown": how.unknown or said.missing,
        "labels": labels,
    }
