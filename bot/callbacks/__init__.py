"""Callbacks: who asked over HTTP is told how it ended, by a signed POST to an address that the admin allows."""
