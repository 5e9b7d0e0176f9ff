"""For the other side: what an agent imports to ask people through a gateway. Nothing of the daemon is loaded here."""
