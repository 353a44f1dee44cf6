"""The PATTERN clause of SASE+ text -> the pattern, without predicates yet."""

from __future__ import annotations

import keyword
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from afa.expression.translate import BUILTINS
from afa.language.pattern import ANY, NEXT, PARTITION, STRICT, Component, Either, Gap, Pattern, Repeat, Seq
from afa.language.sase_grammar import RefusedError
from afa.language.terms import AGGREGATES

DEEPEST, MOST, ITERATIONS = 30, 200, 1000
"""How deep groups may nest, how many components a pattern may have, and the largest number of a quantifier."""
RESERVED = {"i", "inf", "nan", "and", "or", "not", "in", "is", "as", "within", "return", "where", *AGGREGATES, *BUILTINS}
"""What no component may be called: it means something else in conditions."""
ANY_EVENT = "_"
"""In place of a type: any event. In quotes it is a type like others."""
SIGNS = {"PLUS": (1, None), "STAR": (0, None), "QUESTION": (0, 1)}


class TypeNames(NamedTuple):
    """What type names mean: values of a column, if there is one; but ``_``, and the event class's name where the pattern names no
    other type, mean any event."""

    event: str
    column: str | None
    beside: bool = False  # whether the pattern names another type


@dataclass
class WrittenSequence:
    """A sequence as it is written: absent components before the first item and behind the last one, and a last arrow."""

    items: list[Pattern] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    before: list[Component] = field(default_factory=list)
    behind: list[Component] = field(default_factory=list)
    arrow: str | None = None

    @property
    def pattern(self) -> Pattern:
        """The items as one."""
        return self.items[0] if len(self.items) == 1 else Seq(tuple(self.items), tuple(self.gaps))


