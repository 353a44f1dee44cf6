"""Random worlds: how one is made, what must hold in it; one runner, one report of what fails, one shrinker.

``python -m tests.worlds --list`` names the kinds, ``python -m tests.worlds NAME --worlds 10000 --seed 1`` runs worlds of one.

kind.py       a kind of worlds: generate, run, check, shrink
apart.py      worlds in processes of their own, within seconds and bytes
registry.py   where each kind is
"""
