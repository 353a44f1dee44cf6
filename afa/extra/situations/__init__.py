"""Situations: what lasts, how it overlaps, told at the earliest instant and taken back when readings change.

relations                 Allen's thirteen relations, and which are still possible while ends are being seen
situation                 `Situation`: a condition that lasts, and how long it has to
where_text                the text of ``where``: constraints between definitions; consistency: whether they can hold together
situation_aggregates      what a match tells of a situation's readings
configurations            where a match stands, and by which instants it goes on
configuration_names       states and arcs by their meaning
pattern_automaton         the classes of instants and matches, and the automaton
temporal_pattern          `TemporalPattern`; explain_pattern: what became of one; readings_asked: one on its way to workers of Spark
judged                    which definitions a reading satisfies, by the conditions in force
key_standing              what of a definition counts; how a key stands at a promise, as plain data; folds: aggregates as words
reading_layout            the arrays in which the readings of all keys stand, and what happens to their situations
reading_kernel            the state machine over them; reading_memory: as native code, how they grow
held_readings             the payloads of readings, and places where there are several; reading_tables: tables in, columns out
told_forms                what is told of situations: instants, or records
deriving                  readings to situations, as a stage; pattern_operator: at the operator of a pattern; from one to another
situated                  situations at the input of an operator; situations_alone: `Derive`
"""

from afa.extra.situations.situation import Situation
from afa.extra.situations.situations_alone import Derive
from afa.extra.situations.temporal_pattern import TemporalPattern

__all__ = ["Derive", "Situation", "TemporalPattern"]
