"""Studies of how the lab's rules affect agents: one file per study, each reproduced by one command.

A study's file has a ``CLAIM`` of one sentence, what would refute it, a ``SWEEP`` of arms (ordinary runs of the lab, as
data), ``score`` (numbers with intervals and a verdict) and ``figure``. ``registry`` finds the files.
"""
