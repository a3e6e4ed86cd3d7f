"""A made-up survey as ARGUS files, of the shape of the program's own test file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

SIZES = (" 2", " 4", " 5", " 6", " 7", " 8", " 9", "99")
SHARES = (0.002, 0.003, 0.45, 0.21, 0.13, 0.11, 0.09, 0.005)
REGIONS = tuple(f"{number:2d}" for number in range(1, 13))
TREE = "Nr\n@ 1\n@ 2\n@ 3\nOs\n@ 4\n@ 5\n@ 6\n@ 7\nWs\n@ 8\n@ 9\n@10\nZd\n@11\n@12\n"
LABELS = "Nr,North\nOs,East\nWs,West\nZd,South\n 1,Groningen\n 2,Friesland\n 3,Drenthe\n"
METADATA = """\
IndustryCode 1 5 99999
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERLEVELS> 3 1 1 0 0
Size 7 2 99
  <RECODEABLE>
  <TOTCODE> "Total"
Region 10 2 99
  <RECODEABLE>
  <TOTCODE> "Total"
  <CODELIST> "region.cdl"
  <HIERARCHICAL>
  <HIERCODELIST> "region2.hrc"
  <HIERLEADSTRING> "@"
Wgt 13 4 9999
  <DECIMALS> 1
  <WEIGHT>
Var1 18 9
  <NUMERIC>
Var2 28 10
  <NUMERIC>
  <DECIMALS> 2
"""
BATCH = """\
// The example of the CENEX report on the ARGUS twins, with stand-in data
<OPENMICRODATA> "stand_in.asc"
<OPENMETADATA>  "stand_in.rda"
<SPECIFYTABLE>  "Size""Region"|"Var2"||
<SAFETYRULE>    NK(3,75)|FREQ(3,30)|
<READMICRODATA>
<SUPPRESS>      MOD(1)
<WRITETABLE>    (1,2,AS+,"TestB.txt")
<SUPPRESS>      GH(1,100)
<WRITETABLE>    (1,1,AS+,"TestBGH.txt")
"""


def argus_example(folder: str | Path, records: int = 5_000, seed: int = 1) -> Path:
    """Write a made-up business survey as ARGUS files, with a batch file; returns the batch file.

    ``stand_in.asc`` has fixed columns (activity, size class, region, weight, two amounts); by size and region it gives
    162 cells, many of them empty or of few firms.

    Parameters
    ----------
    folder
        Where the files go.
    records
        How many firms.
    seed
        Same seed, same files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(argus_example(folder, records=100).name)
    example.arb
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(seed)
    size = draw.choice(len(SIZES), records, p=SHARES)
    spread = draw.dirichlet(np.full(len(REGIONS), 0.8))
    region = draw.choice(len(REGIONS), records, p=spread)
    activity = draw.choice([14211, 14212, 14221, 15001, 15002, 15121, 15122, 20010], records)
    amount = np.minimum(np.exp(draw.normal(3.0 + 0.8 * size, 1.1)), 9_999_999)
    employed = draw.integers(1, 9_000, records)
    weight = draw.integers(10, 60, records)
    rows = zip(activity, size, region, weight, employed, np.rint(amount * 100).astype(np.int64), strict=True)
    lines = [
        f"{a:05d} {SIZES[s]} {REGIONS[r]} {w // 10:2d}.{w % 10} {e:9d} {cents // 100:7d}.{cents % 100:02d}\n"
        for a, s, r, w, e, cents in rows
    ]
    (folder / "stand_in.asc").write_text("".join(lines), encoding="ascii")
    for name, text in (
        ("stand_in.rda", METADATA),
        ("region2.hrc", TREE),
        ("region.cdl", LABELS),
        ("example.arb", BATCH),
    ):
        (folder / name).write_text(text, encoding="ascii")
    return folder / "example.arb"
