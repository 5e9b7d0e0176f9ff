"""The path of an event through the daemon: stored, read, judged, recorded, then handed to whoever it concerns."""
