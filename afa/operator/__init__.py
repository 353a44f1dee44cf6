"""The operator: one automaton over one stream, or over one stream for each key.

contract       what a pattern is: what makes operators of itself; patterns: an automaton as one
operator       Operator: one stream, or with a key a Keyed: one state for each key, under shared arcs and promises;
               matching: what both have
options        all that can be said of an operator beside its pattern; speculated: an operator with a stage that holds back
call           what both share: a call is all or nothing; promises, arcs in force, the order of output
single         an event as a call of its own, alone or beside a stage
event_input    events: in form, RE given, or LE + window, late or not; what a punctuation brings
arc_input      arcs as the second input; named_swap: one in the place of another
gapless        the field that orders events of one LE; events numbered without gaps: repeated numbers, final gaps
told_anew      output that follows from paths, read around each call
               announced: matches with members, told again when their events change, and which output an operator tells;
               members: what is told of them, in changes and in tables; collapsed_output: records of all paths;
               postponed_output: matches of which a path satisfies a condition
match_lineage  which events stand behind a match (`afa.lineage`); kept_lineage: what is held for that
tables         a call that brings tables; table_rows: their rows one by one
rows           changes as people have them: with datetimes, as dicts, as rows
snapshot       state as bytes, without pickle; saved_core: all but the states of keys, and how it refers to arcs;
               saved_options: its options by name; plain_data: msgpack; old_waits: time-outs of earlier versions
checkpoint     a snapshot, with its places in input and output, on disk: one commit
statistics     what is held and was done, and what time-outs may still bring
shipping       operators pickled; twins: copied
"""
