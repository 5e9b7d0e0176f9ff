"""The refusals of the tool itself: plain English constants that name nothing (CMD-3, CMD-4)."""

from typing import Final

from bot.model.errors import CommandError

TEXTS: Final = {
    "unknown_command": "There is no such command.",
    "not_allowed": "This command may not be run here.",
    "no_input_expected": "This command takes no object.",
    "object_missing": "This command needs the id of one object.",
    "unknown_object": "There is no such object.",
    "slot_empty": "A slot that this command reads is empty. Run the command that keeps it first.",
    "no_text_expected": "This command takes no text.",
    "text_missing": "This command needs a text.",
    "text_too_long": "This text is too long.",
    "busy": "A command is running in this conversation. Wait until it has ended.",
    "too_many": "Too many commands were run for this request.",
    "key_used": "This key was used for another command.",
    "question": "The form can't be opened here.",
}


def refusal(code: str) -> CommandError:
    """The error for a code: always the same, whatever was asked for."""
    return CommandError(code, TEXTS[code])
