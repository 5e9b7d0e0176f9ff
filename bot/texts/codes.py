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
    POISON = "poison"  # to operators
    WITHHELD_REPORT = "withheld_report"  # to operators
    RUN_FAILED = "run_failed"  # to operators
