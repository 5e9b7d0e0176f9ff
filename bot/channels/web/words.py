"""The page's own words, in English: the keys are the contract with the page and with the catalogues.

A sentence may hold names in braces, which the page fills in.
"""

from collections.abc import Callable, Mapping
from typing import Final

from bot.texts.sentences import REASONS

WordsFor = Callable[[str | None], Mapping[str, str]]
"""The words for a language (BCP 47); None: nothing is known of the reader."""

PAGE: Final[dict[str, str]] = {
    "lang": "en",
    "title": "Discreet chat",
    "subtitle.demo": "Demo: write as anyone and see why the bot answers or keeps silent",
    "rooms": "Rooms",
    "room.log": "Messages in {room}",
    "room.empty": "Nothing has been said here yet.",
    "room.earlier": "Earlier messages",
    "room.newest": "Newest messages",
    "room.people": "{people} and {bot}",
    "audience.external": "outsiders read along",
    "audience.internal": "our own people only",
    "audience.operator": "a trusted operator",
    "compose.label": "Message to {room}",
    "compose.placeholder": "Write a message",
    "compose.as": "Write as",
    "compose.send": "Send",
    "compose.save": "Save",
    "compose.attach": "Attach files",
    "compose.detach": "Remove {file}",
    "compose.mention": "People who can be mentioned",
    "compose.to": "Addressed: {people}",
    "compose.to_nobody": "Nobody is addressed",
    "compose.replying": "Reply to {person}",
    "compose.editing": "You are editing your message",
    "compose.cancel": "Cancel",
    "message.reply": "Reply",
    "message.edit": "Edit",
    "message.delete": "Delete",
    "message.delete_sure": "Delete this message? Its words will be gone.",
    "message.edited": "edited",
    "message.deleted": "This message was deleted.",
    "message.bot": "bot",
    "message.you": "you",
    "message.in_reply": "In reply to {person}",
    "message.reply_gone": "In reply to a message that is not shown",
    "message.writing": "{bot} is writing",
    "message.download": "Download {file}",
    "message.private_note": "Only for {person}",
    "decision.show": "Show decisions",
    "decision.respond": "answered",
    "decision.mute": "silent",
    "decision.defer": "waiting",
    "decision.details": "Why: {sentence}",
    "decision.audience": "Audience",
    "decision.gates": "Gates",
    "decision.gate_passed": "passed",
    "decision.gate_stopped": "stopped here",
    "decision.gate_not_reached": "not reached",
    "decision.rules": "Rules",
    "decision.result": "Outcome",
    "decision.notes": "Notes",
    "decision.observed": "The words are kept for a while as untrusted context.",
    "try.title": "Five things to try",
    "try.button": "Try it",
    "try.as": "as {person} in {room}",
    "state.live": "Connected",
    "state.lost": "Connecting again",
    "state.leave": "Leave",
    "theme.label": "Light or dark",
    "enter.title": "Come in",
    "enter.sentence": "This link lets one person into the chat, once.",
    "enter.button": "Enter the chat",
    "enter.failed": "This link has been used or is too old. Please ask for a new one.",
    "closed.title": "You need a link",
    "closed.sentence": "People enter this chat by a personal link. Please ask whoever runs it for one.",
    "notfound.title": "Nothing here",
    "notfound.sentence": "There is no such page.",
    "error.network": "The message could not be sent. Please try again.",
    "error.unavailable": "The chat is not ready at the moment. Please try again in a minute.",
    "error.empty": "Please write something or attach a file.",
    "error.gone": "That message is not there any more.",
    "error.not_yours": "Only the person who wrote a message can change it.",
    "error.button_gone": "That button is not there any more.",
    "error.too_large": "That is too large: files may have 10 MB together.",
    "error.too_many": "That was a lot at once. Please wait a moment.",
    "error.too_long": "Please shorten the message to {limit} characters.",
    "error.malformed": "The page sent something that was not understood. Please load it again.",
    "error.forbidden": "You can't do that here.",
    "error.session": "Your visit is over. Please ask for a new link.",
}

GATES: Final[dict[str, str]] = {
    "gate.identity": "identity",
    "gate.kind": "kind of event",
    "gate.origin": "origin",
    "gate.access": "access",
    "gate.consent": "consent",
    "gate.burst": "burst",
    "gate.rate": "rate",
}

RESULTS: Final[dict[str, str]] = {
    "result.answered": "an answer was sent",
    "result.silent": "the agent chose to say nothing",
    "result.safe_error": "a short safe sentence was sent",
    "result.withheld": "the answer was stopped at the door",
    "result.acknowledged": "a short acknowledgement was sent",
    "result.stopped": "the work was stopped",
    "result.withdrawn": "the request was taken back",
    "result.control": "the gateway carried the command out itself",
}

ENGLISH: Final[dict[str, str]] = {
    **PAGE,
    **GATES,
    **RESULTS,
    **{f"reason.{reason.value}": sentence for reason, sentence in REASONS.items()},
}


def english(_language: str | None) -> Mapping[str, str]:
    """English for everybody."""
    return ENGLISH
