"""Syntax files run in the programs that they are for, where these are installed: values and labels are those sent."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from discreet.files.celltext import quoted, safe_code
from discreet.server.extracts.codebook import CodebookVariable
from discreet.server.extracts.file import ExtractFile
from discreet.server.extracts.syntax import syntax_files
from tests.server.extracts.made import build, census, packed, wanted

SECONDS = 60
ODD = [
    CodebookVariable(
        name="job",
        label='Work "now"; it\'s %let x=1; $HOME &amp',
        kind="text",
        values=["=1+1", "-2", "it's", 'say "x"', "&a", "back\\slash", "tick`", "Wörter", "x" * 40, "007"],
        names={"=1+1": "Sum'; run;", "-2": "Minus", "it's": "Own", 'say "x"': "Said", "back\\slash": "Back",
               "tick`": "Tick", "Wörter": "Wörter und Zähler", "x" * 40: "Long", "007": "Bond"},
    ),
    CodebookVariable(name="age", label="Age", kind="whole", values=[1, 2, -9], names={"1": "One", "-9": "Unknown"}),
    CodebookVariable(name="pay", label="Pay", kind="number", values=[0.5, 1234567.25, -3.75], names={"0.5": "Half"}),
]  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """An extract of a census as users open it, and one of hostile codes and labels."""
    folder = tmp_path_factory.mktemp("programs")
    census(folder, 8_000, 20)
    file: ExtractFile = build(folder)
    names = ("region", "district", "age", "sex", "marital", "birth", "education", "occupation", "income")
    real = packed(folder, file, wanted(file, *names, strata=True))
    odd = folder / "odd"
    odd.mkdir()
    lines = ["serial,person,weight,job,age,pay"]
    for number in range(30):
        fields = [ODD[k].values[number % len(ODD[k].values or ())] if number != 17 else None for k in range(3)]  # type: ignore[index]
        text = ["" if one is None else quoted(safe_code(one)) if isinstance(one, str) else str(one) for one in fields]
        lines.append(",".join([str(number), "1", "2.5", *text]))
    (odd / "data.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (odd / "book.json").write_text(json.dumps({one.name: one.label for one in ODD}), encoding="utf-8")
    for name, text in syntax_files(ODD).items():
        (odd / name).write_text(text, encoding="utf-8")
    return [real, odd]


def sent(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / "data.csv").read_text("utf-8"))))


def plain(words: str) -> str:
    """Labels without signs that a program could take for its own."""
    return " ".join("".join(" " if sign in "\"'`\\$%&;\r\n\t" else sign for sign in words).split())


def same(value: Any, text: str) -> bool:
    """Whether a value that was read is what the file says."""
    if value is None or value == "" or value != value:
        return text == ""
    return value.rstrip() == text if isinstance(value, str) else float(text) == value


def run(program: str, *words: str, folder: Path) -> str:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed on this machine")
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


@pytest.mark.parametrize("which", [0, 1], ids=["census", "hostile"])
def test_pspp_reads_values_and_labels(folders: list[Path], which: int) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    folder = folders[which]
    (folder / "all.sps").write_text(
        (folder / "read.sps").read_text("utf-8") + "SAVE OUTFILE='out.sav'.\n", encoding="utf-8"
    )
    said = run("pspp", "--syntax-encoding=UTF-8", "all.sps", folder=folder)
    assert "error" not in said.lower(), said
    assert "warning" not in said.lower(), said
    frame, meta = pyreadstat.read_sav(folder / "out.sav")
    rows = sent(folder)
    assert list(frame.columns) == list(rows[0])
    for number, row in enumerate(rows):
        for name, text in row.items():
            assert same(frame[name].iloc[number], text), (number, name, text, frame[name].iloc[number])
    labels = {name: words for name, words in meta.column_names_to_labels.items() if words}
    if which == 0:
        assert (labels["region"], labels["sex"]) == ("Region", "Sex quoted")
        assert meta.variable_value_labels["sex"] == {"F": "Women", "M": "Men"}
        return
    assert {name: labels[name] for name in ("job", "age", "pay")} == {one.name: plain(one.label) for one in ODD}
    known = meta.variable_value_labels
    assert known["age"] == {1.0: "One", -9.0: "Unknown"}
    assert known["pay"] == {0.5: "Half"}
    wanted_labels = {safe_code(code): plain(words) for code, words in ODD[0].names.items()}
    assert {code.rstrip(): words for code, words in known["job"].items()} == wanted_labels


@pytest.mark.parametrize("which", [0, 1], ids=["census", "hostile"])
def test_r_reads_values_and_labels(folders: list[Path], which: int) -> None:
    folder = folders[which]
    show = """
stopifnot(is.data.frame(extract))
text <- extract
for (one in names(text)) text[[one]] <- ifelse(
  is.na(text[[one]]), '', if (is.numeric(text[[one]])) sprintf('%.17g', text[[one]]) else text[[one]]
)
write.csv(text, 'out.csv', row.names = FALSE, fileEncoding = 'UTF-8')
for (one in names(extract)) {
  label <- attr(extract[[one]], 'label')
  if (!is.null(label)) cat('L', one, label, sep = '\\t', fill = FALSE, file = 'labels.txt', append = TRUE, '\\n')
  known <- attr(extract[[one]], 'labels')
  for (code in names(known)) cat('C', one, code, known[[code]], sep = '\\t', file = 'labels.txt', append = TRUE, '\\n')
}
"""
    (folder / "all.R").write_text((folder / "read.R").read_text("utf-8") + show, encoding="utf-8")
    said = run("Rscript", "--vanilla", "--encoding=UTF-8", "all.R", folder=folder)
    assert "warning" not in said.lower(), said
    rows = sent(folder)
    found = list(csv.DictReader(io.StringIO((folder / "out.csv").read_text("utf-8"))))
    assert list(found[0]) == list(rows[0])
    texts = {"census": {"region", "district", "sex", "marital", "birth", "education", "occupation"}, "hostile": {"job"}}
    for row, mine in zip(rows, found, strict=True):
        for name, text in row.items():
            if name in texts["hostile" if which else "census"] or not text:
                assert mine[name] == text
            else:
                assert float(mine[name]) == float(text)
    lines = [line.split("\t") for line in (folder / "labels.txt").read_text("utf-8").splitlines()]
    labels = {line[1]: line[2] for line in lines if line[0] == "L"}
    codes = {(line[1], line[2]): line[3] for line in lines if line[0] == "C"}
    if which == 0:
        assert (labels["region"], labels["sex"]) == ("Region", "Sex quoted")
        assert {code: words for (name, code), words in codes.items() if name == "sex"} == {"F": "Women", "M": "Men"}
        return
    assert {name: labels[name] for name in ("job", "age", "pay")} == {one.name: plain(one.label) for one in ODD}
    wanted_codes = {("job", safe_code(code)): plain(words) for code, words in ODD[0].names.items()}
    wanted_codes |= {("age", "1"): "One", ("age", "-9"): "Unknown", ("pay", "0.5"): "Half"}
    assert codes == wanted_codes
