"""`afa arcs`, and `afa run --arcs`: lines checked before they are written, and a job that follows them while its input goes on."""

from __future__ import annotations

import errno
import io
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from afa import AfaError
from afa.cli import follow
from afa.cli.main import app
from afa.cli.pattern_run import given_pattern
from afa.io.file_bytes import Stdin, blocks_of
from tests.cli import call, fails, process, write
from tests.cli import there as there  # the fixture of all tests here

PAY = """
from typing import NamedTuple
import afa
from afa import Arc, Automaton

class Pay(NamedTuple):
    who: str
    amount: int

class Paid(NamedTuple):
    total: int = 0

large = Automaton(start="a", final={"b"}, register=Paid(), event=Pay, arcs=[
    Arc("a", "b", "amount > 500", "(r.total + e.amount,)", name="above 500"),
    Arc("a", "a", "amount < 10", name="small"),
    Arc.timeout("a", "b", "r.total + 99", name="in vain"),
])
empty = Automaton(start="a", final={"b"}, register=Paid(), event=Pay, arcs=[])
rising = afa.query("PATTERN SEQ(Pay a, Pay b) WHERE strict_contiguity(a, b) { b.amount > a.amount } WITHIN 9", event=Pay)
"""
LARGE = ("--pattern", "pay.py:large")
ROWS = [{"who": "x", "amount": amount, "le": le} for amount, le in ((400, 1), (600, 2), (400, 3), (600, 4))]


