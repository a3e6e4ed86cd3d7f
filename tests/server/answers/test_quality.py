"""Weighted samples: their counts are answered, and errors of counts tell nothing that the counts do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as ds
from discreet.errors import DiscreetError
from discreet.server.catalogue import parse_catalogue
from discreet.server.dataset import Dataset, build_dataset
from discreet.server.sample import CATALOGUE, write_sample
from tests.server.answers.test_http import TABLE, Server
from tests.server.answers.test_threats import told
from tests.server.census import KEY

REPLICATES = [f"w{number}" for number in range(1, 31)]
STRATA, CLUSTERS = 10, 60
WEIGHTED = {'identifier = ["person"]': 'identifier = ["person"]\nweight = "w"'}
BY_REPLICATES = f"\n[quality]\nreplicates = {REPLICATES!r}\nscale = {29 / 30}\n".replace("'", '"')
BY_CLUSTERS = '\n[quality]\nstrata = "stratum"\nclusters = "cluster"\nmarks = [10, 30]\n'


def weighted(folder: Path, quality: str, records: int = 6_000) -> Path:
    """The sample with weights, a jackknife of random groups, and clusters in strata; the path of its catalogue."""
    path = write_sample(folder / "source", records=records, areas=10, seed=5)
    draw = np.random.default_rng(3)
    table = pq.read_table(folder / "source" / "records.parquet")
    weight = np.round(draw.lognormal(4, 0.4, len(table)), 2)
    group = draw.integers(0, len(REPLICATES), len(table))
    cluster = draw.integers(0, CLUSTERS, len(table))
    table = table.append_column("w", pa.array(weight))
    for number, name in enumerate(REPLICATES):
        kept = np.where(group == number, 0.0, weight * len(REPLICATES) / (len(REPLICATES) - 1))
        table = table.append_column(name, pa.array(np.round(kept, 4)))
    table = table.append_column("cluster", pa.array([f"c{one}" for one in cluster]))
    table = table.append_column("stratum", pa.array([f"s{one % STRATA}" for one in cluster]))
    pq.write_table(table, folder / "source" / "records.parquet")
    text = CATALOGUE + quality
    for old, new in WEIGHTED.items():
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=[BY_REPLICATES, BY_CLUSTERS], ids=["replicates", "clusters"])
def sampled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Dataset]:
    folder = tmp_path_factory.mktemp("weighted")
    return folder, build_dataset(weighted(folder, request.param), folder / "census", key=KEY)


def asked(server: Server, variables: list[str], **more: Any) -> dict[tuple[str, ...], float]:
    return {cell: value for cell, value in told(server, *variables, **more).items() if value is not None}


def test_weighted_counts_are_those_of_protect_and_near_the_truth(sampled: tuple[Path, Dataset]) -> None:
    folder, dataset = sampled
    with Server(dataset) as server:
        counts = asked(server, variables=["sex", "marital"])
    by = {name: dataset.hierarchies[name] for name in ("marital", "sex")}
    release = ds.protect(dataset.data, dataset.method, tables=[ds.TableSpec(by=by, holders=False, period="2021")])
    columns = release.public.tables[0].columns()
    there = dict(zip(zip(columns["sex"], columns["marital"], strict=True), columns["value"], strict=True))
    assert counts == {cell: float(value) for cell, value in there.items()}
    table = pq.read_table(folder / "source" / "records.parquet")
    true = float(np.sum(table["w"].to_numpy()))
    assert counts["Total", "Total"] == pytest.approx(true, rel=0.01)
    assert counts["Total", "Total"] != true


def test_errors_are_a_curve_of_the_published_count_that_anybody_can_work_out(sampled: tuple[Path, Dataset]) -> None:
    _, dataset = sampled
    with Server(dataset) as server:
        page = server.client.get("/v1/datasets/census/latest").json()
        for body in ({"variables": ["sex", "marital"]}, {"variables": ["education", "sex"], "universe": "adults"}):
            counts, errors = asked(server, **body), asked(server, measure="rse", **body)
            assert errors
            for cell, percent in errors.items():
                expected = 100 * max(page["errors"]["a"] + page["errors"]["b"] / counts[cell], 0) ** 0.5
                assert percent == pytest.approx(expected, abs=0.0501)
    assert page["weighted"]
    assert page["errors"]["marks"] == dataset.catalogue.quality.marks


def test_errors_are_near_those_of_the_design(sampled: tuple[Path, Dataset]) -> None:
    """Worked out here again, in loops over records of single cells."""
    folder, dataset = sampled
    rows = pq.read_table(folder / "source" / "records.parquet").to_pylist()
    curve, ratios = dataset.facts.errors, []
    for name in ("marital", "education"):
        for code in sorted({row[name] for row in rows}):
            mine = [row for row in rows if row[name] == code]
            if len(mine) < 100:
                continue
            total = sum(row["w"] for row in mine)
            if dataset.catalogue.quality.replicates:
                squares = [(sum(row[one] for row in mine) - total) ** 2 for one in REPLICATES]
                variance = 29 / 30 * sum(squares)
            else:
                variance = 0.0
                for stratum in range(STRATA):
                    sums = [
                        sum(row["w"] for row in mine if row["cluster"] == f"c{cluster}")
                        for cluster in range(stratum, CLUSTERS, STRATA)
                    ]
                    mean = sum(sums) / len(sums)
                    variance += len(sums) / (len(sums) - 1) * sum((one - mean) ** 2 for one in sums)
            ratios.append(float(curve.percent(np.array([total]))[0]) / (100 * variance**0.5 / total))
    assert len(ratios) >= 6
    assert 0.7 < float(np.median(ratios)) < 1.4


def test_a_data_set_without_a_design_has_no_errors(census: Dataset) -> None:
    with Server(census) as server:
        reply = server.client.post(TABLE, json={"variables": ["sex"], "measure": "rse"})
        assert (reply.status_code, reply.json()["type"]) == (403, "urn:discreet:no-errors")
        assert "replicate weights" in reply.json()["detail"]
        assert server.client.get("/v1/datasets/census/latest").json()["errors"] is None


def test_errors_of_values_are_refused(sampled: tuple[Path, Dataset]) -> None:
    with Server(sampled[1]) as server:
        reply = server.client.post(TABLE, json={"variables": ["sex"], "measure": "rse", "value": "income"})
        assert (reply.status_code, reply.json()["type"]) == (403, "urn:discreet:no-errors")


@pytest.mark.parametrize(
    ("quality", "text"),
    [
        ("", "names both replicate weights and clusters, or neither"),
        ('replicates = ["w1", "w2"]\nclusters = "cluster"', "names both"),
        ('replicates = ["w1"]', "one column only"),
        ('replicates = ["w1", "w1"]', "one twice"),
        ('replicates = ["w1", "w2"]\nscale = 0', "scale = 0.0"),
        ('replicates = ["w1", "w2"]\nstrata = "stratum"', "strata go with clusters"),
        ('clusters = "cluster"\nmarks = [50, 25]', "marks of \\[quality\\] must rise"),
        ('clusters = "cluster"\nmark = [50]', "mark"),
    ],
)
def test_mistakes_in_the_catalogue_are_named(quality: str, text: str) -> None:
    catalogue = CATALOGUE.replace(*next(iter(WEIGHTED.items()))) + f"\n[quality]\n{quality}\n"
    with pytest.raises(DiscreetError, match=text):
        parse_catalogue(catalogue)


def test_errors_need_weights() -> None:
    with pytest.raises(DiscreetError, match="names no weight"):
        parse_catalogue(CATALOGUE + BY_CLUSTERS)


@pytest.mark.parametrize(
    ("quality", "text"),
    [
        ('[quality]\nclusters = "nobody"', "nobody"),
        ('[quality]\nstrata = "cluster"\nclusters = "cluster"', "with one cluster only"),
    ],
)
def test_a_design_that_is_not_in_the_records_is_refused(tmp_path: Path, quality: str, text: str) -> None:
    path = weighted(tmp_path, f"\n{quality}\n", records=1_000)
    with pytest.raises(DiscreetError, match=text):
        build_dataset(path, tmp_path / "census", key=KEY)
    assert not (tmp_path / "census").exists()
