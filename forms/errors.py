"""The errors of the forms package.

FormError
└── CardError   a card that no channel could show   (card)
"""


class FormError(Exception):
    """Root of what this package raises."""
