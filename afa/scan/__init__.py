"""SQL's choice made while matching: the scan over the rows of a key, revised where a row comes late or goes.

attempts        what becomes of all attempts by one row
orbits          one key: what a change of rows changes in what is shown; orbits: from where to where a scan goes
scan_engine     the engine
told            what a match is made of, as engines tell it
"""
