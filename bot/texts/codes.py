"""Codes of the sentences that people read; the words stand in the catalogues."""

from enum import StrEnum


class Failure(StrEnum):
    """Why an answer did not come (OUT-7): one plain sentence each, that asks for the smallest useful input."""

    UNAVAILABLE = "unavailable"  # the agent can't be reached or broke down
    TIMEOUT = "timeout"
    ATTACHMENT_UNREADABLE = "attachment_unreadable"
    ATTACHMENT_TOO_LARGE = "attachment_too_large"
    TOO_LONG = "too_long"
    WITHHELD = "withheld"  # the answer was stopped at the door
    BUSY = "busy"


class Notice(StrEnum):
    """Further short words of the gateway."""

    ACKNOWLEDGED = "acknowledged"  # PART-10
    STOPPED = "stopped"
    NOTHING_TO_STOP = "nothing_to_stop"
    TAP_TAKEN = "tap_taken"
    TAP_STALE = "tap_stale"
    COMMAND_NOT_HERE = "command_not_here"
    UNCLEAR_SEND = "unclear_send"  # to operators
    UNCLEAR_SENDS = "unclear_sends"  # to operators, after a crash
    CHANNEL_MOVED = "channel_moved"  # to operators
    POLICY_BROKEN = "policy_broken"  # to operators
    POLICY_LOADED = "policy_loaded"  # to operators
    RECORD_BROKEN = "record_broken"  # to operators
    RECORD_AWAY = "record_away"  # to operators
    RECORD_TWICE = "record_twice"  # to operators
    POISON = "poison"  # to operators
    DELIVERY_MUTED = "delivery_muted"  # to operators
    WITHHELD_REPORT = "withheld_report"  # to operators
    QUESTION_WITHHELD = "question_withheld"  # to operators
    RUN_FAILED = "run_failed"  # to operators
    HOLDING_WORDS = "holding_words"  # while a draft waits: not a word of that (OUT-8)
    DRAFT_SENT = "draft_sent"  # to operators
    DRAFT_REFUSED = "draft_refused"  # to operators
    DRAFT_STOPPED = "draft_stopped"  # to operators
    DRAFT_UNKNOWN = "draft_unknown"  # to operators
    PASSKEY_LINK = "passkey_link"  # to an operator, in their private chat
    PASSKEY_NO_PAGES = "passkey_no_pages"  # likewise
    PASSKEY_REVOKED = "passkey_revoked"  # likewise
    PASSKEY_ADDED = "passkey_added"  # to operators
    PASSKEY_DOUBTED = "passkey_doubted"  # to operators


class Stop(StrEnum):
    """Why an answer was stopped, for operators; what was in it is never told."""

    LEAK = "leak"
    DISCLOSURE = "disclosure"
    HARD_STOP = "hard_stop"
    DRAFT = "draft"
    REFERENCE = "reference"
    READERS = "readers"
    FORBIDDEN = "forbidden"
    FAULT = "fault"
