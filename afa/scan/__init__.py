"""SQL's choice made while matching: the scan over the rows of a key, revised where a row comes late or goes.

    plan          the arcs of each state in the order in which a scan tries them; where it goes on behind a match
    rows          the rows of a key, and what becomes of all attempts by each
    folds         what becomes of all attempts by many rows side by side: a tree of folds over the rows
    scan          one key: what a change of a row changes in what is shown
"""
