"""A forger of saved releases: edits bytes and meaning of public files, renews the seal, and asks the checker.

Written apart from everything that it judges: files are changed with the standard library and the packages that other
people read them with. Run ``python -m tests.attack.forging --count 10000`` for the full figures.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import random
import re
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat

import discreet as ds
from discreet.verify import folder as folder_checks
from discreet.verify.formats import xlsx
from tests.attack.running import asked

SUFFIXES = {
    "csv": ".csv",
    "xlsx": ".xlsx",
    "jsonstat": ".jsonstat.json",
    "sdmx-csv": ".sdmx.csv",
    "sdmx-json": ".sdmx.json",
    "px": ".px",
    "parquet": ".parquet",
    "sav": ".sav",
    "dta": ".dta",
}
SECRETS = ("7391", "7391.25", "crafts South 7391", "withheld: 7391")
"""What a forger would like to tell."""
Edit = Callable[[bytes, random.Random], bytes]


# ---- folders ------------------------------------------------------------------------------------------------


def made(folder: Path, kind: str, formats: list[str]) -> Path:
    """A true release: ``withheld``, ``altered`` or ``intervals``."""
    trade = ds.Hierarchy.from_nested(
        {"food": None, "crafts": ["wood", "metal"]}, labels={"food": "Food & drink", "wood": "Wood, carved"}
    )
    region = ds.Hierarchy.flat(["North", "South", "East"], labels={"North": "The north"})
    inner = {("food", "North"): 412.5, ("food", "South"): 300, ("food", "East"): 250, ("wood", "North"): 120}
    inner |= {("wood", "South"): 73.91, ("wood", "East"): 80, ("metal", "North"): 95, ("metal", "South"): 60.25}
    inner |= {("metal", "East"): 110}
    units = {"trade": [], "region": [], "turnover": []}
    for (one, other), value in inner.items():
        for share in (0.4, 0.32, 0.28) if (one, other) != ("wood", "South") else (0.98, 0.02):
            units["trade"].append(one)
            units["region"].append(other)
            units["turnover"].append(round(value * share, 2))
    by = {"trade": trade, "region": region}
    table = ds.tabulate(pa.table(units), by=by, value="turnover", name="turnover", period="2027")
    method = {"withheld": ds.Suppress(), "altered": ds.Round(base=50), "intervals": ds.Intervals()}[kind]
    release = ds.protect(table.assess(ds.PPercent(10)), method)
    release.save(folder, formats=formats, heading=ds.Heading(agency="XX", units="1000 EUR", source="Survey"))
    return folder


class Target:
    """One file of a release that is forged again and again."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.path = folder, folder / name
        self.true = self.path.read_bytes()
        self.manifest = folder / "custodian" / "manifest.json"
        self.sealed = [(path, path.read_bytes()) for path in sorted((folder / "custodian").glob("manifest.*"))]
        self.listing = json.loads(self.manifest.read_text(encoding="utf-8"))

    def check(self, data: bytes | None, seal: bool = True) -> ds.verify.Verdict:
        """What the checker says of the release with other content of the file, sealed anew; ``None`` removes it."""
        name = self.path.relative_to(self.folder).as_posix()
        if data is None:
            self.path.unlink()
            entry = {}
        else:
            self.path.write_bytes(data)
            entry = {name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}}
        if not seal:
            return ds.check_folder(self.folder)
        others = {key: value for key, value in self.listing["files"].items() if key != name}
        reseal(self.folder, {**self.listing, "files": {**others, **entry}})
        try:
            return ds.check_folder(self.folder)
        finally:
            for path, content in [(self.path, self.true), *self.sealed]:
                path.write_bytes(content)


