"""Studies: what the rules of the lab do to those who act under them, one file a study, each rebuilt by one command.

A study's file has its ``CLAIM`` (one sentence), what would refute it, its ``SWEEP`` (arms, which are ordinary runs of
the lab, as data), ``score`` (numbers with intervals and a verdict) and ``figure``. ``registry`` finds the files.
"""
