"""A job with a state is killed anywhere: neither more nor less is told than by one that was left alone."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forks import Forks
from tests.lanes import sample
from tests.restarts import OPTIONS, RISE, Job, kills, trades, write, written

EVERY = (*OPTIONS, "--batch", "500", "--state-every", "500")


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    folder = tmp_path_factory.mktemp("warm")
    (folder / "rise.sase").write_text(RISE)
    here = os.getcwd()
    os.chdir(folder)
    found = Forks()
    for name, out in (("in.csv", "o.csv"), ("in.jsonl", "o.jsonl"), ("in.parquet", "o")):
        found.run("run", "rise.sase", write(trades(3000), name), *EVERY, "--state", f"s{out}", "--output", out, here=True)
    os.chdir(here)
    yield found
    found.close()


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


FORMS = [("in.jsonl", "out.jsonl"), ("in.csv", "out.csv"), ("in.parquet", "out")]


@sample(2, 30)
@pytest.mark.parametrize(("file", "output"), FORMS)
def test_killed_at_random_instants(forks: Forks, file: str, output: str, numbers: range) -> None:
    job = Job(forks, write(trades(8_000), file), output, *EVERY)
    killed = 0
    for seed in numbers:
        job.begin_anew()
        killed += sum(ended.status == -signal.SIGKILL for ended in kills(job, seed))
        assert written(output) == job.left_alone, seed
        assert os.listdir("state") == ["state"]
    assert killed


@sample(7, 500)
@pytest.mark.parametrize(("file", "output"), FORMS)
@pytest.mark.parametrize("what", ["die", "half"])
def test_stopped_after_each_call_of_the_system(forks: Forks, file: str, output: str, what: str, numbers: range) -> None:
    job = Job(forks, write(trades(1_200), file), output, *EVERY)
    assert 30 < job.calls < 500
    places = sorted({1 + n * job.calls // len(numbers) for n in numbers})
    for at in places:
        job.begin_anew()
        assert job.run(at=at, what=what).status == -signal.SIGKILL, at
        job.goes_on()


@sample(7, 500)
@pytest.mark.parametrize(("file", "output"), FORMS)
def test_a_full_disk_ends_the_run_with_the_state_of_before(forks: Forks, file: str, output: str, numbers: range) -> None:
    job = Job(forks, write(trades(1_200), file), output, *EVERY)
    for at in sorted({1 + n * job.calls // len(numbers) for n in numbers}):
        job.begin_anew()
        ended = job.run(at=at, what="ENOSPC")
        told = ended.told.startswith("afa: can't ") and ended.told.endswith(": No space left on device\n")
        assert ended.status == 0 or (ended.status == 1 and told), (at, ended)  # 0: the call was a close, or its error does no harm
        assert job.is_as_committed(), (at, ended)
        job.goes_on()