def reseal(folder: Path, listing: dict | None = None) -> None:
    """A seal that fits the files as they are now, or the listing given."""
    manifest = folder / "custodian" / "manifest.json"
    if listing is None:
        listing = json.loads(manifest.read_text(encoding="utf-8"))
        listing["files"] = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.name.startswith("manifest."):
                data = path.read_bytes()
                entry = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
                listing["files"][path.relative_to(folder).as_posix()] = entry
    data = json.dumps(listing).encode()
    manifest.write_bytes(data)
    (folder / "custodian" / "manifest.sha256").write_text(hashlib.sha256(data).hexdigest() + "\n", encoding="ascii")


# ---- bytes --------------------------------------------------------------------------------------------------


def random_bytes(data: bytes, rng: random.Random) -> bytes:
    """One of the things that can happen to any file."""
    at, end = sorted(rng.sample(range(len(data) + 1), 2)) if data else (0, 0)
    end = min(end, at + rng.choice([1, 2, 8, 64]))
    secret = rng.choice(SECRETS).encode()
    kind = rng.randrange(8)
    if kind == 0:
        return data[:at] + bytes([(data[at : at + 1] or b"\0")[0] ^ rng.randrange(1, 256)]) + data[at + 1 :]
    if kind == 1:
        return data[:at] + data[end:]
    if kind == 2:
        return data[:end] + data[at:end] + data[end:]
    if kind == 3:
        return data[:at] + secret + data[at:]
    if kind == 4:
        return data[:at] + secret + data[at + len(secret) :]
    if kind == 5:
        return data + rng.choice([b"\n", b" ", b"\0", secret])
    if kind == 6:
        return rng.choice([b"\xef\xbb\xbf", b"\n", b"#", secret]) + data
    return data[:at]


# ---- lines --------------------------------------------------------------------------------------------------


def lines_of(data: bytes, rng: random.Random) -> bytes:
    """A csv file that says something else, or the same in other words."""
    rows = list(csv.reader(io.StringIO(data.decode())))
    row = rng.randrange(1, len(rows))
    column = rng.randrange(len(rows[row]))
    secret, numbers = rng.choice(SECRETS), [i for i, text in enumerate(rows[row]) if re.fullmatch(r"-?[0-9.]+", text)]
    kind = rng.randrange(13)
    end, quoting = "\n", csv.QUOTE_MINIMAL
    if kind == 0:
        rows = [[*line, "note" if i == 0 else secret if i == row else ""] for i, line in enumerate(rows)]
    elif kind == 1:
        rows.insert(row, list(rows[row]))
    elif kind == 2:
        rows.append([*rows[row][:-2], "7391", rows[row][-1]])
    elif kind == 3:
        empty = [(i, j) for i, line in enumerate(rows) for j, text in enumerate(line) if not text]
        i, j = rng.choice(empty or [(row, column)])
        rows[i][j] = "7391"
    elif kind == 4 and numbers:
        rows[row][numbers[-1]] = rng.choice(["0", "00", "+", " ", ""]) + rows[row][numbers[-1]] + rng.choice(["", "0"])
    elif kind == 5:
        rows[row][column] = secret
    elif kind == 6:
        rows[0][column] += rng.choice([" ", "7391"])
    elif kind == 7:
        quoting = csv.QUOTE_ALL
    elif kind == 8:
        end = "\r\n"
    elif kind == 9:
        rows.insert(row, [])
    elif kind == 10:
        rows[row][-1] = rng.choice("VXEAQO")
    elif kind == 11:
        other = rng.randrange(1, len(rows))
        rows[row], rows[other] = rows[other], rows[row]
    else:
        del rows[row]
    sink = io.StringIO()
    csv.writer(sink, lineterminator=end, quoting=quoting).writerows(rows)
    return sink.getvalue().encode()


# ---- trees --------------------------------------------------------------------------------------------------


def json_tree(data: bytes | str) -> dict:
    """What a JSON file says, numbers with a point as they are written."""
    return json.loads(data, parse_float=lambda digits: f"<{digits}>")


