"""Cases made from public bug reports, run through the gateway: ``python -m tests.cases [FILE] [--only ID] [--json]``."""
