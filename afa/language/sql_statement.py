"""A statement with MATCH_RECOGNIZE, in parts. sqlglot reads the SELECTs and the expressions; the clause is read here, from tokens.

    SELECT low FROM (SELECT * FROM ticks WHERE price > 0) t MATCH_RECOGNIZE (..) m WHERE low < 5
    `tree`: SELECT low FROM "#0" m WHERE low < 5      `matches["#0"]`: the clauses, `relation`: FROM (SELECT ..) t

To sqlglot, a MATCH_RECOGNIZE with what it stands over is a table, "#0", so it may stand wherever a table may. What sqlglot knows of
the clause is not used: no dialect of it knows all of it, and a parser of sqlglot's can't be derived from where it is compiled.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlglot import Token, TokenType, exp

from afa.language.sase_grammar import RefusedError
from afa.language.sql_text import SqlText, shown

RANKS = {
    "PARTITION BY": 0, "ORDER BY": 1, "MEASURES": 2, "ONE ROW": 3, "ALL ROWS": 3, "AFTER MATCH": 4, "PATTERN (": 5, "WITHIN": 6,
    "SUBSET": 6, "DEFINE": 7,
}  # fmt: skip
"""The words that a clause begins with: its place among the clauses. WITHIN and SUBSET come in any order."""
DROPPED = {"PARTITION BY", "ORDER BY", "MEASURES", "PATTERN (", "SUBSET", "DEFINE"}
"""Of these clauses the first word says nothing more."""
CLAUSES = (
    "the clauses come in this order, each once: PARTITION BY, ORDER BY, MEASURES, ONE ROW or ALL ROWS PER MATCH, AFTER MATCH SKIP, "
    "PATTERN, WITHIN, SUBSET, DEFINE"
)
FORM = "write SELECT .. FROM name MATCH_RECOGNIZE (..)"
COLUMNS = "write columns, with commas between"
NAMED = "give each value of MEASURES a name, AS name"
VALUE = "a value is an expression over rows, as v.x or LAST(v.x)"
CONDITION = "a condition is v AS .., of comparisons, AND, OR, NOT"
ENDS = {"VAR", "IDENTIFIER", "STRING", "NUMBER", "R_PAREN", "END", "NULL", "TRUE", "FALSE"}
"""The last token of a value that a name may follow without AS."""

DEPTHS = {"L_PAREN": 1, "L_BRACKET": 1, "L_BRACE": 1, "R_PAREN": -1, "R_BRACKET": -1, "R_BRACE": -1}
"""How much deeper the tokens behind one lie."""
NAVIGATED = ("FIRST", "LAST", "NEXT")
"""Functions of rows that are something else to some of sqlglot's dialects."""
VALUES = ("FIRST_VALUE", "LAST_VALUE")
"""What Snowflake's users write for FIRST and LAST."""


class Word(NamedTuple):
    """A name, or some words, as they were written, and where."""

    said: str
    place: int


class Named(NamedTuple):
    """A value of MEASURES, or a condition of DEFINE: sqlglot's node."""

    name: Word
    value: Any
    place: int
    final: bool = False  # whether FINAL stands before it, and not before a function


@dataclass(frozen=True)
class RowPatternMatch:
    """MATCH_RECOGNIZE: its clauses, what no clause says is empty or None."""

    relation: Any  # what it stands over: sqlglot's node, of a table, of a SELECT in parentheses ..
    place: int  # where MATCH_RECOGNIZE stands
    partition: tuple[Any, ...] = ()  # sqlglot's nodes
    order: tuple[Any, ...] = ()  # sqlglot's `Ordered`; ``nulls_first`` is None where neither is said
    measures: tuple[Named, ...] = ()
    rows: Word | None = None  # ONE ROW PER MATCH, ALL ROWS PER MATCH SHOW EMPTY MATCHES ..
    skip: tuple[Word, Word | None] | None = None  # PAST LAST ROW, TO NEXT ROW, TO FIRST or TO LAST; and its variable
    pattern: Word | None = None  # what stands in the parentheses, with blanks for comments
    within: Any = None  # sqlglot's node, of an interval or of a number
    subsets: tuple[tuple[Word, tuple[Word, ...]], ...] = ()
    defines: tuple[Named, ...] = ()

    def nodes(self) -> Iterator[tuple[Any, str]]:
        """Yields all of sqlglot's nodes, each with the place in a statement that `sql_nodes.check` asks for."""
        yield from ((each, "value" if is_computed(each) else "column") for each in self.partition)
        yield from ((each, "ranked" if is_computed(each.this) else "order") for each in self.order)
        yield from ((each.value, "value") for each in self.measures)
        yield from ((self.within, "value"),) if self.within is not None else ()
        yield from ((each.value, "value") for each in self.defines)


