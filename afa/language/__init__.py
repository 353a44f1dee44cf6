"""Queries: three notations for one pattern tree, compiled to an `Automaton`.

pattern          the tree
terms            what predicates read of a match
positions        the tree taken apart into places that take one event, and which may follow which
items            values of the match that a register can hold
presence         which fields are there in what a component has taken
later            negation that names what comes behind it: the highest or lowest of what was skipped
three_values     predicates that can be unknown, in Python's two values
preference       which way of a pattern is preferred
match_states     where a match rests, and what it skips there; steps: how it goes on
registers        which values are held in which state; what RETURN shows
payload_classes  classes of registers and payloads
lowering         tree to automaton
postponed        which conditions wait for the match, so that no register carries sums; path_conditions: how they are asked of paths
query            `Query`, `afa.query`; explain_query: what became of it; changes: from one to another, while it runs
conjuncts        conditions over several components: which one they are asked of, and when
bare_numbers     numbers that stand for time and count ticks: refused over timestamps, where nobody says what a tick is
return_names     names of what RETURN shows, where none is given
sase_reader      SASE+ text -> tree. sase_grammar: its frame; sase_pattern: PATTERN; sase_code,
                 sase_expressions: conditions; sase_returns: items of RETURN
sase_printer     tree -> SASE+ text; query_text: a query as text, and one of another text over the same events;
                  text_constants: the numbers of a text, to put others in their place
pattern_file     files of Python that hold patterns, which are run
builder          queries in Python: one, many, followed_by ..; building: what they put together -> tree; lambdas: of e and m
previous         the event before, said as an event of a component
builder_printer  tree -> Python text in the builder's words
looking_back     negation at the start, and neighbours: what a match asks the stage LastBefore; neighbours: words for them
scanned_query    AFTER MATCH SKIP: in which order a scan tries the arcs, what its matches show; rows_asked: as ALL ROWS PER MATCH
answer_rows      MATCH_NUMBER, WHERE and DISTINCT of SQL: what a match shows, and what the stage behind it makes of that;
                 gathered: COUNT(DISTINCT), ARRAY_AGG, LISTAGG, of all rows of a match
row_places       sizes of patterns: how many events each part takes
sql_reader       SQL's MATCH_RECOGNIZE -> tree: row_pattern: PATTERN; sql_expressions, first_row: DEFINE, MEASURES;
                 sql_statement: its clauses; sql_layers: the SELECTs around; sql_views: those in front, sql_select: behind;
                 sql_order: ORDER BY;
                 sql_stack: one over another, a stacked_query; computed: what PARTITION BY and ORDER BY compute;
                 sql_query: without its events; sql_text: its tokens, where a node stands; sql_nodes: what of it is read;
                 whole_statement: what stands around it, where a relational engine runs that; engine_share: and what of it;
                 engine_words: what the dialect's words mean in the engine's;
                 shown_columns: names and values of the rows' own;
                 sql_kinds, sql_values: types of values; sql_decimals: DECIMAL; sql_functions, sql_times: functions, dates, CAST
"""

from afa.language.builder import Builder, absent, either, many, one, optional, times
from afa.language.neighbours import next_, prev

__all__ = ["Builder", "absent", "either", "many", "next_", "one", "optional", "prev", "times"]
