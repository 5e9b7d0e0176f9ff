"""The daemon's own interfaces: the control socket of the command line, health and metrics."""