def json_file(tree: object, **options: object) -> bytes:
    """A tree as a JSON file, written as releases are unless told otherwise."""
    plain = {"separators": (",", ":"), "ensure_ascii": False, **options}
    return (re.sub(r'"<([0-9.-]+)>"', r"\1", json.dumps(tree, **plain)) + "\n").encode()


def tree_of(data: bytes, rng: random.Random) -> bytes:
    """A JSON file that says something else, or the same in other words."""
    text = data.decode()
    tree = json_tree(text)
    places = list(_places(tree))
    holder, key = rng.choice(places)
    objects = [node for node, _ in places if isinstance(node, dict)]
    lists = [node for node, _ in places if isinstance(node, list)]
    secret: object = rng.choice([*SECRETS, 7391, {"value": 7391}, [7391]])
    kind = rng.randrange(9)
    if kind == 0:
        rng.choice(objects)[rng.choice(["note", "extension", "comment", "annotations", "x"])] = secret
    elif kind == 1:
        twice = rng.choice(list(re.finditer(r'"[^"\\]+":', text)))
        return (text[: twice.start()] + twice[0] + json.dumps(secret) + "," + text[twice.start() :]).encode()
    elif kind == 2:
        holder[key] = secret
    elif kind == 3:
        rng.choice(lists).append(secret)
    elif kind == 4:
        del holder[key]
    elif kind == 5:
        rng.choice(lists).append(json.loads(json.dumps(rng.choice(places)[0])))
    elif kind == 6:
        return json_file(tree, separators=rng.choice([(",", ": "), (", ", ":")]), indent=rng.choice([None, 0, 1]))
    elif kind == 7:
        number = rng.choice(list(re.finditer(r"(?<=[:,\[])-?[0-9.]+(?=[,\]}])", text)))
        return (
            text[: number.start()] + rng.choice(["7391", f"{number[0]}0", f"{number[0]}e0"]) + text[number.end() :]
        ).encode()
    else:
        node = rng.choice(objects)
        items = list(node.items())
        rng.shuffle(items)
        node.clear()
        node.update(items)
    return json_file(tree)


def _places(tree: object) -> list[tuple]:
    found = []
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        found.append((tree, key))
        if isinstance(value, dict | list):
            found += _places(value)
    return found


# ---- PX -----------------------------------------------------------------------------------------------------


def statements_of(data: bytes, rng: random.Random) -> bytes:
    """A PX file that says something else, or the same in other words."""
    text, secret = data.decode(), rng.choice(SECRETS)
    head, cells = text.split("\nDATA=\n")
    kind = rng.randrange(8)
    lines = head.split("\n")
    at = rng.randrange(len(lines) + 1)
    if kind == 0:
        word = rng.choice(
            ["NOTE", "NOTEX", "INFO", "CONTACT", "LAST-UPDATED", "DESCRIPTION", "X-NOTE", 'CELLNOTE("crafts","South")']
        )
        lines.insert(at, f'{word}="{secret}";')
    elif kind == 1:
        strings = list(re.finditer(r'"[^"\n]*"', head))
        found = rng.choice(strings)
        return f'{head[: found.start()]}"{secret}"{head[found.end() :]}\nDATA=\n{cells}'.encode()
    elif kind == 2:
        values = list(re.finditer(r'"\.+"|[0-9.]+', cells))
        found = rng.choice(values)
        word = rng.choice(["7391", f"0{found[0]}", f"{found[0]}0", '"..."', '"-"'])
        return f"{head}\nDATA=\n{cells[: found.start()]}{word}{cells[found.end() :]}".encode()
    elif kind == 3:
        cells = cells.replace(" ", rng.choice(["  ", "\t", "\n"]), 1)
    elif kind == 4:
        lines.insert(at, rng.choice(lines))
    elif kind == 5:
        rng.shuffle(lines)
    elif kind == 6:
        cells += secret
    elif lines:
        lines.pop(min(at, len(lines) - 1))
    return ("\n".join(lines) + "\nDATA=\n" + cells).encode()