@pytest.fixture(autouse=True)
def pay(there: Path) -> None:
    (there / "pay.py").write_text(PAY)
    (there / "pay.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    (there / "rules").mkdir()


def files() -> list[str]:
    return sorted(name for name in os.listdir("rules") if not name.startswith("."))


def lines() -> list[dict[str, Any]]:
    return [json.loads(Path("rules", name).read_text()) for name in files()]


def listed(*options: str) -> list[list[str]]:
    """The rows of the table, their cells told apart by two spaces."""
    found = call("arcs", "rules", "list", *options).stdout.splitlines()
    return [[cell.strip() for cell in row.split("  ") if cell.strip()] for row in found]


def followed(*options: str) -> list[str]:
    return call("run", "pay.py:large", "pay.jsonl", "--window", "10", "--arcs", "rules", *options).stdout.splitlines()


def test_a_swap_is_listed_and_followed() -> None:
    result = call("arcs", "rules", "swap", "above 500", "--fence", "amount > 300", *LARGE)
    assert result.stdout == "swapped 'above 500' from when the job reads it on\n"
    assert [(line["op"], line["name"], line["at"]) for line in lines()] == [("swap", "above 500", "now")]
    assert listed(*LARGE) == [
        ["name", "from", "until", "arc", "fence", "transfer"],
        ["above 500", "when it is read", "forever", "a -> b", "e.amount > 300", "(r.total + e.amount,)"],
        ["in vain", "the beginning", "forever", "a -> b (time-out)", "at r.total + 99"],
        ["small", "the beginning", "forever", "a -> a", "amount < 10"],
    ]
    assert followed() == [f"+ [{le}, {le + 10}) total={total}" for total, le in ((400, 1), (600, 2), (400, 3), (600, 4))]


def test_what_a_job_took_and_refused_is_listed_so() -> None:
    call("arcs", "rules", "swap", "above 500", "--fence", "amount > 300", *LARGE)
    call("arcs", "rules", "swap", "small", "--fence", "amount < 5", "--at", "7", *LARGE)
    assert [row[1] for row in listed(*LARGE)[1:]] == ["when it is read", "the beginning", "the beginning", "7"]
    Path("rules/z.json").write_text('{"op": "retract", "arc": {"name": "smal"}, "at": 1}\n')
    assert len(followed("--lateness", "0", "--batch", "1")) == 4
    assert [row[:3] for row in listed(*LARGE)[1:]] == [
        ["above 500", "the beginning", "forever"],
        ["in vain", "the beginning", "forever"],
        ["small", "the beginning", "7"],
        ["small", "7", "forever"],
    ]
    assert call("arcs", "rules", "list", *LARGE).stderr.splitlines() == [
        "afa: rules: expected an arc in force but got 'smal'; in force: above 500, in vain, small (z.json, line 1)",
        "afa: rules: no job runs that follows it; so it was for the last one, afa run pay.py:large pay.jsonl",
    ]


def test_a_job_says_what_its_arcs_are() -> None:
    swap = ("arcs", "rules", "swap", "above 500", "--fence")
    assert fails(*swap, "amount > 300") == (
        "expected --pattern file.py:name, as no `afa run --arcs rules` has said yet what its arcs are"
    )
    assert followed() == ["+ [2, 12) total=600", "+ [4, 14) total=600"]
    assert files() == []
    assert fails(*swap, "amout > 300").startswith(
        "expected fence(e, r) as text but amout is no field of Pay; its fields: who, amount"
    )
    assert "did you mean 'above 500'?" in fails("arcs", "rules", "end", "above 50")
    call(*swap, "amount > 300")
    assert [row[:3] for row in listed()[1:]] == [
        ["above 500", "the beginning", "when it is read"], ["above 500", "when it is read", "forever"],
        ["in vain", "the beginning", "forever"], ["small", "the beginning", "forever"],
    ]  # fmt: skip
    assert len(followed()) == 4


def test_a_query_in_a_file_says_so_too_and_its_tick() -> None:
    write(
        "q.sase",
        "PATTERN SEQ(Pay a, Pay b) WHERE strict_contiguity(a, b) { b.amount > a.amount } WITHIN 9 ms RETURN b.amount AS paid",
    )
    times = "".join(
        f'{{"amount": {amount}, "time": "2026-01-01T00:00:00.00{le}"}}\n' for amount, le in ((1, 1), (5, 2), (3, 3), (9, 4))
    )
    write("times.jsonl", times)
    job = ("run", "q.sase", "times.jsonl", "--time", "time", "--arcs", "rules", "-q")
    assert len(call(*job).stdout.splitlines()) == 2
    (last,) = [row[0] for row in listed()[1:] if ">" in row[4]]
    call("arcs", "rules", "end", last, "--at", "2026-01-01T00:00:00.003")
    assert len(call(*job).stdout.splitlines()) < 2
    call("arcs", "rules", "end", listed()[1][0], "--at", "1767225600004")
    assert lines()[-1]["tick"] == "ms"


def test_arcs_that_are_code_are_known_by_their_names() -> None:
    Path("pay.py").write_text(PAY + """
def odd(e, r):
    return any(e.amount == n for n in (1, 3))

arcs = [Arc("a", "b", odd, name="odd"), Arc("a", "a", "amount > 3", name="more")]
coded = Automaton(start="a", final={"b"}, event=Pay, arcs=arcs)
""")  # fmt: skip
    call("run", "pay.py:coded", "pay.jsonl", "--arcs", "rules", "-q")
    assert fails("arcs", "rules", "swap", "odd", "--fence", "True") == (
        "expected --pattern for the arc 'odd', as it is known by its name only: its functions are Python's"
    )
    call("arcs", "rules", "swap", "odd", "--fence", "amount > 500", "--pattern", "pay.py:coded")
    assert [row[0] for row in listed()[1:]] == ["more", "odd"]
    assert len(call("run", "pay.py:coded", "pay.jsonl", "--arcs", "rules", "-q", "--window", "1").stdout.splitlines()) == 2


SAID: dict[str, Any] = {
    "start": "a", "final": ["b"], "event": ["E", [["x", "int", False, False]]], "register": ["R", []], "arcs": [], "code": [],
    "tick": None,
}  # fmt: skip
ODD = [
    {"event": ["E", [["x", "eval", False, False]]]}, {"event": ["E", [["_x", "int", False, False]]]}, {"event": ["E", [["x"]]]},
    {"event": ["E", [[f"x{i}", "int", False, False] for i in range(1_001)]]},
    {"tick": "moon"}, {"arcs": [{"src": "a"}]}, {"arcs": 7}, {"final": []}, {"register": ["R", [["x", "int", False, True], 1]]},
]  # fmt: skip


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"start": 1}', "[" * 100_000, *(json.dumps({**SAID, **odd}) for odd in ODD)])
def test_what_a_job_says_of_itself_is_checked(text: str) -> None:
    Path("rules/.about.json").write_text(text)
    assert fails("arcs", "rules", "list").startswith("expected what a job says of itself but got ")
    Path("rules/.about.json").write_text(json.dumps(SAID))
    call("arcs", "rules", "list")
    Path("rules/.about.json").write_bytes(b" " * 10_000_001)
    assert fails("arcs", "rules", "list").startswith("expected at most 10000000 bytes but got more in rules/.about.json")


