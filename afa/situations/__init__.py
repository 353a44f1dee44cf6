"""Situations: what lasts, how it overlaps, told at the earliest instant and taken back when readings change.

relations                 Allen's thirteen relations, and which are still possible while ends are being seen
situation                 `Situation`: a condition that lasts, and how long it has to
where_text                the text of ``where``: constraints between definitions; consistency: whether they can hold together
situation_aggregates      what a match tells of a situation's readings
configurations            where a match stands, and by which instants it goes on
configuration_names       states and arcs by their meaning
pattern_automaton         the classes of instants and matches, and the automaton; pattern_window: how long a match may take
temporal_pattern          `TemporalPattern`; explain_pattern: what became of one; readings_asked: one on its way to workers of Spark
judged                    which definitions a reading satisfies, by the conditions in force
key_standing              how the situations of a key stand at a time, and what becomes of them at the next; folds: aggregates;
                          standing_data: as plain data
readings                  the readings of one key in order, and what was told of them
told_forms                what is told of situations: instants, or records
deriving                  readings to situations, as a stage; pattern_operator: at the operator of a pattern
pattern_changes           from one pattern to another in a running operator
reading_columns           the same as readings, of all keys by columns; column_readings: between two tables;
                          column_folds: aggregates; reading_tables: the way of tables through the stage
reading_pieces            readings of tables, brought into order; reading_sources: where they stand; satisfied: what they satisfy;
                          reading_slices: judged in slices of time, side by side
situated                  situations at the input of an operator; situations_alone: `Derive`
"""

from afa.situations.situation import Situation
from afa.situations.situations_alone import Derive
from afa.situations.temporal_pattern import TemporalPattern

__all__ = ["Derive", "Situation", "TemporalPattern"]