# ---- Parquet ------------------------------------------------------------------------------------------------


def columns_of(data: bytes, rng: random.Random) -> bytes:
    """A Parquet file that says something else, or the same in other words."""
    table, secret = pq.read_table(io.BytesIO(data)), rng.choice(SECRETS)
    options: dict = {"compression": "zstd"}
    kind = rng.randrange(11)
    row = rng.randrange(table.num_rows)
    if kind == 0:
        table = table.append_column(rng.choice(["note", "x", "__index_level_0__"]), pa.array([secret] * table.num_rows))
    elif kind == 1:
        table = table.replace_schema_metadata(
            {**table.schema.metadata, rng.choice(["note", "table", "pandas"]): secret}
        )
    elif kind == 2:
        table = pa.concat_tables([table, table.slice(row, 1)])
    elif kind == 3:
        values = table["value"].to_pylist()
        values[row] = 7391
        at = table.schema.names.index("value")
        table = table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))
    elif kind == 4:
        at = rng.randrange(table.num_columns)
        table = table.set_column(at, table.schema.field(at).with_metadata({"note": secret}), table.column(at))
    elif kind == 5:
        at = rng.choice([i for i, f in enumerate(table.schema) if pa.types.is_string(f.type)])
        words = table.column(at).to_pylist()
        words[row] = secret
        table = table.set_column(at, table.schema.names[at], pa.array(words))
    elif kind == 6:
        table = table.take(pa.array(rng.sample(range(table.num_rows), table.num_rows)))
    elif kind == 7:
        table = table.slice(0, row + 1) if row + 1 < table.num_rows else table.slice(1)
    elif kind == 8:
        table = table.select(rng.sample(table.schema.names, table.num_columns))
    elif kind == 9:
        table = table.rename_columns(
            [f"{name} {secret}" if i == 0 else name for i, name in enumerate(table.schema.names)]
        )
    else:
        options = rng.choice(
            [
                {"compression": "zstd", "row_group_size": 3},
                {"compression": "zstd", "use_dictionary": False},
                {"compression": "none"},
                {"compression": "zstd", "write_statistics": False},
                {"compression": "zstd", "write_page_index": True},
                {"compression": "zstd", "store_schema": False},
                {"compression": "zstd", "compression_level": 19},
            ]
        )
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


# ---- workbooks ----------------------------------------------------------------------------------------------


