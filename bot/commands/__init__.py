"""Commands that an agent may run on behalf of a person (CMD)."""