class PatternReader:
    """Reads the elements of a pattern; ``default`` is the strategy where no arrow stands."""

    def __init__(self, types: TypeNames, default: str) -> None:
        self.types = types
        self.default = default
        self.positions: dict[str, int] = {}
        """Where each component's name stands."""
        self.brackets: dict[str, int] = {}
        """Where ``[]`` stands behind a name."""
        self.arrows: dict[str, int] = {}
        """Where each strategy first stands behind an arrow."""

    def read(self, elements: list[Any]) -> tuple[Pattern, tuple[Component, ...], tuple[Component, ...]]:
        """Return the pattern, what is absent before it, and behind it."""
        named = {_type(each.children[0]) for element in elements for each in element.find_data("type")}
        self.types = self.types._replace(beside=bool(named - {None, self.types.event}))
        if len(elements) > 1:
            return Either(tuple(self.element(each, 1) for each in elements)), (), ()
        (only,) = elements
        if only.data != "group" or _quantifier(only) is not None or _is_choice(only):
            return self.element(only, 1), (), ()
        run = self.run(_inside(only), 1)
        if run.arrow:
            raise _open_arrow(only)
        return run.pattern, tuple(run.before), tuple(run.behind)

    def element(self, tree: Any, depth: int) -> Pattern:
        """Read a component or a group."""
        if tree.data == "component":
            return self.component(tree)
        if tree.data == "negation":
            raise _alone(tree)
        if depth > DEEPEST:
            raise RefusedError(f"expected groups nested at most {DEEPEST} deep but got more; split the query", _start(tree))
        return self.group(tree, depth)

    def component(self, tree: Any) -> Pattern:
        """``Type name``, ``Type+ name[]``."""
        type_, *quantifiers, name, brackets = tree.children
        made: Pattern = self.named(type_, name)
        if brackets is not None:
            self.brackets[str(name)] = brackets.start_pos
        return self.repeat(made, quantifiers[0], Gap(self.default)) if quantifiers else made

    def named(self, type_: Any, name: Any) -> Component:
        """Read a type and a name."""
        text, position = str(name), name.start_pos
        if text.lower() in RESERVED or keyword.iskeyword(text):
            raise RefusedError(
                f"expected a name but got {text!r}, which means something else in conditions; choose another", position
            )
        if text.startswith("_"):
            raise RefusedError(f"expected a name that begins with a letter but got {text!r}; choose another", position)
        if text in self.positions:
            raise RefusedError(f"expected a name of its own for each component but got {text!r} twice; choose another", position)
        if len(self.positions) >= MOST:
            raise RefusedError(f"expected at most {MOST} components but got more; split the query", position)
        self.positions[text] = position
        return Component(text, self.type_of(type_.children[0]))

    def type_of(self, token: Any) -> str | None:
        """Return the type that a component asks for; None: any."""
        text = _type(token)
        if "\\" in str(token):
            raise RefusedError(f"expected a type without \\ but got {token}; ask for it in WHERE", token.start_pos)
        if text is None or (text == self.types.event and not (self.types.beside and self.types.column)):
            return None
        if self.types.column is None:
            raise RefusedError(
                f"expected the type {self.types.event} but got {text!r}, as no field of {self.types.event} holds a type; "
                f"write {self.types.event} and ask in WHERE, or name the field that does: type=",
                token.start_pos,
            )
        return text

    def group(self, tree: Any, depth: int) -> Pattern:
        """``( .. )``, ``SEQ( .. )``, with a quantifier or without."""
        inside, quantifier = _inside(tree), _quantifier(tree)
        if _is_choice(tree):
            parts = [part for part in inside.children[:-1] if not _is_token(part)]
            trailing = inside.children[-1]
            arrow = self.strategy(trailing) if trailing is not None else None
            run = WrittenSequence([Either(tuple(self.element(part, depth + 1) for part in parts))], arrow=arrow)
        else:
            run = self.run(inside, depth)
        if run.before:
            raise _alone(tree)
        if quantifier is None:
            if run.arrow:
                raise _open_arrow(tree)
            if run.behind:
                raise _alone(tree)
            return run.pattern
        if run.behind and not run.arrow:
            raise RefusedError(
                f"expected a component behind the absent {run.behind[0].name} but got the end of the group; to forbid it between "
                f"two iterations put an arrow before it: (A a =>next ~(N n))+",
                self.positions[run.behind[0].name],
            )
        return self.repeat(run.pattern, quantifier, Gap(run.arrow or self.default, tuple(run.behind)))

    def run(self, inside: Any, depth: int) -> WrittenSequence:
        """Read what stands between commas and arrows."""
        *parts, trailing = inside.children
        run = WrittenSequence()
        for part in parts:
            if part.data == "separator":
                self.separator(part, run)
            elif part.data == "negation":
                type_, name = (each for each in part.children if not _is_token(each) or each.type == "NAME")
                (run.behind if run.items else run.before).append(self.named(type_, name))
            else:
                item = self.element(part, depth + 1)
                if run.items:
                    run.gaps.append(Gap(run.arrow or self.default, tuple(run.behind)))
                run.items.append(item)
                run.behind, run.arrow = [], None
        if trailing is not None:
            self.separator(trailing, run)
        if not run.items:
            raise RefusedError(
                "expected a component that takes an event but got a negation alone; name one beside it", _start(inside)
            )
        return run

    def separator(self, tree: Any, run: WrittenSequence) -> None:
        """Read ``,`` or an arrow between two neighbours."""
        arrow = tree if tree.data == "arrow" else next((each for each in tree.children if not _is_token(each)), None)
        if arrow is None:
            return
        if run.arrow or not run.items:
            what = "two" if run.items else "one before the first component"
            raise RefusedError(f"expected one strategy between two neighbours but got {what}; leave the arrow out", _start(arrow))
        run.arrow = self.strategy(arrow)

    def strategy(self, tree: Any) -> str:
        """``=>next``, ``=>any``, ``=>strict``, ``=>partition``."""
        name = tree.children[1]
        found = str(name).lower()
        if found not in (NEXT, ANY, STRICT, PARTITION):
            raise RefusedError(f"expected next, any, strict or partition but got {str(name)!r}; write =>next, say", name.start_pos)
        self.arrows.setdefault(found, name.start_pos)
        return found

    def repeat(self, item: Pattern, quantifier: Any, gap: Gap) -> Repeat:
        """Return a repeat: ``+``, ``*``, ``?``, ``{n,m}``; with ``?`` behind it fewer iterations are preferred."""
        sign, reluctant = quantifier.children
        low, high = SIGNS[sign.type] if _is_token(sign) else self.times(sign)
        return Repeat(item, low, high, Gap() if high == 1 else gap, reluctant is None)

    def times(self, tree: Any) -> tuple[int, int | None]:
        """``{n}``, ``{n,}``, ``{,m}``, ``{n,m}``."""
        low: int
        high: int | None
        tokens = [token for token in tree.children if token is not None]
        comma = next((i for i, token in enumerate(tokens) if token.type == "COMMA"), None)
        numbers = [self.count(token) for token in tokens if token.type == "NUMBER"]
        if comma is None:
            low, high = (numbers * 2 or [1, 0])[:2]
        else:
            low = numbers[0] if tokens[1].type == "NUMBER" else 0
            high = numbers[-1] if tokens[-2].type == "NUMBER" else None
        if (high is not None and (high < low or high == 0)) or not numbers:
            raise RefusedError(
                "expected {n}, {n,}, {,m} or {n,m} with n <= m and m > 0 but got another; write {1,3}, say", _start(tree)
            )
        return low, high

    @staticmethod
    def count(token: Any) -> int:
        """Return the number of a quantifier."""
        if not token.isdecimal() or len(token) > len(str(ITERATIONS)) or int(token) > ITERATIONS:
            raise RefusedError(f"expected a whole number up to {ITERATIONS} but got {token}; use + for more", token.start_pos)
        return int(token)


def _inside(group: Any) -> Any:
    return next(each for each in group.children if getattr(each, "data", "") == "inside")


def _quantifier(group: Any) -> Any:
    return next((each for each in group.children if getattr(each, "data", "") == "quantifier"), None)


def _is_choice(group: Any) -> bool:
    return any(_is_token(part) and part.type == "OR" for part in _inside(group).children)


def _is_token(part: Any) -> bool:
    return hasattr(part, "type")


def _type(token: Any) -> str | None:
    """Return the type that a token names; None: any."""
    return str(token)[1:-1] if token.type == "STRING" else None if token == ANY_EVENT else str(token)


def _start(tree: Any) -> int:
    return int(tree.meta.start_pos)


def _alone(tree: Any) -> RefusedError:
    return RefusedError(
        "expected a negation between two components of a sequence, or first or last of the whole pattern, but got another place; "
        "put it before or behind the group",
        _start(tree),
    )


def _open_arrow(tree: Any) -> RefusedError:
    return RefusedError(
        "expected a component behind => but got the end of the group; an arrow at the end is for a group that repeats",
        _start(tree),
    )
