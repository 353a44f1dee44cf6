"""Punctuations with conditions ([AFA10] App. F.2): ``Punctuation(t, where=...)``, promises about some events only.

condition  a condition over events, read from text or from a function
implied    the promise that follows for all events that make a fence true
promised   the promises that follow for the arcs, states and events of an automaton
"""
