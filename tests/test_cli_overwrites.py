"""No command writes over what it reads, nor over a file of another kind unless it is told to."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import typer

import afa
from afa import AfaError
from afa.cli.main import app
from afa.io.whole_file import HEAD, KINDS, check_kind
from tests.cli import call, fails, process
from tests.cli import there as there  # the fixture of all tests here

RUN = ("run", "p.py:every", "in.parquet", "--window", "9")
REPLAY = ("replay", "p.py:every", "day", "--time", "le", "--window", "9")
VARY = ("run", "make.py:make", "in.parquet", "--window", "9", "--vary", "n=1:2:1")
WRITING: list[tuple[tuple[str, ...], str, str]] = [  # a command, its option, the ending of what it writes
    (("show", "p.py:two_vees"), "--svg", ".svg"),
    (("show", "p.py:two_vees"), "--html", ".html"),
    (("show", "p.py:two_vees"), "--dot", ".dot"),
    *(
        (command, "--output", ending)
        for command in (RUN, REPLAY, VARY)
        for ending in (".parquet", ".pq", ".jsonl", ".ndjson", ".csv")
    ),
    *((RUN, "--report", ending) for ending in (".html", ".htm")),
]
"""Whatever writes a file that the user names; `afa new`, `afa index` and `afa arcs` are below."""
READS = {"show": ["p.py"], "run": ["p.py", "in.parquet", "rules/1.json"], "replay": ["p.py", "day/a.parquet", "day/b.parquet"]}


@pytest.fixture(autouse=True)
def inputs(there: Path) -> None:
    table = pa.table({"le": [1, 2], "price": [1.0, 2.0], "change": [1.0, 1.0]})
    pyarrow.parquet.write_table(table, "in.parquet")
    for folder in ("day", "rules"):
        os.mkdir(folder)
    for name in ("a", "b"):
        pyarrow.parquet.write_table(table, f"day/{name}.parquet")
    Path("rules/1.json").write_text('{"op": "retract", "arc": {"name": "none"}, "at": "now", "sequence": 1, "id": "x"}\n')
    Path("make.py").write_text("import p\n\ndef make(n=1):\n    return p.every\n")


def test_all_options_that_name_a_file_are_here() -> None:
    """A new one comes into the list above."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    named = {
        (name, option.opts[-1])
        for name, command in commands.items()
        for option in command.params
        if option.param_type_name == "option" and (option.metavar or "").startswith("FILE")
    }
    assert named == {(command[0], option) for command, option, _ in WRITING}


@pytest.mark.parametrize(("link", "force"), [(None, ()), (os.symlink, ("--force",)), (os.link, ("--force",))])
@pytest.mark.parametrize(("command", "option", "ending"), WRITING)
def test_what_is_read_is_never_written_over(
    command: tuple[str, ...], option: str, ending: str, force: tuple[str, ...], link: Callable[..., None] | None
) -> None:
    for name in ["make.py"] if "--vary" in command else READS[command[0]]:
        output = name
        if link is not None:
            output = f"to{ending}"
            link(name, output)
        before = Path(name).read_bytes()
        arcs = ("--arcs", "rules") if name.startswith("rules") else ()
        if link is not None or name.endswith(ending) or command[0] == "show":
            assert fails(*command, *arcs, option, output, *force) == f"can't write {output}: it is {name}, which is read"
        assert Path(name).read_bytes() == before
        if link is not None:
            os.unlink(output)


OTHERS = {
    "text": b"dear diary\n",
    "code": b"print(1)\n",
    "csv": b"le,price\n1,2\n",
    "json": b'{\n  "name": 1\n}\n',
    "list": b"[1, 2]\n",
    "number": b"1\n",
    "binary": bytes(range(256)) * 9,
    "html": b"<!DOCTYPE html><p>",
    "svg": b"<?xml version='1.0'?>\n<!-- a --><svg>",
    "dot": b"// a\nstrict digraph x {}",
    "parquet": b"PAR1...PAR1",
    "jsonl": b'{"a": 1}\n{"b',
    "long": b'{"a": "' + b"x" * HEAD + b'"}',
}
SAME = {"htm": "html", "pq": "parquet", "ndjson": "jsonl"}


