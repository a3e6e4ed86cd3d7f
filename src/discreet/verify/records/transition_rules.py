"""Transition matrices as their notation says, by code of the checker's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Floats

PART = re.compile(r"(?P<n>\d*)(?P<kind>[BEF])\((?P<p>\d*\.?\d*)(;(?P<b>1½|\d+\.?\d*))?\)|(?P<alone>1)")


class Piece(NamedTuple):
    """A block of a matrix; ``size`` 0 stands for all codes."""

    kind: str
    size: int
    stay: float
    width: float


def pieces_of(notation: str) -> list[Piece]:
    """The blocks that a notation lists; what is no notation is an error."""
    text = "".join(notation.split()).upper()
    listed = [text]
    if text.startswith("BLOCK("):
        count, _, inside = text[6:-1].partition(";")
        listed = [match[0] for match in PART.finditer(inside)]
        if not text.endswith(")") or ";".join(listed) != inside or int(count) != len(listed):
            raise ValueError("not a notation")
    found = []
    for one in listed:
        match = PART.fullmatch(one)
        if match is None or (one == "1" and len(listed) == 1 and listed[0] == text):
            raise ValueError("not a notation")
        if match["alone"]:
            found.append(Piece("E", 1, 1.0, 0.0))
            continue
        stay, width = float(match["p"]), 1.5 if match["b"] == "1½" else float(match["b"] or 0)
        good = width == 1.5 or (width >= 2 and width.is_integer()) if match["kind"] == "B" else width == 0
        size = int(match["n"] or 0)
        if not 0 <= stay <= 1 or not good or match["n"] == "0" or (size == 1 and stay < 1) or (not size and listed[1:]):
            raise ValueError("not a notation")
        found.append(Piece(match["kind"], size, stay, width))
    return found


def is_fixed(method: Mapping[str, Any], name: str) -> bool:
    """Whether a matrix is the same whatever the records of a stratum are."""
    given = method["matrices"][name]
    if method["invariant"]:
        return False
    if not isinstance(given, str):
        return True
    pieces = pieces_of(given)
    return all(piece.kind != "F" for piece in pieces) and (pieces[0].size > 0 or name in method["codes"])


def is_open(method: Mapping[str, Any], name: str) -> bool:
    """Whether a matrix is for whatever codes occur."""
    given = method["matrices"][name]
    return isinstance(given, str) and name not in method["codes"] and pieces_of(given)[0].size == 0


def stated_matrix(method: Mapping[str, Any], name: str, codes: Sequence[str], times: Floats) -> Floats:
    """The matrix that a method states for codes that occur so often."""
    given = method["matrices"][name]
    if isinstance(given, str):
        found = _of_notation(pieces_of(given), times)
    else:
        found = np.array([[float(given[code].get(to, 0)) for to in codes] for code in codes]).reshape(len(codes), -1)
    return _there_and_back(found, times) if method["invariant"] else found


def _of_notation(pieces: Sequence[Piece], times: Floats) -> Floats:
    if sum(piece.size or len(times) for piece in pieces) != len(times):
        raise ValueError("a matrix of another size")
    found, first = np.zeros((len(times), len(times))), 0
    for piece in pieces:
        size = piece.size or len(times)
        for place in range(size):
            found[first + place, first : first + size] = _row(piece, place, times[first : first + size])
        first += size
    return found


def _row(piece: Piece, place: int, times: Floats) -> Floats:
    """One row: the weights of all other codes, scaled to what does not stay."""
    size = len(times)
    if size == 1:
        return np.ones(1)
    apart = np.abs(np.arange(size) - place)
    weights: NDArray[Any] = np.ones(size)
    if piece.kind == "B":
        weights = (apart < piece.width).astype(np.float64)
        if piece.width == 1.5:
            weights = (np.arange(size) == (place + 1 if place + 1 < size else place - 1)).astype(np.float64)
    elif piece.kind == "F" and size > 2 and times.sum() > times[place]:
        weights = times.sum() - times[place] - times
    weights = np.where(apart == 0, 0.0, weights)
    row: Floats = (1 - piece.stay) * weights / weights.sum()
    row[place] = piece.stay
    return row


def _there_and_back(chances: Floats, times: Floats) -> Floats:
    """The chance to go somewhere and to come back to each code, in proportion to who came from there."""
    arrive = times @ chances
    some = arrive > 0
    found: Floats = (chances[:, some] / arrive[some]) @ chances[:, some].T * times[None, :]
    found[:, ~some] += chances[:, ~some]
    return found
