"""The clarification loop (CLAR): asked for one slot, answered by a patch, continued in a new run."""