@pytest.mark.parametrize(("command", "option", "ending"), [each for each in WRITING if each[2][1:] not in SAME])
def test_nothing_of_another_kind_is_written_over(command: tuple[str, ...], option: str, ending: str) -> None:
    form = SAME.get(ending[1:], ending[1:])
    output = Path(f"out{ending}")
    for kind, content in OTHERS.items():
        output.write_bytes(content)
        if kind == form or (form, kind) == ("jsonl", "long"):
            call(*command, option, str(output))
            assert output.read_bytes() != content
            continue
        said = fails(*command, option, str(output))
        expected = f"expected {KINDS[form][0]}, or no file yet, to write {output} but got a file of another kind: "
        assert said == expected + "name another file, or say --force"
        assert output.read_bytes() == content
    call(*command, option, str(output), "--force")
    check_kind(output, form)
    output.write_bytes(b"")
    call(*command, option, str(output))
    assert output.read_bytes()
    call(*command, option, str(output))


def test_pictures_of_one_name_are_refused() -> None:
    assert (
        fails("show", "p.py:two_vees", "--svg", "a", "--html", "./a")
        == "expected a file for each form but got --svg a and --html a"
    )
    assert not Path("a").exists()


def test_a_picture_may_go_to_a_device_or_a_pipe() -> None:
    call("show", "p.py:two_vees", "--svg", os.devnull)
    shown, _ = process("show", "p.py:two_vees", "--svg", "/dev/stdout").communicate()
    assert shown.startswith("<svg")
    assert not os.path.isfile(os.devnull)
    assert fails("show", "p.py:two_vees", "--svg", ".") == "can't write .: a directory"


def test_new_index_and_arcs_leave_what_is_there() -> None:
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert "p.py is there already" in fails("new", "p.py")
    assert "p.py is there already" in fails("new", "p.py", "--from", "in.parquet")
    call("index", "day", "--time", "le")
    call("arcs", "rules", "insert", '{"src": "a", "dst": "b", "name": "x", "fence": "e.price > 1"}', "--pattern", "p.py:every")
    assert {path: path.read_bytes() for path in before} == before
    there = {path for path in Path().rglob("*") if path.is_file() and "__pycache__" not in str(path)}
    news = sorted(path.name for path in there - set(before))
    assert news[:2] == [".a.parquet.afa-index", ".b.parquet.afa-index"]
    assert len(news) == 3


def test_a_trace_is_not_written_over_what_is_no_page(tmp_path: Path) -> None:
    from tests.test_trace import DECLINED

    folder = tmp_path / "folder"
    folder.mkdir()
    place = folder / "p.py"
    place.write_text("print(1)")
    with pytest.raises(
        AfaError, match=r"expected an HTML page, or no file yet, to write .*p\.py but got .*: name another file, or"
    ):
        afa.trace(DECLINED, []).html(place)
    assert place.read_text() == "print(1)"
    os.symlink(folder / "far.html", folder / "run.html")
    afa.trace(DECLINED, []).html(folder / "run.html")
    afa.trace(DECLINED, []).html(folder / "run.html")
    assert sorted(path.name for path in folder.glob("*")) == ["far.html", "p.py", "run.html"]
    assert (folder / "run.html").is_symlink()


COMMENTS = (b"<!-- a - b -- c -->\n", b"<!--?><!-- -->", b"/* a * b ** c */\n", b"// a\n \n", b"<?xml ?> ?>")


@pytest.mark.parametrize("form", ["html", "svg", "dot"])
@pytest.mark.parametrize("comment", COMMENTS)
def test_a_file_of_comments_is_known_in_one_pass(form: str, comment: bytes, tmp_path: Path) -> None:
    """Where comments could be read in several ways, thirty of them took an hour."""
    path, before = tmp_path / "x", b"<?xml version='1.0'?>\n" if comment.startswith(b"<!") else b""
    path.write_bytes(before + comment * (HEAD // len(comment)))
    with pytest.raises(AfaError, match="of another kind"):
        check_kind(path, form)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("html", b"\xef\xbb\xbf<?xml v='?'?><!-- a - b --><!---->\n<!DOCTYPE html>"),
        ("svg", b"<?xml version='1.0'?>\n<!-- a -- b -->\n<!DOCTYPE svg PUBLIC 'x'>\n<svg>"),
        ("dot", b"/* a * b **/\n// c\n# d\n strict digraph x {"),
    ],
)
def test_a_file_of_its_kind_may_begin_with_comments(form: str, text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(text)
    check_kind(path, form)
