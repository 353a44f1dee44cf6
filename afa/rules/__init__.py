"""Many rules in one operator: a set of patterns over one stream, each match with the rule whose it is.

rules               `Rules`, the set, which makes operators
rule_texts          what a set is made of, read from a dict or a folder
rule_set_operator   the operator: which rules see an event, what they tell, rules that come and go
set_input           what comes: events in their form, as rows, and watermarks
event_rows          changes of events as columns and as changes
held_events         the events from which a rule may still begin in the past
standing_rules      the rules of a running set, by number and by name
rule_tables         matches of many rules as changes, and as one table
rule_snapshot       restored from bytes, with the same rules or others
rule_lines          a line of a log of rules, and what it does to a set
rule_log            rules as lines of text in a folder, which a running set follows
found_rules         the matches of a set in a whole frame

shape           a rule, taken apart: structure, conditions on single events, constants, window, names
index           from events to the rules of which a condition on them is true; index_kernel asks the entries
concerned       which events a rule must see: where a match may begin, and what may move one on
units           of each rule and key, which events the store has; unit_kernel does it, unit_layout says where all stands
shape_store     the state of rules that have shapes: one operator for each shape, over pairs of an event and a rule
pair_batch      pairs as the operator of a shape takes them, and its matches, as columns
own_operator    a rule with an operator of its own: what has no shape, and the reference for all that is faster
"""
