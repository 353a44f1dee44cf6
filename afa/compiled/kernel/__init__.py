"""The kernels: what the compiled engine does with events, in a subset of Python that is translated to LLVM IR.

    entry      what may be asked of the kernels
      many               the records of a batch, and what concerns many keys
      one_key            one key: its records, its lists brought up to date, or all of it taken back
      events, order      events in and out of steps, in the order of LE (and sequence)
      walk               Algorithm 1 over the marked steps; walk_runs: with ignorable runs, in buffers; step: one of them
        derive             what a list of partial matches becomes by a step
        closure            by epsilon arcs and time-outs
        gaps               numbers without gaps: which step continues which list
        lists              the same partial match once
        matches            what they stand for -> output log
      forward            the common case: rows in order, at once; forward_runs: with ignorable runs
      arc_cursor         which arcs are in force at an instant; swap: arcs that change in the midst of a batch
      clean              what a punctuation lets go; prune: what one with a condition does; report: what is held, what comes out
      key_states         what a snapshot holds

names        where everything stands in the arrays: read it first; record: how its numbers are made
blocks       the state of one key as a block of words; buffers: lists as rows, where runs are kept
heap         undo log, blocks on a heap
native_call  native code called by address; what marks a kernel

One late event on its way through these files, as the pictures at their heads show it; step 2 is the new one, LE 7:

    entry.main(PUSH) > one_key.serve          the key's block, its words in the undo log
    events.merge     order   [0 1]   -> [0 2 1]            its place by LE, marked
    walk.walk        nd of 2 : -     -> [p' b]             derived from the list of step 0; b begins here
                     nd of 1 : [q]   -> [q']               derived from the list of step 2, for it changed
    matches          log     : (-, q's match) (+, q' match)
    (the next step's list is what it was: the walk ends)

docs/how-it-works.md tells the same with values. No kernel raises: each returns a status (`names`), and the engine provides what is
missing and asks again, or takes the call back.
"""
