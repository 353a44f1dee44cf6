"""Tree -> Python text in the builder's words, which builds an equal tree."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from afa.errors import QueryError
from afa.expression.functions import FUNCTIONS
from afa.expression.nodes import Call, Const, Expr, FieldRead, Text, Unary, changed, walk
from afa.expression.text import text_of_expr
from afa.language.conjuncts import SLOTS, places
from afa.language.neighbours import as_call, with_terms
from afa.language.pattern import ANY, NEXT, PARTITION, STRICT, Component, Either, Gap, Pattern, Repeat, Seq, Tree
from afa.language.return_names import named
from afa.language.terms import Aggregate, Beside, Classifier, Ref

JOINTS = {STRICT: "next", PARTITION: "next", NEXT: "followed_by", ANY: "followed_by_any"}
BETWEEN = {STRICT: ".consecutive()", PARTITION: ".consecutive()", NEXT: ".relaxed()", ANY: ".any()"}


def builder_text(tree: Tree) -> str:
    """Returns a query as Python text, its window in ticks; ``.of(..)`` of its event class is left to say.

    Raises QueryError where the tree says something that the builder can't: so of SQL, whose matches are chosen, and a bag.

    >>> from typing import NamedTuple
    >>> from afa.language import many, one
    >>> class Stock(NamedTuple):
    ...     price: float
    >>> built = many("a", where=lambda e, m: e.price > m.a.last.price).next(one("b", lambda e: e.price < 3)).within(60).of(Stock)
    >>> print(builder_text(built.tree()))
    many("a", rest=lambda e, m: e.price > m.a.last.price)
        .next(one("b", lambda e: e.price < 3))
        .within(60)
    """
    return _BuilderPrinter(tree).text()


def _unsaid(what: str) -> QueryError:
    return QueryError(f"expected a query that the builder can say but got {what}")


class _BuilderPrinter:
    """One printing of one tree."""

    def __init__(self, tree: Tree) -> None:
        if tree.subsets or tree.skip:
            raise _unsaid("a subset or AFTER MATCH SKIP, which are SQL's")
        self.tree = tree = with_terms(tree)
        self.places = places(tree.pattern, tree.before, tree.after)
        self.named: set[str] = set()  # components written so far

    def text(self) -> str:
        """Return the whole, each joint on a line of its own."""
        tree = self.tree
        lines = [self.absent(each) for each in tree.before]
        lines += self.chain(tree.pattern, begun=bool(lines))
        lines += [self.absent(each) for each in tree.after]
        if tree.key:
            lines.append(f".by({', '.join(map(_quoted, tree.key))})")
        if tree.window is not None:
            lines.append(f".within({tree.window})")
        if tree.order:
            lines.append(f".order_by({_quoted(tree.order)})")
        if tree.returns:
            lines.append(f".returns({self.returns()})")
        return "\n    ".join(lines).removeprefix(".")

    def chain(self, pattern: Pattern, begun: bool = False) -> list[str]:
        """Return the parts of a pattern that are joined."""
        if isinstance(pattern, Seq) and isinstance(pattern.items[0], Seq):
            raise _unsaid("a group that begins a sequence")
        items, gaps = (pattern.items, pattern.gaps) if isinstance(pattern, Seq) else ((pattern,), ())
        lines = [f".followed_by({self.element(items[0], '')})" if begun else self.element(items[0], "")]
        for gap, item in zip(gaps, items[1:]):
            lines += [self.absent(each) for each in gap.absent]
            lines.append(f".{JOINTS[self.said(gap.strategy)]}({self.element(item, gap.strategy)})")
        return lines

    def said(self, strategy: str) -> str:
        """Return a strategy if ``by`` or its absence makes the same of it."""
        if strategy in (STRICT, PARTITION) and (strategy == PARTITION) != bool(self.tree.key):
            raise _unsaid(f"{strategy} contiguity {'with' if self.tree.key else 'without'} a key")
        return strategy

    def element(self, pattern: Pattern, joint: str) -> str:
        """Return a part that is joined by a strategy."""
        match pattern:
            case Component():
                return self.component("one", pattern)
            case Seq():
                return "".join(self.chain(pattern))
            case Either(items):
                return f"either({', '.join(self.element(item, joint) for item in items)})"
        return self.repeat(pattern, joint)

    def repeat(self, repeat: Repeat, joint: str) -> str:
        """Return a repetition with what is said of its gap."""
        bounds, item = (repeat.low, repeat.high), repeat.item
        if isinstance(item, Component) and bounds == (1, None):
            text = self.component("many", item)
        else:
            high = "" if repeat.high == repeat.low else f", {repeat.high}"
            text = self.element(item, joint)
            if bounds == (0, 1):
                text += ".optional()"
            elif isinstance(item, Repeat):
                text = f"times({repeat.low}, {repeat.high}, {text})"
            else:
                text += f".times({repeat.low}{high})"
        gap = repeat.gap
        if bounds[1] != 1:
            text += "".join(f".absent_between({self.arguments(each)})" for each in gap.absent)
            usual = joint if joint in (STRICT, PARTITION) else NEXT
            text += "" if gap.strategy == usual else BETWEEN[self.said(gap.strategy)]
        elif gap != Gap():
            raise _unsaid("a strategy between the iterations of what comes once at most")
        return text if repeat.greedy else f"{text}.reluctant()"

    def absent(self, component: Component) -> str:
        return f".absent({self.arguments(component)})"

    def component(self, word: str, component: Component) -> str:
        return f"{word}({self.arguments(component)})"

    def arguments(self, component: Component) -> str:
        """Return name, type and predicates."""
        if component.name in self.named:
            raise _unsaid(f"the component {component.name} at several places; give each a name of its own")
        self.named.add(component.name)
        parts = [_quoted(component.name)]
        if component.type is not None:
            parts.append(_quoted(component.type))
        for slot in SLOTS:
            asked: tuple[Expr, ...] = getattr(component, slot)
            if asked:
                alone = slot == "where" and not (component.first or component.rest or component.done)
                parts.append(("" if alone else f"{slot}=") + self.function(component.name, slot, asked))
        return ", ".join(parts)

    def function(self, name: str, slot: str, asked: tuple[Expr, ...]) -> str:
        """Return predicates as one lambda."""
        nodes = [node for expr in asked for node in walk(expr)]
        terms = [node for node in nodes if isinstance(node, Ref | Aggregate) and node.component in (name, "")]
        own = [node for node in terms if not (isinstance(node, Aggregate) and node.now)]
        if slot == "where" and own:
            raise _unsaid(f"a condition on all events of {name} that reads those before them; the builder asks it as rest")
        reads = any(isinstance(node, Ref | Aggregate) for node in nodes)
        parameters = "m" if slot == "done" else "e, m" if reads else "e"
        body = " and ".join(_operand(self.term(expr), len(asked)) for expr in asked)
        return f"lambda {parameters}: {body}"

    def returns(self) -> str:
        """Return the values of RETURN: by their usual names, or by those that are given."""
        values = self.tree.returns or ()
        texts = [text_of_expr(self.term(expr)) for _, expr in values]
        if tuple(named((None, expr) for _, expr in values)) == values:
            return f"lambda m: ({', '.join(texts)},)"
        return ", ".join(f"{name}=lambda m: {text}" for (name, _), text in zip(values, texts))

    def term(self, expr: Expr) -> Expr:
        """Return an expression whose terms are written as fields of parts of m."""
        for node in walk(expr):
            of = self.places.get(node.component) if isinstance(node, Ref | Aggregate) else None
            if of is not None and not of.many and getattr(node, "which", "all") != "one":
                raise _unsaid(f"a term over the events of {getattr(node, 'component', '')}, which takes one event")
        return changed(expr, partial(_as_field))


def _as_field(node: Expr) -> Expr | None:
    """Return a term as a field, which is written as the lambda says it."""
    match node:
        case Beside():
            return as_call(node, "next_", _as_field)
        case Classifier():
            raise _unsaid("CLASSIFIER, which is SQL's")
        case Ref("", "first") | Aggregate(""):
            raise _unsaid("a term over all events of a match, which is SQL's")
        case Ref("", _, field, back):
            return FieldRead(f"m.prev({back + 1})" if back else "m.prev", field)
        case Ref(component, "one", field):
            return FieldRead(f"m.{component}", field)
        case Ref(component, which, field, back):
            return FieldRead(f"m.{component}.{which}" + (f"({back})" if back else ""), field)
        case Aggregate(component, function, field, now):
            base = f"m.{component}.now" if now else f"m.{component}"
            return FieldRead(base, function) if field is None else FieldRead(f"{base}.{function}", field)
        case Const(float() as value) if math.isinf(value):
            return FieldRead("math", "inf") if value > 0 else Unary("-", FieldRead("math", "inf"))
        case Const(float() as value) if math.isnan(value):
            return FieldRead("math", "nan")
        case Call(name, items) if name in FUNCTIONS and not name.endswith("strip"):
            module = "math" if FUNCTIONS[name].call is getattr(math, name, None) else "functions"
            return Call(f"{module}.{name}", tuple(changed(item, _as_field) for item in items))
        case Text(method, x, consts) if method == "contains":
            return replace(node, x=changed(x, _as_field), consts=consts)
    return None


def _operand(expr: Expr, count: int) -> str:
    """Return a conjunct, in parentheses where it binds less than ``and``."""
    text = text_of_expr(expr)
    return f"({text})" if count > 1 and type(expr).__name__ in ("Or", "If") else text


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if text.isprintable() else repr(text)