@pytest.mark.parametrize("at", ["9" * 5000, "\N{SUPERSCRIPT TWO}", "9" * 20, "--5"])
def test_numbers_that_are_no_time(at: str) -> None:
    assert fails("arcs", "rules", "swap", "above 500", "--transfer", "(7,)", f"--at={at}", *LARGE).startswith("expected an in")


def test_times_in_lines() -> None:
    call("arcs", "rules", "swap", "above 500", "--transfer", "(7,)", "--at", "3", *LARGE)
    assert followed() == ["+ [2, 12) total=600", "+ [4, 14) total=7"]
    assert call("arcs", "rules", "end", "above 500", "--at", "4", *LARGE).stdout == "ended 'above 500' from 4 on\n"
    assert followed() == ["+ [2, 12) total=600"]
    arc = '{"src": "a", "dst": "b", "fence": "amount > 300", "name": "x"}'
    call("arcs", "rules", "insert", arc, "--at", "1", "--until", "3", *LARGE)
    assert followed() == ["+ [1, 11) total=0", "+ [2, 12) total=0", "+ [2, 12) total=600"]
    assert [(line["at"], line.get("until"), line.get("tick")) for line in lines()] == [
        (3, None, None),
        (4, None, None),
        (1, 3, None),
    ]


def test_times_as_times_and_units() -> None:
    write(
        "days.jsonl",
        '{"who": "x", "amount": 400, "le": "2026-01-01T00:00:00"}\n{"who": "x", "amount": 400, "le": "2026-01-02T00:00:00"}\n',
    )
    call("arcs", "rules", "swap", "above 500", "--fence", "amount > 1", "--at", "2026-01-02", *LARGE)
    days = ("run", "pay.py:large", "days.jsonl", "--window", "1000", "--arcs", "rules", "--tick", "s")
    assert len(call(*days).stdout.splitlines()) == 1
    call("arcs", "rules", "end", "above 500", "--at", str(1767312000_000), "--tick", "ms", *LARGE)
    assert lines()[-1]["tick"] == "ms"
    assert call(*days).stdout == ""
    assert listed("--tick", "ms", *LARGE)[1][:3] == ["above 500", "the beginning", "2026-01-02T00:00:00"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("swap", "abov 500", "--fence", "True", *LARGE), "got 'abov 500'; did you mean 'above 500'?; there are: "),
        (("end", "smal", *LARGE), "expected the name of an arc but got 'smal'; did you mean 'small'?"),
        (("swap", "above 500", "--fence", "amout > 3", *LARGE), "no field of Pay; its fields: who, amount; did you mean 'amount'?"),
        (("swap", "above 500", "--fence", "amount >", *LARGE), "in arc 'above 500': a -> b"),
        (("swap", "above 500", "--fence", "r.totl > 3", *LARGE), "totl"),
        (("swap", "above 500", *LARGE), "expected --fence, --transfer or both, or --arc, but got none of them"),
        (("swap", "above 500", "--fence", "True", "--arc", "{}", *LARGE), "or --arc, but got both"),
        (("swap", "above 500", "--arc", "{", *LARGE), "expected the JSON of an arc but got '{'"),
        (("swap", "in vain", "--fence", "True", *LARGE), "expected no fence for arc 'in vain': a -> b (timeout)"),
        (("swap", "above 500", "--fence", "True", "--at", "soon", *LARGE), "or ISO 8601) but got at='soon'"),
        (("swap", "above 500", "--fence", "True", "--tick", "moon", *LARGE), "expected one of s, ms, us, ns but got --tick moon"),
        (("end", "above 500", "--at", "3", "--pattern", "q.sase"), "expected --pattern file.py:name but got q.sase"),
        (("end", "above 500", "--pattern", "pay.py:larg"), "pay.py has no 'larg'; its patterns: empty, large, rising"),
        (("insert", '{"src": "a", "dst": "b", "fence": "True"}', *LARGE), "expected an arc with a name"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_not_written(arguments: tuple[str, ...], text: str) -> None:
    assert text in fails("arcs", "rules", *arguments)
    assert files() == []


def test_what_has_ended_is_not_swapped() -> None:
    call("arcs", "rules", "end", "small", "--at", "5", *LARGE)
    swap = ("arcs", "rules", "swap", "small", "--fence", "amount < 5")
    assert fails(*swap, *LARGE).startswith(
        "expected one arc named 'small' from now on but got none; the last: arc 'small': a -> a in [the"
    )
    call(*swap, "--at", "2", *LARGE)
    assert "in [1970-01-01T00:00:00.002, 1970-01-01T00:00:00.005)" in fails(*swap, "--at", "1", "--tick", "ms", *LARGE)
    assert "from 1 on but got arc 'small': a -> a in [the beginning, 2), arc 'small': a -> a in [2, 5)" in fails(
        *swap, "--at", "1", *LARGE
    )


def test_folders_that_are_not_there(there: Path) -> None:
    assert fails("arcs", "rule", "list") == "rule: no such folder"
    result = call("arcs", "rule", "end", "small", *LARGE)
    assert result.stderr == "afa: rule: an empty arc log was made there\n"
    result = call("run", "pay.py:large", "pay.jsonl", "--arcs", "another", "-q")
    assert result.stderr == "afa: another: an empty arc log was made there\n"
    write("file", "")
    assert fails("run", "pay.py:large", "pay.jsonl", "--arcs", "file", "-q").endswith("file can't be one: File exists")


def test_a_folder_that_nobody_may_look_into_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any) -> None:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(follow, "put_about", refuse)
    assert fails("run", "pay.py:large", "pay.jsonl", "--arcs", "rules", "-q") == "rules: Permission denied"
    with pytest.raises(AfaError, match=r"^rules: Permission denied$"):
        follow.make_log("rules", given_pattern("pay.py:large"), None)


