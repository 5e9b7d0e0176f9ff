"""A2H 1.0 (AGENT-1): a thin face without states and rules; it translates to questions, approvals and deliveries."""
