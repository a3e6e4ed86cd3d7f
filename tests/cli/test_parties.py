"""The commands ``discreet joint`` and ``discreet union``: processes of their own, over mutual TLS on loopback."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cryptography")
pytest.importorskip("rbcl")

from click.testing import CliRunner

from discreet.cli import main
from discreet.private import JointPlan, new_account
from discreet.private.parties.files import read_party_records
from tests.private.joint.pooled import iterated, matrix, people, pooled
from tests.private.parties.offices import Offices, at, child

PATIENCE = ["--patience", "30"]


@pytest.fixture(scope="module")
def offices(tmp_path_factory):
    return Offices(tmp_path_factory.mktemp("offices"))


def words(credentials) -> list[str]:
    return [
        "--certificate",
        str(credentials.certificate),
        "--key",
        str(credentials.key),
        "--authorities",
        str(credentials.authorities),
    ]


@contextmanager
def started(*arguments) -> Iterator[subprocess.Popen]:
    command = [sys.executable, "-m", "discreet", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def as_csv(columns, file: Path) -> Path:
    names = list(columns)
    rows = [",".join(names), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    file.write_text("\n".join(rows) + "\n")
    return file


PLAN = """version = 1
owners = ["A", "B", "C"]
model = "logit"
formula = "y ~ x + g"