def test_faults_of_lines_are_told_and_the_job_goes_on() -> None:
    Path("rules/x").write_text('{"op": "retract", "arc": {"name": "above"}, "at": 1}\n{}\n{"op": "ins')
    result = call("run", "pay.py:large", "pay.jsonl", "--window", "10", "--arcs", "rules", "-q", "--batch", "2", "--lateness", "0")
    assert result.stdout.splitlines() == ["+ [2, 12) total=600", "+ [4, 14) total=600"]
    told = result.stderr.splitlines()
    assert told[0].startswith('afa: rules: expected {"op": "insert" or "retract" or "swap"')
    assert told[0].endswith("(x, line 2)")
    assert told[1:] == [
        "afa: rules: expected an arc in force but got 'above'; in force: above 500, in vain, small (x, line 1)",
        'afa: rules: x, line 3: {"op": "ins: expected a whole line but got one that no newline ends',
    ]
    assert [row for row in call("arcs", "rules", "list").stderr.splitlines() if "line 3" in row] == [
        "afa: rules: expected a whole line but got one that no newline ends yet (x, line 3)"
    ]


def test_a_pattern_without_arcs_waits_for_them() -> None:
    arc = '{"src": "a", "dst": "b", "fence": "amount > 500", "name": "x"}'
    assert fails("run", "pay.py:empty", "pay.jsonl").startswith("pay.py:empty: expected a start state that an arc leaves")
    call("arcs", "rules", "insert", arc, "--pattern", "pay.py:empty")
    result = call("run", "pay.py:empty", "pay.jsonl", "--window", "3", "--arcs", "rules")
    assert result.stdout.splitlines() == ["+ [2, 5) total=0", "+ [4, 7) total=0"]


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_job_that_reads_standard_input_takes_swaps_between_its_rows(form: str) -> None:
    """A row comes out when the input pauses, and a swap from another process holds for the rows after it."""

    def row(amount: int, le: int) -> str:
        return f"x,{amount},{le}\n" if form == "csv" else json.dumps({"who": "x", "amount": amount, "le": le}) + "\n"

    arguments = ("run", "pay.py:large", "-", "--format", form, "--window", "10", "--arcs", "rules", "-q")
    with process(*arguments, stdin=-1) as job:
        assert job.stdin is not None
        assert job.stdout is not None

        def say(*rows: str) -> None:
            job.stdin.write("".join(rows))
            job.stdin.flush()

        say("who,amount,le\n" if form == "csv" else "", row(400, 1), row(600, 2))
        assert job.stdout.readline() == "+ [2, 12) total=600\n"
        with process("arcs", "rules", "swap", "above 500", "--fence", "amount > 300", *LARGE) as other:
            other.communicate()
        assert other.returncode == 0
        say(row(400, 3), row(600, 4))
        assert [job.stdout.readline() for _ in range(2)] == ["+ [3, 13) total=400\n", "+ [4, 14) total=600\n"]
        call("arcs", "rules", "swap", "above 500", "--fence", "amount > 500", "--at", "3", *LARGE)
        assert job.stdout.readline() == "- [3, 13) total=400\n", "without another row"
        out, _ = job.communicate()
    assert (job.returncode, out) == (0, "")


