"""The job of `on_spark.py` on a cluster: processes of this machine, from PySpark alone. On a real cluster only `session` remains.

It prints:

    A too hot at 12:00:03: 210 degrees, +1
    B too hot at 12:00:23: 190 degrees, +1
    in force: 2
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyspark.sql

import afa.spark
from afa.spark.session import use_java
from examples import on_spark

HOME, FIRST = Path(pyspark.__file__).parent, "Starting Spark master at "
DIES_WITH_US = '("$@"; kill -9 0) & read _; kill -9 0'  # a process's input ends when this one does, however it does


class Cluster:
    """A standalone master, and workers of one core each."""

    def __init__(self, workers: int = 2) -> None:
        use_java()
        self._folder = TemporaryDirectory(ignore_cleanup_errors=True)
        self.log = Path(self._folder.name, "log")
        self._master = self._start("master.Master", "--port", "0")
        while FIRST not in (said := self.log.read_text()):
            assert self._master.poll() is None, said
            time.sleep(0.1)
        self.url = said.partition(FIRST)[2].split()[0]
        self.workers = [self.start_worker() for _ in range(workers)]

    def start_worker(self) -> Any:
        return self._start("worker.Worker", "--cores", "1", "--memory", "1g", "--work-dir", self._folder.name, self.url)

    def _start(self, name: str, *options: str) -> Any:
        """A process group; executors are in that of their worker, and find the packages that this process finds."""
        command = [f"{HOME}/bin/spark-class", f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", "--webui-port", "0"]
        env = {"SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with self.log.open("a") as log:
            given: Any = {"env": {**os.environ, **env}, "stdin": subprocess.PIPE, "stdout": log, "stderr": log}
            return subprocess.Popen(["sh", "-c", DIES_WITH_US, "sh", *command, *options], start_new_session=True, **given)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        for process in [*self.workers, self._master]:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        self._folder.cleanup()


def session(master: str) -> pyspark.sql.SparkSession:
    """A job's session: its workers run the Python of that path, and reach the driver under that name."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {**afa.spark.NEEDED, "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "2"}
    return pyspark.sql.SparkSession.builder.master(master).config(map=settings).getOrCreate()


def main() -> None:
    with Cluster() as cluster, session(cluster.url) as spark:
        on_spark.main(spark)


if __name__ == "__main__":
    main()
