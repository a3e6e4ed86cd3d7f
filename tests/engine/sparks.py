"""A Spark session of the tests' own, on this machine alone."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any


def missing() -> str:
    """Why there can be no Spark here; empty where there can."""
    if shutil.which("java") is None:
        return "Spark needs Java, which is not installed"
    try:
        import pyspark  # noqa: F401
    except ModuleNotFoundError:
        return "pyspark is not installed (discreet[spark])"
    return ""


def session(folder: Path, **further: str) -> Any:
    """A session with two threads that nobody outside can reach; ``further`` are settings (``a_b`` is ``spark.a.b``)."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1", SPARK_LOCAL_DIRS=str(folder))
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    settings |= {f"spark.{name.replace('_', '.')}": value for name, value in further.items()}
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found
