"""The world: a lab in which four mechanisms bind. It knows no instrument, and needs none to be played."""
