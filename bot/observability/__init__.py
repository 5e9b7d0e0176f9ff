"""What operators see of a running gateway: logs without secrets or bodies, metrics, health, systemd (OPS-3, OPS-4)."""
