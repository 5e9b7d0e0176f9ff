"""The agents: whoever writes the answers. Each file is one way to reach one (AGENT-3); none knows the others."""
