"""A kind of random worlds: how they are made, what must hold in each, and which smaller ones may show the same fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pprint import pformat
from traceback import format_exc
from typing import Any

from tests.worlds.apart import Apart, apart

Seen = Counter[Any]
"""How often runs have met something, by its name."""
ENGINES = ("interpreted", "compiled")
"""The engines."""
IN_TURN = "in turn"
"""In place of an engine: one world on one of them, the next one on the next."""


class RefusedError(Exception):
    """A world can't be made, as the library says by a message."""


class TooManyError(Exception):
    """There is more than brute force can do: a world is given up from here on."""


@dataclass(frozen=True)
class Worlds:
    """A kind of random worlds.

    Examples
    --------
    >>> def check(world, engine):
    ...     if sum(world) > 9:
    ...         raise AssertionError(f"{sum(world)} is too much")
    ...     return {"numbers": len(world)}
    >>> sums = Worlds(
    ...     "sums",
    ...     generate=lambda seed, number: [number] * 4,
    ...     check=check,
    ...     smaller=lambda world: (world[:i] + world[i + 1 :] for i in range(len(world))),
    ...     engines=(None,),
    ... )
    >>> sums.run("1", range(3))
    Counter({'numbers': 12})
    >>> print(sums.report([2, 8, 0, 4], None))
    12 is too much
    <BLANKLINE>
    from tests.worlds.registry import named
    <BLANKLINE>
    named('sums').check([8, 4], None)
    """

    name: str
    generate: Callable[..., Any]
    """The world of ``(seed, number)``; by keyword come its options, which the command line has, too."""
    check: Callable[[Any, Any], Any]
    """What a world has met on an engine, as counts by name.

    It raises an `AssertionError` where something does not hold, a `RefusedError` where the world can't be made.
    """
    smaller: Callable[[Any], Iterable[Any]] = lambda world: ()
    """Worlds with one thing less."""
    words: Callable[[Any], str] = lambda world: pformat(world, width=130, sort_dicts=False)
    """A world as text to paste."""
    engines: tuple[Any, ...] = ENGINES
    """On which each world runs, if no others are asked for."""
    apart: Apart | None = None
    """How worlds are kept from the process that runs them: one may crash, or hang."""

    def run(
        self, seed: str, numbers: Iterable[int], *engines: Any, more_than: Mapping[str, int] | None = None, **options: Any
    ) -> Seen:
        """Run worlds, and return what they have met; an `AssertionError` tells the first that fails, with a small one like it.

        ``more_than``: what they must meet, and more often than so many times.
        """
        seen = Seen()
        pairs = ((number, in_turn(number, engine)) for number in numbers for engine in engines or self.engines)
        for found in self.outcomes(seed, pairs, **options):
            assert isinstance(found, Counter), found
            seen.update(found)
        for name, n in (more_than or {}).items():
            assert seen[name] > n, f"expected more than {n} of {name!r} but got {seen}"
        return seen

    def outcome(self, seed: str, number: int, engine: Any, *, whole: bool = False, **options: Any) -> Seen | str:
        """What a world has met, or a report of how it fails; ``whole``: where, and it is not made smaller."""
        world = self.generate(seed, number, **options)
        try:
            return Seen(self.check(world, engine))
        except RefusedError:
            return Seen(declined=1)
        except Exception as error:
            again = told({"seed": seed, "first": number, "worlds": 1, "engine": engine, **options})
            small = isinstance(error, AssertionError) and not whole
            return f"python -m tests.worlds {self.name} {again}\n{self.report(world, engine) if small else format_exc()}\n"

    def outcomes(self, seed: str, pairs: Iterable[tuple[int, Any]], **options: Any) -> Iterator[Seen | str]:
        """The same of one after another, each a number and an engine; apart where it must be."""
        if self.apart is None:
            return (self.outcome(seed, *pair, **options) for pair in pairs)
        return apart(self.apart, lambda pair: self.outcome(seed, *pair, **options), pairs)

    def failure(self, world: Any, engine: Any) -> AssertionError | None:
        """Why a world fails; None if it does not, or can't be made."""
        try:
            self.check(world, engine)
        except AssertionError as error:
            return error
        except Exception:  # what was left out is needed to make it
            return None
        return None

    def shrunk(self, world: Any, engine: Any, tries: int = 3000) -> Any:
        """The least world found that fails in the same way, by leaving out one thing after another."""
        kind, candidates = kind_of(self.failure(world, engine)), iter(self.smaller(world))
        while tries and (candidate := next(candidates, None)) is not None:
            tries -= 1
            if kind_of(self.failure(candidate, engine)) == kind:
                world, candidates = candidate, iter(self.smaller(candidate))
        return world

    def report(self, world: Any, engine: Any) -> str:
        """The least world found that fails as a world does, with why it fails, as text to paste."""
        small = self.shrunk(world, engine)
        paste = f"from tests.worlds.registry import named\n\nnamed({self.name!r}).check({self.words(small)}, {engine!r})"
        return f"{self.failure(small, engine)}\n\n{paste}"


def in_turn(number: int, engine: Any) -> Any:
    """Return the engine that runs a world by its number, where engines take turns: also of every second or fourth world."""
    return ENGINES[(number + number // 4) % 2] if engine == IN_TURN else engine


def kind_of(failure: AssertionError | None) -> type | None:
    """What was raised first where a world fails."""
    return None if failure is None else type(failure.__cause__ or failure)


def told(options: dict[str, Any]) -> str:
    """Options as the command line has them."""
    given = {
        f"--{name.replace('_', '-')}": value for name, value in options.items() if value not in (None, "") and value is not False
    }
    return " ".join(name if value is True else f"{name} {value}" for name, value in given.items())
