"""The record of what was decided and done: a chain of hashes that shows every change (DUR-4)."""
