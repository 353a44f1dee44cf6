"""Whatever the library deletes, replaces or opens to write: could it be something that the library did not make?

Each such call stands in `REVIEWED` with the answer; a new one fails here until it does.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from afa import Automaton
from afa.arclog.about import FILE, about, put_about
from tests.test_layers import MODULES, ROOT

DOES = {
    *("unlink", "rmtree", "rmdir", "removedirs", "rename", "renames", "truncate", "ftruncate", "write_text", "write_bytes"),
    *("delete_file", "delete_dir", "delete_dir_contents", "open_output_stream", "open_append_stream", "mkstemp", "mkdtemp"),
    *(
        "copyfile",
        "copy2",
        "copytree",
        "symlink_to",
        "hardlink_to",
        "symlink",
        "ParquetWriter",
        "CSVWriter",
        "write_csv",
        "write_table",
    ),
    *("NamedTemporaryFile", "TemporaryDirectory", "TemporaryFile", "drafted", "saveAsTable", "Popen", "mode", "pwrite"),
}
"""Names of functions and methods, of whatever they are."""
SOME = re.compile(r"(os|shutil|subprocess)\.(replace|remove|link|run|call|check_call|move|copy|system)|.*system\.move|.*\)\.touch")
"""Functions whose names other things have, too; so with the module."""
ASKED = DOES | {
    *("replace", "remove", "link", "run", "call", "check_call", "move", "copy", "system", "touch", "open", "fdopen", "open_code"),
}
SHELL = re.compile(r"\brm -|\brmdir\b|-delete\b|\bmv ")


def calls() -> Iterator[tuple[str, str]]:
    """Yield the file, and "function: name", of each call that may delete, replace or write."""
    for path in sorted(MODULES.values()):
        name = path.relative_to(ROOT).as_posix()
        for function, node in _within(ast.parse(path.read_text(encoding="utf-8")), ""):
            if isinstance(node, ast.Call) and _writes(node):
                yield name, f"{function}: {ast.unparse(node.func)}"
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and SHELL.search(node.value):
                yield name, f"{function}: text with a command of a shell"


def _within(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield all nodes below one, each with the name of the function in which it stands."""
    for child in ast.iter_child_nodes(node):
        yield function, child
        yield from _within(child, child.name if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) else function)


