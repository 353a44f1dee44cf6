"""The kernels: what the compiled engine does with events, in a subset of Python that is translated to LLVM IR.

    entry      all that a caller may ask of the kernels
    dispatch   which body serves which key and batch: one table
      many               the records of a batch, and work on many keys
      by_key             the records of a batch side by side by key; due_keys: the keys that a punctuation concerns
      append_packed      rows in order of a packed key, without opening it
      one_key            one key: its records, its lists brought up to date, or all of it rolled back
      events, order      events in and out of steps, in the order of LE (and sequence)
      propagate          Algorithm 1 over the marked steps; propagate_runs: with ignorable runs, in buffers; step: one of them
        derive             the list of a step from the list before it
        closure            epsilon arcs and time-outs
        gaps               numbers without gaps: which step continues which list
        lists              each partial match once; longest_rows: of each state and register the one that lasts longest
        matches            partial matches in final states -> output log
      longest_forward    the common case where only the longest count: rows in order; longest_replay: steps behind late rows
        longest_step       one event changes their list; longest_list: its rows; longest_matches: their matches
        longest_best       what an event makes of the best rows only; skyline: the rows in the order of a field
      forward            the common case: rows in order, at once; other_rows: the promises and changes of arcs among them;
                         late_rows: rows of one key, brought into order for it; one_step: a step that its loops leave;
                         parts: long lists, in parts that an event moves or passes over; parts_by_state: by state;
                         kept_parts: parts that outlast a call
                         row_loop: its loop; join: the lists that the loop has written, stored as runs
      scan_orbits        where a scan chooses (AFTER MATCH SKIP): what is shown, and what a change of rows changes in it
        scan_rows          what becomes of all attempts by one row; scan_shared: once for all rows alike;
                           scan_folds: by many side by side
        scan_matches       where an attempt ends a match, and what that shows; scan_kept: where a long one goes on
        scan_sound         whether an image of all this can be read; scan_layout: the records of a scan
      arc_cursor         the arcs in force at an instant; swap: arcs that change in the midst of a batch
      clean              forgets what a punctuation makes final; prune: what one with a condition does; report: sizes, net output;
                         ends: beginnings that are over, and why; living: the first start of a partial match that may go on
      paths              the paths that lead to a match, for its lineage; path_ends: its ends; live_paths: backward;
                         path_sums: sums over all paths; path_rows: the list on the way; path_layout: the table
      key_states         the words of a snapshot

lane_loop    history: rows of one key after another, which nothing revises, over two lists in turn; radix_sort: its matches by time
  lane_scan          of an automaton that chooses

key_out      keys -> their numbers, and back: a table of its own, in arrays of its own
  key_table          looks for keys, gives and forgets numbers
  key_hash           where a key stands; key_records: keys that are no word
  key_layout         every record of these arrays

layout       every record of the arrays: read it first; record: a class of records; named_fields: its fields -> words
blocks       the state of one key as a block of words; buffers: lists as rows, where runs are kept
packed_keys  the state of a key that has little, as a record of a few words; unpacked: its block while in use; looked_at: for Python
heap         undo log, blocks on a heap; slabs: cells in pages
native_call  native code called by address; the mark of a kernel

Tests that run most of a file, and go red when it breaks:

    compiled/test_key_numbers                            key_table, key_hash, key_records, key_out, key_layout
    compiled/test_due_keys                               due_keys
    compiled/test_records_go_on, test_many_keys          append_packed, packed_keys, unpacked, blocks, slabs
    test_many_keys, test_sizes_of_keys                   many, by_key
    test_refused_calls, compiled/test_records_go_on      heap
    test_torn_images, test_incremental                   looked_at
    test_snapshot, test_incremental                      key_states
    compiled/test_in_force, compiled/test_arc_calls      arc_cursor
    compiled/test_arc_calls, compiled/test_arc_rows      swap, other_rows
    compiled/test_row_loop, compiled/test_runs_or_lists  forward, row_loop, join, one_step, dispatch
    frames/test_lanes                                    lane_loop, lane_scan, radix_sort
    compiled/test_out_of_order, test_gapless             late_rows
    compiled/test_parts, compiled/test_kept_parts        parts, kept_parts
    compiled/test_parts_by_state                         parts_by_state
    compiled/test_longest_forward, test_longest          all longest_*, skyline
    test_gapless                                         gaps
    test_open_timeouts                                   closure
    test_promises_with_conditions                        prune
    test_ends                                            ends
    test_keyed_threads                                   report
    lineage/test_match_paths, lineage/test_totals        paths, path_rows, path_ends, live_paths, path_layout; path_sums: the latter
    lineage/test_kept_lineage                            living
    compiled/test_names, compiled/test_translate         layout, record, named_fields, native_call
    test_cases, test_engines_agree, test_stress_sample   all others

One late event on its way through these files, as the pictures at their heads show it; step 2 is the new one, LE 7:

    entry.main(PUSH) > one_key.serve          the key's block, its words in the undo log
    events.merge     order   [0 1]   -> [0 2 1]            its place by LE, marked
    propagate        nodes   2: -     -> [p' b]             derived from the list of step 0; b begins here
                             1: [q]   -> [q']               derived from the list of step 2, for it changed
    matches          log     : (-, q's match) (+, q' match)
    (the next step's list is what it was: propagation ends)

Parameters have the same names everywhere:

    m, w, p   `Memory`, `Scratch`, `Program`, shape (n,)  c          the batch, shape (rows, records)
    b         address of a block in m                     key        number of a key: its entry in the directory
    i         number of a step                            place      where a step stands in the order
    a, rows   a list: the array and its first word        n, s       how many rows it has, of ``s`` words
    le, t     times, in ticks                             x          a record, or the `Loop`
    until     smallest RE of a partial match's events: the m of SEMANTICS.md

A *status* (`layout`) is DONE or a number below 0: NEED_* for room that is missing, FAULT and ENDLESS for the user's functions,
CROWDED, LATE and TIED for records, NUMBERS for records that Python is to look at, OVER for a list beyond the budget. No kernel
raises: the engine provides what is missing and asks again, or rolls the call back.

docs/how-it-works.md follows one late event with values.
"""