def test_a_stream_that_pauses_is_cut_where_rows_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("afa.io.file_bytes.AGE", 0.05)
    reader, writer = os.pipe()
    with open(reader, "rb") as raw:
        stdin = Stdin(raw)
        os.write(writer, b"a,b\n1")
        found = stdin.chunks()
        os.write(writer, b'2,"x\n')
        assert next(found) == b'a,b\n12,"x\n'
        assert next(found) is None
        os.write(writer, b'y"\n')
        time.sleep(0.01)
        assert next(found) == b'y"\n'
        os.close(writer)
        assert list(found) == []
        assert list(stdin.chunks()) == [b""]


def test_rows_that_come_slowly_are_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the pieces, without a newline at the end; and a fault says its row."""
    text = b'who,amount,le\n"x,y",600,1\n' + b"".join(b"x,%d,%d\n" % (600 + i, i) for i in range(2, 40)) + b'"z ",700,50'
    for size in (1, 7, 64):
        pieces = [text[i : i + size] for i in range(0, len(text), size)]
        monkeypatch.setattr("afa.io.file_bytes.HEAD", 30)
        monkeypatch.setattr("afa.io.file_bytes.BLOCK", 40)
        monkeypatch.setattr(Stdin, "_more", more(pieces))
        arguments = ["run", "pay.py:large", "-", "--format", "csv", "--window", "10", "--matches", "-1", "--key", "who", "-q"]
        result = CliRunner().invoke(app, arguments, prog_name="afa")
        assert result.exit_code == 0, result.output
        assert result.stdout.count("+ [") == 40
        assert result.stdout.splitlines()[-1] == "+ [50, 60) who='z ' total=700"
    monkeypatch.setattr(Stdin, "_more", more([b"who,amount,le\n", b"x,1,1\nx,2,2\n", b"x,oops,3\n"]))
    result = CliRunner().invoke(app, ["run", "pay.py:large", "-", "--format", "csv"], prog_name="afa")
    assert result.stderr == "afa: -: row 4, column 'amount': expected int (field amount of Pay) but got 'oops'\n"


def more(pieces: list[bytes]) -> Any:
    """What standard input brings, with a pause after each piece."""
    coming: list[bytes | None] = [each for piece in pieces for each in (piece, None)]

    def next_piece(self: Stdin, most: int, wait: float) -> bytes | None:
        found = coming.pop(0) if coming else b""
        self._ended = found == b""
        return found

    return next_piece


class Chunks(Stdin):
    """A stream that brings these chunks."""

    def __init__(self, *coming: bytes | None) -> None:
        super().__init__(io.BytesIO())
        self._coming = coming

    def chunks(self) -> Iterator[bytes | None]:
        return iter(self._coming)


def test_blocks_of_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(blocks_of(Chunks(b"a\nb", None, b"c\n", b"d"))) == [b"a\n", None, b"bc\nd"]
    assert list(blocks_of(Chunks(b""))) == []
    assert list(blocks_of(Chunks(b"x"))) == [b"x"]
    monkeypatch.setattr("afa.io.file_bytes.BLOCK", 2)
    assert list(blocks_of(Chunks(b"a\nb", b"c", b"c\n", b"d"))) == [b"a\n", b"bcc\n", b"d"]
    monkeypatch.setattr(Chunks, "longest", 2)
    with pytest.raises(AfaError, match="-: expected rows of at most 0 MB but got a longer one"):
        list(blocks_of(Chunks(b"a\nb", b"cc")))