def _writes(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name not in ASKED:
        return False
    text = ast.unparse(node.func)
    said = [*node.args, *(keyword.value for keyword in node.keywords)]
    if name == "replace" and len(said) == 1 and "ath" in text:
        return True
    if name in ("open", "fdopen", "open_code"):
        if text.startswith("os."):
            return "O_WRONLY" in ast.unparse(node) or "O_RDWR" in ast.unparse(node) or "flags" in ast.unparse(node)
        modes = [each.value for each in said if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        unknown = text == "open" and len(node.args) > 1 and not isinstance(node.args[1], ast.Constant)
        return unknown or any(re.fullmatch(r"[rwxabt+]+", mode) and set(mode) & set("wxa+") for mode in modes)
    return name in DOES or SOME.fullmatch(text) is not None


DRAFT = "a draft of ours: its name is random, made in this call"
NAMED = "a path that the user names; `check_kind` has refused what is read, and other kinds"
MEMORY = "no file: a buffer in memory"
REVIEWED: dict[str, dict[str, str]] = {
    "afa/arclog/about.py": {
        "write_said: write_text": ".about.json of an arc log; one that no job has written stays",
    },
    "afa/arclog/answers.py": {
        "__init__: os.open": "a new file, its name is random",
        "__init__: os.replace": ".answers-<digest>.jsonl of an arc log, of a job of this name that has ended",
        "__init__: hidden.unlink": DRAFT,
    },
    "afa/arclog/log_writer.py": {
        "_put: write_text": "a new name: an instant and a random number",
        "take_back: file.unlink": "the file that this writer has just written",
    },
    "afa/cli/fault.py": {"close_pipes: os.open": "the null device"},
    "afa/cli/main.py": {"main: open": "the null device"},
    "afa/cli/new.py": {"write_where_nothing_is: open": "mode x: only where nothing is"},
    "afa/extra/live/serve_run.py": {
        "_folder: tempfile.mkdtemp": "a new folder",
        "_folder: shutil.rmtree": "the folder that was made three lines above, for this job alone",
    },
    "afa/cli/run.py": {"write_report: write_text": NAMED},
    "afa/cli/show.py": {"write_pictures: write_text": NAMED},
    "afa/io/appended.py": {
        "__init__: os.open": "an output that is not there, or empty, or the one that the state knows by its bytes",
        "cut: os.ftruncate": "the same, behind the place of a commit",
        "commit: os.replace": "a part whose name has the random token of the job",
        "cut: os.unlink": "the same, behind the place of a commit",
        "_csv: pyarrow.csv.write_csv": "memory",
    },
    "afa/io/file_writing.py": {
        "writing_file: drafted": NAMED,
        "_parquet: pyarrow.parquet.ParquetWriter": DRAFT,
        "write: writer.write_table": DRAFT,
        "_parquet: writer.write_table": DRAFT,
        "_json_lines: open": DRAFT,
        "_csv: pyarrow.csv.CSVWriter": DRAFT,
        "_csv: writer.write_table": DRAFT,
    },
    "afa/compiled/machine/background.py": {
        "begin: tempfile.TemporaryFile": "a file without a name",
        "_started: subprocess.Popen": "Python with a module of ours, which writes to its output and by `Folder.put`",
    },
    "afa/compiled/machine/folder.py": {
        "put: tempfile.mkstemp": "a new file",
        "put: open": "the new file",
        "put: os.replace": "in our folder: a digest of 40 digits and our ending",
        "put: os.unlink": "the new file",
        "lock: os.open": "in our folder; nothing is written to it, no link is followed",
        "_prune: os.unlink": "in our folder: a regular file with a name of our shape",
    },
    "afa/compiled/mapped_heap.py": {
        "__del__: self.path.unlink": "a claimed image, which this object holds open and locked",
        "mapped: os.ftruncate": "an image of ours, open and locked",
        "cut: os.ftruncate": "an image of ours, open and locked",
    },
    "afa/io/input_shape.py": {
        "empty: pyarrow.csv.write_csv": "memory",
        "empty: pyarrow.parquet.write_table": "memory",
    },
    "afa/io/whole_file.py": {
        "drafted: os.replace": NAMED,
        "drafted: draft.unlink": DRAFT,
        "write_text: drafted": "for those that call it: they stand here",
        "write_text: open": "a draft, or a device that the user names",
    },
    "afa/operator/checkpoint.py": {
        "commit: os.open": "state.new, of which this process has looked what it is, in a folder that it has locked",
        "commit: os.replace": "state of that folder, which this process has read or written",
        "commit: os.unlink": "the state.new that it has just written",
        "_drop_draft: os.unlink": "state.new that begins as a state does, or is empty",
        "close: os.rmdir": "the folder that it has made; one with files in it stays",
    },
    "afa/replay/sidecar_file.py": {
        "write_sidecar: file.system.open_output_stream": DRAFT,
        "write_sidecar: pq.write_table": DRAFT,
        "write_sidecar: file.system.move": ".NAME.afa-index, which is only written here; a damaged one is to be written anew",
        "write_sidecar: file.system.delete_file": DRAFT,
    },
    "afa/spark/moved.py": {"moved: parts.write.mode": "the folder `afa` in a checkpoint of ours: states of our operator are in it"},
    "afa/spark/operator_image.py": {
        "publish: os.rename": "images of ours, by a random token; twice",
        "publish: os.pwrite": "an image of ours, open and locked",
        "__init__: os.rename": "an image, by a random token that our state holds",
        "_opened: os.open": "an image, by its token; no link is followed, and nothing is cut before its end is read",
    },
    "afa/spark/session.py": {
        "use_java: wrapper.write_text": "a wrapper of ours; another program there is refused",
        "_version: subprocess.run": "java -version",
        "_elsewhere: open": "mode a: a log that the user names is added to",
    },
    "afa/spark/shared.py": {
        ": text with a command of a shell": "regular files of our shape in a folder of ours; folders only where they are empty",
        "watch: subprocess.run": "that text",
        "put: _image(place, token).unlink": "by the random token of this call",
        "sweep: path.unlink": "in our folder: a regular file with a name of our shape",
        "_clean: path.unlink": "in a folder of ours, by its name: a regular file with a name of our shape",
        "_clean: folder.rmdir": "a folder of ours, where it is empty",
    },
    "afa/spark/table_folder.py": {
        "show: os.rename": "a new name: its number is above all that are there",
        "show: hidden.write_text": "the list that is to come, under a name that no sink gives",
        "show: os.replace": "a new name: its number is above all that are there",
        "prune: shutil.rmtree": "in _afa_drafts: a folder that has the name of a table of ours, no link",
        "prune: (self._folder / DRAFTS).rmdir": "_afa_drafts, where it is empty",
        "_link: (hidden / 'part-0.parquet').symlink_to": DRAFT,
        "_link: (hidden / '_SUCCESS').touch": DRAFT,
        "_link: os.rename": "a new name; what is there stays, as a folder that is not empty can't be replaced",
        "_delete_link: link.rmdir": "it held a link to a table of ours and _SUCCESS, no more",
        "_delete: path.unlink": "of `prune` and `_delete_link`: tables, lists and links that were found to be ours",
        "write: current(_with(news, turn.before)).coalesce(1).write.mode": "a draft: what is there is of a batch that did not end",
    },
    "afa/explain/tracing/recorder.py": {"html: write_text": NAMED},
    "speculation/stage_state.py": {"stream_of: writer.write_table": MEMORY},
}
"""Of a file: each function that deletes or writes, by what, and why this is ours."""
TWICE = {("afa/spark/operator_image.py", "publish: os.rename")}


def test_each_call_is_reviewed() -> None:
    found, known = Counter(calls()), {(file, call) for file, each in REVIEWED.items() for call in each}
    new = sorted(set(found) - known)
    assert not new, "\n".join(f"{file}: {call}" for file, call in new)
    assert not known - set(found), "what is not there any more"
    twice = {call for call, many in found.items() if many > 1}
    assert twice == TWICE


def test_what_no_job_has_written_stays_in_the_folder_of_an_arc_log(tmp_path: Path) -> None:
    automaton = Automaton(start="a", final={"b"}, event=NamedTuple("Pay", [("who", str)]), arcs=[])
    file = tmp_path / FILE
    for other in ("dear diary", "[]", '{"start": 1}', "1", ""):
        file.write_text(other)
        put_about(tmp_path, automaton, None)
        assert file.read_text() == other
    file.unlink()
    for tick in ("s", "ms"):
        put_about(tmp_path, automaton, tick)
        found = about(tmp_path)
        assert found is not None
        assert found.tick == tick
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_what_would_be_found() -> None:
    for text in (
        *(
            "os.unlink(x)",
            "p.unlink()",
            "shutil.rmtree(x)",
            "p.rename(q)",
            "os.replace(a, b)",
            "path.replace(b)",
            "os.truncate(x, 1)",
        ),
        *("open(x, 'w')", "open(x, mode)", "p.open('ab')", "os.open(x, os.O_RDWR)", "p.write_text(y)", "f.write.mode('overwrite')"),
        *("open(x, mode='r+b')", "os.remove(x)", "subprocess.run(['rm', x])"),
    ):
        assert any(isinstance(node, ast.Call) and _writes(node) for node in ast.walk(ast.parse(text))), text
    for text in ("open(x)", "open(x, 'rb')", "text.replace('a', 'b')", "row.replace(tzinfo=x)", "items.remove(x)", "p.open('rb')"):
        assert not any(isinstance(node, ast.Call) and _writes(node) for node in ast.walk(ast.parse(text))), text
