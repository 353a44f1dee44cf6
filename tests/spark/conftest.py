"""One Spark for all tests here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyspark", reason='pyspark is not installed: pip install "afa[spark]"')


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a Spark: ``pytest -m spark``"""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from afa.spark import local_session

    os.environ["AFA_SHARED_DIR"] = str(tmp_path_factory.mktemp("shared"))  # which the workers inherit
    os.chmod(os.environ["AFA_SHARED_DIR"], 0o700)
    java = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"  # two fifths less CPU: nothing runs long enough for the better code
    java += " -XX:ReservedCodeCacheSize=240m"  # a tenth less: in the 48 MB of that level it throws code out and compiles it again
    java += " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"  # a tenth less: 20,000 classes are loaded once
    java += " -Xms1g -Xmn500m -XX:MetaspaceSize=300m"  # no collection while it grows
    session = local_session(2, spark__sql__shuffle__partitions=2, spark__driver__memory="1g", spark__driver__extraJavaOptions=java)
    one_file_for_each(session)
    ask_before_the_end()
    yield session
    session.stop()


def one_file_for_each(session: Any) -> None:
    """Write no checksums beside files: Java starts a process, chmod, for each file, a hundred for a short query."""
    java = session._jvm
    java.org.apache.hadoop.fs.FileSystem.getLocal(session._jsc.hadoopConfiguration()).setWriteChecksum(False)


def ask_before_the_end() -> None:
    """Let an iterator over something of Java's ask whether there is a next one.

    It takes an exception for the end, and PySpark asks of which of fifteen kinds that is: 45 round trips, seven times for each
    progress of a query, a fifth of a second of CPU.
    """
    from py4j.java_collections import JavaIterator

    def following(self: Any) -> Any:
        if not self.hasNext():
            raise StopIteration
        return self.next()

    JavaIterator.__next__ = following
