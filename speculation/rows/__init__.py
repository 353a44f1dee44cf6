"""Rows of words in kernels: the state of stages at the compiled operator, tables in, tables out.

row_layout    where everything stands in the arrays
row_order    rows are compared and sorted
row_lists    the rows of a key in order: places, merging a batch, undoing it
row_chains   the chain of chosen matches over them; row_lasts: events that look back
row_entry    what may be asked of the kernels
row_memory   the arrays and how they grow; the kernels as native code
row_words    records as words, and back
row_held     what the stages share
"""
