"""The table that `afa.compiled.kernel.paths` fills: rows of words, a column each.

    row asked      the question, and counts: a column each, `PathQuestion`
    row wanted     the first words of registers that the match may have, one after the other
    by arc           component  form  seen
    by number        rest  moved  group  alive       a partial match has a number from STANDS on, the same while it stands
    by group         place  target  event  component_of_group  next    what leads to one partial match at one step by one pick
    by edge          group_of  source  before                  one partial match at the step before, or BEGUN_ANEW
    for sums         limbs  least  most  and  *_of     by number and by group, see `afa.compiled.kernel.path_sums`

In the end it has the groups and edges from which the match is reached, steps and partial matches numbered anew:

    by step          le, and in place of each group its step
    by end           end  last                           a partial match that is the match, and the step at which it ends
"""

from __future__ import annotations

from afa.compiled.kernel.record import Record


class PathQuestion(Record):
    """The words of the row `asked`."""

    told = Record.word("the answer: FOUND, or why not")
    le = Record.word("LE of the match")
    re = Record.word("RE of the match; in the end the largest one of what was found")
    bounded = Record.word(
        "0: by the starts of the match; EXACT, ANY: by state and register, only events with an RE at or above PathQuestion.least"
    )
    least = Record.word("the bound")
    every = Record.word("whether a run may begin at any step; else at the starts of the match only")
    since = Record.word("runs that began before are forgotten")
    width = Record.word("how many words of a register are compared")
    choices = Record.word("with how many")
    takes = Record.word("bits of the states that take an event by an ignorable arc")
    size = Record.word("how many columns there are")
    starts = Record.word("how many starts there are, at `temp` of scratch, in order")
    numbers = Record.word("one past the last number")
    groups = Record.word("how many groups")
    edges = Record.word("how many edges")
    ends = Record.word("how many ends")
    steps = Record.word("how many steps")
    memo = Record.word("the row that was found last; NOWHERE: none at this step")
    hashed = Record.word("`stamp` of the set in which the step's list is; else another")
    apart = Record.word("whether no two edges from one partial match have the same pick, as far as is known")
    sum = Record.word("what is summed up over all paths: 0, nothing; PATHS, WORDS, FLOATS")
    field = Record.word("the word of a payload that is summed")
    known = Record.word("the word that says whether there is a value; NOWHERE: there is")
    only = Record.word("number of the component whose events count; NOWHERE: any")
    limbs = Record.word("of how many limbs a number is")
    scale = Record.word("floats are summed as ints times a power of 2: this one")


class PathRows(Record, by="row"):
    """c: the table."""

    asked = Record.nested(PathQuestion, "the question, and counts: a column each")
    wanted = Record.line("words of registers")
    component = Record.line("by arc: number of the component that it takes its event for; NOWHERE: it passes it over")
    form = Record.line("by arc: BY_EVENT, if its fence reads the event alone; KEEPS, if it has no transfer")
    seen = Record.line(
        "by arc: twice the place of the step whose one event its fence has seen, and one more if it holds; below 0: none"
    )
    rest = Record.line("by number: the last place at which it rested")
    moved = Record.line("by number: the last place at which something else led to it; in the end its new number")
    group = Record.line("by number: its last group there")
    alive = Record.line("by number: whether the match is reached from it")
    place = Record.line("by group: its place; in the end its step")
    target = Record.line("by group: the number that it leads to")
    event = Record.line("by group: where its event stands in m; NOWHERE: none was picked")
    component_of_group = Record.line("by group: the component; in the end NOWHERE as well where none was picked")
    next = Record.line("by group: another one that leads to the same; in the end its new number; NOWHERE: none")
    group_of = Record.line("by edge: its group")
    source = Record.line("by edge: the number that it leads from")
    before = Record.line(
        "by edge: another one from the same number at the same step; NOWHERE: none; TWICE: the same is there already"
    )
    le = Record.line("by step: its LE")
    end = Record.line("by end: its number")
    last = Record.line("by end: its place; in the end its step")
    limbs = Record.line(
        "by number, three times `limbs` words: counts of paths and of pairs, a sum; in the end those of all, of BEGUN_ANEW"
    )
    least = Record.line("by number: the least value, or what orders values so; FOREVER: there is none")
    most = Record.line("by number: the largest one")
    limbs_of = Record.line("the same by group, from the first group of a step on")
    least_of = Record.line("by group")
    most_of = Record.line("by group")


BY_EVENT, KEEPS = 1, 2  # of form
EXACT, ANY = 1, 2  # of PathQuestion.bounded: the match has RE PathQuestion.re, and none has a larger one; it has any RE
PATHS, WORDS, FLOATS = 1, 2, 3  # of PathQuestion.sum: counts alone; of ints, of floats
TWICE = -2  # of before
BEGUN_ANEW, STANDS = 0, 2
"""The number of what stands before the first event of a run; the first number of a partial match."""
FOUND, NO_MATCH, BEFORE, BY_PYTHON, TOO_SMALL = 0, -21, -22, -23, -24
"""Of PathQuestion.told. NO_MATCH: none such is in force; BEFORE: it began before `since`; BY_PYTHON: only Python knows what an arc
does, or what leads to a partial match; TOO_SMALL: the table has too few columns."""
