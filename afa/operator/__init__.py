"""The operator: one automaton over one stream, or over one stream for each key.

contract       what a pattern is: what makes operators of itself; patterns: an automaton as one
operator       Operator: one stream, or with a key a Keyed; keyed: one state for each key, under shared arcs and promises;
               matching: what both have
options        all that can be said of an operator beside its pattern; speculated: an operator with a stage that holds back
call           what both share: a call is all or nothing; promises, arcs in force, the order of output; single: beside a stage
gapless        the field that orders events of one LE; events numbered without gaps: repeated numbers, final gaps
lifetimes      RE given, or LE + window; way_back: from a single event that fails
match_lineage  which events stand behind a match (`afa.lineage`); announced: those of a call's matches, and which have changed;
               members, member_columns: what is told of them, in changes and in tables; kept_lineage: what is held for it;
               told_anew: what leaves in their place, derived around each call; collapsed_output: records of all paths;
               postponed_output: those of which a path satisfies a condition; lineages_told: which of these an operator tells
touched        which events a call has touched, for a stage that reads them
arc_input      arcs as the second input; named_swap: one in the place of another; log_polls: those of an arc log
tables         a call that brings tables; table_rows: their rows one by one
named_events   retractions that name an id; named_rows: of events that came in tables
rows           changes as people have them: with datetimes, as dicts, as rows
snapshot       state as bytes, without pickle; saved_arcs: how it refers to arcs; old_waits: time-outs of earlier versions
statistics     what is held and was done, and what time-outs may still bring
shipping       operators pickled; twins: copied; weak_method: what an operator holds calls it back
"""