def is_computed(node: Any) -> bool:
    """Return whether a key, or what orders rows, is an expression over columns."""
    return not isinstance(node, exp.Column) and node.find(exp.Column) is not None


@dataclass(frozen=True)
class Statement:
    """A statement: sqlglot's tree of it, and its MATCH_RECOGNIZE by the names that they have there, inner ones first."""

    text: SqlText
    tree: Any
    matches: Mapping[str, RowPatternMatch] = field(default_factory=dict)


def statement_of(text: str, dialect: str | None = None) -> Statement:
    """Return the parts of a statement. Raises `RefusedError`.

    >>> found = statement_of("WITH u AS (SELECT a FROM t) SELECT x FROM u MATCH_RECOGNIZE (ORDER BY a PATTERN (B+)) AS m")
    >>> found.tree.sql(), found.matches["#0"].relation.sql(), found.matches["#0"].pattern
    ('WITH u AS (SELECT a FROM t) SELECT x FROM "#0" AS m', 'u', Word(said='B+', place=81))
    """

    found = SqlText(text, dialect)
    parts = _Clauses(found)
    tokens = parts.without_matches()
    statements = [tokens[begin:end] for begin, end in _split(tokens, "SEMICOLON") if begin < end]
    tree = found.parsed(None, statements[0], len(text), FORM) if len(statements) == 1 else None
    if not isinstance(tree, exp.Query):
        place = statements[1][0].start if len(statements) > 1 else 0
        raise RefusedError("expected one SELECT .. FROM .. MATCH_RECOGNIZE (..) but got another statement", place)
    for each in (tree, *(match.relation for match in parts.matches.values())):
        part = next((table.args["partition"] for table in each.find_all(exp.Table) if table.args.get("partition")), None)
        if part is not None:  # which engines would read as an alias with names of columns
            raise RefusedError(
                "expected a table but got PARTITION (..), a part of one; write WHERE for the rows that it holds", found.place(part)
            )
    return Statement(found, tree, parts.matches)


