"""Each option of each door: what it does not take it refuses, in words."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import afa
from afa import AfaError, Keyed, Operator
from afa.situations import Derive
from afa.uncertain import Sequence, Worlds
from tests.contract.operators import LOW, PAIR, QUERY, SEQUENCE, SINGLE, E, pattern

ODD = (
    True,
    False,
    None,
    0,
    1,
    -1,
    1.5,
    2**70,
    float("nan"),
    "",
    "x",
    "e-",
    b"x",
    [],
    ["kind", "kind"],
    [1],
    {},
    {"x": 1},
    object(),
    int,
)
"""Values of which an option takes hardly any."""
FRAME = {"kind": ["a", "b"], "n": [1, 2], "le": [1, 2]}


class Door(NamedTuple):
    """A callable, what it is called with beside the option, and where it hands options on that are not in its signature."""

    call: Callable[..., Any]
    given: tuple[Any, ...]
    named: dict[str, Any] = {}  # noqa: RUF012
    like: Callable[..., Any] | None = None


DOORS = {
    "Operator": Door(Operator, (PAIR,)),
    "Keyed": Door(Keyed, (SINGLE,), {"key": "kind"}),
    "Query.operator": Door(QUERY.operator, (), {}, Operator),
    "TemporalPattern.operator": Door(pattern().operator, (), {}, Operator),
    "Derive": Door(Derive, (E,), LOW),
    "Worlds": Door(Worlds, (PAIR,)),
    "Sequence": Door(Sequence, (["a", "b"],), SEQUENCE),
    "find": Door(afa.find, (PAIR, FRAME), {"time": "le"}),
    "backtest": Door(afa.backtest, ({"x": PAIR}, FRAME), {"time": "le"}),
}


def options() -> list[tuple[str, str, str]]:
    """Each door, each of its options, and what it is annotated with."""
    found = []
    for name, door in DOORS.items():
        here = list(inspect.signature(door.call).parameters.values())[len(door.given) :]
        more = [] if door.like is None else list(inspect.signature(door.like).parameters.values())
        for parameter in {each.name: each for each in [*more, *here]}.values():
            many = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
            if not many and (parameter.kind == parameter.KEYWORD_ONLY or parameter in here):
                found.append((name, parameter.name, str(parameter.annotation)))
    return found


@pytest.mark.parametrize(("name", "option", "takes"), options())
def test_an_option_is_taken_or_refused_in_words(name: str, option: str, takes: str) -> None:
    door, taken = DOORS[name], []
    for value in ODD:
        try:
            door.call(*door.given, **{**door.named, option: value})
            taken.append(value)
        except AfaError:
            pass
    if takes == "bool":
        assert [value for value in taken if type(value) is not bool] == []
    elif "bool" not in takes:
        assert [value for value in taken if type(value) is bool] == []
