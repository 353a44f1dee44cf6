"""The command line of all random worlds: ``python -m tests.worlds NAME --worlds 10000 --seed 1``; ``--list`` names the kinds."""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
from ast import literal_eval
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from inspect import Parameter, signature
from itertools import count, cycle
from typing import Any
from unittest import mock

from tests.worlds.kind import Seen, Worlds
from tests.worlds.registry import MODULES, about, named

OFTEN = 2000
"""After so many runs it is said how far they are."""


def main(arguments: list[str] | None = None) -> int:
    """Run worlds; 1 if any failed."""
    name, *rest = arguments or sys.argv[1:] or ["--list"]
    if name in ("--list", "-h", "--help"):
        print(__doc__, *(f"{name:20} {about(name).splitlines()[0]}" for name in MODULES), sep="\n")
        return 0
    worlds = named(name)
    asked = vars(_parser(name, worlds).parse_args(rest))
    own = {name: asked[name] for name in _own(worlds)}
    with ExitStack() as settings:
        for place, value in asked["set"]:
            settings.enter_context(mock.patch(place, value))
        return _run(worlds, asked, own)


def _parser(name: str, worlds: Worlds) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        f"python -m tests.worlds {name}",
        description=about(name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="number of the first world; with --worlds 1: just that one")
    parser.add_argument("--engine", action="append", help="in place of all: any that check() of these worlds takes")
    parser.add_argument("--failures", type=int, default=1, help="stop after so many")
    parser.add_argument("--whole", action="store_true", help="a world that fails is not made smaller")
    parser.add_argument("--until", metavar="NAME=N", type=_setting, help="go on until each engine has met so many of it")
    parser.add_argument("--set", metavar="MODULE.NAME=VALUE", type=_setting, action="append", default=[], help="a constant's value")
    for option, default in _own(worlds).items():
        flag: dict[str, Any] = {"action": "store_true"} if default is False else {"type": type(default), "default": default}
        parser.add_argument(f"--{option.replace('_', '-')}", help=f"of these worlds alone: {default!r}", **flag)
    return parser


def _own(worlds: Worlds) -> dict[str, Any]:
    """The options that these worlds have, with their defaults: what `generate` takes by keyword."""
    given = signature(worlds.generate).parameters.values()
    return {each.name: each.default for each in given if each.kind == Parameter.KEYWORD_ONLY}


def _setting(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    return name, literal_eval(value)


def _run(worlds: Worlds, asked: dict[str, Any], own: dict[str, Any]) -> int:
    first, n, (what, wanted) = asked["first"], asked["worlds"], asked["until"] or ("", 0)
    numbers: Iterable[int] = count(first) if what else range(first, first + n)
    engines = asked["engine"] or list(worlds.engines)
    met, failed, done, begin = {engine: Seen() for engine in engines}, 0, 0, time.perf_counter()
    pairs = ((number, engine) for number in numbers for engine in engines)
    for engine, found in zip(cycle(engines), worlds.outcomes(asked["seed"], pairs, whole=asked["whole"], **own)):
        done += 1
        if isinstance(found, Counter):
            met[engine].update(found)
        else:
            failed += 1
            print(*(f"with --set {place}={value!r}:" for place, value in asked["set"]), found, flush=True)
        if failed >= asked["failures"] or (what and all(seen[what] >= wanted for seen in met.values())):
            break
        if done % OFTEN == 0:
            print(f"{done // len(engines)} worlds, {_words(met)}", flush=True)
    runs, took = -(-done // len(engines)), time.perf_counter() - begin
    print(f"{worlds.name}, seed {asked['seed']}, worlds {runs}, failed {failed}, {_words(met)}, {took:.0f} s")
    return int(failed > 0)


def _words(met: dict[Any, Seen]) -> str:
    """What was met, by name; what is met by name and number as a list."""
    seen = sum(met.values(), Seen())
    plain = [f"{name} {n}" for name, n in seen.items() if isinstance(name, str)]
    most: dict[str, int] = {}
    for name, i in (each for each in seen if not isinstance(each, str)):
        most[name] = max(i, most.get(name, 0))
    return ", ".join(sorted(plain) + [f"{name} {[seen[name, i] for i in range(most[name] + 1)]}" for name in sorted(most)])


if __name__ == "__main__":
    faulthandler.enable()
    sys.exit(main())
