"""What a state says of its job: another job is refused in words; a digest of code that only Python can run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from afa import Arc, Automaton, SnapshotError
from afa.spark.bucket import Bucket
from afa.spark.job import Job
from afa.spark.recipe import VERSION, digest_of
from punctuation.time import BEGINNING
from tests.spark.buckets import job_of
from tests.spark.test_restarts import Row, Sum


def refused(state: bytes, **changed: Any) -> str:
    """Why a job can't go on from the state of `BASE`."""
    with pytest.raises(SnapshotError) as caught:
        Bucket(made(**changed), 0, [state])
    return str(caught.value)


class Other(NamedTuple):
    n: int
    k: int = 0


def made(**changed: Any) -> Job:
    names = {"start": "a", "final": {"c"}, "register": Sum(), "event": Row, "arcs": [Arc("a", "c", "e.n > 2", name="x")]}
    automaton = Automaton(**{name: changed.pop(name, value) for name, value in names.items()})
    given = {"key": "who", "window": "5 seconds", "order_by": None, "buckets": 4, "on_fault": "report", "key_types": [pa.int64()]}
    return job_of(automaton, **{**given, **changed})


def test_what_the_state_depends_on_is_refused_in_words() -> None:
    bucket = Bucket(made(), 0)
    bucket.run(pa.Table.from_pylist([{"who": 1, "n": 3, "le": 5, "diff": 1}], made().schema), [], BEGINNING)
    state = bucket.save(False)
    end = r"begin anew with another checkpoint, or keep the "
    for changed, message in [
        (
            {"key": "name"},
            "expected the key columns that the checkpoint was made with, ['who int64'], but got ['name int64']: " + end,
        ),
        ({"key_types": [pa.string()]}, "key columns that the checkpoint was made with, ['who int64'], but got ['who string']: "),
        ({"key": ["who", "n2"], "key_types": [pa.int64()] * 2}, "but got ['who int64', 'n2 int64']: "),
        (
            {"order_by": "n"},
            "expected the order of ties (order_by=) that the checkpoint was made with, None, but got 'n': "
            + end
            + "order of ties (order_by=)",
        ),
        ({"lifetimes": True}, "expected the lifetimes (until=) that the checkpoint was made with, False, but got True: "),
        ({"longest": True}, "expected the longest matches (longest=) that the checkpoint was made with, None, but got True: "),
        ({"register": Sum(3)}, "expected the register that the checkpoint was made with, "),
        ({"event": Other}, "expected the event that the checkpoint was made with, "),
        ({"final": {"c", "b"}, "arcs": [Arc("a", "b", "True"), Arc("a", "c", "e.n > 2", name="x")]}, "expected the final that"),
        (
            {"buckets": 8},
            "expected the buckets that the checkpoint was made with, 4, but got buckets=8: keep them, or say where the",
        ),
    ]:
        assert message in refused(state, **changed)
    for changed in ({"window": "7 seconds"}, {"speculation": "1 second"}, {"delay": 9}, {"on_fault": "raise"}, {"late": "raise"}):
        assert Bucket(made(**changed), 0, [state]).numbers(False)["keys"] == 1
        assert made(**changed).digest != made().digest or changed.keys() & {"on_fault", "late"}


def counted(limit: int) -> Callable[..., bool]:
    """A fence that only Python can run."""
    return lambda e, r: sum(i for i in range(e.n)) > limit


def test_a_function_whose_code_has_changed_is_refused() -> None:
    def with_arc(function: Any, name: str = "python") -> dict[str, Any]:
        return {"arcs": [Arc("a", "c", function, name=name), Arc("a", "c", "e.n > 2", name="x")]}

    state = Bucket(made(**with_arc(counted(3))), 0).save(False)
    assert not Bucket(made(**with_arc(counted(3))), 0, [state]).moved
    told = refused(state, **with_arc(counted(4)))
    assert told.startswith(
        "expected the fence of the arc 'python' as the checkpoint was made with but got other code, which only Python"
    )
    assert "begin anew with another checkpoint, or go back to that code" in told
    assert "expected the arc 'python', which only Python can run, in the code but got none: keep it" in refused(state)
    assert "in the code but got none" in refused(state, **with_arc(counted(3), "other"))
    new = {"arcs": [*with_arc(counted(3))["arcs"], Arc("a", "c", counted(9), name="more")]}
    assert "expected a new arc that can be written as text but got 'more', which only Python can run" in refused(state, **new)


def test_of_code_of_another_python_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    arcs = [Arc("a", "c", counted(3), name="python")]
    state = Bucket(made(arcs=arcs), 0).save(False)
    monkeypatch.setattr("afa.spark.recipe.VERSION", VERSION + "9")
    other = Bucket(made(arcs=[Arc("a", "c", counted(4), name="python")]), 0, [state])
    assert other._changed is not None
    assert (other._changed.gone, other._changed.new, other._changed.window) == ([], [], None)


LIMIT, NAMES = 3, frozenset(("ash", "elm", "asp", "oak"))


def helper(x: int) -> int:
    return x + LIMIT


def test_a_digest_sees_all_that_a_function_does() -> None:
    def variants(text: str) -> Callable[..., Any]:
        found: Callable[..., Any] = eval(text, {**globals(), "__name__": __name__})
        return found

    texts = [
        "lambda e: e.x > 3",
        "lambda e: e.x > 4",
        "lambda e: e.x > 3.0",
        "lambda e: e.y > 3",
        "lambda e, k=1: e.x > 3",
        "lambda e, k=2: e.x > 3",
        "lambda e, *, k=2: e.x > 3",
        "lambda e: helper(e.x) > 3",
        "lambda e: max(e.x, 3)",
        "lambda e: min(e.x, 3)",
        "lambda e: e.x in NAMES",
        "lambda e: e.x in {'a', 'b', 'c'}",
        "lambda e: [y for y in e if y > 1]",
        "lambda e: [y for y in e if y > 2]",
        "__import__('functools').partial(helper, 1)",
        "__import__('functools').partial(helper, 2)",
        "max",
        "'abc'.startswith",
    ]
    digests = [digest_of(variants(text)) for text in texts]
    assert len(set(digests)) == len(texts)
    assert digests == [digest_of(variants(text)) for text in texts]
    assert digest_of(counted(3)) == digest_of(counted(3)) != digest_of(counted(4))
    before = digest_of(helper), digest_of(variants("lambda e: helper(e.x)"))
    globals()["LIMIT"] = 4
    try:
        after = digest_of(helper), digest_of(variants("lambda e: helper(e.x)"))
    finally:
        globals()["LIMIT"] = 3
    assert not set(before) & set(after)


def test_a_digest_is_the_same_in_each_process() -> None:
    code = (
        "from tests.spark.test_recipes import *; print(digest_of(lambda e: e.x in NAMES and e.x in {'a', 'b', 'c'} and helper(1)))"
    )
    found = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert found[0] == found[1]


def test_functions_that_many_others_call_are_told_once() -> None:
    """Else their number doubles with each floor of calls."""

    def top(least: int) -> Any:
        code = [f"def f0(e, r): return e.n > {least}"]
        for i in range(1, 40):
            code += [f"def f{i}(e, r): return g{i}(e, r) or f{i - 1}(e, r)", f"def g{i}(e, r): return f{i - 1}(e, r)"]
        names: dict[str, Any] = {"__name__": "m"}
        exec("\n".join(code), names)
        return names["f39"]

    assert digest_of(top(1)) == digest_of(top(1)) != digest_of(top(2))
