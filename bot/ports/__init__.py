"""The small Protocols through which rooms meet that must not know each other."""
