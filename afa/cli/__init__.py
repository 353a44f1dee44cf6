"""The command line ``afa``: `run` a pattern over a file, `show` a pattern, swap its arcs. Only here typer and rich are imported.

main            commands; flags: their options, each once; request: what the user asked for
load            file.py:name -> a pattern; query.sase, query.sql, a builder -> Query over the input's columns; a folder -> Rules
pattern_run     a pattern over an input, as a command runs it
batches_in      the input in the operator's form, batch by batch: which columns are read, what of --diff means a retraction
opened_input    a file, a pipe, or messages of a database (`afa.feeds`)
whole_run       the tables of a statement by their names, --input: over one as over INPUT, else by DuckDB
run             batches, promises, changes, reasons and the report; run_loop: the loop; follow: what --arcs brings
state_run       the loop with --state; state_input: files and folders from a place on; saved_run: what stands beside the snapshot
arcs            afa arcs: lines of an arc log, written and listed (arcs_work)
rule_commands   afa rules: lines of a log of rules, written and listed (rule_log_work)
vary            --vary: a function called with many values, a sweep over the input
replay_run      what `afa replay` finds, and the plan; what `afa index` writes
show            what `afa show` shows
device_list     what `afa devices` lists, and measures
why             what `afa why` counts, over which rows, and shows; what is said if nothing has matched
screen          what is shown; advice: what the user of a query should know
new             what `afa new` writes: an event class and a first pattern; new_example: an example with its input
output_table    changes in one schema: members of --members, reasons of --reasons
rule_output     changes of a set of rules, each with its rule
output_form     changes as they are, as Debezium's messages, as upserts
write           where the changes go; never over what is read
console         a console, plain tables, progress bars
run_metrics     the numbers of a run, for Prometheus; metrics_server: /metrics, /healthz
fault           one clear line for whatever is to be told, or goes wrong; log: as JSON
"""
