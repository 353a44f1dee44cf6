"""Texts of rules that nobody should write: deep, long, wide, of giant numbers, cut off, in letters of all kinds.

``hostile(choose)`` is one, in SASE+ or SQL. It may be a rule or none; reading it takes bounded time.
"""

from __future__ import annotations

from tests.strategies import Choices

SIZES = (2, 9, 60, 70, 300, 2000, 20_000)
STRANGE = (
    "\0",
    "\ufeff",
    "\u202e",
    "\u200b",
    "é𝛑",
    "\ud800",
    "\U0001f4a9" * 50,
    "\uff21",
    "'",
    '"',
    "`",
    "\\",
    "\r\n",
    "\t\v\f",
    "ß" * 300,
)
NUMBERS = (
    "9" * 30, "9" * 5000, "1e999999999", "-1e-999999999", "0x" + "f" * 99, "1_000", "9223372036854775808", "-9223372036854775809",
    "0." + "0" * 3000 + "1", "1e308 * 1e308", "1 / 0", "nan", "inf", "٣", "½",
)  # fmt: skip


def wrapped(where: str, names: str = "p", pattern: str = "a p", within: str = "9", shown: str = "p.x AS c1") -> str:
    return f"PATTERN SEQ({pattern}) WHERE skip_till_next_match({names}) {{ {where} }} WITHIN {within} RETURN {shown}"


def of_sql(pattern: str = "A B", define: str = "A AS x > 1", measures: str = "A.x AS c1", within: str = "9", of: str = "t") -> str:
    return (
        f"SELECT * FROM {of} MATCH_RECOGNIZE (PARTITION BY key ORDER BY at, seq MEASURES {measures} "
        f"AFTER MATCH SKIP PAST LAST ROW PATTERN ({pattern}) WITHIN {within} DEFINE {define})"
    )


def deep(choose: Choices, n: int) -> str:
    """Levels within levels."""
    many = "SEQ(" * n + "a p" + ")" * n
    return choose.one(
        (
            wrapped("(" * n + "p.x > 1" + ")" * n),
            wrapped("not " * n + "p.ok"),
            wrapped("not (" * n + "p.ok" + ")" * n),
            wrapped("abs(" * n + "p.y" + ")" * n + " > 1"),
            wrapped("-" * n + "p.x > 1"),
            wrapped("(p.x == 1 or (" * n + "p.ok" + "))" * n),
            wrapped("p.x if p.ok else (" * n + "1" + ")" * n + " > 1"),
            wrapped("p.ok", pattern="(" * n + "a p" + ")" * n),
            wrapped("p.ok", pattern="(" * n + "a p" + ")+" * n),
            wrapped("p.ok", pattern=many),
            wrapped("p.ok", shown="(" * n + "p.x" + ")" * n + " AS c1"),
            of_sql("(" * n + "A" + ")" * n),
            of_sql("(" * n + "A" + ")+" * n),
            of_sql("(A | " * n + "B" + ")" * n),
            of_sql("PERMUTE(" * min(n, 300) + "A, B" + ")" * min(n, 300)),
            of_sql(define="A AS " + "(" * n + "x > 1" + ")" * n),
            of_sql(define="A AS " + "NOT " * n + "ok"),
            of_sql(define="A AS " + "CASE WHEN ok THEN 1 ELSE " * n + "2" + " END" * n + " > 1"),
            of_sql(define="A AS " + "ABS(" * n + "y" + ")" * n + " > 1"),
            of_sql(of="(SELECT * FROM " * n + "t" + ")" * n),
            of_sql(measures="LAST(" * n + "x" + ")" * n + " AS c1"),
        )
    )


