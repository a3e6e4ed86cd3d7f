"""How values were blanked at random and what noise was added: facts that are published so that analysts can correct."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from discreet.errors import InputError, listed


@dataclass(frozen=True)
class KeptRange:
    """Limits between which values of a column are kept, and how blurred they are.

    A value is kept where it lies between ``low`` and ``high`` (``None``: no limit) after a normal draw with the
    standard deviation ``jitter`` was added to it. The draw decides, and is not published.
    """

    low: float | None
    high: float | None
    jitter: float

    def __post_init__(self) -> None:
        ends = [end for end in (self.low, self.high) if end is not None]
        if not ends or not all(_is_number(end) for end in ends) or (len(ends) == 2 and ends[0] >= ends[1]):
            raise InputError(
                f"low={self.low!r}, high={self.high!r} are no limits.", hint="Give one, or two in ascending order."
            )
        if not _is_number(self.jitter) or self.jitter <= 0:
            raise InputError(f"jitter={self.jitter!r} is no standard deviation above 0.")


@dataclass(frozen=True)
class Blanking:
    """What analysts are told of :class:`discreet.BlankValues`: how likely values were kept, and their noise.

    Parameters
    ----------
    columns
        Columns that are empty together in blanked records.
    kept
        For every column that decided, the limits and how blurred they are.
    noise
        For every column with noise, its variance as published (rounding included).

    Examples
    --------
    >>> from discreet.model.blanking import Blanking, KeptRange
    >>> Blanking(("tax", "wage"), {"wage": KeptRange(None, 900, 100.0)}, {"tax": 25.0})
    Blanking of tax, wage: wage kept below 900 (jitter 100), noise variance of tax 25
    """

    columns: tuple[str, ...]
    kept: Mapping[str, KeptRange]
    noise: Mapping[str, float]

    def __post_init__(self) -> None:
        strange = sorted({*self.kept, *self.noise} - set(self.columns))
        if strange or not self.columns or not all(isinstance(name, str) and name for name in self.columns):
            raise InputError(f"{listed(strange) or 'A blanking'} is not among the blanked columns.")
        wrong = [name for name, variance in self.noise.items() if not _is_number(variance) or variance <= 0]
        if wrong:
            raise InputError(f"The noise of {listed(wrong)} has no variance above 0.")

    def record(self) -> dict[str, Any]:
        """As plain data."""
        kept = {name: {"low": r.low, "high": r.high, "jitter": r.jitter} for name, r in self.kept.items()}
        return {"columns": list(self.columns), "kept": kept, "noise": dict(self.noise)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Blanking:
        """From plain data, which may come from anybody."""
        try:
            if set(record) != {"columns", "kept", "noise"} or not isinstance(record["columns"], list | tuple):
                raise KeyError
            kept = {name: KeptRange(**dict(ends)) for name, ends in record["kept"].items()}
            return cls(tuple(record["columns"]), kept, dict(record["noise"]))
        except (AttributeError, KeyError, TypeError, ValueError):
            raise InputError(
                "This does not say how values were blanked.",
                hint="It needs columns, kept (low, high and jitter for each) and noise (a variance for each).",
            ) from None

    def __repr__(self) -> str:
        said = [f"{name} kept {_between(r.low, r.high)} (jitter {r.jitter:g})" for name, r in self.kept.items()]
        said += [f"noise variance of {name} {variance:g}" for name, variance in self.noise.items()]
        return f"Blanking of {', '.join(self.columns)}: {', '.join(said)}"


def published_blankings(steps: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> tuple[Blanking, ...]:
    """What goes out, from methods as plain data and the facts of their evidence."""
    return tuple(
        Blanking.from_record({name: facts[name] for name in ("columns", "kept", "noise")})
        for method, facts in steps
        if method.get("method") == "blank_values"
    )


def analyst_readme(name: str, blankings: Sequence[Mapping[str, Any]]) -> str:
    """Words for analysts, from plain data: what was done, and how to correct for it."""
    lines = [f"# {name}: how to analyse these records", ""]
    for told in blankings:
        columns = ", ".join(told["columns"])
        for column, variance in told["noise"].items():
            lines.append(
                f"- `{column}`: normal noise with mean 0 and variance {variance!r} was added to every value. Slopes of "
                "models that take the column for exact are too small."
            )
        for column, ends in told["kept"].items():
            low = "" if ends["low"] is None else f" - Phi(({ends['low']!r} - {column}) / {ends['jitter']!r})"
            high = "1" if ends["high"] is None else f"Phi(({ends['high']!r} - {column}) / {ends['jitter']!r})"
            lines.append(
                f"- `{column}`: a value was kept with the probability P = {high}{low}, where Phi is the standard "
                "normal distribution function and the value is the published one."
            )
        if told["kept"]:
            lines.append(f"- Where a record was not kept, {columns} are empty in it, all of them together.")
    lines += [
        "",
        f"The same numbers stand in `{name}.blanking.json`. With Python:",
        "",
        "    import discreet as ds",
        f'    told = ds.read_blanking("{name}.blanking.json")',
        '    fit = ds.analyse.bsimex(frame, "OUTCOME", ["REGRESSOR", ...], blanking=told)',
        "    print(fit.summary())",
        "",
        "By other means: weight every complete record by 1 / P of the outcome (limits of regressors need no weight),",
        "and correct the slopes for the noise by simulation and extrapolation (SIMEX). Report the largest weight and",
        "the effective number of records: weights have no upper bound.",
        "",
        "What stays: where values with noise decided, the noise of kept records depends on their true values, and a",
        "small bias remains that does not vanish in large files. A quadratic extrapolation corrects strong noise less",
        "than fully.",
        "",
    ]
    return "\n".join(lines)


def _between(low: float | None, high: float | None) -> str:
    if low is None:
        return f"below {high:g}"
    return f"above {low:g}" if high is None else f"from {low:g} to {high:g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
