"""The store: what must survive a crash, in SQLite (DUR-1 to 5)."""
