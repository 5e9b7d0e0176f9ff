"""How things leave: the door that clears each part, and the dispatcher that carries cleared parts in order."""
