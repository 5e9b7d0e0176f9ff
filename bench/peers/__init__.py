"""Bare echo bots: the least that somebody would write on each library."""
