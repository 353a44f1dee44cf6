"""Many rules in one operator: rules of one shape share code and state, and differ in constants.

shape           a rule, taken apart: structure, conditions on single events, constants, window, names
index           from events to the rules that they concern
shape_store     the state: one operator for each shape, over pairs of an event and a rule
"""
