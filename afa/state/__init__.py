"""The states of keys, whatever engine holds them.

states     as columns: what can't be computed again
packed     as plain data in few bytes, and back
sound      what is restored is checked as if an enemy had sealed it
canonical  an order of keys that only they decide, so that equal states are equal bytes
"""
