"""The lab: the environment in which the four mechanisms act. It imports no instrument."""
