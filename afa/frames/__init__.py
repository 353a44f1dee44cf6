"""Whole frames, in lanes or through operators, for `afa.find` and `afa.backtest`. Nothing is kept but of a prepared frame.

frame_reading    which columns hold the times and the revisions of a frame, and what its end promises
asked            a pattern, bound to a tick: what makes its operators, and which columns they take
message_rows     rows that are messages (id=): those whose events are in force
slicing          rows by time, in groups of keys, cut into slices with a promise each
lanes            history in lanes, a key or a slice of its time each, and what of it goes by operators
lane_order       the rows of a frame by key and time, cut into lanes; lane_budget: what a sweep may take
prepared         a frame whose rows are sorted and encoded once, for many calls
through          slices through an operator; slices of time side by side, of patterns whose matches say when they begin; jobs on
                 all cores
result_order     the order in which matches stand in a result
arrival          what a live run would have withdrawn
found            matches as a frame of the kind that came in
"""
