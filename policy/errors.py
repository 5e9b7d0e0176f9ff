"""The errors of the policy package.

PolicyError
├── MalformedDestinationError   a written destination does not fit its platform   (destination)
├── MalformedAccountError       a written account does not fit its platform       (destination)
└── DocumentError               a file says something that can't hold           (tree)
"""


class PolicyError(Exception):
    """Root of what this package raises."""
