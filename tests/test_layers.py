"""Floors that show: a file imports only lower floors, or its own folder without a circle; the tours name every file.

Every import counts: at the top, within a function, for type checkers only. Lazy imports are for cost, never for direction.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOPS = ("punctuation", "afa", "speculation")

FLOORS = [  # from the ground up; a module stands on the floor of its longest prefix here
    ["punctuation"],
    ["afa.html_tables"],
    ["afa.errors", "afa.change", "afa.journal"],
    ["afa.schema"],
    ["afa.expression"],
    ["afa.model"],
    ["afa.state"],
    ["afa.io"],
    ["afa.conditions"],
    ["afa.engine"],
    ["afa.lineage"],
    ["afa.rewrite"],
    ["afa.interpreted"],
    ["afa.scan"],
    ["afa.compiled.kernel"],
    ["afa.compiled.code"],
    ["afa.compiled.machine"],
    ["afa.compiled"],
    ["afa.compiled.device"],
    ["afa.replay.witness"],
    ["afa.engines"],
    ["afa.operator"],
    ["afa.arclog"],
    ["speculation"],
    ["afa.feeds"],
    ["afa.chained"],
    ["afa.language"],
    ["afa.rules"],
    ["afa.extra.situations", "afa.extra.uncertain"],
    ["afa.explain.draw", "afa.explain.funnel", "afa.explain.explain_automaton"],
    ["afa.explain.reasons"],
    ["afa.explain.tracing"],
    ["afa.rules"],
    ["afa.frames"],
    ["afa.replay"],
    ["afa"],
    ["afa.spark", "afa.duckdb"],
    ["afa.cli"],
    ["afa.extra.live"],
]
TABLES = {"pyarrow", "pandas", "polars", "duckdb"}
READERS = ("punctuation.door", "punctuation.timestamps", "afa.io", "afa.feeds", "afa.spark", "afa.duckdb")
"""Where tables of each library are told apart, read and written; Spark's boundary speaks Arrow and pandas."""
WITH_ARROW = {
    "afa.cli": "advice batches_in load new output_form output_table replay_run request rule_output screen vary why write",
    "afa.expression": "functions",
    "afa.compiled": "key_numbers key_parts",
    "afa.frames": "slicing result_order lane_order message_rows",
    "afa.explain.funnel": "funnel",
    "afa.lineage": "lineage",
    "afa.operator": "members",
    "afa.explain.reasons": "because",
    "afa.replay": "amending changed_rows column_totals holding known_blocks question "
    "replaying sidecar_file slice_work seen_keys stored sweeping table_answer through_spans windowed",
    "afa.extra.live": "serve_run",
    "afa.extra.situations": "reading_tables",
    "afa.rules": "event_rows found_rules rule_tables",
    "afa.state": "key_columns plain",
    "afa.extra.uncertain": "sequence_tables uncertain_rows",
    "speculation": "consolidate event_columns id_rows id_versions ids last_rows stage_state waiting",
}
"""The other files that name pyarrow. None comes to it: a file that needs no Arrow any more is struck out."""
EXTRA = ("afa.extra", "afa.situations", "afa.uncertain")
"""What no other file names: extras register themselves, `afa.ADDED`, or are asked by the contract of patterns."""
RANK = {prefix: i for i, floor in enumerate(FLOORS) for prefix in floor}
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for top in TOPS
    for path in (ROOT / top).rglob("*.py")
}
FACES = {module for module, path in MODULES.items() if path.name == "__init__.py"}
"""What an ``__init__.py`` shows of the files beside it."""


def longest(name: str, known: object) -> str:
    """The longest prefix of a dotted name that is known; empty: none."""
    while name and name not in known:  # type: ignore[operator]
        name = name.rpartition(".")[0]
    return name


def imports(path: Path) -> Iterator[str]:
    """The library's modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (longest(alias.name, MODULES) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute"
            yield from (longest(f"{node.module}.{alias.name}", MODULES) for alias in node.names)


@functools.cache
def graph() -> dict[str, set[str]]:
    """Each module, and those that it imports."""
    return {module: {name for name in imports(path) if name and name != module} for module, path in MODULES.items()}


def test_imports_go_down() -> None:
    up = [
        f"{module} -> {name}"
        for module, names in graph().items()
        for name in names
        if RANK[longest(name, RANK)] > RANK[longest(module, RANK)]
    ]
    assert not up, "\n".join(sorted(up))


def test_no_circles() -> None:
    inner = {module: names - FACES for module, names in graph().items() if module not in FACES}
    TopologicalSorter(inner).prepare()


def test_nothing_names_an_extra() -> None:
    others = {module: names for module, names in graph().items() if not longest(module, EXTRA)}
    assert sorted(module for module, names in others.items() if any(longest(name, EXTRA) for name in names)) == []


def libraries(path: Path) -> set[str]:
    """The libraries of tables that a file imports, wherever in it."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    return TABLES & {name.partition(".")[0] for name in names}


def test_tables_are_read_and_written_in_few_files() -> None:
    there = {module: libraries(path) for module, path in MODULES.items() if longest(module, READERS) == ""}
    assert {module: names for module, names in there.items() if names - {"pyarrow"}} == {}
    wanted = {f"{room}.{name}" for room, names in WITH_ARROW.items() for name in names.split()}
    assert {module for module, names in there.items() if names} == wanted


def test_few_files_at_the_top() -> None:
    assert len(list((ROOT / "afa").glob("*.py"))) <= 10


def test_one_name_one_room() -> None:
    names = [path.name for path in MODULES.values() if path.name not in ("__init__.py", "__main__.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_one_class_one_name() -> None:
    names = [name for path in MODULES.values() for name in re.findall(r"^ *class (\w+)", path.read_text(encoding="utf-8"), re.M)]
    assert sorted({name for name in names if names.count(name) > 1}) == []


@pytest.mark.parametrize("package", sorted(FACES))
def test_each_tour_names_every_file_beside_it(package: str) -> None:
    face = MODULES[package]
    tour = ast.get_docstring(ast.parse(face.read_text(encoding="utf-8"))) or ""
    beside = {path.stem for path in face.parent.glob("*.py") if not path.stem.startswith("__")}
    beside |= {f"{path.parent.name}/" for path in face.parent.glob("*/__init__.py")}
    words = re.split(r"[\s,;:.()]+", tour)
    assert sorted(name for name in beside if name not in words) == []


def test_each_module_can_be_imported() -> None:
    for extra in ("pyspark", "starlette", "uvicorn"):
        pytest.importorskip(extra)
    for module in MODULES:
        if not module.endswith("__main__"):
            importlib.import_module(module)


def test_import_afa_loads_nothing_heavy() -> None:
    heavy = (
        "pyspark",
        "pyarrow",
        "pandas",
        "numba",
        "typer",
        "rich",
        "afa.cli",
        "afa.explain.draw",
        "afa.explain",
        "afa.explain.funnel",
        "afa.explain.reasons",
    )
    code = f"import sys, afa; print([name for name in {heavy!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert found.strip() == "[]"


@pytest.mark.parametrize("top", TOPS)
def test_nothing_read_is_ever_run(top: str) -> None:
    for file in (ROOT / top).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = {a.name for a in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "cloudpickle", "dill", "marshal", "shelve"}, file
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec"}, f"{file}:{node.lineno}"
