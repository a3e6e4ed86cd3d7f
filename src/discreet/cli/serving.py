"""Commands of the table server: build data sets, serve them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from discreet.cli.group import SpokenCommand
from discreet.cli.options import JSON, OUTSIDE
from discreet.cli.terminal import errors, progress, result

SETTINGS = """\
version = 1
store = "server.db"
run = "run"

[listen]
host = "127.0.0.1"
port = {port}
workers = {workers}
origin = "http://127.0.0.1:{port}"

[log]
folder = "log"
key = "log.key"

[[datasets]]
folder = "census"
"""


@click.group("dataset")
def dataset() -> None:
    """Data sets of the table server."""


@dataset.command("build", cls=SpokenCommand)
@click.argument("catalogue", type=click.Path(path_type=Path))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--key", type=click.Path(path_type=Path), required=True, help="The key that record keys are made with.")
@click.option("--sign", type=click.Path(path_type=Path), help="The signing key of the office.")
@OUTSIDE
@JSON
def build(catalogue: Path, folder: Path, key: Path, sign: Path | None, allow_outside: bool, as_json: bool) -> None:
    """Make the data set that CATALOGUE describes, in FOLDER; it never changes afterwards."""
    from discreet.keys import Key
    from discreet.server.dataset import build_dataset

    with errors(as_json):
        with progress(as_json):
            made = build_dataset(catalogue, folder, key=Key.from_file(key), sign=sign, allow_outside=allow_outside)
        refused = {name: len(areas) for name, areas in made.facts.refused.items() if areas}
        lines = [f"{made.name}, edition {made.edition}, is ready in {folder}."]
        lines += [f"Universe {name!r} is not answered in {n} areas: too few records." for name, n in refused.items()]
        plain = {"name": made.name, "edition": made.edition, "folder": str(folder), "refused_areas": refused}
        result(plain, "\n".join(lines), as_json)


@dataset.command("report", cls=SpokenCommand)
@click.argument("folder", type=click.Path(path_type=Path))
@JSON
def report(folder: Path, as_json: bool) -> None:
    """Attack the data set in FOLDER by averaging, and say how many counts are known after how many tables."""
    from discreet.server.curve import attack_curve
    from discreet.server.dataset import open_dataset

    with errors(as_json):
        with progress(as_json):
            curve = attack_curve(open_dataset(folder))
        lines = [f"An attacker who averages tables that refine {curve.margin} knows exactly:"]
        lines += [
            f"  {point.tables:4} tables: {point.known:6.1%} of the counts (by formula {point.expected:.1%})"
            for point in curve.points
        ]
        lines.append(f"The account stops at {curve.stops_at:.1%} (exact_share of [policy]).")
        plain = {"margin": curve.margin, "stops_at": curve.stops_at, "points": [p._asdict() for p in curve.points]}
        result(plain, "\n".join(lines), as_json)


@click.command(cls=SpokenCommand)
@click.option("--config", type=click.Path(path_type=Path), help="The settings; a made-up census is served without.")
@click.option("--port", type=int, default=8080, show_default=True, help="Where the made-up census is served.")
@click.option("--records", type=int, default=100_000, show_default=True, help="How many persons it has.")
@click.option("--workers", type=int, default=1, show_default=True, help="How many processes answer for it.")
def serve(config: Path | None, port: int, records: int, workers: int) -> None:
    """Answer any table of the data sets of a server, protected, until Ctrl-C or SIGTERM."""
    from discreet.server.serving import Supervisor

    with errors(False):
        if config is not None:
            Supervisor(config, say=_say).run()
            return
        with tempfile.TemporaryDirectory(prefix="discreet-serve-") as folder:
            settings = sample_settings(Path(folder), port, records, workers)
            _say(f"A made-up census of {records:,} persons; nothing of it is kept.")
            _say(f"Try: curl 'http://127.0.0.1:{port}/v1/datasets/census/latest/table?variables=sex,age_group:1'")
            Supervisor(settings, say=_say).run()


def sample_settings(folder: Path, port: int, records: int, workers: int = 1) -> Path:
    """Settings of a server of a made-up census in a folder, with everything that it needs beside them."""
    from discreet.server.sample import build_sample
    from discreet.trust import make_keys

    build_sample(folder, records=records, areas=min(200, max(2, records // 500)))
    make_keys(folder / "log.key")
    path = folder / "server.toml"
    path.write_text(SETTINGS.format(port=port, workers=workers), encoding="utf-8")
    return path


def _say(text: str) -> None:
    click.echo(text, err=True)