class _Clauses:
    """Reads each MATCH_RECOGNIZE of a statement."""

    def __init__(self, text: SqlText) -> None:
        self._text = text
        self.matches: dict[str, RowPatternMatch] = {}

    def without_matches(self) -> list[Any]:
        """Returns the tokens of the statement in which names stand for MATCH_RECOGNIZE and what each stands over."""
        tokens, left = self._text.tokens, list[Any]()
        i = 0
        while i < len(tokens):
            if tokens[i].token_type is not TokenType.MATCH_RECOGNIZE or self._said(*tokens[i + 1 : i + 2]) != "(":
                left.append(tokens[i])
                i += 1
                continue
            end = _closing(tokens, i + 1)
            if end is None:
                raise RefusedError("expected ) that closes MATCH_RECOGNIZE but got the end", len(self._text.text))
            begin = _relation(left)
            if begin is None:
                raise RefusedError("expected the name of a table in FROM but got none", tokens[i].start)
            name = f"#{len(self.matches)}"
            if any(each.text == name for each in tokens):
                raise RefusedError(f"expected names that are no number of a MATCH_RECOGNIZE but got {name}; use another", 0)
            self.matches[name] = self._match(left[begin:], tokens[i : end + 1])
            left[begin:] = [Token(TokenType.IDENTIFIER, name, start=left[begin].start, end=tokens[end].end)]
            i = end + 1
        return left

    def _match(self, relation: list[Any], tokens: list[Any]) -> RowPatternMatch:
        parsed = self._text.parsed
        over = parsed(exp.From, [Token(TokenType.FROM, "FROM"), *relation], tokens[0].start, FORM).this
        clauses = dict(self._parts(tokens[2:-1], tokens[-1].start))
        names = {token.text.lower() for token in clauses.get("PATTERN (", ((), 0))[0] if token.text.isidentifier()}
        found: dict[str, Any] = {}
        for kind, (part, end) in clauses.items():
            spans = _split(part, "COMMA")
            ends = [part[stop].start if stop < len(part) else end for _, stop in spans]
            items = list(zip((_as_names(part[begin:stop], names) for begin, stop in spans), ends))
            match kind:
                case "PARTITION BY":
                    found["partition"] = tuple(parsed(exp.Condition, *item, COLUMNS).unnest() for item in items)
                case "ORDER BY":
                    found["order"] = tuple(self._ordered(*item) for item in items)
                case "MEASURES":
                    found["measures"] = tuple(self._measure(*item) for item in items)
                case "ONE ROW" | "ALL ROWS":
                    found["rows"] = self._word(part)
                case "AFTER MATCH":
                    found["skip"] = self._skip(part)
                case "PATTERN (":
                    found["pattern"] = self._pattern(part, end)
                case "WITHIN":
                    found["within"] = self._within(part, end)
                case "SUBSET":
                    found["subsets"] = tuple(self._subset(*item) for item in items)
                case "DEFINE":
                    found["defines"] = tuple(self._define(*item) for item in items)
        return RowPatternMatch(over, tokens[0].start, **found)

    def _parts(self, tokens: list[Any], end: int) -> Iterator[tuple[str, tuple[list[Any], int]]]:
        """Yields each clause: its first words, its tokens (but those of `DROPPED`), and where the next one begins."""
        starts = list(self._starts(tokens))
        if tokens and (not starts or starts[0][0]):
            raise self._unread(tokens[:1], end, "a clause", CLAUSES)
        rank, known = -1, set[str]()
        for (begin, kind), (stop, _) in zip(starts, [*starts[1:], (len(tokens), "")]):
            if RANKS[kind] < rank or kind in known or RANKS[kind] == rank != RANKS["WITHIN"]:
                raise self._unread(tokens[begin : begin + 1], end, "each clause once, in its place,", CLAUSES)
            rank, known = RANKS[kind], {*known, kind}
            part, place = tokens[begin + (kind in DROPPED) : stop], tokens[stop].start if stop < len(tokens) else end
            if not part:
                raise RefusedError(f"expected something behind {kind} but got nothing; {CLAUSES}", place)
            yield kind, (part, place)

    def _starts(self, tokens: list[Any]) -> Iterator[tuple[int, str]]:
        """Yields where each clause begins, and its first words."""
        deep = 0
        said = [self._said(token) for token in tokens]
        for i, word in enumerate(said):
            two = f"{word} {said[i + 1]}" if i + 1 < len(said) else word
            kind = word if word in RANKS else two if two in RANKS else ""
            named = i > 0 and said[i - 1] in (".", "AS")
            other = two == "WITHIN GROUP" or (kind == "SUBSET" and said[i + 2 : i + 3] != ["="])
            if kind and not deep and not named and not other:
                yield i, kind
            deep += {"(": 1, ")": -1}.get(word, 0)

    # -- words -----------------------------------------------------------------------------------------------------------------

    def _said(self, *tokens: Any) -> str:
        """Return tokens in capitals, each blank one space; a name in quotes as it is."""
        return " ".join(" ".join(self._text.said(token).upper().split()) for token in tokens)

    def _word(self, tokens: Sequence[Any]) -> Word:
        return Word(self._text.text[tokens[0].start : tokens[-1].end + 1], tokens[0].start)

    def _unread(self, tokens: Sequence[Any], end: int, wanted: str, way: str = "") -> RefusedError:
        """Return the error for tokens that are not what is wanted; if there are none: at ``end``."""
        said = repr(shown(self._word(tokens).said)) if tokens else "none"
        return RefusedError(f"expected {wanted} but got {said}{'; ' * bool(way)}{way}", tokens[0].start if tokens else end)

    # -- clauses ---------------------------------------------------------------------------------------------------------------

    def _ordered(self, tokens: list[Any], end: int) -> Any:
        found = self._text.parsed(exp.Ordered, tokens, end, COLUMNS)
        found.set("this", found.this.unnest())
        if "NULLS" not in map(self._said, tokens):
            found.set("nulls_first", None)  # which sqlglot takes from the dialect
        return found

    def _measure(self, tokens: list[Any], end: int) -> Named:
        value, name = tokens[:-1], tokens[-1:]
        if value and self._said(value[-1]) == "AS":
            value = value[:-1]
        elif not value or name[0].token_type.name not in ("VAR", "IDENTIFIER") or value[-1].token_type.name not in ENDS:
            raise self._unread(tokens, end, "value AS name in MEASURES", NAMED)
        whole = self._said(*value[:1]) in ("FINAL", "RUNNING") and len(value) > 1 and not self._calls(value, 1)
        final = whole and self._said(value[0]) == "FINAL"
        return Named(self._word(name), self._value(value[whole:], end, VALUE), tokens[0].start, final)

    def _define(self, tokens: list[Any], end: int) -> Named:
        if self._said(*tokens[1:2]) != "AS":
            raise self._unread(tokens, end, "v AS condition in DEFINE", CONDITION)
        return Named(self._word(tokens[:1]), self._value(tokens[2:], end, CONDITION), tokens[0].start)

    def _value(self, tokens: list[Any], end: int, way: str) -> Any:
        """Return the node of a value, with FINAL f(x) as a function FINAL of f(x); RUNNING says what is so without it."""
        for i in reversed(range(len(tokens))):
            word = self._said(tokens[i])
            if word not in ("FINAL", "RUNNING") or not self._calls(tokens, i + 1):
                continue
            stop = _closing(tokens, i + 2)
            for more in ("WITHIN GROUP (", "FILTER ("):
                words = more.count(" ") + 1
                if stop is not None and self._said(*tokens[stop + 1 : stop + 1 + words]) == more:
                    stop = _closing(tokens, stop + words)
            if word == "RUNNING":
                del tokens[i]
            elif stop is not None:
                at, last = tokens[i], tokens[stop].end
                tokens.insert(stop + 1, Token(TokenType.R_PAREN, ")", start=last, end=last))
                tokens[i] = Token(TokenType.VAR, "FINAL", start=at.start, end=at.end)
                tokens.insert(i + 1, Token(TokenType.L_PAREN, "(", start=at.end, end=at.end))
        for i, token in enumerate(tokens):
            word = self._said(token)
            if word in (*NAVIGATED, *(VALUES if self._text.dialect == "snowflake" else ())) and self._calls(tokens, i):
                tokens[i] = Token(TokenType.VAR, f"{word.partition('_')[0]} of rows", start=token.start, end=token.end)
        found = self._text.parsed(exp.Condition, tokens, end, way)
        return found.transform(_navigation, copy=False).transform(of_a_list, copy=False)

    def _calls(self, tokens: Sequence[Any], i: int) -> bool:
        return i < len(tokens) and tokens[i].text.isidentifier() and self._said(*tokens[i + 1 : i + 2]) == "("

    def _skip(self, tokens: list[Any]) -> tuple[Word, Word | None]:
        match self._said(*tokens[2:]).split(" ") if len(tokens) < 7 else ():
            case "SKIP", *rest if rest in (["PAST", "LAST", "ROW"], ["TO", "NEXT", "ROW"]):
                return Word(" ".join(rest), tokens[0].start), None
            case "SKIP", "TO", ("FIRST" | "LAST") as which, _:
                return Word(f"TO {which}", tokens[0].start), self._word(tokens[-1:])
            case "SKIP", "TO", _:
                return Word("TO LAST", tokens[0].start), self._word(tokens[-1:])
        raise self._unread(tokens, 0, "AFTER MATCH SKIP PAST LAST ROW, TO NEXT ROW, TO FIRST v, TO LAST v or TO v")

    def _pattern(self, tokens: list[Any], end: int) -> Word:
        stop = _closing(tokens, 0)
        if stop is None:
            raise RefusedError("expected ) that closes PATTERN but got another clause", end)
        if stop + 1 < len(tokens):
            raise self._unread(tokens[stop + 1 : stop + 2], end, "another clause or ) behind PATTERN", CLAUSES)
        begin = tokens[0].end + 1
        said = [" "] * (tokens[stop].start - begin)
        for token in tokens[1:stop]:
            said[token.start - begin : token.end + 1 - begin] = self._text.said(token)
        return Word("".join(said), begin)

    def _within(self, tokens: list[Any], end: int) -> Any:
        wanted = "WITHIN INTERVAL 'n' UNIT or WITHIN n"
        if self._said(*tokens[1:2]) == "INTERVAL" or len(tokens) == 2:
            found = self._text.parsed(exp.Condition, tokens[1:], end, f"write {wanted}")
            if isinstance(found, exp.Interval) or (isinstance(found, exp.Literal) and not found.is_string):
                return found
        raise self._unread(tokens, end, wanted)

    def _subset(self, tokens: list[Any], end: int) -> tuple[Word, tuple[Word, ...]]:
        members = [tokens[3:-1][begin:stop] for begin, stop in _split(tokens[3:-1], "COMMA")]
        if self._said(*tokens[1:3], *tokens[-1:]) != "= ( )" or any(len(each) != 1 for each in members):
            raise self._unread(tokens, end, "name = (v, ..) in SUBSET")
        return self._word(tokens[:1]), tuple(self._word(each) for each in members)


