"""The gateway daemon: the shell around the pure core of :mod:`policy` and :mod:`forms`."""