def wide(choose: Choices, n: int) -> str:
    """Much side by side."""
    each = range(n)
    return choose.one(
        (
            wrapped(" and ".join(f"p.x > {i}" for i in each)),
            wrapped(" or ".join(f"p.x == {i}" for i in each)),
            wrapped(" or ".join(f"p.s == 'w{i}'" for i in each)),
            wrapped(" or ".join(f"(p.x == {i} and p.y > {i} and p.s == 'w{i}')" for i in each)),
            wrapped(f"p.x in ({', '.join(map(str, each))})"),
            wrapped(f"p.s in ({', '.join(repr(f'w{i}') for i in each)})"),
            wrapped(f"p.s not in ({', '.join(repr(f'w{i}') for i in each)})"),
            wrapped(" and ".join(f"(p.x == {i} or p.y == {i})" for i in each)),
            wrapped(" and ".join(f"p.x in ({i}, {i + 1}) and p.seq in ({i}, {i + 1}, {i + 2})" for i in each)),
            wrapped(" and ".join(f"p.x != {i}" for i in each)),
            wrapped(" and ".join(f"not (p.x == {i} and p.ok)" for i in each)),
            wrapped(" + ".join(["p.y"] * n) + " > 1"),
            wrapped(" - ".join(f"({i} * p.y)" for i in each) + " > 1"),
            wrapped("p.x < " * n + "9"),
            wrapped("p.ok", ", ".join(f"p{i}" for i in each), ", ".join(f"a p{i}" for i in each), shown="p0.x AS c1"),
            wrapped("p.ok", pattern="(" + " | ".join(f"a p{i}" for i in each) + ")"),
            wrapped("p.ok", pattern="a p, " + ", ".join(f"~(b n{i})" for i in each) + ", c q"),
            wrapped("p.ok", shown=", ".join(f"p.x + {i} AS r{i}" for i in each)),
            wrapped(" and ".join(f"k[i-{min(i, 90) + 1}].x > {i}" for i in each), "p, k[]", "a p, b+ k[]"),
            wrapped(" and ".join(f"sum(k[].y) > {i} and avg(k[].x) < {i}" for i in each), "p, k[]", "a p, b+ k[]"),
            of_sql(" ".join(f"V{i}" for i in each), "V0 AS x > 1", "V0.x AS c1"),
            of_sql("(" + " | ".join(f"V{i}" for i in each) + ")", "V0 AS x > 1", "V0.x AS c1"),
            of_sql(f"PERMUTE({', '.join(f'V{i}' for i in each)})", "V0 AS x > 1", "V0.x AS c1"),
            of_sql(define=", ".join(f"V{i} AS x > {i}" for i in each), pattern="V0+", measures="V0.x AS c1"),
            of_sql(define="A AS " + " OR ".join(f"x = {i}" for i in each)),
            of_sql(define=f"A AS x IN ({', '.join(map(str, each))})"),
            of_sql(define="A AS " + " AND ".join(f"PREV(x, {i % 70 + 1}) > {i}" for i in each)),
            of_sql(measures=", ".join(f"LAST(x, {i}) AS r{i}" for i in each)),
            of_sql(measures=", ".join(f"SUM(x + {i}) AS r{i}" for i in each)),
            of_sql(define="A AS x = " + " + ".join(["x"] * n)),
            of_sql(define="A AS s = '" + "w" * n + "'"),
            of_sql(define="A AS s LIKE '" + "%w" * n + "'"),
        )
    )


def repeated(choose: Choices, n: int) -> str:
    """Repetitions of many, of one another."""
    bound = choose.one((str(n), "0," + str(n), str(n) + ",", "99999999999999999999", "5,2", "-1", f"{n},{n + 1}"))
    bound = "{" + bound + "}"
    several = "{" + choose.one(("9", "2,3", "40")) + "}"
    return choose.one(
        (
            wrapped("k[i].x > 1", "k[]", f"a{bound} k[]"),
            wrapped("p.ok", "p, k[]", f"a p, b{bound} k[]"),
            wrapped("p.ok", "p", "(" * 5 + "a p" + f"){several}" * 5),
            of_sql(f"A{bound}"),
            of_sql(f"A{bound} B{bound}"),
            of_sql("(" * 5 + "A" + f"){several}" * 5),
            of_sql(f"(A? B?){bound}"),
            of_sql("(A* B*)*" * min(n, 300)),
            of_sql(f"((A|B){bound})+"),
        )
    )


