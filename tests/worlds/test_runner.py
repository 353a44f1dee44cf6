"""The runner of random worlds: what it counts, reports, shrinks, and keeps in processes of their own; one world of each kind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from tests.worlds import registry
from tests.worlds.__main__ import main
from tests.worlds.apart import Apart
from tests.worlds.kind import RefusedError, Seen, Worlds

LIMIT = 10


def numbered(seed: str, number: int, *, times: int = 1, negative: bool = False) -> list[int]:
    return [number * times] * 4 if not negative else [-number]


def check(world: list[int], engine: str) -> Seen:
    """Their sum stays below a limit; with 7 among them it fails in a way of its own. None is negative."""
    if world and world[0] < 0:
        raise RefusedError("negative")
    if sum(world) >= LIMIT:
        raise AssertionError(f"{sum(world)} on {engine} is too much") from (ValueError() if 7 in world else None)
    return Seen({"numbers": len(world), ("of", len(world)): 1})


def smaller(world: list[int]) -> Iterator[list[int]]:
    for i, n in enumerate(world):
        yield world[:i] + world[i + 1 :]
        yield [*world[:i], n - 1, *world[i + 1 :]]


SUMS = Worlds("sums", numbered, check, smaller)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command line know them."""
    monkeypatch.setitem(registry.MODULES, "sums", f"{__name__}:SUMS")


def test_what_worlds_have_met() -> None:
    assert SUMS.run("1", range(3)) == {"numbers": 24, ("of", 4): 6}
    assert SUMS.run("1", range(1, 3), "compiled", negative=True) == {"declined": 2}


def test_a_world_that_fails_is_shrunk_in_its_way() -> None:
    """With 7 in it it fails otherwise, so that 7 stays; other numbers are made as small as they may be."""
    assert SUMS.shrunk([9, 7, 9], "compiled") == [3, 7]
    assert SUMS.shrunk([9, 8, 9], "compiled") == [8, 8]
    assert SUMS.shrunk([9, 8, 9], "compiled", tries=2) == [8, 9]
    with pytest.raises(AssertionError) as failed:
        SUMS.run("s", range(5), "compiled", times=3)
    assert str(failed.value).split("\n") == [
        "python -m tests.worlds sums --seed s --first 1 --worlds 1 --engine compiled --times 3",
        "10 on compiled is too much",
        "",
        "from tests.worlds.registry import named",
        "",
        "named('sums').check([1, 3, 3, 3], 'compiled')",
        "",
    ]


def test_the_command_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["sums", "--worlds", "3"]) == 0
    assert capsys.readouterr().out == "sums, seed 1, worlds 3, failed 0, numbers 24, of [0, 0, 0, 0, 6], 0 s\n"
    assert main(["sums", "--until", "numbers=30", "--times", "0"]) == 0
    assert "worlds 8, failed 0, numbers 64" in capsys.readouterr().out
    assert main(["sums", "--worlds", "3", "--set", f"{__name__}.LIMIT=5", "--failures", "2", "--engine", "compiled"]) == 1
    assert "worlds 3, failed 1, numbers 8" in capsys.readouterr().out
    assert main(["sums", "--first", "7", "--worlds", "1", "--whole"]) == 1
    assert "AssertionError: 28 on interpreted is too much" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"expected one of stress, .* but got summs"):
        main(["summs"])


def test_one_that_dies_or_hangs_is_told_and_the_next_one_goes_on() -> None:
    def deadly(world: list[int], engine: str) -> Seen:
        if world[0] == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        while world[0] == 2:
            pass
        if world[0] == 3:
            raise OSError("no file")
        return Seen(met=1)

    worlds = Worlds("deadly", numbered, deadly, engines=(None,), apart=Apart(seconds=0.1))
    first, died, hung, wrong, last = worlds.outcomes("1", ((number, None) for number in range(5)))
    assert (first, last) == ({"met": 1}, {"met": 1})
    assert died == "(1, None): crash: its process ended by signal 9"
    assert hung == "(2, None): hang: it took more than 0.1 s"
    assert "OSError: no file" in str(wrong)


DEAR = ("long-lists", "sql-stacked", "sql-whole")
"""A world of these takes seconds; each has a test of its own that runs some by default."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.stress) if name in DEAR else name for name in registry.MODULES if name != "sums"]
)
@pytest.mark.parametrize("worlds", [1, pytest.param(1000, marks=pytest.mark.stress)])
def test_worlds_of_each_kind(name: str, worlds: int, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--worlds", str(worlds)]) == 0
    assert f"{name}, seed 1, worlds {worlds}, failed 0" in capfd.readouterr().out


def test_kinds_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert [registry.named(name).name for name in registry.MODULES] == list(registry.MODULES)
    assert main(["--list"]) == 0
    assert "stress               Random worlds on an operator, against the oracle after every step." in capsys.readouterr().out
