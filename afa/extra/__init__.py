"""Extra: patterns and pages on top of all others. Nothing of the core knows them.

situations/  what lasts, how it overlaps: patterns over stretches of time, by Allen's relations; its public name: `afa.situations`
uncertain/   uncertain times: matches with a confidence; its public name: `afa.uncertain`
live/        the live page of a running job
"""
