"""Every page says what is so: its Python runs, its commands are there, its links lead somewhere, the API reference is whole."""

from __future__ import annotations

import doctest
import gzip
import importlib
import importlib.util
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from afa import Keyed, Operator, insert, retract
from afa.language.query import Query
from docs import rooms, site
from tests import tutorial
from tests.cli import call, process
from tests.pages import PAGES, ROOT, blocks, execute, headings, links

SPARK = "docs/spark.md"
"""Runs in `tests/spark/test_docs.py`; the pages of the tutorial run in `tests/test_tutorial.py`."""
PACKAGES = ["afa", "afa.feeds", "afa.language", "afa.replay", "afa.situations", "afa.spark", "afa.uncertain"]
PACKAGES += ["punctuation", "speculation"]


@pytest.mark.parametrize("page", [page for page in PAGES if page != SPARK and page not in tutorial.PAGES])
def test_the_python_of_a_page(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    execute(page)


@pytest.mark.parametrize("page", PAGES)
def test_the_links_of_a_page(page: str) -> None:
    for path, heading in links(page):
        assert path.exists(), path
        assert not heading or heading in headings(path), heading


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page: str) -> None:
    """Targets of `make`, modules behind `python -m`, benchmarks, and files that are named by their path."""
    text = (ROOT / page).read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([\w-]+)|^make ([\w-]+)", text, re.MULTILINE):
        assert f"\n{''.join(target)}:" in makefile, target
    for module in re.findall(r"python -m ((?:afa|bench|examples|tests)[\w.]*)", text):
        path = ROOT / module.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").exists(), module
    for bench in re.findall(r"`(bench_\w+\.py)`", text):
        assert (ROOT / "bench" / bench).exists(), bench
    for path in re.findall(r"`((?:afa|punctuation|speculation|tests|bench|examples|docs)/[\w./]+)`", text):
        assert (ROOT / path).exists() or path == "bench/results/index.html", path


