"""Tables out and in: what all rooms above share where a user's table comes or one leaves (`punctuation.door` opens them).

event_class     the class of a table's events
event_batch     the events of a table as columns
listed_columns  columns as lists, for rows one by one
frame           a whole frame, each column decoded once; what is wrong with it in words
answer          columns that leave, as a table of the kind that came
seen_rows       the last rows that an operator has taken, for those who look back
table_times     times read as ticks, and given back in the type that they came in
files           CSV, JSON lines (text_files) and Parquet -> Arrow tables; file_bytes: of a file, or of standard input as they come
formats         the names of forms, and of formats of messages
file_columns    the columns of a file in the form of an operator; a value that does not fit is named by its row
placed_file     lines of a file from a place on; input_shape: the columns of an input, for later files and runs
appended        output that is appended to, and cut back; settled_order: changes in an order that follows from them alone
file_writing    tables -> Parquet, JSON lines, CSV; column_texts: values as JSON, times as ISO 8601
whole_file      a file that a user has named, written as a whole, over nothing of another kind
"""
