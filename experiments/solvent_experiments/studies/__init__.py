"""Studies: what the rules do to agents, one file per claim."""
