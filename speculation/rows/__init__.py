"""Rows of words in kernels: the events of a `LastBefore`, tables in, tables out.

row_layout    where everything stands in the arrays
row_order    rows are compared and sorted
row_lists    the rows of a key in order: places, merging a batch, undoing it
row_lasts    for each condition the last event before a place
row_entry    what may be asked of the kernels
row_memory   the arrays and how they grow; the kernels as native code
row_words    records as words, and back
row_tails    tables in order as columns, without the kernels
"""