[levels]
g = ["a", "b", "c"]
"""


def test_three_owners_and_a_coordinator_as_commands(offices, tmp_path):
    owners = people("ABC")
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    files = {name: as_csv(owners[name], tmp_path / f"{name}.csv") for name in owners}
    own = words(offices.credentials("coordinator", server=True))
    with started("joint", "coordinate", plan, "--port", 0, *PATIENCE, *own, "--json") as carrying:
        port = json.loads(carrying.stdout.readline())["port"]
        others = {
            name: child(lambda name=name: other_owner(offices, name, owners, port, tmp_path / "plan.toml"))
            for name in "BC"
            if offices.credentials(name)
        }
        with started(*fit("A", plan, files, port, offices, tmp_path)) as process:
            code, out, err = ended(process)
            assert code == 0, err
        told = {"A": json.loads(out), **{name: one.told()["result"] for name, one in others.items()}}
        assert ended(carrying)[0] == 0
    beta, _ = iterated(matrix(owners), pooled(owners, "y"), "logit")
    assert np.abs(np.array(told["B"]["coefficients"]) - beta).max() < 1e-9
    assert told["A"] == told["B"] == told["C"] == json.loads((tmp_path / "A.json").read_text())


def test_codes_of_a_file_stay_what_the_plan_calls_them(tmp_path):
    file = as_csv({"region": ["01", "02"], "id": ["007", "008"], "x": [1, 2]}, tmp_path / "a.csv")
    plan = JointPlan(1, ("A", "B", "C"), "table", variables=("region",), levels={"region": ("01", "02")}, match="id")
    found = read_party_records(file, plan.text_columns)
    assert {name: found[name].tolist() for name in found} == {"region": ["01", "02"], "id": ["007", "008"], "x": [1, 2]}


def test_numbers_that_begin_with_a_zero_stay_text(tmp_path):
    file = as_csv({"code": ["0123", "456"], "n": [0, 10], "x": ["0.5", "1"]}, tmp_path / "a.csv")
    found = read_party_records(file)
    assert {name: found[name].tolist() for name in found} == {"code": ["0123", "456"], "n": [0, 10], "x": [0.5, 1.0]}


def other_owner(offices, name, owners, port, plan):
    account = plan.with_name(f"{name}.account")
    new_account(account)
    return JointPlan.read(plan).run_as(name, owners[name], at(offices, name, port), account).to_dict()


def fit(name, plan, files, port, offices, tmp_path):
    if not (tmp_path / f"{name}.account").exists():
        assert run("joint", "new-account", tmp_path / f"{name}.account").exit_code == 0
    return [
        *("joint", "fit", plan, files[name], "--me", name, "--coordinator", f"localhost:{port}", *PATIENCE),
        *words(offices.credentials(name)),
        *("--account", tmp_path / f"{name}.account", "--output", tmp_path / f"{name}.json", "--json"),
    ]


def union_words(name, other, file, offices, tmp_path, *more):
    if not (tmp_path / f"log of {name}").exists():
        assert run("union", "new-log", tmp_path / f"log of {name}").exit_code == 0
    return [
        *(file, "--me", name, "--other", other, "--id", "id", "--data", "x", "--purpose", "study"),
        *("--log", tmp_path / f"log of {name}", *words(offices.known[name]), *more),
    ]


def test_a_union_as_commands(offices, tmp_path):
    one = as_csv({"id": [f"00{k}" for k in range(12)], "x": range(12)}, tmp_path / "a.csv")
    other = as_csv({"id": [f"00{k}" for k in range(8, 18)], "x": range(108, 118)}, tmp_path / "b.csv")
    offices.credentials("holder A")
    offices.credentials("holder B", server=True)
    serving = union_words("holder B", "holder A", other, offices, tmp_path, "--port", 0, *PATIENCE, "--json")
    with started("union", "serve", *serving) as helper:
        port = json.loads(helper.stdout.readline())["port"]
        joining = union_words("holder A", "holder B", one, offices, tmp_path, *PATIENCE)
        output = ["--address", f"localhost:{port}", "--output", tmp_path / "union.csv"]
        with started("union", "join", *joining, *output) as initiator:
            code, out, err = ended(initiator)
            assert code == 0, err
            assert out.startswith("own records 12; the other's 10; union 18; shared 4")
        code, out, _ = ended(helper)
        assert (code, json.loads(out)["union"]) == (0, 18)
    rows = (tmp_path / "union.csv").read_text().split()
    assert sorted(map(int, rows[1:])) == [*range(12), *range(112, 118)]


def run(*arguments):
    return CliRunner().invoke(main, [str(one) for one in arguments])


def test_what_is_refused_before_anybody_is_asked(offices, tmp_path):
    file = as_csv({"id": range(20), "x": range(20)}, tmp_path / "a.csv")
    offices.credentials("holder A")
    plain = union_words("holder A", "holder B", file, offices, tmp_path)
    assert run("union", "join", *plain, "--output", tmp_path / "o.csv").exit_code == 2
    assert run("union", "join", *plain, "--address", "localhost:1").exit_code == 2
    taken = as_csv({"id": [1]}, tmp_path / "taken.csv")
    assert run("union", "join", *plain, "--address", "localhost:1", "--output", taken).exit_code == 3
    assert run("union", "join", *plain, "--address", "localhost:1", "--output", tmp_path / "o.xlsx").exit_code == 3
    assert run("union", "join", *plain, "--folder", tmp_path / "f", "--output", tmp_path / "o.csv").exit_code == 2
    cost = run("union", "join", *plain, "--dry-run", "--json")
    assert cost.exit_code == 0, cost.output
    assert json.loads(cost.output)["records"] == 20
    assert (tmp_path / "log of holder A").read_bytes() == b""
    (tmp_path / "plan.toml").write_text(PLAN + "surprise = 1\n")
    done = run(
        "joint",
        "fit",
        tmp_path / "plan.toml",
        file,
        "--me",
        "A",
        "--coordinator",
        "localhost:1",
        *words(offices.credentials("A")),
    )
    assert done.exit_code == 3
    assert "cannot be read" in done.output
    (tmp_path / "plan.toml").write_text(PLAN)
    done = run(*fit("A", tmp_path / "plan.toml", {"A": file}, 1, offices, tmp_path)[:-5])
    assert done.exit_code == 2
    assert "keep an account" in done.output


def test_nobody_at_the_other_end_is_an_error_with_a_name_and_no_output(offices, tmp_path):
    file = as_csv({"id": range(20), "x": range(20)}, tmp_path / "a.csv")
    offices.credentials("holder A")
    plain = union_words("holder A", "holder B", file, offices, tmp_path, "--address", "localhost:1", "--patience", 1)
    done = run("union", "join", *plain, "--output", tmp_path / "o.csv", "--json")
    assert done.exit_code == 9
    assert json.loads(done.output)["message"].startswith("Party unreachable")
    assert not (tmp_path / "o.csv").exists()


def killed_at(module: str, name: str, words) -> dict:
    """A command in a process of its own, which is killed when it calls something."""

    def work():
        setattr(importlib.import_module(module), name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        return ended_with(words)

    return child(work).told()


def ended_with(words) -> list:
    done = run(*words)
    return [done.exit_code, done.output]


def by_files(tmp_path, name) -> list:
    return ["--folder", tmp_path / "exchange", "--own", tmp_path / f"own {name}", "--patience", 25]


def test_a_message_that_was_altered_ends_both_commands_with_a_name_and_no_output(offices, tmp_path):
    one = as_csv({"id": [f"00{k}" for k in range(12)], "x": range(12)}, tmp_path / "a.csv")
    offices.credentials("holder A")
    offices.credentials("holder B", server=True)
    output = ["--output", tmp_path / "union.csv", "--transcript", tmp_path / "record", "--json"]
    joining = [
        *("union", "join", *union_words("holder A", "holder B", one, offices, tmp_path)),
        *(*by_files(tmp_path, "A")[:-1], 1, *output),
    ]
    serving = [
        *("union", "serve", *union_words("holder B", "holder A", one, offices, tmp_path)),
        *(*by_files(tmp_path, "B")[:-1], 1, "--json"),
    ]
    for words in (joining, serving, joining):
        code, out = ended_with(words)
        assert code == 9
        assert json.loads(out)["message"].startswith("Party unreachable")
    (sizes,) = (file for file in (tmp_path / "exchange").iterdir() if file.name == "000001-0-1")
    sizes.write_bytes(sizes.read_bytes()[:-1] + b"?")
    for words in (serving, joining):
        code, out = ended_with(words)
        assert code == 9
        assert json.loads(out)["message"].startswith("Tampered")
    assert not (tmp_path / "union.csv").exists()
    assert not (tmp_path / "record").exists()


def test_a_union_by_files_that_is_killed_before_its_output_gives_it_again(offices, tmp_path):
    one = as_csv({"id": [f"00{k}" for k in range(12)], "x": range(12)}, tmp_path / "a.csv")
    other = as_csv({"id": [f"00{k}" for k in range(8, 18)], "x": range(108, 118)}, tmp_path / "b.csv")
    offices.credentials("holder A")
    offices.credentials("holder B", server=True)
    joining = [
        *("union", "join", *union_words("holder A", "holder B", one, offices, tmp_path)),
        *(*by_files(tmp_path, "A"), "--output", tmp_path / "union.csv"),
    ]
    serving = [
        *("union", "serve", *union_words("holder B", "holder A", other, offices, tmp_path)),
        *(*by_files(tmp_path, "B"), "--json"),
    ]
    helper = child(lambda: killed_at("discreet.cli.union", "result", serving))
    assert killed_at("discreet.private.parties.files", "write_rows", joining) == {}
    assert helper.told() == {"result": {}}
    assert not (tmp_path / "union.csv").exists()
    assert ended_with(joining)[0] == 0
    rows = (tmp_path / "union.csv").read_text().split()
    assert sorted(map(int, rows[1:])) == [*range(12), *range(112, 118)]
    code, out = ended_with(serving)
    assert (code, json.loads(out)["union"]) == (0, 18)
    for name, words in (("A", [*joining[:-1], tmp_path / "more.csv"]), ("B", serving)):
        assert [file.name for file in (tmp_path / f"own {name}").iterdir()] == ["finished"]
        code, out = ended_with(words)
        assert code == 9
        assert "This run is over" in out
    assert not (tmp_path / "more.csv").exists()


def test_a_model_by_files_that_is_killed_before_its_output_gives_it_again(offices, tmp_path):
    owners, plan = people("ABC"), tmp_path / "plan.toml"
    plan.write_text(PLAN.replace('"logit"', '"linear"').replace("y ~ x + g", "z ~ x"))
    files = {name: as_csv(owners[name], tmp_path / f"{name}.csv") for name in owners}
    commands = {}
    for name in owners:
        offices.credentials(name)
        words = fit(name, plan, files, 1, offices, tmp_path)
        place = words.index("--coordinator")
        commands[name] = [*words[:place], *words[place + 4 :], *by_files(tmp_path, name)]
    others = [child(lambda name=name: ended_with(commands[name])) for name in "BC"]
    assert killed_at("discreet.files.new_file", "new_file", commands["A"]) == {}
    told = [json.loads(one.told()["result"][1]) for one in others]
    assert not (tmp_path / "A.json").exists()
    code, out = ended_with(commands["A"])
    assert code == 0, out
    assert json.loads(out) == told[0] == told[1] == json.loads((tmp_path / "A.json").read_text())
    assert [file.name for file in (tmp_path / "own A").iterdir()] == ["finished"]