def _navigation(node: Any) -> Any:
    """Return FIRST and LAST of rows as sqlglot's nodes, and NEXT as the function that it is to all of them."""
    name, _, of = node.this.partition(" ") if isinstance(node, exp.Anonymous) and isinstance(node.this, str) else ("", "", "")
    if name.upper() == "NEXT" and of:
        node.set("this", name)
    if not of or name.upper() == "NEXT" or len(node.expressions) > 2:
        return node
    found = getattr(exp, name.title())(**dict(zip(("this", "expression"), node.expressions)))
    found.meta.update(node.meta)
    return found


def of_a_list(node: Any) -> Any:
    """Return ``x = ANY (1, 2)`` as ``x IN (1, 2)``, and ``x <> ALL (1, 2)`` as ``x NOT IN (1, 2)``; any other node as it is."""
    other = node.expression if isinstance(node, exp.EQ | exp.NEQ) else None
    if isinstance(node, exp.EQ) and isinstance(other, exp.Any) and isinstance(other.this, exp.Tuple | exp.Paren):
        return exp.In(this=node.this, expressions=other.this.expressions or [other.this.this])
    if isinstance(node, exp.NEQ) and isinstance(other, exp.Anonymous) and other.name.upper() == "ALL":
        return exp.Not(this=exp.In(this=node.this, expressions=other.expressions))
    return node


