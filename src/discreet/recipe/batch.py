"""Batch files run: every job as its recipe, with a log book that a person can read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from discreet.argus.data import METADATA
from discreet.argus.output import Written, write_argus
from discreet.argus.parse import read_batch
from discreet.argus.people_recipe import DATA, records_recipe
from discreet.argus.translate import Job, Translation, translate
from discreet.errors import DiscreetError, InputError, OutputError, ParameterError, counted
from discreet.files.argus.outputs import write_text
from discreet.recipe.job import RecipeJob
from discreet.recipe.run import Run, prepare, run_job
from discreet.recipe.schema import read_recipe
from discreet.verbs.show import summary
from discreet.watching import watched

CODES = {3: 3}
"""Exit codes of the program itself: 3 for what cannot be read, 2 for everything else."""
SAFE = "tau-ARGUS, with what is withheld safe over the whole table"
"""What a batch does unless it is to be strict."""


@dataclass(frozen=True)
class BatchRun:
    """A finished batch: the runs, all files that were written, and the log book."""

    runs: tuple[Run, ...]
    files: tuple[Path, ...]
    log: str


@watched
def run_batch(
    path: str | Path,
    *,
    strict: bool = False,
    logbook: str | Path | None = None,
    data_folder: str | Path | None = None,
    allow_outside: bool = False,
) -> BatchRun:
    """Run a batch file of τ-ARGUS.

    Parameters
    ----------
    path
        The ``.arb`` file.
    strict
        Keep to what τ-ARGUS does where discreet would do more; see the manual.
    logbook
        Where the log goes, besides the file that ``<LOGBOOK>`` names.
    data_folder
        Where files are looked for that do not lie beside the batch; output goes there then.
    allow_outside
        Let it read and write outside its own folder and the data folder.

    Raises
    ------
    DiscreetError
        Whatever went wrong, with file and line of the batch. The log book is written all the same.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = ds.run_batch(ds.generate.argus_example(folder, records=100))
    >>> [run.verdict.holds for run in done.runs]
    [True, True]
    """
    path = Path(path)
    _refuse_records(path)
    if path.suffix.lower() in METADATA:
        raise ParameterError(
            f"{path.name!r} is a file of metadata, and no batch.",
            hint=f"Make a recipe of it (discreet argus {path.name} --convert), and run that (discreet run).",
        )
    book = Logbook(path, strict)
    places = [] if logbook is None else [Path(logbook)]
    try:
        translation = _translated(path, strict, data_folder, allow_outside)
        places += [path.parent / say.file for say in translation.says if say.what == "logbook"]
        book.say(*translation.notes)
        return _run(path, translation, book, allow_outside or data_folder is not None)
    except DiscreetError as error:
        book.say(f"ERROR: {error.message}", *([f"What to do: {error.recipe_hint or error.hint}"] if error.hint else []))
        raise
    finally:
        for place in places:
            write_text(place, book.text(), confidential=True)


def convert_batch(
    path: str | Path,
    *,
    strict: bool = False,
    data_folder: str | Path | None = None,
    allow_outside: bool = False,
) -> dict[str, str]:
    """The recipes that do what a batch file does, by the name of their file.

    Every ``<SUPPRESS>`` with the files written after it is one recipe. What has no counterpart stands in comments.

    μ-ARGUS has no batch files. Of its metadata (``people.rda``, with the records beside it) the recipe is made that a
    session of it comes to: combinations by identification level, local suppression by weights, the safe file.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     recipes = ds.convert_batch(ds.generate.argus_example(folder, records=100))
    >>> sorted(recipes)
    ['example-1.toml', 'example-2.toml']
    """
    path = Path(path)
    _refuse_records(path)
    if path.suffix.lower() in METADATA:
        return {f"{path.stem}.toml": records_recipe(path)}
    translation = _translated(path, strict, data_folder, allow_outside)
    jobs = [job for job in translation.jobs if job.protected]
    if not jobs:
        raise InputError(f"{path.name} protects nothing.", hint="A recipe needs a <SUPPRESS>.")
    result = {}
    for number, job in enumerate(jobs, start=1):
        name = f"{path.stem}.toml" if len(jobs) == 1 else f"{path.stem}-{number}.toml"
        result[name] = job.text()
    return result


def _refuse_records(path: Path) -> None:
    """Refuse a file of records: read as a batch, its first record would be shown in the error."""
    if path.suffix.lower() in DATA:
        raise ParameterError(
            f"{path.name!r} is a file of records, and no batch.",
            hint=f"Name the batch (.arb), or the metadata: discreet argus {path.stem}.rda --convert",
        )


def _translated(path: Path, strict: bool, data_folder: str | Path | None, allow_outside: bool) -> Translation:
    folder = None if data_folder is None else Path(data_folder)
    return translate(read_batch(path), path.parent, strict=strict, data_folder=folder, allow_outside=allow_outside)


def _run(path: Path, translation: Translation, book: Logbook, allow_outside: bool) -> BatchRun:
    shared: dict[Any, Any] = {}
    runs: list[Run] = []
    files: list[Path] = []
    _refuse_twice(path, translation)
    for say in translation.says:
        if say.what == "version":
            write_text(path.parent / say.file, version_text(), confidential=False)
            files.append(path.parent / say.file)
    for job in translation.jobs:
        book.begin(path.name, job)
        try:
            written = _do(job, path.parent, allow_outside, shared, runs, book)
        except DiscreetError as error:
            raise _placed(path.name, job.line, error) from error
        files += [file for each in written for file in each.files]
        book.wrote(written)
    book.say("", "The batch is done." if translation.jobs else "The batch asks for nothing to be written.")
    return BatchRun(tuple(runs), tuple(files), book.text())


def _do(
    job: Job, folder: Path, allow_outside: bool, shared: dict[Any, Any], runs: list[Run], book: Logbook
) -> tuple[Written, ...]:
    text = job.text()
    recipe = RecipeJob(read_recipe(text), folder, allow_outside, shared)
    if not job.protected:
        [table] = prepare(recipe)
        parts = recipe.recipe.output.argus
        book.say(f"{table.name}: {counted(len(table), 'cell')}, {int(table.unsafe.sum()):,} unsafe, not protected")
        return tuple(write_argus(table, recipe.path(p.file), p.kind, options=p.options) for p in parts)
    done = run_job(text, recipe, replace_other=True)  # the folder has the name of the batch
    runs.append(done)
    book.done(done)
    return done.files


def _refuse_twice(path: Path, translation: Translation) -> None:
    """Two outputs under one name would leave the reader with the second only; and the batch itself stays."""
    seen = {path.resolve()}
    for name in [*(say.file for say in translation.says), *(file for job in translation.jobs for file in job.files)]:
        place = (path.parent / name).resolve()
        if place in seen:
            raise OutputError(f"The batch writes {name!r} twice.", hint="Give the files different names.")
        seen.add(place)


def _placed(file: str, line: int, error: DiscreetError) -> DiscreetError:
    """The same error with the place of the batch that it belongs to."""
    return type(error)(
        f"{file}, line {line}: {error.message}",
        hint=error.hint,
        details=error.details,
        recipe_hint=error.recipe_hint,
    )


def version_text() -> str:
    """What ``<VERSIONINFO>`` asks for."""
    return f"discreet {version('discreet')}\nruns batch files of tau-ARGUS\n"


def argus_code(code: int) -> int:
    """The exit code that τ-ARGUS would end with."""
    return 0 if code == 0 else CODES.get(code, 2)


class Logbook:
    """What happened, in the order in which it did."""

    def __init__(self, path: Path, strict: bool) -> None:
        self.lines = [
            f"discreet {version('discreet')}, batch file {path.name}",
            f"Begun {datetime.now().astimezone().strftime('%Y-%m-%d %H:%M:%S %z')}",
            f"Semantics: {'as tau-ARGUS (--strict-argus)' if strict else SAFE}",
            "",
        ]

    def say(self, *lines: str) -> None:
        """Add lines."""
        self.lines += lines

    def begin(self, file: str, job: Job) -> None:
        """A job begins."""
        numbers = ", ".join(str(number) for number in job.tables)
        self.say("", f"{file}, line {job.line}: {'tables' if len(job.tables) > 1 else 'table'} {numbers}", *job.notes)

    def done(self, run: Run) -> None:
        """A job is done."""
        self.say(*summary(run.release).splitlines())
        self.say(run.verdict.headline() if run.verdict.holds else "The claims do not hold.")
        self.say(f"Release with its evidence: {run.folder.name} (seal {run.seal[:16]})")

    def wrote(self, written: Sequence[Written]) -> None:
        """Files were written."""
        for each in written:
            mark = " (CONFIDENTIAL: withheld values, statuses or levels)" if each.confidential else ""
            self.say(f"Written: {', '.join(file.name for file in each.files)}{mark}")

    def text(self) -> str:
        """The log book."""
        return "\n".join(self.lines) + "\n"
