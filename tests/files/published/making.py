"""Public tables to be written: hypothesis-made ones with everything that a format may stumble over."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from discreet.model.hierarchy import Hierarchy
from discreet.model.public import PublicTable

ODD = st.sampled_from(
    [
        "0010",
        " A",
        "A B",
        "é",
        "Ñandú",
        "=1+1",
        "+5",
        "-5",
        "@x",
        "a,b",
        "a;b",
        "$20$",
        "x",
        "-",
        "1",
        "2.0",
        "NA",
        "_x0041_",
    ]
)
RARE = st.sampled_from(["\tT", "\rR", 'q"q', "a\nb", "A ", ".", ".."])
PLAIN = st.text("ABCdef0129_é", min_size=1, max_size=6)


@st.composite
def public_tables(draw: st.DrawFn, rare: bool = False, largest: int = 10**17, ends: bool = True) -> PublicTable:
    """A table as it may come out of any method; ``rare`` codes are those that some formats cannot hold."""
    kinds = st.one_of(PLAIN, ODD, RARE) if rare else st.one_of(PLAIN, ODD)
    trees = []
    for _ in range(draw(st.integers(1, 3))):
        codes = draw(st.lists(kinds, min_size=1, max_size=5, unique_by=lambda code: " ".join(code.lower().split())))
        codes = [code for code in codes if code != "Total"] or ["A"]
        parents = {
            code: (None if i == 0 else draw(st.sampled_from([None, *codes[:i]]))) for i, code in enumerate(codes)
        }
        words = {code: draw(st.text("abc é\"'<&=", max_size=8)) or code for code in codes if draw(st.booleans())}
        trees.append(Hierarchy.from_parents(parents, "Total", labels=words))
    everything = np.stack(np.meshgrid(*[np.arange(len(t)) for t in trees], indexing="ij"), -1).reshape(-1, len(trees))
    keep = np.array(draw(st.lists(st.booleans(), min_size=len(everything), max_size=len(everything))), np.bool_)
    keep[0] = True
    codes = everything[keep].astype(np.int32)
    size = len(codes)
    letters = draw(st.lists(st.sampled_from("VVVXE"), min_size=size, max_size=size))
    altered = draw(st.booleans())
    letters = ["V" if altered else letter for letter in letters]
    shown, empty = (np.array([letter == wanted for letter in letters]) for wanted in "VE")
    number = st.one_of(st.integers(-99, 99), st.integers(-largest, largest), st.just(10**15))
    value = np.where(shown, np.array(draw(st.lists(number, min_size=size, max_size=size)), np.int64), 0)
    lower = upper = None
    if ends and altered and draw(st.booleans()):
        width = np.array(draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)), np.int64)
        lower, upper = np.where(shown, value - width, 0), np.where(shown, value + width, 0)
    names = draw(st.permutations(["nace", "région", "size class", "IF", "TIME_PERIOD", "measure"]))[: len(trees)]
    return PublicTable(
        name=draw(st.sampled_from(["turnover", "Umsatz é", "=cmd", "1"])),
        variables=tuple(names),
        code_lists=tuple(tree.codes for tree in trees),
        labels=tuple(dict(tree.labels) for tree in trees),
        codes=codes,
        value=value,
        decimals=draw(st.integers(0, 3)),
        shown=shown,
        empty=empty,
        altered=altered,
        lower=lower,
        upper=upper,
        parents=tuple(tuple(tree.parents.tolist()) for tree in trees),
        measure=draw(st.sampled_from(["", "turnover"])),
        period=draw(st.sampled_from(["", "2027", "=2027"])),
    )


def one_table() -> PublicTable:
    """A table with a value, a withheld and an empty cell, and one that is not there."""
    trade = Hierarchy.from_nested({"A": ["A1", "A2"], "B": None}, labels={"A": "Crafts", "A1": "Bäcker"})
    size = Hierarchy.flat(["s", "m"])
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1], [3, 0]], np.int32)
    letters = np.array(list("VVVXEVX"))
    return PublicTable(
        name="turnover",
        variables=("trade", "size"),
        code_lists=(trade.codes, size.codes),
        labels=(dict(trade.labels), {}),
        codes=codes,
        value=np.where(letters == "V", np.array([123456, 2000, 1500, 7, 8, 950, 9]), 0),
        decimals=2,
        shown=letters == "V",
        empty=letters == "E",
        parents=(tuple(trade.parents.tolist()), tuple(size.parents.tolist())),
        measure="turnover",
        period="2027",
    )
