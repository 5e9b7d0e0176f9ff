"""Values that the rooms of the gateway hand to each other."""
