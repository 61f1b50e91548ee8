"""The review desk: local pages on which people see and decide what waits.

Plain HTML from the server, forms without scripts, loopback only (``guard``). Every decision is made by the store call
that the command line makes too, names a person and a reason, and is never overwritten.
"""
