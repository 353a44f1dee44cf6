"""Punctuations with conditions ([AFA10] App. F.2): ``Punctuation(t, where=...)``, promises about some events only.

condition  the condition over events, out of text or a function
implied    what such promises say about all events that make a fence true
promised   and about the arcs, states and events of an automaton
"""
