"""Tables out and in: what all rooms above share where a user's table comes or one leaves (`punctuation.door` opens them).

frame           a whole frame, each column decoded once, what is wrong with it in words
event_batch     the events of a table as columns
listed_columns  columns as lists, for rows one by one
answer          columns that leave, as a table of the kind that came
table_times     times read as ticks, and given back in the type that they came in
"""

from afa.io.answer import Answer
from afa.io.event_batch import EventBatch, batch_of
from afa.io.table_times import TimeType

__all__ = ["Answer", "EventBatch", "TimeType", "batch_of"]
