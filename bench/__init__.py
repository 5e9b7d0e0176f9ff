"""What is measured, against what: the gateway beside its peers, in one run, on the emulated Bot API."""
