"""One Spark for all tests here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyspark", reason='pyspark is not installed: pip install "afa[spark]"')


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from afa.spark import local_session

    session = local_session(2, spark__sql__shuffle__partitions=2, spark__driver__memory="1g")
    yield session
    session.stop()
