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
    session = local_session(2, spark__sql__shuffle__partitions=2, spark__driver__memory="1g", spark__driver__extraJavaOptions=java)
    yield session
    session.stop()
