"""``CKM`` as the method ``cell_key``: noise tables of the batch or the metadata, which say how large noise is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from discreet.errors import ParameterError
from discreet.files.argus.rda import ArgusMetadata, RdaVariable
from discreet.files.argus.text import number_of

MAGNIFIERS = {"T": "top", "M": "mean", "D": "range", "V": "sum"}
"""What ``<CKM>`` says noise is proportional to."""
FORM = re.compile(r"([A-Z])(?:\((.*)\))?")


def cell_key_record(
    files: Sequence[str],
    response: str,
    metadata: ArgusMetadata,
    find: Callable[[str], str],
    notes: list[str],
) -> dict[str, Any]:
    """The method as recipes write it.

    Parameters
    ----------
    files
        What stands behind ``CKM(t)``: a noise table for counts; two of them and a number for magnitudes.
    response
        The response, empty for counts.
    metadata
        Metadata of the data: files of noise tables with the record key, and how large the noise of a magnitude is.
    find
        Gives the name of a file as the recipe writes it.
    notes
        Gets what the log should say.
    """
    key = metadata.the("record_key")
    named = dict(key.noise_files) if key is not None else {}
    if not response:
        if len(files) > 1:
            raise ParameterError("CKM of counts takes one noise table.", hint='Write CKM(1)"table.txt".')
        file = files[0] if files else named.get("freq", "")
        if not file:
            notes.append("CKM names no noise table; the usual one of the method is taken, which the evidence holds.")
        return {"method": "cell_key", **({"noise": find(file)} if file else {})}
    if len(files) > 3:
        raise ParameterError("CKM of magnitudes takes two noise tables and a number.", hint="Leave the rest out.")
    all_cells, small, extra = [*files, "", "", ""][:3]
    record = magnitude_record(metadata[response])
    table = all_cells or named.get("cont", "")
    if not table:
        raise ParameterError(
            f"CKM of {response} names no noise table.", hint='Write CKM(1)"table.txt", or <PFILE_CONT> in the metadata.'
        )
    record["noise"] = find(table)
    if record.pop("parity"):
        record["odd"] = record["noise"]
    if record["separation"]:
        table = small or named.get("sep", "")
        if not table:
            raise ParameterError(
                f"{response} has <SEPARATION> Y, and no noise table for small values is named.",
                hint='Write CKM(1)"table.txt"|"small.txt", or <PFILE_SEP> in the metadata.',
            )
        record["small_noise"] = find(table)
    elif small:
        notes.append(f"CKM: the noise table for small values is not used; {response} has no <SEPARATION> Y.")
    if extra:
        number = number_of(extra)
        if number is None or number < 0:
            raise ParameterError(f"CKM has {extra!r} as its least noise.", hint="Give a number of at least 0.")
        record["extra"] = number
    return {"method": "cell_key", "magnitudes": record}


def magnitude_record(variable: RdaVariable) -> dict[str, Any]:
    """Noise of a magnitude as its metadata describe it, without noise tables; ``parity`` says that it takes two.

    Examples
    --------
    >>> said = (("ckm", "T(2)"), ("scaling", "F(0.03,0.3,1000,3,0.5)"))
    >>> made = magnitude_record(RdaVariable("Pay", cell_key=said))
    >>> made["large"], made["small"], made["flex_point"], made["top"], made["epsilon"]
    (0.03, 0.3, 1000.0, 2, [0.5])
    """
    said = dict(variable.cell_key)
    kind, size = _form(variable.name, "CKM", said.get("ckm", "N"))
    if kind not in MAGNIFIERS:
        raise ParameterError(
            f"The metadata do not say how large the noise of {variable.name} is.",
            hint="Add <CKM> T(k), M, D or V and <SCALING> below the variable.",
        )
    shape, numbers = _form(variable.name, "SCALING", said.get("scaling", "?"))
    expected = {"F": 4, "N": 1}.get(shape, 0)
    if not expected or len(numbers) < expected:
        raise ParameterError(
            f"<SCALING> of {variable.name} is {said.get('scaling', 'missing')!r}.",
            hint="Write F(s0,s1,x,q,e2,...) or N(s1,e2,...).",
        )
    scale: dict[str, Any] = {"small": numbers[0]}
    if shape == "F":
        scale = {"large": numbers[0], "small": numbers[1], "flex_point": numbers[2], "q": numbers[3]}
    top = int(size[0]) if size else 1
    return {
        **scale,
        "magnifier": MAGNIFIERS[kind],
        "top": top if kind == "T" else 1,
        "epsilon": numbers[expected:],
        "separation": said.get("separation", "N").upper() == "Y",
        "zeros": said.get("includezeros", "N").upper() == "Y",
        "parity": said.get("parity", "N").upper() == "Y",
    }


def _form(variable: str, keyword: str, text: str) -> tuple[str, list[float]]:
    """A letter and the numbers in brackets behind it."""
    found = FORM.fullmatch(text.strip().upper())
    if found is None:
        return "", []
    numbers = [number_of(part.strip()) for part in (found[2] or "").split(",") if part.strip()]
    if any(number is None for number in numbers):
        raise ParameterError(f"<{keyword}> of {variable} is {text!r}.", hint="Give numbers in the brackets.")
    return found[1], [float(number or 0) for number in numbers]
