"""The Agent Approval Protocol: this gateway as a provider (AGENT-1 to 5)."""
