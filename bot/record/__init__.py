"""The authorised record: facts that may be said, from the policy, from files and from HTTP sources (AUTO-8)."""
