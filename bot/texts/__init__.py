"""What the gateway itself says to people: gettext catalogues in five languages (OPS-5)."""
