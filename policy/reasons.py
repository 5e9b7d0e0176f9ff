"""Why an event was decided as it was: stable codes, each with the rules that speak through it.

The codes stand in the journal, in ``discreet policy explain`` and beside messages in the built-in chat. A code is
never renamed; a new meaning gets a new code.
"""

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """A stable reason code."""

    # asked for
    EXPLICIT_MENTION = "explicit_mention"
    DIRECTED_COMMAND = "directed_command"
    CONTROL_COMMAND = "control_command"
    DIRECT_REPLY = "direct_reply"
    DIRECT_CHAT = "direct_chat"
    OPEN_QUESTION = "open_question"
    OPERATOR_MESSAGE = "operator_message"
    TAP = "tap"
    ANSWER = "answer"
    INVITE_ACCEPTED = "invite_accepted"
    INVITE_DECLINED = "invite_declined"
    # not yet
    IDENTITY_UNKNOWN = "identity_unknown"
    UNDECRYPTABLE = "undecryptable"
    ALBUM_PART = "album_part"
    BURST_PART = "burst_part"
    FRAGMENT = "fragment"
    # kind of event
    MALFORMED = "malformed"
    SERVICE = "service"
    REACTION = "reaction"
    NOTICE = "notice"
    CHANNEL_POST = "channel_post"
    BUSINESS = "business_not_enabled"
    AUTOMATIC_FORWARD = "automatic_forward"
    WITHDRAWN = "withdrawn"
    EDIT_OF_SEEN_MESSAGE = "edit_of_seen_message"
    EDIT_BY_ANOTHER = "edit_by_another"
    EDIT_OF_UNKNOWN = "edit_of_unknown_message"
    CORRECTION = "correction"
    HISTORY = "before_first_start"
    BACKLOG = "older_than_backlog"
    # origin
    SELF_ORIGIN = "self_origin"
    BOT_ORIGIN = "bot_origin"
    SYNTHETIC = "synthetic_origin"
    # access
    UNKNOWN_CHANNEL = "unknown_channel"
    CHANNEL_DENIED = "channel_denied"
    PERSON_DENIED = "person_denied"
    PERSON_UNKNOWN = "person_unknown"
    INVITE_NOT_AUTHORISED = "invite_not_authorised"
    # consent
    ADDRESSED_TO_OTHER = "addressed_to_other"
    REPLY_TO_OTHER = "reply_to_other"
    SALUTATION_OF_OTHER = "salutation_of_other"
    UNRECOGNISED_COMMAND = "unrecognised_command"
    REPLY_AUTHOR_UNKNOWN = "reply_author_unknown"
    NOT_A_REPLY = "looks_like_a_reply"
    NO_SUBSTANCE = "no_substance"
    NO_ADDRESS = "no_address"
    # rate
    RATE_LIMITED = "rate_limited"
    # a rule failed
    RULE_FAILED = "rule_failed"


RULES: Final[dict[Reason, tuple[str, ...]]] = {
    Reason.EXPLICIT_MENTION: ("PART-1", "PART-14"),
    Reason.DIRECTED_COMMAND: ("PART-1", "PART-14"),
    Reason.CONTROL_COMMAND: ("PART-1", "PART-8"),
    Reason.DIRECT_REPLY: ("PART-1",),
    Reason.DIRECT_CHAT: ("PART-4",),
    Reason.OPEN_QUESTION: ("PART-6",),
    Reason.OPERATOR_MESSAGE: ("PART-7",),
    Reason.TAP: ("PART-1",),
    Reason.ANSWER: ("PART-1", "FORM-14"),
    Reason.INVITE_ACCEPTED: ("IDENT-5",),
    Reason.INVITE_DECLINED: ("IDENT-5",),
    Reason.IDENTITY_UNKNOWN: ("PART-14",),
    Reason.UNDECRYPTABLE: ("PART-17",),
    Reason.ALBUM_PART: ("PART-8",),
    Reason.BURST_PART: ("PART-8",),
    Reason.FRAGMENT: ("PART-8",),
    Reason.MALFORMED: ("PART-17",),
    Reason.SERVICE: ("PART-4",),
    Reason.REACTION: ("PART-1",),
    Reason.NOTICE: ("PART-5",),
    Reason.CHANNEL_POST: ("PART-16",),
    Reason.BUSINESS: ("PART-16",),
    Reason.AUTOMATIC_FORWARD: ("PART-15",),
    Reason.WITHDRAWN: ("PART-18",),
    Reason.EDIT_OF_SEEN_MESSAGE: ("PART-11",),
    Reason.EDIT_BY_ANOTHER: ("PART-11", "IDENT-1"),
    Reason.EDIT_OF_UNKNOWN: ("PART-11", "IDENT-1"),
    Reason.CORRECTION: ("PART-11",),
    Reason.HISTORY: ("PART-12",),
    Reason.BACKLOG: ("PART-12",),
    Reason.SELF_ORIGIN: ("PART-5",),
    Reason.BOT_ORIGIN: ("PART-5",),
    Reason.SYNTHETIC: ("PART-4",),
    Reason.UNKNOWN_CHANNEL: ("IDENT-2", "IDENT-5"),
    Reason.CHANNEL_DENIED: ("IDENT-5",),
    Reason.PERSON_DENIED: ("IDENT-5",),
    Reason.PERSON_UNKNOWN: ("IDENT-5",),
    Reason.INVITE_NOT_AUTHORISED: ("IDENT-5",),
    Reason.ADDRESSED_TO_OTHER: ("PART-2",),
    Reason.REPLY_TO_OTHER: ("PART-2",),
    Reason.SALUTATION_OF_OTHER: ("PART-2",),
    Reason.UNRECOGNISED_COMMAND: ("PART-1",),
    Reason.REPLY_AUTHOR_UNKNOWN: ("PART-1",),
    Reason.NOT_A_REPLY: ("PART-15",),
    Reason.NO_SUBSTANCE: ("PART-3", "PART-4"),
    Reason.NO_ADDRESS: ("PART-1",),
    Reason.RATE_LIMITED: ("PART-1",),
    Reason.RULE_FAILED: ("PART-13",),
}