def members_of(data: bytes, rng: random.Random) -> bytes:
    """A workbook that says something else, or the same in other words."""
    secret = rng.choice(SECRETS)
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        parts = [(part, book.read(part)) for part in book.infolist()]
    content = {part.filename: text for part, text in parts}
    sheet = rng.choice([name for name in content if "worksheets" in name])
    at, end = b"</sheetData>", b"</worksheet>"
    inline = f'<row r="999"><c r="A999" t="inlineStr"><is><t>{secret}</t></is></c></row>'.encode()
    edits: list[tuple[str, bytes, bytes]] = [
        (sheet, at, inline + at),
        (sheet, at, f'<row r="998"><c r="B998"><f>1+1</f><v>{secret[-4:]}</v></c></row>'.encode() + at),
        (sheet, end, f"<headerFooter><oddHeader>{secret}</oddHeader></headerFooter>".encode() + end),
        (sheet, end, f"<!-- {secret} -->".encode() + end),
        (sheet, b"<v>", b"<v>0"),
        (sheet, b"<v>", b"<v>7391"),
        (sheet, b"<sheetData>", b'<sheetData note="7391">'),
        ("docProps/core.xml", b"<dc:title>turnover", f"<dc:title>{secret}".encode()),
        ("docProps/core.xml", b"<dc:creator>", f"<dc:creator>{secret}".encode()),
        ("docProps/app.xml", b"<Company>", f"<Company>{secret}".encode()),
        ("xl/sharedStrings.xml", b"</sst>", f"<si><t>{secret}</t></si></sst>".encode()),
        ("xl/sharedStrings.xml", b"<t>", f"<t>{secret}".encode()),
        ("xl/styles.xml", b"#,##0", f"&quot;{secret}&quot;".encode()),
        (
            "xl/workbook.xml",
            b"</sheets>",
            f'</sheets><definedNames><definedName name="x">"{secret}"</definedName></definedNames>'.encode(),
        ),
        ("xl/workbook.xml", b"</sheets>", b'<sheet name="More" sheetId="9" r:id="rId1"/></sheets>'),
        ("xl/theme/theme1.xml", b'name="Office', f'name="{secret}'.encode()),
        ("[Content_Types].xml", b"</Types>", b'<Default Extension="txt" ContentType="text/plain"/></Types>'),
    ]
    kind = rng.randrange(len(edits) + 8)
    sink, comment, pack = io.BytesIO(), b"", 6
    order = [part for part, _ in parts]
    extra: list[tuple[str, bytes]] = []
    if kind < len(edits):
        name, old, new = edits[kind]
        content[name] = content[name].replace(old, new, 1)
    elif kind == len(edits):
        extra.append((rng.choice(["note.txt", "xl/comments1.xml", "xl/worksheets/sheet9.xml", "a/"]), secret.encode()))
    elif kind == len(edits) + 1:
        comment = secret.encode()
    elif kind == len(edits) + 2:
        order[0].extra = b"\xfe\xca" + len(secret).to_bytes(2, "little") + secret.encode()
    elif kind == len(edits) + 3:
        rng.choice(order).comment = secret.encode()
    elif kind == len(edits) + 4:
        rng.shuffle(order)
    elif kind == len(edits) + 5:
        rng.choice(order).date_time = (2027, 1, 2, 3, 4, 6)
    elif kind == len(edits) + 6:
        return secret.encode() + data
    else:
        pack = rng.choice([0, 1, 9])  # the same content, packed otherwise
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=pack) as book:
        book.comment = comment
        for part in order:
            book.writestr(part, content[part.filename], zipfile.ZIP_DEFLATED, pack)
        for name, text in extra:
            book.writestr(name, text)
    return sink.getvalue()


# ---- SPSS and Stata -----------------------------------------------------------------------------------------


