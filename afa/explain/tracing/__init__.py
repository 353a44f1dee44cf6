"""A run as a page that tells itself: what came when, what matched, what was withdrawn, and why.

recorder       `trace`: a pattern over an input; `Trace`: a stage that keeps what an operator took and told, within bounds
held_spans     partial matches that are held, as spans of one state
passed_states  the states through which the events of a path lead
page_data      what a trace keeps; all that a page shows, as plain data; the page: one file with its data, its style and its
               script (``page/``)
"""
