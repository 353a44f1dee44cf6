"""Whole frames through operators, for `afa.find` and `afa.backtest`. Nothing of them is kept when they return.

frame_reading    which columns hold the times and the revisions of a frame, and what its end promises
asked            a pattern, bound to a tick: what makes its operators, and which columns they take
slicing          rows by time, in groups of keys, cut into slices with a promise each
through          slices through an operator; slices of time side by side, of patterns whose matches say when they begin; jobs on
                 all cores
arrival          what a live run would have withdrawn
found            matches as a frame of the kind that came in
"""
