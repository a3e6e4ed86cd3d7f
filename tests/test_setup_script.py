"""tools/setup.sh, run for real with small shell scripts as interpreters: no network, nothing installed."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the set-up is a shell script")

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = ("sh", "cat", "dirname", "mv", "rm", "mkdir", "cp")

# Answers the question of the script ("$2" is -c or venv); a real interpreter takes the lock.
FAKE_PYTHON = """\
#!/bin/sh
case "$*" in
    *ensurepip*) printf '%s\\n' '{answer}' ;;
    *flock*) exec '{real}' "$@" ;;
    '-m venv '*)
        echo venv >>'{log}'
        mkdir -p "$3/bin"
        cp '{inner}' "$3/bin/python" ;;
    *) exit 9 ;;
esac
"""

# The interpreter inside the .venv that the one above makes.
FAKE_INNER_PYTHON = """\
#!/bin/sh
case "$*" in
    *version_info*) echo 'python {version}' ;;
    '-m pip '*)
        echo "pip $*" >>'{log}'
        exit {pip_exit} ;;
esac
"""


class Project:
    """A copy of what the script reads, in a path with spaces; PATH holds only what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a project"
        self.bin = folder / "the bin"
        self.log = folder / "log"
        (self.root / "tools").mkdir(parents=True)
        self.bin.mkdir()
        shutil.copy(ROOT / "tools" / "setup.sh", self.root / "tools")
        (self.root / "pyproject.toml").write_text("[project]\n")
        (self.root / "constraints.txt").write_text("numpy==2\n")
        for command in COMMANDS:
            found = shutil.which(command)
            assert found is not None
            (self.bin / command).symlink_to(found)

    @property
    def stamp(self) -> Path:
        return self.root / ".venv" / ".complete"

    def add_script(self, name: str, text: str) -> Path:
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def add_python(
        self, name: str, version: str = "3.12.1", verdict: str = "yes", reason: str = "", pip_exit: int = 0
    ) -> Path:
        inner = FAKE_INNER_PYTHON.format(version=version.rpartition(".")[0], log=self.log, pip_exit=pip_exit)
        inner_path = self.add_script(f"inner-{name}", inner)
        answer = f"{verdict}|{version}|{self.bin / name}|{reason}"
        return self.add_script(
            name, FAKE_PYTHON.format(answer=answer, real=sys.executable, log=self.log, inner=inner_path)
        )

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", str(self.root / "tools" / "setup.sh"), *arguments],
            env={"PATH": str(self.bin), **environment},  # no HOME
            cwd=self.bin,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def steps(self) -> list[str]:
        """What was done since the last call: "venv" and "pip"."""
        if not self.log.exists():
            return []
        lines = self.log.read_text().splitlines()
        self.log.unlink()
        return [line.partition(" ")[0] for line in lines]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_an_empty_machine_is_told_what_is_needed(project: Project) -> None:
    result = project.run()
    assert result.returncode == 1
    assert "discreet needs CPython 3.11 to 3.13" in result.stderr
    assert "no Python at all" in result.stderr


def test_unusable_interpreters_are_named_with_the_reason(project: Project) -> None:
    project.add_python("python3", "3.9.2", "no", "is outside 3.11 to 3.13")
    project.add_script("python3.13", "#!/bin/sh\nexit 127\n")
    result = project.run()
    assert result.returncode == 1
    assert "python3 (3.9.2) is outside 3.11 to 3.13" in result.stderr
    assert "python3.13 does not run" in result.stderr
    assert not (project.root / ".venv").exists()


def test_the_version_is_judged_by_a_real_interpreter(project: Project) -> None:
    script = project.root / "tools" / "setup.sh"
    text = script.read_text()
    assert "newest=3.13" in text
    script.write_text(text.replace("oldest=3.11", "oldest=3.1").replace("newest=3.13", "newest=3.2"))
    (project.bin / "python3").symlink_to(sys.executable)
    result = project.run()
    assert result.returncode == 1
    assert f"python3 ({'.'.join(map(str, sys.version_info[:3]))}) is outside 3.1 to 3.2" in result.stderr


def test_missing_venv_names_the_debian_package(project: Project) -> None:
    project.add_python("python3.11", "3.11.2", "bare", "lacks the modules venv and ensurepip")
    result = project.run()
    assert result.returncode == 1
    assert "python3.11 (3.11.2) lacks the modules venv and ensurepip" in result.stderr
    assert "apt-get install python3.11-venv" in result.stderr


def test_an_interpreter_without_venv_is_passed_over_for_the_next(project: Project) -> None:
    project.add_python("python3.12", "3.12.3", "bare", "lacks the modules venv and ensurepip")
    project.add_python("python3.11", "3.11.2")
    result = project.run()
    assert result.returncode == 0, result.stderr
    assert "Python 3.11.2" in result.stdout


