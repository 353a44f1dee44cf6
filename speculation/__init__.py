"""What may still change: tools around the operator's speculative output ([AFA10] Sec. 2.4, 5.3).

control       what moves the sigma of Cleanse.auto, so that a stated bound holds
tradeoff      what speculation costs and buys on a stream, over sigma
consolidate   changes folded into the matches that they leave in force; Consolidate, the same as a stage
cleanse       Cleanse: how far ahead of the last punctuation changes may go
around        Around, Front: what stands around an operator, or around one that has a stage already
before_after  Before, After: a stage at the input or at the output of an operator
layers        the stages of a pattern, put around its operator, and all that a snapshot holds
stage         what the stages share; stage_state: as bytes
recent        the last so many items, by age and in order
waiting       the store of what waits: changes, or rows of tables; event_columns: the form of such rows
choose        Choose: which of overlapping matches are shown; chain: the chosen ones of one key
match_numbers MatchNumbers: the ranks of the matches of a query in SQL, which of them WHERE and DISTINCT let through
last_before   LastBefore: how long ago something was, as a field of the event
last_rows     its events, in rows of words; rows/: the kernels over them
look_back     LookBack: LastBefore at the input of an operator
row_view      RowView: WHERE, and fields that are computed of each event, at the input of an operator
ids           Ids: messages that come twice, late, as versions; ids_input: at the input of an operator
id_layout     id_kernel: what each message does to its id; id_entries: what is known of ids; id_rows: the contents
id_saved      an Ids as plain data; id_versions: versions as words
ordered       Ordered: an operator with gapless=, nothing speculative
"""

from speculation.before_after import After, Before
from speculation.choose import Choose, ChooseStatistics
from speculation.cleanse import Cleanse, CleanseStatistics
from speculation.consolidate import Consolidate, ConsolidateStatistics, consolidate
from speculation.ids import Ids, IdsStatistics
from speculation.ids_input import IdsInput
from speculation.last_before import LastBefore, LastBeforeStatistics
from speculation.look_back import LookBack
from speculation.ordered import Ordered
from speculation.tradeoff import Point, tradeoff

__all__ = [
    "After",
    "Before",
    "Choose",
    "ChooseStatistics",
    "Cleanse",
    "CleanseStatistics",
    "Consolidate",
    "ConsolidateStatistics",
    "Ids",
    "IdsInput",
    "IdsStatistics",
    "LastBefore",
    "LastBeforeStatistics",
    "LookBack",
    "Ordered",
    "Point",
    "consolidate",
    "tradeoff",
]
