"""Whose messages belong together (CLAR-1)."""
