"""The lines of docs/spark.md, one after the other; those that need a cluster, a broker or a package are read only."""

from __future__ import annotations

import ast
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

import afa.spark
from afa.spark.metrics import COUNTED, SUMMED
from tests.spark.streams import when
from tests.test_tutorial import SPARK, compare

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python( \w+)?\n(.*?)```", PAGE, re.DOTALL)
FOLDERS = "ticks|changes|checkpoint|kept|now|changes-2|checkpoint-2|changes-3|checkpoint-3|arcs|arcs-of-jumps"
TICKS = [(1, -1.5, 1), (4, 2.0, 1), (2, -1.5, 1), (3, 0.5, 1), (3, 0.5, -1), (9, 2.5, 1)]


def test_the_lines_of_the_page(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "ticks").mkdir()
    rows = [{"symbol": symbol, "change": x, "at": when(s).isoformat(), "diff": diff} for symbol in "ab" for s, x, diff in TICKS]
    (tmp_path / "ticks" / "1.json").write_text("\n".join(map(json.dumps, rows)))
    names: dict[str, Any] = {"__name__": "page", "session": spark}
    run = [code for tag, code in BLOCKS if not tag]
    assert len(run) > 6
    for code in run:
        code = re.sub(r"afa\.spark\.local_session\(.*\)", "session", code)
        exec(re.sub(rf'"({FOLDERS})"', rf'"{tmp_path}/\1"', code), names)
    assert {row["total"] for row in names["found"].collect()} == {-3.0}
    assert [(row["card"], row["kind"]) for row in names["paid_orders"].collect()] == [("a", "match")]
    assert names["changes"].columns == ["symbol", "total", "le", "re", "diff", "id", "kind", "reason"]
    assert len(list((tmp_path / "arcs").glob("*.json"))) == 2  # a swap
    changes, kept, others = (spark.read.parquet(str(tmp_path / name)) for name in ("changes", "now", "changes-2"))
    in_force = afa.spark.current(changes)
    assert in_force.count() == names["found"].count() == 2
    assert sorted(in_force.collect()) == sorted(kept.collect())
    assert afa.spark.current(others).count() == 4
    observed = sorted(names["query"].lastProgress.observedMetrics)
    assert [name.rpartition(" ")[0] for name in observed] == ["afa jump", "afa rebound"]


def test_the_page_of_the_tutorial(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(afa.spark, "local_session", lambda: spark)
    names = r'(json\(|, |start\(|parquet\()"(payments|checkpoint|changes)"'
    compare(SPARK, lambda code: re.sub(names, rf'\1"{tmp_path}/\2"', code))


def test_the_lines_that_are_not_run() -> None:
    """They are Python, and what they call is there."""
    read = [code for tag, code in BLOCKS if tag]
    assert len(read) == 3
    for code in read:
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "afa.spark":
                assert node.attr in afa.spark.__all__
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "afa.spark.match":
                inspect.signature(afa.spark.match).bind(*node.args, **{word.arg: word for word in node.keywords if word.arg})


def test_what_the_page_names() -> None:
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / link).resolve().exists(), link
    for number in (*COUNTED, *SUMMED, "watermark"):
        assert f"`{number}`" in PAGE, number
