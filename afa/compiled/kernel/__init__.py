"""The kernels: what the compiled engine does with events, in a subset of Python that is translated to LLVM IR.

    entry      what may be asked of the kernels
      many               the records of a batch, and what concerns many keys
      by_key             the records of a batch side by side by key; due_keys: which keys a punctuation concerns
      append_packed      rows in order of a packed key, without opening its record
      one_key            one key: its records, its lists brought up to date, or all of it taken back
      events, order      events in and out of steps, in the order of LE (and sequence)
      propagate          Algorithm 1 over the marked steps; propagate_runs: with ignorable runs, in buffers; step: one of them
        derive             what a list of partial matches becomes by a step
        closure            by epsilon arcs and time-outs
        gaps               numbers without gaps: which step continues which list
        lists              the same partial match once; longest_rows: of those of one state and register the one that lasts longest
        matches            what they stand for -> output log
      longest_forward    the common case where only the longest count: rows in order; longest_replay: the steps behind late ones
        longest_step       what one event changes of their list; longest_list: in columns; longest_matches: of its rows
        skyline            its rows in the order of a field; group_sums: what is known of eight rows at a time
      forward            the common case: rows in order, at once; other_rows: the promises and changes of arcs among them;
                         late_rows: rows of one key that are brought into order for it; one_step: a step that its loops leave;
                         parts: long lists, of which an event looks at those alone that it may move; parts_by_state: by state
                         row_loop: its loop; join: the lists that the loop has written, stored as runs
      arc_cursor         which arcs are in force at an instant; swap: arcs that change in the midst of a batch
      clean              what a punctuation lets go; prune: what one with a condition does; report: what is held, what comes out;
                         ends: which beginnings are over, and why; living: where the first began that may go on
      paths              what leads to a match, for its lineage; path_ends: where it ends; live_paths: backward;
                         path_sums: sums over all paths; path_rows: the list on the way; path_layout: the table
      key_states         what a snapshot holds

key_out      keys -> their numbers, and back: a table of its own, in arrays of its own
  key_table          look for keys, give and forget numbers
  key_hash           where a key stands; key_records: keys that are no word; key_rebuild: the table made anew
  key_layout         where everything stands in these arrays

layout       where everything stands in the arrays: read it first; record: what a record is; named_fields: its fields -> words
blocks       the state of one key as a block of words; buffers: lists as rows, where runs are kept
packed_keys  the state of a key that holds little, as a record of a few words; unpacked: where one is opened; looked_at: for Python
heap         undo log, blocks on a heap; slabs: records in pages
native_call  native code called by address; what marks a kernel

One late event on its way through these files, as the pictures at their heads show it; step 2 is the new one, LE 7:

    entry.main(PUSH) > one_key.serve          the key's block, its words in the undo log
    events.merge     order   [0 1]   -> [0 2 1]            its place by LE, marked
    propagate        nodes   2: -     -> [p' b]             derived from the list of step 0; b begins here
                             1: [q]   -> [q']               derived from the list of step 2, for it changed
    matches          log     : (-, q's match) (+, q' match)
    (the next step's list is what it was: propagation ends)

What kernels take goes by the same names everywhere:

    m, w, p   `Memory`, `Scratch`, `Program`, shape (n,)  c          the batch, shape (rows, records)
    b         address of a block in m                     key        number of a key: its entry in the directory
    i         number of a step                            place      where a step stands in the order
    a, rows   a list: the array and its first word        n, s       how many rows it has, of ``s`` words
    le, t     times, in ticks                             x          a record, or a row of the columns, or the `Loop`

What they return says their docstring. A *status* is DONE or a number below 0: NEED_* for room that is missing, FAULT and ENDLESS
for the user's functions, CROWDED and LATE for records (`layout`). No kernel raises: the engine provides what is missing and asks
again, or takes the call back.

docs/how-it-works.md follows one late event with values.
"""
