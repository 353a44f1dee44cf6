"""The kernels: what the compiled engine does with events, in a subset of Python that is translated to LLVM IR.

    entry      what may be asked of the kernels
      many, groups       batches, and what concerns many keys
      unit               one unit of work: a key, its records, its lists brought up to date, or all of it taken back
      events, order      events in and out of steps, in the order of LE (and sequence)
      walk               Algorithm 1 over the marked steps; walk_runs: with ignorable runs, in buffers; step: one of them
        derive             what a list of partial matches becomes by a step
        closure            by epsilon arcs and time-outs
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

No kernel raises: each returns a status (`names`), and the engine provides what is missing and asks again, or takes the call back.
"""
