"""Which options don't go together, and why: one table for Python, the command line and Spark.

An option counts as said where its value is not the default. A pattern or a command that options contradict stands in the table
under the words that name it: "AFTER MATCH SKIP".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from afa.errors import AfaError

SKIP, ALL_ROWS, QUERY, TEMPORAL = "AFTER MATCH SKIP", "ALL ROWS PER MATCH", "a query", "a temporal pattern"
HAVING, TIES = "an automaton with having=", "ORDER BY that must tell events apart"
SPARK_WORLDS, SPARK_RULES = "Worlds on Spark", "a set of rules on Spark"
PATTERNS = {SKIP, ALL_ROWS, QUERY, TEMPORAL, HAVING, TIES, SPARK_WORLDS, SPARK_RULES}

OF_LINEAGE = ("lineage", "members", "tell", "collapse", "having")
NONE_WAITS = {*OF_LINEAGE[1:], "longest", "gapless", "keep_payloads", "retractions"}
"""Options beside which no condition of a query waits for the match. Without retractions promises may have conditions."""
OF_MATCHES = ("members", "tell", "collapse", "having")


class Conflict(NamedTuple):
    """Two options, or a pattern and an option, that contradict each other."""

    one: str
    other: str
    why: str


class Need(NamedTuple):
    """An option that has a meaning only beside another one."""

    one: str
    other: str
    as_said: str
    why: str


def _each(names: Iterable[str], other: str, why: str) -> list[Conflict]:
    return [Conflict(other, name, why) for name in names]


CONFLICTS: tuple[Conflict, ...] = (
    Conflict("gapless", "id", "an id names events that are retracted, and numbers without gaps never need a retraction"),
    Conflict("retractions", "id", "an id names an event for its retraction, and a revision"),
    *_each(OF_LINEAGE, "keep_payloads", "lineage tells events, which are not kept then"),
    *_each(OF_LINEAGE, "gapless", "lineages are not kept of numbered events"),
    *_each(("members", "tell"), "collapse", "a record stands for all matches of a payload; it has no events of its own"),
    *_each(("members", "tell", "collapse"), "having", "having= chooses matches by their paths, and tells nothing else of these"),
    Conflict("longest", "having", "having= asks of each match, longest=True holds one of many"),
    Conflict("gapless", "keep_payloads", "the number is part of the payload"),
    Conflict("arc_punctuation", "keep_payloads", "without payloads arcs change from the present on only"),
    *_each(OF_MATCHES, HAVING, "it chooses matches by a condition on their paths of its own"),
    Conflict(HAVING, "longest", "it asks of each match, longest=True holds one of many"),
    *_each(("keep_payloads", "gapless"), HAVING, "its condition asks for the paths of matches, and so for all events"),
    Conflict(TIES, "keep_payloads", "the columns of ORDER BY are part of the payload"),
    *_each(sorted(NONE_WAITS), "postpone", "conditions that wait are asked of the paths of each match as it leaves"),
    Conflict(QUERY, "window", "the query says it (WITHIN)"),
    Conflict(QUERY, "order_by", "the query says it (order_by= of afa.query, ORDER BY)"),
    *_each(OF_MATCHES, ALL_ROWS, "its rows are the events"),
    Conflict(SKIP, "longest", "it chooses among all matches"),
    *_each(("collapse", "having"), SKIP, "it shows single matches, each with the one path that it has chosen"),
    Conflict(SKIP, "gapless", "a match takes neighbours, whatever their numbers"),
    Conflict("state", "vary", "each run of a sweep begins anew"),
    *_each(("arcs", "rules"), "state", "it does not hold how far the log was read"),
    *_each(("reasons", "report"), "state", "reasons are told of rows that this run has taken"),
    Conflict("state", "force", "it writes over nothing"),
    Conflict("vary", "lateness", "what each variant finds is final"),
    Conflict("vary", "speculation", "what each variant finds is final"),
    Conflict("vary", "arcs", "each variant has the arcs that the function gives it"),
    *_each(("arcs", "vary"), "rules", "a log of rules changes a folder of rules"),
    Conflict("vary", "metrics", "its variants run all at once, not as rows come"),
    Conflict("vary", "members", "the matches of variants come without their events"),
    *_each(("reasons", "report"), "vary", "the matches of variants come without their reasons"),
    *(Conflict(told, name, "reasons are told of matches") for told in ("reasons", "report") for name in ("collapse", "having")),
    *_each(("reasons", "report"), "speculation", "reasons tell what each row did as it came"),
    Conflict("vary", "collapse", "the matches of variants are counted one by one"),
    Conflict("vary", "having", "the matches of variants are found without their paths"),
    *_each(
        ("reasons", "report"), "version", "a reason names one event that came or went, and a version may bring one and take another"
    ),
    Conflict("vary", "id", "the rows of variants are taken in no order"),
    Conflict(SPARK_WORLDS, "window", "they say it themselves"),
    Conflict(SPARK_WORLDS, "order_by", "they say it themselves"),
    Conflict(SPARK_WORLDS, "until", "an event lives for the window of Worlds"),
    Conflict(SPARK_WORLDS, "arcs", "their arcs stay"),
    Conflict(SPARK_WORLDS, "speculation", "matches come as early as possible, with a confidence that may change"),
    Conflict(SPARK_WORLDS, "checkpoint", "their keys stay in their buckets"),
    Conflict(SPARK_WORLDS, "longest", "matches of different worlds are one"),
    Conflict(SPARK_WORLDS, "partial_matches", "each world has operators of its own"),
    Conflict(
        SPARK_WORLDS,
        "members",
        "each world has events of its own behind a match; put identities into the register",
    ),
    Conflict(SPARK_RULES, "speculation", "matches come as early as possible"),
    Conflict(SPARK_RULES, "members", "a column of members has one type, and the events of rules may stand in several components"),
    *_each(
        ("id", "version", "on_repeat", "remember"),
        SPARK_RULES,
        "messages are for a match of one pattern; make events of them",
    ),
    Conflict(TEMPORAL, "arcs", "its arcs follow from where="),
    *_each(("reasons", "report"), TEMPORAL, "instants stand behind its matches, and no readings"),
    Conflict(TEMPORAL, "id", "a late reading revises others, so that a retraction names its whole reading"),
    *_each(
        OF_MATCHES, TEMPORAL, "the events of its operator are instants, no readings; returns= tells of the readings of situations"
    ),
)

NEEDS: tuple[Need, ...] = (
    Need("insert", "retract", "--retract", "both say which values of the column of --diff mean what"),
    Need("retract", "insert", "--insert", "both say which values of the column of --diff mean what"),
    Need("insert", "diff", "--diff", "it is the column that holds such values"),
    Need("state", "output", "--output", "what is printed can't be taken back"),
    Need("state_every", "state", "--state", "it says how often that is written"),
    Need("follow", "state", "--state", "without one the output appears when the job has ended; tail -f FILE | afa run PATTERN -"),
    Need("on_repeat", "version", "version= (--version)", "the largest version is in force"),
    Need("version", "on_repeat", 'on_repeat="update" (--on-repeat update)', "it says which message of an id is in force"),
    Need("version", "id", "id=", "it orders the messages of an id"),
    Need("remember", "id", "id=", "it says how long an id is remembered"),
    Need("keep_payloads", "retractions", "retractions=False", "an event that is gone can't be found without its payload"),
)

RULES: tuple[Conflict | Need, ...] = (*CONFLICTS, *NEEDS)
OF: dict[str, list[Conflict | Need]] = {}
"""The rules by their first option."""
for each in RULES:
    OF.setdefault(each.one, []).append(each)


def check(said: Mapping[str, Any], spelled: Callable[[str, Any], str] | None = None) -> None:
    """Refuse options that contradict each other.

    ``said`` has the options that differ from their defaults, by name (a pattern or a command by its words, with any value);
    ``spelled`` returns how an option and its value are written: None, as in Python.

    >>> check({"collapse": "price", "tell": "lineage"})
    Traceback (most recent call last):
    ...
    punctuation.base_errors.AfaError: collapse='price' can't be combined with tell='lineage' because a record stands for all \
matches of a payload; it has no events of its own
    """

    def write(name: str, value: Any) -> str:
        return name if name in PATTERNS else (spelled or _python)(name, value)

    for rule in (rule for name in said for rule in OF.get(name, ())):
        if (rule.other in said) is isinstance(rule, Conflict):
            one = write(rule.one, said[rule.one])
            if isinstance(rule, Conflict):
                two = [one, write(rule.other, said[rule.other])]
                if rule.one in PATTERNS:  # the option first
                    two.reverse()
                raise AfaError(f"{two[0]} can't be combined with {two[1]} because {rule.why}")
            raise AfaError(f"{one} needs {rule.as_said} because {rule.why}")


def _python(name: str, value: Any) -> str:
    return f"{name}={value!r}"
