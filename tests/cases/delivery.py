"""Further kinds of cases."""

KINDS = {}
