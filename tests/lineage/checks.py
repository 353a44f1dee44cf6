"""What a lineage says, held against the paths that it should say: paths, their order, count, events, aggregates, the table."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from afa import Change
from afa.compiled import compiled_engine
from afa.lineage import Lineage
from tests.lineage.aggregated import check_aggregates
from tests.lineage.brute_force import Path
from tests.oracle import Event, one_nan


def check_lineage(
    found: Lineage, expected: Collection[Path], key: Any = None, sequence: str | None = None, table: bool = True
) -> None:
    """Assert that a lineage has these paths, each once, in the promised order, and that all else that it tells fits them."""
    told = list(found.paths())
    paths = [plain(path, key) for path in told]
    assert len(set(paths)) == len(paths), f"a path twice: {paths}"
    assert set(paths) == set(expected), f"missing {set(expected) - set(paths)}, too much {set(paths) - set(expected)}"
    order = [backward(path, sequence) for path in paths]
    assert order == sorted(order), f"order: {paths}"
    assert found.count() == len(paths), f"count {found.count()} of {len(paths)}"
    events: dict[str, set[Event]] = {}
    for path in paths:
        for component, event in path:
            events.setdefault(component, set()).add(event)
    tells = {component: [plain_event(change, key) for change in changes] for component, changes in found.events().items()}
    assert all(len(set(each)) == len(each) for each in tells.values()), f"an event twice: {tells}"
    assert {component: set(each) for component, each in tells.items()} == events, f"events {tells}, in paths {events}"
    for each in tells.values():
        places = [(event.le, 0 if sequence is None else getattr(event.payload, sequence)) for event in each]
        assert places == sorted(places), f"order of events: {tells}"
    check_aggregates(found, paths)
    if table:
        walked = list(walks(found.table()))
        fields = [tuple((component, tuple(event.payload), event.le, event.re) for component, event in path) for path in paths]
        assert sorted(walked, key=repr) == sorted(fields, key=repr), f"the table has {walked}, expected {fields}"


@contextmanager
def plainly() -> Iterator[None]:
    """Let lineages be derived from steps, not from what kernels find."""
    found = compiled_engine.match_paths
    compiled_engine.match_paths = lambda store, code, sought: None
    try:
        yield
    finally:
        compiled_engine.match_paths = found


def either_way(number: int) -> Any:
    """Every second time `plainly`."""
    return plainly() if number % 2 else nullcontext()


def refusal(lineage: Any, match: Change, error: type[Exception]) -> str:
    """Why a lineage is refused, as it must be."""
    try:
        lineage(match)
    except error as refused:
        return str(refused)
    raise AssertionError(f"{match} should be refused")


def plain(path: Any, key: Any) -> Path:
    """A path as brute force has it."""
    return tuple((component, plain_event(change, key)) for component, change in path)


def plain_event(change: Change, key: Any) -> Event:
    """An event as brute force has it."""
    assert change.diff == 1
    assert change.key == key
    return Event(one_nan(change.payload), change.le, change.re)  # type: ignore[arg-type]


def backward(path: Path, sequence: str | None) -> list[Any]:
    """What paths are ordered by: from the last event back, later ones first; what goes on before what begins there."""
    return [
        *(
            (0, -event.le, 0 if sequence is None else -getattr(event.payload, sequence), component, event.re, fields(event.payload))
            for component, event in reversed(path)
        ),
        (1,),
    ]


def fields(payload: Any) -> list[Any]:
    """The fields of a payload, as they are ordered: None last."""
    values = payload if isinstance(payload, tuple) else (payload,)
    return [(value is None, 0 if value is None else value) for value in values]


def walks(table: Any) -> Iterator[tuple[Any, ...]]:
    """All walks through the table of a lineage, as paths."""
    rows = table.to_pylist()
    by_node: dict[int, list[Any]] = {}
    for row in rows:
        by_node.setdefault(row["node"], []).append(row)

    def walk(node: int | None, tail: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        if node is None:
            yield tail
            return
        for row in by_node[node]:
            picks = () if row["component"] is None else ((row["component"], tuple(row["event"].values()), row["le"], row["re"]),)
            yield from walk(row["before"], (*picks, *tail))

    yield from walk(rows[0]["node"] if rows else None, ())
