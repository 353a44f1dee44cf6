"""Turn the expressions of arcs into LLVM IR.

payload_layout  how payloads and registers stand in memory; strings: as numbers
native_arc      an arc taken apart, or the reason why Python runs it
term_types      expression -> terms, with Python's meaning; casts: from one kind to another; term: what a term is
arc_code        an arc: its shape (what its machine code depends on) and its constants
emit            terms -> LLVM IR; writer: as text; arithmetic: what overflows or divides by zero *asks*
step_function   all arcs of an automaton in one function; by_event: what an event alone decides of an arc
"""
