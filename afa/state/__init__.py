"""The states of keys as data, the same for every engine: what snapshots hold.

states       states of keys as columns: only what can't be computed from the rest
packed       columns as plain data in few bytes, and back
sound        checks of restored state, as if an enemy had sealed it
plain        columns, however they came, as numpy arrays
key_columns  many keys as columns, without a Python object for each
value_numbers  values as numbers, keys and strings say
canonical    an order of keys that the keys alone decide, so that equal states are equal bytes
"""
