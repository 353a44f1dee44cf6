"""Where everything stands in the table that `afa.compiled.kernel.ways` fills: rows of words, a column each.

    row Y_ASKED      what is asked, and counts: a column each, Q_*
    row Y_WANTED     the first words of registers that the match may have, one after the other
    by arc           Y_COMPONENT  Y_FORM  Y_SEEN
    by number        Y_REST  Y_MOVED  Y_GROUP  Y_ALIVE       a partial match has a number from STANDS on, the same while it stands
    by group         Y_PLACE  Y_TO  Y_EVENT  Y_OF  Y_NEXT    what leads to one partial match at one step by one pick
    by edge          Y_IN  Y_FROM  Y_BEFORE                  one partial match at the step before, or BEGUN_ANEW
    for sums         Y_LIMBS  Y_LEAST  Y_MOST  and  *_OF     by number and by group, see `afa.compiled.kernel.way_sums`

What is asked of it ends with the groups and edges from which the match is reached, steps and partial matches numbered anew:

    by step          Y_LE, and in Y_PLACE of each group its step
    by end           Y_END  Y_LAST                           a partial match that is the match, and the step at which it ends
"""

from __future__ import annotations

from afa.compiled.kernel.record import Record

Q = Record()
Q_TOLD = Q("what came of it: FOUND, or why not")
Q_LE = Q("LE of the match")
Q_RE = Q("RE of the match; in the end the largest one of what was found")
Q_BOUNDED = Q("0: by the starts of the match; EXACT, ANY: by state and register, events with an RE at or above Q_LEAST alone")
Q_LEAST = Q("the bound")
Q_EVERY = Q("whether a run may begin at any step; else at the starts of the match only")
Q_SINCE = Q("what began before is not held")
Q_WIDTH = Q("how many words of a register are compared")
Q_CHOICES = Q("with how many")
Q_TAKES = Q("bits of the states that take an event by an ignorable arc")
Q_SIZE = Q("how many columns there are")
Q_STARTS = Q("how many starts there are, at W_TEMP in order")
Q_NUMBERS = Q("one past the last number")
Q_GROUPS = Q("how many groups")
Q_EDGES = Q("how many edges")
Q_ENDS = Q("how many ends")
Q_STEPS = Q("how many steps")
Q_MEMO = Q("the row that was found last; NOWHERE: none at this step")
Q_HASHED = Q("W_STAMP of the set in which the step's list is; else another")
Q_APART = Q("whether no two ways from one partial match to others have the same pick, as far as is known")
Q_SUM = Q("what is summed up over all paths: 0, nothing; PATHS, WORDS, FLOATS")
Q_FIELD = Q("the word of a payload that is summed")
Q_KNOWN = Q("the word that says whether there is a value; NOWHERE: there is")
Q_ONLY = Q("number of the component whose events count; NOWHERE: any")
Q_LIMBS = Q("of how many limbs a number is")
Q_SCALE = Q("floats are summed as ints times a power of 2: this one")
Q_FIELDS = Q.size

Y = Record()
Y_ASKED = Y("see Q_*")
Y_WANTED = Y("words of registers")
Y_COMPONENT = Y("by arc: number of the component that it takes its event for; NOWHERE: it passes it over")
Y_FORM = Y("by arc: BY_EVENT, if its fence reads the event alone; KEEPS, if it has no transfer")
Y_SEEN = Y("by arc: twice the place of the step whose one event its fence has seen, and one more if it holds; below 0: none")
Y_REST = Y("by number: the last place at which it rested")
Y_MOVED = Y("by number: the last place at which something else led to it; in the end its new number")
Y_GROUP = Y("by number: its last group there")
Y_ALIVE = Y("by number: whether the match is reached from it")
Y_PLACE = Y("by group: its place; in the end its step")
Y_TO = Y("by group: the number that it leads to")
Y_EVENT = Y("by group: where its event stands in m; NOWHERE: none was picked")
Y_OF = Y("by group: the component; in the end NOWHERE as well where none was picked")
Y_NEXT = Y("by group: another one that leads to the same; in the end its new number; NOWHERE: none")
Y_IN = Y("by edge: its group")
Y_FROM = Y("by edge: the number that it leads from")
Y_BEFORE = Y("by edge: another one from the same number at the same step; NOWHERE: none; TWICE: the same is there already")
Y_LE = Y("by step: its LE")
Y_END = Y("by end: its number")
Y_LAST = Y("by end: its place; in the end its step")
Y_LIMBS = Y("by number, three times Q_LIMBS words: counts of paths and of pairs, a sum; in the end those of all, of BEGUN_ANEW")
Y_LEAST = Y("by number: the least value, or what orders values so; FOREVER: there is none")
Y_MOST = Y("by number: the largest one")
Y_LIMBS_OF = Y("the same by group, from the first group of a step on")
Y_LEAST_OF = Y("by group")
Y_MOST_OF = Y("by group")
Y_SIZE = Y.size

BY_EVENT, KEEPS = 1, 2  # of Y_FORM
EXACT, ANY = 1, 2  # of Q_BOUNDED: the match has RE Q_RE, and none has a larger one; it has any RE
PATHS, WORDS, FLOATS = 1, 2, 3  # of Q_SUM: counts alone; of ints, of floats
TWICE = -2  # of Y_BEFORE
BEGUN_ANEW, STANDS = 0, 2
"""The number of what stands before the first event of a run; the first number of a partial match."""
FOUND, NO_MATCH, BEFORE, BY_PYTHON, TOO_SMALL = 0, -21, -22, -23, -24
"""What comes of it; why it comes to nothing: no such match is in force, it began before Q_SINCE, Python is to say what an arc does
or what leads to a partial match, or the table has too few columns."""