def of_numbers(choose: Choices, n: int) -> str:
    number = choose.one(NUMBERS)
    return choose.one(
        (
            wrapped(f"p.x > {number}"),
            wrapped(f"p.y == {number}"),
            wrapped(f"p.x in (1, {number})"),
            wrapped(f"p.y * {number} > 1"),
            wrapped("p.ok", within=number),
            wrapped("p.ok", within=f"{number} years"),
            wrapped("p.ok", within="1 " + choose.one(("fortnight", "ns", "ß", "second minute", "us us"))),
            wrapped(f"k[i-{number}].x > 1", "k[]", "a+ k[]"),
            wrapped(f"prev(p.x, {number}) > 1"),
            wrapped("p.ok", shown=f"p.x + {number} AS c1"),
            wrapped(" * ".join([number] * min(n, 60)) + " > p.y"),
            wrapped("2 ** 2 ** 2 ** 2 ** 2 ** p.x > 1"),
            of_sql(within=number),
            of_sql(within=f"INTERVAL '{number}' DAY"),
            of_sql(define=f"A AS x > {number}"),
            of_sql(define=f"A AS PREV(x, {number}) > 1"),
            of_sql(define=f"A AS CAST(x AS DECIMAL({number}, 2)) > 1"),
            of_sql(measures=f"LAST(x, {number}) AS c1"),
            of_sql(define=f"A AS ROUND(y, {number}) > 1 AND SUBSTR(s, {number}) = 'w'"),
        )
    )


def cut(choose: Choices, n: int) -> str:
    """A text that ends too early, or goes on."""
    whole = choose.one((wrapped("p.x > 1 and p.s == 'w'"), of_sql(define="A AS x > 1 AND s = 'w'"), wide(choose, min(n, 60))))
    place = choose.number(0, len(whole))
    return choose.one(
        (
            whole[:place],
            whole[place:],
            whole[:place] + choose.one(("'", '"', "/*", "--", "{", "(", "[", "\\", "$$", "`", "#")) + whole[place:],
            whole + " " + whole,
            whole + ";" * min(n, 300),
            whole[:place] + " " * n + whole[place:],
            "/* " * min(n, 300) + whole,
        )
    )


def strange(choose: Choices, n: int) -> str:
    """Letters of all kinds, at places of all kinds; long names."""
    whole = list(choose.one((wrapped("p.x > 1 and p.s == 'w'"), of_sql(define="A AS x > 1 AND s = 'w'"))))
    for _ in range(choose.number(1, 5)):
        whole.insert(choose.number(0, len(whole)), choose.one(STRANGE))
    name = choose.one(("x" * n, "é" * n, "_" * n, "class", "None", "e", "r", "\u202e" * 3, "SELECT", "a.b.c"))
    return choose.one(
        (
            "".join(whole),
            wrapped(f"{name}.x > 1", name, f"a {name}", shown=f"{name}.x AS c1"),
            wrapped("p.ok", shown=f"p.x AS {name}"),
            wrapped(f"p.{name} > 1"),
            wrapped(f"p.s == '{name}'"),
            wrapped(f"{name}(p.x) > 1"),
            wrapped("p.ok", pattern=f"{name} p"),
            of_sql(name, f"{name} AS x > 1", f"{name}.x AS c1"),
            of_sql(measures=f"A.x AS {name}"),
            of_sql(of=name),
            of_sql(define=f"A AS {name}(x) > 1"),
        )
    )


def damaged(choose: Choices, n: int) -> str:
    """A text with some letters changed, repeated, left out."""
    text = list(choose.one((wrapped("p.x > 1 and k[i].y > p.y", "p, k[]", "a p, b+ k[], ~(c n)"), of_sql("A+ (B | C){2}"))))
    for _ in range(choose.number(1, 6)):
        place = choose.number(0, len(text) - 1)
        text[place] = choose.one(("", "(", ")", "{", "}", "~", "\0", "9" * 30, " and ", "SEQ", ",", "|", "+", "*", text[place] * 3))
    return "".join(text)


KINDS = (deep, wide, wide, repeated, of_numbers, cut, strange, damaged)


def hostile(choose: Choices) -> str:
    """A hostile text."""
    return choose.one(KINDS)(choose, choose.one(SIZES))
