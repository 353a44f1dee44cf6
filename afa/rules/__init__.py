"""Many rules in one operator: a set of patterns over one stream, each match with the rule whose it is.

rules               `Rules`, the set, which makes operators
rule_texts          what a set is made of, read from a dict or a folder
rule_set_operator   the operator: which rules see an event, what they tell, rules that come and go
own_operator        a rule with an operator of its own: what runs a rule, the reference for all that is faster
held_events         the events from which a rule may still begin in the past
rule_tables         matches of many rules as one table
rule_snapshot       restored from bytes, with the same rules or others
rule_log            rules as lines of text in a folder, which a running set follows
found_rules         the matches of a set in a whole frame

shape           a rule, taken apart: structure, conditions on single events, constants, window, names
index           from events to the rules that they concern
shape_store     the state: one operator for each shape, over pairs of an event and a rule
"""
