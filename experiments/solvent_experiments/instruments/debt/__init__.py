"""``solvent debt``: cycles of an agent under epistemic debt, and its refusals."""