def labels_of(data: bytes, rng: random.Random, suffix: str) -> bytes:
    """A statistical file that says something else, written by the package that others read it with."""
    secret = rng.choice(SECRETS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{suffix}"
        path.write_bytes(data)
        read, write = (getattr(pyreadstat, f"{verb}_{suffix[1:]}") for verb in ("read", "write"))
        frame, about = read(str(path))
        about_file: dict = {"file_label": about.file_label or "", "column_labels": dict(about.column_names_to_labels)}
        labels = dict(about.variable_value_labels)
        kind = rng.randrange(7)
        if kind == 0:
            frame["note"] = secret
        elif kind == 1:
            about_file["file_label"] = secret
        elif kind == 2:
            about_file["column_labels"][rng.choice(about.column_names)] = secret
        elif kind == 3:
            frame.loc[rng.randrange(len(frame)), "value"] = 7391.0
        elif kind == 4:
            frame.loc[rng.randrange(len(frame)), about.column_names[0]] = secret[:8]
        elif kind == 5:
            frame = frame.sample(frac=1, random_state=rng.randrange(2**30))
        elif suffix == ".sav":
            labels.setdefault("trade", {})["wood"] = secret
        if suffix == ".sav":
            about_file["note"] = rng.choice([[*(about.notes or []), secret], about.notes or []]) or []
            about_file["variable_value_labels"] = {k: v for k, v in labels.items() if k in frame.columns}
        path.unlink()
        write(frame, str(path), **about_file)
        return path.read_bytes()


EDITS: dict[str, Edit] = {
    "csv": lines_of,
    "sdmx-csv": lines_of,
    "jsonstat": tree_of,
    "sdmx-json": tree_of,
    "px": statements_of,
    "parquet": columns_of,
    "xlsx": members_of,
    "sav": lambda data, rng: labels_of(data, rng, ".sav"),
    "dta": lambda data, rng: labels_of(data, rng, ".dta"),
}


# ---- the run ------------------------------------------------------------------------------------------------


def reads_the_same(form: str, one: bytes, other: bytes) -> bool:
    """Whether no reader of two files could tell them apart, for formats that allow several ways to say the same."""
    if form == "xlsx":
        with zipfile.ZipFile(io.BytesIO(one)) as mine, zipfile.ZipFile(io.BytesIO(other)) as theirs:
            names = mine.namelist()
            return names == theirs.namelist() and all(mine.read(name) == theirs.read(name) for name in names)
    return False


def forge(target: Target, form: str, count: int, seed: int) -> Counter[str]:
    """Forge a public file so many times; counts of what the checker said, ``accepted`` being the bad one.

    The custodian's files, which this forger leaves alone, are read once and not each time; so is the true workbook,
    which the checker writes of the same cells; and no digest is compared, because a renewed seal has them all right.
    """
    rng = random.Random(f"{form} {seed}")
    said: Counter[str] = Counter()
    assert ds.check_folder(target.folder).holds
    kept = {name: getattr(folder_checks, name)(target.folder) for name in ("read_descriptions", "read_with_intervals")}
    kept["check_files"] = frozenset(target.listing["files"])
    again = {name: lambda *_, known=known: known for name, known in kept.items()}
    with mock.patch.multiple(folder_checks, **again), mock.patch.object(xlsx, "_workbook", cache_first(xlsx._workbook)):
        _forge(target, form, count, rng, said)
    target.path.write_bytes(target.true)
    assert ds.check_folder(target.folder).holds
    return said


def cache_first(work: Callable) -> Callable:
    """A function that gives its first answer again and again."""
    answers: list = []

    def again(*given: object) -> object:
        if not answers:
            answers.append(work(*given))
        return answers[0]

    return again


def _forge(target: Target, form: str, count: int, rng: random.Random, said: Counter[str]) -> None:
    for _ in range(count):
        edit = EDITS[form] if rng.random() < 0.6 else random_bytes
        forged = edit(target.true, rng)
        if rng.random() < 0.1:
            forged = random_bytes(forged, rng)
        if forged == target.true:
            said["unchanged"] += 1
        elif not target.check(forged, seal=False).holds:
            said["refused"] += 1
        elif reads_the_same(form, forged, target.true):
            said["same for every reader"] += 1
        else:
            said["accepted"] += 1
            Path(tempfile.gettempdir(), f"accepted_{form}_{said['accepted']}").write_bytes(forged)


def run(count: int, seed: int = 1, formats: list[str] | None = None) -> dict[str, Counter[str]]:
    """Forge every format, a third each of releases with withheld cells, altered values and intervals."""
    found: dict[str, Counter[str]] = {}
    for form in formats or list(SUFFIXES):
        found[form] = Counter()
        for number, kind in enumerate(("withheld", "altered", "intervals")):
            with tempfile.TemporaryDirectory() as place:
                folder = made(Path(place) / "out", kind, [form])
                target = Target(folder, f"public/turnover{SUFFIXES[form]}")
                share = count // 3 + (number < count % 3)
                found[form] += forge(target, form, share, seed + number)
    return found


def main() -> int:
    """Run in full and print the figures."""
    given = asked(__doc__, 10_000, seed=1, format={"action": "append", "choices": list(SUFFIXES)})
    bad = 0
    for form in given.format or list(SUFFIXES):
        start = time.process_time()
        said = run(given.count, given.seed, [form])[form]
        bad += said["accepted"]
        print(f"{form}: {dict(sorted(said.items()))}, {time.process_time() - start:.0f} s", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
