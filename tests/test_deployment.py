"""What lies in ``deploy/`` speaks of files, packages, commands and settings that there are."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.cli.main import main

ROOT = Path(__file__).parents[1]
UNITS = sorted(path.name for path in (ROOT / "deploy").glob("discreet*"))


def instructions() -> list[tuple[str, str]]:
    """The instructions of the container file, in order."""
    text = re.sub(r"^#.*\n", "", (ROOT / "deploy" / "Containerfile").read_text(), flags=re.M).replace("\\\n", " ")
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]


def test_the_container_copies_what_is_there_and_installs_extras_that_there_are() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    copied = [words.split() for kind, words in instructions() if kind == "COPY" and "--from" not in words]
    assert [name for words in copied for name in words[:-1]] == [
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "constraints.txt",
        "src",
    ]
    assert all((ROOT / name).exists() for words in copied for name in words[:-1])
    (wanted,) = (
        found for kind, words in instructions() if kind == "RUN" for found in re.findall(r"\.\[(.*?)\]", words)
    )
    assert set(wanted.split(",")) <= set(extras)
    assert "server" in wanted
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert needed["project"]["readme"] == "README.md"  # the build reads it


def test_the_container_starts_a_command_that_there_is_as_a_user_without_rights() -> None:
    said = dict(instructions())
    program, command = (re.findall(r'"(.*?)"', said[kind]) for kind in ("ENTRYPOINT", "CMD"))
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert Path(program[0]).name in scripts
    places = [words for kind, words in instructions() if kind == "COPY" and "--from" in words]
    assert all(words.split()[-1] == str(Path(program[0]).parents[1]) for words in places)
    assert known_option(command)
    assert said["USER"] == "discreet"
    made = next(words for kind, words in instructions() if kind == "RUN" and "useradd" in words)
    assert f"useradd --system --uid 10001 --no-create-home {said['USER']}" in made
    assert re.search(r"XDG_CACHE_HOME=(\S+)", said["ENV"]).group(1) in made  # type: ignore[union-attr]
    assert command[-1].startswith(said["WORKDIR"])


def known_option(command: list[str]) -> bool:
    """Whether a command of ours takes the option that stands there."""
    name, option, _ = command
    done = CliRunner().invoke(main, [name, "--help"])
    return done.exit_code == 0 and option in done.output


def unit(name: str) -> configparser.ConfigParser:
    """A unit of systemd."""
    found = configparser.ConfigParser(strict=False, interpolation=None)
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read(ROOT / "deploy" / name)
    return found


def test_units_start_our_command_and_name_each_other() -> None:
    words = shlex.split(unit("discreet.service")["Service"]["ExecStart"])
    assert Path(words[0]).name == "discreet"
    assert known_option(words[1:])
    (about,) = {unit(name)["Unit"]["Description"] for name in UNITS if name == "discreet-crl.path"}
    assert about
    assert "discreet.service" in unit("discreet-crl.service")["Service"]["ExecStart"]
    assert Path(unit("discreet-crl.path")["Path"]["PathChanged"]).name == "revoked.pem"
    from discreet.trust.authority_folder import REVOKED

    assert Path(unit("discreet-crl.path")["Path"]["PathChanged"]).name == REVOKED


@pytest.mark.parametrize("name", UNITS)
def test_systemd_finds_no_fault_but_that_nothing_is_installed(name: str, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    for one in UNITS:  # a unit is looked up beside the one that names it
        shutil.copy(ROOT / "deploy" / one, tmp_path / one)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / name)], capture_output=True, text=True, check=False
    )
    said = [line for line in done.stderr.splitlines() if "discreet" in line]
    assert not [line for line in said if "is not executable" not in line], done.stderr
