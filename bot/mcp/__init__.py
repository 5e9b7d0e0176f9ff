"""The Model Context Protocol: our tools as a server (AGENT-2), and a proxy that holds the calls of others (APPR-10).

Nothing here has rules or a store: everything is translated to ``/v1/`` of a running gateway, with the agent's own key.
"""
