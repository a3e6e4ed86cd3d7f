"""Damaged files of every ARGUS format: truncated, binary, huge, with wrong words; and what reads them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import discreet as ds
from discreet.argus.parse import read_batch
from discreet.argus.translate import translate
from discreet.engine.record_set import read_record_set
from discreet.errors import DiscreetError, InputError
from discreet.files.argus.apriori import read_apriori
from discreet.files.argus.cells import read_argus_cells
from discreet.files.argus.jj import read_jj
from discreet.files.argus.rda import read_metadata
from discreet.files.argus.recodes import closed_tree, code_map, read_recode
from discreet.files.argus.records import read_argus_records
from discreet.files.hrc import read_hierarchy, read_labels
from discreet.recipe.links import read_table_metadata

RECORDS_RDA = 'Size 1 2 99\n <RECODEABLE>\nRegion 4 2 99\n <RECODEABLE>\n <HIERARCHICAL>\n <HIERCODELIST> "r.hrc"\nVar2 7 9\n <NUMERIC>\n <DECIMALS> 2\n'  # noqa: E501
FREE_RDA = '<SEPARATOR> ";"\nSize 2 99\n <RECODEABLE>\nVar2 9\n <NUMERIC>\n'
PEOPLE_RDA = '<SEPARATOR> ","\n<NAMESINFRONT>\nSex 1 "9"\n <RECODABLE>\n <IDLEVEL> 1\n <SUPPRESSPRIORITY> 50\nTown 4 "9999" "X"\n <RECODABLE>\n <IDLEVEL> 2\n <TRUNCABLE>\n <EMPTY> "X"\n <RELATED> "Sex"\nHome 3\n <HOUSE_ID>\nPay 6 "-1"\n <NUMERIC>\n'  # noqa: E501
TABLE_RDA = (
    '<SEPARATOR> ";"\nOne\n <RECODEABLE>\nAmount\n <NUMERIC>\nFreq\n <FREQUENCY>\nTop\n <MAXSCORE>\nStatus\n <STATUS>\n'
)
SEEDS: dict[str, bytes] = {
    "records.asc": b" 1  2     12.50\n 2 11    200.00\n99  3      0.00\n" * 4,
    "free.csv": b'" 1";12,50\n2;3\n"9;9";44.1\n' * 4,
    "people.rda": PEOPLE_RDA.encode(),
    "people.csv": b'pay,Town,"sex",home,more\n' + b"1.5,1101,1,1,a\n-1,1102,9,1,b\n,X,,2,\n" * 3,
    "cells.tab": b"Total;10,5;3;6;S\na;4,5;2;4;U\nb;6;1;6;S\nc;-;;;E\n",
    "records.rda": RECORDS_RDA.encode(),
    "cells.rda": TABLE_RDA.encode(),
    "tree.hrc": "Nr\n@ 1\n@@ 2\nÖs\n@10\n".encode(),
    "labels.cdl": "Nr,North\n 1,One, two\nÖs,Öst\n".encode(),
    "groups.grc": b'1: 2, 4-5\n2: -1\n3: 9-\n<MISSING> "9"\n<CODELIST> "a.cdl"\n',
    "nodes.grc": b"<TREERECODE>\nNr\n 1\n",
    "known.hst": b"retail;South;u\nfood;;pl;1;2\nTotal;East;AB;1,5;2000\nfood;North;M\ncrafts;North;c;5\n",
    "instance.jj": b"0\n3\n0 12.5 20000 s 0 18.75 0 0 0\n1 5 8000 u 0 18.75 1 1 0\n2 7.5 12000 z 0 1 0 0 0\n1\n0 3 : 0 (-1) 1 (1) 2 (1)\n",  # noqa: E501
    "tables.csv": b"table,by,value\nT1,a|b,x\nT2,a=h,x\n",
    "job.arb": b'<OPENMICRODATA> "records.asc"\n<OPENMETADATA> "good.rda"\n'
    b'<SPECIFYTABLE> "Size""Region"|"Var2"||-2,0.5\n'
    b"<SAFETYRULE> P(15,1)|NK(3,75)|FREQ(3,30)|MIS(1)\n<READMICRODATA>\n<RECODE> 1, Size, 1\n"
    b'<SUPPRESS> MOD(1,5,1)\n<WRITETABLE> (1,3,AS+,"out.txt")\n<SOLVER> FREE\n<CLEAR>\n',
}
WORDS = (
    *(b"<", b">", b"<RECODEABLE>", b"<FOO>", b'"', b";", b",", b"(", b")", b"|", b"\0", b"\xff", b"\xc3", b"\r", b"\n"),
    *(b"\t", b"-", b"1e999", b"nan", b"inf", b"-1", b"0", b"99999999999999999999", b"  ", b"//", b"x" * 200),
)
HUGE = 200_000


class Damaged(NamedTuple):
    """A damaged file: which format, and its bytes."""

    name: str
    content: bytes


def damaged_files(count: int, seed: int = 0) -> Iterator[Damaged]:
    """So many damaged files, one format after the other; the same for the same seed."""
    draw = random.Random(seed)
    names = sorted(SEEDS)
    for number in range(count):
        name = names[number % len(names)]
        yield Damaged(name, _damage(SEEDS[name], draw))


def _damage(content: bytes, draw: random.Random) -> bytes:
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        kind = draw.randrange(8)
        place = draw.randrange(len(content) + 1)
        if kind == 0:
            content = content[:place]
        elif kind == 1:
            content = content[:place] + draw.choice(WORDS) + content[place:]
        elif kind == 2:
            content = content[:place] + draw.choice(WORDS) + content[place + 1 :]
        elif kind == 3:
            content = content[:place] + draw.randbytes(draw.randrange(1, 40)) + content[place:]
        elif kind == 4:
            end = min(len(content), place + draw.randrange(1, 30))
            content = content[:place] + content[end:]
        elif kind == 5:
            lines = content.split(b"\n")
            draw.shuffle(lines)
            content = b"\n".join(lines)
        elif kind == 6 and draw.random() < 0.02:
            content = content[:place] + draw.choice((b"9", b"a", b"\n", b"(", b"@")) * HUGE + content[place:]
        elif kind == 7:
            content = content[:place] + content[place:] * draw.choice((1, 2, 3))
    return content


def readers(folder: Path) -> dict[str, Callable[[Path], object]]:
    """What reads each format; metadata that are not damaged lie in the folder."""
    for name, text in (
        ("good.rda", RECORDS_RDA),
        ("free.rda", FREE_RDA),
        ("table.rda", TABLE_RDA),
        ("mu.rda", PEOPLE_RDA),
    ):
        (folder / name).write_text(text)
    (folder / "records.asc").write_bytes(SEEDS["records.asc"])
    fixed, free = read_metadata(folder / "good.rda"), read_metadata(folder / "free.rda")
    cells = read_metadata(folder / "table.rda", "cells")
    return {
        "records.asc": lambda path: read_argus_records(path, fixed),
        "free.csv": lambda path: read_argus_records(path, free),
        "people.rda": read_metadata,
        "people.csv": lambda path: read_argus_records(path, read_metadata(folder / "mu.rda"), gaps=True),
        "cells.tab": lambda path: read_argus_cells(path, cells),
        "records.rda": read_metadata,
        "cells.rda": lambda path: read_metadata(path, "cells"),
        "tree.hrc": lambda path: read_hierarchy(path, notes=[]),
        "labels.cdl": lambda path: read_labels(path, notes=[]),
        "groups.grc": read_recode,
        "nodes.grc": read_recode,
        "known.hst": lambda path: read_apriori(path, 2, ";"),
        "instance.jj": read_jj,
        "tables.csv": read_table_metadata,
        "job.arb": lambda path: translate(read_batch(path), path.parent),
    }


def deep_readers(folder: Path) -> dict[str, Callable[[Path], object]]:
    """The same up to assessed tables, where damage that no reader sees comes to light."""
    readers(folder)
    (folder / "r.hrc").write_text(" 2\n11\n 3\n")
    small = ds.examples.small_table().assess(ds.PPercent(10))
    tree = ds.Hierarchy.from_nested({"Nr": [" 1", " 2"], "x": ["4", "5", "9"]})

    def records(path: Path, metadata: str) -> ds.Table:
        read = ds.read_argus(path, folder / metadata)
        return ds.tabulate(read.microdata, by=read.hierarchies, value="Var2").assess(ds.PPercent(10))

    def cells(path: Path) -> None:
        """With totals taken in all four ways; refused where none of them takes it."""
        said = [
            outcome(lambda p, how=how: ds.read_argus_table(p, folder / "table.rda", totals=how).assess(), path)
            for how in ("given", "computed", "computed_keep_status", "as_they_are")
        ]
        if "read" not in said:
            raise InputError(said[0])

    def recode(path: Path) -> object:
        found = read_recode(path)
        return closed_tree(tree, [c for c, _ in found.nodes]) if found.nodes else code_map(found, tree.base_codes)

    def people(data: Path, metadata: Path) -> object:
        read = ds.read_argus(data, metadata, records=True)
        return read.levels, read.importance, read_record_set(read.microdata)

    (folder / "good.csv").write_bytes(b"pay,Town,sex,home\n1.5,1101,1,1\n-1,1102,9,1\n")
    return {
        "people.rda": lambda path: people(folder / "good.csv", path),
        "people.csv": lambda path: people(path, folder / "mu.rda"),
        "records.asc": lambda path: records(path, "good.rda"),
        "free.csv": lambda path: records(path, "free.rda"),
        "cells.tab": cells,
        "known.hst": lambda path: ds.apply_apriori(small, path, ";", ignore=True, expand=True).table.assess(),
        "groups.grc": recode,
        "nodes.grc": recode,
        "instance.jj": ds.table_from_jj,
    }


def outcome(read: Callable[[Path], object], path: Path) -> str:
    """``read``, or the message of the error; anything else is a crash and goes through."""
    try:
        read(path)
    except DiscreetError as error:
        return error.message
    return "read"