def test_the_command_line_of_the_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `afa ..` of a block of shell, on the guide's automaton as ``ticks.py``, the README's query as ``rebound.sase``.

    The guide's function that makes automata is ``falls.py``.
    """
    monkeypatch.chdir(tmp_path)
    code = next(code for kind, code in blocks("docs/guide/pattern.md") if kind == "pycon")
    lines = (example.source for example in doctest.DocTestParser().get_examples(code))
    Path("ticks.py").write_text("".join(lines), encoding="utf-8")
    guide = [code for page in ("pattern", "frames") for kind, code in blocks(f"docs/guide/{page}.md") if kind == "pycon"]
    sources = [example.source for example in doctest.DocTestParser().get_examples("".join(guide))]
    factory = [source for source in sources if source.startswith(("from typing", "from afa import Arc", "class Quote", "def fall"))]
    Path("falls.py").write_text("".join(factory), encoding="utf-8")
    Path("rebound.sase").write_text(readme_example()["TEXT"], encoding="utf-8")
    ticks = pa.table({"symbol": ["A"] * 3, "change": [-1.5, 2.0, -1.5], "time": [1, 4, 2]})
    pa.parquet.write_table(ticks, "ticks.parquet")
    sink = pa.BufferOutputStream()
    pa.csv.write_csv(ticks, sink)
    Path("ticks.csv.gz").write_bytes(gzip.compress(sink.getvalue().to_pybytes()))
    shells = [code for page in PAGES if page not in tutorial.PAGES for kind, code in blocks(page) if kind == "sh"]
    lines = dict.fromkeys(line for code in shells for line in code.splitlines() if "afa " in line)
    assert len(lines) > 2
    for line in lines:
        parts = [shlex.split(part, comments=True) for part in line.split("|")]
        arguments = next(part for part in parts if part[0] == "afa")
        if "-" not in arguments:
            call(*arguments[1:])
        else:
            text = gzip.decompress(Path("ticks.csv.gz").read_bytes()).decode()
            if "jsonl" in arguments:
                text = "".join(f"{json.dumps(row)}\n" for row in ticks.to_pylist())
            job = process(*arguments[1:], stdin=subprocess.PIPE)
            out, said = job.communicate(text)
            assert job.returncode == 0, (line, said)
        if "--output changes.parquet" in line:
            assert pa.parquet.read_table("changes.parquet")["total"].to_pylist() == [-3.0]
        if "--output -" in line:
            assert '"total":-3.0' in out.replace(" ", "")


def readme_example() -> dict[str, Any]:
    """The names that the example leaves behind; each push keeps its answer in ``out``."""
    code = next(code for kind, code in blocks("README.md") if kind == "python")
    names: dict[str, Any] = {"__name__": "readme", "out": []}
    exec(re.sub(r"^(op\.push.*?\))( *#.*)?$", r"out.append(\1)", code, flags=re.MULTILINE), names)
    return names


def test_the_ten_lines_of_the_readme() -> None:
    names = readme_example()
    out = names["out"]
    found = insert((-3.0,), 4, 61)._replace(key="A")
    between = found._replace(le=3)
    assert out == [
        [],
        [],
        [found],
        [found._replace(diff=-1), between],
        [between._replace(diff=-1), found],
        [],
    ]
    op, tick = names["op"], names["Tick"]
    assert op.push(retract(tick("A", 2.0), le=4)) == [found._replace(diff=-1)]
    assert op.push_many([insert(tick("A", -2.5), 5), insert(tick("A", 1.0), 9)]) == [insert((-5.5,), 9, 61)._replace(key="A")]


def test_the_picture_of_the_rooms_is_current() -> None:
    text = rooms.PAGE.read_text(encoding="utf-8")
    assert rooms.page(text) == text, "python -m docs.rooms draws it anew"


def test_the_readme_stays_short() -> None:
    """What a newcomer needs; everything else is a page of docs/."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_each_option_of_an_operator_is_explained_once() -> None:
    """In one table of a page of the guide, with a link, which is written by a script; `Keyed` has the same ones."""
    spec = importlib.util.spec_from_file_location("options_page", ROOT / "docs/options.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = (ROOT / "docs/guide/options.md").read_text(encoding="utf-8")
    assert script.page(text) == text, "python docs/options.py"
    told = [line.split("|")[1].strip(" `=") for line in text.splitlines() if line.startswith("| `")]
    assert "postpone" in inspect.signature(Query.operator).parameters
    for operator in (Operator, Keyed):
        assert told == [name for name in inspect.signature(operator).parameters if name != "automaton"]


@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_public_is_told(package: str) -> None:
    """Each public name, and each public method of a class, has a docstring: the API reference is made of them."""
    if package == "afa.spark":
        pytest.importorskip("pyspark", reason='pyspark is not installed: pip install "afa[spark]"')
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        found: Any = getattr(module, name)
        if not callable(found):
            continue
        assert found.__doc__, name
        for method, function in vars(found).items() if isinstance(found, type) else ():
            if not method.startswith("_") and (callable(function) or isinstance(function, (property, classmethod))):
                assert function.__doc__, f"{name}.{method}"


def test_the_api_reference(tmp_path: Path) -> None:
    """What `make docs` builds holds every public name."""
    pytest.importorskip("pdoc", reason='the extra `docs` is not installed: pip install "afa[docs]"')
    pytest.importorskip("pyspark", reason='pyspark is not installed: pip install "afa[spark]"')
    assert site.PACKAGES == PACKAGES
    command = [sys.executable, str(ROOT / "docs/site.py"), str(tmp_path), "--only-api"]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    tmp_path /= "api"
    for package in PACKAGES:
        page = (tmp_path / f"{package.replace('.', '/')}.html").read_text(encoding="utf-8")
        for name in importlib.import_module(package).__all__:
            assert f'id="{name}"' in page, (package, name)


def test_the_glossary_has_no_word_that_nobody_uses() -> None:
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ") and not line.startswith("| term ")]
    words = {word.strip(" `") for row in rows for word in re.split(r"[,;]| \(.*?\)", row) if word.strip()}
    assert len(words) > 50
    code = " ".join(
        path.read_text(encoding="utf-8") for top in ("afa", "punctuation", "speculation") for path in (ROOT / top).rglob("*.py")
    )
    flat = re.sub(r"\s+", " ", code).lower()
    assert not [word for word in sorted(words) if word.lower() not in flat]