def _deeper(token: Any) -> int:
    return DEPTHS.get(token.token_type.name, 0)


def _closing(tokens: Sequence[Any], begin: int) -> int | None:
    """Return where the parenthesis is closed that opens at ``begin``; None: nowhere."""
    deep = 0
    for i in range(begin, len(tokens)):
        deep += _deeper(tokens[i])
        if not deep:
            return i
    return None


def _relation(tokens: Sequence[Any]) -> int | None:
    """Return where the relation begins that ends with these tokens; None: no FROM, JOIN or comma stands before one."""
    deep = 0
    for i in reversed(range(len(tokens))):
        deep -= _deeper(tokens[i])
        kind = tokens[i].token_type.name
        if deep < 0 or (not deep and kind in ("FROM", "JOIN", "COMMA", "SELECT", "WHERE")):
            return i + 1 if kind in ("FROM", "JOIN", "COMMA", "L_PAREN") and i + 1 < len(tokens) else None
    return None


def _split(tokens: Sequence[Any], kind: str) -> list[tuple[int, int]]:
    """Return begin and end of what lies between tokens of a kind that are in no parentheses."""
    deep, cuts = 0, [-1]
    for i, token in enumerate(tokens):
        deep += _deeper(token)
        if not deep and token.token_type.name == kind:
            cuts.append(i)
    return [(begin + 1, end) for begin, end in itertools.pairwise([*cuts, len(tokens)])]


def _as_names(tokens: Sequence[Any], names: set[str]) -> list[Any]:
    """Return tokens with words of SQL as names where they are variables of the pattern: in DROP.x and CLASSIFIER(DROP)."""

    found = list(tokens)
    for i, token in enumerate(tokens):
        if token.text.lower() not in names or token.token_type.name in ("STRING", "NUMBER", "IDENTIFIER", "VAR"):
            continue
        before, behind = (tokens[j].token_type.name if 0 <= j < len(tokens) else "" for j in (i - 1, i + 1))
        if behind == "DOT" or (before in ("L_PAREN", "COMMA") and behind in ("COMMA", "R_PAREN")):
            found[i] = Token(TokenType.VAR, token.text, start=token.start, end=token.end)
    return found