def test_it_works_in_a_path_with_spaces_without_home(project: Project) -> None:
    project.add_python("python3")
    result = project.run()
    assert result.returncode == 0, result.stderr
    assert project.steps() == ["venv", "pip", "pip"]
    assert str(project.root) in project.stamp.read_text()


def test_a_matching_stamp_does_nothing(project: Project) -> None:
    python = project.add_python("python3")
    project.run()
    project.steps()
    python.unlink()  # not even asked for
    result = project.run()
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert project.steps() == []


def test_a_new_date_of_the_files_alone_does_nothing(project: Project) -> None:
    project.add_python("python3")
    project.run()
    project.steps()
    os.utime(project.root / "pyproject.toml", (2_000_000_000, 2_000_000_000))
    project.run()
    assert project.steps() == []


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_a_changed_file_makes_the_environment_anew(project: Project, name: str) -> None:
    project.add_python("python3")
    project.run()
    project.steps()
    leftover = project.root / ".venv" / "leftover"
    leftover.touch()
    with (project.root / name).open("a") as file:
        file.write("# changed\n")
    assert project.run().returncode == 0
    assert project.steps() == ["venv", "pip", "pip"]
    assert not leftover.exists()


def test_an_interpreter_that_is_gone_makes_the_environment_anew(project: Project) -> None:
    project.add_python("python3")
    project.run()
    project.steps()
    (project.root / ".venv" / "bin" / "python").unlink()
    assert project.run().returncode == 0
    assert project.steps() == ["venv", "pip", "pip"]


def test_a_moved_project_makes_the_environment_anew(project: Project) -> None:
    project.add_python("python3")
    project.run()
    project.steps()
    project.root = project.root.rename(project.root.with_name("moved here"))
    assert project.run().returncode == 0
    assert project.steps() == ["venv", "pip", "pip"]


def test_a_failed_installation_leaves_no_stamp_and_is_done_again(project: Project) -> None:
    project.add_python("python3", pip_exit=1)
    result = project.run()
    assert result.returncode == 1
    assert "The installation failed" in result.stderr
    assert not project.stamp.exists()
    project.steps()
    leftover = project.root / ".venv" / "leftover"
    leftover.touch()

    project.add_python("python3")
    assert project.run().returncode == 0
    assert project.steps() == ["venv", "pip", "pip"]
    assert project.stamp.exists()
    assert not leftover.exists()


def test_python_names_the_interpreter_to_use(project: Project) -> None:
    project.add_python("python3.13", "3.13.0")
    mine = project.add_python("my python", "3.11.9")
    assert "Python 3.11.9" in project.run(PYTHON=str(mine)).stdout
    project.steps()
    assert project.run(PYTHON=str(mine)).stdout == ""
    assert project.run().stdout == ""
    assert project.steps() == []


def test_python_of_another_version_replaces_the_environment(project: Project) -> None:
    project.add_python("python3", "3.12.1")
    project.run()
    project.steps()
    project.add_python("python3.13", "3.13.0")
    assert "Python 3.13.0" in project.run(PYTHON="python3.13").stdout
    assert project.steps() == ["venv", "pip", "pip"]


def test_a_wrong_python_is_said_and_another_one_used(project: Project) -> None:
    project.add_python("python3")
    result = project.run(PYTHON="/nowhere/python")
    assert result.returncode == 0
    assert "PYTHON cannot be used: /nowhere/python is not there" in result.stdout


def test_the_extra_for_benchmarks_is_added_once(project: Project) -> None:
    project.add_python("python3")
    project.run()
    project.steps()
    project.run("bench")
    assert project.steps() == ["pip"]
    project.run("bench")
    assert project.steps() == []


def test_what_builds_spark_is_installed_before_it(project: Project) -> None:
    project.add_python("python3")
    project.run()
    project.log.unlink()
    project.run("spark")
    asked = project.log.read_text().splitlines()
    assert len(asked) == 2
    assert "setuptools" in asked[0]
    assert asked[1].endswith(".[spark]")


def test_an_unknown_argument_is_refused(project: Project) -> None:
    project.add_python("python3")
    result = project.run("everything")
    assert result.returncode == 1
    assert "Usage" in result.stderr
    assert project.steps() == []


def test_a_second_run_waits_for_the_first_and_finds_its_work_done(project: Project) -> None:
    project.add_python("python3")
    project.run()
    finished = project.stamp.rename(project.root / "finished")
    project.steps()
    with (project.root / ".venv.lock").open("w") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        second = subprocess.Popen(
            ["sh", str(project.root / "tools" / "setup.sh")],
            env={"PATH": str(project.bin)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert second.stdout is not None
        assert "Waiting for another set-up" in second.stdout.readline()
        finished.rename(project.stamp)
    second.communicate(timeout=60)
    assert second.returncode == 0
    assert project.steps() == []


def test_the_lock_of_a_dead_run_does_not_hold(project: Project) -> None:
    project.add_python("python3")
    (project.root / ".venv.lock").write_text("left behind")
    assert project.run().returncode == 0
    assert project.stamp.exists()
